"""Averages the weights of checkpoints that were trained from one start.

    python -m salient.average --out work/mean.pt work/a.pt work/b.pt ../models/en-de
    python -m salient.average --out work/mean.pt work/a.pt=2 ../models/en-de=1

A checkpoint is a file that `salient.train` wrote or a model folder. `=2` gives it twice the weight of `=1`, which is
the default. The configuration of the result is that of the first checkpoint, so its ratio of keys and its thresholds
are those of the first, too. Average models that have the same start: only then are their weights close enough for the
mean to be a good model (model soups, arXiv 2203.05482). The start itself may be one of them: it keeps what training on
other text has lost (arXiv 2109.01903).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from .checkpoint import write_checkpoint
from .command import refusals
from .train import load
from .whole_file import check_writable


def weighted(text: str) -> tuple[Path, float]:
    """`path` or `path=weight`."""
    path, equals, number = text.rpartition("=")
    if not equals:
        return Path(text), 1.0
    try:
        weight = float(number)
    except ValueError:
        weight = 0.0
    if not path or not 0 < weight < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a path nor path=weight with a positive weight")
    return Path(path), weight


def average(checkpoints: list[tuple[dict, float]]) -> dict:
    """The checkpoint with the mean of all tensors, in float32; one that is the same in all stays the same to the bit.
    ValueError if their names or shapes differ."""
    first = checkpoints[0][0]
    total = sum(weight for _, weight in checkpoints)
    shapes = {name: tensor.shape for name, tensor in first["model"].items()}
    mean = {name: tensor.float().clone() for name, tensor in first["model"].items()}
    for number, (checkpoint, weight) in enumerate(checkpoints[1:], 2):
        other = {name: tensor.shape for name, tensor in checkpoint["model"].items()}
        different = sorted(name for name in shapes.keys() | other.keys() if shapes.get(name) != other.get(name))
        if different:
            raise ValueError(f"checkpoint {number} is of another model than the first: {', '.join(different[:5])}")
        for name, tensor in checkpoint["model"].items():
            mean[name] += (tensor.float() - first["model"][name].float()) * (weight / total)
    return {"config": first["config"], "model": mean}


def write_average(paths: list[tuple[Path, float]], out: Path) -> None:
    """Writes the checkpoint with the mean of checkpoints or model folders, each with its weight."""
    made = average([(load(path), weight) for path, weight in paths])
    write_checkpoint(out, made["config"], made["model"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="checkpoint to write")
    parser.add_argument("checkpoints", type=weighted, nargs="+", metavar="CHECKPOINT[=WEIGHT]")
    options = parser.parse_args()
    with refusals("average"):
        check_writable(options.out)
        write_average(options.checkpoints, options.out)


if __name__ == "__main__":
    main()
