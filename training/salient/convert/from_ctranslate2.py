"""CTranslate2 Transformer folders and Argos packages (a package's folder, or the .argosmodel file itself)."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from ..config import FeedForward, ModelConfig, Positions, Search, Stack, Tokens
from ..model import sinusoid
from . import Unsupported
from .converted import CHUNK_TOKENS, NEVER, Converted, with_start
from .ctranslate2 import ModelFile, read_model
from .languages import languages_of, target_languages
from .reading import Tensors, licence, matrix, number, read_json, reading
from .width import pairs_apart, reordered

ACTIVATIONS = {0: "relu", 2: "swish", 3: "gelu"}
UNSUPPORTED_ACTIVATIONS = {1: "gelu by tanh", 4: "gelu by sigmoid", 5: "tanh", 6: "sigmoid"}
EPSILON = 1e-5  # if config.json does not have it
CONFIG = "config.json"
ALIGNMENT = ("alignment_heads", "alignment_layer")


def find_model(folder: Path) -> Path | None:
    """The model within a folder, or within the package that the folder is; None if it is neither."""
    return next((p for p in (folder, folder / "model") if (p / "model.bin").exists() and list(p.glob("*vocabulary*"))),
                None)


class Taker(Tensors):
    """The tensors and attributes of a model.bin, by its names."""

    def __init__(self, file: ModelFile):
        super().__init__(file.tensors)
        self.file, scalars = file, file.scalars
        for side in ("encoder", "decoder"):  # the names of earlier revisions
            for name in ("num_heads", "pre_norm", "activation") if file.revision < 5 else ():
                if name in scalars:
                    scalars.setdefault(f"{side}/{name}", scalars[name])
                    self.taken.add(name)
            if (scale := f"{side}/embeddings/multiply_by_sqrt_depth") in scalars:
                scalars.setdefault(f"{side}/scale_embeddings", scalars[scale])
                self.taken.add(scale)

    def flag(self, name: str, default: float = 0) -> float:
        self.taken.add(name)
        return self.file.scalars.get(name, default)

    def text(self, name: str, default: str) -> str:
        found = self.find(name)
        return default if found is None else bytes(int(byte) & 255 for byte in found.reshape(-1)).decode()

    def linear(self, name: str, into: str, out: dict[str, Tensor]) -> None:
        weight, bias = self.need(f"{name}/weight"), self.find(f"{name}/bias")
        out[f"{into}.weight"] = weight
        out[f"{into}.bias"] = torch.zeros(weight.shape[0]) if bias is None else bias

    def norm(self, name: str, into: str, out: dict[str, Tensor]) -> None:
        if f"{name}/gamma" in self.tensors and f"{name}/beta" not in self.tensors:
            raise Unsupported(f"{name} has no beta: norms by the root mean square are not supported")
        out[f"{into}.weight"], out[f"{into}.bias"] = self.need(f"{name}/gamma"), self.need(f"{name}/beta")

    def left(self) -> list[str]:
        """The tensors and attributes that were not used. Attributes that are off do not matter."""
        tensors = [n for n in self.tensors if n not in self.taken and not n.endswith(ALIGNMENT)]
        flags = [n for n, v in self.file.scalars.items()
                 if n not in self.taken and v and not n.endswith((*ALIGNMENT, "embeddings_merge"))]
        return sorted(tensors + flags)


def layers_of(file: ModelFile, side: str) -> int:
    return len({name.split("/")[1] for name in file.tensors if name.startswith(f"{side}/layer_")
                and name.split("/")[1][6:].isdigit()})


def attention(take: Taker, name: str, into: str, out: dict[str, Tensor], cross: bool) -> None:
    take.norm(f"{name}/layer_norm", f"{into}_norm", out)
    if cross:
        take.linear(f"{name}/linear_0", f"{into}.query", out)
        take.linear(f"{name}/linear_1", f"{into}.key_value", out)
        take.linear(f"{name}/linear_2", f"{into}.output", out)
    else:
        take.linear(f"{name}/linear_0", f"{into}.query_key_value", out)
        take.linear(f"{name}/linear_1", f"{into}.output", out)


def stack(take: Taker, side: str, out: dict[str, Tensor]) -> Stack:
    layers = layers_of(take.file, side)
    for n in range(layers):
        name, into = f"{side}/layer_{n}", f"{side}_layers.{n}"
        attention(take, f"{name}/self_attention", f"{into}.self_attention", out, False)
        if side == "decoder":
            attention(take, f"{name}/attention", f"{into}.cross_attention", out, True)
        take.norm(f"{name}/ffn/layer_norm", f"{into}.ffn_norm", out)
        take.linear(f"{name}/ffn/linear_0", f"{into}.ffn.up", out)
        take.linear(f"{name}/ffn/linear_1", f"{into}.ffn.down", out)
    if layers == 0:
        raise Unsupported(f"model.bin has no {side} layers")
    return Stack(layers, FeedForward("own", out[f"{side}_layers.0.ffn.up.weight"].shape[0]))


def same_on_both_sides(take: Taker, name: str, default: float = 0) -> float:
    both = [take.flag(f"{side}/{name}", default) for side in ("encoder", "decoder")]
    if both[0] != both[1]:
        raise Unsupported(f"the encoder's {name} is {both[0]} and the decoder's {both[1]}; they must be the same")
    return both[0]


def scales_embeddings(take: Taker, width: int) -> bool:
    """The attribute is a flag, or the factor itself, a floating point number."""
    scale, root = same_on_both_sides(take, "scale_embeddings", 1), width ** 0.5
    if isinstance(scale, int):
        return scale != 0
    if scale != 1 and abs(scale - root) > 1e-3:
        raise Unsupported(f"embeddings scaled by {scale}; supported are 1 and the root of the width")
    return scale != 1


def settings_of(place: Path, take: Taker) -> dict:
    """What config.json says. Before version 6 of the format attributes said it."""
    settings = read_json(place / CONFIG)
    if take.file.version >= 6:
        return settings
    bos, eos = take.text("bos_token", "<s>"), take.text("eos_token", "</s>")
    start = bos if take.flag("with_target_bos", 1) else eos
    return {**settings, "unk_token": take.text("unk_token", "<unk>"), "bos_token": bos, "eos_token": eos,
            "add_source_bos": take.flag("with_source_bos"), "add_source_eos": take.flag("with_source_eos"),
            "decoder_start_token": None if take.flag("user_decoder_start_tokens") else start}


def start_of(settings: dict) -> str:
    start = settings.get("decoder_start_token", settings.get("bos_token", "<s>"))
    if start is None:
        raise Unsupported("decoder_start_token null: a model whose caller gives the token that decoding starts from")
    return start


def source_ends(settings: dict, take: Taker) -> bool:
    """Whether the source ends in the end token. The format cannot say so of a model that came by way of Hugging Face,
    whose tokenizer adds the token. Of those only Marian's can be told, by the zeros that decoding starts from; all
    others start from the end or the pad token, OpenNMT's from one of the beginning."""
    if settings.get("add_source_bos"):
        raise Unsupported("add_source_bos: a source that begins with a token of its own")
    if settings.get("add_source_eos") or take.flag("decoder/start_from_zero_embedding"):
        return True
    if start_of(settings) != settings.get("bos_token", "<s>"):
        raise Unsupported("a source of which the folder does not say whether it ends in the end token (its "
                          "add_source_eos is not set); convert the Hugging Face model that it was made of")
    return False


