"""Adaptive depth: halting heads, their oracles, and the losses (arXiv 1910.10073, eq. 4-17)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig


class HaltingHeads(nn.Module):
    """One linear map per policy. All of them read normalised states, so that inputs have the same scale at every layer.

    sequence     q(n|x)   = softmax(W_h mean(encoder output) + b_h)   (8)
    multinomial  q_t(n)   = softmax(W_h h^1_t + b_h)                 (11)
    geometric    s^n_t    = sigmoid(w_h h^n_t + b_h)                 (12), one w and b per layer
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        d, n = config.d_model, config.decoder.layers
        heads = config.exits.heads
        self.sequence = nn.Linear(d, n) if "sequence" in heads else None
        self.multinomial = nn.Linear(d, n) if "multinomial" in heads else None
        self.geometric = nn.Linear(d, n) if "geometric" in heads else None  # row n belongs to layer n

    def geometric_logit(self, n: int, state: Tensor) -> Tensor:
        return F.linear(state, self.geometric.weight[n:n + 1], self.geometric.bias[n:n + 1]).squeeze(-1)


def smooth(values: Tensor, sigma: float) -> Tensor:
    """RBF smoothing over time of values [B, T, N]: weights exp(-|t - t'|^2 / sigma^2) (eq. 14 and 16)."""
    if sigma <= 0:
        return values
    t = torch.arange(values.shape[1], dtype=values.dtype, device=values.device)
    kernel = torch.exp(-((t[:, None] - t[None, :]) ** 2) / sigma ** 2)
    return torch.einsum("ts,bsn->btn", kernel, values)


def oracle(score: Tensor, real: Tensor, penalty: float, *, a_sequence: bool = False, sigma: float = 0.0) -> Tensor:
    """argmax_n score^n - penalty n (eq. 9, 10, 15, 17); the lowest such n.

    score: [B, T, N], the log likelihood LL^n of the reference token, or 1 if exit n predicts it (correctness). real:
    [B, T]. Returns exits from 0: [B] per sequence, or [B, T] per token. For a sequence the penalty counts once per
    token, so that a value means the same for short and long sequences.
    """
    score = score * real.unsqueeze(-1)
    depth = torch.arange(score.shape[-1], dtype=score.dtype, device=score.device)
    if a_sequence:
        return (score.sum(1) - penalty * real.sum(1, keepdim=True) * depth).argmax(-1)
    return (smooth(score, sigma) - penalty * depth).argmax(-1)


def geometric_loss(logits: Tensor, exits: Tensor, real: Tensor) -> Tensor:
    """-log q_t(n*) of the geometric-like policy (eq. 12): continue below the oracle's exit, stop at it.

    logits [B, T, N]. The last layer always stops, so its head is not trained.
    """
    layers = logits.shape[-1]
    n = torch.arange(layers - 1, device=logits.device)
    halt = (n == exits.unsqueeze(-1)).to(logits.dtype)
    counted = ((n <= exits.unsqueeze(-1)) & real.unsqueeze(-1)).to(logits.dtype)
    loss = F.binary_cross_entropy_with_logits(logits[..., :-1].float(), halt.float(), reduction="none")
    return (loss * counted).sum() / real.sum()
