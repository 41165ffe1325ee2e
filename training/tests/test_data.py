import lzma
import random
from collections import Counter

import numpy as np
import pytest
import torch

from salient.config import Tokens
from salient.data import (BOS, EOS, PAD, SEPARATOR, Corpus, ahead, batches, draw, join, padded, read_documents,
                          tokenise, chunks, within)
from salient.model import aligned, segment_of
from salient.prepare import train_tokenizer
from salient.tiny import SENTENCES


def test_a_mixture_is_bounded():
    mixture = {0: 0.25, 96: 0.25, 192: 0.25, 384: 0.25}
    assert within(128, mixture) == {0: 0.25, 96: 0.25, 128: 0.5} and within(384, mixture) == mixture


def corpus_of(documents):
    """Documents as lists of segments; a segment's target is its source, a hundred higher."""
    segments = [s for d in documents for s in d]
    bounds = np.concatenate([[0], np.cumsum([len(s) for s in segments])]).astype(np.int64)
    flat = np.asarray([t for s in segments for t in s], np.uint16)
    ends = np.concatenate([[0], np.cumsum([len(d) for d in documents])])
    origin = np.arange(len(documents), dtype=np.uint8) % 2
    return Corpus(flat, flat + 100, bounds, bounds, ends, np.asarray(["even", "odd"]), origin)


def random_corpus(seed=1):
    rng, token, documents = random.Random(seed), 5, []
    for _ in range(7):
        document = []
        for _ in range(rng.randint(1, 40)):
            length = rng.randint(1, 9)
            document.append(list(range(token, token + length)))
            token += length
        documents.append(document)
    return documents


def split(tokens):
    segments, current = [], []
    for token in tokens:
        if token in (SEPARATOR, EOS):
            segments.append(current)
            current = []
        elif token not in (PAD, BOS):
            current.append(int(token))
    assert not current
    return segments


@pytest.mark.parametrize("mixture", [{0: 1.0}, {20: 1.0}, {0: 0.3, 16: 0.3, 64: 0.4}])
def test_chunks_keep_order_and_hold_every_segment_once(mixture):
    documents = random_corpus()
    seen = {tuple(segment): 0 for document in documents for segment in document}
    for source, target in chunks(corpus_of(documents), random.Random(3), mixture):
        segments = split(source)
        assert split(target) == [[t + 100 for t in s] for s in segments]
        assert target[0] == BOS and source[-1] == target[-1] == EOS
        home = next(d for d in documents if segments[0] in d)
        start = home.index(segments[0])
        assert home[start:start + len(segments)] == segments
        for segment in segments:
            seen[tuple(segment)] += 1
    assert set(seen.values()) == {1}


def test_chunks_are_no_longer_than_asked():
    for source, target in chunks(corpus_of(random_corpus()), random.Random(3), {24: 1.0}):
        assert max(len(source), len(target)) <= 24


def test_batches_hold_what_the_chunks_hold():
    documents = random_corpus()
    found = [s for source, _ in batches(corpus_of(documents), 64, seed=5, endless=False) for row in source
             for s in split(row[row.ne(PAD)])]
    assert sorted(found) == sorted(s for d in documents for s in d)


def test_batches_are_full_and_hold_little_padding():
    documents = [[list(range(5, 5 + random.Random(i).randint(1, 60)))] for i in range(400)]
    real, room, full = 0, 0, 0
    made = list(batches(corpus_of(documents), 128, seed=5, endless=False))
    for source, target in made:
        assert max(source.numel(), target[:, 1:].numel()) <= 128
        real, room = real + int(source.ne(PAD).sum()), room + source.numel()
        full += source.numel() > 64
    assert real > 0.97 * room and full > 0.95 * len(made)
    widths = [source.shape[1] for source, _ in made]
    assert widths != sorted(widths)  # a step sees long chunks now, short ones then


