"""Operating points: the Pareto front of quality and cost, and the names of some of its points.

Cost is seconds per 1,000 source tokens with one document at a time, that is, the waiting time of a user. The names,
compared with dense greedy decoding at full depth:

    best      the highest BLEU of the front
    balanced  the cheapest point within 0.3 BLEU of dense greedy
    fast      the cheapest point within 1.0 BLEU of dense greedy
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from .settings import Setting

LOSS = {"balanced": 0.3, "fast": 1.0}
RULE = ("`best` has the highest BLEU; `balanced` and `fast` are the cheapest within 0.3 and 1.0 BLEU of dense greedy "
        "decoding. Cost is seconds per 1,000 source tokens, one document at a time")


@dataclass
class Candidate:
    setting: Setting
    bleu: float
    seconds: float  # per 1,000 source tokens
    attention_cost: float
    mean_exit: float


def front(candidates: list[Candidate]) -> list[Candidate]:
    """The Pareto front from the cheapest to the best: each candidate is better than all that are cheaper."""
    kept: list[Candidate] = []
    for c in sorted(candidates, key=lambda c: (c.seconds, -c.bleu)):
        if not kept or c.bleu > kept[-1].bleu:
            kept.append(c)
    return kept


def named(candidates: list[Candidate]) -> dict[str, Candidate]:
    dense = next(c for c in candidates if c.setting == Setting())
    points = front(candidates)
    found = {"best": points[-1]}
    for name, loss in LOSS.items():
        found[name] = next(c for c in points if c.bleu >= dense.bleu - loss)
    return found


def operating_points(candidates: list[Candidate]) -> str:
    """The text of operating_points.json (engine/options/operating_points.h). BLEU has more digits than any page,
    so that 37.746 is 37.7 everywhere, and not 37.75 and then 37.8."""
    points = [{"name": name, **c.setting.controls(), "bleu": round(c.bleu, 4),
               "attention_cost_ratio": round(c.attention_cost, 4), "mean_exit": round(c.mean_exit, 3),
               "seconds_per_1000_tokens": round(c.seconds, 4)} for name, c in named(candidates).items()]
    return json.dumps({"points": points}, indent=2) + "\n"
