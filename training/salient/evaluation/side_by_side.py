"""Several models on the same documents, which the engine translates dense, greedily and at full depth.

The first model is the baseline of the paired bootstrap, and of the speeds.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from . import cost, sets
from .engine import Engine
from .score import Scorer
from .sets import DocumentSet
from .settings import Setting

TIMED_SEGMENTS = 300
TAKES = 5


@dataclass
class Scored:
    bleu: float
    interval: float  # half of the 95 % confidence interval of BLEU
    chrf: float
    document_bleu: float
    tokens_per_second: float  # of the target, documents translated together
    difference: float = 0.0  # BLEU, against the baseline
    p: float | None = None  # probability of such a difference by chance; None for the baseline


def speeds(engines: list[Engine], test_set: DocumentSet) -> list[float]:
    """Medians of several takes of a part of the set. Every take goes through all models, so that other work on the
    machine affects all of them."""
    part = sets.sample(test_set, TIMED_SEGMENTS)
    takes = [[cost.tokens_per_second(engine.translate(part, Setting(), take=take + 1)) for engine in engines]
             for take in range(TAKES)]
    return [median(column) for column in zip(*takes)]


def scored(programs: Path, models: list[Path], test_set: DocumentSet, work: Path) -> list[Scored]:
    scorer = Scorer(test_set.documents)
    with ExitStack() as running:
        engines = [running.enter_context(Engine(programs, model, work)) for model in models]
        results = [engine.translate(test_set, Setting()) for engine in engines]
        rates = speeds(engines, test_set)
    found = []
    for result, rate in zip(results, rates):
        scores = scorer.scores(result)
        found.append(Scored(scores.bleu, scorer.interval(result), scores.chrf, scores.document_bleu, rate))
    for entry, difference in zip(found[1:], scorer.differences(results[0], results[1:])):
        entry.difference, entry.p = difference.bleu, difference.p
    return found