def pad_of(vocabulary: list[str], start: int, eos: int, unk: int) -> int:
    """A token that is never part of a text. Fairseq's models start from the end token; its pad token is <blank>."""
    if start not in (eos, unk):
        return start
    named = [piece for piece in ("<blank>", "<pad>", "<s>") if piece in vocabulary]
    if not named:
        raise Unsupported("a vocabulary that has neither a start token of its own nor <blank>, <pad> or <s>")
    return vocabulary.index(named[0])


def positions_of(take: Taker) -> tuple[Positions, bool]:
    """The positions, and whether sines and cosines alternate in the model's width."""
    tables = [take.find(f"{side}/position_encodings/encodings") for side in ("encoder", "decoder")]
    if all(t is None for t in tables):  # the toolkit makes the table itself, and counts from 1
        return Positions("sinusoidal", "none", "none", sinusoid="half_minus_one", offset=1), False
    if any(t is None for t in tables) or not torch.equal(*tables):
        raise Unsupported("encoder and decoder have different positions")
    return recognise(tables[0])


def recognise(table: Tensor) -> tuple[Positions, bool]:
    """The kind of sinusoids in a table of positions [n, d], and whether sines and cosines alternate."""
    matrix(table, "position_encodings")
    rows, width = table[:64], table.shape[1]
    for alternate in (False, True) if width % 2 == 0 else ():
        found = rows[:, pairs_apart(width)] if alternate else rows
        for kind in ("half", "half_minus_one"):
            for offset in range(4):
                if torch.allclose(sinusoid(torch.arange(len(rows)) + offset, width, kind), found, atol=2e-3):
                    return Positions("sinusoidal", "none", "none", sinusoid=kind, offset=offset), alternate
    raise Unsupported("positions that are learned, or sinusoids in another order")


