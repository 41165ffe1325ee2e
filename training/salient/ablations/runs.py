"""What all suites have in common: training a run of one, and its conditions as text."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ..data import Corpus
from ..train import run_phase


@dataclass
class Suite:
    title: str
    run: Callable[[argparse.Namespace, Path, Corpus], list[dict]]  # options, folder, development text -> a row each run
    table: Callable[[list[dict]], str]
    conditions: Callable[[argparse.Namespace], str]
    needs: tuple[str, ...]  # options without which it cannot run
    refuses: tuple[str, ...] = ()  # options that it does not take


def slug(name: str) -> str:
    return name.lower().replace(",", "").replace(".", "").replace(" ", "-")


def place_of(folder: Path, name: str) -> Path:
    place = folder / slug(name)
    place.mkdir(parents=True, exist_ok=True)
    return place


def chosen(o: argparse.Namespace, runs: dict) -> dict:
    """The runs that --only names; all without it."""
    unknown = set(o.only) - set(runs)
    if unknown:
        raise ValueError(f"--only: no run {', '.join(sorted(unknown))}; there are: {', '.join(runs)}")
    return {name: run for name, run in runs.items() if not o.only or name in o.only}


def train(o: argparse.Namespace, phase: str, out: Path, *flags: str) -> None:
    length = ["--minutes", str(o.minutes)] if o.minutes else ["--steps", str(o.steps)]
    if o.minutes and o.device == "cpu":
        length.append("--processor-time")
    run_phase(phase, o.data, out, *length, "--batch-tokens", str(o.batch_tokens),
              "--threads", str(o.threads), "--device", o.device, *flags)


def length(o: argparse.Namespace) -> str:
    if not o.minutes:
        return f"{o.steps} steps"
    return f"{o.minutes:g} minutes" + (" of processor time" if o.device == "cpu" else "")


def batches_and_place(o: argparse.Namespace) -> str:
    where = f"{o.threads} thread{'s' if o.threads > 1 else ''} of a processor" if o.device == "cpu" else o.device
    return f"batches of {o.batch_tokens:,} tokens, {where}"
