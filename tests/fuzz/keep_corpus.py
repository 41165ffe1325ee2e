#!/usr/bin/env python3
"""Keeps a few inputs of a fuzz target: those that together reach most of its code.

    keep_corpus.py CONTROL FOLDER

CONTROL: the control file of libFuzzer's -merge=1, which names every input and the code that it reached.
FOLDER: is emptied, and gets the chosen inputs, each under the name of its contents' SHA-1.
"""

import hashlib
import sys
from pathlib import Path

MOST_FILES, MOST_BYTES = 24, 40_000  # of a target: corpora are part of the source


def read(control: str) -> dict[str, set[int]]:
    """Of every input, what it reached."""
    lines = control.splitlines()
    count = int(lines[0])
    names, reached = lines[2:2 + count], {}
    for line in lines[2 + count:]:
        kind, number, *values = line.split()
        if kind == "COV":
            reached[names[int(number)]] = {int(value) for value in values}
    return reached


def choose(reached: dict[str, set[int]], sizes: dict[str, int]) -> list[str]:
    """Greedily the input that reaches most of what is new, of these the shortest."""
    chosen, known, left = [], set(), MOST_BYTES
    while len(chosen) < MOST_FILES:
        fitting = [name for name in reached if sizes[name] <= left]
        best = max(fitting, key=lambda name: (len(reached[name] - known), -sizes[name], name), default=None)
        if best is None or not reached[best] - known:
            break
        chosen.append(best)
        known |= reached[best]
        left -= sizes[best]
    return chosen


def main() -> None:
    control, folder = Path(sys.argv[1]), Path(sys.argv[2])
    reached = read(control.read_text())
    contents = {name: Path(name).read_bytes() for name in reached}
    chosen = choose(reached, {name: len(content) for name, content in contents.items()})
    for old in folder.iterdir():
        old.unlink()
    for name in chosen:
        (folder / hashlib.sha1(contents[name]).hexdigest()).write_bytes(contents[name])
    every, kept = (len(set().union(*(reached[name] for name in names))) for names in (reached, chosen))
    print(f"{folder}: {len(chosen)} of {len(reached)} inputs kept, which reach {kept} of {every} edges")


if __name__ == "__main__":
    main()
