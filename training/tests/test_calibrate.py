"""What is fitted to text after training."""

import random

import numpy as np
import pytest
import torch

from corpora import corpus_of
from salient.byte_characters import byte_characters
from salient.calibrate import calibrate, fit_exits, fit_key_steps, selection_layers, told
from salient.config import ModelConfig
from salient.data import Corpus
from salient.export import load_model
from salient.selection import SelectionRun
from salient.teacher_forcing import first_above, force
from salient.thresholds import tuned
from salient.tiny import random_pairs
from salient.vocabulary import Vocabulary


def test_key_steps_clip_almost_nothing_and_waste_nothing(tiny_models):
    model, config = load_model(tiny_models / "base")
    pairs = random_pairs(config, random.Random(4), 6)
    for layer in selection_layers(model):
        layer.key_inverse_step.fill_(1e-3)
    fit_key_steps(model, pairs)
    seen = {}
    hooks = [layer.register_forward_pre_hook(lambda m, i: seen.setdefault(m, []).append(i[1] * m.key_inverse_step))
             for layer in selection_layers(model)]
    chosen = config.selection
    with torch.no_grad():
        for source, target in pairs:
            run = SelectionRun(mode="select", ratio=chosen.learned_ratio, min_keys=chosen.min_keys)
            model.decode(target[:, :-1], source, model.encode(source, run), run)
    for hook in hooks:
        hook.remove()
    assert len(seen) == len(selection_layers(model)) == 6
    for steps in seen.values():
        steps = torch.cat([x.flatten() for x in steps]).abs()
        assert (steps > 127.01).float().mean() < 2e-4 and steps.max() > 126.9


def exits(model, pairs, thresholds):
    forced = [force(model, *pair, True) for pair in pairs]
    return first_above(torch.cat([f.halting for f in forced]), torch.tensor([*thresholds, 0.0])).tolist()


@pytest.mark.parametrize("exit_cost", [0.0005, 0.05])
def test_a_centred_head_leaves_at_a_half_where_its_threshold_was_the_best(tiny_models, exit_cost):
    model, config = load_model(tiny_models / "base")
    pairs = random_pairs(config, random.Random(4), 4)
    forced = [force(model, *pair, True) for pair in pairs]
    best = tuned(torch.cat([f.halting for f in forced]), torch.cat([f.loss for f in forced]), exit_cost)
    before, last = exits(model, pairs, best), float(model.halting.geometric.bias[-1])
    assert before != exits(model, pairs, [0.5] * len(best))
    fit_exits(model, pairs, exit_cost, exit_cost)
    assert exits(model, pairs, [0.5] * len(best)) == before
    assert float(model.halting.geometric.bias[-1]) == last
    best = tuned(torch.cat([f.confidence for f in forced]), torch.cat([f.loss for f in forced]), exit_cost)
    assert model.config.exits.confidence == [*best, 0.0]
    assert ModelConfig.from_json(model.config.to_json()).exits == model.config.exits


def test_calibration_reads_the_training_text_of_a_prepared_folder(tiny_models, tmp_path):
    model, config = load_model(tiny_models / "base")
    for layer in selection_layers(model):
        layer.key_inverse_step.fill_(1e-3)
    before = model.halting.geometric.bias.clone()
    lines = np.arange(0, 401, 20)
    words = np.random.default_rng(4).integers(5, config.vocab_size, (2, 400)).astype(np.uint16)
    Corpus(*words, lines, lines, np.array([0, 10, 20]), np.array(["x"]), np.zeros(2, np.uint8)).save(
        tmp_path / "train.npz")
    calibrate(model, tmp_path, Vocabulary(tiny_models / "base", config), count=4)
    assert all(layer.key_inverse_step > 1 for layer in selection_layers(model))
    assert not torch.equal(model.halting.geometric.bias, before)
    assert len(model.config.exits.confidence) == config.decoder.layers


def test_the_text_must_be_in_the_models_tokens(tiny_models, tmp_path):
    model, config = load_model(tiny_models / "base")
    corpus_of([([5], [config.vocab_size])]).save(tmp_path / "train.npz")
    with pytest.raises(ValueError, match=f"the target token {config.vocab_size} is beyond the configuration's"):
        calibrate(model, tmp_path, Vocabulary(tiny_models / "base", config), count=1)


def test_characters_that_the_source_often_has_in_bytes_are_learned():
    def spelled(text):
        return [5 + byte for byte in text.encode()]

    corpus = corpus_of([([300, *spelled("é"), 301], [302])] * 3 + [([*spelled("€£"), 300], spelled("ł"))] * 4)
    assert byte_characters(corpus, 3) == "€£é"
    assert byte_characters(corpus, 4) == "€£" and byte_characters(corpus) == ""


def test_calibration_tells_how_far_it_is(capsys):
    pairs = [(torch.ones(1, 1), torch.ones(1, 1))] * 3
    assert list(told(pairs, "steps")) == pairs
    assert capsys.readouterr().err.endswith("chunk 2 of 3\rcalibrating steps: chunk 3 of 3\n")
