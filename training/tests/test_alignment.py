"""The layer that aligns is found by the pieces that a segment has once on both sides."""

import pytest
import torch

from salient.alignment import copies, counterparts, fit_alignment, found_by_layer
from salient.export import load_model
from salient.vocabulary import Vocabulary


def test_a_copy_is_there_once_on_both_sides():
    source = [(0, 20), (0, 21), (0, 21), (1, 20), (1, 22)]
    target = [(0, 10), (0, 11), (0, 13), (1, 12), (1, 10), (1, 10)]
    assert copies(source, target, {10: 20, 11: 21, 12: 22}) == [(0, 0), (3, 4)]


def test_counterparts_are_the_same_pieces_of_two_vocabularies(tiny_models):
    model, config = load_model(tiny_models / "multilingual")
    vocabulary = Vocabulary(tiny_models / "multilingual", config)
    of = counterparts(vocabulary)
    assert of and all(vocabulary.source[source] == vocabulary.target[target] for target, source in of.items())
    assert not {config.tokens.eos, config.tokens.unk} & of.keys()


def plant(module) -> None:
    """Query i has nearly all of its attention on key i."""
    own = module.project

    def project(queries_from, keys_from, *at):
        *_, v = own(queries_from, keys_from, *at)
        t, s = queries_from.shape[1], keys_from.shape[1]
        q, k = (9 * torch.eye(n, max(t, s)).expand(1, v.shape[1], n, max(t, s)) for n in (t, s))
        return q, k, v

    module.project = project


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_the_layer_that_finds_the_copies_is_named(tiny_models, layer):
    model, config = load_model(tiny_models / "base")
    plant(model.decoder_layers[layer].cross_attention)
    tokens = torch.arange(300, 320)
    source = torch.tensor([[*tokens, config.tokens.separator, *tokens.flip(0), config.tokens.eos]])
    target = torch.cat((torch.tensor([[config.tokens.bos]]), source), 1)
    vocabulary = Vocabulary(tiny_models / "base", config)
    shares, count = found_by_layer(model, [(source, target)], counterparts(vocabulary))
    assert count == 40 and shares[layer] == 1 and sum(share == 1 for share in shares) == 1
    fit_alignment(model, [(source, target)], vocabulary)
    assert config.alignment_layer is None  # of 40 copies nothing is concluded
    fit_alignment(model, [(source, target)] * 2, vocabulary)
    assert config.alignment_layer == layer + 1
    for pair in model.decoder_layers:
        assert not pair.cross_attention._forward_pre_hooks
