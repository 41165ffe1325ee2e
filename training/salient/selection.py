"""Sparse selection attention: the masks, their supervision and adaptive sparsity (arXiv 2309.14174, eq. 1-8).

A selection layer scores every key with one narrow head and selects the best; the attention heads attend only to these.
In training, the straight-through term of eq. 3 makes the selection differentiable, and a KL term makes it imitate the
attention. At inference the scores are integers, so that every backend selects the same keys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NEGATIVE = -1e9  # the score of a masked key; finite, so that a fully masked row does not become NaN
MODULES = ("encoder", "decoder", "cross")


def rotate(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Rotary embedding over the last dimension, halves paired: x [..., L, width], positions [..., L]."""
    half = x.shape[-1] // 2
    frequency = base ** (-torch.arange(half, dtype=torch.float32, device=x.device) / half)
    angle = positions.float().unsqueeze(-1) * frequency
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class SelectionLayer(nn.Module):
    """Qs = Xq Wqs, Ks = Xk Wks (eq. 1). `key_inverse_step` converts a key component to int8 steps; export calibrates
    it."""

    def __init__(self, d_model: int, width: int):
        super().__init__()
        self.query = nn.Linear(d_model, width, bias=False)
        self.key = nn.Linear(d_model, width, bias=False)
        self.width = width
        self.register_buffer("key_inverse_step", torch.tensor(20.0))

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        """Scores before the softmax of eq. 1. q and k are projected, with positions applied."""
        return q @ k.transpose(-1, -2) / math.sqrt(self.width)

    def integer_scores(self, q: Tensor, k: Tensor) -> Tensor:
        """The scores by which the engine ranks. All keys have one step, so their products are comparable as integers. A
        query's step scales all of its scores alike, which does not change their order."""
        q, k = q.float(), k.float()
        qi = torch.round(q * (127 / q.abs().amax(-1, keepdim=True).clamp_min(1e-20)))
        ki = torch.clamp(torch.round(k * self.key_inverse_step), -127, 127)
        return qi.double() @ ki.double().transpose(-1, -2)


@dataclass
class SelectionRun:
    """How one forward pass selects, and what it learns about selection.

    mode: dense (selection layers do not run), supervise (they run and learn, but attention stays dense), select (eq.
    1-3).
    """

    mode: str = "dense"
    learns: bool = True  # in select: whether sets are supervised, measured and have gradients; otherwise only applied
    measure: bool = True  # in supervise: whether sets are chosen all the same, to measure what they hold
    straight_through: bool = True
    supervision: str = "group"  # own: eq. 4 on the layer itself; group: mean over the r layers that share the set
    ratio: dict[str, list[float]] = field(default_factory=dict)  # k per selection layer
    min_keys: int = 10
    window: int | None = None  # a fixed window of that many keys around the query's centre instead of top-k
    centre: dict[str, Tensor] = field(default_factory=dict)  # [B, queries] a module: key positions, set by the model
    loss: Tensor | float = 0.0  # sum over selection layers of KL(As, A)
    captured: dict[str, list[float]] = field(default_factory=dict)  # sum of A over selected keys, per layer
    kept: dict[str, list[float]] = field(default_factory=dict)  # keys kept divided by keys allowed

    def note(self, book: dict[str, list[float]], module: str, value: float) -> None:
        book.setdefault(module, []).append(value)


def top_k_mask(scores: Tensor, allowed: Tensor, ratio: float, min_keys: int) -> Tensor:
    """mask = top-k(As) (eq. 2): exactly max(min_keys, ceil(ratio n)) of the n allowed keys of each query, or all n.

    Ties go to the lower index, as in the engine.
    """
    available = allowed.expand_as(scores).sum(-1, keepdim=True)
    count = torch.ceil(available.double() * ratio - 1e-6).clamp_min(min_keys).minimum(available)
    order = scores.masked_fill(~allowed, -math.inf).sort(dim=-1, descending=True, stable=True).indices
    places = torch.arange(order.shape[-1], device=order.device).expand_as(order)
    return torch.empty_like(order).scatter_(-1, order, places) < count


def window_mask(allowed: Tensor, centre: Tensor, window: int) -> Tensor:
    """The `window` keys around each query's centre, shifted to lie within the allowed keys, which start at 0."""
    available = allowed.sum(-1)
    keep = available.clamp_max(window)
    first = (centre - keep // 2).clamp_min(0).minimum(available - keep).unsqueeze(-1)
    position = torch.arange(allowed.shape[-1], device=allowed.device)
    return (position >= first) & (position < first + keep.unsqueeze(-1))


def supervision_loss(selection_scores: Tensor, attention: Tensor, allowed: Tensor) -> Tensor:
    """KL(As, A) of eq. 5, mean over queries that have a key. Only the selection layer gets gradients."""
    log_as = F.log_softmax(selection_scores.masked_fill(~allowed, NEGATIVE).float(), dim=-1)
    target = attention.detach().float()
    kl = (target * (target.clamp_min(1e-9).log() - log_as)).masked_fill(~allowed, 0.0).sum(-1)
    real = allowed.any(-1).expand_as(kl)
    return kl[real].mean()


def adapt_ratio(k: float, captured: float, target: float = 0.95, step: float = 0.001,
                least: float = 0.01, growing: bool = True) -> float:
    """Adaptive sparsity (eq. 7): fewer keys while they hold more than `target` of the attention, otherwise more.

    `growing` is false while k is still large: the paper disables k + step then, because A has not settled yet.
    """
    if captured > target:
        return max(least, k - step)
    return min(1.0, k + step) if growing else k
