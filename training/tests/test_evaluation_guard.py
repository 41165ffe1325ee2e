"""Faults that are planted to measure the guard: each is what it says, and nothing else."""

from __future__ import annotations

import random

import pytest

from salient.evaluation import guard, server
from salient.evaluation.sets import Document

PAIR = ("In 1998 the old man said, as everyone remembers, that read_file is slow, and he went home.",
        "1998 sagte der alte Mann, wie sich alle erinnern, dass read_file langsam ist, und er ging nach Hause.")


@pytest.mark.parametrize("seed", range(5))
def test_deletions_keep_the_order_of_what_is_left(seed):
    words = PAIR[1].split()
    for plant in (guard.deleted, guard.clause_deleted):
        left = plant(PAIR, random.Random(seed)).split()
        assert len(left) < len(words)
        at = iter(words)
        assert all(word in at for word in left)


@pytest.mark.parametrize("seed", range(5))
def test_repeated_words_stand_side_by_side(seed):
    made = guard.repeated(PAIR, random.Random(seed)).split()
    runs = [n for n in range(2, 6) for i in range(len(made) - 2 * n + 1)
            if made[i:i + n] == made[i + n:i + 2 * n]]
    assert runs
    assert len(made) >= len(PAIR[1].split()) + 4


def test_a_number_changes_in_one_digit():
    made = guard.number_changed(PAIR, random.Random(1))
    assert made != PAIR[1] and len(made) == len(PAIR[1])
    assert sum(a != b for a, b in zip(made, PAIR[1])) == 1
    assert guard.number_changed(("no number", "keine Zahl"), random.Random(1)) is None


def test_an_identifier_loses_its_spelling():
    assert "read file" in guard.name_changed(PAIR, random.Random(1))
    assert guard.name_changed(("no name", "kein Name"), random.Random(1)) is None


def test_text_of_the_source():
    assert guard.untranslated(PAIR, random.Random(1)) == PAIR[0]
    half = guard.half_untranslated(PAIR, random.Random(1))
    assert half.startswith("1998 sagte") and half.endswith("he went home.")


def test_short_references_are_left_alone():
    for plant in (guard.deleted, guard.repeated, guard.untranslated, guard.half_untranslated, guard.clause_deleted):
        assert plant(("Good morning.", "Guten Morgen."), random.Random(1)) is None


def test_loops_are_told_by_how_they_compress():
    assert not guard.loops("1998 sagte der Alte, dass es langsam sei, woran sich alle erinnern, und ging heim.", PAIR[1])
    assert guard.loops("1998 sagte der Alte " + "der alte Mann " * 20, PAIR[1])


def test_references_skip_lines_that_are_no_segments():
    document = Document("set", ["One.", "---", "Two."], [["Eins.", "---", "Zwei."]])
    assert guard.references_of([{"source": "One."}, {"source": "Two."}], document) == ["Eins.", "Zwei."]


def test_features_count_what_is_sound():
    signals = {"repeated": 0.5, "copied": 1, "copied_share": 1.0, "target_tokens": 10, "source_tokens": 10,
               "log_probability": 0.0, "looped": 0, "numbers_missing": 0, "literals_missing": 0}
    assert guard.features(signals)[:2] == [0.5, 0.5]
    assert guard.features({**signals, "copied": 5})[:2] == [0.0, 0.0]


def test_a_clause_goes_with_its_links():
    text = "Der alte Mann sagte es, und dann ging er sehr schnell nach Hause."
    cut = len("Der alte Mann sagte es, ")
    links = [[0, 3, 0, 3], [4, 9, cut, cut + 3], [9, 12, cut + 4, cut + 8]]
    segment = {"source": "s", "text": text, "alignment": links}
    for seed in range(4):
        made = guard.without_clause(segment, random.Random(seed))
        if made["text"].startswith("Der"):
            assert made["alignment"] == [[0, 3, 0, 3]]
        else:
            assert made["alignment"] == [[4, 9, 0, 3], [9, 12, 4, 8]]
    assert guard.without_clause({**segment, "text": "Ein Satz ohne Nebensatz."}, random.Random(1)) is None


def test_signals_are_asked_with_the_tokens_that_the_model_counts(tiny_models, monkeypatch, tmp_path):
    asked = []

    def of(self, segments):
        asked.extend(segments)
        return [{"faults": []} for _ in segments]

    monkeypatch.setattr(guard.Signals, "of", of)
    signals = guard.Signals(tmp_path, tiny_models / "base")
    assert signals.of_pairs([PAIR]) == [{"faults": []}]
    [segment] = asked
    assert segment["source_tokens"] > 0 and segment["target_tokens"] > 0 and segment["text"] == PAIR[1]


def test_a_missing_program_is_named_with_how_to_build_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("sys.argv", ["guard", "fit", "--bin", str(tmp_path), "--model", "m", "--data", "d.tsv"])
    with pytest.raises(SystemExit):
        guard.main()
    assert "fit needs; build it: cmake -DSALIENT_BENCHMARKS=ON" in capsys.readouterr().err


def test_a_documents_lines_come_back_one_for_one():
    document = Document("set", ["One.", "", "Two."], [["Eins.", "", "Zwei."]])
    assert server.as_request(document)["text"] == "One.\n\nTwo.\n"
    assert server.lines_of({"text": "Eins.\n\nZwei.\n"}, document) == ["Eins.", "", "Zwei."]
    with pytest.raises(ValueError, match="2 translated lines for 3 segments"):
        server.lines_of({"text": "Eins.\nZwei.\n"}, document)
