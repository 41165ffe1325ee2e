import math

import pytest
import torch

from salient.selection import (SelectionLayer, adapt_ratio, rotate, supervision_loss, top_k_mask, window_mask)


def everything(queries, keys):
    return torch.ones(1, queries, keys, dtype=torch.bool)


@pytest.mark.parametrize("ratio, min_keys, keys, expected", [
    (0.05, 2, 100, 5),    # a product that is exact stays so
    (0.051, 2, 100, 6),   # and rounds up otherwise
    (0.01, 10, 100, 10),  # the least number of keys
    (0.01, 10, 7, 7),     # never more than there are
    (1.0, 10, 40, 40),
])
def test_mask_keeps_the_promised_number_of_keys(ratio, min_keys, keys, expected):
    mask = top_k_mask(torch.randn(1, 6, keys), everything(6, keys), ratio, min_keys)
    assert mask.sum(-1).tolist() == [[expected] * 6]


def test_mask_counts_the_keys_that_each_query_may_see():
    causal = torch.ones(30, 30, dtype=torch.bool).tril().unsqueeze(0)
    mask = top_k_mask(torch.randn(1, 30, 30), causal, 0.25, 3)
    assert not (mask & ~causal).any()
    assert mask.sum(-1)[0].tolist() == [min(n, max(3, math.ceil(0.25 * n))) for n in range(1, 31)]


def test_ties_go_to_the_lower_position():
    scores = torch.tensor([[[1.0, 3.0, 2.0, 3.0, 2.0, 2.0, 0.0]]])
    mask = top_k_mask(scores, everything(1, 7), 0.5, 1)
    assert mask[0, 0].nonzero().flatten().tolist() == [1, 2, 3, 4]


def test_a_query_without_keys_selects_none():
    allowed = everything(2, 5).clone()
    allowed[0, 1] = False
    assert top_k_mask(torch.randn(1, 2, 5), allowed, 0.5, 3).sum(-1).tolist() == [[3, 0]]


@pytest.mark.parametrize("available, centre, expected", [
    (9, 4, [2, 3, 4, 5]), (9, 0, [0, 1, 2, 3]), (9, 8, [5, 6, 7, 8]), (3, 1, [0, 1, 2])])
def test_window_holds_as_many_keys_as_it_says(available, centre, expected):
    allowed = (torch.arange(9) < available).reshape(1, 1, 9)
    mask = window_mask(allowed, torch.tensor([[centre]]), 4)
    assert mask[0, 0].nonzero().flatten().tolist() == expected


def test_adaptive_ratio_follows_equation_7():
    assert adapt_ratio(0.5, captured=0.96) == pytest.approx(0.499)
    assert adapt_ratio(0.5, captured=0.94) == pytest.approx(0.501)
    assert adapt_ratio(0.5, captured=0.95) == pytest.approx(0.501)  # "if more than t", so t itself grows
    assert adapt_ratio(0.8, captured=0.5, growing=False) == 0.8
    assert adapt_ratio(0.0105, captured=1.0) == 0.01
    assert adapt_ratio(1.0, captured=0.0) == 1.0


def test_rotation_makes_products_depend_on_distance():
    q, k = torch.randn(1, 16), torch.randn(1, 16)

    def product(at_q, at_k):
        return float((rotate(q, torch.tensor([at_q]), 100.0) * rotate(k, torch.tensor([at_k]), 100.0)).sum())

    assert product(7, 3) == pytest.approx(product(104, 100), abs=1e-4)
    assert product(7, 3) != pytest.approx(product(7, 4), abs=1e-3)
    assert torch.allclose(rotate(q, torch.tensor([9]), 100.0).norm(), q.norm())


def test_integer_scores_are_products_of_rounded_steps():
    layer = SelectionLayer(4, 2)
    layer.key_inverse_step.fill_(10.0)
    q, k = torch.tensor([[2.0, -1.0]]), torch.tensor([[0.34, 0.1], [-50.0, 0.04]])
    # q: steps of 2 / 127: (127, -64); -63.5 rounds to even. k: (3, 1), and -500 clamps to -127.
    assert layer.integer_scores(q, k).tolist() == [[127 * 3 - 64, 127 * -127]]


def test_integer_scores_rank_like_the_real_ones():
    layer, (q, k) = SelectionLayer(32, 16), torch.randn(2, 40, 16)
    layer.key_inverse_step.fill_(127 / float(k.abs().max()))
    real, integer = layer(q, k), layer.integer_scores(q, k)
    agree = top_k_mask(real, everything(40, 40)[0], 0.25, 1) & top_k_mask(integer, everything(40, 40)[0], 0.25, 1)
    assert agree.sum() > 0.95 * 400


def test_supervision_is_zero_where_selection_is_the_attention():
    scores, allowed = torch.randn(2, 5, 9), torch.ones(2, 5, 9, dtype=torch.bool)
    assert supervision_loss(scores, scores.softmax(-1), allowed).item() == pytest.approx(0, abs=1e-6)
    other = torch.randn(2, 5, 9).softmax(-1)
    expected = (other * (other.log() - scores.log_softmax(-1))).sum(-1).mean()
    assert supervision_loss(scores, other, allowed).item() == pytest.approx(expected.item(), rel=1e-4)


def test_supervision_leaves_out_queries_that_are_padding():
    scores, allowed = torch.randn(1, 3, 4), torch.ones(1, 3, 4, dtype=torch.bool)
    attention = torch.randn(1, 3, 4).softmax(-1)
    first_two = supervision_loss(scores[:, :2], attention[:, :2], allowed[:, :2])
    allowed[0, 2] = False
    assert supervision_loss(scores, attention, allowed).item() == pytest.approx(first_two.item(), rel=1e-5)
