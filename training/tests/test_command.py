"""Every command ends in a message that names the file or flag, and the remedy; not in a traceback."""

import argparse
import lzma
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from salient import (average, checkpoint, curve, distil, evaluate, export, inherit, pieces, prepare, shortlist, train,
                     transfer, whole_file)
from salient.checkpoint import read_checkpoint, write_checkpoint
from salient.command import Help, check_device, refusals
from salient.config import ModelConfig
from salient.data import Corpus, read_documents
from salient.monolingual import read_text

PAIR = "x|1\tOne house.\tEin Haus.\n"


def ends(monkeypatch, command, *arguments) -> str:
    """What the command says to standard error before it ends, of an error of its own or of argparse."""
    monkeypatch.setattr(sys, "argv", ["x", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        command()
    return str(end.value)


@pytest.mark.parametrize("read", [lambda path: list(read_documents(path)), read_text])
def test_damaged_text_is_named(tmp_path, read):
    whole = lzma.compress(PAIR.encode() * 1000)
    for data, message in ((whole[:-20], "incomplete"), (b"no xz", "damaged"), (lzma.compress(b"\xff\xfe"), "UTF-8")):
        (tmp_path / "train.tsv.xz").write_bytes(data)
        with pytest.raises(ValueError, match=f"train.tsv.xz: .*{message}"):
            read(tmp_path / "train.tsv.xz")


def test_damaged_training_data_are_named(tmp_path):
    path = tmp_path / "train.npz"
    with pytest.raises(ValueError, match="train.npz: there is no such file; .*salient.prepare"):
        Corpus.load(path)
    np.savez(path, other=np.zeros(3))
    other = path.read_bytes()
    for data in (b"", b"no archive", other[:-30], other):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="train.npz: not a file of `salient.prepare`, or damaged"):
            Corpus.load(path)


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "a.pt"
    write_checkpoint(path, "{}", {"x": torch.ones(3)}, step=4)
    assert read_checkpoint(path)["step"] == 4
    whole = path.read_bytes()
    torch.save([1, 2], path)
    for data in (b"", b"{}", whole[:len(whole) // 2], path.read_bytes()):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="a.pt: no checkpoint of salient.train, or a damaged one"):
            read_checkpoint(path)


def test_a_checkpoint_is_never_half_written(tmp_path, monkeypatch):
    write_checkpoint(tmp_path / "a.pt", "{}", {})

    def full(_, part):
        part.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.torch, "save", full)
    with pytest.raises(OSError):
        write_checkpoint(tmp_path / "a.pt", "other", {})
    assert read_checkpoint(tmp_path / "a.pt")["config"] == "{}" and len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_is_told_as_such(tmp_path, monkeypatch):
    def full(*_):
        raise RuntimeError("[enforce fail at inline_container.cc:424] . PytorchStreamWriter failed\nframe #0: x")

    monkeypatch.setattr(checkpoint.torch, "save", full)
    with pytest.raises(OSError, match="a.pt: it cannot be written .*StreamWriter failed\\); is the disk full?"):
        write_checkpoint(tmp_path / "a.pt", "{}", {})


def test_a_folder_that_takes_no_files_is_told_before_the_work_begins(tmp_path, monkeypatch):
    def refuse(**_):
        raise OSError(30, "Read-only file system", str(tmp_path))

    monkeypatch.setattr(whole_file.tempfile, "TemporaryFile", refuse)
    said = ends(monkeypatch, train.main, "--phase", "base", "--data", "d", "--config", "none", "--out", tmp_path / "o")
    assert "Read-only file system" in said


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "salient-model/1"}',
                                  '{"format": "salient-model/1", "encoder": 3, "decoder": 3}', "{"])
def test_a_configuration_that_is_none_is_a_value_error(text):
    with pytest.raises(ValueError):
        ModelConfig.from_json(text)
    whole = ModelConfig().to_json()
    with pytest.raises(ValueError, match="config.json: an unknown field"):
        ModelConfig.from_json(whole.replace('"d_model"', '"d_modle"'))


@pytest.mark.parametrize("command, arguments", [
    (average.main, ["--out", "m.pt", "none"]),
    (export.main, ["--checkpoint", "none", "--tokenizer", "t", "--out", "o"]),
    (shortlist.main, ["--data", "none", "--out", "s"]),
    (curve.main, ["none", "--out", "c.svg"]),
    (pieces.main, ["--teacher", "none", "--text", "t"]),
    (inherit.main, ["--marian", "none", "--vocabulary", "v", "--text", "t", "--out", "o"])])
def test_a_file_that_is_missing_is_named(tmp_path, monkeypatch, command, arguments):
    monkeypatch.chdir(tmp_path)
    assert "none" in ends(monkeypatch, command, *arguments)


