"""From parallel text to batches: cleaning, tokens, windows of documents, padded batches of like length.

`python -m salient.data prepare` reads `source|document<TAB>English<TAB>German` lines and writes a folder with the
tokeniser and the tokenised corpus. Documents keep their order; a batch mixes whole documents, parts and sentences.
"""

from __future__ import annotations

import argparse
import lzma
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

import numpy as np
import torch

from .config import Tokens

PAD, UNK, BOS, EOS, SEPARATOR = 0, 1, 2, 3, 4


def read_documents(path: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yields (source|document, [(English, German)]) in file order."""
    opener = lzma.open if path.suffix == ".xz" else open
    name, segments = None, []
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            key, source, target = line.rstrip("\n").split("\t")[:3]
            if key != name:
                if segments:
                    yield name, segments
                name, segments = key, []
            segments.append((source, target))
    if segments:
        yield name, segments


def clean(source: str, target: str) -> bool:
    """Whether a pair can teach translation: similar lengths, not copied prose, not one endless line."""
    s, t = len(source), len(target)
    if not s or not t or max(s, t) > 800:
        return False
    if max(s, t) > 30 and not 0.4 < t / s < 2.6:
        return False
    return not (source == target and len(source.split()) > 4)


@dataclass
class Corpus:
    """Token arrays of all segments, flat, with the bounds of segments and of documents."""

    source: np.ndarray  # uint16
    target: np.ndarray
    source_bounds: np.ndarray  # int64 [segments + 1]
    target_bounds: np.ndarray
    documents: np.ndarray  # int64 [documents + 1], in segments

    @staticmethod
    def load(path: Path) -> "Corpus":
        with np.load(path) as stored:
            return Corpus(**{k: stored[k] for k in stored.files})

    def save(self, path: Path) -> None:
        np.savez_compressed(path, **self.__dict__)

    def pieces(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        s, t = self.source_bounds, self.target_bounds
        return self.source[s[index]:s[index + 1]], self.target[t[index]:t[index + 1]]


def tokenise(documents: list[list[tuple[str, str]]], tokenizer) -> Corpus:
    sides: list[list[np.ndarray]] = [[], []]
    for side in (0, 1):
        texts = [pair[side] for document in documents for pair in document]
        sides[side] = [np.asarray(ids, np.uint16) for ids in tokenizer.encode(texts, num_threads=2)]

    def flat(side):
        bounds = np.concatenate([[0], np.cumsum([len(x) for x in side])]).astype(np.int64)
        return np.concatenate(side), bounds

    (source, source_bounds), (target, target_bounds) = flat(sides[0]), flat(sides[1])
    ends = np.concatenate([[0], np.cumsum([len(d) for d in documents])]).astype(np.int64)
    return Corpus(source, target, source_bounds, target_bounds, ends)


def join(segments: list[np.ndarray], bos: bool) -> np.ndarray:
    """Segments with a separator between each two and EOS at the end."""
    parts = [np.asarray([BOS])] if bos else []
    for i, segment in enumerate(segments):
        parts += [segment, np.asarray([EOS if i + 1 == len(segments) else SEPARATOR])]
    return np.concatenate(parts).astype(np.int64)


# Share of the tokens cut to windows of at most that many tokens; 0 stands for single segments.
MIXTURE = {0: 0.30, 96: 0.15, 192: 0.20, 384: 0.20, 768: 0.15}
LENGTHS = (24, 48, 96, 192, 384, 768, 1024)


def windows(corpus: Corpus, rng: random.Random, mixture: dict[int, float]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """One pass over the corpus: (source, target with BOS and EOS), cut anew at every pass."""
    order = list(range(len(corpus.documents) - 1))
    rng.shuffle(order)
    sizes, weights = list(mixture), list(mixture.values())
    for document in order:
        at, end = int(corpus.documents[document]), int(corpus.documents[document + 1])
        while at < end:
            size = rng.choices(sizes, weights)[0]
            if size == 0:
                stop = min(end, at + rng.randint(1, 12))
                for index in range(at, stop):
                    s, t = corpus.pieces(index)
                    yield join([s], False), join([t], True)
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
            yield join(sources, False), join(targets, True)


def batches(corpus: Corpus, tokens: int, seed: int, mixture: dict[int, float] = MIXTURE,
            endless: bool = True) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Padded (source [B, S], target [B, T + 1]) of about `tokens` positions a side, each batch of one length class."""
    rng = random.Random(seed)
    waiting: dict[int, list] = {length: [] for length in LENGTHS}
    while True:
        for source, target in windows(corpus, rng, mixture):
            longest = max(len(source), len(target) - 1)
            bucket = next((x for x in LENGTHS if longest <= x), None)
            if bucket is None:
                continue
            waiting[bucket].append((source, target))
            if len(waiting[bucket]) * bucket >= tokens:
                yield padded(waiting[bucket])
                waiting[bucket] = []
        if not endless:
            yield from (padded(rest) for rest in waiting.values() if rest)
            return


def padded(pairs: list[tuple[np.ndarray, np.ndarray]]) -> tuple[torch.Tensor, torch.Tensor]:
    sides = []
    for side in (0, 1):
        width = max(len(pair[side]) for pair in pairs)
        out = torch.full((len(pairs), width), PAD, dtype=torch.long)
        for row, pair in enumerate(pairs):
            out[row, :len(pair[side])] = torch.from_numpy(pair[side])
        sides.append(out)
    return sides[0], sides[1]


def train_tokenizer(documents: list[list[tuple[str, str]]], vocab_size: int, out: Path) -> None:
    import sentencepiece

    def lines():
        for document in documents:
            for source, target in document:
                yield source
                yield target

    assert Tokens() == Tokens(PAD, UNK, BOS, EOS, SEPARATOR)
    with open(out, "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=lines(), model_writer=file, vocab_size=vocab_size, model_type="unigram",
            character_coverage=0.9998, byte_fallback=True, normalization_rule_name="identity",
            input_sentence_size=300_000, shuffle_input_sentence=True, num_threads=2, control_symbols=["<sep>"],
            pad_id=PAD, unk_id=UNK, bos_id=BOS, eos_id=EOS, minloglevel=1)


def prepare(arguments: argparse.Namespace) -> None:
    import sentencepiece

    arguments.out.mkdir(parents=True, exist_ok=True)
    seen, documents = set(), []
    for name, segments in read_documents(arguments.train):
        if arguments.sources and name.split("|")[0] not in arguments.sources:
            continue
        pairs = tuple(pair for pair in segments if clean(*pair))
        if pairs and hash(pairs) not in seen:
            seen.add(hash(pairs))
            documents.append(list(pairs))
    print(f"{len(documents)} documents, {sum(map(len, documents))} segments", file=sys.stderr)
    tokenizer_path = arguments.out / "tokenizer.model"
    if not tokenizer_path.exists():
        train_tokenizer(documents, arguments.vocab_size, tokenizer_path)
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer_path))
    corpus = tokenise(documents, tokenizer)
    corpus.save(arguments.out / "train.npz")
    print(f"{len(corpus.source)} source and {len(corpus.target)} target tokens", file=sys.stderr)
    if arguments.dev:
        dev = [segments for name, segments in read_documents(arguments.dev)
               if not arguments.sources or name.split("|")[0] in arguments.sources]
        tokenise(dev, tokenizer).save(arguments.out / "dev.npz")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["prepare"])
    parser.add_argument("--train", type=Path, required=True, help="TSV of training documents, .xz or plain")
    parser.add_argument("--dev", type=Path, help="TSV of development documents")
    parser.add_argument("--sources", nargs="*", default=[], help="keep these sources only; all when left out")
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--out", type=Path, required=True)
    prepare(parser.parse_args())


if __name__ == "__main__":
    main()
