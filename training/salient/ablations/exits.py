"""The losses of exits, and halting heads by every oracle: tables 1 and 2 and figures 3 to 5 of arXiv 1910.10073."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from ..config import HEADS
from ..data import Corpus
from ..evaluation import cost, figures, sets, tables
from ..evaluation.engine import Engine
from ..evaluation.score import Scorer
from ..evaluation.settings import Setting, depth_settings
from ..evaluation.tables import percent, probability, signed
from ..export import export, load_checkpoint
from ..vocabulary import TOKENIZER
from .measured import test_set
from .runs import Suite, batches_and_place, chosen, dense_start, length, page_of, place_of, train

ALIGNED = "aligned, eq. 4"
LOSSES = {ALIGNED: ["--exit-loss", "all", "--distil", "0", "--hand-up", "0"],
          "mixed, eq. 5": ["--exit-loss", "mixed", "--distil", "0", "--hand-up", "0"],
          "ours": []}
# The penalty of a layer, and the width of the smoothing over time.
ORACLES = {"likelihood": ("0.05", "0.5"), "correctness": ("0.1", "0.5"), "agreement": ("0.1", "0")}
HEADS_SHARE = 0.2  # of the length of a run
RATES = ["--lr", "0.0002", "--matrix-lr", "0.002", "--warmup", "10"]  # low: the start is at the end of its training
LEARNED = "learned by"  # in the name of a run: halting heads


@dataclass
class Point:
    run: str  # of LOSSES, or halting heads `learned by` an oracle
    policy: str
    setting: str
    mean_exit: float
    flops: float  # of the decoder, over those of full depth; with the sequence head's own, appendix B
    bleu: float
    difference: float  # from full depth of the same model
    p: float | None  # None for full depth


def points(o: argparse.Namespace, run: str, place: Path, test: sets.DocumentSet,
           sweeps: dict[str, list[Setting]]) -> list[Point]:
    scorer, full = Scorer(test.documents), Setting()
    settings = [(policy, s) for policy, found in sweeps.items() for s in found if s != full]
    with Engine(o.bin, place, o.out) as engine:
        whole, *results = [engine.translate(test, s) for s in (full, *(s for _, s in settings))]
    found = [Point(run, "full", full.exit, cost.mean_exit(whole), cost.decoder_flops(whole), scorer.bleu(whole), 0.0,
                   None)]
    for (policy, s), result, against in zip(settings, results, scorer.differences(whole, results)):
        name = s.exit + (f", from layer {s.min_exit}" if s.min_exit else "")
        found.append(Point(run, policy, name, cost.mean_exit(result), cost.decoder_flops(result), scorer.bleu(result),
                           against.bleu, against.p))
    return found


def suite(o: argparse.Namespace, folder: Path, dev: Corpus) -> list[dict]:
    test, dense, found = test_set(o), dense_start(o, folder), []
    for name, flags in chosen(o, LOSSES).items():
        print(f"exits: {name}", file=sys.stderr)
        place = place_of(folder, name)
        train(o, "base", place / "base.pt", "--start", str(dense), "--early-exits", *RATES, *flags)
        model = load_checkpoint(place / "base.pt")
        export(model, o.data / TOKENIZER, place)
        layers = model.config.decoder.layers
        found += points(o, name, place, test,
                        {"fixed": [Setting(exit=f"fixed:{n}") for n in range(1, layers)]})
    start = place_of(folder, ALIGNED) / "base.pt"
    for oracle, (penalty, sigma) in ORACLES.items() if start.exists() else ():
        name = f"{LEARNED} {oracle}"
        print(f"exits: heads {name}", file=sys.stderr)
        place = place_of(folder, name)
        train(o, "halting", place / "halting.pt", "--start", str(start), "--oracle", oracle, "--penalty", penalty,
              "--sigma", sigma, share=HEADS_SHARE)
        model = load_checkpoint(place / "halting.pt")
        export(model, o.data / TOKENIZER, place)
        sweeps = depth_settings("dense", model.config.decoder.layers, model.config.exits.heads, fine=False)
        found += points(o, name, place, test, {policy: sweeps[policy] for policy in HEADS if policy in sweeps})
    draw(found, page_of(o).parent)
    return [asdict(m) for m in found]


def draw(found: list[Point], out: Path) -> None:
    """BLEU against mean exit, and against FLOPs: a line for each oracle and head."""
    figure, both = figures.pyplot().subplots(1, 2, figsize=(9.5, 3.8), sharey=True)
    lines: dict[tuple[str, str], list[Point]] = {}
    for m in found:
        if m.p is not None and (m.run.startswith(LEARNED) or m.run == ALIGNED):
            lines.setdefault((m.run, m.policy), []).append(m)
    for axes, x, label in zip(both, ("mean_exit", "flops"), ("mean exit", "decoder FLOPs, of full depth")):
        for number, ((run, policy), line) in enumerate(lines.items()):
            line = sorted(line, key=lambda m: getattr(m, x))
            axes.plot([getattr(m, x) for m in line], [m.bleu for m in line], linewidth=1.2, markersize=4,
                      marker="sovD^"[number % 5], label=f"{policy}, {run}" if run.startswith(LEARNED) else policy)
        axes.set(xlabel=label)
    both[0].set(ylabel="BLEU")
    both[1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    figures.save(figure, out / "figures" / "exits-by-oracle.svg")


def table(runs: list[dict]) -> str:
    rows = [["training", "exits", "mean exit", "decoder FLOPs", "BLEU", "against full depth", "p"]]
    for m in (Point(**run) for run in runs):
        rows.append([m.run, m.setting, f"{m.mean_exit:.2f}", percent(m.flops), f"{m.bleu:.1f}",
                     "" if m.p is None else signed(m.difference), probability(m.p)])
    return tables.table(rows, text_columns=2, padded=False) + "\n\n![BLEU by oracle](figures/exits-by-oracle.svg)"


def conditions(o: argparse.Namespace) -> str:
    test = test_set(o)
    return (f"From one trained dense model: {length(o)} each of phase `base` with a loss of exits, then "
            f"{length(o, HEADS_SHARE)} of phase `halting` on the model of eq. 4, frozen, for each oracle; "
            f"{batches_and_place(o)}. BLEU: "
            f"{test.segments:,} segments of {len(test.documents)} documents of `{o.test.name}`, the engine, dense "
            "attention, greedy; p: paired bootstrap against full depth of the same model. Thresholds are as trained, "
            "without the calibration that our export does.")


EXITS = Suite("Exits", suite, table, conditions, needs=("start", "bin", "test"), refuses=("config",))
