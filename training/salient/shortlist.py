"""A model's shortlist: the target tokens that a source text makes likely.

    python -m salient.shortlist --data work/data --out models/en-de/shortlist.safetensors

Reads the parallel segments that `salient.prepare` tokenised (train.npz in --data), estimates t(target token | source
token) by IBM model 1 with a few rounds of expectation and maximisation over a sample of them, and writes

    shortlist.common  U16 or U32 [count]                     the most frequent target tokens, which belong to every list
    shortlist.tokens  U16 or U32 [source vocabulary, width]  a token's likeliest other ones, best first; then 0

The target token with the source token's text is always in its row, so that names and numbers can be copied.
engine/model/shortlist.h reads the file. The list of a chunk has the rows of its source tokens, the common tokens, and
those that the search needs.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .command import Help, refusals
from .data import PAD, Corpus
from .tensor_file import read_arrays, write_arrays
from .vocabulary import TARGET_TOKENIZER, TOKENIZER, tokenizer_of

TOKENS, COMMON = "shortlist.tokens", "shortlist.common"
LONGEST = 128  # tokens: model 1 learns little from longer segments, which cost the square of their length


@dataclass
class Shortlist:
    tokens: np.ndarray  # [source vocabulary, width]
    common: np.ndarray  # [count]

    def save(self, path: Path) -> None:
        write_arrays(path, {TOKENS: self.tokens, COMMON: self.common})

    def with_rows(self, count: int) -> "Shortlist":
        """With more rows, for source tokens that were added; such a token's list is only the token itself."""
        added = np.full((count - len(self.tokens), self.tokens.shape[1]), PAD, self.tokens.dtype)
        added[:, 0] = np.arange(len(self.tokens), count)
        return Shortlist(np.concatenate((self.tokens, added)), self.common)

    @staticmethod
    def load(path: Path) -> "Shortlist":
        stored = read_arrays(path)
        if {TOKENS, COMMON} - stored.keys() or stored[TOKENS].ndim != 2:
            raise ValueError(f"{path}: it has no {TOKENS} of two axes and {COMMON}; `python -m salient.shortlist` "
                             "makes it")
        return Shortlist(stored[TOKENS], stored[COMMON])

    def tokens_for(self, source: np.ndarray) -> np.ndarray:
        """The tokens that a translation of `source` may use, ascending, without those that the search itself adds."""
        listed = np.union1d(self.tokens[np.unique(source)].ravel(), self.common)
        return listed[listed != PAD]


def without(common: np.ndarray, corpus: Corpus) -> Corpus:
    """The corpus without target tokens that every list has anyway. The few that are left fill the rows, and model 1 can
    read several times as many segments."""
    kept = ~np.isin(corpus.target, common)
    bounds = np.concatenate(([0], np.cumsum(kept)))[corpus.target_bounds]
    return replace(corpus, target=corpus.target[kept], target_bounds=bounds)


def sample(corpus: Corpus, pairs: int, seed: int) -> np.ndarray:
    """Segments in random order, up to a total of `pairs` pairs of a source and a target token."""
    sizes = np.diff(corpus.source_bounds), np.diff(corpus.target_bounds)
    usable = np.flatnonzero((np.minimum(*sizes) > 0) & (np.maximum(*sizes) <= LONGEST))
    np.random.default_rng(seed).shuffle(usable)
    return usable[:np.searchsorted(np.cumsum(sizes[0][usable] * sizes[1][usable]), pairs, side="right") + 1]