def lines_of(text: str) -> list[str]:
    """A piece may end in a carriage return. If all lines do, it belongs to the end of the line."""
    lines = text.removesuffix("\n").split("\n")
    return [line[:-1] for line in lines] if all(line.endswith("\r") for line in lines) else lines


def read_vocabulary(folder: Path, name: str) -> list[str] | None:
    for path in (folder / f"{name}.json", folder / f"{name}.txt"):
        if path.exists():
            with reading(path, "vocabulary"):
                text = path.read_bytes().decode()
                pieces = json.loads(text) if path.suffix == ".json" else lines_of(text)
                if not isinstance(pieces, list) or not all(isinstance(p, str) for p in pieces):
                    raise ValueError("it must be a list of pieces")
            return pieces
    return None


def find_tokenizer(folder: Path, given: Path | None) -> Path:
    if given is not None:
        return given
    for path in (folder / "sentencepiece.model", folder / "source.spm", folder / "spm.model",
                 folder / "model" / "sentencepiece.model"):
        if path.exists():
            return path
    if (folder / "bpe.model").exists():
        raise Unsupported("its tokens are subword-nmt's BPE (bpe.model); only SentencePiece models are supported")
    raise ValueError(f"{folder}: no SentencePiece model (sentencepiece.model, source.spm); name one with --tokenizer")


def find_target_tokenizer(folder: Path, given: Path | None, tokenizer: Path) -> Path | None:
    """None: the source's tokenizer is the target's, too. A folder with source.spm has one for each side."""
    beside = folder / "target.spm"
    return given or (beside if tokenizer.name == "source.spm" and beside.exists() else None)


