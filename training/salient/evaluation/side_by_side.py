"""Several models on the same documents, which the engine translates dense, greedily and at full depth.

The first model is the baseline of the paired bootstrap.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .engine import Engine
from .score import Scorer
from .sets import DocumentSet
from .settings import Setting


@dataclass
class Scored:
    bleu: float
    interval: float  # half of the 95 % confidence interval of BLEU
    chrf: float
    document_bleu: float
    difference: float = 0.0  # BLEU, against the baseline
    p: float | None = None  # that chance alone makes such a difference; None of the baseline


def scored(programs: Path, models: list[Path], test_set: DocumentSet, work: Path) -> list[Scored]:
    results, scorer = [], Scorer(test_set.documents)
    for model in models:
        with Engine(programs, model, work) as engine:
            results.append(engine.translate(test_set, Setting()))
    found = []
    for result in results:
        scores = scorer.scores(result)
        found.append(Scored(scores.bleu, scorer.interval(result), scores.chrf, scores.document_bleu))
    for entry, difference in zip(found[1:], scorer.differences(results[0], results[1:])):
        entry.difference, entry.p = difference.bleu, difference.p
    return found
