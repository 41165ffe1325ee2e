"""Documents as chunks of token ids, for measurements with the PyTorch model.

Segments are packed into chunks of the model's size in order, as the engine does with documents that exceed it. A model
without a separator gets each segment as a chunk of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..data import join
from ..vocabulary import Vocabulary, language_prefixes
from .sets import Document


@dataclass
class Chunk:
    source: Tensor  # [1, S], separators and EOS included
    target: Tensor  # [1, T + 1], BOS first: the reference
    segments: int
    origin: str = ""  # the corpus that it comes from
    given: int = 0  # tokens after BOS that the engine forces: the target's language


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


def chunks(documents: list[Document], vocabulary: Vocabulary, limit: int) -> list[Chunk]:
    """limit: the greatest number of source tokens of a chunk."""
    tokens, (source_prefix, target_prefix) = vocabulary.config.tokens, language_prefixes(vocabulary.config)
    room = 0 if tokens.separator is None else limit - len(source_prefix)
    found = []
    for document in documents:
        sources = [vocabulary.encode(line) for line in document.lines]
        targets = [vocabulary.encode_target(line) for line in document.references[0]]
        for first, last in packed([len(s) for s in sources], room):
            source = [source_prefix + sources[first], *sources[first + 1:last]]
            target = [target_prefix + targets[first], *targets[first + 1:last]]
            found.append(Chunk(torch.from_numpy(join(source, False, tokens))[None],
                               torch.from_numpy(join(target, True, tokens))[None], last - first, document.source,
                               len(target_prefix)))
    return found
