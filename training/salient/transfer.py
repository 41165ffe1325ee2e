"""Starts a model for another target language from a model with the same source language: its parent.

    python -m salient.transfer vocabulary --parent models/en-pt --text train.en-de.tsv.xz --out work/data
    python -m salient.prepare --train train.en-de.tsv.xz --dev dev.tsv --held-out dev.tsv --markers 0.1 --out work/data
    python -m salient.transfer model --parent models/en-pt --data work/data --out work/start

`vocabulary` writes tokenizer.model, the parent's pieces that source text uses, and target_tokenizer.model, a new
unigram model of the target language. So the source is divided as by the parent, and its embeddings stay the parent's.

`model` writes a model folder for `salient.train --start`. All of it is the parent's but the target's embeddings. A new
piece begins with the embeddings of the parent's target pieces that mean the same: first the source pieces that it
translates (by IBM model 1 over the training text), then those pieces' translations (by the parent's shortlist). Early
exits are left out: the last exit learns the new language first. `salient.train --early-exits` adds them again.

That a parent helps even if its target language is unrelated: arXiv 1604.02201 and 1809.00357. Embeddings of new pieces
from aligned old ones: arXiv 2112.06598.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import itertools
import sys
from pathlib import Path
from typing import Iterator

import numpy as np
import sentencepiece
import torch

from .command import refusals, whole
from .config import MOST_MARKERS, Markers, ModelConfig
from .data import Corpus, read_documents
from .export import export, load_model
from .model import Transformer
from .pieces import BYTES, counted, first_marker, first_piece, markers_in, pruned, train_unigram
from .shortlist import Shortlist, model_1, sample
from .text_file import open_text
from .vocabulary import TARGET_TOKENIZER, TOKENIZER, tokenizer_of
from .whole_file import whole_file

SOURCES = 4  # source pieces at most that give a new target piece its embedding
RANKS = (0.6, 0.25, 0.15)  # of a source piece's translations, best first
NOISE = 0.1  # of an embedding's spread, so that new pieces with the same origin can part


def texts(paths: list[Path], side: int, most: int) -> Iterator[str]:
    pairs = (pair for path in paths for _, document in read_documents(path) for pair in document)
    return (pair[side] for pair in itertools.islice(pairs, most))


def unigram(lines: Iterator[str], size: int) -> bytes:
    """A new SentencePiece model."""
    stored = io.BytesIO()
    train_unigram(lines, size, "--pieces", stored)
    return stored.getvalue()


def normal_pieces(model: bytes) -> list[int]:
    """Pieces of text: without control symbols and the unknown piece."""
    made = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [i for i in range(made.get_piece_size()) if not (made.is_control(i) or made.is_unknown(i))]


def vocabulary(o: argparse.Namespace) -> None:
    path, had = o.parent / TOKENIZER, ModelConfig.load(o.parent).tokens.markers
    first = first_piece(had.count if had else 0)
    parent = tokenizer_of(path)
    print("counting the parent's pieces in the source text", file=sys.stderr)
    counts = counted(parent, texts(o.text, 0, o.segments))
    if o.source_text:
        with open_text(o.source_text) as lines:
            counts += counted(parent, (line.strip() for line in itertools.islice(lines, o.segments)))
    if parent.piece_to_id(BYTES[-1][0]) != first_marker() - 1:
        raise ValueError(f"--parent: {path} has not the special tokens and bytes first, as the tokenizers of models "
                         "that are trained with this code have")
    kept = [i for i in range(first, parent.get_piece_size())
            if counts[i] >= o.least or len(parent.id_to_piece(i)) == 1]
    o.out.mkdir(parents=True, exist_ok=True)
    print("training the target's tokeniser", file=sys.stderr)
    made = unigram(texts(o.text, 1, o.segments), o.pieces)
    made = pruned(made, normal_pieces(made), o.markers)
    for name, model in ((TOKENIZER, pruned(path.read_bytes(), kept, o.markers)), (TARGET_TOKENIZER, made)):
        with whole_file(o.out / name) as part:
            part.write_bytes(model)
    child = tokenizer_of(o.out / TOKENIZER)
    lines = list(texts(o.text, 0, 20_000))
    same = sum(a == b for a, b in zip(parent.encode(lines, out_type=str), child.encode(lines, out_type=str)))
    size = sentencepiece.SentencePieceProcessor(model_proto=made).get_piece_size()
    print(f"source: {child.get_piece_size()} pieces, {100 * same / len(lines):.1f} % of the segments are divided as by "
          f"the parent; target: {size} pieces", file=sys.stderr)


def reversed_corpus(c: Corpus) -> Corpus:
    return Corpus(c.target, c.source, c.target_bounds, c.source_bounds, c.documents, c.origins, c.origin)


def origins_of(corpus: Corpus, size: int, pairs: int) -> dict[int, list[tuple[int, float]]]:
    """For every target piece the source pieces that it translates, likeliest first, with their probabilities."""
    keys, probability = model_1(reversed_corpus(corpus), sample(reversed_corpus(corpus), pairs, 1), size, rounds=5)
    target, source = keys // size, keys % size
    order = np.lexsort((-probability, target))
    target, source, probability = target[order], source[order], probability[order]
    rank = np.arange(len(target)) - np.searchsorted(target, target)
    found: dict[int, list[tuple[int, float]]] = {}
    for t, s, p in zip(*(x[rank < SOURCES].tolist() for x in (target, source, probability))):
        found.setdefault(t, []).append((s, p))
    return found


Pieces = sentencepiece.SentencePieceProcessor


@torch.no_grad()
def embeddings(parent: Transformer, of_parent: Pieces, source: Pieces, target: Pieces, lists: Shortlist, corpus: Corpus,
               pairs: int) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Embedding [V, d] and output bias [V] of the target's vocabulary, and how many pieces got them by translation."""
    table, bias, unknown = parent.embedding.weight, parent.output_bias, of_parent.unk_id()

    def place(pieces: Pieces, piece: int) -> int:
        """The parent's token with the same text; `unknown` if it has none."""
        return of_parent.piece_to_id(pieces.id_to_piece(piece))

    size = target.get_piece_size()
    e, b, translated = torch.zeros(size, table.shape[1]), torch.zeros(size), 0
    origins, spread = origins_of(corpus, max(size, source.get_piece_size()), pairs), float(table.std())
    for piece in range(size):
        at = place(target, piece)
        if at != unknown or piece == target.unk_id():
            e[piece], b[piece] = table[at], bias[at]
            continue
        parts: dict[int, float] = {}
        for origin, p in origins.get(piece, []):
            if origin < source.get_piece_size():  # beyond: no source piece in particular
                at = place(source, origin)
                row = [t for t in lists.tokens[at].tolist()[1:1 + len(RANKS)] if t] or [at]
                for token, share in zip(row, RANKS):
                    parts[token] = parts.get(token, 0.0) + p * p * share  # squared: one meaning rather than a mixture
        if parts:
            translated += 1
        else:
            ids = of_parent.encode(target.id_to_piece(piece).replace("\u2581", " ").strip()) or [unknown]
            parts = {i: ids.count(i) for i in ids}
        share = torch.tensor(list(parts.values()), dtype=torch.float)
        share /= share.sum()
        rows = table[list(parts)]
        mixed = share @ rows
        e[piece] = mixed * float(share @ rows.norm(dim=1)) / mixed.norm().clamp_min(1e-6)
        e[piece] += torch.randn_like(mixed) * NOISE * spread
        b[piece] = share @ bias[list(parts)]
    return e, b, translated


