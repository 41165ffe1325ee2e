"""Measures glossaries and translation memories with a model: are terms used, and what do they do to quality and cost?

    python -m salient.evaluation.terms --bin build/release/bin --model models/en-de --data dev.tsv --train train.tsv.xz

Each document is translated three times, a segment a line: as it is, with a glossary, and with a memory.

glossary The terms of a document are pairs of words that stand together in the training text (their Dice coefficient
         over segments is 0.5 and more), if the reference has the target in at least half of the segments whose source
         has the term. So they are the choice of the human translators. Printed are the terms that the server has found
         and used, how often the target stands in the translation with the glossary and without, and BLEU of both: of
         all segments, and of those with a term; and what translations for terms cost.
memory   Every second segment comes with its reference as an entry, so its translation costs nothing. Printed are the
         segments taken over, and the target tokens that the model made.

Data: a line is `document TAB source TAB reference` (sets.py); training text may be compressed with xz.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
from collections import Counter
from pathlib import Path

from ..data import read_documents
from .server import Server, as_request, lines_of
from .sets import Document, read_set, sample

WORD = re.compile(r"[^\W\d_]{5,}")  # shorter words are seldom terms
LEAST_DICE, LEAST_SEGMENTS = 0.5, 20
READ = 60_000  # segments of the training text


def words(text: str) -> set[str]:
    return set(WORD.findall(text))


def lexicon(train: Path, wanted: set[str]) -> dict[str, str]:
    """Of each wanted source word the target word that stands most with it, unless they are the same."""
    of_source, of_target, together = Counter(), Counter(), Counter()
    for source, reference in itertools.islice((pair for _, d in read_documents(train) for pair in d), READ):
        here, there = words(source) & wanted, words(reference)
        of_source.update(here)
        of_target.update(there)
        together.update((s, t) for s in here for t in there)
    best: dict[str, tuple[float, str]] = {}
    for (source, target), count in sorted(together.items()):  # of equal ones the first by name
        dice = 2 * count / (of_source[source] + of_target[target])
        if of_source[source] >= LEAST_SEGMENTS and dice >= LEAST_DICE and dice > best.get(source, (0, ""))[0]:
            best[source] = dice, target
    return {source: target for source, (_, target) in best.items() if source.lower() != target.lower()}


def glossary(document: Document, pairs: dict[str, str]) -> dict[str, str]:
    """The pairs that the document's translator has chosen, too."""
    seen, chosen = Counter(), Counter()
    for source, reference in zip(document.lines, document.references[0]):
        there = words(reference)
        for word in words(source) & pairs.keys():
            seen[word] += 1
            chosen[word] += pairs[word] in there
    return {word: pairs[word] for word in seen if 2 * chosen[word] >= seen[word]}


def translate(server: Server, document: Document, **more: object) -> dict:
    return server.translate({"document": as_request(document), "guard": "GUARD_OFF", **more})


def bleu(lines: list[str], references: list[str]) -> str:
    import sacrebleu

    return f"{sacrebleu.corpus_bleu(lines, [references]).score:.1f}" if lines else ""


def report_terms(documents: list[Document], glossaries: list[dict[str, str]], plain: list[dict],
                 bound: list[dict]) -> None:
    found = [term for reply in bound for segment in reply["segments"] for term in segment.get("terms", [])]
    used = sum(term.get("used", False) for term in found)
    rows, stands = [], Counter()
    for document, terms, without, with_terms in zip(documents, glossaries, plain, bound):
        for source, reference, before, after in zip(document.lines, document.references[0],
                                                    lines_of(without, document), lines_of(with_terms, document)):
            here = [terms[word] for word in words(source) & terms.keys()]
            rows.append((bool(here), reference, before, after))
            for target in here:
                stands.update(all=1, reference=target in reference, before=target in before, after=target in after)
    print(f"{sum(map(len, glossaries))} terms in {len(documents)} documents; found {len(found)} times, "
          f"used {used} times ({100 * used / max(1, len(found)):.1f} %)\n")
    print("| | target stands in the translation | BLEU | of segments with a term |\n|---|---:|---:|---:|")
    for name, key, column in (("without", "before", 2), ("with the glossary", "after", 3)):
        having = [row for row in rows if row[0]]
        print(f"| {name} | {100 * stands[key] / max(1, stands['all']):.1f} % | "
              f"{bleu([r[column] for r in rows], [r[1] for r in rows])} | "
              f"{bleu([r[column] for r in having], [r[1] for r in having])} |")
    print(f"| the references | {100 * stands['reference'] / max(1, stands['all']):.1f} % | | |")
    first, again = (sum(reply["report"].get(name, 0) for reply in bound)
                    for name in ("target_tokens", "retry_target_tokens"))
    print(f"\nTranslations for terms: {again} target tokens, beside {first} ({100 * again / max(1, first):.1f} %)")


def report_memory(plain: list[dict], remembered: list[dict], entries: int) -> None:
    taken = sum(segment.get("origin") == "ORIGIN_MEMORY" for reply in remembered for segment in reply["segments"])
    tokens = [sum(reply["report"].get("target_tokens", 0) for reply in replies) for replies in (plain, remembered)]
    print(f"\nMemory: {entries} segments with an entry, {taken} taken over; {tokens[1]} target tokens made, "
          f"{tokens[0]} without ({100 * tokens[1] / max(1, tokens[0]):.1f} %)")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", type=Path, required=True, help="the folder of salient-server")
    p.add_argument("--model", type=Path, required=True)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--train", type=Path, required=True, help="text in which terms are looked for")
    p.add_argument("--segments", type=int, default=0, help="about so many segments, in whole documents; 0: all")
    p.add_argument("--controls", type=json.loads, default={}, help="fields of every request, as JSON")
    o = p.parse_args()
    documents = sample(read_set(o.data), o.segments).documents
    pairs = lexicon(o.train, set().union(*(words(line) for d in documents for line in d.lines)))
    glossaries = [glossary(d, pairs) for d in documents]
    entries = [[{"source": s, "translation": t} for s, t in list(zip(d.lines, d.references[0]))[::2]]
               for d in documents]
    server = Server(o.bin, o.model)
    try:
        plain = [translate(server, d, **o.controls) for d in documents]
        bound = [translate(server, d, **o.controls, glossary={"terms": [
            {"source": source, "target": target} for source, target in terms.items()]})
            for d, terms in zip(documents, glossaries)]
        remembered = [translate(server, d, **o.controls, memory={"entries": e}) for d, e in zip(documents, entries)]
    finally:
        server.close()
    report_terms(documents, glossaries, plain, bound)
    report_memory(plain, remembered, sum(map(len, entries)))


if __name__ == "__main__":
    main()