def test_a_log_that_was_cut_off_is_named(tmp_path, monkeypatch):
    (tmp_path / "base.jsonl").write_text('{"phase": "ba')
    assert "base.jsonl:1: no line of a log" in ends(monkeypatch, curve.main, tmp_path / "base.jsonl", "--out", "x.svg")


@pytest.mark.parametrize("flags, message", [
    (["--minutes", "0"], "--minutes: '0' is no number above 0"),
    (["--mixture", "foo"], "--mixture: 'foo' is no list such as 96=0.5,384=0.5"),
    (["--k-most", "encoder"], "--k-most: 'encoder' is no list such as encoder=0.1,cross=0.05")])
def test_an_option_with_a_wrong_value_is_named(capsys, flags, message):
    with pytest.raises(SystemExit):
        train.parse(["--phase", "base", "--data", "d", "--out", "o", *flags])
    assert message in capsys.readouterr().err


def test_a_device_that_is_missing_is_told_before_the_work_begins(tmp_path, monkeypatch):
    flags = ["--phase", "base", "--data", "d", "--out", tmp_path / "o", "--device", "cuda:77"]
    said = ends(monkeypatch, train.main, *flags)
    assert said.startswith("train: --device: PyTorch cannot use 'cuda:77' here")


@pytest.mark.parametrize("device", ["meta", "mps", "gpu"])
def test_a_device_of_another_kind_is_refused(device):
    with pytest.raises(ValueError, match=f"--device: '{device}' is neither cpu nor cuda"):
        check_device(device)


def test_a_phase_that_fails_ends_the_command_that_ran_it(capsys):
    with pytest.raises(SystemExit, match="^retrofit: this command failed, with status 3: python -c exit"):
        with refusals("retrofit"):
            raise subprocess.CalledProcessError(3, ["python", "-c", "exit"])


def test_prepare_says_at_once_that_the_language_detector_is_missing(tmp_path, monkeypatch):
    (tmp_path / "train.tsv").write_text(PAIR)
    monkeypatch.setitem(sys.modules, "pycld2", None)
    o = prepare.parser().parse_args(["--train", str(tmp_path / "train.tsv"), "--out", str(tmp_path / "out")])
    with pytest.raises(ValueError, match="pip install pycld2, or leave the check out with --no-language-check"):
        prepare.prepare(o)
    assert not (tmp_path / "out").exists()


def test_a_vocabulary_that_the_text_cannot_fill_is_refused_by_its_flag(tmp_path):
    with pytest.raises(ValueError, match="--vocab-size 5000: SentencePiece makes no such vocabulary"):
        prepare.train_tokenizer([[("One house.", "Ein Haus.")]], 5000, tmp_path / "tokenizer.model")
    with pytest.raises(ValueError, match="--pieces 5000: SentencePiece makes no such vocabulary"):
        transfer.unigram(iter(["Ein Haus."]), 5000)


def test_a_teacher_that_cannot_run_says_why(tmp_path):
    program = tmp_path / distil.RESOURCES / distil.PROGRAM
    program.parent.mkdir(parents=True)
    (tmp_path / distil.RESOURCES / "models").mkdir()
    program.write_text("#!/bin/sh\necho libQt6Widgets.so.6: cannot open >&2; exit 127\n")
    program.chmod(0o755)
    (tmp_path / "0000.source").write_text("One.\n")
    with pytest.raises(ValueError, match="status 127: libQt6Widgets.so.6: cannot open; it needs Qt 6"):
        distil.translate_file(tmp_path, tmp_path / "0000.source", tmp_path / "0000.target", 1)


def test_an_evaluation_says_at_once_that_sacrebleu_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    said = ends(monkeypatch, evaluate.main, "--bin", "b", "--model", "m", "--data", tmp_path / "dev.tsv")
    assert said.endswith("which is missing: pip install sacrebleu")


def test_help_has_the_defaults_of_values_and_none_of_flags():
    parser = argparse.ArgumentParser(formatter_class=Help)
    parser.add_argument("--width", default=64, help="a width")
    parser.add_argument("--rate", default=0, help="a rate")
    parser.add_argument("--on", action="store_true", help="a flag")
    parser.add_argument("--off", dest="is_on", action="store_false", help="another")
    shown = parser.format_help()
    assert "a width (default: 64)" in shown and "a rate (default: 0)" in shown and shown.count("default") == 2, shown


@pytest.mark.parametrize("command", ["salient-convert", "retrofit", "evaluate"])
def test_a_python_without_pytorch_is_named(command, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    done = subprocess.run([Path(__file__).resolve().parents[1] / command, "--help"], capture_output=True, text=True,
                          env={**os.environ, "PYTHON": str(python)})
    assert done.returncode == 1 and f"{python} has no PyTorch" in done.stderr and "Traceback" not in done.stderr
