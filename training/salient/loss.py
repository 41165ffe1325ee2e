"""Label-smoothed cross entropy over a large vocabulary, without ever holding a batch's logits."""

from __future__ import annotations

import torch
from torch import Tensor

CHUNK = {"cpu": 512, "cuda": 16384}  # rows whose logits are held at once: in a processor's cache, or to fill a GPU


class SmoothedCrossEntropy(torch.autograd.Function):
    """Sum over rows of -(1 - e) log p(target) - e mean_v log p(v), p = softmax(states weight^T + bias).

    With a `teacher` [R, d], the states of a better exit, `share` of the loss is the cross entropy with that exit's
    distribution instead. states [R, d], weight [V, d], bias [V], targets [R]; rows whose target is `ignored` count for
    nothing. Gradients are formed in the forward pass, a few rows at a time, because keeping or recomputing R x V values
    costs more than all of the decoder's layers.
    """

    @staticmethod
    def forward(ctx, states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float,
                ignored: int, teacher: Tensor | None, share: float) -> Tensor:
        dtype = states.dtype  # bf16 states make bf16 products; sums stay in fp32
        h, w = states.detach(), weight.detach().to(dtype)
        d_states, d_weight = torch.empty_like(h), torch.zeros_like(weight)
        d_bias, vocabulary, chunk = torch.zeros_like(bias), weight.shape[0], CHUNK[h.device.type]
        total, one_hot = torch.zeros((), device=h.device), (1 - share) * (1 - smoothing)
        uniform = (1 - share) * smoothing
        for start in range(0, h.shape[0], chunk):
            rows = h[start:start + chunk]
            gold = targets[start:start + chunk].unsqueeze(1)
            logits = torch.mm(rows, w.t()).float().add_(bias)
            mean = logits.mean(1)
            at_gold = logits.gather(1, gold).squeeze(1)
            wanted = one_hot * at_gold + uniform * mean
            if teacher is not None:
                expected = torch.mm(teacher[start:start + chunk].detach().to(dtype), w.t()).float().add_(bias).softmax(1)
                wanted += share * (expected * logits).sum(1)
            top = logits.amax(1, keepdim=True)
            p = logits.sub_(top).exp_()
            norm = p.sum(1, keepdim=True)
            log_norm = (norm.log() + top).squeeze(1)
            real = gold.ne(ignored).float()
            total += ((log_norm - wanted) * real.squeeze(1)).sum()
            p.div_(norm).sub_(uniform / vocabulary)
            p.scatter_add_(1, gold, torch.full_like(gold, -one_hot, dtype=p.dtype))
            if teacher is not None:
                p.sub_(expected, alpha=share)
            p.mul_(real)
            d_bias += p.sum(0)
            g = p.to(dtype)
            d_states[start:start + chunk] = torch.mm(g, w)
            d_weight += torch.mm(g.t(), rows)
        ctx.save_for_backward(d_states, d_weight, d_bias)
        return total

    @staticmethod
    def backward(ctx, upstream):
        d_states, d_weight, d_bias = ctx.saved_tensors
        return (d_states * upstream.to(d_states.dtype), d_weight * upstream, d_bias * upstream, None, None, None, None,
                None)


def smoothed_cross_entropy(states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float = 0.1,
                           ignored: int = 0, teacher: Tensor | None = None, share: float = 0.0) -> Tensor:
    """The sum over rows, not the mean: `targets` equal to `ignored` (padding) contribute nothing.

    `share` of the loss is taken from the distribution that the states `teacher` give, which learns nothing here.
    """
    if teacher is None or share == 0:
        teacher, share = None, 0.0
    return SmoothedCrossEntropy.apply(states, weight, bias, targets, smoothing, ignored, teacher, share)
