"""Hugging Face folders of MarianMTModel (OPUS-MT) and M2M100ForConditionalGeneration (M2M-100, NLLB)."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from ..config import FeedForward, ModelConfig, Positions, Search, Stack, Tokens, is_number
from ..model import sinusoid
from . import Unsupported
from .converted import Converted
from .huggingface import read_weights
from .languages import SHORT, languages_of, target_languages
from .reading import (Tensors, licence, matrix, number, pieces_of, read_json, reading, side_by_side,
                      whole_number)

CONFIG, TOLD = "config.json", "tokenizer_config.json"
MARIAN, M2M = "marian", "m2m_100"
REFUSED = {
    "t5": "T5 (and MADLAD): relative position biases, norms by the root mean square, gated feed-forward blocks",
    "mt5": "mT5: relative position biases, norms by the root mean square, gated feed-forward blocks",
    "umt5": "UMT5: relative position biases in every layer, norms by the root mean square",
    "bart": "BART: learned positions", "mbart": "mBART: learned positions", "plbart": "PLBART: learned positions",
    "pegasus": "PEGASUS: it summarises", "fsmt": "FSMT: fairseq's WMT19 models, whose tokens are subword-nmt's BPE",
    "seamless_m4t": "SeamlessM4T: speech", "prophetnet": "ProphetNet: n-stream attention",
    "encoder-decoder": "an encoder and a decoder of other models",
}
ACTIVATIONS = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu"}
# tokenizer_class of a multilingual model; the last three say nothing.
TOKENIZERS = ("M2M100Tokenizer", "NllbTokenizer", "NllbTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend",
              None)
LEARNABLE = "embed_positions.weight"  # MarianMTModel reads it from the file
IGNORED = (LEARNABLE, "embed_positions.weights")  # sinusoids, which are computed


class Taker(Tensors):
    """The tensors of a Hugging Face model, by its names."""

    def linear(self, names: list[str], into: str, out: dict[str, Tensor]) -> None:
        """Joins projections side by side."""
        for kind in ("weight", "bias"):
            parts = [f"{name}.{kind}" for name in names]
            out[f"{into}.{kind}"] = side_by_side([self.need(part) for part in parts], parts)

    def norm(self, name: str, into: str, out: dict[str, Tensor]) -> None:
        out[f"{into}.weight"], out[f"{into}.bias"] = self.need(f"{name}.weight"), self.need(f"{name}.bias")

    def left(self) -> list[str]:
        return sorted(n for n in self.tensors if n not in self.taken and not n.endswith(IGNORED))


def stack(take: Taker, side: str, settings: dict, out: dict[str, Tensor]) -> Stack:
    layers = whole_number(settings, f"{side}_layers", CONFIG)
    for n in range(layers):
        name, into = f"model.{side}.layers.{n}", f"{side}_layers.{n}"
        own = [f"{name}.self_attn.{part}_proj" for part in "qkv"]
        take.linear(own, f"{into}.self_attention.query_key_value", out)
        take.linear([f"{name}.self_attn.out_proj"], f"{into}.self_attention.output", out)
        take.norm(f"{name}.self_attn_layer_norm", f"{into}.self_attention_norm", out)
        if side == "decoder":
            take.linear([f"{name}.encoder_attn.q_proj"], f"{into}.cross_attention.query", out)
            keys = [f"{name}.encoder_attn.{part}_proj" for part in "kv"]
            take.linear(keys, f"{into}.cross_attention.key_value", out)
            take.linear([f"{name}.encoder_attn.out_proj"], f"{into}.cross_attention.output", out)
            take.norm(f"{name}.encoder_attn_layer_norm", f"{into}.cross_attention_norm", out)
        take.linear([f"{name}.fc1"], f"{into}.ffn.up", out)
        take.linear([f"{name}.fc2"], f"{into}.ffn.down", out)
        take.norm(f"{name}.final_layer_norm", f"{into}.ffn_norm", out)
    width = whole_number(settings, f"{side}_ffn_dim", CONFIG)
    refuse_other_width(f"{side}_ffn_dim", width, f"model.{side}.layers.0.fc1.weight",
                       len(out[f"{side}_layers.0.ffn.up.weight"]))
    return Stack(layers, FeedForward("own", width))


def refuse_other_width(name: str, width: int, of: str, found: int) -> None:
    """Before a model of that width is made, which may not fit into memory."""
    if width != found:
        raise Unsupported(f"{CONFIG}: {name} is {width}, and {of} has the width {found}")


def check_positions(weights: dict[str, Tensor], kind: str) -> None:
    for name, table in weights.items():
        if name.endswith(LEARNABLE):
            at = torch.arange(min(len(matrix(table, name)), 64))
            if not torch.allclose(sinusoid(at, table.shape[1], kind), table[:len(at)], atol=2e-3):
                raise Unsupported(f"{name}: positions that are learned, or sinusoids in another order")


def transformer(settings: dict, weights: dict[str, Tensor]) -> tuple[ModelConfig, dict[str, Tensor]]:
    """The network only: languages and name must still be set."""
    kind, take, out = settings["model_type"], Taker(weights), {}
    heads = whole_number(settings, "encoder_attention_heads", CONFIG)
    if heads != whole_number(settings, "decoder_attention_heads", CONFIG):
        raise Unsupported("encoder and decoder with different numbers of heads")
    if settings.get("activation_function") not in ACTIVATIONS:
        raise Unsupported(f"activation_function {settings.get('activation_function')!r}")
    if kind == MARIAN:
        for name, required in {"normalize_before": False, "normalize_embedding": False, "add_final_layer_norm": False,
                               "static_position_embeddings": True, "add_bias_logits": False}.items():
            if settings.get(name, required) != required:
                raise Unsupported(f"config.json's {name}: {settings[name]!r}; supported is {required!r}")
    encoder, decoder = stack(take, "encoder", settings, out), stack(take, "decoder", settings, out)
    shared = "model.shared.weight", "lm_head.weight"
    take.taken.update(shared)  # tied to the embeddings; lm_head.weight is compared with them below
    embedding, source = (matrix(take.need(f"model.{side}.embed_tokens.weight", *shared), f"the {side}'s embedding")
                         for side in ("decoder", "encoder"))
    d_model = whole_number(settings, "d_model", CONFIG)
    refuse_other_width("d_model", d_model, "the embedding", embedding.shape[1])
    output, bias = take.find("lm_head.weight"), take.find("final_logits_bias")
    own_source, own_output = not torch.equal(source, embedding), output is not None and not torch.equal(output,
                                                                                                        embedding)
    out["embedding.weight"] = embedding
    out["output_bias"] = torch.zeros(len(embedding)) if bias is None else bias.reshape(-1)
    if own_source:
        out["source_embedding.weight"] = source
    if own_output:
        out["output.weight"] = output
    if kind == M2M:
        take.norm("model.encoder.layer_norm", "encoder_norm", out)
        for n in range(decoder.layers):
            take.norm("model.decoder.layer_norm", f"exit_norms.{n}", out)
    if take.left():
        raise Unsupported(f"parts of the model that are unknown: {', '.join(take.left()[:8])}")
    pad, eos = (whole_number(settings, f"{name}_token_id", CONFIG, least=0) for name in ("pad", "eos"))
    positions = Positions("sinusoidal", "none", "none") if kind == MARIAN else \
        Positions("sinusoidal", "none", "none", sinusoid="half_minus_one", offset=pad + 1)
    if kind == MARIAN:
        check_positions(weights, positions.sinusoid)
    start = whole_number(settings, "decoder_start_token_id", CONFIG, least=0, default=pad if kind == MARIAN else eos)
    return ModelConfig(
        vocab_size=len(embedding), d_model=d_model, heads=heads,
        encoder=encoder, decoder=decoder, norm="post" if kind == MARIAN else "pre",
        activation=ACTIVATIONS[settings["activation_function"]], layer_norm_epsilon=1e-5,
        scale_embeddings=bool(settings.get("scale_embedding", kind == M2M)), positions=positions, selection=None,
        exits=None,
        tokens=Tokens(pad=pad, unk=-1, bos=start, eos=eos, separator=None),
        chunk_tokens=min(whole_number(settings, "max_position_embeddings", CONFIG, default=512), 1024),
        source_vocab_size=len(source) if own_source else None, output="own" if own_output else "tied"), out


def listed(pieces: dict[str, int], size: int, where: Path) -> list[str]:
    """The pieces in the order of their tokens. Tokens without a piece get a name that no text contains."""
    found = [f"<unused {i}>" for i in range(size)]
    for piece, token in pieces.items():
        if not isinstance(token, int) or not 0 <= token < size:
            raise ValueError(f"{where}: the token {token!r} of {piece!r}; the embedding has {size}")
        found[token] = piece
    return found


def unused(vocabulary: list[str]) -> list[int]:
    """The tokens that no translation may contain."""
    return [i for i, piece in enumerate(vocabulary) if piece.startswith("<unused ") or piece == "<mask>"]


def special_tokens(folder: Path) -> list[str]:
    places = ("special_tokens_map.json", "additional_special_tokens"), (TOLD, "additional_special_tokens"), \
        (TOLD, "extra_special_tokens")  # its name since transformers 5
    found = next(filter(None, (read_json(folder / file).get(name) for file, name in places)), [])
    return [token["content"] if isinstance(token, dict) else token for token in found]


def multilingual_pieces(folder: Path, tokenizer: Path) -> dict[str, int]:
    """Tokens by piece, for M2M-100 (vocab.json, then languages) and NLLB (the tokenizer's pieces plus one, then
    languages)."""
    whole = read_json(folder / "tokenizer.json")
    with reading(folder / "tokenizer.json", "tokenizer"):
        if whole.get("model", {}).get("vocab"):
            vocab = whole["model"]["vocab"]
            pieces = dict(vocab) if isinstance(vocab, dict) else {entry[0]: i for i, entry in enumerate(vocab)}
            return pieces | {token["content"]: token["id"] for token in whole.get("added_tokens", [])}
    pieces = read_json(folder / "vocab.json")
    if not pieces:
        first, rest = (of_model := pieces_of(tokenizer))[:3], of_model[3:]
        if first != ["<unk>", "<s>", "</s>"]:
            raise Unsupported(f"{tokenizer}: it begins with {', '.join(first)}; NLLB's begins with <unk>, <s>, </s>")
        pieces = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | {piece: i + 4 for i, piece in enumerate(rest)}
    added = read_json(folder / "added_tokens.json")
    if added:
        return pieces | added
    first = max(pieces.values()) + 1
    return pieces | {token: first + i for i, token in enumerate(t for t in special_tokens(folder) if t not in pieces)}


def suppressed_of(generation: dict, config: ModelConfig) -> list[int]:
    """The tokens that no translation may contain. The engine itself never writes the pad token, which OPUS-MT names."""
    words = generation.get("bad_words_ids") or []
    if any(len(word) != 1 for word in words):
        raise Unsupported("bad_words_ids with a word of several tokens")
    if generation.get("begin_suppress_tokens"):
        raise Unsupported("begin_suppress_tokens")
    if generation["model_type"] == MARIAN and generation.get("forced_bos_token_id") is not None:
        raise Unsupported(f"forced_bos_token_id {generation['forced_bos_token_id']!r}")
    found = {*(word[0] for word in words), *(generation.get("suppress_tokens") or [])} - {config.tokens.pad}
    if not all(is_number(token, 0, config.vocab_size - 1) for token in found):
        raise ValueError(f"{CONFIG}: bad_words_ids or suppress_tokens has a token that is not in the vocabulary")
    return sorted(found)


def convert(folder: Path, *, source: str | None = None, target: str | None = None, name: str | None = None,
            tokenizer: Path | None = None, target_tokenizer: Path | None = None) -> Converted:
    settings = read_json(folder / CONFIG)
    kind = settings.get("model_type")
    if kind not in (MARIAN, M2M):
        raise Unsupported(REFUSED.get(kind, f"the model type {kind!r}") + " is missing here; supported are "
                          "MarianMTModel (OPUS-MT) and M2M100ForConditionalGeneration (M2M-100, NLLB)")
    generation = settings | read_json(folder / "generation_config.json")
    config, tensors = transformer(settings | {k: v for k, v in generation.items() if k == "decoder_start_token_id"},
                                  read_weights(folder))
    penalty = generation.get("length_penalty")
    config.search = Search(1.0 if penalty is None else float(penalty), suppressed_of(generation, config))
    return (marian if kind == MARIAN else multilingual)(folder, config, tensors, source, target, name, tokenizer,
                                                        target_tokenizer)


def marian(folder: Path, config: ModelConfig, tensors: dict[str, Tensor], source: str | None, target: str | None,
           name: str | None, tokenizer: Path | None, target_tokenizer: Path | None) -> Converted:
    told = read_json(folder / TOLD)
    source, target = (given or SHORT.get(told.get(name), told.get(name)) for given, name in
                      ((source, "source_lang"), (target, "target_lang")))
    if not source or not target:
        raise ValueError(f"{folder}: it does not say its languages; name them with --from and --to")
    pieces = read_json(folder / "vocab.json")
    target_pieces = read_json(folder / "target_vocab.json")
    size, source_size = config.vocab_size, config.source_vocab_size or config.vocab_size
    vocabulary = listed(target_pieces or pieces, size, folder / "vocab.json")
    source_vocabulary = None
    if target_pieces or config.source_vocab_size:
        source_vocabulary = listed(pieces, source_size, folder / "vocab.json")
    config.tokens.unk = number(vocabulary, "<unk>", "unknown")
    config.search.suppressed = sorted({*config.search.suppressed, *unused(vocabulary)})
    tokenizer, target_tokenizer = tokenizer or folder / "source.spm", target_tokenizer or folder / "target.spm"
    if not tokenizer.exists():
        raise ValueError(f"{tokenizer}: the source's SentencePiece model is missing; name it with --tokenizer")
    config.languages = target_languages(pieces, source)
    config.name, config.source_language, config.target_language = name or f"{source}-{target}", source, target
    return Converted(config, tensors, tokenizer, target_tokenizer if target_tokenizer.exists() else None, vocabulary,
                     source_vocabulary, origin=f"the Hugging Face folder {folder.name}", licence=licence(folder))


def check_language_tokens(folder: Path) -> None:
    """That they stand where M2M-100 and NLLB have them: the source's before the source, the target's before the
    target."""
    told = read_json(folder / TOLD)
    kind = told.get("tokenizer_class")
    if kind not in TOKENIZERS or list(folder.glob("tokenization_*.py")):
        raise Unsupported(f"{TOLD}: tokenizer_class {kind!r} or a tokenizer in Python, which may place language tokens "
                          "as SMaLL-100 does, elsewhere than M2M100Tokenizer and NllbTokenizer")
    if told.get("legacy_behaviour"):
        raise Unsupported(f"{TOLD}: legacy_behaviour, a language token behind the source")


def multilingual(folder: Path, config: ModelConfig, tensors: dict[str, Tensor], source: str | None,
                 target: str | None, name: str | None, tokenizer: Path | None,
                 target_tokenizer: Path | None) -> Converted:
    if target_tokenizer is not None:
        raise ValueError("--target-tokenizer: M2M-100 and NLLB have one tokenizer for both sides, --tokenizer")
    check_language_tokens(folder)
    tokenizer = tokenizer or folder / "sentencepiece.bpe.model"
    if not tokenizer.exists():
        raise ValueError(f"{tokenizer}: the SentencePiece model is missing, which transformers 5 does not save; name "
                         "that of the original model with --tokenizer")
    pieces = multilingual_pieces(folder, tokenizer)
    config.tokens.unk = number(pieces, "<unk>", "unknown")
    config.languages = languages_of(pieces)
    if not config.languages.tokens:
        raise Unsupported("a multilingual vocabulary without language tokens such as __en__ or eng_Latn; copy "
                          "special_tokens_map.json of the original model into the folder")
    vocabulary = listed(pieces, config.vocab_size, folder)
    languages = set(config.languages.tokens.values())
    config.search.suppressed = sorted({*config.search.suppressed, *unused(vocabulary), *languages})
    source, target = (tag and tag.replace("_", "-") for tag in (source, target))  # as eng_Latn
    for tag in (source, target):
        if tag and tag not in config.languages.tokens:
            raise ValueError(f"{folder}: it has no language {tag!r}")
    config.languages.source = [source] if source else config.languages.source
    config.languages.target = [target] if target else config.languages.target
    config.source_language, config.target_language = source or "mul", target or "mul"
    config.name = name or folder.name
    return Converted(config, tensors, tokenizer, None, vocabulary, None,
                     origin=f"the Hugging Face folder {folder.name}", licence=licence(folder))
