"""Adaptive depth: halting heads, their oracles, and the losses (arXiv 1910.10073, eq. 4-17)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig


class GeometricHead(nn.Linear):
    """s^n_t = sigmoid(w h^n_t + b) (12), row n of the weights for layer n. With `width` hidden units, the linear map reads
    relu(V h^n_t + c) instead of h^n_t; rows n * width and on of V are layer n's."""

    def __init__(self, d_model: int, layers: int, width: int):
        super().__init__(width or d_model, layers)
        self.hidden = nn.Linear(d_model, layers * width) if width else None

    def logit(self, n: int, state: Tensor) -> Tensor:
        """Of layer n, from 0. state [..., d], normalised."""
        if self.hidden is not None:
            rows = slice(n * self.in_features, (n + 1) * self.in_features)
            state = F.relu(F.linear(state, self.hidden.weight[rows], self.hidden.bias[rows]))
        return F.linear(state, self.weight[n:n + 1], self.bias[n:n + 1]).squeeze(-1)


class HaltingHeads(nn.Module):
    """A head per policy. All of them read normalised states, so that inputs have the same scale at every layer.

    sequence     q(n|x)   = softmax(W_h mean(encoder output) + b_h)   (8)
    multinomial  q_t(n)   = softmax(W_h h^1_t + b_h)                 (11)
    geometric    GeometricHead
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        d, n = config.d_model, config.decoder.layers
        heads = config.exits.heads
        self.sequence = nn.Linear(d, n) if "sequence" in heads else None
        self.multinomial = nn.Linear(d, n) if "multinomial" in heads else None
        self.geometric = GeometricHead(d, n, config.exits.geometric_width) if "geometric" in heads else None


def smooth(values: Tensor, sigma: float) -> Tensor:
    """RBF smoothing over time of values [B, T, N]: weights exp(-|t - t'|^2 / sigma^2) (eq. 14 and 16)."""
    if sigma <= 0:
        return values
    t = torch.arange(values.shape[1], dtype=values.dtype, device=values.device)
    kernel = torch.exp(-((t[:, None] - t[None, :]) ** 2) / sigma ** 2)
    return torch.einsum("ts,bsn->btn", kernel, values)


def oracle(score: Tensor, real: Tensor, penalty: float, *, a_sequence: bool = False, sigma: float = 0.0) -> Tensor:
    """argmax_n score^n - penalty n (eq. 9, 10, 15, 17); the lowest such n.

    score: [B, T, N], the log likelihood LL^n of the reference token, or 1 if exit n predicts it (correctness), or the
    probability that the last exit gives to what exit n predicts (regret). real: [B, T]. Returns exits from 0: [B] per sequence, or [B, T] per token. For a sequence the penalty counts once per
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


def leaving_loss(logits: Tensor, score: Tensor, real: Tensor) -> Tensor:
    """Cross entropy of the geometric heads with 1 - (score^N - score^n), where score [B, T, N] is the probability that
    the last exit N gives to what exit n predicts. Unlike in `geometric_loss`, every layer learns from every token, and
    two words that the last exit finds equally good cost nothing. The last layer's head is not trained."""
    stays_good = 1 - (score[..., -1:] - score[..., :-1]).clamp(0, 1)
    loss = F.binary_cross_entropy_with_logits(logits[..., :-1].float(), stays_good.float(), reduction="none")
    return (loss * real.unsqueeze(-1)).sum() / real.sum()
