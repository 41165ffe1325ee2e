"""The papers' ablations, by short runs of equal length; prints a table and writes a checkpoint and a line a run.

    python -m salient.ablations selection --data work/data --start work/base.pt --out work/ablations
    python -m salient.ablations ffn       --data work/data --config work/config.json --out work/ablations

**selection** adapts one trained dense model again and again: selection layers from scratch, a supervision phase and a
selection phase of a few dozen steps each, all with the same budget of keys. What changes is the width of the selection
layers (ds), how many layers share one (r), the supervision, the straight-through term, or a fixed window in place of
the best keys (table 4 and figures 4 to 6 of arXiv 2309.14174).

**ffn** trains every configuration of arXiv 2309.01826 from scratch for as many steps. Steps rather than minutes, so that other
work on the machine changes nothing; a run that is there already is not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Callable

import torch

from .config import FeedForward, ModelConfig
from .data import Corpus, batches
from .export import load_checkpoint
from .loss import smoothed_cross_entropy
from .model import Transformer
from .selection import MODULES, SelectionRun
from .train import run_phase

WINDOW = 768  # tokens of the development windows that selection is measured on: long ones, where it matters
BUDGET = "encoder=0.10,decoder=0.03,cross=0.05"  # the paper's shares of keys


def groups(r: int) -> list[str]:
    return ["--selection-group", ",".join(f"{module}={r}" for module in MODULES)]


SELECTION_RUNS: dict[str, list[str]] = {
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


def ffn_configurations(base: ModelConfig) -> dict[str, ModelConfig]:
    """Every way of table 1 and 2 of arXiv 2309.01826 to share feed-forward blocks between layers, or to leave them out."""
    width = base.encoder.ffn.width
    wide = (base.encoder.layers + base.decoder.layers) * width
    kinds = {
        "Transformer": (("own", width), ("own", width)),
        "SharedEnc": (("shared", width), ("own", width)),
        "SharedDec": (("own", width), ("shared", width)),
        "SharedEncSharedDec": (("shared", width), ("shared", width)),
        "SharedEncDec": (("shared", width), ("encoder", width)),
        "NoEnc": (("none", width), ("own", width)),
        "NoDec": (("own", width), ("none", width)),
        "NoEncNoDec": (("none", width), ("none", width)),
        "SharedEncNoDec": (("shared", width), ("none", width)),
        "One Wide FFN": (("shared", wide), ("none", width)),
    }
    found = {}
    for name, (encoder, decoder) in kinds.items():
        config = ModelConfig.from_json(base.to_json())
        config.encoder.ffn, config.decoder.ffn = FeedForward(*encoder), FeedForward(*decoder)
        found[name] = config
    return found


@dataclass
class Measured:
    name: str
    parameters: int
    dense_nll: float  # nats a token of the development text, last exit
    nll: float  # the same under the model's own selection; equal to dense_nll without one
    keys: dict[str, float]  # share of the keys attended to, a module
    attention_cost: float  # eq. 10 over eq. 9, with counted keys


def slug(name: str) -> str:
    return name.lower().replace(",", "").replace(" ", "-")


def train(o: argparse.Namespace, phase: str, out: Path, *flags: str) -> None:
    run_phase(phase, o.data, out, "--steps", str(o.steps), "--batch-tokens", str(o.batch_tokens),
              "--threads", str(o.threads), "--device", o.device, *flags)


def nll(model: Transformer, dev: Corpus, new_run: Callable[[], SelectionRun], tokens: int) -> tuple[float, dict]:
    """Mean negative log-likelihood a token at the last exit, and the share of keys kept a module."""
    total, count, kept = 0.0, 0, {m: [] for m in MODULES}
    with torch.no_grad():
        for source, target in batches(dev, 2 * WINDOW, seed=1, mixture={WINDOW: 1.0}, endless=False):
            run = new_run()
            state = model.decode(target[:, :-1], source, model.encode(source, run), run)[-1]
            gold = target[:, 1:].flatten()
            total += float(smoothed_cross_entropy(model.exit_norms[-1](state).flatten(0, 1), model.classifier(-1),
                                                  model.output_bias, gold, 0.0, model.config.tokens.pad))
            count += int(gold.ne(model.config.tokens.pad).sum())
            for module, shares in run.kept.items():
                kept[module].append(sum(shares) / len(shares))
            if count > tokens:
                break
    return total / count, {m: sum(x) / len(x) for m, x in kept.items() if x}


def attention_cost(config: ModelConfig, keys: dict[str, float], selects: bool) -> float:
    """C' / C of eq. 9 and 10, modules weighed by their layers for sources and targets of one length.

    A decoder's self-attention sees half of the keys on average, so that it weighs half.
    """
    weights = {"encoder": config.encoder.layers, "decoder": config.decoder.layers / 2, "cross": config.decoder.layers}
    cost = 0.0
    for module, weight in weights.items():
        layers = config.encoder.layers if module == "encoder" else config.decoder.layers
        chosen = config.selection.width / (2 * config.d_model) * len(config.selection_layers(module)) / layers
        cost += weight * (keys[module] + (chosen if selects else 0.0))
    return cost / sum(weights.values())


def measure(name: str, checkpoint: Path, dev: Corpus, window: int | None, tokens: int) -> Measured:
    model = load_checkpoint(checkpoint)
    config = model.config
    dense, _ = nll(model, dev, SelectionRun, tokens)
    found = Measured(name, sum(p.numel() for p in model.parameters()), dense, dense, {}, 1.0)
    if config.selection is not None:
        found.nll, found.keys = nll(
            model, dev, lambda: SelectionRun(mode="select", fraction=config.selection.key_fraction,
                                             min_keys=config.selection.min_keys, straight_through=False,
                                             window=window), tokens)
        found.attention_cost = attention_cost(config, found.keys, selects=window is None)
    return found


def selection_suite(o: argparse.Namespace, folder: Path, dev: Corpus) -> list[Measured]:
    found = []
    for name, flags in SELECTION_RUNS.items():
        print(f"selection: {name}", file=sys.stderr)
        place, start = folder / slug(name), o.start
        place.mkdir(parents=True, exist_ok=True)
        new = [f for f in flags if f != "--no-straight-through"]
        if "--alpha" not in flags and "--attention-window" not in flags:
            train(o, "supervision", place / "supervision.pt", "--start", str(start), "--alpha", "1",
                  "--matrix-lr", "0.02", "--warmup", "5", "--k-step", "0", *new)
            start = place / "supervision.pt"
            flags = [f for f in flags if f == "--no-straight-through"]
        train(o, "selection", place / "selection.pt", "--start", str(start), "--lr", "0.0003", "--matrix-lr", "0.004",
              "--warmup", "5", "--alpha", "1", "--k-step", "0", "--k-most", BUDGET, *flags)
        found.append(measure(name, place / "selection.pt", dev, 20 if "--attention-window" in flags else None, o.tokens))
    return found


def ffn_suite(o: argparse.Namespace, folder: Path, dev: Corpus) -> list[Measured]:
    found = []
    for name, config in ffn_configurations(ModelConfig.from_json(o.config.read_text())).items():
        print(f"ffn: {name}", file=sys.stderr)
        place = folder / slug(name)
        place.mkdir(parents=True, exist_ok=True)
        (place / "config.json").write_text(config.to_json())
        train(o, "base", place / "base.pt", "--config", str(place / "config.json"), "--warmup", "30")
        found.append(measure(name, place / "base.pt", dev, None, o.tokens))
    return found


def table(found: list[Measured]) -> str:
    rows = [["run", "parameters", "dense NLL", "selected NLL", "keys: encoder", "decoder", "cross", "attention cost"]]
    for m in found:
        keys = [f"{100 * m.keys[x]:.1f} %" if m.keys else "" for x in MODULES]
        sparse = [f"{m.nll:.3f}", *keys, f"{100 * m.attention_cost:.1f} %"] if m.keys else [""] * 5
        rows.append([m.name, f"{m.parameters / 1e6:.2f} M", f"{m.dense_nll:.3f}", *sparse])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(rows[0]) - 1), *lines[1:]])


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("suite", choices=["selection", "ffn"])
    p.add_argument("--data", type=Path, required=True, help="folder that `salient.prepare` wrote")
    p.add_argument("--start", type=Path, help="selection: the checkpoint of a dense model")
    p.add_argument("--config", type=Path, help="ffn: the configuration whose feed-forward blocks are varied")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--steps", type=int, default=40, help="of every phase of every run")
    p.add_argument("--batch-tokens", type=int, default=3072)
    p.add_argument("--tokens", type=int, default=15_000, help="development tokens to measure on")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--device", default="cpu", help="cpu or cuda, to train on; measured on the CPU")
    return p


def main() -> None:
    o = parser().parse_args()
    if (o.suite == "selection") != (o.start is not None) or (o.suite == "ffn") != (o.config is not None):
        sys.exit("selection needs --start and ffn needs --config")
    torch.set_num_threads(o.threads)
    dev = Corpus.load(o.data / "dev.npz")
    found = (selection_suite if o.suite == "selection" else ffn_suite)(o, o.out / o.suite, dev)
    (o.out / f"{o.suite}.json").write_text(json.dumps([asdict(m) for m in found], indent=2) + "\n")
    print(table(found))


if __name__ == "__main__":
    main()
