"""Removes pairs of segments and whole documents that are not suitable for training.

Pairs are removed if they cannot teach translation: lengths that do not match, untranslated text, another language,
markup on one side only. Documents are removed if nearly all of their text was seen before. Text that is held out for
evaluation, and near copies of it, are removed.

Some of this depends on how the two languages are written, which is learned from the pairs themselves (`writing_of`).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Callable, Iterable, Sequence

LONGEST = 800  # characters of a segment
GRAM = 8  # words; two texts that share one are taken to have a common origin
MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|\{\{.*?\}\}|:::[^:]*:::|\[!\w+\]|&#?\w+;")
WORD = re.compile(r"\w+")
LATIN_END = "\u024f"  # letters up to here are those of most Latin alphabets
OWN_SHARE = 0.1  # of a language's letters: with fewer beyond LATIN_END, these are of foreign words
LEAST_SHARE = 0.02  # of its letters that each of its scripts has; Japanese has three
# Scripts without spaces between words, by their names and by their characters.
UNSPACED = {"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "MYANMAR", "KHMER"}
CHARACTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
WORD_OR_CHARACTER = re.compile(rf"[{CHARACTERS}]|[^\W{CHARACTERS}]+")

Pair = tuple[str, str]


@dataclass(frozen=True)
class Writing:
    """How the two languages of the pairs are written. The default: both in Latin letters up to LATIN_END."""

    scripts: frozenset[str] = frozenset()  # of one language or both, beyond LATIN_END
    ratio: float = 1.0  # the target's characters per character of the source

    def words(self, text: str) -> list[str]:
        """The words; each character counts as one if a language has no spaces between words."""
        return (WORD_OR_CHARACTER if self.scripts & UNSPACED else WORD).findall(text.lower())


LATIN = Writing()


@functools.lru_cache(maxsize=None)
def script_of(letter: str) -> str:
    """The script by the letter's name: CYRILLIC, CJK, HIRAGANA and so on."""
    name = unicodedata.name(letter, "UNKNOWN").removeprefix("HALFWIDTH ").removeprefix("FULLWIDTH ")
    first = re.split("[ -]", name)[0]
    return "CJK" if first == "IDEOGRAPHIC" else first


def is_beyond_latin(c: str) -> bool:
    return c > LATIN_END and unicodedata.category(c)[0] == "L"


def own_scripts(texts: list[str]) -> set[str]:
    """The scripts, beyond LATIN_END, that the language of the texts is written in."""
    counts = Counter(script_of(c) for text in texts for c in text if is_beyond_latin(c))
    letters = sum(c.isalpha() for text in texts for c in text)
    if sum(counts.values()) < OWN_SHARE * letters:
        return set()
    return {script for script, count in counts.items() if count > LEAST_SHARE * letters}


def writing_of(pairs: list[Pair]) -> Writing:
    """What a sample of pairs says about its languages."""
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    scripts = frozenset().union(*map(own_scripts, sides))
    source, target = (sum(map(len, texts)) for texts in sides)
    return Writing(scripts, target / source) if scripts and source and target else LATIN


def fault(source: str, target: str, writing: Writing = LATIN) -> str | None:
    """Why a pair cannot teach translation, or None if it can."""
    s, t = len(source), len(target)
    if not s or not t:
        return "empty"
    if max(s, t) > LONGEST:
        return "too long"
    if max(s, t) > 30 and not 0.4 < t / (s * writing.ratio) < 2.6:
        return "lengths differ"
    if untranslated(source, target, writing):
        return "untranslated"
    if loops(target, writing) and not loops(source, writing):
        return "repetition"
    if foreign(source, writing) != foreign(target, writing):
        return "characters differ"
    if Counter(MARKUP.findall(source)) != Counter(MARKUP.findall(target)):
        return "markup differs"
    return None


def untranslated(source: str, target: str, writing: Writing = LATIN) -> bool:
    """Whether a target of more than four words consists mostly of the source's words in the same order."""
    s, t = writing.words(source), writing.words(target)
    if len(t) <= 4:
        return False
    pairs = Counter(zip(s, s[1:]))
    kept = sum(min(n, pairs[p]) for p, n in Counter(zip(t, t[1:])).items())
    return kept > 0.7 * (len(t) - 1)


def loops(text: str, writing: Writing = LATIN) -> bool:
    """Whether a sequence of one to four words is repeated four times in a row."""
    return repeats(writing.words(text))


def repeats(parts: Sequence[str]) -> bool:
    """The same for parts of any kind, such as pieces, or the characters of a string."""
    return any(all(parts[i + j] == parts[i + j + n] for j in range(3 * n))
               for n in range(1, 5) for i in range(len(parts) - 4 * n + 1))


def foreign(text: str, writing: Writing = LATIN) -> Counter:
    """Symbols, and letters of scripts that neither language is written in. A translation should copy them."""
    return Counter(c for c in text if is_beyond_latin(c) and script_of(c) not in writing.scripts
                   or unicodedata.category(c) == "So")


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


def check_detector() -> None:
    """Raises ValueError if the detector is not installed, before a long run needs it."""
    try:
        import pycld2  # noqa: F401
    except ImportError:
        raise ValueError("languages are identified with the Python package pycld2, which is missing: pip install "
                         "pycld2, or leave the check out with --no-language-check") from None


def language_check(source_language: str, target_language: str, writing: Writing = LATIN,
                   detect: Detector = cld2) -> Callable[[str, str], str | None]:
    """A function that finds pairs of at least eight words which are certainly not in the expected languages."""

    def speaks(text: str, expected: str) -> bool:
        reliable, found = detect(text)
        return not reliable or found in (expected, "un")

    def wrong(source: str, target: str) -> str | None:
        if len(writing.words(source)) < 8 or len(writing.words(target)) < 8:
            return None
        return None if speaks(source, source_language) and speaks(target, target_language) else "wrong language"

    return wrong


class HeldOut:
    """The segments of evaluation documents, and word sequences that identify near copies of these documents."""

    def __init__(self, segments: Iterable[str], writing: Writing = LATIN):
        self.writing = writing
        self.segments: set[tuple[str, ...]] = set()
        self.grams: set[int] = set()
        for text in segments:
            w = writing.words(text)
            self.segments.add(tuple(w))
            self.grams.update(_grams(w))

    def fault(self, source: str) -> str | None:
        w = self.writing.words(source)
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
