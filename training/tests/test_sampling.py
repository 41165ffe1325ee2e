"""Sampled translations: the greedy one against the oracle, the form of the others, and what they are drawn from."""

import numpy as np
import pytest
import torch

from salient.data import BOS, EOS, PAD, SEPARATOR, UNK, padded
from salient.decode import Oracle, Settings
from salient.export import load_model
from salient.sampling import sampled_translations
from salient.selection import SelectionRun
from salient.sentence_teacher import segments
from salient.tiny import variants

# Without markers and suppressed tokens, of which the sampler knows nothing, and with documents.
PLAIN = [name for name, config in variants().items()
         if not config.tokens.markers and not config.search.suppressed and config.tokens.separator is not None]


def sources(model, *chunks):
    return padded([(np.array(c), np.array([0])) for c in chunks], model.config.tokens.pad)[0]


def drawn(model, source, count, seed=1, temperature=1.0, likeliest=5):
    with torch.no_grad():
        memory = model.encode(source, SelectionRun())
    return sampled_translations(model, source, memory, count, temperature, likeliest,
                                torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", PLAIN)
def test_the_first_translation_is_the_greedy_one(tiny_models, chunk, name):
    model = load_model(tiny_models / name)[0]
    short = chunk[8:]
    found = drawn(model, sources(model, chunk, short), 2)
    for row, source in ((0, chunk), (2, short)):
        wanted = Oracle(model).translate(source, Settings()).finished[0].tokens
        ours = [t for t in found[row, 1:].tolist() if t != model.config.tokens.pad]
        differs = next((i for i, (a, b) in enumerate(zip(ours, wanted)) if a != b), None)
        assert differs is None or ours[differs] in (EOS, SEPARATOR), "only a bound may end a segment earlier"


def test_every_translation_has_as_many_segments_as_its_source(tiny_models, chunk):
    model = load_model(tiny_models / "base")[0]
    source, t = sources(model, chunk, chunk[12:]), model.config.tokens
    found = drawn(model, source, 3)
    assert found[:, 0].eq(t.bos).all()
    assert [int(row.eq(t.separator).sum()) for row in found] == [2, 2, 2, 0, 0, 0]
    assert found.eq(t.eos).sum(1).eq(1).all()
    ends = found.eq(t.eos).int().argmax(1)
    assert all(row[end + 1:].eq(t.pad).all() for row, end in zip(found, ends))
    assert len(segments(source.repeat_interleave(3, 0), found, t)) == 12


def test_one_seed_gives_the_same_translations_and_another_gives_others(tiny_models, chunk):
    model = load_model(tiny_models / "base")[0]
    source = sources(model, chunk)
    first = drawn(model, source, 4)
    assert torch.equal(first, drawn(model, source, 4))
    assert not torch.equal(first[1:, :6], drawn(model, source, 4, seed=2)[1:, :6])
    assert len({tuple(row.tolist()) for row in first}) == 4


def test_tokens_are_drawn_by_their_probability(tiny_models, chunk):
    """First tokens of many translations of one chunk, at a temperature of 2, among the likeliest three."""
    model = load_model(tiny_models / "base")[0]
    source = sources(model, chunk)
    first = drawn(model, source, 4001, temperature=2.0, likeliest=3)[1:, 1]
    with torch.no_grad():
        states = model.decode(torch.tensor([[BOS]]), source, model.encode(source, SelectionRun()), SelectionRun())
        logits = model.logits(model.config.decoder.layers - 1, states[-1])[0, 0]
    logits[[PAD, UNK, BOS, EOS]] = -torch.inf  # a separator closes the first of three segments
    score, token = logits.topk(3)
    share = torch.stack([first.eq(t).float().mean() for t in token])
    assert torch.allclose(share, (score / 2).softmax(0), atol=0.03)