def model(o: argparse.Namespace) -> None:
    torch.manual_seed(1)
    config = dataclasses.replace(ModelConfig.load(o.parent), name=o.name, target_language=o.target_language)
    config.check_settable()
    if config.source_vocab_size or config.output != "tied":
        raise ValueError("--parent: it has separate vocabularies or an output matrix; this command needs one embedding "
                         "for all")
    parent = load_model(o.parent)[0]
    tensors = parent.state_dict()
    of_parent, source, target = (tokenizer_of(path) for path in
                                 (o.parent / TOKENIZER, o.data / TOKENIZER, o.data / TARGET_TOKENIZER))
    for path, pieces in ((o.data / TOKENIZER, source), (o.data / TARGET_TOKENIZER, target)):
        if markers_in(pieces) != o.markers:
            raise ValueError(f"--markers {o.markers}: {path} has {markers_in(pieces)}; give the number with which "
                             "`salient.transfer vocabulary` wrote it")
    e, b, translated = embeddings(parent, of_parent, source, target, Shortlist.load(o.parent / "shortlist.safetensors"),
                                  Corpus.load(o.data / "train.npz"), o.pairs)
    config = dataclasses.replace(
        config, vocab_size=len(e), source_vocab_size=source.get_piece_size(), exits=None,
        tokens=dataclasses.replace(config.tokens, markers=Markers(first_marker(), o.markers) if o.markers else None,
                                   byte_characters=config.tokens.byte_characters if o.markers else None))
    config.check()
    child = Transformer(config)
    tensors = {name: tensor for name, tensor in tensors.items() if name in child.state_dict()}
    kept = [of_parent.piece_to_id(source.id_to_piece(i)) for i in range(source.get_piece_size())]
    tensors["source_embedding.weight"] = tensors["embedding.weight"][kept]
    tensors["embedding.weight"], tensors["output_bias"] = e, b
    child.load_state_dict(tensors)
    export(child, o.data / TOKENIZER, o.out)
    print(f"{sum(p.numel() for p in child.parameters()) / 1e6:.1f} M parameters in {o.out}; {translated} of {len(e)} "
          "target pieces begin as translations", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(required=True)
    v = commands.add_parser("vocabulary", help="write the vocabularies of the new pair")
    v.add_argument("--text", type=Path, nargs="+", required=True, help="parallel text (TSV) of the new pair")
    v.add_argument("--source-text", type=Path,
                   help="more text of the source language, plain or .xz: its pieces are kept as well")
    v.add_argument("--segments", type=whole(1), default=1_500_000, help="segments to read at most")
    v.add_argument("--least", type=whole(0), default=8,
                   help="how often the source text must use a piece of the parent's for it to be kept")
    v.add_argument("--pieces", type=whole(1), default=14_000, help="size of the target language's own vocabulary")
    v.set_defaults(run=vocabulary)
    m = commands.add_parser("model", help="write the model to start from")
    m.add_argument("--data", type=Path, required=True, help="folder that `salient.prepare` wrote")
    m.add_argument("--pairs", type=whole(1), default=60_000_000, help="co-occurrences to align pieces by")
    m.add_argument("--name", default="en-de")
    m.add_argument("--target-language", default="de")
    m.set_defaults(run=model)
    for command in (v, m):
        command.add_argument("--parent", type=Path, required=True, help="model folder with the same source language")
        command.add_argument("--markers", type=whole(0, 2, MOST_MARKERS), default=MOST_MARKERS)
        command.add_argument("--out", type=Path, required=True)
    return p


if __name__ == "__main__":
    options = parser().parse_args()
    with refusals("transfer"):
        options.run(options)
