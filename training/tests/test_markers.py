"""Markers in training text: every one once on both sides, pairs in order, nothing else lost."""

from __future__ import annotations

import random
import re

from salient.markers import clauses, common_spans, marked, with_markers

MARKER = re.compile(r"\u27e6(\d+)\u27e7")
PAIR = ("In 2019, Ada Lovelace visited https://example.org/x twice, they say.",
        "Em 2019, Ada Lovelace visitou https://example.org/x duas vezes, dizem.")


def test_common_spans_are_whole_words_that_each_side_has_once():
    found = [s for s, _ in common_spans(*PAIR)]
    assert "2019" in found and "Ada Lovelace" in found and "https://example.org/x" in found
    assert "a" not in found and "visit" not in found
    assert common_spans("5 of 5", "5 de 5") == []


def test_clauses_need_as_many_commas():
    assert clauses(*PAIR)[1] == ("Ada Lovelace visited https://example.org/x twice",
                                 "Ada Lovelace visitou https://example.org/x duas vezes")
    assert clauses("One, two", "Um dois") == []


def test_every_marker_comes_once_on_both_sides_and_pairs_enclose():
    rng, seen = random.Random(0), 0
    for _ in range(300):
        source, target = marked(*PAIR, rng, 32)
        numbers = [MARKER.findall(side) for side in (source, target)]
        assert sorted(numbers[0]) == sorted(numbers[1]) and len(set(numbers[0])) == len(numbers[0])
        assert all(int(n) < 32 for n in numbers[0])
        for side, found in zip((source, target), numbers):
            for n in map(int, found):
                if n % 2 == 0 and str(n + 1) in found:
                    assert side.index(f"\u27e6{n}\u27e7") < side.index(f"\u27e6{n + 1}\u27e7")
        seen += bool(numbers[0])
    assert seen > 290


def test_of_an_odd_number_the_last_has_no_partner():
    numbers = {int(n) for seed in range(300) for side in marked(*PAIR, random.Random(seed), 3)
               for n in MARKER.findall(side)}
    assert numbers == {0, 1}


def test_only_the_share_is_marked_and_text_without_common_spans_stays():
    rng = random.Random(1)
    changed = sum(pair != PAIR for pair in with_markers([PAIR] * 1000, 0.1, rng, 32))
    assert 60 < changed < 140
    assert marked("Yes", "Sim", rng, 32) == ("Yes", "Sim")


def test_the_number_of_a_marker_is_not_marked():
    for seed in range(2000):
        for side in marked("Take 8 of the boxes", "Nimm 8 der Kisten", random.Random(seed), 32):
            assert "\u27e6\u27e6" not in side and "\u27e7\u27e7" not in side, side
