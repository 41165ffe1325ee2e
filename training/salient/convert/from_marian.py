"""Marian's own model folders: a `.npz` or `.bin` model, its vocabularies (SentencePiece), and, for Bergamot's students,
a lexical shortlist."""

from __future__ import annotations

from pathlib import Path

import torch
import yaml
from torch import Tensor

from ..config import FeedForward, ModelConfig, Positions, Search, Stack, Tokens
from . import Unsupported
from .converted import CHUNK_TOKENS, NEVER, Converted, with_start
from .lexical import read_shortlist
from .marian import OPTIONS, MarianModel, read_model
from .reading import (Tensors, licence, matrix, number, pieces_of, read_json, reading, side_by_side,
                      whole_number)

EPSILON = 1e-6
# The required values of options, if present. Other values change what the model computes.
REQUIRED = {
    "type": ("transformer",), "transformer-ffn-depth": (2,), "transformer-no-projection": (False,),
    "transformer-tied-layers": ([],), "transformer-train-position-embeddings": (False,),
    "transformer-train-positions": (False,), "transformer-disable-position-embeddings": (False,),
    "transformer-attention-mask": ("default",), "transformer-pool": (False,), "transformer-postprocess-emb": ("", "d"),
    "transformer-decoder-autoreg": ("self-attention", "rnn"), "input-types": ([],), "lemma-dim-emb": (0,),
    "ulr": (False,), "layer-normalization": (False,), "right-left": (False,), "transformer-rnn-projection": (False,),
    "transformer-ffn-activation": ("relu", "swish"),  # its gelu is x sigmoid(1.702 x), which is not ours
    "transformer-decoder-dim-ffn": (0,), "transformer-decoder-ffn-depth": (0,), "output-omit-bias": (False,),
}
SIDES = ("src", "source"), ("trg", "tgt", "target")  # in the names of vocabularies
NORMS = {("", "dan", ""): "post", ("n", "da", "n"): "pre"}


class Taker(Tensors):
    """The tensors of a Marian model, by its names."""

    def weight(self, name: str) -> Tensor:
        return matrix(self.need(name), name).T.contiguous()

    def vector(self, name: str) -> Tensor:
        return self.need(name).reshape(-1)

    def norm(self, name: str, into: str, out: dict[str, Tensor]) -> None:
        suffix = "_pre" if f"{name}_ln_scale_pre" in self.tensors else ""
        out[f"{into}.weight"] = self.vector(f"{name}_ln_scale{suffix}")
        out[f"{into}.bias"] = self.vector(f"{name}_ln_bias{suffix}")

    def linear(self, name: str, parts: str, into: str, out: dict[str, Tensor]) -> None:
        """Joins projections side by side: parts of q, k, v, o, 1, 2."""
        names = [f"{name}_W{p}" for p in parts]
        out[f"{into}.weight"] = side_by_side([self.weight(n) for n in names], names)
        out[f"{into}.bias"] = torch.cat([self.vector(f"{name}_b{p}") for p in parts])

    def left(self) -> list[str]:
        return sorted(n for n in self.tensors if n not in self.taken and not n.startswith("special:"))


def find_model(folder: Path) -> Path | None:
    """A folder's model file: the one that the decoder's configuration names, or else the only one."""
    if folder.suffix in (".npz", ".bin") and folder.is_file():
        return folder
    named = [folder / str(name) for name in settings_of(folder).get("models") or []]
    if len(named) > 1:
        raise Unsupported(f"an ensemble of {len(named)} models, as its configuration has it; name one of the files")
    if named and named[0].is_file():
        return named[0]
    found = [p for p in sorted(folder.glob("*.npz")) + sorted(folder.glob("*.bin"))
             if not p.name.startswith("lex") and is_model(p)]
    if len(found) > 1:
        raise ValueError(f"{folder}: nothing says which of {', '.join(path.name for path in found)} is the model; name "
                         "the file")
    return found[0] if found else None


def is_model(path: Path) -> bool:
    """Decides by the first bytes: a zip file, or version 1 of Marian's binary format (which names its
    configuration)."""
    with open(path, "rb") as file:
        head = file.read(8)
    return head[:2] == b"PK" if path.suffix == ".npz" else head == (1).to_bytes(8, "little")


def settings_of(folder: Path) -> dict:
    """The decoder's configuration beside a model. Bergamot and OPUS-MT give it different names."""
    for path in (*sorted(folder.glob("config*.yml")), folder / "decoder.yml", *sorted(folder.glob("*.decoder.yml"))):
        if path.exists():
            with reading(path, "YAML file"):
                found = yaml.safe_load(path.read_text(encoding="utf-8"))
            if isinstance(found, dict):
                return found
    return {}


