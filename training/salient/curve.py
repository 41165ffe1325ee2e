"""Draws the course of a training: the loss on development text at every exit, against the target tokens learned from.

    python -m salient.curve work/base.jsonl work/depth.jsonl --out curve.svg

The logs are those of `salient.train`, in the order of the phases; each phase's tokens are added to those before. Phases
that do not train the model itself are not drawn.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path

from .command import refusals
from .evaluation import figures
from .objective import TRAINED

NAME_WIDTH = 0.02  # of the figure: the place that the name of a phase takes


@dataclass
class Course:
    """The lines of one log about development text."""

    name: str  # of the log
    start: int  # target tokens of the phases before
    tokens: list[int]  # with those of the phases before
    nll: list[list[float | None]]  # [measurements, exits], nats a token; None: an exit that is not trained


def course(log: Path, before: int) -> Course:
    found = Course(log.stem, before, [], [])
    for number, text in enumerate(log.read_text(encoding="utf-8").splitlines(), 1):
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            raise ValueError(f"{log}:{number}: no line of a log of salient.train; was it cut off? Remove it") from None
        if not isinstance(line, dict) or line.get("phase") not in TRAINED:
            raise ValueError(f"{log}:{number}: no line of a log of salient.train; name logs of it alone")
        if "dev_nll_by_exit" not in line or "base" not in TRAINED[line["phase"]]:
            continue
        if "target_tokens" not in line:
            raise ValueError(f"{log}:{number}: it has no target_tokens, for the log is of an earlier version")
        found.tokens.append(before + line["target_tokens"])
        found.nll.append(line["dev_nll_by_exit"])
    return found


def courses(logs: list[Path]) -> list[Course]:
    found, before = [], 0
    for log in logs:
        phase = course(log, before)
        if phase.tokens:
            found.append(phase)
            before = phase.tokens[-1]
    return found


def draw(found: list[Course], path: Path) -> None:
    figure, axes = figures.pyplot().subplots(figsize=(6.5, 3.6))
    exits = len(found[0].nll[0])
    tokens = [t / 1e6 for c in found for t in c.tokens]
    for exit_layer in range(exits):
        values = [math.nan if nll[exit_layer] is None else nll[exit_layer] for c in found for nll in c.nll]
        axes.plot(tokens, values, linewidth=1.2, marker=".", markersize=5,
                  label=f"exit {exit_layer + 1}" if exits > 1 else None)
    top, named = axes.get_ylim()[1], -math.inf
    for c in found:
        axes.axvline(c.start / 1e6, color="#999999", linewidth=0.6, linestyle=":")
        if c.start / 1e6 < named + NAME_WIDTH * tokens[-1]:
            continue  # its name would lie on the one before
        named = c.start / 1e6
        axes.text(named, top, f"{c.name} ", fontsize=6, rotation=90, va="top", color="#666666")
    axes.set(xlabel="million target tokens", ylabel="nats a token of development text")
    if exits > 1:
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    figures.save(figure, path)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="salient.curve", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("logs", type=Path, nargs="+", help="logs of salient.train, in the order of the phases")
    p.add_argument("--out", type=Path, required=True, help="the figure to write (SVG)")
    return p


def main() -> None:
    o = parser().parse_args()
    with refusals("curve"):
        found = courses(o.logs)
        if not found:
            raise ValueError("the logs have no line with dev_nll_by_exit of a phase that trains the model")
        draw(found, o.out)


if __name__ == "__main__":
    main()
