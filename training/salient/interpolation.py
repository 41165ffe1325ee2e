"""Training text by sequence-level interpolation: of a model's own translations of a segment, the nearest to the
reference (arXiv 1606.07947, section 3.3).

    python -m salient.interpolation --model ../models/en-de --bin ../build/release/bin --train train.tsv.xz \
        --out work/interpolated --segments 100000

The model learns to write at once what its beam search would have found, and only what it can find. The engine
translates whole documents greedily, and every segment by itself with a beam, whose best hypotheses are all candidates.
A candidate must have all words that the reference copies from the source, such as names; of those that do, the one with
the highest sentence BLEU becomes the target. If there is none, the reference does. Documents are drawn in random order,
a shard at a time; the command can be stopped at any time and continues where it stopped. Each shard is a TSV like the
training text (`source|document`, source, target), for `salient.prepare`.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from pathlib import Path
from typing import Iterator

from .data import read_documents
from .evaluation.engine import Engine, Translated
from .evaluation.sets import Document, DocumentSet

SHARD_SEGMENTS = 5_000
SERVER = "--max-rows 256"  # many short segments at once; how long each takes does not matter
PARALLEL = 256
WORD = re.compile(r"\w{3,}")  # shorter words are the same in both languages by chance

Named = tuple[str, list[tuple[str, str]]]  # `source|document`, and its pairs


def drawn(paths: list[Path], segments: int, seed: int) -> Iterator[list[Named]]:
    """Shards of whole documents in random order, with about `segments` segments in all. Every shard has its own."""
    documents = [document for path in paths for document in read_documents(path)]
    random.Random(seed).shuffle(documents)
    shard, held, left = [], 0, segments
    for name, pairs in documents:
        shard.append((name, pairs))
        held, left = held + len(pairs), left - len(pairs)
        if held >= SHARD_SEGMENTS or left <= 0:
            yield shard
            shard, held = [], 0
        if left <= 0:
            return
    if shard:
        yield shard


def hypotheses(translated: Translated) -> list[str]:
    """All translations of a document of one segment, best first."""
    return [*translated.lines, *(text.strip() for text in translated.report.get("alternatives", []))]


def words(text: str) -> set[str]:
    return set(WORD.findall(text))


def nearest(candidates: list[str], source: str, reference: str) -> str:
    """The candidate with the highest sentence BLEU, of equals the first, that copies what the reference copies."""
    import sacrebleu

    copied = words(source) & words(reference)
    kept = [text for text in dict.fromkeys(candidates) if copied <= words(text)]
    if len(kept) < 2:
        return kept[0] if kept else reference
    return max(kept, key=lambda text: sacrebleu.sentence_bleu(text, [reference]).score)


def interpolated(engine: Engine, name: str, shard: list[Named], setting: str,
                 beam: int) -> Iterator[tuple[str, str, str]]:
    """(`source|document`, source, target) of every segment."""
    whole = DocumentSet(f"{name}, documents", [Document("text", [s for s, _ in pairs], []) for _, pairs in shard])
    alone = DocumentSet(f"{name}, segments", [Document("text", [s], []) for _, pairs in shard for s, _ in pairs])
    in_context = [line for document in engine.translate(whole, setting).translated for line in document.lines]
    by_itself = engine.translate(alone, f"{setting} --beam {beam} --n-best {beam}").translated
    pairs = [(document, source, reference) for document, pairs in shard for source, reference in pairs]
    for (document, source, reference), first, others in zip(pairs, in_context, by_itself, strict=True):
        yield document, source, nearest([first, *hypotheses(others)], source, reference).replace("\t", " ")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", type=Path, required=True, help="folder of the model that translates")
    p.add_argument("--bin", type=Path, required=True, help="folder of salient and salient-server")
    p.add_argument("--train", type=Path, nargs="+", required=True, help="TSV of parallel documents, .xz or plain")
    p.add_argument("--out", type=Path, required=True, help="folder of the shards")
    p.add_argument("--segments", type=int, default=100_000, help="about so many segments, in whole documents")
    p.add_argument("--setting", default="--selection dense --exit full", metavar="FLAGS",
                   help="flags of `salient translate`; --selection learned and --shortlist make it faster")
    p.add_argument("--beam", type=int, default=4, help="width of the beam for single segments, and its hypotheses")
    p.add_argument("--seed", type=int, default=1)
    return p


def main() -> None:
    o = parser().parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    shards = list(drawn(o.train, o.segments, o.seed))
    with Engine(o.bin, o.model, o.out, PARALLEL, SERVER) as engine:
        for number, shard in enumerate(shards):
            out = o.out / f"{number:04d}.tsv"
            if out.exists():
                continue
            part = out.with_suffix(".part")
            with open(part, "w", encoding="utf-8") as file:
                for row in interpolated(engine, out.stem, shard, o.setting, o.beam):
                    print(*row, sep="\t", file=file)
            part.replace(out)
            print(f"{out.name}: {len(shards) - number - 1} shards left", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
