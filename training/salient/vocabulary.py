"""Text to tokens and back for model folders that have more than one SentencePiece model.

    tokenizer.model           SentencePiece model of the source language
    target_tokenizer.model    SentencePiece model of the target language, if it differs
    vocabulary.json           the pieces of the target in the order of their tokens, also those of the source if there
                              is no source_vocabulary.json; without it, tokens are the numbers of tokenizer.model
    source_vocabulary.json    the pieces of the source

A piece that is not in the vocabulary becomes the unknown token.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from .config import ModelConfig

TOKENIZER, TARGET_TOKENIZER = "tokenizer.model", "target_tokenizer.model"
VOCABULARY, SOURCE_VOCABULARY = "vocabulary.json", "source_vocabulary.json"
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class Vocabulary:
    def __init__(self, folder: Path, config: ModelConfig):
        import sentencepiece

        def pieces(name: str) -> list[str] | None:
            return json.loads((folder / name).read_text(encoding="utf-8")) if (folder / name).exists() else None

        self.tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(folder / TOKENIZER))
        own = [self.tokenizer.id_to_piece(i) for i in range(self.tokenizer.get_piece_size())]
        self.target = pieces(VOCABULARY) or own
        self.source = pieces(SOURCE_VOCABULARY) or self.target
        self.token_of = {piece: token for token, piece in enumerate(self.source)}
        t = config.tokens
        self.unknown, self.special = t.unk, {t.pad, t.unk, t.bos, t.eos, t.separator}

    def encode(self, text: str) -> list[int]:
        return [self.token_of.get(piece, self.unknown) for piece in self.tokenizer.encode(text, out_type=str)]

    def decode(self, tokens: list[int]) -> str:
        out = bytearray()
        for token in tokens:
            if token not in self.special:
                byte = BYTE.fullmatch(self.target[token])
                out += bytes([int(byte[1], 16)]) if byte else self.target[token].replace("\u2581", " ").encode()
        return out.decode(errors="replace").removeprefix(" ")