def ranges(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The numbers first[0], first[0] + 1, ... (count[0] of them), then those from first[1] on, and so on."""
    before = np.cumsum(count) - count
    return np.arange(count.sum()) + np.repeat(first - before, count)


def co_occurrences(corpus: Corpus, segments: np.ndarray, vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
    """For every target token: its pairs with all source tokens of its segment, and with no token (source `vocabulary`),
    as source * vocabulary + target, one target token after the other. Also the number of pairs for each."""
    source_first, sources = corpus.source_bounds[segments], np.diff(corpus.source_bounds)[segments]
    target_first, targets = corpus.target_bounds[segments], np.diff(corpus.target_bounds)[segments]
    target = corpus.target[ranges(target_first, targets)].astype(np.int64)
    count = np.repeat(sources, targets) + 1
    source = np.full(count.sum(), vocabulary, np.int64)
    is_none = np.zeros(len(source), bool)
    is_none[np.cumsum(count) - 1] = True
    source[~is_none] = corpus.source[ranges(np.repeat(source_first, targets), count - 1)]
    return source * vocabulary + np.repeat(target, count), count


def model_1(corpus: Corpus, segments: np.ndarray, vocabulary: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that occur together, ascending, as source * vocabulary + target, with t(target | source) of each."""
    print(f"alignment: counting pairs of tokens in {len(segments)} segments", end="", file=sys.stderr, flush=True)
    keys, count = co_occurrences(corpus, segments, vocabulary)
    pairs, pair = np.unique(keys, return_inverse=True)
    del keys
    first, source = np.cumsum(count) - count, pairs // vocabulary
    probability = np.ones(len(pairs))
    for number in range(1, rounds + 1):
        print(f"\ralignment: round {number} of {rounds}{'':40}", end="", file=sys.stderr, flush=True)
        share = probability[pair]
        share /= np.repeat(np.add.reduceat(share, first), count)  # probability of this source token
        expected = np.bincount(pair, share, len(pairs))
        probability = expected / np.bincount(source, expected)[source]
    print(file=sys.stderr)
    return pairs, probability


def best_targets(pairs: np.ndarray, probability: np.ndarray, vocabulary: int, width: int,
                 copies: np.ndarray | None = None) -> np.ndarray:
    """[source vocabulary, width]: the source token's copy, then its likeliest target tokens, then 0. Ties go to the
    lower id. copies [source vocabulary]: the target token with the same text, or PAD; None: the token itself."""
    copies = np.arange(vocabulary) if copies is None else copies
    known = pairs < vocabulary * vocabulary  # the other pairs have no source token
    source, target, probability = pairs[known] // vocabulary, pairs[known] % vocabulary, probability[known]
    is_copy = target == copies[source]
    probability = np.where(is_copy, 2.0, probability)
    order = np.lexsort((target, -probability, source))
    is_copy, source, target = is_copy[order], source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    table = np.full((len(copies), width), PAD, np.uint32)
    table[:, 0] = copies
    itself = np.isin(np.arange(len(copies)), source[is_copy]) | (copies == PAD)
    column = np.where(itself[source], rank, rank + 1)
    kept = column < width
    table[source[kept], column[kept]] = target[kept]
    return table


def copies_of(source, target) -> np.ndarray:
    """[source vocabulary]: the target's token with the same text, or PAD, of two SentencePiece models."""
    token_of = {target.id_to_piece(i): i for i in range(target.get_piece_size())}
    return np.array([token_of.get(source.id_to_piece(i), PAD) for i in range(source.get_piece_size())], np.uint32)


def shortlist(corpus: Corpus, vocabulary: int, width: int, common: int, pairs: int, rounds: int = 5, seed: int = 1,
              copies: np.ndarray | None = None) -> Shortlist:
    """vocabulary: the size of the source's or of the target's, whichever is greater. copies: as in best_targets."""
    frequency = np.bincount(corpus.target, minlength=vocabulary)
    frequent = np.argsort(-frequency, kind="stable")[:common]
    frequent = np.sort(frequent[frequency[frequent] > 0])
    rare = without(frequent, corpus)
    found = model_1(rare, sample(rare, pairs, seed), vocabulary, rounds)
    return Shortlist(best_targets(*found, vocabulary, width, copies), frequent)


def coverage(lists: Shortlist, corpus: Corpus, segments_per_chunk: int) -> tuple[float, float]:
    """For a corpus divided into chunks: the share of its target tokens that are in their chunk's list, and the mean
    length of a list."""
    inside = total = listed = chunks = 0
    for document in range(len(corpus.documents) - 1):
        begin, end = int(corpus.documents[document]), int(corpus.documents[document + 1])
        for first in range(begin, end, segments_per_chunk):
            last = min(first + segments_per_chunk, end)
            source = corpus.source[corpus.source_bounds[first]:corpus.source_bounds[last]]
            target = corpus.target[corpus.target_bounds[first]:corpus.target_bounds[last]]
            tokens = lists.tokens_for(source)
            inside, total = inside + int(np.isin(target, tokens).sum()), total + len(target)
            listed, chunks = listed + len(tokens), chunks + 1
    return inside / max(total, 1), listed / max(chunks, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    parser.add_argument("--data", type=Path, required=True, help="folder that `salient.prepare` wrote")
    parser.add_argument("--out", type=Path, required=True, help="the model folder's shortlist.safetensors")
    parser.add_argument("--width", type=int, default=32, help="target tokens a source token")
    parser.add_argument("--common", type=int, default=2500, help="frequent target tokens that are in every list")
    parser.add_argument("--pairs", type=int, default=30_000_000,
                        help="co-occurrences to learn from; memory grows with it")
    parser.add_argument("--rounds", type=int, default=5, help="of expectation and maximisation")
    parser.add_argument("--seed", type=int, default=1, help="of the sample of segments")
    o = parser.parse_args()
    with refusals("shortlist"):
        run(o)


def run(o: argparse.Namespace) -> None:
    corpus = Corpus.load(o.data / "train.npz")
    files = [o.data / name for name in (TOKENIZER, TARGET_TOKENIZER) if (o.data / name).exists()]
    if not files:
        raise ValueError(f"{o.data / TOKENIZER}: there is no such file; `python -m salient.prepare` writes it")
    source, target = (tokenizer_of(files[i]) for i in (0, -1))
    print(f"aligning {len(corpus.source)} source and {len(corpus.target)} target tokens", file=sys.stderr)
    made = shortlist(corpus, max(source.get_piece_size(), target.get_piece_size()),
                     o.width, o.common, o.pairs, o.rounds, o.seed, copies_of(source, target))
    made.save(o.out)
    print(f"wrote {o.out}: {made.tokens.shape[0]} rows of {made.tokens.shape[1]}, {len(made.common)} common tokens",
          file=sys.stderr)
    if (o.data / "dev.npz").exists():
        dev = Corpus.load(o.data / "dev.npz")
        for segments in (1, 16):
            share, length = coverage(made, dev, segments)
            print(f"development set, chunks of {segments} segments: {100 * share:.2f} % of the target tokens are "
                  f"listed, {length:.0f} tokens a list", file=sys.stderr)


if __name__ == "__main__":
    main()
