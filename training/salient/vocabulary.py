"""Text to the tokens of a model folder and back. Reads the same files as the engine (engine/text/tokenizer.h):

    tokenizer.model           SentencePiece model of the source language
    target_tokenizer.model    SentencePiece model of the target language, if it differs
    vocabulary.json           the pieces of the target in the order of their tokens, also those of the source if there
                              is no source_vocabulary.json; without it, tokens are the SentencePiece model's numbers
    source_vocabulary.json    the pieces of the source

A piece that is not in the vocabulary becomes the unknown token.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from .config import ModelConfig

if TYPE_CHECKING:
    import sentencepiece

TOKENIZER, TARGET_TOKENIZER = "tokenizer.model", "target_tokenizer.model"
VOCABULARY, SOURCE_VOCABULARY = "vocabulary.json", "source_vocabulary.json"
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def tokenizer_of(path: Path) -> sentencepiece.SentencePieceProcessor:
    """Raises OSError if there is no such file, and ValueError if it is no SentencePiece model."""
    import sentencepiece

    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except RuntimeError as reason:
        raise ValueError(f"{path}: not a readable SentencePiece model ({reason}); get it again") from None


def listed(path: Path) -> list[str] | None:
    """The pieces of a file; None if there is no such file."""
    if not path.exists():
        return None
    try:
        pieces = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as reason:
        raise ValueError(f"{path}: it is not JSON: {reason}") from None
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise ValueError(f"{path}: it must be a list of pieces")
    return pieces


class Vocabulary:
    def __init__(self, folder: Path, config: ModelConfig, tokenizer: str = TOKENIZER):
        """tokenizer: the name of the source's file."""
        def own(model: sentencepiece.SentencePieceProcessor) -> list[str]:
            return [model.id_to_piece(i) for i in range(model.get_piece_size())]

        self.config, t = config, config.tokens
        self.tokenizer, of_target = tokenizer_of(folder / tokenizer), folder / TARGET_TOKENIZER
        self.target_tokenizer = tokenizer_of(of_target) if of_target.exists() else self.tokenizer
        pieces, of_source = listed(folder / VOCABULARY), listed(folder / SOURCE_VOCABULARY)
        self.target = pieces or own(self.target_tokenizer)
        self.source = of_source or pieces or own(self.tokenizer)

        # No text is divided into these. In a source's own list, the numbers of pad and bos may be ordinary pieces.
        of_text, of_decoding = {t.eos, t.separator, t.unk}, {t.pad, t.bos}
        source, target = (of_text | config.languages_of(side) for side in ("source", "target"))
        if of_source is None and self.target_tokenizer is self.tokenizer:  # one for both
            source = target = source | target
        self.special = target | of_decoding
        self.unknown = t.unk
        self.target_tokens = numbered(self.target, self.special)
        self.source_tokens = numbered(self.source, source if of_source else source | of_decoding)

    def encode(self, text: str) -> list[int]:
        return [self.source_tokens.get(piece, self.unknown) for piece in self.tokenizer.encode(text, out_type=str)]

    def encode_target(self, text: str) -> list[int]:
        pieces = self.target_tokenizer.encode(text, out_type=str)
        return [self.target_tokens.get(piece, self.unknown) for piece in pieces]

    def decode(self, tokens: list[int]) -> str:
        out = bytearray()
        for token in tokens:
            if token not in self.special:
                byte = BYTE.fullmatch(self.target[token])
                out += bytes([int(byte[1], 16)]) if byte else self.target[token].replace("\u2581", " ").encode()
        return out.decode(errors="replace").removeprefix(" ")


def other_tokenizer(folder: Path, data: Path) -> str | None:
    """The name of a SentencePiece model that differs between two folders, or is in one of them alone."""
    for name in (TOKENIZER, TARGET_TOKENIZER):
        ours, theirs = ((place / name).read_bytes() if (place / name).exists() else None for place in (data, folder))
        if ours != theirs:
            return name
    return None


def numbered(pieces: list[str], without: set[int | None]) -> dict[str, int]:
    return {piece: token for token, piece in enumerate(pieces) if token not in without}


def language_prefixes(config: ModelConfig) -> tuple[list[int], list[int]]:
    """The tokens before a chunk's source and before its translation, for the languages that config.json names. Only
    models of several languages have any."""
    has = config.languages
    if has is None:
        return [], []

    def chosen(named: str, known: list[str]) -> str:
        if named not in known and len(known) != 1:
            raise ValueError(f"{config.name}: a model of several languages; convert one pair of it (--from and --to)")
        return named if named in known else known[0]

    source, target = chosen(config.source_language, has.source), chosen(config.target_language, has.target)
    begins = {"none": [], "source": [source], "target": [target]}  # only these languages need a token
    of_source, of_target = ([has.tokens[name] for name in begins[p]] for p in (has.source_prefix, has.target_prefix))
    return of_source, of_target
