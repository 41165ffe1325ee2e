"""Documents to shards, shards to a teacher and back to documents."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from salient import distil
from salient.data import read_documents


def test_paragraphs_are_read_by_document(tmp_path):
    text = tmp_path / "mono.txt"
    text.write_text("# a/b|one\nFirst.\n# not | a header\n\n# a/b|two\nSecond.\n", encoding="utf-8")
    assert list(distil.read_mono(text)) == [("a/b|one", ["First.", "# not | a header"]), ("a/b|two", ["Second."])]


def test_shards_hold_whole_documents_each_once():
    documents = [(f"s|{n}", ["a b c d e"] * (n % 3 + 1)) for n in range(50)]
    dealt = list(distil.shards(list(documents), 40, seed=1))
    assert len(dealt) > 5 and all(sum(5 * len(d) for _, d in shard) < 60 for shard in dealt)
    assert sorted(d for shard in dealt for d in shard) == sorted(documents)


@pytest.fixture
def teacher(tmp_path):
    """A teacher that writes its input in capitals."""
    program = tmp_path / "teacher" / distil.RESOURCES / distil.PROGRAM
    program.parent.mkdir(parents=True)
    (program.parents[2] / "models").mkdir()
    program.write_text('#!/bin/sh\ntr a-z A-Z < "$4" > "$6"\n')
    program.chmod(0o755)
    return tmp_path / "teacher"


def test_translations_are_collected_by_document_and_resumed(tmp_path, teacher):
    folder = tmp_path / "shards"
    folder.mkdir()
    for number in range(2):
        (folder / f"{number:04d}.names").write_text(f"s|{number}\n" * 2)
        (folder / f"{number:04d}.source").write_text(f"one {number}\ntwo {number}\n")
    o = argparse.Namespace(out=folder, teacher=teacher, most_shards=1, threads=1, tsv=tmp_path / "all.tsv")
    distil.translate(o)
    assert not (folder / "0001.target").exists()
    before = os.stat(folder / "0000.target").st_mtime_ns
    distil.translate(o)
    assert os.stat(folder / "0000.target").st_mtime_ns == before
    distil.collect(o)
    assert list(read_documents(o.tsv)) == [("s|0", [("one 0", "ONE 0"), ("two 0", "TWO 0")]),
                                           ("s|1", [("one 1", "ONE 1"), ("two 1", "TWO 1")])]


def test_a_teacher_that_loses_lines_is_refused(tmp_path, teacher):
    program = teacher / distil.RESOURCES / distil.PROGRAM
    program.write_text('#!/bin/sh\nhead -n 1 "$4" > "$6"\n')
    source = tmp_path / "x.source"
    source.write_text("one\ntwo\n")
    with pytest.raises(ValueError, match="another number of lines"):
        distil.translate_file(teacher, source, tmp_path / "x.target", 1)


def cut(folder, text, *flags):
    (folder / "mono.txt").write_text(text, encoding="utf-8")
    distil.segment(distil.parser().parse_args(["segment", "--mono", str(folder / "mono.txt"), "--out",
                                               str(folder / "shards"), "--shard-words", "3", *flags]))


def test_translations_of_other_text_are_not_taken_for_those_of_new_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(distil, "splitter", lambda: lambda paragraph: [paragraph])
    cut(tmp_path, "# a|1\nOne two three.\n\n# a|2\nFour five six.\n")
    shards = tmp_path / "shards"
    for number in range(2):
        (shards / f"{number:04d}.target").write_text("Eins.\n")
    cut(tmp_path, "# a|1\nOne two three.\n\n# a|2\nFour five six.\n")  # the same: nothing is translated again
    assert len(list(shards.glob("*.target"))) == 2
    cut(tmp_path, "# a|1\nOne two four.\n")
    assert sorted(path.name for path in shards.iterdir()) == ["0000.names", "0000.source"]


def test_a_sentence_is_a_line_however_its_text_is_broken(tmp_path, monkeypatch):
    monkeypatch.setattr(distil, "splitter", lambda: lambda paragraph: [paragraph])
    cut(tmp_path, "# a|1\nOne\u2028two\u0085three.\n")
    assert (tmp_path / "shards" / "0000.source").read_text(encoding="utf-8") == "One two three.\n"


def test_shards_whose_lines_do_not_fit_are_not_collected(tmp_path):
    for suffix, lines in ((".names", 2), (".source", 2), (".target", 1)):
        (tmp_path / f"0000{suffix}").write_text("x\n" * lines)
    with pytest.raises(ValueError, match="0000.target: it has not as many lines as its source; remove it"):
        distil.collect(argparse.Namespace(out=tmp_path, tsv=tmp_path / "all.tsv.xz"))
    assert not list(tmp_path.glob("all*"))


def test_a_folder_without_shards_is_said(tmp_path):
    with pytest.raises(ValueError, match="has no shards; step `segment` makes them"):
        distil.translate(argparse.Namespace(out=tmp_path, most_shards=1))
    with pytest.raises(ValueError, match="has no shard that is translated; step `translate` does it"):
        distil.collect(argparse.Namespace(out=tmp_path, tsv=tmp_path / "all.tsv"))
    assert not (tmp_path / "all.tsv").exists()


def test_no_document_is_said(tmp_path):
    with pytest.raises(ValueError, match="no document; name text with --mono or --tsv"):
        distil.segment(distil.parser().parse_args(["segment", "--out", str(tmp_path)]))


def test_a_shard_is_never_half_written(tmp_path, monkeypatch):
    distil.write_shard(tmp_path / "0000", [("s|1", ["one"])])
    written = Path.write_text

    def full(path, text, **more):
        written(path, text[:3], **more)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError):
        distil.write_shard(tmp_path / "0000", [("s|2", ["another"])])
    assert (tmp_path / "0000.names").read_text() == "s|1\n" and (tmp_path / "0000.source").read_text() == "one\n"
