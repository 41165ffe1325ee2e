"""Translation quality against cost, over several settings, with the engine as the decoder.

    python -m salient.evaluate --bin build/release/bin --model models/en-de --data dev.en-de.tsv
    python -m salient.evaluate --bin build/release/bin --server localhost:50051 --data dev.en-de.tsv \
        --setting 'sparse=--selection learned' --setting 'early=--selection learned --exit geometric:0.4'

Reads documents as `salient.data` does, one segment a line, has `salient translate` translate them, and prints a table
in Markdown: BLEU and chrF over segments, document BLEU (a document's segments joined), the mean attention cost ratio of
the documents, the mean exit over tokens, tokens a second. With --by-source each source has its rows too. The signatures
that make the scores comparable are printed below.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from .data import read_documents

SETTINGS = {
    "dense": "--selection dense --exit full",
    "sparse": "--selection learned --exit full",
    "sparse, window": "--selection window:20 --exit full",
    "sparse, sequence exit": "--selection learned --exit sequence",
    "sparse, multinomial exit": "--selection learned --exit multinomial",
    "sparse, geometric exit": "--selection learned --exit geometric:0.5",
    "sparse, confidence exit": "--selection learned --exit confidence:0.9",
}


@dataclass
class Document:
    source: str  # which corpus it is from
    lines: list[str]
    references: list[str]


@dataclass
class Translated:
    document: Document
    lines: list[str]
    report: dict  # the fields of CostReport


@dataclass
class Scores:
    bleu: float
    chrf: float
    document_bleu: float
    signatures: list[str]


def load_documents(path: Path, sources: list[str], limit: int) -> list[Document]:
    found: list[Document] = []
    for name, segments in read_documents(path):
        source = name.split("|")[0] if "|" in name else path.name.split(".")[0]
        if not sources or source in sources:
            found.append(Document(source, [s for s, _ in segments], [t for _, t in segments]))
    if not found:
        raise ValueError(f"{path}: no documents of {', '.join(sources) or 'any source'}")
    return found[:limit] if limit else found


def read_translation(path: Path, document: Document) -> list[str]:
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    if len(lines) != len(document.lines):
        raise ValueError(f"{path}: {len(lines)} lines for {len(document.lines)} segments; segments were lost")
    return lines


def translate(program: Path, server: str, flags: str, documents: list[Document], folder: Path) -> list[Translated]:
    """One call of `salient translate` for all documents; reports come in the order of the command line."""
    folder.mkdir(parents=True)
    sources = [folder / f"{index:05d}.txt" for index in range(len(documents))]
    for path, document in zip(sources, documents):
        path.write_text("\n".join(document.lines) + "\n", encoding="utf-8")
    out = folder / "translated"
    command = [str(program), "translate", *map(str, sources), "--server", server, "--lines", "--quiet", "--report",
               "json", "--out", f"{out}/", *shlex.split(flags)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=False)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    failed = [r for r in reports if "error" in r]
    if done.returncode or failed or len(reports) != len(documents):
        reason = failed[0]["error"]["message"] if failed else f"exit status {done.returncode}, {len(reports)} reports"
        raise RuntimeError(f"{' '.join(command[:2])} {flags}: {reason}")
    return [Translated(document, read_translation(out / path.name, document), report)
            for path, document, report in zip(sources, documents, reports)]


def score(translated: list[Translated]) -> Scores:
    from sacrebleu.metrics import BLEU, CHRF

    hypotheses = [line for t in translated for line in t.lines]
    references = [line for t in translated for line in t.document.references]
    bleu, chrf, whole = BLEU(), CHRF(), BLEU()
    return Scores(
        bleu.corpus_score(hypotheses, [references]).score, chrf.corpus_score(hypotheses, [references]).score,
        whole.corpus_score([" ".join(t.lines) for t in translated],
                           [[" ".join(t.document.references) for t in translated]]).score,
        [f"BLEU|{bleu.get_signature()}", f"chrF|{chrf.get_signature()}",
         f"document BLEU|{whole.get_signature()}|one line a document"])


def mean_attention_cost(translated: list[Translated]) -> float:
    return sum(t.report["attention_cost_ratio"] for t in translated) / len(translated)


def mean_exit(translated: list[Translated]) -> float:
    """Over tokens, so that a long document counts for as much as its length."""
    counts = [count for t in translated for count in enumerate(t.report["exit_histogram"], 1)]
    tokens = sum(int(count) for _, count in counts)
    return sum(layer * int(count) for layer, count in counts) / max(1, tokens)


COLUMNS = ("setting", "source", "documents", "segments", "BLEU", "chrF", "document BLEU", "attention cost",
           "mean exit", "tokens/s")


def row(setting: str, source: str, translated: list[Translated], scores: Scores, seconds: float | None) -> list[str]:
    tokens = sum(int(t.report["target_tokens"]) for t in translated)
    return [setting, source, str(len(translated)), str(sum(len(t.lines) for t in translated)), f"{scores.bleu:.1f}",
            f"{scores.chrf:.1f}", f"{scores.document_bleu:.1f}", f"{100 * mean_attention_cost(translated):.1f} %",
            f"{mean_exit(translated):.2f}", f"{tokens / seconds:.0f}" if seconds else ""]


def table(rows: list[list[str]]) -> str:
    """Markdown, padded so that it reads in a terminal too."""
    widths = [max(len(r[c]) for r in [list(COLUMNS), *rows]) for c in range(len(COLUMNS))]
    aligned = [[cell.ljust(w) if c < 2 else cell.rjust(w) for c, (cell, w) in enumerate(zip(r, widths))]
               for r in [list(COLUMNS), *rows]]
    rule = ["-" * w if c < 2 else "-" * (w - 1) + ":" for c, w in enumerate(widths)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [aligned[0], rule, *aligned[1:]])


@contextlib.contextmanager
def running_server(program: Path, model: Path, folder: Path) -> Iterator[str]:
    """A server of our own on a free port, stopped afterwards."""
    ready = folder / "ready"
    process = subprocess.Popen([str(program), "--model", str(model), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                                "--ready-file", str(ready)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{program} did not start; run it by hand to see why")
            time.sleep(0.1)
        yield json.loads(ready.read_text())["grpc"]
    finally:
        process.terminate()
        process.wait()


def evaluate(o: argparse.Namespace, server: str, work: Path) -> None:
    documents = load_documents(o.data, o.sources, o.documents)
    rows, scores, settings = [], None, dict(s.split("=", 1) for s in o.setting) or SETTINGS
    for number, (name, flags) in enumerate(settings.items()):
        print(f"{name}: translating {len(documents)} documents with {flags}", file=sys.stderr)
        started = time.monotonic()
        translated = translate(o.bin / "salient", server, flags, documents, work / str(number))
        seconds = time.monotonic() - started
        scores = score(translated)
        rows.append(row(name, "all", translated, scores, seconds))
        for source in sorted({d.source for d in documents}) if o.by_source else []:
            part = [t for t in translated if t.document.source == source]
            rows.append(row(name, source, part, score(part), None))
    print(table(rows))
    print("\n" + "\n".join(scores.signatures if scores else []))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="folder of the salient and salient-server programs")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--model", type=Path, help="model folder; a server is started for it and stopped again")
    where.add_argument("--server", help="HOST:PORT of a running server")
    parser.add_argument("--data", type=Path, required=True, help="TSV of documents, .xz or plain")
    parser.add_argument("--sources", nargs="*", default=[], help="keep these sources only; all when left out")
    parser.add_argument("--documents", type=int, default=0, help="only the first so many; 0 for all")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=FLAGS",
                        help="flags of `salient translate`; several when repeated; a standard set when left out")
    parser.add_argument("--by-source", action="store_true")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        server = o.server or stack.enter_context(running_server(o.bin / "salient-server", o.model, Path(folder)))
        evaluate(o, server, Path(folder) / "work")


if __name__ == "__main__":
    main()
