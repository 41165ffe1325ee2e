import random

import numpy as np
import pytest

from corpora import corpus_of
from salient.data import PAD
from salient.shortlist import Shortlist, best_targets, coverage, model_1, ranges, sample, shortlist
from salient.tensor_file import write_arrays

VOCABULARY = 60


def translated(seed: int, segments: int) -> list[tuple[list[int], list[int]]]:
    """Source tokens 10 .. 29, each of which becomes token + 30 and, every second, token 7 behind it, in any order."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(segments):
        source = [rng.randrange(10, 30) for _ in range(rng.randint(1, 9))]
        target = [t + 30 for t in source] + [7 for t in source if t % 2 == 0]
        rng.shuffle(target)
        pairs.append((source, target))
    return pairs


def test_ranges():
    assert ranges(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]


def test_model_1_finds_what_a_token_becomes():
    corpus = corpus_of(translated(1, 400))
    pairs, probability = model_1(corpus, np.arange(400), VOCABULARY, rounds=8)
    table = {(int(p) // VOCABULARY, int(p) % VOCABULARY): t for p, t in zip(pairs, probability)}
    for source in range(10, 30):
        row = {target: t for (s, target), t in table.items() if s == source}
        assert sum(row.values()) == pytest.approx(1)
        assert max(row, key=row.get) == source + 30
    assert (VOCABULARY, 7) in table  # what comes of no token in particular


def test_alignment_tells_how_far_it_is(capsys):
    model_1(corpus_of(translated(1, 40)), np.arange(40), VOCABULARY, rounds=3)
    told = capsys.readouterr().err
    assert "counting pairs of tokens in 40 segments" in told and all(f"round {n} of 3" in told for n in (1, 2, 3))


def test_a_file_that_is_no_shortlist_is_named(tmp_path):
    write_arrays(tmp_path / "x.safetensors", {"shortlist.tokens": np.zeros(3, np.uint32)})
    with pytest.raises(ValueError, match="x.safetensors: it has no shortlist.tokens of two axes"):
        Shortlist.load(tmp_path / "x.safetensors")


def test_rows_begin_with_the_token_itself_then_go_by_probability():
    pairs = np.array([10 * VOCABULARY + t for t in (10, 40, 41, 42)] + [11 * VOCABULARY + 5, VOCABULARY ** 2 + 6])
    table = best_targets(pairs, np.array([0.1, 0.2, 0.4, 0.2, 1.0, 1.0]), VOCABULARY, 3)
    assert table[10].tolist() == [10, 41, 40]
    assert table[11].tolist() == [11, 5, PAD]
    assert table[12].tolist() == [12, PAD, PAD]


def test_with_two_vocabularies_rows_begin_with_the_token_of_the_same_text():
    copies = np.array([PAD, PAD, 40, 7])  # of a source of four tokens: the first two have no such target token
    pairs = np.array([1 * VOCABULARY + t for t in (5, 6)] + [2 * VOCABULARY + t for t in (40, 41)] + [VOCABULARY ** 2])
    table = best_targets(pairs, np.array([0.3, 0.7, 0.1, 0.9, 1.0]), VOCABULARY, 3, copies)
    assert table.tolist() == [[PAD, PAD, PAD], [6, 5, PAD], [40, 41, PAD], [7, PAD, PAD]]


def test_a_shortlist_covers_text_like_its_own():
    made = shortlist(corpus_of(translated(1, 400)), VOCABULARY, width=3, common=2, pairs=1 << 20)
    assert 7 in made.common
    share, length = coverage(made, corpus_of(translated(2, 50)), segments_per_chunk=2)
    assert share == 1
    assert length < VOCABULARY / 2
    listed = {*made.tokens[12].tolist(), *made.common.tolist()} - {PAD}
    assert made.tokens_for(np.array([12])).tolist() == sorted(listed)
    assert not np.isin(made.tokens[:, 1:], made.common).any()  # a row has room for others


def test_common_tokens_may_be_all_there_are():
    made = shortlist(corpus_of(translated(1, 40)), VOCABULARY, width=3, common=100, pairs=1 << 20)
    assert made.common.tolist() == [7, *range(40, 60)]
    assert made.tokens.tolist() == [[token, PAD, PAD] for token in range(VOCABULARY)]


def test_the_sample_is_bounded_and_leaves_long_segments_out():
    corpus = corpus_of([([9] * 200, [9] * 200), ([9], []), *[([9] * 4, [9] * 5)] * 50])
    chosen = sample(corpus, pairs=100, seed=1)
    assert 5 <= len(chosen) <= 6 and not {0, 1} & set(chosen.tolist())
    assert len(sample(corpus, pairs=1 << 20, seed=1)) == 50


def test_a_file_comes_back_as_it_was(tmp_path):
    made = Shortlist(np.arange(12, dtype=np.uint16).reshape(4, 3), np.array([65535, 1], np.uint16))
    made.save(tmp_path / "shortlist.safetensors")
    back = Shortlist.load(tmp_path / "shortlist.safetensors")
    assert np.array_equal(back.tokens, made.tokens) and np.array_equal(back.common, made.common)


def test_a_vocabulary_beyond_16_bits(tmp_path):
    made = shortlist(corpus_of(translated(1, 4)), 70000, width=2, common=1, pairs=100)
    assert made.tokens[69999].tolist() == [69999, PAD]
    made.save(tmp_path / "lists")
    assert Shortlist.load(tmp_path / "lists").tokens[69999].tolist() == [69999, PAD]