def test_chunks_as_long_as_the_mixtures_are_kept():
    documents = [[[7] * 900] * 4]  # together 3604 positions
    found = [source.shape[1] for source, _ in batches(corpus_of(documents), 64, 1, {4096: 1.0}, endless=False)]
    assert found == [3604]
    with pytest.raises(ValueError, match="nothing to train on"):  # a single endless segment
        next(batches(corpus_of([[[7] * 3000]]), 64, 1, {384: 1.0}))


def test_join_and_padding():
    source = join([np.asarray([7, 8]), np.asarray([9])], False)
    assert source.tolist() == [7, 8, SEPARATOR, 9, EOS]
    assert join([np.asarray([7])], True).tolist() == [BOS, 7, EOS]
    a, b = padded([(source, source), (source[-1:], source[-2:])])
    assert a.tolist() == [[7, 8, SEPARATOR, 9, EOS], [EOS, 0, 0, 0, 0]]
    assert b[1].tolist() == [9, EOS, 0, 0, 0]


def test_segments_on_both_sides_count_alike():
    source = torch.tensor([[7, 8, SEPARATOR, 9, SEPARATOR, 5, 6, EOS, PAD]])
    ordinal, offset = segment_of(source, SEPARATOR, inclusive=False)
    assert ordinal.tolist() == [[0, 0, 0, 1, 1, 2, 2, 2, 2]]
    assert offset.tolist() == [[0, 1, 2, 0, 1, 0, 1, 2, 3]]
    decoder_input = torch.tensor([[BOS, 7, 8, SEPARATOR, 9, SEPARATOR, 5, 6]])
    ordinal, offset = segment_of(decoder_input, SEPARATOR, inclusive=True)
    assert ordinal.tolist() == [[0, 0, 0, 1, 1, 2, 2, 2]]
    assert offset.tolist() == [[0, 1, 2, 0, 1, 0, 1, 2]]


def test_alignment_stays_within_the_source_segment():
    source = torch.tensor([[7, 8, SEPARATOR, 9, EOS, PAD]])
    target = torch.tensor([[BOS, 7, 8, 8, SEPARATOR, 9, 9, 9]])
    source_segment, _ = segment_of(source, SEPARATOR, inclusive=False)
    target_segment, offsets = segment_of(target, SEPARATOR, inclusive=True)
    assert aligned(target_segment, offsets, source_segment, source.ne(PAD)).tolist() == [[0, 1, 2, 2, 3, 4, 4, 4]]


@pytest.mark.parametrize("suffix", [".tsv", ".tsv.xz"])
def test_documents_are_read_in_order(tmp_path, suffix):
    path = tmp_path / f"corpus{suffix}"
    with (lzma.open if suffix.endswith("xz") else open)(path, "wt", encoding="utf-8") as out:
        out.write("a|1\tone\teins\na|1\ttwo\tzwei\na|2\tthree\tdrei\tignored\n")
    assert list(read_documents(path)) == [("a|1", [("one", "eins"), ("two", "zwei")]), ("a|2", [("three", "drei")])]


def test_source_weights_say_how_often_a_document_comes():
    corpus = corpus_of(random_corpus())
    order = draw(corpus, random.Random(1), {"even": 2.0, "odd": 0.0})
    assert sorted(order) == [0, 0, 2, 2, 4, 4, 6, 6]
    often = [len(draw(corpus, random.Random(seed), {"even": 0.5})) for seed in range(200)]
    assert 4.5 < np.mean(often) < 5.5  # three odd documents, and half of four


def test_tokens_of_documents(tmp_path):
    import sentencepiece

    train_tokenizer([SENTENCES], 384, tmp_path / "tokenizer.model")
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "tokenizer.model"))
    assert tokenizer.piece_to_id("<sep>") == SEPARATOR
    corpus = tokenise([("b|1", SENTENCES[:3]), ("a|2", SENTENCES[3:5])], tokenizer)
    assert [corpus.origins[i] for i in corpus.origin] == ["b", "a"]
    assert corpus.documents.tolist() == [0, 3, 5]
    for index, (english, german) in enumerate(SENTENCES[:5]):
        source, target = corpus.pieces(index)
        assert tokenizer.decode(source.tolist()) == english and tokenizer.decode(target.tolist()) == german
    corpus.save(tmp_path / "corpus.npz")
    assert Corpus.load(tmp_path / "corpus.npz").target.tolist() == corpus.target.tolist()


