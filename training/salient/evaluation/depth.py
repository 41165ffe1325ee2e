"""Adaptive depth from the engine's results: thresholds tuned on one half and reported on the other; traces."""

from __future__ import annotations

from dataclasses import dataclass

from .engine import Result
from .settings import Setting

ALLOWED = (0.2, 0.5)  # loss of BLEU against full depth that a tuned setting may have on the tuning half


@dataclass
class Measured:
    """One setting on both halves: (mean exit, BLEU)."""

    setting: Setting
    tuning: tuple[float, float]
    report: tuple[float, float]


def front(found: list[Measured]) -> list[Measured]:
    """The settings that no other setting dominates on the tuning half, from the earliest exit to the latest."""
    kept: list[Measured] = []
    for m in sorted(found, key=lambda m: (m.tuning[0], -m.tuning[1])):
        if not kept or m.tuning[1] > kept[-1].tuning[1]:
            kept.append(m)
    return kept


def tuned(found: list[Measured], full: Measured, allowed: float) -> Measured | None:
    """The setting with the earliest mean exit that loses at most `allowed` BLEU on the tuning half; None if there is
    none."""
    good = [m for m in found if m.tuning[1] >= full.tuning[1] - allowed]
    return min(good, key=lambda m: m.tuning[0]) if good else None


# A traced segment is a list of (piece, exit from 1, probability).

def traced_segments(result: Result) -> list[list]:
    return [segment for t in result.translated for segment in t.report.get("trace", []) if segment]


def shares(exits: list[int], layers: int) -> list[float]:
    return [exits.count(n) / max(1, len(exits)) for n in range(1, layers + 1)]


def exits_by_position(segments: list[list], layers: int, parts: int = 10) -> list[list[float]]:
    """Share of each exit in each tenth of a segment: [parts][layers]. The paper compares the first tenth with the
    last."""
    books: list[list[int]] = [[] for _ in range(parts)]
    for segment in segments:
        for position, (_, layer, _) in enumerate(segment):
            books[position * parts // len(segment)].append(layer)
    return [shares(book, layers) for book in books]


def exits_by_probability(segments: list[list], layers: int, parts: int = 10) -> list[list[float]]:
    """Joint distribution of probability bins and exits: [parts][layers], with a sum of 1."""
    counts = [[0] * layers for _ in range(parts)]
    for segment in segments:
        for _, layer, probability in segment:
            counts[min(parts - 1, int(probability * parts))][layer - 1] += 1
    total = max(1, sum(map(sum, counts)))
    return [[count / total for count in row] for row in counts]


def example(segments: list[list], least: int = 14, most: int = 26) -> list:
    """The segment of readable length whose exits are the most varied and even; the first of equals."""

    def variety(segment: list) -> float:
        exits = [layer for _, layer, _ in segment]
        return -sum(exits.count(n) ** 2 for n in set(exits)) / len(exits) ** 2

    fitting = [s for s in segments if least <= len(s) <= most] or segments
    return max(fitting, key=variety)