def check(options: dict) -> str:
    """Refuses unsupported options by name. Returns the kind of norm."""
    for name, allowed in REQUIRED.items():
        if name in options and options[name] not in allowed:
            raise Unsupported(f"Marian's option {name}: {options[name]!r}; supported is "
                              f"{' or '.join(repr(a) for a in allowed)}")
    if options.get("transformer-decoder-autoreg") == "rnn" and options.get("dec-cell") != "ssru":
        raise Unsupported(f"Marian's option dec-cell: {options.get('dec-cell')!r}; supported is 'ssru'")
    order = tuple(options.get(f"transformer-{part}") or "" for part in ("preprocess", "postprocess", "postprocess-top"))
    if order not in NORMS:
        raise Unsupported(f"Marian's options transformer-preprocess, -postprocess and -postprocess-top: {order}; "
                          f"supported are {' and '.join(map(str, NORMS))}")
    return NORMS[order]


def stack(take: Taker, side: str, layers: int, ssru: bool, out: dict[str, Tensor]) -> Stack:
    for n in range(layers):
        name, into = f"{side}_l{n + 1}", f"{side}_layers.{n}"
        if side == "decoder" and ssru:
            out[f"{into}.ssru.input.weight"] = take.weight(f"{name}_rnn_W")
            take.linear(f"{name}_rnn", "f", f"{into}.ssru.forget", out)
            take.norm(f"{name}_rnn_ffn", f"{into}.self_attention_norm", out)
        else:
            take.linear(f"{name}_self", "qkv", f"{into}.self_attention.query_key_value", out)
            take.linear(f"{name}_self", "o", f"{into}.self_attention.output", out)
            take.norm(f"{name}_self_Wo", f"{into}.self_attention_norm", out)
        if side == "decoder":
            take.linear(f"{name}_context", "q", f"{into}.cross_attention.query", out)
            take.linear(f"{name}_context", "kv", f"{into}.cross_attention.key_value", out)
            take.linear(f"{name}_context", "o", f"{into}.cross_attention.output", out)
            take.norm(f"{name}_context_Wo", f"{into}.cross_attention_norm", out)
        take.linear(f"{name}_ffn", "1", f"{into}.ffn.up", out)
        take.linear(f"{name}_ffn", "2", f"{into}.ffn.down", out)
        take.norm(f"{name}_ffn_ffn", f"{into}.ffn_norm", out)
    return Stack(layers, FeedForward("own", out[f"{side}_layers.0.ffn.up.weight"].shape[0]))


def transformer(model: MarianModel) -> tuple[ModelConfig, dict[str, Tensor]]:
    """The network only: its configuration, whose languages and name must still be set, and its tensors by our names."""
    options = model.options
    norm, take, out = check(options), Taker(model.tensors), {}
    ssru = options.get("transformer-decoder-autoreg") == "rnn"
    encoder = stack(take, "encoder", whole_number(options, "enc-depth", OPTIONS), False, out)
    decoder = stack(take, "decoder", whole_number(options, "dec-depth", OPTIONS), ssru, out)
    if norm == "pre":
        take.norm("encoder_top", "encoder_norm", out)
        for n in range(decoder.layers):
            take.norm("decoder_top", f"exit_norms.{n}", out)
    embedding = matrix(take.need("decoder_Wemb", "Wemb"), "the target's embedding")
    source = take.find("encoder_Wemb")
    vector = take.vector("decoder_ff_logit_out_b")
    output = take.find("decoder_ff_logit_out_Wt")
    if output is None and "decoder_ff_logit_out_W" in model.tensors:
        output = take.weight("decoder_ff_logit_out_W")
    if take.left():
        raise Unsupported(f"parts of the model that are unknown: {', '.join(take.left()[:8])}")
    # Marian's decoder starts from an embedding of zeros.
    bos = len(embedding)
    embedding, vector = (torch.cat((t, torch.zeros(1, *t.shape[1:]))) for t in (embedding, vector))
    vector[-1] = NEVER
    out |= {"embedding.weight": embedding, "output_bias": vector}
    if source is not None:
        out["source_embedding.weight"] = source
    if output is not None:
        out["output.weight"] = torch.cat((matrix(output, "the output"), torch.zeros(1, output.shape[1])))
    config = ModelConfig(
        vocab_size=len(embedding), d_model=embedding.shape[1],
        heads=whole_number(options, "transformer-heads", OPTIONS), encoder=encoder, decoder=decoder, norm=norm,
        activation=options.get("transformer-ffn-activation", "swish"), layer_norm_epsilon=EPSILON,
        scale_embeddings=True, positions=Positions("sinusoidal", "none", "none", sinusoid="half_minus_one"),
        selection=None, exits=None,
        tokens=Tokens(pad=bos, unk=1, bos=bos, eos=0, separator=None), chunk_tokens=CHUNK_TOKENS,
        source_vocab_size=len(source) if source is not None else None, output="tied" if output is None else "own",
        autoregression="ssru" if ssru else "attention")
    return config, out


