"""The command that trains a phase: its defaults, and what it refuses before it starts."""

import json
import sys
from pathlib import Path

import pytest

from salient.config import Tokens
from salient.precision import has_bf16
from salient.recipe import RECIPE
from salient.train import main, parse, parser, run_phase
from salient.trainer import TRAINED
from test_train import copy_corpus, new_model


@pytest.mark.parametrize("side, size", [("source", {"source_vocab_size": 20}), ("target", {"vocab_size": 20,
                                                                                          "source_vocab_size": 24})])
def test_data_of_another_vocabulary_is_refused(tmp_path, monkeypatch, side, size):
    copy_corpus().save(tmp_path / "train.npz")
    config = new_model().config
    for name, value in size.items():
        setattr(config, name, value)
    (tmp_path / "config.json").write_text(config.to_json())
    monkeypatch.setattr("sys.argv", ["train", "--phase", "base", "--data", str(tmp_path), "--out", str(tmp_path / "x"),
                                     "--config", str(tmp_path / "config.json")])
    with pytest.raises(SystemExit, match=rf"the {side} token 23 is beyond the configuration's vocabulary \(20\)"):
        main()


def starts(tmp_path, monkeypatch, config, *flags):
    copy_corpus().save(tmp_path / "train.npz")
    (tmp_path / "config.json").write_text(config.to_json())
    monkeypatch.setattr("sys.argv", ["train", "--phase", "base", "--data", str(tmp_path), "--out", str(tmp_path / "x"),
                                     "--steps", "1", "--no-bf16", *flags])
    main()


@pytest.mark.parametrize("tokens, name", [(Tokens(5), "pad"), (Tokens(bos=0), "bos"), (Tokens(eos=5), "eos"),
                                          (Tokens(separator=5), "separator")])
def test_data_with_other_special_tokens_is_refused(tmp_path, monkeypatch, tokens, name):
    config = new_model().config
    config.tokens = tokens
    with pytest.raises(SystemExit, match=f"its {name} token is .*retrofit --monolingual"):
        starts(tmp_path, monkeypatch, config, "--config", str(tmp_path / "config.json"))


def test_a_model_must_be_named(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="^train: name the model that learns: --start"):
        starts(tmp_path, monkeypatch, new_model().config)


def test_a_phase_of_its_own_process_has_paths_as_this_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = "import json, os, sys; print(json.dumps([os.getcwd(), sys.argv, __import__('salient').__file__]))"
    (tmp_path / "python").write_text(f"#!/bin/sh\nshift 2; exec {sys.executable} -c \"{seen}\" \"$@\"\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    run_phase("base", Path("data"), Path("x.pt"), "--start", "here.pt")
    folder, arguments, package = json.loads((tmp_path / "x.jsonl").read_text())
    assert folder == str(tmp_path) and package.endswith("training/salient/__init__.py")
    assert arguments[1:] == ["--phase", "base", "--data", "data", "--out", "x.pt", "--start", "here.pt"]


def test_the_help_tells_the_defaults(capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "positions of a batch on each side, at most (default: 6144)" in told and "(default: None)" not in told


def test_a_phase_takes_its_recipe_unless_the_command_says_otherwise():
    common = ["--data", "x", "--out", "x"]
    for phase in TRAINED:
        found = parse(["--phase", phase, *common])
        assert all(getattr(found, name) == value for name, value in RECIPE[phase].items()), phase
    assert not parse(["--phase", "selection", *common]).straight_through
    other = parse(["--phase", "selection", *common, "--straight-through", "--lr", "0.5"])
    assert other.straight_through and other.lr == 0.5 and other.matrix_lr == RECIPE["selection"]["matrix_lr"]


@pytest.mark.parametrize("fast, flags, bf16", [(False, [], False), (True, [], True), (False, ["--bf16"], True),
                                               (True, ["--no-bf16"], False), (False, ["--device", "cuda"], True)])
def test_bf16_is_the_default_where_it_is_fast(monkeypatch, fast, flags, bf16):
    monkeypatch.setattr("salient.train.has_bf16", lambda device: fast or device == "cuda")
    assert parse(["--phase", "base", "--data", "x", "--out", "x", *flags]).bf16 is bf16


@pytest.mark.parametrize("flags, wanted", [("fpu avx2 avx512f avx512_vnni", False), ("fpu avx2", False),
                                           ("avx512f avx512_bf16", True), ("avx512f amx_tile amx_bf16", True)])
def test_a_cpu_needs_instructions_for_bf16(tmp_path, flags, wanted):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
    assert has_bf16("cpu", cpuinfo) is wanted
    assert not has_bf16("cpu", tmp_path / "missing")
    assert has_bf16("cuda", cpuinfo)