def convert(folder: Path, *, source: str | None = None, target: str | None = None, name: str | None = None,
            tokenizer: Path | None = None, target_tokenizer: Path | None = None) -> Converted:
    """source, target: the languages, if the folder does not name them."""
    place = find_model(folder)
    package = read_json(folder / "metadata.json")
    if package.get("target_prefix"):
        raise Unsupported(f"the package's target_prefix {package['target_prefix']!r}")
    source, target = source or package.get("from_code"), target or package.get("to_code")
    if not source or not target:
        raise ValueError(f"{folder}: it does not say its languages; name them with --from and --to")

    file = read_model(place / "model.bin")
    if file.specification != "TransformerSpec":
        raise Unsupported(f"CTranslate2's {file.specification}; supported is TransformerSpec, an encoder and a decoder")
    take, out = Taker(file), {}
    settings = settings_of(place, take)
    ends = source_ends(settings, take)
    encoder, decoder = stack(take, "encoder", out), stack(take, "decoder", out)
    activation = int(same_on_both_sides(take, "activation"))
    if activation not in ACTIVATIONS:
        raise Unsupported(f"the activation {UNSUPPORTED_ACTIVATIONS.get(activation, activation)}")
    pre = bool(same_on_both_sides(take, "pre_norm", 1))
    embedding = matrix(take.need("decoder/embeddings/weight"), "decoder/embeddings/weight")
    d = embedding.shape[1]
    scale = scales_embeddings(take, d)
    embedding_norm = "encoder/layernorm_embedding/gamma" in file.tensors
    if embedding_norm:
        for side in ("encoder", "decoder"):
            take.norm(f"{side}/layernorm_embedding", f"{side}_embedding_norm", out)
    if pre:
        take.norm("encoder/layer_norm", "encoder_norm", out)
        for n in range(decoder.layers):
            take.norm("decoder/layer_norm", f"exit_norms.{n}", out)

    vocabulary = read_vocabulary(place, "shared_vocabulary")
    source_vocabulary = None if vocabulary else read_vocabulary(place, "source_vocabulary")
    vocabulary = vocabulary or read_vocabulary(place, "target_vocabulary")
    if vocabulary is None or len(vocabulary) != len(embedding):
        raise ValueError(f"{place}: the vocabulary has {len(vocabulary or [])} pieces, the embedding {len(embedding)}")
    source_embedding = take.find("encoder/embeddings_0/weight")
    source_embedding = take.need("encoder/embeddings/weight") if source_embedding is None else source_embedding
    output, bias = take.need("decoder/projection/weight"), take.find("decoder/projection/bias")
    bias = torch.zeros(len(output)) if bias is None else bias
    own_source = source_vocabulary is not None or not torch.equal(source_embedding, embedding)
    if len(source_vocabulary or vocabulary) != len(source_embedding):
        raise ValueError(f"{place}: the source's vocabulary has {len(source_vocabulary or vocabulary)} pieces, its "
                         f"embedding {len(source_embedding)}")
    own_output = output.data_ptr() != embedding.data_ptr() and not torch.equal(output, embedding)

    unk = number(vocabulary, settings.get("unk_token", "<unk>"), "unknown")
    eos = number(vocabulary, settings.get("eos_token", "</s>"), "end")
    if take.flag("decoder/start_from_zero_embedding"):
        bos = len(vocabulary)
        vocabulary, (embedding, output, bias) = with_start(vocabulary, embedding, output, bias)
        bias[-1] = NEVER
        if not own_source:
            source_embedding = embedding
        elif source_vocabulary is None:
            source_vocabulary = vocabulary[:-1]
    else:
        bos = number(vocabulary, start_of(settings), "start")
    out |= {"embedding.weight": embedding, "output_bias": bias}
    if own_source:
        out["source_embedding.weight"] = source_embedding
    if own_output:
        out["output.weight"] = output
    positions, alternate = positions_of(take)
    if alternate:
        out = reordered(out, pairs_apart(d))
    heads = int(same_on_both_sides(take, "num_heads", 8))
    if take.left():
        raise Unsupported(f"parts of the model that are unknown: {', '.join(take.left()[:8])}")
    pieces = {piece: i for i, piece in enumerate(source_vocabulary or vocabulary)}
    if languages_of(pieces).tokens:
        raise Unsupported("a multilingual vocabulary (M2M-100, NLLB) in CTranslate2's format, which does not say how "
                          "its language tokens are used; convert the Hugging Face model")
    config = ModelConfig(
        name=name or f"{source}-{target}", source_language=source, target_language=target, vocab_size=len(embedding),
        d_model=d, heads=heads, encoder=encoder, decoder=decoder, norm="pre" if pre else "post",
        activation=ACTIVATIONS[activation], layer_norm_epsilon=settings.get("layer_norm_epsilon") or EPSILON,
        scale_embeddings=scale, positions=positions, selection=None, exits=None,
        tokens=Tokens(pad=pad_of(vocabulary, bos, eos, unk), unk=unk, bos=bos, eos=eos, separator=None,
                      source_end=ends),
        chunk_tokens=CHUNK_TOKENS, source_vocab_size=len(source_embedding) if own_source else None,
        output="own" if own_output else "tied", embedding_norm=embedding_norm,
        languages=target_languages(pieces, source), search=Search(length_penalty=1.0))
    tokenizer = find_tokenizer(folder, tokenizer)
    target_tokenizer = find_target_tokenizer(folder, target_tokenizer, tokenizer)
    return Converted(config, out, tokenizer, target_tokenizer, vocabulary, source_vocabulary,
                     origin=f"the {'Argos package' if package else 'CTranslate2 folder'} {folder.name}",
                     licence=licence(folder), dtype="int8" if file.int8 else "f32")
