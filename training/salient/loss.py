"""Label-smoothed cross entropy over a large vocabulary, without storing the logits of a batch."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

IGNORED = -1  # a target that is not counted
CHUNK = {"cpu": 512, "cuda": 16384}  # rows whose logits exist at a time: a cache's worth, or enough to fill a GPU


class Teacher(NamedTuple):
    """A teacher's distribution, softmax(states weight^T + bias), which replaces a share of the reference as the target.
    Its width d may differ from that of the student."""

    states: Tensor  # [R, d]
    weight: Tensor  # [V, d]
    bias: Tensor  # [V]
    share: Tensor  # [R]


class SmoothedCrossEntropy(torch.autograd.Function):
    """Sum over rows of -sum_v t(v) log p(v), p = softmax(states weight^T + bias).

    The target t is 1 - e at the reference and e / V everywhere; with a teacher q it is (1 - share) t + share q, where
    every row has its own share.
    states [R, d], weight [V, d], bias [V], targets [R]. weight_log [V]: of a sample of the vocabulary (`Candidates`),
    whose bias has it already; then the sums over v are estimates, in which a token counts as often as those that it
    represents. Gradients are formed in the forward pass, a few rows at a time, because keeping or recomputing R x V
    values costs more than all of the decoder's layers.
    """

    @staticmethod
    def forward(ctx, states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float,
                teacher: Teacher | None, weight_log: Tensor | None) -> Tensor:
        dtype = states.dtype  # bf16 states give bf16 products; sums are fp32
        h, w = states.detach(), weight.detach().to(dtype)
        learns, learns_weight = any(ctx.needs_input_grad), ctx.needs_input_grad[1]
        d_states, d_weight = torch.empty_like(h), torch.zeros_like(weight) if learns_weight else None
        d_bias, chunk = torch.zeros_like(bias), CHUNK[h.device.type]
        total = torch.zeros((), device=h.device)
        sampled_from = torch.zeros_like(bias) if weight_log is None else weight_log
        even = F.softmax(sampled_from, 0)  # 1 / V for every token that a token represents
        w_teacher = teacher.weight.detach().to(dtype) if teacher else None
        for start in range(0, h.shape[0], chunk):
            rows = h[start:start + chunk]
            gold = targets[start:start + chunk].unsqueeze(1)
            logits = torch.mm(rows, w.t()).float().add_(bias)
            taught = teacher.share[start:start + chunk] if teacher else torch.zeros(len(rows), device=h.device)
            own = 1 - taught
            wanted = own * ((1 - smoothing) * logits.gather(1, gold).squeeze(1)
                            + smoothing * (logits.mv(even) - even.dot(sampled_from)))
            if teacher:
                q = torch.mm(teacher.states[start:start + chunk].to(dtype), w_teacher.t()).float().add_(teacher.bias)
                q = F.softmax(q, 1).mul_(taught.unsqueeze(1))
                wanted += torch.einsum("rv,rv->r", q, logits) - q.mv(sampled_from)
            top = logits.amax(1, keepdim=True)
            p = logits.sub_(top).exp_()
            norm = p.sum(1, keepdim=True)
            log_norm = (norm.log() + top).squeeze(1)
            total += (log_norm - wanted).sum()
            if not learns:
                continue
            p.div_(norm).addr_(own, even, alpha=-smoothing)
            p.scatter_add_(1, gold, own.unsqueeze(1) * (smoothing - 1))
            if teacher:
                p.sub_(q)
            d_bias += p.sum(0)
            g = p.to(dtype)
            d_states[start:start + chunk] = torch.mm(g, w)
            if learns_weight:
                d_weight += torch.mm(g.t(), rows)
        ctx.save_for_backward(d_states, d_weight, d_bias)
        return total

    @staticmethod
    def backward(ctx, upstream):
        d_states, d_weight, d_bias = ctx.saved_tensors
        d_weight = None if d_weight is None else d_weight * upstream
        return d_states * upstream.to(d_states.dtype), d_weight, d_bias * upstream, None, None, None, None


class Candidates(NamedTuple):
    """A sample of the vocabulary, with which a loss is estimated."""

    tokens: Tensor  # [C], ascending
    place: Tensor  # [V] the index of each token in the sample; undefined for all others
    weight_log: Tensor  # [C] log of the number of tokens that each one represents

    def of(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        return weight[self.tokens], bias[self.tokens] + self.weight_log


def sampled(targets: Tensor, vocabulary: int, most: int, generator: torch.Generator) -> Candidates:
    """The tokens of `targets`, and random others up to `most` in all. Each of these others represents several tokens,
    so that a sum over the sample is an unbiased estimate of the sum over the vocabulary."""
    wanted = torch.zeros(vocabulary, dtype=torch.bool)
    wanted[targets.cpu()] = True
    others = (~wanted).nonzero().squeeze(1)
    drawn = others[torch.randperm(len(others), generator=generator)[:max(1, most - int(wanted.sum()))]]
    stands_for = torch.zeros(vocabulary)
    if len(drawn):  # none where the targets are the whole vocabulary
        stands_for[drawn] = math.log(len(others) / len(drawn))
    wanted[drawn] = True
    tokens = wanted.nonzero().squeeze(1)
    place = wanted.long().cumsum(0) - 1
    return Candidates(*(x.to(targets.device) for x in (tokens, place, stands_for[tokens])))


def smoothed_cross_entropy(states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float = 0.1,
                           ignored: int = 0, teacher: Teacher | None = None,
                           weight_log: Tensor | None = None) -> Tensor:
    """The sum over rows, not the mean. Rows whose target is `ignored` are left out: padding, and tokens that have
    exited. weight_log: of a sample of the vocabulary, from whose `Candidates.of` weight and bias are."""
    kept = targets.ne(ignored).nonzero().squeeze(1)
    if teacher:
        teacher = teacher._replace(states=teacher.states[kept], share=teacher.share[kept])
    inputs = states[kept], weight, bias
    if not torch.is_grad_enabled():  # a Function does not see that
        inputs = tuple(x.detach() for x in inputs)
    return SmoothedCrossEntropy.apply(*inputs, targets[kept], smoothing, teacher, weight_log)
