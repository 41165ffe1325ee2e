"""The documents of the benchmarks: their tokens, the forced lengths of their translations, and when they arrive."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from .models import FIRST_WORD, ModelConfig, piece, text_of


@dataclass
class Case:
    name: str
    about: str
    lengths: list[int]  # source tokens of each document, with its end token
    cap: int = 2048  # the most target tokens; up to it a translation is as long as its source
    spacing: float = 0  # interval between documents, relative to the time that one takes alone
    budget: float = 60  # seconds for its rounds
    goals: tuple[float, float] | None = None  # ratios to reach: dense, and learned selection with exits
    seed: int = 1
    arrivals: list[float] = field(default_factory=list)  # seconds, set once the time of one document is known

    def outputs(self, most: int | None = None) -> list[int]:
        cap = min(self.cap, most or self.cap)
        return [max(SHORTEST, min(length, cap)) for length in self.lengths]


SHORTEST = 20  # target tokens; the driver can force no fewer
WARM = Case("warm", "", [32])  # the first translation of a process, which is not timed


def zipf(rng: random.Random, vocabulary: int) -> int:
    """A word by Zipf's law. A document's words then repeat as in real text, which matters to a vocabulary map."""
    words = vocabulary - FIRST_WORD
    return FIRST_WORD + min(words - 1, int(math.exp(rng.random() * math.log(words + 1))) - 1)


def document(rng: random.Random, length: int, vocabulary: int, end: int) -> list[int]:
    return [zipf(rng, vocabulary) for _ in range(length - 1)] + [end]


def documents(case: Case, config: ModelConfig, most: int | None = None) -> list[dict]:
    """The case's documents for all workers: as ids, as pieces and as text. `most` limits the translations' lengths."""
    rng = random.Random(case.seed)
    made = []
    for i, (length, output) in enumerate(zip(case.lengths, case.outputs(most))):
        ids = document(rng, length, config.vocab_size, config.tokens.eos)
        made.append({"ids": ids, "tokens": [piece(token, config) for token in ids], "text": text_of(ids[:-1]),
                     "length": output, "at": case.arrivals[i] if case.arrivals else 0.0})
    return made


def spread(count: int, least: int, most: int) -> list[int]:
    """`count` lengths from least to most in equal steps, always shuffled in the same way."""
    lengths = [round(least + (most - least) * i / (count - 1)) for i in range(count)]
    random.Random(5).shuffle(lengths)
    return lengths


def sentences(count: int) -> list[int]:
    """Sentence lengths as in news text: mostly 10 to 45 tokens."""
    rng = random.Random(7)
    return [max(5, min(90, round(rng.lognormvariate(3.2, 0.5)))) for _ in range(count)]


def full_cases() -> list[Case]:
    """All cases. Short translations favour CTranslate2, whose time per token grows with their length."""
    return [
        Case("one-128", "one document of 128 tokens", [128], budget=20),
        Case("one-512", "one document of 512 tokens", [512], budget=50, goals=(1.5, 2.5)),
        Case("one-1024", "one document of 1,024 tokens", [1024], cap=256, budget=25),
        Case("one-2048", "one document of 2,048 tokens", [2048], budget=150, goals=(2, 5)),
        Case("one-8192", "one document of 8,192 tokens", [8192], cap=64, budget=50),
        Case("sixteen", "16 documents of 512 to 2,048 tokens", spread(16, 512, 2048), cap=256, budget=150,
             goals=(2, 8)),
        Case("mixed", "one of 4,096 with seven of 64, arriving together", [4096] + [64] * 7, cap=256, budget=100,
             goals=(4, 10)),
        Case("mixed-long-part", "that one of 4,096 alone", [4096], cap=256, budget=40),
        Case("mixed-short-part", "those seven of 64 alone", [64] * 7, cap=256, budget=15),
        Case("sentences", "256 sentences", sentences(256), budget=60, goals=(1.3, 1.8)),
        Case("arrivals", "12 documents of 128 to 512 tokens arriving one by one, twice as fast as one takes alone",
             spread(12, 128, 512), spacing=0.5, budget=40),
    ]


def quick_cases() -> list[Case]:
    return [
        Case("one-128", "one document of 128 tokens", [128], goals=(1.5, 2.5)),
        Case("mixed", "one of 512 with three of 32, arriving together", [512] + [32] * 3, cap=48),
        Case("mixed-long-part", "that one of 512 alone", [512], cap=48),
        Case("mixed-short-part", "those three of 32 alone", [32] * 3, cap=48),
        Case("sentences", "16 sentences", sentences(16)),
        Case("arrivals", "4 documents of 32 to 64 tokens arriving one by one", spread(4, 32, 64), spacing=0.5),
    ]


def screening(case: Case) -> Case:
    """A smaller case, on which the settings of CTranslate2 are compared to find the best ones for this case."""
    if len(case.lengths) == 1:
        return Case("screen-one", "one document", [min(512, max(case.lengths))])
    least, most = min(case.lengths), max(case.lengths)
    if most <= 128:
        return Case("screen-short", "short documents", case.lengths[:32])
    return Case("screen-several", "documents of unlike lengths", [min(512, n) for n in (most, least, least, least)])
