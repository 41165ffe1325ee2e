"""The shape of a model: the contents of `config.json` in a model folder, as Python values.

The engine reads the same file (engine/model/config.h); the field names are the contract between the two. Fields that
were added later are omitted from the file if they have their default, so that older readers can read it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

FORMAT = "salient-model/1"
HEADS = ("sequence", "multinomial", "geometric")
LATER = {"positions": ("sinusoid", "offset", "encoder_self_attention"),
         "tokens": ("markers", "byte_characters", "source_end"), "exits": ("confidence",),
         None: ("source_vocab_size", "output", "embedding_norm", "autoregression", "languages", "search",
                "alignment_layer")}


# What the engine accepts (engine/model/config.cc). Python would take another word for one of these, and train for hours
# what no engine reads.
CHOICES = {"norm": ("pre", "post"), "activation": ("relu", "gelu", "swish"), "output": ("tied", "own"),
           "autoregression": ("attention", "ssru"), "exits.classifier": ("tied", "untied"),
           "encoder.ffn.kind": ("own", "shared", "none"), "decoder.ffn.kind": ("own", "shared", "encoder", "none"),
           "positions.embedding": ("none", "sinusoidal", "segment_sinusoidal"),
           "positions.self_attention": ("none", "rotary"), "positions.cross_attention": ("none", "segment_rotary"),
           "positions.encoder_self_attention": (None, "none", "rotary", "segment_rotary"),
           "positions.sinusoid": ("half", "half_minus_one")}
MOST_MARKERS = 32  # engine/core/special_tokens.h
# Least, greatest, and what the number must be a multiple of.
NUMBERS = {"vocab_size": (8, 1_000_000, 1), "source_vocab_size": (8, 1_000_000, 1), "d_model": (8, 8192, 8),
           "heads": (1, 8192, 1), "encoder.layers": (1, 64, 1), "decoder.layers": (1, 64, 1),
           "encoder.ffn.width": (8, 1 << 18, 8), "decoder.ffn.width": (8, 1 << 18, 8),
           "selection.width": (8, 1024, 8), "selection.min_keys": (1, 1 << 20, 1),
           "tokens.markers.first": (0, 1_000_000, 1), "tokens.markers.count": (0, MOST_MARKERS, 1)}
PLAIN_NAME = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,63}")
CHUNKS = (16, 10_240)  # least and greatest chunk_tokens
MOST_HEAD_WIDTH = 256
NULLABLE = ("selection", "exits", "source_vocab_size", "markers")  # null in the file: the model has none
ABSENT = object()


def rename(fields: dict, old: str, new: str) -> None:
    """Renames a field of an earlier version to its current name."""
    if old in fields and new not in fields:
        fields[new] = fields.pop(old)


def is_number(value: object, least: int, most: int, multiple: int = 1) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and least <= value <= most and value % multiple == 0


@dataclass
class FeedForward:
    """One Wide FFN (arXiv 2309.01826): a layer's feed-forward block is its own, shared, the encoder's, or absent."""

    kind: str = "own"  # own | shared | none; the decoder also knows "encoder": the encoder's shared block
    width: int = 2048


@dataclass
class Stack:
    layers: int = 6
    ffn: FeedForward = field(default_factory=FeedForward)


@dataclass
class Positions:
    embedding: str = "segment_sinusoidal"  # none | sinusoidal | segment_sinusoidal: offset within the segment
    self_attention: str = "rotary"  # none | rotary: distance in tokens
    cross_attention: str = "segment_rotary"  # none | segment_rotary: distance in segments
    rotary_base: float = 10000.0
    # Frequency i of a sinusoid, half = d_model / 2: half: 10000^(-i / half); half_minus_one: 10000^(-i / (half - 1)).
    sinusoid: str = "half"
    offset: int = 0  # the position of the first token
    encoder_self_attention: str | None = None  # none | rotary | segment_rotary; None: as self_attention

    def of(self, module: str) -> str:
        """The positions that rotate queries and keys of a module: encoder, decoder (self-attention) or cross."""
        if module == "cross":
            return self.cross_attention
        return self.encoder_self_attention or self.self_attention if module == "encoder" else self.self_attention


@dataclass
class Selection:
    """Sparse selection attention (arXiv 2309.14174); one selection layer for every `group` consecutive layers."""

    width: int = 64
    min_keys: int = 10
    group: dict[str, int] = field(default_factory=lambda: {"encoder": 3, "decoder": 3, "cross": 3})
    # k of eq. 7 as learned, one value per selection layer. 1 means all keys; training starts there.
    learned_ratio: dict[str, list[float]] = field(default_factory=dict)


@dataclass
class Exits:
    """Adaptive-depth decoding (arXiv 1910.10073): a classifier at every decoder layer, and halting heads."""

    classifier: str = "tied"  # tied: the embedding matrix; untied: one matrix per layer
    heads: list[str] = field(default_factory=list)  # of sequence, multinomial, geometric
    # The confidence policy's thresholds if a request has none, one for each decoder layer; none: the engine's default.
    confidence: list[float] = field(default_factory=list)


@dataclass
class Markers:
    """Pieces that a translation copies from its source, such as tags: `count` of them, with ids from `first` on."""

    first: int
    count: int


@dataclass
class Tokens:
    """bos: the token that decoding starts from; it may be the pad or eos token. separator: None if the model was
    trained on single sentences, so that each of them is a chunk of its own."""

    pad: int = 0
    unk: int = 1
    bos: int = 2
    eos: int = 3
    separator: int | None = 4
    markers: Markers | None = None
    # Characters without a piece that the model has learned in bytes. The engine copies all others without a piece by
    # markers. None: it leaves them to the model.
    byte_characters: str | None = None
    source_end: bool = True  # whether the source ends in eos; OpenNMT-py trains without it


@dataclass
class Languages:
    """The languages of a multilingual model. tokens: the token of each language, the same in the source's and the
    target's vocabulary. source, target: the languages that the model translates from and into. source_prefix,
    target_prefix: whose token begins the source, and the translation: none, source or target (the request's languages).
    """

    tokens: dict[str, int] = field(default_factory=dict)
    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    source_prefix: str = "none"
    target_prefix: str = "none"


@dataclass
class Search:
    """The defaults of a request, and the tokens that no translation may contain."""

    length_penalty: float = 1.0  # the score of a finished hypothesis is its log probability / length^length_penalty
    suppressed: list[int] = field(default_factory=list)  # tokens with probability 0


@dataclass
class ModelConfig:
    name: str = "en-de"
    source_language: str = "en"
    target_language: str = "de"
    vocab_size: int = 32000
    d_model: int = 512
    heads: int = 8
    encoder: Stack = field(default_factory=Stack)
    decoder: Stack = field(default_factory=Stack)
    norm: str = "pre"  # pre | post
    activation: str = "relu"  # relu | gelu | swish
    layer_norm_epsilon: float = 1e-5
    scale_embeddings: bool = True
    positions: Positions = field(default_factory=Positions)
    selection: Selection | None = field(default_factory=Selection)
    exits: Exits | None = field(default_factory=Exits)
    tokens: Tokens = field(default_factory=Tokens)
    chunk_tokens: int = 1024  # the most source tokens, with separators, of a chunk in training; the engine takes 10240
    source_vocab_size: int | None = None  # the source's own vocabulary and embedding; None: shared
    output: str = "tied"  # tied: the target embedding is the output matrix; own: the output has its own matrix
    embedding_norm: bool = False  # whether encoder and decoder normalise their embeddings
    autoregression: str = "attention"  # attention | ssru: how a decoder layer reads the earlier tokens
    languages: Languages | None = None
    search: Search = field(default_factory=Search)
    alignment_layer: int | None = None  # from 1: the cross-attention that aligns; None: the last but one

    def group_of(self, module: str) -> int:
        return self.selection.group[module]

    def selection_layers(self, module: str) -> list[int]:
        """The layers that have a selection layer: the lowest of each group of r layers (eq. 8)."""
        if module == "decoder" and self.autoregression == "ssru":
            return []
        layers = (self.encoder if module == "encoder" else self.decoder).layers
        return list(range(0, layers, self.group_of(module)))

    def languages_of(self, side: str) -> set[int]:
        """The tokens of languages in the vocabulary of a side, `source` or `target`. In a vocabulary of its own, a side
        that begins with none has ordinary pieces with their numbers."""
        has = self.languages
        if has is None or (self.source_vocab_size is not None and getattr(has, f"{side}_prefix") == "none"):
            return set()
        return set(has.tokens.values())

    def check(self) -> None:
        """Raises ValueError, with the field's name, for values by which another model would be trained than is meant,
        or one that the engine refuses."""
        def refuse(name: str, why: str) -> None:
            raise ValueError(f"config.json: {name} is {json.dumps(self.value(name))}; {why}")

        for name, choices in CHOICES.items():
            if self.value(name) is not ABSENT and self.value(name) not in choices:
                refuse(name, "it must be one of " + ", ".join(c for c in choices if c))
        for name, (least, most, multiple) in NUMBERS.items():
            found, unused = self.value(name), name.endswith("ffn.width") and self.value(name[:-5] + "kind") == "none"
            if found is not ABSENT and not unused and not is_number(found, least, most, multiple):
                refuse(name, f"it must be a whole number from {least} to {most}"
                       + (f", a multiple of {multiple}" if multiple > 1 else ""))
        for name in ("scale_embeddings", "embedding_norm", "tokens.source_end"):
            if not isinstance(self.value(name), bool):
                refuse(name, "it must be true or false")
        width = self.d_model // self.heads
        if self.d_model % self.heads or width % 2 or width > MOST_HEAD_WIDTH:
            refuse("heads", f"it must divide d_model, {self.d_model}, into even widths of at most {MOST_HEAD_WIDTH}")
        if self.alignment_layer is not None and not is_number(self.alignment_layer, 1, self.decoder.layers):
            refuse("alignment_layer",
                   f"it must be a whole number from 1 to the decoder's layers, {self.decoder.layers}")
        if self.decoder.ffn.kind == "encoder" and (self.encoder.ffn.kind, self.encoder.ffn.width) != (
                "shared", self.decoder.ffn.width):
            refuse("decoder.ffn.kind", "that needs encoder.ffn.kind \"shared\", and the same width")
        if self.selection is not None:
            most = {"encoder": self.encoder.layers, "decoder": self.decoder.layers, "cross": self.decoder.layers}
            if self.selection.group.keys() != most.keys():
                refuse("selection.group", f"it must have {', '.join(most)}, and nothing else")
            for module, layers in most.items():
                if not is_number(self.selection.group[module], 1, layers):
                    refuse("selection.group", f"{module} must be a whole number from 1 to its layers, {layers}")
        if self.exits is not None and (len(set(self.exits.heads)) < len(self.exits.heads)
                                       or not set(self.exits.heads) <= set(HEADS)):
            refuse("exits.heads", f"each must be one of {', '.join(HEADS)}, and stand there once")

    def check_settable(self) -> None:
        """The same for what no weight depends on, so that `salient.export` can set it later."""
        if not isinstance(self.name, str) or not PLAIN_NAME.fullmatch(self.name):
            raise ValueError(f"config.json: name is {json.dumps(self.name)}; it must be 1 to 64 letters, digits, '-', "
                             "'_', '.' or '+', and not begin with '.' (--name of salient.export)")
        if not is_number(self.chunk_tokens, *CHUNKS):
            raise ValueError(f"config.json: chunk_tokens is {json.dumps(self.chunk_tokens)}; it must be a whole number "
                             f"from {CHUNKS[0]} to {CHUNKS[1]} (--chunk-tokens of salient.export)")

    def value(self, name: str):
        """That of a field, or of `part.field`; ABSENT if the model has no such part."""
        found = self
        for part in name.split("."):
            found = getattr(found, part)
            if found is None and part in NULLABLE:
                return ABSENT
        return found

    def to_json(self) -> str:
        fields, plain = dataclasses.asdict(self), ModelConfig()
        for part, names in LATER.items():
            where, default = (fields, plain) if part is None else (fields[part], getattr(plain, part))
            if where is None:
                continue
            for name in names:
                if getattr(self if part is None else getattr(self, part), name) == getattr(default, name):
                    del where[name]
        return json.dumps({"format": FORMAT, **fields}, indent=2)

    @staticmethod
    def from_json(text: str) -> "ModelConfig":
        """Raises ValueError if the text is no configuration of this format."""
        try:
            raw = json.loads(text)
        except json.JSONDecodeError as reason:
            raise ValueError(f"config.json: it is not JSON: {reason}") from None
        if not isinstance(raw, dict) or raw.pop("format", None) != FORMAT:
            raise ValueError(f"config.json: format must be {FORMAT!r}")
        try:
            config = ModelConfig.from_fields(raw)
            config.check()
            return config
        except KeyError as name:
            raise ValueError(f"config.json: {name} is missing") from None
        except (AttributeError, TypeError) as reason:
            raise ValueError(f"config.json: an unknown field, or a value of a wrong kind: {reason}") from None

    @staticmethod
    def from_fields(raw: dict) -> "ModelConfig":
        rename(raw, "window", "chunk_tokens")
        rename(raw.get("selection") or {}, "key_fraction", "learned_ratio")

        def stack(value):
            return Stack(value["layers"], FeedForward(**value["ffn"]))

        raw["encoder"], raw["decoder"] = stack(raw["encoder"]), stack(raw["decoder"])
        raw["positions"] = Positions(**raw["positions"])
        raw["selection"] = Selection(**raw["selection"]) if raw.get("selection") else None
        raw["exits"] = Exits(**raw["exits"]) if raw.get("exits") else None
        raw["tokens"] = Tokens(**raw["tokens"])
        raw["tokens"].markers = Markers(**raw["tokens"].markers) if raw["tokens"].markers else None
        raw["languages"] = Languages(**raw["languages"]) if raw.get("languages") else None
        raw["search"] = Search(**raw.get("search", {}))
        return ModelConfig(**raw)

    @staticmethod
    def load(folder: str | Path) -> "ModelConfig":
        return ModelConfig.from_json((Path(folder) / "config.json").read_text())
