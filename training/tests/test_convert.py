"""What holds for the readers of all toolkits, and for the command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from salient.config import Tokens
from salient.convert import Unsupported
from salient.convert.__main__ import convert
from salient.convert.reading import licence, pieces_of
from salient.export import load_model
from salient.tensor_file import write_file
from toolkit_folders import (huggingface_tensors, m2m_model, marian_model, nllb_folder, opus_mt, random_model,
                             write_ctranslate2, write_marian)


@pytest.mark.parametrize("flag", ["tokenizer", "target_tokenizer"])
def test_a_tokenizer_that_is_missing_is_refused_by_its_flag(tmp_path, spm, flag):
    pieces = pieces_of(spm)
    write_ctranslate2(tmp_path / "ctranslate2", random_model(len(pieces)), spm, pieces)
    write_marian(tmp_path / "marian", marian_model(spm), spm)
    opus_mt(tmp_path / "opus", spm, random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None)), pieces)
    for folder in ("ctranslate2", "marian", "opus"):
        with pytest.raises(ValueError, match=f"--{flag.replace('_', '-')}: there is no file .*typo.model"):
            convert(tmp_path / folder, source="en", target="de", **{flag: tmp_path / "typo.model"})


@pytest.mark.parametrize("text, said", [
    ("---\ntags:\n- translation\nlicense: apache-2.0\n---\n# A model\n", "apache-2.0"),
    ("# License\n\nNothing is said of it.\n", ""), ("license:\n- mit\n", ""),
    ("- **Licence:** CC BY 4.0.\n", "CC BY 4.0"), ("It is licensed under MIT.\n", "It is licensed under MIT"),
])
def test_a_licence_is_found(tmp_path, spm, text, said):
    (tmp_path / "README.md").write_text(text)
    assert licence(tmp_path) == said


def test_every_reader_looks_for_the_licence(tmp_path, spm):
    pieces = pieces_of(spm)
    write_ctranslate2(tmp_path / "ctranslate2", random_model(len(pieces)), spm, pieces)
    write_marian(tmp_path / "marian", marian_model(spm), spm)
    opus_mt(tmp_path / "opus", spm, random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None)), pieces)
    nllb_folder(tmp_path / "nllb", spm, m2m_model(len(pieces) + 1 + 3))
    for folder in ("ctranslate2", "marian", "opus", "nllb"):
        (tmp_path / folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
        made = convert(tmp_path / folder, source="en", target="de")
        assert "Licence: apache-2.0." in made.card(1)


def test_damaged_archives_are_refused_by_name(tmp_path):
    for data in (b"", b"PK\x03\x04 no archive"):
        (tmp_path / "x.argosmodel").write_bytes(data)
        with pytest.raises(ValueError, match="x.argosmodel: not a readable zip archive"):
            convert(tmp_path / "x.argosmodel", tmp_path / "unpacked")


def test_parts_that_do_not_fit_are_named(tmp_path, spm):
    pieces = pieces_of(spm)
    model = random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None))
    opus_mt(tmp_path / "opus", spm, model, pieces)
    name = "model.encoder.layers.0.self_attn.k_proj.weight"
    write_file(tmp_path / "opus" / "model.safetensors", huggingface_tensors(model) | {name: torch.ones(32, 31)})
    with pytest.raises(Unsupported, match=f"{name} has shape \\[32, 31\\]"):
        convert(tmp_path / "opus", source="en", target="de")
    write_marian(tmp_path / "marian", marian_model(spm), spm)
    for name, shape in (("encoder_l1_self_Wk", (31, 32)), ("Wemb", (32,)), ("decoder_ff_logit_out_b", (1, 7))):
        with np.load(tmp_path / "marian" / "model.npz") as stored:
            np.savez(tmp_path / "marian" / "other.npz", **{**stored, name: np.ones(shape, np.float32)})
        with pytest.raises(Unsupported, match="shape"):
            convert(tmp_path / "marian" / "other.npz", source="en", target="de").model()


def test_damaged_settings_are_refused_by_name(tmp_path, spm):
    write_marian(tmp_path, marian_model(spm), spm)
    (tmp_path / "config.yml").write_text("vocabs: [")
    with pytest.raises(ValueError, match="config.yml: not a readable YAML"):
        convert(tmp_path, source="en", target="de")
    (tmp_path / "config.yml").write_text("vocabs: [vocab.spm]")
    (tmp_path / "vocab.spm").write_text("no model")
    with pytest.raises(ValueError, match="vocab.spm: not a readable SentencePiece model"):
        convert(tmp_path, source="en", target="de")
    for text in ("{", "[1]"):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match="config.json: not a readable JSON"):
            convert(tmp_path, source="en", target="de")


def test_a_model_is_not_written_over_itself(tmp_path, spm):
    write_marian(tmp_path / "theirs", marian_model(spm), spm)
    before = sorted((path.name, path.stat().st_size) for path in (tmp_path / "theirs").iterdir())
    command = [sys.executable, "-m", "salient.convert", str(tmp_path / "theirs"), "--out", str(tmp_path / "theirs"),
               "--from", "en", "--to", "pt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "overwritten" in done.stderr
    assert sorted((path.name, path.stat().st_size) for path in (tmp_path / "theirs").iterdir()) == before


def test_the_command(tmp_path, spm):
    write_marian(tmp_path / "theirs", marian_model(spm), spm)
    command = [sys.executable, "-m", "salient.convert", str(tmp_path / "theirs"), "--out", str(tmp_path / "ours")]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 1 and "--from" in refused.stderr
    done = subprocess.run([*command, "--from", "en", "--to", "pt"], capture_output=True, text=True)
    assert done.returncode == 0 and "wrote" in done.stderr, done.stderr
    model, config = load_model(tmp_path / "ours")
    assert config.name == "en-pt" and json.loads((tmp_path / "ours" / "vocabulary.json").read_text())[-1] == "<start>"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python before 3.11 always looks there")
def test_the_command_runs_no_code_of_the_folder_that_it_is_called_in(tmp_path):
    for name in ("json", "yaml", "torch"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('code of the folder')")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    command = [Path(__file__).resolve().parents[1] / "salient-convert", ".", "--out", "ours"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "PYTHON": sys.executable})
    assert done.returncode == 1 and "T5" in done.stderr, done.stderr
