"""Converts parallel text to training data: a tokeniser, and documents as tokens.

    python -m salient.prepare --train train.tsv.xz --dev dev.tsv --held-out dev.tsv test.tsv --out work/data

Text is TSV, one segment on each line, with the lines of a document together and in order: `source|document`, source
text, target text.
Writes tokenizer.model, train.npz and dev.npz to --out, and reports how many pairs it removed for which reason. A
tokenizer.model in --out is used as it is. If there is also a target_tokenizer.model, the target has that vocabulary.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Iterator

from .cleaning import Duplicates, HeldOut, Pair, check_detector, fault, language_check, writing_of
from .command import Help, refusals, share, whole
from .config import Tokens
from .data import BOS, EOS, PAD, SEPARATOR, UNK, origin_of, read_documents, tokenise
from .markers import with_markers
from .pieces import markers_in, train_unigram
from .vocabulary import TARGET_TOKENIZER, TOKENIZER, tokenizer_of
from .whole_file import whole_file

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

SAMPLE = 20_000  # pairs that show how the languages are written

Document = tuple[str, list[Pair]]  # `source|document`, and its pairs in order


def train_tokenizer(documents: list[list[Pair]], vocab_size: int, out: Path) -> None:
    """A SentencePiece unigram model of both languages with byte fallback, and a piece for the separator."""
    assert Tokens() == Tokens(PAD, UNK, BOS, EOS, SEPARATOR)
    texts = (text for pairs in documents for pair in pairs for text in pair)
    with whole_file(out) as part, open(part, "wb") as file:  # a later run takes what is there as it is
        train_unigram(texts, vocab_size, "--vocab-size", file, byte_fallback=True, control_symbols=["<sep>"],
                      pad_id=PAD, unk_id=UNK, bos_id=BOS, eos_id=EOS)


def cleaned(documents: Iterator[Document], o: argparse.Namespace, dropped: Counter) -> Iterator[Document]:
    documents = (d for d in documents if not o.sources or origin_of(d[0]) in o.sources)
    first, sample = [], []
    for document in documents:
        first.append(document)
        sample += document[1]
        if len(sample) >= SAMPLE:
            break
    writing = writing_of(sample)
    evaluated = {*o.held_out, o.dev} - {None}
    held_out = HeldOut((s for path in evaluated for _, pairs in read_documents(path) for s, _ in pairs), writing)
    wrong_language = language_check(o.source_language, o.target_language, writing) if o.check_language else (
        lambda s, t: None)
    duplicates = Duplicates()
    for name, pairs in itertools.chain(first, documents):
        kept = []
        for source, target in pairs:
            why = fault(source, target, writing) or held_out.fault(source) or wrong_language(source, target)
            if why:
                dropped[why] += 1
            else:
                kept.append((source, target))
        fresh = duplicates.fresh(kept)
        dropped["duplicate"] += len(kept) - len(fresh)
        if fresh:
            yield name, fresh


def progress(documents: Iterator[Document]) -> Iterator[Document]:
    for number, document in enumerate(documents, 1):
        if number % 1000 == 0:
            print(f"\r{number} documents read", end="", file=sys.stderr, flush=True)
        yield document
    print(file=sys.stderr)


def tokenizers_in(folder: Path) -> list[SentencePieceProcessor]:
    """The tokeniser of both sides, or of the source and of the target."""
    return [tokenizer_of(folder / name) for name in (TOKENIZER, TARGET_TOKENIZER) if (folder / name).exists()]


def common_markers(tokenizers: list[SentencePieceProcessor]) -> int:
    """The number of markers in all of the vocabularies. Raises ValueError if there are none."""
    found = min(map(markers_in, tokenizers), default=0)
    if not found:
        raise ValueError("--markers: the tokenizer.model has no marker pieces; `salient.transfer vocabulary` and "
                         "`salient.inherit` make tokenizers that have them")
    return found


def prepare(o: argparse.Namespace) -> None:
    if o.check_language:
        check_detector()
    o.out.mkdir(parents=True, exist_ok=True)
    tokenizers = tokenizers_in(o.out)  # before the text is read, which may take long
    count = common_markers(tokenizers) if o.markers else 0
    dropped: Counter = Counter()
    documents = list(cleaned(progress(d for path in o.train for d in read_documents(path)), o, dropped))
    print(f"{len(documents)} documents, {sum(len(pairs) for _, pairs in documents)} segments; left out: "
          + ", ".join(f"{n} {why}" for why, n in dropped.most_common()), file=sys.stderr)
    if not documents:
        raise ValueError("no training text is left; name its languages with --source-language and --target-language, "
                         "and with --sources only sources that it has")
    tokenizer_path = o.out / TOKENIZER
    if not tokenizer_path.exists():
        print("training the tokeniser", file=sys.stderr)
        train_tokenizer([pairs for _, pairs in documents], o.vocab_size, tokenizer_path)
        tokenizers = tokenizers_in(o.out)
    if o.markers:
        rng = random.Random(1)
        documents = [(name, with_markers(pairs, o.markers, rng, count)) for name, pairs in documents]
    print("dividing the text into tokens", file=sys.stderr)
    corpus = tokenise(documents, *tokenizers)
    corpus.save(o.out / "train.npz")
    print(f"{len(corpus.source)} source and {len(corpus.target)} target tokens", file=sys.stderr)
    if o.dev:
        dev = [d for d in read_documents(o.dev) if not o.sources or origin_of(d[0]) in o.sources]
        if not dev:
            raise ValueError(f"--dev: {o.dev} has no document{' of --sources' if o.sources else ''}")
        tokenise(dev, *tokenizers).save(o.out / "dev.npz")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    p.add_argument("--train", type=Path, nargs="+", required=True, help="TSV of training documents, .xz or plain")
    p.add_argument("--dev", type=Path, help="TSV of development documents")
    p.add_argument("--held-out", type=Path, nargs="*", default=[],
                   help="TSVs whose segments and near copies must not be trained on, beside --dev; name every test set")
    p.add_argument("--sources", nargs="*", default=[], help="keep these sources only; all when left out")
    p.add_argument("--source-language", default="en", help="two letters")
    p.add_argument("--target-language", default="de", help="two letters")
    p.add_argument("--no-language-check", dest="check_language", action="store_false",
                   help="do not identify languages (needs pycld2)")
    p.add_argument("--markers", type=share, default=0.0, metavar="SHARE",
                   help="share of the segments in which markers of the vocabulary replace or enclose spans")
    p.add_argument("--vocab-size", type=whole(1), default=8000,
                   help="pieces of a new tokeniser; a tokenizer.model in --out is used as it is")
    p.add_argument("--out", type=Path, required=True, help="folder to write")
    return p


if __name__ == "__main__":
    with refusals("prepare"):
        prepare(parser().parse_args())
