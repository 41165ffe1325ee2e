"""Markers in training text: pieces that stand for text that a translation must copy, such as tags and placeholders.

In a share of the pairs, spans are replaced by markers on both sides, or enclosed in a pair of markers. So the model
learns that every marker of the source appears once in the target, and where. Spans that are identical on both sides can
be replaced or enclosed: numbers, names, addresses, code. Clauses can be enclosed if both sides have the same number of
them. A marker's number has no meaning. A pair has two consecutive numbers, the even one first.
"""

from __future__ import annotations

import random
import re

from .pieces import marker

TOKEN = re.compile(r"\S+")
EDGE = ".,;:!?\"'()[]{}“”‘’«»…"
LONGEST_SPAN = 4  # in words
MOST = 3  # spans in a pair of segments


def common_spans(source: str, target: str) -> list[tuple[str, str]]:
    """(text, text) of spans of up to four words that occur exactly once on each side, letter for letter; longest
    first."""
    words, found = list(TOKEN.finditer(source)), set()
    for length in range(1, LONGEST_SPAN + 1):
        for i in range(len(words) - length + 1):
            text = source[words[i].start():words[i + length - 1].end()].strip(EDGE)
            if (len(text) > 1 or text.isdigit()) and once(text, source) and once(text, target):
                found.add(text)
    return [(text, text) for text in sorted(found, key=len, reverse=True)]


def once(text: str, side: str) -> bool:
    """Whether `text` occurs in `side` exactly once, and as whole words. The number of a marker is no word."""
    return side.count(text) == 1 and re.search(rf"(?<![\w⟦]){re.escape(text)}(?![\w⟧])", side) is not None


def clauses(source: str, target: str) -> list[tuple[str, str]]:
    """Parts between commas, if both sides have the same number of them: then they usually correspond."""
    sides = [[part.strip(EDGE + " ") for part in side.split(", ")] for side in (source, target)]
    if len(sides[0]) != len(sides[1]) or len(sides[0]) == 1:
        return []
    return [(s, t) for s, t in zip(*sides) if s and t and once(s, source) and once(t, target)]


def marked(source: str, target: str, rng: random.Random, markers: int) -> tuple[str, str]:
    """The pair with markers, if it has a span to mark."""
    spans, parts = common_spans(source, target), clauses(source, target)
    free = list(range(0, markers - 1, 2))  # of an odd number the last has no partner
    rng.shuffle(free)
    for _ in range(rng.randint(1, MOST)):
        wraps = rng.random() < 0.4
        pool = [p for p in (parts + spans if wraps else spans) if once(p[0], source) and once(p[1], target)]
        if not pool or not free:
            break
        s, t = rng.choice(pool)
        number = free.pop()
        if wraps:
            opening, closing = marker(number), marker(number + 1)
            source = source.replace(s, f"{opening}{s}{closing}")
            target = target.replace(t, f"{opening}{t}{closing}")
        else:
            stand_in = marker(number + rng.randint(0, 1))
            source, target = source.replace(s, stand_in), target.replace(t, stand_in)
    return source, target


def with_markers(pairs: list[tuple[str, str]], share: float, rng: random.Random,
                 markers: int) -> list[tuple[str, str]]:
    """The pairs of a document, a share of them with markers."""
    return [marked(s, t, rng, markers) if rng.random() < share else (s, t) for s, t in pairs]
