"""Training data from text in the source language alone: the model translates it, and its translations are targets.

    data = monolingual(model, [Path("text.zh.txt")], programs, out)

Text is plain, a paragraph a line, a file a document (or `# source|document` before each, as salient.distil reads it);
.xz is unpacked. It is cut into sentences, which the engine translates greedily, dense and at full depth. What it wrote,
piece by piece, becomes train.npz and dev.npz, with the model's own tokens.
"""

from __future__ import annotations

import lzma
import random
import sys
from pathlib import Path

import numpy as np

from .config import ModelConfig
from .data import Corpus
from .distil import read_mono
from .evaluation.engine import Engine
from .evaluation.sets import Document, DocumentSet
from .sentences import splitter
from .vocabulary import Vocabulary

DEV = 200  # sentences that become development text
MOST_CHARACTERS = 600  # a longer sentence is probably a table or a list
SENTENCES = 64  # sentences per document that the engine gets


def read_text(path: Path) -> list[tuple[str, list[str]]]:
    """Documents as (name, paragraphs)."""
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
        first = file.readline()
    if first.startswith("# ") and "|" in first:
        return list(read_mono(path))
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
        return [(f"text|{path.name}", [line.strip() for line in file if line.strip()])]


def sentences_of(paths: list[Path], language: str, most: int, seed: int = 1) -> list[str]:
    """At most `most` different sentences, in random order."""
    split = splitter(language)
    found = {s for path in paths for _, paragraphs in read_text(path) for p in paragraphs for s in split(p)
             if len(s) <= MOST_CHARACTERS}
    drawn = sorted(found)
    random.Random(seed).shuffle(drawn)
    return drawn[:most]


def corpus_of(config: ModelConfig, vocabulary: Vocabulary, sentences: list[str],
              translations: list[list[str]]) -> Corpus:
    """Sentences, each as one document, with the pieces of their translations. Empty translations are left out."""
    token_of = {piece: token for token, piece in enumerate(vocabulary.target)}
    dtype = np.uint16 if max(config.vocab_size, config.source_vocab_size or 0) <= 1 << 16 else np.uint32
    pairs = [(vocabulary.encode(s), [token_of[piece] for piece in t]) for s, t in zip(sentences, translations) if t]

    def flat(side: int) -> tuple[np.ndarray, np.ndarray]:
        bounds = np.concatenate([[0], np.cumsum([len(pair[side]) for pair in pairs])]).astype(np.int64)
        return np.concatenate([np.asarray(pair[side], dtype) for pair in pairs]), bounds

    (source, source_bounds), (target, target_bounds) = flat(0), flat(1)
    t = config.tokens
    return Corpus(source, target, source_bounds, target_bounds, np.arange(len(pairs) + 1), np.asarray(["text"]),
                  np.zeros(len(pairs), np.uint8),
                  np.asarray([t.pad, t.bos, t.eos, -1 if t.separator is None else t.separator]))


def translate(model: Path, sentences: list[str], programs: Path, work: Path) -> list[list[str]]:
    """The pieces of each sentence's translation, without the end token."""
    documents = [Document("text", sentences[i:i + SENTENCES], [[]]) for i in range(0, len(sentences), SENTENCES)]
    with Engine(programs, model, work) as engine:
        done = engine.translate(DocumentSet("monolingual", documents), "--selection dense --exit full", trace=True)
    return [[piece for piece, *_ in segment] for one in done.translated for segment in one.report["trace"]]


def monolingual(model: Path, paths: list[Path], programs: Path, out: Path, most: int) -> Path:
    """The folder with train.npz and dev.npz, which is made only once."""
    config = ModelConfig.load(model)
    if config.languages is not None:
        raise ValueError(f"{model}: a model of several languages; convert one pair of it (--from and --to)")
    data = out / "data"
    if (data / "dev.npz").exists():
        return data
    sentences = sentences_of(paths, config.source_language, most)
    if len(sentences) < 2 * DEV:
        raise ValueError(f"--monolingual: {len(sentences)} sentences; at least {2 * DEV} are needed")
    print(f"translating {len(sentences)} sentences", file=sys.stderr)
    translations = translate(model, sentences, programs, out)
    vocabulary = Vocabulary(model, config)
    data.mkdir(parents=True, exist_ok=True)
    corpus_of(config, vocabulary, sentences[DEV:], translations[DEV:]).save(data / "train.npz")
    corpus_of(config, vocabulary, sentences[:DEV], translations[:DEV]).save(data / "dev.npz")
    return data