def test_batches_made_ahead_are_the_same_batches():
    def stream():
        return batches(corpus_of(random_corpus()), 64, seed=5)

    for (a, b), (c, d), _ in zip(stream(), ahead(stream(), pinned=False), range(20)):
        assert torch.equal(a, c) and torch.equal(b, d)


def test_an_error_in_the_thread_that_makes_batches_is_told():
    def broken():
        yield torch.zeros(1), torch.zeros(1)
        raise MemoryError("no room")

    stream = ahead(broken(), pinned=False)
    next(stream)
    with pytest.raises(MemoryError, match="no room"):
        next(stream)
    assert len(list(ahead(batches(corpus_of(random_corpus()), 64, seed=5, endless=False), pinned=False))) > 1


def test_a_corpus_of_which_nothing_is_left_is_an_error():
    corpus = corpus_of(random_corpus())
    with pytest.raises(ValueError, match="nothing to train on"):
        next(batches(corpus, 64, seed=5, source_weights={str(name): 0.0 for name in corpus.origins}))


def test_only_a_line_feed_ends_a_line(tmp_path):
    (tmp_path / "x.tsv").write_bytes("a|1\tone\u2028more\rand\tEins\r\na|1\ttwo\tZwei\n".encode())
    assert list(read_documents(tmp_path / "x.tsv")) == [("a|1", [("one\u2028more\rand", "Eins"), ("two", "Zwei")])]


def test_a_line_without_a_column_is_named(tmp_path):
    (tmp_path / "x.tsv").write_text("a|1\tone\tEins\n\n")
    with pytest.raises(ValueError, match=r"x.tsv:2: 1 columns; source\|document, source text and target text"):
        list(read_documents(tmp_path / "x.tsv"))


class Numbers:
    """A tokeniser of numbers."""

    def __init__(self, size):
        self.size = size

    def get_piece_size(self):
        return self.size

    def encode(self, texts, num_threads):
        return [[int(word) for word in text.split()] for text in texts]


def test_a_large_vocabulary_and_many_sources_are_kept():
    made = tokenise([(f"source{n}|x", [(f"{n} 69999", "7")]) for n in range(300)], Numbers(70_000), Numbers(1 << 16))
    assert made.source.tolist()[:4] == [0, 69999, 1, 69999] and made.target.dtype == np.uint16
    assert [made.origins[n] for n in made.origin] == [f"source{n}" for n in range(300)]
    assert Counter(draw(made, random.Random(1), {"source299": 3.0}))[299] == 3


def test_data_is_never_half_written(tmp_path, monkeypatch):
    corpus = corpus_of(random_corpus())
    corpus.save(tmp_path / "x.npz")
    before = (tmp_path / "x.npz").read_bytes()

    def full(file, **arrays):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError):
        corpus.save(tmp_path / "x.npz")
    assert (tmp_path / "x.npz").read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["x.npz"]


def test_what_a_killed_run_left_of_a_file_is_replaced(tmp_path):
    (tmp_path / "x.npz.part").write_text("half")
    corpus_of(random_corpus()).save(tmp_path / "x.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["x.npz"] and len(Corpus.load(tmp_path / "x.npz").documents) == 8


def test_a_source_that_does_not_end_in_the_end_token():
    tokens = Tokens(source_end=False)
    words, none = np.asarray([7, 8]), np.asarray([], int)
    assert join([words, words], False, tokens).tolist() == [7, 8, tokens.separator, 7, 8]
    assert join([words, none], False, tokens).tolist() == [7, 8, tokens.separator, tokens.eos]  # no segment is empty
    assert join([words], True, tokens).tolist() == [tokens.bos, 7, 8, tokens.eos]
