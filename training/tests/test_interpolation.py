"""Candidates to targets, with a stand-in for the engine."""

import pytest

from salient import interpolation
from salient.data import read_documents
from salient.evaluation.engine import Result, Translated

pytest.importorskip("sacrebleu")


class Echo:
    """Translates a line to itself in capitals; with a beam it also knows the line as it is and the line reversed."""

    def __init__(self, *_):
        self.calls = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def translate(self, documents, flags):
        self.calls += 1
        report = (lambda d: {"alternatives": [d.lines[0] + "\n", d.lines[0][::-1]]}) if "--beam" in flags else (
            lambda d: {})
        return Result([Translated(d, [line.upper() for line in d.lines], report(d)) for d in documents.documents], 0.0)


def test_shards_hold_about_so_many_segments_of_whole_documents(tmp_path, monkeypatch):
    text = tmp_path / "train.tsv"
    text.write_text("".join(f"s|{n // 5}\ta{n}\tb{n}\n" for n in range(500)))
    monkeypatch.setattr(interpolation, "SHARD_SEGMENTS", 40)
    shards = list(interpolation.drawn([text], 100, seed=1))
    assert [len(shard) for shard in shards] == [8, 8, 4]
    assert all(len(pairs) == 5 for shard in shards for _, pairs in shard)
    assert len({name for shard in shards for name, _ in shard}) == 20
    assert sum(len(shard) for shard in interpolation.drawn([text], 10_000, seed=1)) == 100


def test_the_candidate_nearest_to_the_reference_is_the_target():
    found = interpolation.nearest(["the old house", "the new house stands", "a house"], "", "the new house stood")
    assert found == "the new house stands"
    assert interpolation.nearest(["one", "one"], "", "two") == "one"
    assert interpolation.nearest(["first", "second"], "", "neither") == "first"


def test_a_target_copies_what_the_reference_copies():
    source, reference = "a CDelinquent object", "ein Objekt von CDelinquent"
    assert interpolation.nearest(["ein Objekt von CDelinqunt", "ein CDelinquent"], source, reference) == (
        "ein CDelinquent")
    assert interpolation.nearest(["ein Objekt von CDelinqunt"], source, reference) == reference


def test_candidates_are_of_documents_and_of_beams(tmp_path, monkeypatch):
    text = tmp_path / "train.tsv"
    text.write_text("s|1\tone two three\tONE TWO THREE\n"
                    "s|1\tfour five six\tfour five six\n"
                    "s|2\tabc def\tfed cba\n"
                    "s|2\tcopy of abc\tKopie von abc\n")
    engines = []
    monkeypatch.setattr(interpolation, "Engine", lambda *a: engines.append(Echo()) or engines[-1])
    command = ["salient.interpolation", "--model", "m", "--bin", "b", "--train", str(text), "--out",
               str(tmp_path / "out"), "--segments", "9"]
    monkeypatch.setattr("sys.argv", command)
    interpolation.main()
    made = dict(read_documents(tmp_path / "out" / "0000.tsv"))
    assert made == {"s|1": [("one two three", "ONE TWO THREE"), ("four five six", "four five six")],
                    "s|2": [("abc def", "fed cba"), ("copy of abc", "copy of abc")]}
    assert engines[0].calls == 2
    interpolation.main()
    assert engines[1].calls == 0  # the shard is there
