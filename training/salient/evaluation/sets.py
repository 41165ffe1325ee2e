"""The held-out documents: readers of every test set, with their sources, document bounds and references.

A file has a segment a line, `key<TAB>source<TAB>reference[<TAB>further references]`; neighbouring lines of one key are
a document. Keys of the development sets are `source|document`, those of `eval/` are the document's name alone. Nothing
is copied: documents live in memory while they are scored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SENTENCE_SETS = ("eurlex-dev",)  # unrelated sentences under one key: each is a document of its own
LONG_WORDS = 1100  # documents of that many source words surely have the 1,500 tokens of a long document


@dataclass
class Document:
    source: str  # the corpus that it comes from
    lines: list[str]
    references: list[list[str]]  # one list of lines per reference


@dataclass
class DocumentSet:
    name: str
    documents: list[Document] = field(default_factory=list)

    @property
    def segments(self) -> int:
        return sum(len(d.lines) for d in self.documents)

    @property
    def reference_count(self) -> int:
        return len(self.documents[0].references)

    def first_reference(self) -> "DocumentSet":
        return DocumentSet(self.name, [Document(d.source, d.lines, d.references[:1]) for d in self.documents])


def set_name(path: Path) -> str:
    return path.name.split(".")[0]


def languages_of(path: Path) -> str | None:
    """The pair in NAME.SOURCE-TARGET.tsv."""
    named = re.search(r"\.([a-z]+-[a-z]+)\.tsv$", path.name)
    return named and named[1]


def read_rows(path: Path) -> list[list[str]]:
    """[key, source, references...] per line. Only a line feed ends a line, because text may contain other line
    breaks."""
    rows = []
    with open(path, encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            cells = line.rstrip("\n").split("\t")
            if len(cells) < 3:
                raise ValueError(f"{path}:{number}: {len(cells)} columns; key, source and reference are needed")
            if rows and len(cells) != len(rows[0]):
                raise ValueError(f"{path}:{number}: {len(cells) - 2} references, lines above have {len(rows[0]) - 2}")
            if all(cell.strip() for cell in cells[1:]):
                rows.append(cells)
    return rows


def read_set(path: Path) -> DocumentSet:
    """A test set without the lines whose source or reference is empty, because they cannot be scored."""
    name, documents, last = set_name(path), [], None
    alone = name in SENTENCE_SETS
    for key, source, *references in read_rows(path):
        if alone or key != last:
            documents.append(Document(key.split("|")[0] if "|" in key else name, [], [[] for _ in references]))
            last = key
        documents[-1].lines.append(source)
        for column, reference in zip(documents[-1].references, references):
            column.append(reference)
    if not documents:
        raise ValueError(f"{path}: no documents")
    return DocumentSet(name, documents)


def find_sets(folder: Path, pair: str) -> dict[str, Path]:
    """Every test set in a data folder by name: dev and dev-long beside the training data, all others in eval/. Those
    named NAME.SOURCE-TARGET.tsv are left out if they are of another pair of languages than `pair` ("en-de")."""
    files = [*sorted(folder.glob("dev*.tsv")), *sorted(folder.glob("eval/*.tsv"))]
    found = {set_name(p): p for p in files if languages_of(p) in (None, pair)}
    if "dev" not in found:
        raise ValueError(f"{folder}: no dev.tsv or dev.{pair}.tsv; name the folder with the development set and eval/")
    return found


def sample(whole: DocumentSet, segments: int, documents: int = 0) -> DocumentSet:
    """Whole documents, evenly from every source: about `segments` segments and at most `documents`. 0: no limit."""
    stride = max(-(-whole.segments // segments) if segments else 1,
                 -(-len(whole.documents) // documents) if documents else 1)
    if stride == 1:
        return whole
    ordered = sorted(whole.documents, key=lambda d: d.source)  # a stable sort keeps the file's order within a source
    return DocumentSet(whole.name, ordered[::stride])


def long_documents(whole: DocumentSet, count: int) -> DocumentSet:
    """The first `count` documents with at least LONG_WORDS words; 0: all of them."""
    found = [d for d in whole.documents if sum(len(line.split()) for line in d.lines) >= LONG_WORDS]
    return DocumentSet(f"{whole.name}, long", found[:count] if count else found)


def halves(documents: list[Document]) -> tuple[list[int], list[int]]:
    """Indices of a tuning and a reporting half. Within each source, documents go to the two halves in turn."""
    order = sorted(range(len(documents)), key=lambda i: documents[i].source)
    return sorted(order[::2]), sorted(order[1::2])
