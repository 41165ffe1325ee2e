"""Parallel text with a model's own translations in a share of its documents."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from salient import retranslate
from salient.data import read_documents


class Capitals:
    """An engine whose translations are capitals."""

    calls: list[list[int]] = []  # segments of each document

    def __init__(self, programs: Path, model: Path, work: Path):
        self.calls.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def translate(self, documents, flags):
        assert flags == "--selection learned --exit full"
        self.calls.append([len(d.lines) for d in documents.documents])
        return SimpleNamespace(translated=[SimpleNamespace(lines=[line.upper() for line in d.lines])
                                           for d in documents.documents])


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setattr(retranslate, "Engine", Capitals)

    def called(text: str, *arguments: str) -> list[tuple[str, list[tuple[str, str]]]]:
        (tmp_path / "text.tsv").write_text(text, encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["retranslate", "--tsv", str(tmp_path / "text.tsv"), "--bin", "b", "--model",
                                         "m", "--out", str(tmp_path / "out" / "half.tsv.xz"), *arguments])
        retranslate.main()
        return list(read_documents(tmp_path / "out" / "half.tsv.xz"))

    return called


def test_a_share_of_the_documents_is_translated_and_the_others_stay(run):
    text = "".join(f"s|{n}\tone {n}\teins {n}\ns|{n}\ttwo\u2028{n}\tzwei {n}\n" for n in range(10))
    made = run(text, "--share", "0.3")
    assert [name for name, _ in made] == [f"s|{n}" for n in range(10)]
    references = {f"s|{n}": [(f"one {n}", f"eins {n}"), (f"two\u2028{n}", f"zwei {n}")] for n in range(10)}
    own = {name: pairs for name, pairs in made if pairs != references[name]}
    assert len(own) == 3
    assert all(pairs == [(source, source.upper()) for source, _ in references[name]] for name, pairs in own.items())
    assert [pairs for _, pairs in run(text, "--share", "0.3", "--seed", "2")] != [pairs for _, pairs in made]


def test_long_documents_are_translated_in_parts(run, monkeypatch):
    monkeypatch.setattr(retranslate, "PART_SEGMENTS", 3)
    monkeypatch.setattr(retranslate, "CALL_PARTS", 2)
    made = run("".join(f"s|a\tx{n}\ty\n" for n in range(7)) + "s|b\tz\ty\n", "--share", "1")
    assert Capitals.calls == [[3, 3], [1, 1]]
    assert made == [("s|a", [(f"x{n}", f"X{n}") for n in range(7)]), ("s|b", [("z", "Z")])]


def test_documents_with_an_empty_source_keep_their_references(run):
    made = run("s|a\tx\ty\ns|a\t\tz\ns|b\tu\tv\n", "--share", "1")
    assert made == [("s|a", [("x", "y"), ("", "z")]), ("s|b", [("u", "U")])]
