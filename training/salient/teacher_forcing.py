"""The predictions of every exit at every token of the references, to compare likelihoods, oracles and policies.

The engine decodes freely and cannot follow an oracle, which needs the reference. Here the PyTorch model reads the
references, or other translations instead, with all layers and without copying states. A rule then chooses the exit of
each token. A rule's quality is the mean negative log-likelihood of the references and the
share of tokens predicted right; its cost is the mean exit. N is the number of decoder layers, T a chunk's tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from .depth import oracle
from .model import Transformer
from .selection import SelectionRun

PENALTIES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.2)
THRESHOLDS = tuple(0.05 * n for n in range(2, 20))


@dataclass
class Forced:
    """The predictions for one chunk. Exits n are 0 .. N-1 here."""

    likelihood: Tensor  # [T, N] log p(reference)
    correct: Tensor  # [T, N] 1 where the reference is the best token
    same: Tensor  # [T, N] 1 where the exit's best token is the last exit's
    loss: Tensor  # [T, N] the last exit's probability of its best token, minus that of the exit's best token
    confidence: Tensor  # [T, N] the best token's probability
    halting: Tensor | None  # [T, N] sigmoid of the geometric head
    multinomial: Tensor | None  # [T] the exits that the head predicts
    sequence: int | None  # the exit that the head predicts for the chunk


@dataclass
class Point:
    mean_exit: float  # from 1
    nll: float
    accuracy: float


def own_selection(model: Transformer) -> SelectionRun:
    chosen = model.config.selection
    return SelectionRun(mode="select", learns=False, ratio=chosen.learned_ratio, min_keys=chosen.min_keys)


@torch.no_grad()
def force(model: Transformer, source: Tensor, target: Tensor, learned: bool = False, given: int = 0) -> Forced:
    """source [1, S], target [1, T + 1], BOS first. `learned`: with the model's own selection; otherwise dense. The
    first `given` tokens after BOS are read, and not measured: the engine forces them."""
    run, halting = own_selection(model) if learned else SelectionRun(), model.halting
    memory = model.encode(source, run)
    states = [state[:, given:] for state in model.decode(target[:, :-1], source, memory, run)]
    gold = target[0, 1 + given:]
    columns: dict[str, list[Tensor]] = {"likelihood": [], "correct": [], "best": [], "confidence": [],
                                        "halting": []}
    for n, state in enumerate(states):
        log_p = F.log_softmax(model.decoding_logits(n, state)[0], -1)
        best, at = log_p.max(-1)
        columns["likelihood"].append(log_p.gather(-1, gold[:, None])[:, 0])
        columns["correct"].append((at == gold).float())
        columns["best"].append(at)
        columns["confidence"].append(best.exp())
        if halting is not None and halting.geometric is not None:
            columns["halting"].append(torch.sigmoid(halting.geometric_logit(n, model.exit_norms[n](state)[0])))
    stacked = {name: torch.stack(values, -1) if values else None for name, values in columns.items()}
    best = stacked.pop("best")
    stacked["same"] = best.eq(best[:, -1:]).float()
    stacked["loss"] = log_p.max(-1, keepdim=True).values.exp() - log_p.gather(-1, best).exp()  # by the last exit
    named = {"multinomial": None, "sequence": None}
    if halting is not None and halting.multinomial is not None:
        named["multinomial"] = halting.multinomial(model.exit_norms[0](states[0])[0]).argmax(-1)
    if halting is not None and halting.sequence is not None:
        named["sequence"] = int(halting.sequence(memory[0].mean(0)).argmax())
    return Forced(**stacked, **named)


def first_above(signal: Tensor, threshold: float | Tensor) -> Tensor:
    """The first exit whose signal [T, N] exceeds the threshold (one, or [N]), else the last exit -> [T]."""
    over = signal > threshold
    over[:, -1] = True
    return over.int().argmax(-1)


def measure(chunks: list[Forced], exits: list[Tensor]) -> Point:
    """exits: for each chunk [T], from 0."""
    totals, count = [0.0, 0.0, 0.0], 0
    for chunk, at in zip(chunks, exits):
        column = at[:, None]
        totals[0] += float((at + 1).sum())
        totals[1] -= float(chunk.likelihood.gather(-1, column).sum())
        totals[2] += float(chunk.correct.gather(-1, column).sum())
        count += len(at)
    return Point(*(total / count for total in totals))


def oracle_exits(chunk: Forced, kind: str, penalty: float, sigma: float = 0.0) -> Tensor:
    """Token exits by eq. 15 (likelihood), 17 (correctness) of arXiv 1910.10073, or by agreement with the last exit."""
    score = getattr(chunk, {"likelihood": "likelihood", "correctness": "correct", "agreement": "same"}[kind])[None]
    return oracle(score, torch.ones(score.shape[:2], dtype=torch.bool), penalty, sigma=sigma)[0]


def fixed_exits(chunks: list[Forced]) -> list[Point]:
    """Exit 1, 2, ... at every token."""
    layers = chunks[0].likelihood.shape[-1]
    return [measure(chunks, [torch.full((len(c.likelihood),), n) for c in chunks]) for n in range(layers)]


def curves(chunks: list[Forced]) -> dict[str, list[Point]]:
    """The points of every rule, in the order of its parameter."""
    first = chunks[0]

    def over(rule) -> Point:
        return measure(chunks, [rule(c) for c in chunks])

    found = {"fixed": fixed_exits(chunks)}
    for kind in ("likelihood", "correctness", "agreement"):
        found[f"oracle, {kind}"] = [over(lambda c, p=p, k=kind: oracle_exits(c, k, p)) for p in PENALTIES]
    found["confidence"] = [over(lambda c, t=t: first_above(c.confidence, t)) for t in THRESHOLDS]
    if first.halting is not None:
        found["geometric"] = [over(lambda c, t=t: first_above(c.halting, t)) for t in THRESHOLDS]
    if first.multinomial is not None:
        found["multinomial"] = [over(lambda c: c.multinomial)]
    if first.sequence is not None:
        found["sequence"] = [over(lambda c: torch.full((len(c.likelihood),), c.sequence))]
    return found
