"""Parallel text to batches: tokens, chunks of documents, batches of chunks of similar length.

Segments keep their order in a document. A batch mixes whole documents, parts and sentences. This module reads the files
that `salient.prepare` writes.
"""

from __future__ import annotations

import queue
import random
import threading
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

import numpy as np
import torch

from .config import ModelConfig, Tokens
from .text_file import open_text
from .whole_file import whole_file

PAD, UNK, BOS, EOS, SEPARATOR = 0, 1, 2, 3, 4
OURS = Tokens(PAD, UNK, BOS, EOS, SEPARATOR)  # of the models that are trained with this code


def read_documents(path: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yields (source|document, [(source text, target text)]) in file order. Only a line feed ends a line, because text
    may contain other line breaks. Raises ValueError, with the file and the line, where a column is missing."""
    name, segments = None, []
    with open_text(path, newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            cells = line.rstrip("\r\n").split("\t")
            if len(cells) < 3:
                raise ValueError(f"{path}:{number}: {len(cells)} columns; source|document, source text and target text "
                                 "are needed, separated by tabs")
            key, source, target = cells[:3]
            if key != name:
                if segments:
                    yield name, segments
                name, segments = key, []
            segments.append((source, target))
    if segments:
        yield name, segments


@dataclass
class Corpus:
    """Token arrays of all segments, flat, with the bounds of segments and of documents, and the documents' sources."""

    source: np.ndarray  # uint16, or uint32 where the vocabulary is larger
    target: np.ndarray
    source_bounds: np.ndarray  # int64 [segments + 1]
    target_bounds: np.ndarray
    documents: np.ndarray  # int64 [documents + 1], in segments
    origins: np.ndarray  # the names of the sources
    origin: np.ndarray  # [documents], which of them
    # pad, bos, eos, separator (-1: none) of a model of another toolkit, and 0 if its source does not end in eos; None:
    # ours
    special: np.ndarray | None = None
    vocabularies: np.ndarray | None = None  # numbers of pieces of the source's and of the target's; None: not recorded

    @property
    def tokens(self) -> Tokens:
        if self.special is None:
            return OURS
        pad, bos, eos, separator, *source_end = map(int, self.special)  # earlier files have four
        return Tokens(pad, UNK, bos, eos, None if separator < 0 else separator, source_end=source_end != [0])

    @staticmethod
    def load(path: Path) -> "Corpus":
        """Raises ValueError if the file is something else than `save` writes, or damaged."""
        if not path.exists():
            raise ValueError(f"{path}: there is no such file; `python -m salient.prepare` writes it")
        try:
            with np.load(path, allow_pickle=False) as stored:
                return Corpus(**{k: stored[k] for k in stored.files})
        except (AttributeError, EOFError, TypeError, ValueError, zipfile.BadZipFile, zlib.error) as reason:
            raise ValueError(f"{path}: not a file of `salient.prepare`, or damaged ({reason}); prepare the data "
                             "again") from None

    def save(self, path: Path) -> None:
        """Writes without compression: archives are compressed as a whole, which makes them smaller."""
        with whole_file(path) as part, open(part, "wb") as file:  # savez would add .npz to a name
            np.savez(file, **{name: value for name, value in self.__dict__.items() if value is not None})

    def pieces(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        s, t = self.source_bounds, self.target_bounds
        return self.source[s[index]:s[index + 1]], self.target[t[index]:t[index + 1]]


def refuse_other_data(config: ModelConfig, corpus: Corpus, data: Path) -> None:
    """Raises ValueError if the tokens of the text are not those of the model. data: where the text is from."""
    sizes = ("source", corpus.source, "source_vocab_size" if config.source_vocab_size else "vocab_size"), \
        ("target", corpus.target, "vocab_size")
    for side, (name, tokens, field) in enumerate(sizes):
        most, size = int(tokens.max(initial=0)), config.value(field)
        if most >= size:
            raise ValueError(f"{data}: the {name} token {most} is beyond the configuration's vocabulary ({size}); "
                             "prepare the data with the model's own tokenizers")
        if corpus.vocabularies is not None and int(corpus.vocabularies[side]) != size:
            raise ValueError(f"{data}: the {name}'s tokenizer has {corpus.vocabularies[side]} pieces, and the "
                             f"configuration's {field} is {size}; set it to that for a new model, or prepare the data "
                             "with the model's own tokenizers (tokenizer.model, and target_tokenizer.model if it has "
                             "one)")
    ours, theirs = corpus.tokens, config.tokens
    for name in ("pad", "bos", "eos", "separator", "source_end"):
        has, wanted = getattr(ours, name), getattr(theirs, name)
        if has != wanted and (name, has) != ("separator", None):  # a model of documents may read single sentences
            raise ValueError(f"{data}: its tokens.{name} is {has}, the configuration's {wanted}; a model of another "
                             "toolkit learns from the data that `retrofit --monolingual` makes")


def tokenise(documents: list[tuple[str, list[tuple[str, str]]]], tokenizer, target_tokenizer=None) -> Corpus:
    """Token arrays of documents given as (`source|document`, pairs). target_tokenizer: None if it is the same."""
    pairs = [pair for _, document in documents for pair in document]

    def flat(side, pieces):
        kind = np.uint16 if pieces.get_piece_size() <= 1 << 16 else np.uint32
        ids = [np.asarray(x, kind) for x in pieces.encode([pair[side] for pair in pairs], num_threads=2)]
        return np.concatenate(ids), np.concatenate([[0], np.cumsum([len(x) for x in ids])]).astype(np.int64)

    (source, source_bounds), (target, target_bounds) = flat(0, tokenizer), flat(1, target_tokenizer or tokenizer)
    ends = np.concatenate([[0], np.cumsum([len(d) for _, d in documents])]).astype(np.int64)
    origins, origin = np.unique([origin_of(name) for name, _ in documents], return_inverse=True)
    sizes = [pieces.get_piece_size() for pieces in (tokenizer, target_tokenizer or tokenizer)]
    return Corpus(source, target, source_bounds, target_bounds, ends, origins,
                  origin.astype(np.min_scalar_type(len(origins))), vocabularies=np.asarray(sizes))


def origin_of(name: str) -> str:
    return name.split("|")[0]


def join(segments: list[np.ndarray], bos: bool, tokens: Tokens = OURS) -> np.ndarray:
    """Joins segments with separators, and appends EOS; not to a source that does not end so, unless its last segment is
    empty. bos: whether they are the target's."""
    parts = [np.asarray([tokens.bos])] if bos else []
    for i, segment in enumerate(segments):
        parts += [segment, np.asarray([tokens.eos if i + 1 == len(segments) else tokens.separator])]
    if not bos and not tokens.source_end and len(segments[-1]):
        parts.pop()
    return np.concatenate(parts).astype(np.int64)


# How often a chunk of at most so many tokens is cut, relative to the others; 0 stands for one to twelve single
# segments. Long chunks hold more tokens each, so their share of the tokens is greater.
MIXTURE = {0: 0.28, 96: 0.14, 192: 0.18, 384: 0.18, 768: 0.14, 2048: 0.08}
LONGEST = 2048  # chunks longer than this and than the mixture's are omitted; they have a single endless segment
POOL = 4_000_000  # positions of the chunks from which batches are composed: more of them leave less padding


def within(most: int, mixture: dict[int, float] = MIXTURE) -> dict[int, float]:
    """The mixture for a model that translates at most so many tokens at once: longer chunks become chunks of `most`."""
    found: dict[int, float] = {}
    for size, share in mixture.items():
        found[min(size, most)] = found.get(min(size, most), 0.0) + share
    return found


def draw(corpus: Corpus, rng: random.Random, weights: dict[str, float]) -> list[int]:
    """The documents of one pass in random order. A document of weight 2.5 comes two or three times, at random."""
    order = []
    for document, origin in enumerate(corpus.origin):
        weight = weights.get(str(corpus.origins[origin]), 1.0)
        order += [document] * (int(weight) + (rng.random() < weight % 1))
    rng.shuffle(order)
    return order


def chunks(corpus: Corpus, rng: random.Random, mixture: dict[int, float],
            source_weights: dict[str, float] = {}) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """One pass over the corpus: (source, target with BOS and EOS). Every pass divides documents into other chunks.
    Without a separator all chunks are single segments, whatever the mixture."""
    tokens = corpus.tokens
    mixture = {0: 1.0} if tokens.separator is None else mixture
    order = draw(corpus, rng, source_weights)
    sizes, weights = list(mixture), list(mixture.values())
    for document in order:
        at, end = int(corpus.documents[document]), int(corpus.documents[document + 1])
        while at < end:
            size = rng.choices(sizes, weights)[0]
            if size == 0:
                stop = min(end, at + rng.randint(1, 12))
                for index in range(at, stop):
                    s, t = corpus.pieces(index)
                    yield join([s], False, tokens), join([t], True, tokens)
                at = stop
                continue
            sources, targets, used = [], [], [0, 1]
            while at < end:
                s, t = corpus.pieces(at)
                if sources and max(used[0] + len(s) + 1, used[1] + len(t) + 1) > size:
                    break
                sources.append(s), targets.append(t)
                used = [used[0] + len(s) + 1, used[1] + len(t) + 1]
                at += 1
            yield join(sources, False, tokens), join(targets, True, tokens)


def positions(pair: tuple[np.ndarray, np.ndarray]) -> int:
    """The number of positions on the longer side of a chunk."""
    return max(len(pair[0]), len(pair[1]) - 1)


def pools(pairs: Iterator[tuple[np.ndarray, np.ndarray]]) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
    """Groups of successive chunks, of POOL positions each."""
    pool, held = [], 0
    for pair in pairs:
        pool.append(pair)
        held += positions(pair)
        if held >= POOL:
            yield pool
            pool, held = [], 0
    if pool:
        yield pool


def packed(pool: list[tuple[np.ndarray, np.ndarray]], tokens: int) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
    """Batches of chunks of similar length, with at most `tokens` positions on each side."""
    batch: list = []
    for pair in sorted(pool, key=positions):
        if batch and positions(pair) * (len(batch) + 1) > tokens:
            yield batch
            batch = []
        batch.append(pair)
    if batch:
        yield batch


def batches(corpus: Corpus, tokens: int, seed: int | str, mixture: dict[int, float] = MIXTURE,
            source_weights: dict[str, float] = {}, endless: bool = True) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Padded batches (source [B, S], target [B, T + 1]) in random order. Each side has at most `tokens` positions,
    unless a single chunk has more."""
    rng, empty, most = random.Random(seed), True, max(LONGEST, *mixture)
    while True:
        passed = (pair for pair in chunks(corpus, rng, mixture, source_weights) if positions(pair) <= most)
        for pool in pools(passed):
            ready = list(packed(pool, tokens))
            rng.shuffle(ready)
            empty = False
            yield from (padded(pairs, corpus.tokens.pad) for pairs in ready)
        if not endless:
            return
        if empty:
            raise ValueError("there is nothing to train on: no document is left with this mixture and these weights")


def ahead(stream: Iterator[tuple[torch.Tensor, torch.Tensor]], pinned: bool,
          depth: int = 4) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The same batches, which a thread makes in advance; in page-locked memory for a GPU."""
    made: queue.Queue = queue.Queue(depth)

    def make():
        try:
            for pair in stream:
                made.put([x.pin_memory() for x in pair] if pinned else pair)
            made.put(None)
        except BaseException as error:  # whatever it is, the thread that waits must hear of it
            made.put(error)

    threading.Thread(target=make, daemon=True).start()
    while (pair := made.get()) is not None:
        if isinstance(pair, BaseException):
            raise pair
        yield pair


def padded(pairs: list[tuple[np.ndarray, np.ndarray]], pad: int = PAD) -> tuple[torch.Tensor, torch.Tensor]:
    sides = []
    for side in (0, 1):
        width = max(len(pair[side]) for pair in pairs)
        out = torch.full((len(pairs), width), pad, dtype=torch.long)
        for row, pair in enumerate(pairs):
            out[row, :len(pair[side])] = torch.from_numpy(pair[side])
        sides.append(out)
    return sides[0], sides[1]
