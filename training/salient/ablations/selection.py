"""Selection, with our recipe and with that of arXiv 2309.14174."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from ..data import Corpus
from ..evaluation import cost, sets, tables
from ..evaluation.engine import Engine
from ..evaluation.score import Scorer
from ..evaluation.settings import Setting
from ..evaluation.tables import percent, probability, signed
from ..export import export, load_checkpoint
from ..selection import MODULES
from ..vocabulary import TOKENIZER
from .measured import Measured, measure, table
from .runs import Suite, batches_and_place, chosen, dense_start, length, place_of, train

BUDGET = "encoder=0.10,decoder=0.03,cross=0.05"  # the shares of keys in the paper


def groups(r: int) -> list[str]:
    return ["--selection-group", ",".join(f"{module}={r}" for module in MODULES)]


BUDGET_RUNS: dict[str, list[str]] = {
    "ds 32, r 3": groups(3),
    "no supervision": [*groups(3), "--alpha", "0"],
    "no straight-through": [*groups(3), "--no-straight-through"],
    "window of 20": [*groups(3), "--attention-window", "20"],
    "ds 16": [*groups(3), "--selection-width", "16"],
    "ds 64": [*groups(3), "--selection-width", "64"],
    "r 1": groups(1),
    "r 2": groups(2),
    "r 6": groups(6),
}

# Section 4 of the paper; k may take all values down to 0.01. Its dropout is a run apart: a model that was trained
# without it first has to learn to bear it.
AS_THE_PAPER = ["--alpha", "0.01", "--straight-through", "--k-most", ",".join(f"{m}=1" for m in MODULES),
                "--distil", "0", "--hand-up", "0"]


# Shorter than the recipe's, for more steps: attention takes most of a step.
CHUNKS = ["--mixture", "192=0.3,384=0.4,768=0.3"]


@dataclass
class PaperRun:
    captured: float = 0.95  # t
    width: int = 32  # ds
    layers: int = 3  # r
    dropout: float = 0.0  # of the outputs of blocks, and of words
    ours: bool = False  # our recipe: a third of the time for supervision, and a budget of keys

    @property
    def new(self) -> list[str]:
        return ["--selection-width", str(self.width), *groups(self.layers)]

    def train(self, o: argparse.Namespace, start: Path, place: Path) -> Path:
        """Returns the checkpoint."""
        out, common = place / "selection.pt", (*CHUNKS, "--log-seconds", "5")
        if self.ours:
            supervised = place / "supervision.pt"
            train(o, "supervision", supervised, "--start", str(start), *self.new, *common, share=1 / 3)
            train(o, "selection", out, "--start", str(supervised), *common, share=2 / 3)
        else:
            dropout = ["--dropout", str(self.dropout), "--word-dropout", str(self.dropout)]
            train(o, "selection", out, "--start", str(start), *AS_THE_PAPER, *dropout, "--captured", str(self.captured),
                  "--k-step", str(o.k_step), *self.new, *common)
        return out


PAPER_RUNS = {"our recipe": PaperRun(ours=True), "t 0.95, ds 32, r 3": PaperRun(), "t 0.9": PaperRun(captured=0.9),
              "t 0.99": PaperRun(captured=0.99), "ds 16": PaperRun(width=16), "ds 64": PaperRun(width=64),
              "r 1": PaperRun(layers=1), "r 2": PaperRun(layers=2), "dropout of 0.1": PaperRun(dropout=0.1)}


def budget(o: argparse.Namespace, folder: Path, dev: Corpus) -> list[dict]:
    found: list[Measured] = []
    for name, flags in chosen(o, BUDGET_RUNS).items():
        print(f"selection: {name}", file=sys.stderr)
        place, start = place_of(folder, name), o.start
        new = [f for f in flags if f != "--no-straight-through"]
        if "--alpha" not in flags and "--attention-window" not in flags:
            train(o, "supervision", place / "supervision.pt", "--start", str(start), *new)
            start = place / "supervision.pt"
            flags = [f for f in flags if f == "--no-straight-through"]
        train(o, "selection", place / "selection.pt", "--start", str(start), "--straight-through", "--k-step", "0",
              "--k-most", BUDGET, *flags)
        window = 20 if "--attention-window" in flags else None
        found.append(measure(name, load_checkpoint(place / "selection.pt"), dev, window, o.tokens))
    return [asdict(m) for m in found]


@dataclass
class PaperRow:
    name: str
    k: dict[str, float]  # the adapted ratio of each module, mean over its selection layers
    moved: float  # the largest change of such a ratio in the last quarter of the steps
    keys: dict[str, float]  # share of the visible keys that the engine read on the test documents
    attention_cost: float  # counted by the engine, over dense attention's
    dense_bleu: float
    bleu: float
    p: float  # of the difference from dense


def ratios(log: Path) -> list[dict[str, float]]:
    """The mean ratio of each module, in the order in which a training wrote it down."""
    written = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if '"k"' in line]
    return [{m: sum(ks) / len(ks) for m, ks in line["k"].items()} for line in written]


def moved(course: list[dict[str, float]]) -> float:
    before = course[3 * len(course) // 4 - (len(course) > 1)]
    return max(abs(course[-1][m] - before[m]) for m in MODULES)


def long_documents(o: argparse.Namespace) -> sets.DocumentSet:
    return sets.sample(sets.long_documents(sets.read_set(o.test), 0), o.segments)


def paper(o: argparse.Namespace, folder: Path, dev: Corpus) -> list[dict]:
    test, start, found = long_documents(o), dense_start(o, folder), []
    scorer = Scorer(test.documents)
    for name, run in chosen(o, PAPER_RUNS).items():
        print(f"paper: {name}", file=sys.stderr)
        place = place_of(folder, name)
        export(load_checkpoint(run.train(o, start, place)), o.data / TOKENIZER, place)
        with Engine(o.bin, place, o.out) as engine:
            dense, learned = (engine.translate(test, Setting(policy)) for policy in ("dense", "learned"))
        [against] = scorer.differences(dense, [learned])
        course = ratios(place / "selection.jsonl")
        found.append(asdict(PaperRow(name, course[-1], moved(course), {m: cost.keys_ratio(learned, m) for m in MODULES},
                                     cost.attention_cost(learned), scorer.bleu(dense), scorer.bleu(learned),
                                     against.p)))
    return found


def paper_table(runs: list[dict]) -> str:
    rows = [["run", "k: encoder", "decoder", "cross", "moved at the end", "keys read: encoder", "decoder", "cross",
             "attention cost", "dense BLEU", "selected", "difference", "p"]]
    for m in (PaperRow(**run) for run in runs):
        rows.append([m.name, *[f"{m.k[x]:.3f}" for x in MODULES], f"{m.moved:.3f}",
                     *[percent(m.keys[x]) for x in MODULES], percent(m.attention_cost), f"{m.dense_bleu:.1f}",
                     f"{m.bleu:.1f}", signed(m.bleu - m.dense_bleu), probability(m.p)])
    return tables.table(rows, padded=False)


def paper_conditions(o: argparse.Namespace) -> str:
    test = long_documents(o)
    return (f"From one trained dense model: {length(o)} each of phase `selection` with new selection layers, "
            f"{batches_and_place(o)}, chunks of up to 768 tokens; no supervision before, no budget of keys, alpha "
            f"0.01, straight-through, and k from 1 by steps of {o.k_step:g} (eq. 7). `Our recipe` spends a third of "
            "the time on supervision, and has a budget of keys, alpha 1 and no straight-through (ds 32, r 3). Moved: "
            "the largest change of a module's k in the last quarter of the training. BLEU: the engine, greedy, full "
            f"depth, on {len(test.documents)} long documents ({test.segments:,} segments) of `{o.test.name}`; each "
            "model's selection against its own dense attention, paired bootstrap.")


def budget_conditions(o: argparse.Namespace) -> str:
    return (f"From one trained dense model: {length(o)} of supervision, then {length(o)} of selection, "
            f"{batches_and_place(o)}; the budget of keys is {BUDGET}.")


BUDGETED = Suite("Selection", budget, table, budget_conditions, needs=("start",), refuses=("config",))
PAPER = Suite("Selection as the paper has it", paper, paper_table, paper_conditions, needs=("start", "bin", "test"),
              refuses=("config",))
