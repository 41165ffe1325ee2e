"""Initialises attention heads that attend within segments, and selection layers that start as the mean of the heads.

Both use the weights and statistics of the inputs of attention blocks (Moments), without training.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .model import Attention

# Pairs of components and their shares of the penalty: sum of share * (1 - cos(distance * frequency of the pair)) is
# 0.257 and more at all distances from 1 to 128 segments, for heads of width 32 and base 10,000.
APART = {0: 0.50, 1: 0.16, 3: 0.12, 6: 0.22}
NEARNESS = {3: 0.2, 5: 0.3, 7: 0.5}  # the same for distances in tokens; decreases up to a distance of about 180
SEPARATION = 20.0  # nats; factor of the sum above
LEAST_WIDTH = 2 * (1 + max(*APART, *NEARNESS))  # of a selection layer that has all these pairs


@dataclass
class Moments:
    """Sums over the inputs of an attention block, with a constant 1 appended: x for queries, y for keys."""

    xx: Tensor
    yy: Tensor
    y: Tensor
    count: int = 0

    @staticmethod
    def none(d: int) -> "Moments":
        square = torch.zeros(d + 1, d + 1).double()
        return Moments(square, square.clone(), torch.zeros(d + 1).double())

    def add(self, x: Tensor, y: Tensor) -> None:
        """x, y: [N, d]"""
        x, y = (torch.cat((z, torch.ones(len(z), 1)), 1).double() for z in (x, y))
        self.xx, self.yy, self.y = self.xx + x.t() @ x / len(x), self.yy + y.t() @ y / len(y), self.y + y.mean(0)
        self.count += 1

    def roots(self) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Square roots, and their inverses, of the second moment of x and of the covariance of y. What all keys have in
        common changes no softmax, so the mean of y is not needed."""
        mean = self.y / self.count
        return root(self.xx / self.count), root(self.yy / self.count - mean[:, None] * mean)

    def without_constant(self) -> tuple[Tensor, Tensor]:
        """The second moment of x and the covariance of y, [d, d]."""
        mean = self.y[:-1] / self.count
        return self.xx[:-1, :-1] / self.count, self.yy[:-1, :-1] / self.count - mean[:, None] * mean


def root(c: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eigh(c)
    values = values.clamp_min(float(values[-1]) * 1e-5).sqrt()
    return vectors * values @ vectors.t(), vectors / values @ vectors.t()


@torch.no_grad()
def set_apart(attention: Attention, moments: Moments, heads: int) -> None:
    """Replaces components of every head with constants that separate segments. Uses the components in which the product
    of queries and keys varies least on real states."""
    d = attention.config.d_model
    width = d // heads
    places = [component for pair in APART for component in (pair, pair + width // 2)]  # paired as in `rotate`
    others = [c for c in range(width) if c not in places]
    query = attention.query if attention.cross else attention.query_key_value
    key = attention.key_value if attention.cross else attention.query_key_value
    key_at = 0 if attention.cross else d
    (x_root, x_inverse), (y_root, y_inverse) = moments.roots()

    def rows(linear, first):
        return torch.cat((linear.weight[first:first + width], linear.bias[first:first + width, None]), 1).double()

    for first in range(0, d, width):
        u, s, vt = torch.linalg.svd(x_root @ rows(query, first).t() @ rows(key, key_at + first) @ y_root)
        for linear, start, basis in ((query, first, u.t() @ x_inverse), (key, key_at + first, vt @ y_inverse)):
            turned = torch.zeros(width, d + 1, dtype=torch.float64)
            turned[others] = s[:len(others), None].sqrt() * basis[:len(others)]
            for place, share in APART.items():
                turned[place, -1] = (SEPARATION * share * width ** 0.5) ** 0.5
            linear.weight[start:start + width] = turned[:, :-1].float()
            linear.bias[start:start + width] = turned[:, -1].float()


@torch.no_grad()
def begin_selection(attention: Attention, moments: Moments, heads: int) -> None:
    """Initialises selection scores as the mean of the layer's heads, as well as the width allows. In the decoder's
    self-attention the rotation allows no change of basis, so scores start as nearness.

    A selection layer has no bias. Constants are made from the states, because a constant is nearly a linear function of
    them.
    """
    d, width = attention.config.d_model, attention.selection.width
    mean = moments.xx[-1, :-1] / moments.count
    constant = torch.linalg.solve(moments.xx[:-1, :-1] / moments.count + 1e-3 * torch.eye(d).double(), mean)
    y_mean = moments.y[:-1] / moments.count
    y_constant = torch.linalg.solve(moments.yy[:-1, :-1] / moments.count + 1e-3 * torch.eye(d).double(), y_mean)
    near = attention.module == "decoder"
    constants = NEARNESS if near else APART
    places = [component for pair in constants for component in (pair, pair + width // 2)]
    others = [c for c in range(width) if c not in places]
    query, key = torch.zeros(width, d).double(), torch.zeros(width, d).double()
    if not near:
        first = 0 if attention.cross else d
        wq = (attention.query if attention.cross else attention.query_key_value).weight[:d].double()
        wk = (attention.key_value if attention.cross else attention.query_key_value).weight[first:first + d].double()
        (x_root, x_inverse), (y_root, y_inverse) = (root(c) for c in moments.without_constant())
        scale = (width / (d // heads)) ** 0.5 / heads
        u, s, vt = torch.linalg.svd(x_root @ (wq.t() @ wk) @ y_root * scale)
        query[others] = s[:len(others), None].sqrt() * (u.t() @ x_inverse)[:len(others)]
        key[others] = s[:len(others), None].sqrt() * (vt @ y_inverse)[:len(others)]
    for place, share in constants.items():
        height = (SEPARATION * share * width ** 0.5) ** 0.5
        query[place], key[place] = height * constant, height * y_constant
    attention.selection.query.weight.copy_(query.float())
    attention.selection.key.weight.copy_(key.float())
