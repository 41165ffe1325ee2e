"""Training data from text in the source language alone: the model translates it, and its translations are targets.

    data = monolingual(model, config, [Path("text.zh.txt")], programs, out, 100_000)

Text is plain, a paragraph a line, a file a document (or `# source|document` before each and an empty line between, as
salient.distil reads it); .xz is unpacked. It is cut into sentences, which the engine translates greedily, dense and at
full depth. What it wrote, piece by piece, becomes train.npz and dev.npz, with the tokens of `config`: those of the
model, and a separator if documents are to be learned. Then sentences stay in their documents, some neighbours become
one segment, and short documents follow each other in one; otherwise each sentence is a document of its own.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

from .cleaning import repeats
from .config import ModelConfig
from .data import Corpus
from .distil import read_mono
from .evaluation.engine import Engine
from .evaluation.sets import Document, DocumentSet
from .sentences import one_line, splitter
from .text_file import open_text
from .vocabulary import Vocabulary

DEV = 200  # sentences that become development text
MOST_CHARACTERS = 600  # a longer sentence is probably a table or a list
SENTENCES = 64  # sentences per document that the engine gets
JOINED = {1: 0.5, 2: 0.3, 3: 0.2}  # sentences of a segment, and how often
WITHOUT_STOP = 0.3  # share of the segments that lose their full stop
STOPS = (".", "\u3002", "\u2581.", "\u2581\u3002")  # pieces
LEAST = 8  # segments of a document
WITHOUT_SPACES = ("zh", "ja", "th", "lo", "km", "my")  # languages that have no space between sentences


def read_text(path: Path) -> list[tuple[str, list[str]]]:
    """Documents as (name, paragraphs)."""
    with open_text(path) as file:
        first = file.readline()
    if first.startswith("# ") and "|" in first:
        return list(read_mono(path))
    with open_text(path) as file:
        return [(f"text|{path.name}", [line.strip() for line in file if line.strip()])]


def documents_of(paths: list[Path], language: str, most: int, whole: bool, seed: int = 1) -> list[list[str]]:
    """At most `most` different sentences in documents, which are in random order. `whole`: as they are in the text;
    otherwise each sentence is one."""
    split, seen = splitter(language), set()
    found: list[list[str]] = []
    for path in paths:
        for _, paragraphs in read_text(path):
            cut = [one_line(s) for p in paragraphs for s in split(p)]
            new = dict.fromkeys(s for s in cut if len(s) <= MOST_CHARACTERS and s not in seen)
            seen.update(new)
            found += [list(new)] if whole and new else [[s] for s in new]
    found.sort()
    random.Random(seed).shuffle(found)
    drawn, count = [], 0
    for document in found:
        if count < most:
            drawn.append(document[:most - count])
            count += len(drawn[-1])
    return drawn


Translated = list[tuple[str, list[str]]]  # the sentences of a document, with the pieces of their translations


def with_translations(documents: list[Translated]) -> list[Translated]:
    """Without sentences whose translation is empty or repeats itself, and documents of which nothing is left."""
    kept = [[(s, t) for s, t in document if t and (not repeats(t) or repeats(s))] for document in documents]
    return [document for document in kept if document]


def spaced(language: str) -> bool:
    return language.split("-")[0] not in WITHOUT_SPACES


def joined_segments(document: Translated, config: ModelConfig, rng: random.Random) -> Translated:
    """Segments of one to three neighbouring sentences, some without their last full stop. If each were a sentence, the
    model would learn that a segment ends where a sentence does, and not where the source has a separator."""
    between = " " if spaced(config.source_language) else ""
    found: Translated = []
    room = 0  # sentences that may still join the last segment
    for sentence, pieces in document:
        if room and len(found[-1][0]) + len(sentence) < MOST_CHARACTERS:
            before, earlier = found[-1]
            found[-1] = before + between + sentence, earlier + (
                pieces if spaced(config.target_language) else without_space(pieces))
            room -= 1
        else:
            found.append((sentence, pieces))
            room = rng.choices(list(JOINED), list(JOINED.values()))[0] - 1
    return [without_stop(*segment) if rng.random() < WITHOUT_STOP else segment for segment in found]


def without_stop(source: str, pieces: list[str]) -> tuple[str, list[str]]:
    """As headings and items of lists are. The same segment if a side has no full stop, or nothing else."""
    if len(source) > 1 and source[-1] in STOPS and len(pieces) > 1 and pieces[-1] in STOPS:
        return source[:-1], pieces[:-1]
    return source, pieces


def joined_documents(documents: list[Translated]) -> list[Translated]:
    """A document shorter than LEAST gets those after it. Otherwise chunks of a text with many single sentences would
    have hardly any separators to learn from."""
    found: list[Translated] = []
    for document in documents:
        if found and len(found[-1]) < LEAST:
            found[-1] += document
        else:
            found.append(list(document))
    return found


def without_space(pieces: list[str]) -> list[str]:
    """Without the space that SentencePiece puts before the first word, if that is a piece of its own."""
    return pieces[1:] if pieces[:1] == ["\u2581"] else pieces


def corpus_of(config: ModelConfig, vocabulary: Vocabulary, documents: list[Translated]) -> Corpus:
    token_of = {piece: token for token, piece in enumerate(vocabulary.target)}
    dtype = np.uint16 if max(config.vocab_size, config.source_vocab_size or 0) <= 1 << 16 else np.uint32
    pairs = [(vocabulary.encode(s), [token_of[piece] for piece in t]) for document in documents for s, t in document]

    def flat(side: int) -> tuple[np.ndarray, np.ndarray]:
        bounds = np.concatenate([[0], np.cumsum([len(pair[side]) for pair in pairs])]).astype(np.int64)
        return np.concatenate([np.asarray(pair[side], dtype) for pair in pairs]), bounds

    (source, source_bounds), (target, target_bounds) = flat(0), flat(1)
    ends = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    t = config.tokens
    return Corpus(source, target, source_bounds, target_bounds, ends, np.asarray(["text"]),
                  np.zeros(len(documents), np.uint8),
                  np.asarray([t.pad, t.bos, t.eos, -1 if t.separator is None else t.separator, int(t.source_end)]))


def translate(model: Path, sentences: list[str], programs: Path, work: Path) -> list[list[str]]:
    """The pieces of each sentence's translation, without the end token."""
    documents = [Document("text", sentences[i:i + SENTENCES], [[]]) for i in range(0, len(sentences), SENTENCES)]
    with Engine(programs, model, work) as engine:
        done = engine.translate(DocumentSet("monolingual", documents), "--selection dense --exit full", trace=True)
    for one in done.translated:
        if len(one.report["trace"]) != len(one.document.lines):  # else they would be paired with their neighbours'
            raise ValueError(f"--monolingual: the engine made {len(one.report['trace'])} segments of the "
                             f"{len(one.document.lines)} sentences from {one.document.lines[0]!r} on; remove the text "
                             "that it cuts in another way")
    return [[piece for piece, *_ in segment] for one in done.translated for segment in one.report["trace"]]


