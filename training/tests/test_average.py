"""The average of checkpoints: of files and folders, and what is refused."""

import argparse
import sys

import pytest
import torch

from salient import average
from salient.config import ModelConfig, Selection
from salient.export import export
from salient.model import Transformer
from salient.prepare import train_tokenizer
from salient.tiny import SENTENCES, VOCABULARY
from salient.train import load


def checkpoint(seed: int, selection: Selection | None = None) -> dict:
    torch.manual_seed(seed)
    config = ModelConfig(vocab_size=VOCABULARY, d_model=32, heads=2, selection=selection)
    return {"config": config.to_json(), "model": Transformer(config).state_dict()}


def test_tensors_are_averaged_by_weight_and_the_configuration_is_the_firsts(tmp_path, monkeypatch):
    a, b = checkpoint(1, Selection(8, 3)), checkpoint(2, Selection(8, 7))
    torch.save(a, tmp_path / "a.pt")
    torch.save(b, tmp_path / "b.pt")
    arguments = [f"{tmp_path}/a.pt=3", f"{tmp_path}/b.pt"]
    monkeypatch.setattr(sys, "argv", ["average", "--out", str(tmp_path / "mean.pt"), *arguments])
    average.main()
    mean = load(tmp_path / "mean.pt")
    assert mean["config"] == a["config"] != b["config"]
    assert mean["model"].keys() == a["model"].keys()
    for name, tensor in mean["model"].items():
        torch.testing.assert_close(tensor, 0.75 * a["model"][name] + 0.25 * b["model"][name])


def test_a_model_folder_is_a_checkpoint(tmp_path):
    stored = checkpoint(1)
    model = Transformer(ModelConfig.from_json(stored["config"]))
    model.load_state_dict(stored["model"])
    train_tokenizer([SENTENCES], VOCABULARY, tmp_path / "tokenizer.model")
    export(model, tmp_path / "tokenizer.model", tmp_path / "model")
    mean = average.average([(stored, 1.0), (load(tmp_path / "model"), 1.0)])
    for name, tensor in stored["model"].items():
        torch.testing.assert_close(mean["model"][name], tensor)


def test_what_is_the_same_in_all_stays_so_to_the_bit():
    mean = average.average([(checkpoint(1), 0.3), (checkpoint(1), 0.6), (checkpoint(1), 0.7)])
    assert all(torch.equal(tensor, mean["model"][name]) for name, tensor in checkpoint(1)["model"].items())


def test_models_of_other_shapes_are_refused_by_the_names_of_their_tensors():
    with pytest.raises(ValueError, match="checkpoint 2 is of another model than the first: .*selection"):
        average.average([(checkpoint(1), 1.0), (checkpoint(1, Selection(8, 3)), 1.0)])


@pytest.mark.parametrize("text", ["a.pt=0", "a.pt=-1", "a.pt=nan", "a.pt=inf", "a.pt=much", "=1"])
def test_a_weight_is_a_positive_number(text):
    with pytest.raises(argparse.ArgumentTypeError, match="neither a path nor path=weight"):
        average.weighted(text)
