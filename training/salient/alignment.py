"""Which decoder layer's cross-attention tells best which source token a target token is made of.

Pieces that a segment has once on both sides, such as numbers and names, are copies of each other. The best layer is the
one that gives most of them their counterpart, by the rule of the engine (engine/search/align.h): the source token with
the greatest mean attention of the heads, among those of the segment.
"""

from __future__ import annotations

from collections import Counter
from typing import Iterable

import torch
from torch import Tensor

from .model import Transformer, segment_of
from .selection import SelectionRun
from .vocabulary import Vocabulary

LEAST_COPIES, LEAST_SHARE = 50, 0.2  # with fewer copies, or if no layer finds more of them, none is named

Pair = tuple[Tensor, Tensor]  # unpadded source [1, S] and target [1, T + 1]


def counterparts(vocabulary: Vocabulary) -> dict[int, int]:
    """The source's token by the target's token of the same piece."""
    of_source = vocabulary.source_tokens
    return {token: of_source[piece] for piece, token in vocabulary.target_tokens.items() if piece in of_source}


def copies(source: list[tuple[int, int]], target: list[tuple[int, int]],
           counterpart: dict[int, int]) -> list[tuple[int, int]]:
    """(target position, source position) of each copy; source, target: the segment and the token of each position."""
    of_source, of_target = Counter(source), Counter(target)
    place = {key: i for i, key in enumerate(source)}
    found = []
    for i, (segment, token) in enumerate(target):
        original = segment, counterpart.get(token)
        if of_target[segment, token] == 1 and of_source[original] == 1:
            found.append((i, place[original]))
    return found


@torch.no_grad()
def found_by_layer(model: Transformer, pairs: Iterable[Pair], counterpart: dict[int, int]) -> tuple[list[float], int]:
    """The share of the copies that each decoder layer finds, and their number."""
    attention: dict[int, Tensor] = {}

    def noted(layer: int):
        def hook(module, inputs):
            q, k, _ = module.project(*inputs[:4])
            attention[layer] = q[0] @ k[0].transpose(-1, -2) * q.shape[-1] ** -0.5
        return hook

    hooks = [layer.cross_attention.register_forward_pre_hook(noted(n)) for n, layer in enumerate(model.decoder_layers)]
    hits, count, separator = [0] * len(hooks), 0, model.config.tokens.separator
    try:
        for source, target in pairs:
            run = SelectionRun()
            model.decode(target[:, :-1], source, model.encode(source, run), run)
            of_source, _ = segment_of(source, separator, inclusive=False)
            of_target, _ = segment_of(target[:, :-1], separator, inclusive=True)
            copied = copies(list(zip(of_source[0].tolist(), source[0].tolist())),
                            list(zip(of_target[0].tolist(), target[0, 1:].tolist())), counterpart)
            if not copied:
                continue
            rows, wanted = torch.tensor(copied, device=source.device).t()
            other = of_target[0][rows, None] != of_source[0]
            for n, scores in attention.items():
                mean = scores[:, rows].masked_fill(other, float("-inf")).softmax(-1).mean(0)
                hits[n] += int(mean.argmax(-1).eq(wanted).sum())
            count += len(copied)
    finally:
        for hook in hooks:
            hook.remove()
    return [n / max(1, count) for n in hits], count


def fit_alignment(model: Transformer, pairs: Iterable[Pair], vocabulary: Vocabulary) -> None:
    """Sets the config's alignment_layer."""
    shares, count = found_by_layer(model, pairs, counterparts(vocabulary))
    best = max(range(len(shares)), key=shares.__getitem__)
    if count >= LEAST_COPIES and shares[best] >= LEAST_SHARE:
        model.config.alignment_layer = best + 1
