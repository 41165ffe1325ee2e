"""Documents as chunks of token ids, for measurements with the PyTorch model.

Segments are packed into chunks of the model's size in order, as the engine does with documents that exceed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ..data import join
from ..vocabulary import TARGET_TOKENIZER, TOKENIZER
from .sets import Document


@dataclass
class Chunk:
    source: Tensor  # [1, S], separators and EOS included
    target: Tensor  # [1, T + 1], BOS first: the reference
    segments: int
    origin: str = ""  # the corpus that it comes from


class Tokenizer:
    """The tokenizers of a model folder: one for both languages, or one for each."""

    def __init__(self, model: Path):
        import sentencepiece

        files = [model / name for name in (TOKENIZER, TARGET_TOKENIZER) if (model / name).exists()]
        self.source, self.target = (sentencepiece.SentencePieceProcessor(model_file=str(files[i])) for i in (0, -1))

    def encode(self, lines: list[str]) -> list[list[int]]:
        return [self.source.encode(line) for line in lines]

    def encode_target(self, lines: list[str]) -> list[list[int]]:
        return [self.target.encode(line) for line in lines]


def packed(lengths: list[int], limit: int) -> list[tuple[int, int]]:
    """[first, last) of each chunk: as many consecutive segments as fit into `limit` tokens with their separators, or
    one."""
    bounds, first, used = [], 0, 0
    for index, length in enumerate(lengths):
        if index > first and used + length + 1 > limit:
            bounds.append((first, index))
            first, used = index, 0
        used += length + 1
    return [*bounds, (first, len(lengths))] if lengths else []


def chunks(documents: list[Document], tokenizer: Tokenizer, limit: int) -> list[Chunk]:
    found = []
    for document in documents:
        sources, targets = tokenizer.encode(document.lines), tokenizer.encode_target(document.references[0])
        for first, last in packed([len(s) for s in sources], limit):
            found.append(Chunk(torch.from_numpy(join(sources[first:last], False))[None],
                                torch.from_numpy(join(targets[first:last], True))[None], last - first,
                                document.source))
    return found
