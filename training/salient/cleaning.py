"""Removes pairs of segments and whole documents that are not suitable for training.

Pairs are removed if they cannot teach translation: lengths that do not match, untranslated text, another language,
markup on one side only. Documents are removed if nearly all of their text was seen before. Text that is held out for
evaluation, and near copies of it, are removed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Callable, Iterable

LONGEST = 800  # characters of a segment
GRAM = 8  # words; two texts that share one are taken to have a common origin
MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|\{\{.*?\}\}|:::[^:]*:::|\[!\w+\]|&#?\w+;")
WORD = re.compile(r"\w+")

Pair = tuple[str, str]


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def fault(source: str, target: str) -> str | None:
    """Why a pair cannot teach translation, or None if it can."""
    s, t = len(source), len(target)
    if not s or not t:
        return "empty"
    if max(s, t) > LONGEST:
        return "too long"
    if max(s, t) > 30 and not 0.4 < t / s < 2.6:
        return "lengths differ"
    if untranslated(source, target):
        return "untranslated"
    if loops(target) and not loops(source):
        return "repetition"
    if foreign(source) != foreign(target):
        return "characters differ"
    if Counter(MARKUP.findall(source)) != Counter(MARKUP.findall(target)):
        return "markup differs"
    return None


def untranslated(source: str, target: str) -> bool:
    """Whether a target of more than four words consists mostly of the source's words in the same order."""
    s, t = words(source), words(target)
    if len(t) <= 4:
        return False
    pairs = Counter(zip(s, s[1:]))
    kept = sum(min(n, pairs[p]) for p, n in Counter(zip(t, t[1:])).items())
    return kept > 0.7 * (len(t) - 1)


def loops(text: str) -> bool:
    """Whether a sequence of one to four words is repeated four times in a row."""
    w = words(text)
    return any(all(w[i + j] == w[i + j + n] for j in range(3 * n))
               for n in range(1, 5) for i in range(len(w) - 4 * n + 1))


def foreign(text: str) -> Counter:
    """Symbols and letters of non-Latin scripts. A translation should copy them."""
    return Counter(c for c in text if c > "\u024f" and unicodedata.category(c)[0] in "L" or
                   unicodedata.category(c) == "So")


# Text -> whether the answer can be relied on, and the language's two-letter code.
Detector = Callable[[str], "tuple[bool, str]"]


def cld2(text: str) -> tuple[bool, str]:
    """The language by Compact Language Detector 2, which is small and fast, and whether it is sure."""
    import pycld2

    try:
        reliable, _, details = pycld2.detect("".join(c for c in text if c.isprintable()))
    except pycld2.error:
        return False, "un"
    return reliable, details[0][1]


def language_check(source_language: str, target_language: str,
                   detect: Detector = cld2) -> Callable[[str, str], str | None]:
    """A function that finds pairs of at least eight words which are certainly not in the expected languages."""

    def speaks(text: str, expected: str) -> bool:
        reliable, found = detect(text)
        return not reliable or found in (expected, "un")

    def wrong(source: str, target: str) -> str | None:
        if len(words(source)) < 8 or len(words(target)) < 8:
            return None
        return None if speaks(source, source_language) and speaks(target, target_language) else "wrong language"

    return wrong


class HeldOut:
    """The segments of evaluation documents, and word sequences that identify near copies of these documents."""

    def __init__(self, segments: Iterable[str]):
        self.segments: set[tuple[str, ...]] = set()
        self.grams: set[int] = set()
        for text in segments:
            w = words(text)
            self.segments.add(tuple(w))
            self.grams.update(_grams(w))

    def fault(self, source: str) -> str | None:
        w = words(source)
        if len(w) > 4 and tuple(w) in self.segments:
            return "held out"
        grams = _grams(w)
        if grams and sum(g in self.grams for g in grams) > 0.5 * len(grams):
            return "near copy of held out"
        return None


def _grams(w: list[str]) -> list[int]:
    return [hash(tuple(w[i:i + GRAM])) for i in range(len(w) - GRAM + 1)]


class Duplicates:
    """Remembers the documents that were kept, and how often each pair occurred."""

    def __init__(self, most: int = 4, seen_share: float = 0.8):
        self.most, self.seen_share = most, seen_share
        self.counts: Counter[int] = Counter()

    def fresh(self, document: list[Pair]) -> list[Pair]:
        """The document's pairs without those that occurred too often; none if nearly all of its text was seen
        before."""
        keys = [hash(pair) for pair in document]
        seen = sum(self.counts[key] > 0 for key in keys)
        if len(keys) > 4 and seen > self.seen_share * len(keys):
            return []
        kept = []
        for pair, key in zip(document, keys):
            if self.counts[key] < self.most:
                self.counts[key] += 1
                kept.append(pair)
        return kept
