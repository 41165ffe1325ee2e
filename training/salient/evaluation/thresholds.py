"""A threshold for every layer, tuned where the PyTorch model reads references.

A signal says at each exit whether to leave there: the geometric head, or the confidence. What a token loses by leaving
is measured without the reference, as the share of tokens that the last exit would have chosen otherwise: that is what
changes a translation. Coordinate descent lowers

    differing tokens + weight * mean exit

over one threshold at a time, from the best that all layers can share. T tokens, N exits; the last takes all that are
left.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .teacher_forcing import Forced, first_above

GRID = tuple(round(0.05 + 0.025 * n, 3) for n in range(37))
ROUNDS = 4


def cost(signal: Tensor, same: Tensor, thresholds: list[float], weight: float) -> float:
    exits = first_above(signal, torch.tensor([*thresholds, 0.0]))
    differing = 1 - float(same.gather(-1, exits[:, None]).mean())
    return differing + weight * float((exits + 1).float().mean())


def tuned(signal: Tensor, same: Tensor, weight: float) -> list[float]:
    """N - 1 thresholds; signal and same [T, N]."""
    layers = signal.shape[-1] - 1
    best = min(([t] * layers for t in GRID), key=lambda ts: cost(signal, same, ts, weight))
    for _ in range(ROUNDS):
        before = best
        for n in range(layers):
            best = min(([*best[:n], t, *best[n + 1:]] for t in GRID), key=lambda ts: cost(signal, same, ts, weight))
        if best == before:
            break
    return best


def by_layer(windows: list[Forced], name: str, weights: tuple[float, ...]) -> list[list[float]]:
    """Distinct settings of a threshold a layer, from the most eager to the most patient; name: a signal of Forced."""
    signal = torch.cat([getattr(w, name) for w in windows])
    same = torch.cat([w.same for w in windows])
    found = [tuned(signal, same, weight) for weight in sorted(weights, reverse=True)]
    return [ts for n, ts in enumerate(found) if ts not in found[:n]]
