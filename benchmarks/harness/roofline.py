"""Computes each operation's share of the machine's limit (roofline model) from the output of ops_bench.

An operation is limited by the time to read its bytes, and by the time of its multiplications:

    least time = max(bytes / bandwidth(footprint), operations / peak(arithmetic))

Bandwidth is that of repeatedly reading as many bytes as the operation does, with the same number of threads; it is
interpolated between measured sizes. Peaks are those of the arithmetic that the operation's kernel uses.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Measured:
    """One line of ops_bench: the least of several rounds."""

    name: str
    seconds: float
    bytes: float
    operations: float
    footprint: float
    arithmetic: str


@dataclass
class Limit:
    seconds: float
    by: str  # "memory", or the arithmetic
    share: float  # of the limit; 1 at best


def read(path: Path) -> list[Measured]:
    """Without what this machine cannot run, such as oneDNN's products of bf16 without AVX-512."""
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    return [Measured(b["name"].removesuffix("/real_time"), b["real_time"] * unit[b["time_unit"]], b["bytes"],
                     b["operations"], b["footprint"], b["label"])
            for b in json.loads(path.read_text())["benchmarks"] if not b.get("error_occurred")]


def least(rounds: list[list[Measured]]) -> list[Measured]:
    """The fastest round of each benchmark, because other programs can only make a round slower."""
    return [min(same, key=lambda m: m.seconds) for same in zip(*rounds, strict=True)]


class Roofs:
    """The limits of the machine, from the benchmarks whose names begin with "roof/"."""

    def __init__(self, measured: list[Measured]):
        roofs = [m for m in measured if m.name.startswith("roof/")]
        self.peaks = {m.arithmetic: m.operations / m.seconds for m in roofs if m.operations}
        self.reads = sorted((m.footprint, m.bytes / m.seconds) for m in roofs if m.bytes)

    def bandwidth(self, footprint: float) -> float:
        if footprint <= self.reads[0][0]:
            return self.reads[0][1]
        for (low, slow_end), (high, fast_end) in zip(self.reads, self.reads[1:]):
            if footprint <= high:
                part = math.log(footprint / low) / math.log(high / low)
                return math.exp((1 - part) * math.log(slow_end) + part * math.log(fast_end))
        return self.reads[-1][1]

    def limit(self, m: Measured) -> Limit | None:
        """None if there is no peak loop for this arithmetic with this instruction set."""
        if m.arithmetic not in self.peaks:
            return None
        memory, arithmetic = m.bytes / self.bandwidth(m.footprint), m.operations / self.peaks[m.arithmetic]
        seconds = max(memory, arithmetic)
        return Limit(seconds, "memory" if memory >= arithmetic else m.arithmetic, seconds / m.seconds)
