"""The command that trains a phase: its defaults, and what it refuses before it starts."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from salient.config import Tokens
from salient.data import Corpus, refuse_other_data
from salient.precision import has_bf16
from salient.recipe import RECIPE
from salient.train import EFFECTIVE_IN, main, parse, parser, run_phase, texts_of
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
    with pytest.raises(SystemExit, match=f"its tokens.{name} is .*retrofit --monolingual"):
        starts(tmp_path, monkeypatch, config, "--config", str(tmp_path / "config.json"))


@pytest.mark.parametrize("sizes, message", [
    ([23, 24], "the source's tokenizer has 23 pieces, and the configuration's vocab_size is 24; set it to that"),
    ([24, 30], "the target's tokenizer has 30 pieces, and the configuration's vocab_size is 24")])
@pytest.mark.parametrize("name", ["train", "dev"])
def test_data_of_a_tokenizer_of_another_size_is_refused(tmp_path, monkeypatch, name, sizes, message):
    """An engine would refuse the model after its training."""
    config, corpus = new_model().config, copy_corpus(8)
    corpus.vocabularies = np.asarray([24, 24])
    for file in ("train", "dev"):
        corpus.save(tmp_path / f"{file}.npz")
    refuse_other_data(config, Corpus.load(tmp_path / f"{name}.npz"), tmp_path)
    corpus.vocabularies = np.asarray(sizes)
    corpus.save(tmp_path / f"{name}.npz")
    with pytest.raises(ValueError, match=rf"{name}.npz: {message}"):
        texts_of(tmp_path, config)


def test_a_run_does_not_go_on_with_another_configuration(tmp_path, monkeypatch):
    config, named = new_model().config, ["--config", str(tmp_path / "config.json")]
    starts(tmp_path, monkeypatch, config, *named, "--early-exits")
    starts(tmp_path, monkeypatch, config, *named, "--early-exits")  # the same: it is over
    config.norm = "post"
    with pytest.raises(SystemExit, match="--out: .*x is of another configuration than .*config.json; remove it"):
        starts(tmp_path, monkeypatch, config, *named)


def test_weights_of_unknown_sources_are_refused(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="--source-weights: .* has no source two; it has one$"):
        starts(tmp_path, monkeypatch, new_model().config, "--config", str(tmp_path / "config.json"),
               "--source-weights", "one=2,two=3")


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
    assert "0 for single segments (default: 0=0.28,96=0.14," in told and "(default: mdn=0.7,bilara=0.5," in told


def test_a_phase_takes_its_recipe_unless_the_command_says_otherwise():
    common = ["--data", "x", "--out", "x"]
    for phase in TRAINED:
        found = parse(["--phase", phase, *common])
        assert all(getattr(found, name) == value for name, value in RECIPE[phase].items()), phase
    assert not parse(["--phase", "selection", *common]).straight_through
    other = parse(["--phase", "selection", *common, "--straight-through", "--lr", "0.5"])
    assert other.straight_through and other.lr == 0.5 and other.matrix_lr == RECIPE["selection"]["matrix_lr"]


@pytest.mark.parametrize("phase, flags, message", [
    ("halting", ["--teacher", "x"], "--teacher has no effect in phase halting, only in base, selection, depth"),
    ("depth", ["--selected", "0.5"], "--selected has no effect in phase depth, only in base"),
    ("selection", ["--early-exits"], "--early-exits has no effect in phase selection"),
    ("base", ["--untied-exits"], "--untied-exits has no effect in phase base, only in exits"),
    ("supervision", ["--no-straight-through"], "--straight-through has no effect in phase supervision"),
    ("depth", ["--k-most", "encoder=0.1"], "--k-most has no effect in phase depth, only in supervision, selection"),
    ("exits", ["--vocabulary-sample", "4096"], "--vocabulary-sample has no effect in phase exits"),
    ("halting", ["--config", "x"], "--config has no effect in phase halting"),
    ("base", ["--penalty", "0.02"], "--penalty has no effect in phase base, only in depth, halting"),
    ("base", ["--teacher-share", "0.5"], "--teacher-share needs --teacher"),
    ("base", ["--config", "x", "--start", "x"], "name one of them"),
    ("base", ["--distil", "1.5"], "--distil: '1.5' is no share, a number from 0 to 1"),
    ("base", ["--dropout", "nan"], "--dropout: 'nan' is no share"),
    ("base", ["--lr", "-1"], "--lr: '-1' is no number from 0 on"),
    ("base", ["--steps", "0"], "--steps: '0' is no whole number from 1 on"),
    ("base", ["--steps", "-5"], "--steps: '-5' is no whole number"),
    ("base", ["--mixture", "96=0,384=0"], "--mixture: all shares are 0"),
    ("base", ["--mixture=-96=1"], "--mixture: .* is no list such as 96=0.5,384=0.5"),
    ("base", ["--mixture", "96=1,-5=1"], "--mixture: .* is no list such as 96=0.5,384=0.5: '-5' is no whole number"),
    ("base", ["--source-weights", "mine=-1"], "--source-weights: .*'-1' is no number from 0 on"),
    ("base", ["--exit-shares", "1=-1"], "--exit-shares: .* is no list such as 1=0.2,2=1: '-1'"),
    ("selection", ["--k-most", "encodr=0.1"], "--k-most: .*: 'encodr' is none of encoder, decoder, cross"),
    ("selection", ["--k-most", "encoder=0"], "--k-most: .*'0' is no share from 0.001 to 1"),
    ("selection", ["--k-most", "encoder=5"], "--k-most: .*'5' is no share"),
    ("supervision", ["--selection-group", "encoder=0"], "--selection-group: .*'0' is no whole number from 1 on"),
    ("supervision", ["--selection-width", "33"], "'33' is no whole number from 8 on and a multiple of 8")])
def test_what_has_no_effect_or_no_sense_is_refused(capsys, phase, flags, message):
    with pytest.raises(SystemExit):
        parse(["--phase", phase, "--data", "x", "--out", "x", *flags])
    assert re.search(message, capsys.readouterr().err)


def test_every_option_with_an_effect_in_some_phases_is_known():
    known = set(vars(parser().parse_args(["--phase", "base", "--data", "x", "--out", "x"])))
    assert set(EFFECTIVE_IN) <= known
    assert {phase for phases in EFFECTIVE_IN.values() for phase in phases} <= set(TRAINED)
    for phase, defaults in RECIPE.items():
        assert not [name for name in defaults if phase not in EFFECTIVE_IN.get(name, (phase,))], phase


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
