"""Parallel text in which a share of the documents has a model's own translations in place of the references.

    python -m salient.retranslate --tsv train.en-de.tsv.xz --bin ../build/release/bin --model ../models/en-de \
        --out work/half.en-de.tsv.xz

Exits that learn from their own model's last exit (`salient.train --teacher`) learn on such text what that model writes.
The engine translates whole documents, greedily; long ones in parts, as they would be cut into chunks anyway. Documents
with an empty source text keep their references. If the command is stopped, it goes on where it was: what was translated
is in --work.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from .command import Help, refusals, share
from .data import read_documents
from .evaluation.engine import Engine
from .evaluation.sets import Document, DocumentSet
from .text_file import whole_text
from .whole_file import check_writable

PART_SEGMENTS = 60
CALL_PARTS = 900  # of one call of the engine, whose results are stored together

Pairs = list[tuple[str, str]]  # source text, target text


def drawn(documents: list[tuple[str, Pairs]], part: float, seed: int) -> list[int]:
    """Which documents are to be translated: `part` of them, by number, in ascending order."""
    able = [n for n, (_, pairs) in enumerate(documents) if all(source.strip() for source, _ in pairs)]
    return sorted(random.Random(seed).sample(able, min(len(able), round(part * len(documents)))))


def retranslated(engine: Engine, documents: list[Pairs], flags: str) -> list[Pairs]:
    """The documents with the engine's translations."""
    parts = [(n, pairs[i:i + PART_SEGMENTS]) for n, pairs in enumerate(documents)
             for i in range(0, len(pairs), PART_SEGMENTS)]
    made: list[Pairs] = [[] for _ in documents]
    for begin in range(0, len(parts), CALL_PARTS):
        call = parts[begin:begin + CALL_PARTS]
        texts = DocumentSet(f"parts {begin + 1} to {begin + len(call)} of {len(parts)}",
                            [Document("text", [source for source, _ in pairs], [[]]) for _, pairs in call])
        for (n, pairs), done in zip(call, engine.translate(texts, flags).translated):
            made[n] += [(source, target) for (source, _), target in zip(pairs, done.lines)]
    return made


def retranslate(o: argparse.Namespace) -> None:
    check_writable(o.out)
    documents = [document for path in o.tsv for document in read_documents(path)]
    chosen = drawn(documents, o.share, o.seed)
    with Engine(o.bin, o.model, o.work or o.out.parent) as engine:
        made = dict(zip(chosen, retranslated(engine, [documents[n][1] for n in chosen], o.flags)))
    with whole_text(o.out) as out:
        for n, (name, pairs) in enumerate(documents):
            for source, target in made.get(n, pairs):
                print(name, source, target.replace("\t", " "), sep="\t", file=out)
    print(f"{len(made)} of {len(documents)} documents of {o.out} are the model's own translations", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    p.add_argument("--tsv", type=Path, nargs="+", required=True, help="parallel documents")
    p.add_argument("--bin", type=Path, required=True, help="folder of the salient and salient-server programs")
    p.add_argument("--model", type=Path, required=True, help="model folder; a server of its own is started")
    p.add_argument("--out", type=Path, required=True, help="file to write; compressed if its name ends in .xz")
    p.add_argument("--share", type=share, default=0.5, help="of the documents, that the model translates")
    p.add_argument("--flags", default="--selection learned --exit full", help="of `salient translate`")
    p.add_argument("--work", type=Path, help="where translations are kept; the folder of --out when left out")
    p.add_argument("--seed", type=int, default=1, help="of the choice of documents")
    return p


def main() -> None:
    with refusals("retranslate"):
        retranslate(parser().parse_args())


if __name__ == "__main__":
    main()
