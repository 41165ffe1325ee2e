"""Timing variants against each other: one after another, round after round, so that all see the same machine."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field

from .cases import Case
from .variants import Variant

SETTLE = 0.25  # seconds between runs: the threads of the last engine spin for a while before they sleep


@dataclass
class Timing:
    variant: Variant
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    last: dict = field(default_factory=dict)  # what the engine told of its last run

    def note(self, answer: dict, arriving: bool) -> None:
        # Where documents come one by one, what counts is how long each waited.
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


def interleave(variants: list[Variant], documents: list[dict], case: Case, repeats: int, budget: float) -> list[Timing]:
    """`repeats` rounds, fewer where they would take more than `budget` seconds, but one at least."""
    timings = [Timing(variant) for variant in variants]
    start = time.perf_counter()
    for done in range(repeats):
        spent = time.perf_counter() - start
        if done > 0 and spent + spent / done > budget:
            break
        turn = done % len(timings)
        for timing in timings[turn:] + timings[:turn]:
            timing.note(timing.variant.ask(documents), bool(case.arrivals))
            time.sleep(SETTLE)
    return timings


def best(timings: list[Timing], clock: str = "seconds") -> Timing:
    return min(timings, key=lambda timing: timing.median(clock))
