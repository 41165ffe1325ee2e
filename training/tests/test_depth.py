import math

import pytest
import torch

from salient.config import Exits, ModelConfig
from salient.depth import HaltingHeads, geometric_loss, oracle, smooth


def test_likelihood_oracle_of_a_token():
    # log likelihoods of two tokens at three exits; the penalty makes the first exit the best of the second token
    score = torch.tensor([[[-3.0, -1.0, -0.9], [-0.5, -0.45, -0.44]]])
    real = torch.ones(1, 2, dtype=torch.bool)
    assert oracle(score, real, 0.0).tolist() == [[2, 2]]
    assert oracle(score, real, 0.2).tolist() == [[1, 0]]


def test_correctness_oracle_takes_the_lowest_of_equals():
    score = torch.tensor([[[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]])
    assert oracle(score, torch.ones(1, 3, dtype=torch.bool), 0.0).tolist() == [[1, 0, 0]]


def test_sequence_oracle_sums_over_real_tokens():
    score = torch.tensor([[[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]])
    real = torch.tensor([[True, True, False]])
    assert oracle(score, real, 0.0, a_sequence=True).tolist() == [2]
    # 0, 1, 2 correct; a penalty of 0.6 for each of two tokens and each layer: 0, -0.2, -0.4
    assert oracle(score, real, 0.6, a_sequence=True).tolist() == [0]
    assert oracle(score, real, 0.4, a_sequence=True).tolist() == [2]


def test_smoothing_weighs_neighbours_by_distance():
    values = torch.zeros(1, 4, 2)
    values[0, 1, 1] = 1.0
    smoothed = smooth(values, 2.0)
    assert smoothed[0, :, 1].tolist() == pytest.approx([math.exp(-1 / 4), 1.0, math.exp(-1 / 4), math.exp(-4 / 4)])
    assert smoothed[0, :, 0].abs().sum() == 0
    assert smooth(values, 0.0) is values


def test_smoothing_lets_a_neighbour_decide():
    # alone the second token would leave first; its neighbour's gain by depth keeps it longer
    score = torch.tensor([[[0.0, 1.0], [0.3, 0.0]]])
    real = torch.ones(1, 2, dtype=torch.bool)
    assert oracle(score, real, 0.0).tolist() == [[1, 0]]
    assert oracle(score, real, 0.0, sigma=2.0).tolist() == [[1, 1]]


def test_geometric_loss_goes_on_below_the_exit_and_halts_at_it():
    logits, real = torch.tensor([[[0.3, -0.2, 5.0], [1.0, 2.0, -7.0]]]), torch.tensor([[True, True]])

    def halt(x):
        return 1 / (1 + math.exp(-x))

    # the first token leaves at layer 2 (from 1); the second at the last, which needs no decision
    first = -math.log(1 - halt(0.3)) - math.log(halt(-0.2))
    second = -math.log(1 - halt(1.0)) - math.log(1 - halt(2.0))
    assert geometric_loss(logits, torch.tensor([[1, 2]]), real).item() == pytest.approx((first + second) / 2, rel=1e-5)
    only_first = geometric_loss(logits, torch.tensor([[1, 2]]), torch.tensor([[True, False]]))
    assert only_first.item() == pytest.approx(first, rel=1e-5)


def test_heads_are_those_that_the_config_names():
    config = ModelConfig(d_model=8, exits=Exits(heads=["geometric"]))
    heads = HaltingHeads(config)
    assert heads.sequence is None and heads.multinomial is None
    state = torch.randn(3, 8)
    expected = state @ heads.geometric.weight[2] + heads.geometric.bias[2]
    assert torch.allclose(heads.geometric_logit(2, state), expected, atol=1e-6)
