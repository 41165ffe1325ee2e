"""A model of sentences teaches a model of documents: every segment of a chunk has the teacher's own predictions."""

import pytest
import torch

from salient.data import OURS, join, padded
from salient.pieces import first_marker
from salient.selection import SelectionRun
from salient.sentence_teacher import SentenceTeacher, segments
from salient.tiny import with_markers
from salient.vocabulary import TOKENIZER


@pytest.fixture(scope="module", params=["student", "opennmt"])
def teacher(request, tiny_models, tmp_path_factory):
    """A tiny converted model of Marian or OpenNMT-py, for models with other token numbers and markers."""
    data = tmp_path_factory.mktemp("data")
    (data / TOKENIZER).write_bytes(with_markers((tiny_models / TOKENIZER).read_bytes(), 4))
    return SentenceTeacher(tiny_models / request.param, data, OURS)


@pytest.fixture
def pairs(teacher):
    """Three segments without markers, as the student's tokens: (source, target)."""
    torch.manual_seed(1)
    size, first = len(teacher.target_of), first_marker() + 4
    return [tuple(torch.randint(first, size, (n,)).numpy() for n in lengths) for lengths in ((7, 5), (2, 9), (6, 3))]


def chunk(pairs):
    return join([s for s, _ in pairs], False), join([t for _, t in pairs], True)


def probabilities(taught):
    return (taught.states @ taught.weight.t() + taught.bias).softmax(-1)


def test_segments_end_at_separators_and_at_the_end(pairs):
    source, target = padded([chunk(pairs), chunk(pairs[1:2])])
    assert segments(source, target, OURS) == [(0, 0, 8, 0, 6), (0, 8, 11, 6, 16), (0, 11, 18, 16, 20),
                                              (1, 0, 3, 0, 10)]


def test_every_segment_has_the_teachers_own_predictions(teacher, pairs):
    source, target = padded([chunk(pairs), chunk(pairs[1:2])])
    taught = teacher(source, target, 0.7)
    found = probabilities(taught).view(*target[:, 1:].shape, -1)
    assert torch.equal(taught.share.view(*target[:, 1:].shape), 0.7 * target[:, 1:].ne(OURS.pad))
    own, model = teacher.own, teacher.model
    known = teacher.target_of.ge(0).nonzero().squeeze(1)
    for row, begin, end, first, after in segments(source, target, OURS):
        read = teacher.source_of[source[row, begin:end if own.source_end else end - 1]][None]
        wrote = teacher.target_of[target[row, 1 + first:after]]
        inputs = torch.cat((torch.tensor([own.bos]), wrote))[None]
        run = SelectionRun()
        logits = model.logits(-1, model.decode(inputs, read, model.encode(read, run), run)[-1])[0]
        ends, never = (OURS.eos, OURS.separator)[::1 if target[row, after] == OURS.eos else -1]
        tokens = known[known.ne(never)]
        expected = logits[:, teacher.target_of[tokens]].softmax(-1)
        assert torch.allclose(found[row, first:after, tokens], expected, atol=1e-5)
        assert (found[row, first:after, never] < 1e-6).all()
        assert (found[row, first:after, ends] > 1e-6).any()


@pytest.mark.parametrize("side", [0, 1])
def test_a_segment_with_a_marker_has_no_teacher(teacher, pairs, side):
    pairs[1][side][0] = first_marker()
    source, target = padded([chunk(pairs)])
    share = teacher(source, target, 1.0).share
    assert share[:6].eq(1).all() and share[6:16].eq(0).all() and share[16:].eq(1).all()
