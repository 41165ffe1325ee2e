"""Minimum risk training: segments and their scores, the loss by hand, and what its gradient prefers."""

import math
import shutil

import pytest
import sentencepiece
import torch

from salient.data import OURS, join, padded
from salient.loss import IGNORED, smoothed_cross_entropy
from salient.risk import Samples, Scorer, token_log_probabilities
from salient.vocabulary import TOKENIZER

SOURCE = [[70, 71, 72], [80, 81]]


@pytest.fixture(scope="module")
def data(tiny_models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    shutil.copy(tiny_models / "tokenizer.model", folder / TOKENIZER)
    return folder


@pytest.fixture(scope="module")
def pieces(data):
    return sentencepiece.SentencePieceProcessor(model_file=str(data / TOKENIZER))


@pytest.fixture
def samples(data, pieces):
    """A chunk of two segments with two translations: the second segment of the second one is wrong."""
    house, water = pieces.encode("Das alte Haus steht am Fluss."), pieces.encode("Das Wasser war kalt und klar.")
    right, wrong = join([house, water], True), join([house, pieces.encode("Drei Vögel.")], True)
    source, target = padded([(join(SOURCE, False), right)])
    translations = padded([(join(SOURCE, False), right), (join(SOURCE, False), wrong)])[1]
    return Samples(source, target, translations, Scorer(data), OURS), translations


def test_equal_text_has_the_best_score_and_other_text_less(data, pieces):
    score = Scorer(data).score
    text = tuple(pieces.encode("Das alte Haus steht am Fluss."))
    near = tuple(pieces.encode("Das alte Haus steht am See."))
    far = tuple(pieces.encode("Drei Vögel."))
    assert score(text, text) == pytest.approx(1)
    assert 1 > score(near, text) > score(far, text) >= 0
    assert score((), text) == 0


def test_every_token_counts_for_its_segment_and_translation(samples):
    found, translations = samples
    assert found.scores[0].tolist() == pytest.approx([1, 1])
    assert found.scores[1, 0] == pytest.approx(1) and found.scores[1, 1] < 0.3
    for row, (first, second) in enumerate(((0, 2), (1, 3))):  # segment * 2 + translation
        real = translations[row, 1:].ne(OURS.pad)
        border = int(translations[row, 1:].eq(OURS.separator).int().argmax())
        assert found.place[row, :border + 1].eq(first).all()
        assert found.place[row, border + 1:][real[border + 1:]].eq(second).all()
        assert found.place[row][~real].eq(-1).all()


def test_the_loss_is_the_expected_cost(samples):
    found, _ = samples
    place = torch.tensor([0, 0, 1, 2, 3])
    log_p = torch.tensor([-0.5, -0.25, -2.0, -3.0, -1.0])
    a, wrong = 0.5, 1 - float(found.scores[1, 1])
    q = math.exp(-1.0 * a) / (math.exp(-1.0 * a) + math.exp(-3.0 * a))
    assert float(found.risk(log_p, place, a)) == pytest.approx(float(found.weights[1]) * q * wrong / a, rel=1e-4)


def test_the_gradient_prefers_the_better_translation_and_leaves_equal_ones(samples):
    found, translations = samples
    kept = found.place.flatten().ge(0)
    log_p = torch.full((int(kept.sum()),), -1.0, requires_grad=True)
    place = found.place.flatten()[kept]
    found.risk(log_p, place, 0.2).backward()
    assert log_p.grad[place == 2].lt(0).all() and log_p.grad[place == 3].gt(0).all()
    assert log_p.grad[(place == 0) | (place == 1)].abs().max() < 1e-6


def test_token_log_probabilities_are_those_of_the_cross_entropy():
    torch.manual_seed(1)
    states, weight, bias = torch.randn(1100, 8, requires_grad=True), torch.randn(30, 8), torch.randn(30)
    tokens = torch.randint(30, (1100,))
    ours = token_log_probabilities(states, weight, bias, tokens)
    ours.sum().backward()
    other = states.detach().clone().requires_grad_()
    total = smoothed_cross_entropy(other, weight, bias, tokens, 0.0, IGNORED)
    total.backward()
    assert -ours.sum().item() == pytest.approx(total.item(), rel=1e-5)
    assert torch.allclose(-states.grad, other.grad, atol=1e-5)
