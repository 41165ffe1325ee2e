"""With a program in the place of `salient` that gives back the references, or worse."""

import argparse
import stat
import sys

import pytest

from salient import evaluate
from salient.evaluate import Document, Scores, Translated

FAKE = """#!{python}
import json, pathlib, sys
arguments = sys.argv[2:]
files = [a for a in arguments if a.endswith(".txt")]
out = pathlib.Path(arguments[arguments.index("--out") + 1])
out.mkdir(parents=True)
assert "--lines" in arguments and arguments[arguments.index("--server") + 1] == "host:1"
for file in map(pathlib.Path, files):
    lines = file.read_text().splitlines()
    if "--drop" in arguments:
        lines = lines[1:]
    if "--fail" in arguments:
        print(json.dumps({{"file": str(file), "error": {{"code": "UNAVAILABLE", "message": "gone"}}}}))
        continue
    (out / file.name).write_text("".join(line.upper() + "\\n" for line in lines))
    print(json.dumps({{"file": str(file), "attention_cost_ratio": 0.5, "exit_histogram": [len(lines), 0, 1],
                      "target_tokens": 4}}))
"""

DOCUMENTS = [Document("a", ["one", "two", "three"], ["ONE", "TWO", "THREE"]), Document("b", ["four"], ["FOUR"])]


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "salient"
    path.write_text(FAKE.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_documents_go_through_the_program(program, tmp_path):
    translated = evaluate.translate(program, "host:1", "--selection dense", DOCUMENTS, tmp_path / "work")
    assert [t.lines for t in translated] == [["ONE", "TWO", "THREE"], ["FOUR"]]
    assert evaluate.mean_attention_cost(translated) == 0.5
    assert evaluate.mean_exit(translated) == pytest.approx((3 * 1 + 3 + 1 * 1 + 3) / 6)


def test_lost_segments_are_noticed(program, tmp_path):
    with pytest.raises(ValueError, match="2 lines for 3 segments"):
        evaluate.translate(program, "host:1", "--drop", DOCUMENTS, tmp_path / "work")


def test_failures_are_told(program, tmp_path):
    with pytest.raises(RuntimeError, match="--fail: gone"):
        evaluate.translate(program, "host:1", "--fail", DOCUMENTS, tmp_path / "work")


def test_documents_are_named_by_their_source(tmp_path):
    path = tmp_path / "news-test.en-de.tsv"
    path.write_text("mdn|x\tone\teins\nmdn|x\ttwo\tzwei\nnews-001\tthree\tdrei\n")
    assert [d.source for d in evaluate.load_documents(path, [], 0)] == ["mdn", "news-test"]
    assert evaluate.load_documents(path, ["mdn"], 0)[0].references == ["eins", "zwei"]
    assert len(evaluate.load_documents(path, [], 1)) == 1
    with pytest.raises(ValueError, match="no documents of other"):
        evaluate.load_documents(path, ["other"], 0)


def test_the_table_has_a_row_a_setting_and_source(program, tmp_path, monkeypatch, capsys):
    data = tmp_path / "dev.tsv"
    data.write_text("a|1\tone\tONE\na|1\ttwo\tTWO\nb|1\tfour\tFOUR\n")

    def agreement(translated: list[Translated]) -> Scores:
        pairs = [pair for t in translated for pair in zip(t.lines, t.document.references)]
        share = 100 * sum(a == b for a, b in pairs) / len(pairs)
        return Scores(share, share, share, ["agreement"])

    monkeypatch.setattr(evaluate, "score", agreement)
    o = argparse.Namespace(data=data, sources=[], documents=0, by_source=True, bin=program.parent,
                           setting=["dense=--selection dense", "sparse=--selection ratio:0.1"])
    evaluate.evaluate(o, "host:1", tmp_path / "work")
    printed = capsys.readouterr().out.splitlines()
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in printed if line.startswith("|")]
    assert cells[0] == list(evaluate.COLUMNS)
    assert [c[:7] for c in cells[2:5]] == [["dense", "all", "2", "3", "100.0", "100.0", "100.0"],
                                           ["dense", "a", "1", "2", "100.0", "100.0", "100.0"],
                                           ["dense", "b", "1", "1", "100.0", "100.0", "100.0"]]
    assert cells[5][0] == "sparse" and printed[-1] == "agreement"
