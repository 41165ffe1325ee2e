"""What all suites have in common: training a run of one, and its conditions as text."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ..checkpoint import write_checkpoint
from ..config import ModelConfig
from ..data import Corpus
from ..train import EFFECTIVE_IN, load, run_phase


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


def page_of(o: argparse.Namespace) -> Path:
    return o.page or o.out / "ablations.md"


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


def steps(o: argparse.Namespace, share: float) -> int:
    return max(1, round(o.steps * share))


def train(o: argparse.Namespace, phase: str, out: Path, *flags: str, share: float = 1.0) -> None:
    """One phase, of that share of the length of a run."""
    length = ["--minutes", str(o.minutes * share)] if o.minutes else ["--steps", str(steps(o, share))]
    if o.minutes and o.device == "cpu":
        length.append("--processor-time")
    sample = ["--vocabulary-sample", str(o.vocabulary_sample)] if phase in EFFECTIVE_IN["vocabulary_sample"] else []
    run_phase(phase, o.data, out, *length, "--batch-tokens", str(o.batch_tokens), *sample, "--threads", str(o.threads),
              "--device", o.device, *flags)


def dense_start(o: argparse.Namespace, folder: Path) -> Path:
    """A checkpoint of --start without selection layers: they would be of other weights than those that are trained."""
    stored = load(o.start)
    config = ModelConfig.from_json(stored["config"])
    config.selection = None
    tensors = {name: t for name, t in stored["model"].items() if ".selection." not in name}
    path = place_of(folder, "start") / "start.pt"
    write_checkpoint(path, config.to_json(), tensors)
    return path


def length(o: argparse.Namespace, share: float = 1.0) -> str:
    if not o.minutes:
        return f"{steps(o, share)} steps"
    return f"{o.minutes * share:.3g} minutes" + (" of processor time" if o.device == "cpu" else "")


def batches_and_place(o: argparse.Namespace) -> str:
    where = f"{o.threads} thread{'s' if o.threads > 1 else ''} of a processor" if o.device == "cpu" else o.device
    sample = f", losses from {o.vocabulary_sample:,} tokens of the vocabulary" if o.vocabulary_sample else ""
    return f"batches of {o.batch_tokens:,} tokens{sample}, {where}"
