"""Splits paragraphs into sentences by the rules of engine/text: ICU's boundaries, except those after abbreviations.

Needs PyICU. The lists are those of engine/text/abbreviations.cc, for English, the source language of distillation.
"""

from __future__ import annotations

import re
from typing import Callable

WORDS = set("mr mrs ms messrs dr prof rev hon st mt gen col capt cmdr lt sgt maj sen rep gov pres vs cf viz e.g i.e eg "
            "ie approx fig figs".split())
BEFORE_NUMBERS = set("no nos vol vols pp ch sec art eq para".split())
WORD_BEFORE_STOP = re.compile(r"([\w.]*)\.\s*$")


def one_line(sentence: str) -> str:
    """Without line breaks such as U+2028, at which the engine would divide it."""
    return " ".join(sentence.splitlines())


def is_false_boundary(before: str, after: str) -> bool:
    """Whether a boundary between `before` and `after` does not end a sentence."""
    found = WORD_BEFORE_STOP.search(before)
    if found:
        word = found.group(1)
        single_letter = len(word) == 1 and word.isalpha() and word != "I"
        listed = word.lower() in WORDS or (word.lower() in BEFORE_NUMBERS and after[:1].isdigit())
        return single_letter or listed
    return before.rstrip()[-1:] in "\"'”’»" and before[-1:].isspace() and after[:1].islower()


def splitter(language: str = "en") -> Callable[[str], list[str]]:
    """A function that splits a paragraph. Parts without a letter are left out."""
    import icu

    iterator = icu.BreakIterator.createSentenceInstance(icu.Locale(language))

    def split(paragraph: str) -> list[str]:
        text = icu.UnicodeString(paragraph)
        iterator.setText(text)
        sentences, begin = [], 0
        for at in iterator:
            before, after = str(text[begin:at]), str(text[at:at + 1])
            if at < len(text) and is_false_boundary(before, after):
                continue
            sentences.append(before.strip())
            begin = at
        return [s for s in sentences if any(c.isalpha() for c in s)]

    return split
