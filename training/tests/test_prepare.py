import argparse
from collections import Counter

import pytest

from salient.cleaning import Duplicates, HeldOut, fault, language_check, words
from salient.data import Corpus
from salient.prepare import cleaned, parser, prepare
from salient.tiny import SENTENCES

LONG = "a window holds as many segments as the model was trained on and no more than that"


@pytest.mark.parametrize("source, target, why", [
    ("A short text.", "Ein kurzer Text.", None),
    ("printf(3)", "printf(3)", None),
    ("", "Leer.", "empty"),
    ("x" * 801, "y" * 700, "too long"),
    ("x" * 100, "y" * 10, "lengths differ"),
    ("The same prose on both sides.", "The same prose on both sides.", "untranslated"),
    ("The same prose on both of the sides.", "Der same prose on both of the sides.", "untranslated"),
    ("Press <b>Enter</b>.", "<b>Eingabe</b> drücken.", None),
    ("Press <b>Enter</b>.", "Drücken Sie die Eingabetaste.", "markup differs"),
    ("Less &lt; more", "Weniger < mehr", "markup differs"),
])
def test_faults_of_a_pair(source, target, why):
    assert fault(source, target) == why


def test_languages_are_told_apart():
    def detect(text):
        return "maybe" not in text, "de" if "der" in words(text) else "en"

    check = language_check("en", "de", detect)
    english = "The server starts as soon as the model has been read from the disk."
    german = "Sobald der Server das Modell von der Platte gelesen hat, startet er."
    assert check(english, german) is None
    assert check(english, english) == "wrong language" and check(german, german) == "wrong language"
    assert check(english, "maybe " + english) is None  # where the detector is not sure, the pair stays
    assert check("Start", "Start") is None  # too short to tell


def test_nothing_held_out_passes():
    held_out = HeldOut([LONG, "Three birds sat on the roof."])
    assert held_out.fault(LONG) == held_out.fault(LONG.upper() + "!") == "held out"
    assert held_out.fault("Yesterday " + LONG) == "near copy of held out"
    assert held_out.fault("A window holds as many segments as it can, which depends on their length.") is None
    assert held_out.fault("Three birds") is None


def test_duplicates_go_but_four_of_a_pair_stay():
    duplicates, pair = Duplicates(), ("Note", "Hinweis")
    assert [len(duplicates.fresh([pair])) for _ in range(6)] == [1, 1, 1, 1, 0, 0]
    document = [(str(i), str(i)) for i in range(10)]
    assert duplicates.fresh(document) == document
    assert duplicates.fresh(document[:9] + [("new", "neu")]) == []  # nine in ten were seen
    assert len(duplicates.fresh(document[:5] + [(f"new {i}", "neu") for i in range(5)])) == 10


def options(tmp_path, **changes) -> argparse.Namespace:
    found = parser().parse_args(["--train", str(tmp_path / "train.tsv"), "--out", str(tmp_path / "out"),
                                 "--no-language-check"])
    return argparse.Namespace(**{**vars(found), **changes})


def test_cleaning_keeps_the_order_of_documents_and_counts_what_it_drops(tmp_path):
    (tmp_path / "held.tsv").write_text("t|1\tThree birds sat on the roof.\tDrei Vögel.\n", encoding="utf-8")
    documents = [("a|1", SENTENCES[:4] + [("", "leer")]), ("b|1", SENTENCES[4:6]), ("a|2", SENTENCES[6:8])]
    dropped: Counter = Counter()
    kept = list(cleaned(iter(documents), options(tmp_path, sources=["a"], held_out=[tmp_path / "held.tsv"]), dropped))
    assert kept == [("a|1", [SENTENCES[0], SENTENCES[1], SENTENCES[3]]), ("a|2", SENTENCES[6:8])]
    assert dropped["held out"] == 1 and dropped["empty"] == 1


def test_prepare_writes_what_training_reads(tmp_path):
    import sentencepiece

    lines = [f"src{i % 2}|{i // 4}\t{s}\t{t}" for i, (s, t) in enumerate(SENTENCES)]
    (tmp_path / "train.tsv").write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
    prepare(options(tmp_path, train=[tmp_path / "train.tsv"], dev=tmp_path / "train.tsv", vocab_size=384))
    corpus = Corpus.load(tmp_path / "out" / "train.npz")
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "out" / "tokenizer.model"))
    read = {tokenizer.decode(corpus.pieces(i)[0].tolist()) for i in range(len(corpus.source_bounds) - 1)}
    assert read == {s for s, _ in SENTENCES}
    assert sorted(corpus.origins) == ["src0", "src1"] and len(corpus.origin) == len(corpus.documents) - 1


def test_words_are_what_comparisons_see():
    assert words("Don't  PANIC, 42!") == ["don", "t", "panic", "42"]