def monolingual(model: Path, config: ModelConfig, paths: list[Path], programs: Path, out: Path, most: int) -> Path:
    """The folder with train.npz and dev.npz, which is made only once. config: of the model that is to be trained."""
    data = out / "data"
    if (data / "dev.npz").exists():
        return data
    documents = documents_of(paths, config.source_language, most, whole=config.tokens.separator is not None)
    sentences = [s for document in documents for s in document]
    if len(sentences) < 2 * DEV:
        raise ValueError(f"--monolingual: {len(sentences)} sentences; at least {2 * DEV} are needed")
    ends = np.cumsum([len(document) for document in documents])
    dev = int(np.searchsorted(ends, DEV)) + 1  # documents that become development text
    if dev == len(documents):
        raise ValueError("--monolingual: all text is in one document, or few; divide it into more files")
    print(f"translating {len(sentences)} sentences", file=sys.stderr)
    made = iter(zip(sentences, translate(model, sentences, programs, out)))
    translated: list[Translated] = [[next(made) for _ in document] for document in documents]
    parts = {"train": with_translations(translated[dev:]), "dev": with_translations(translated[:dev])}
    if config.tokens.separator is not None:
        rng = random.Random(1)
        parts = {name: joined_documents([joined_segments(document, config, rng) for document in documents])
                 for name, documents in parts.items()}
    vocabulary = Vocabulary(model, ModelConfig.load(model))
    data.mkdir(parents=True, exist_ok=True)
    for name, documents in parts.items():  # dev.npz last: it says that all is there
        corpus_of(config, vocabulary, documents).save(data / f"{name}.npz")
    return data
