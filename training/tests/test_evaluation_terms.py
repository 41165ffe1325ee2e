"""The terms that a measurement takes from text and references."""

from __future__ import annotations

import lzma

import pytest

pytest.importorskip("sacrebleu")

from salient.evaluation import terms  # noqa: E402
from salient.evaluation.sets import Document  # noqa: E402


def train(path, lines):
    with lzma.open(path, "wt", encoding="utf-8") as out:
        out.writelines(f"d\t{source}\t{reference}\n" for source, reference in lines)
    return path


def test_a_lexicon_pairs_words_that_stand_together(tmp_path):
    lines = [("the river rises", "der Fluss steigt"), ("the river", "der Fluss"),
             ("a house burns", "das Gebäude brennt"), ("a house", "ein Gebäude")] * 30 + [("nothing here", "nichts hier")] * 5
    text = train(tmp_path / "train.tsv.xz", lines)
    assert terms.lexicon(text, {"river", "house", "nothing"}) == {"river": "Fluss", "house": "Gebäude"}, (
        "what stands together most; what is seldom has no pair")


def test_the_same_word_on_both_sides_is_no_term(tmp_path):
    text = train(tmp_path / "train.tsv.xz", [("Kernel panic", "Kernel Panik")] * 30)
    assert "Kernel" not in terms.lexicon(text, {"Kernel"})


def test_a_glossary_is_what_the_translator_has_chosen():
    document = Document("x", ["the river", "a river", "the house", "the house", "the house"],
                        [["der Fluss", "ein Strom", "das Gebäude", "das Heim", "das Heim"]])
    assert terms.glossary(document, {"river": "Fluss", "house": "Gebäude"}) == {"river": "Fluss"}


def test_the_figures_count_terms_and_entries(capsys):
    document = Document("x", ["the river", "a house"], [["der Fluss", "ein Haus"]])
    plain = {"text": "der Strom\nein Haus\n", "report": {"target_tokens": 10}, "segments": []}
    bound = {"text": "der Fluss\nein Haus\n", "segments": [{"terms": [{"used": True}]}, {"terms": [{}]}],
             "report": {"target_tokens": 10, "retry_target_tokens": 2}}
    terms.report_terms([document], [{"river": "Fluss"}], [plain], [bound])
    told = capsys.readouterr().out
    assert "found 2 times, used 1 times (50.0 %)" in told
    assert "| without | 0.0 % |" in told and "| with the glossary | 100.0 % |" in told
    assert "Translations for terms: 2 target tokens, beside 10 (20.0 %)" in told
    terms.report_memory([plain], [{"segments": [{"origin": "ORIGIN_MEMORY"}, {}], "report": {"target_tokens": 4}}], 1)
    assert "1 taken over; 4 target tokens made, 10 without (40.0 %)" in capsys.readouterr().out
