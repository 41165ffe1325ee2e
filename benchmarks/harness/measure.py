"""Times variants against each other in turns, round after round, so that all run under the same conditions."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field

from .cases import Case
from .variants import CTRANSLATE2, Engine, Variant

SETTLE = 0.25  # seconds between runs, because an engine's threads spin for a while before they sleep
HOPELESS = 1.1  # relative to the best; slower variants are dropped


@dataclass
class Timing:
    variant: Variant
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    last: dict = field(default_factory=dict)  # the engine's report of its last run
    wall: float = 0  # seconds of its whole last turn

    def note(self, answer: dict, arriving: bool) -> None:
        # If documents arrive one by one, the result is how long each one waited.
        latency = statistics.mean(document["seconds"] for document in answer["documents"])
        self.seconds.append(latency if arriving else answer["seconds"])
        self.cpu_seconds.append(answer["cpu_seconds"])
        self.last = answer

    def median(self, clock: str = "seconds") -> float:
        return statistics.median(self.seconds if clock == "seconds" else self.cpu_seconds)

    def to_json(self) -> dict:
        documents = self.last.get("documents", [])
        told = {key: round(statistics.mean(d[key] for d in documents), 4)
                for key in ("mean_exit", "attention_cost_ratio", "encode_seconds") if documents and key in documents[0]}
        return {"family": self.variant.family, "name": self.variant.name, "exact": self.variant.exact,
                "seconds": self.seconds, "cpu_seconds": self.cpu_seconds, "peak_rss": self.last.get("peak_rss"), **told}

    @staticmethod
    def from_json(told: dict) -> "Timing":
        variant = Variant(told["name"], told["family"], Engine(told["family"], [], {}), exact=told["exact"])
        known = {key: told[key] for key in ("mean_exit", "attention_cost_ratio", "encode_seconds") if key in told}
        return Timing(variant, told["seconds"], told["cpu_seconds"],
                      {"peak_rss": told["peak_rss"], "documents": [known]})


def interleave(variants: list[Variant], documents: list[dict], case: Case, repeats: int, budget: float) -> list[Timing]:
    """`repeats` rounds; fewer if they would take more than `budget` seconds, but at least one.

    After the first round only variants that can still be the best of their family continue. A variant stops after its
    own number of `rounds`.
    """
    timings = [Timing(variant) for variant in variants]
    start = time.perf_counter()
    for done in range(repeats):
        going_on = contenders(timings) if done else timings
        going_on = [t for t in going_on if done < t.variant.rounds]
        spent = time.perf_counter() - start
        if not going_on or done > 0 and spent + sum(t.wall for t in going_on) > budget:
            break
        turn = done % len(going_on)
        for timing in going_on[turn:] + going_on[:turn]:
            began = time.perf_counter()
            timing.note(timing.variant.ask(documents), bool(case.arrivals))
            time.sleep(SETTLE)
            timing.wall = time.perf_counter() - began
    return timings


def contenders(timings: list[Timing]) -> list[Timing]:
    """The timings without those settings of CTranslate2 that are slower than another by more than a factor of
    HOPELESS."""
    least: dict[bool, float] = {}
    for timing in timings:
        if timing.variant.family == CTRANSLATE2:
            least[timing.variant.exact] = min(least.get(timing.variant.exact, timing.median()), timing.median())
    return [t for t in timings
            if t.variant.family != CTRANSLATE2 or t.median() <= HOPELESS * least[t.variant.exact]]


def best(timings: list[Timing], clock: str = "seconds") -> Timing:
    return min(timings, key=lambda timing: timing.median(clock))