def vocabularies(folder: Path, named: list[str], tokenizer: Path | None,
                 target_tokenizer: Path | None) -> tuple[Path, Path]:
    """The source's and the target's: those that the command line gives, that the configuration names, or that the
    folder holds. `tokenizer` alone is for both sides if the folder does not have two."""
    if tokenizer is not None and target_tokenizer is not None:
        return tokenizer, target_tokenizer
    found = [folder / str(name) for name in named] or vocabularies_in(folder)
    if tokenizer is not None and len(set(found)) < 2:
        return tokenizer, tokenizer
    if not found:
        raise ValueError(f"{folder}: no vocabulary (.spm); name one with --tokenizer")
    chosen = tokenizer or found[0], target_tokenizer or found[-1]
    for path in {*chosen} - {tokenizer, target_tokenizer}:
        if path.suffix != ".spm":
            raise Unsupported(f"the vocabulary {path.name}; supported are SentencePiece models (.spm)")
        if not path.exists():
            raise ValueError(f"{path}: the vocabulary is missing")
    return chosen


def vocabularies_in(folder: Path) -> list[Path]:
    """The folder's only vocabulary, or the source's and the target's, if their names tell them apart."""
    paths = sorted(folder.glob("*vocab*.spm")) or sorted(folder.glob("*.spm"))
    if len({path.read_bytes() for path in paths}) < 2:
        return paths[:1]
    source, target = ([path for path in paths if any(word in path.name for word in words)] for words in SIDES)
    if len(source) != 1 or len(target) != 1 or source == target:
        raise ValueError(f"{folder}: nothing says which of {', '.join(path.name for path in paths)} is the source's "
                         "vocabulary; name both with --tokenizer and --target-tokenizer")
    return source + target


def convert(folder: Path, *, model: Path | None = None, source: str | None = None, target: str | None = None,
            name: str | None = None, tokenizer: Path | None = None,
            target_tokenizer: Path | None = None) -> Converted:
    """model: one of several in the folder."""
    path = model or find_model(folder)
    settings = settings_of(folder)
    if not source or not target:
        guessed = guess_languages(folder)
        if guessed is None:
            raise ValueError(f"{folder}: it does not say its languages; name them with --from and --to")
        source, target = source or guessed[0], target or guessed[1]
    source_model, target_model = vocabularies(folder, settings.get("vocabs") or [], tokenizer, target_tokenizer)
    config, tensors = transformer(read_model(path))
    vocabulary = pieces_of(target_model)
    shared = source_model.read_bytes() == target_model.read_bytes()
    source_vocabulary = None if shared and config.source_vocab_size is None else pieces_of(source_model)
    if len(vocabulary) + 1 != config.vocab_size or (
            source_vocabulary is not None and len(source_vocabulary) != config.source_vocab_size):
        raise Unsupported(f"the vocabularies have {len(pieces_of(source_model))} and {len(vocabulary)} pieces, the "
                          f"embeddings {config.source_vocab_size or config.vocab_size - 1} and {config.vocab_size - 1}")
    config.tokens.eos, config.tokens.unk = number(vocabulary, "</s>", "end"), number(vocabulary, "<unk>", "unknown")
    vocabulary, _ = with_start(vocabulary)
    config.name, config.source_language, config.target_language = name or f"{source}-{target}", source, target
    config.search = Search(length_penalty=float(settings.get("normalize", 0) or 0))
    lists = [folder / str(p) for p in (settings.get("shortlist") or [])[:1]] or sorted(folder.glob("lex*.bin"))
    shortlist = None
    if lists and lists[0].is_file():
        shortlist = read_shortlist(lists[0], config.source_vocab_size or config.vocab_size - 1, config.vocab_size - 1,
                                   shared=source_vocabulary is None)
        if source_vocabulary is None:
            shortlist = shortlist.with_rows(config.vocab_size)
    return Converted(config, tensors, source_model, None if shared else target_model, vocabulary, source_vocabulary,
                     shortlist, origin=f"the Marian model {path.name}", licence=licence(folder), dtype="f32")


def guess_languages(folder: Path) -> tuple[str, str] | None:
    """Guesses from Bergamot's metadata, such as the short name "en-pt-tiny"."""
    for path in (folder / "model_info.json", folder / "modelMeta.json"):
        short = str(read_json(path).get("shortName", "")).split("-")
        if len(short) >= 2 and all(2 <= len(part) <= 3 for part in short[:2]):
            return short[0], short[1]
    return None
