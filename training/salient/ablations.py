"""The papers' ablations, as short runs of equal length. Prints a table, and writes a page of all suites in --out.

    python -m salient.ablations selection --data work/data --start work/base.pt --out work/ablations
    python -m salient.ablations ffn       --data work/data --config work/config.json --out work/ablations
    python -m salient.ablations plain     --data work/data --config work/config.json --out work/ablations --minutes 30 \
        --bin ../build/release/bin --test dev.tsv

**selection** adapts one trained dense model in several ways, each with new selection layers, a supervision phase and a
selection phase of a few dozen steps, and the same budget of keys. The runs differ in the width of the selection layers
(ds), the number of layers that share one (r), the supervision, the straight-through term, or in a fixed window instead
of the best keys (table 4 and figures 4 to 6 of arXiv 2309.14174).

**ffn** trains every configuration of arXiv 2309.01826 from scratch. Short runs from
scratch say little. With --start a trained model is converted to each configuration and trained on, which favours
configurations close to the start. With --bin they translate documents of --test, as below, and the table shows the gain
in speed and the loss in quality of each.

**plain** compares the model with a Transformer of Vaswani et al., with sinusoidal positions and one output. The data,
its chunks, the batches, the optimiser and its schedule are the same. With --bin the engine translates documents of
--test with both, dense and at full depth, in chunks of the same size.

Runs have an equal number of steps, so that other work on the machine has no influence; or with --minutes equal time, on
a CPU processor time for the same reason. Finished runs are not repeated. Each run of ffn and plain exports a model.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Callable

import torch
from torch import Tensor

from .config import FeedForward, ModelConfig, Positions
from .data import Corpus, batches
from .evaluation import sets
from .evaluation.side_by_side import TAKES, TIMED_SEGMENTS, scored
from .evaluation.tables import probability, signed
from .export import export, load_checkpoint
from .loss import smoothed_cross_entropy
from .model import Transformer
from .selection import MODULES, SelectionRun
from .train import run_phase

CHUNK_TOKENS = 768  # tokens of the development chunks on which selection is measured: long, because there it matters
BUDGET = "encoder=0.10,decoder=0.03,cross=0.05"  # the shares of keys in the paper


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
    """Every configuration in tables 1 and 2 of arXiv 2309.01826 that shares or omits feed-forward blocks."""
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


def plain_configurations(base: ModelConfig) -> dict[str, ModelConfig]:
    plain = ModelConfig.from_json(base.to_json())
    plain.positions = Positions("sinusoidal", "none", "none")
    plain.selection = plain.exits = None
    return {"plain Transformer": plain, "Salient": base}


@dataclass
class Measured:
    name: str
    parameters: int
    dense_nll: float  # nats per token of the development text, at the last exit
    nll: float  # the same with the model's own selection; equal to dense_nll without one
    keys: dict[str, float]  # share of keys attended to, per module
    attention_cost: float  # eq. 10 divided by eq. 9, with counted keys
    steps: int = 0  # of a training from scratch
    scores: dict[str, float] = field(default_factory=dict)  # of the translations (evaluation.side_by_side.Scored)


def slug(name: str) -> str:
    return name.lower().replace(",", "").replace(" ", "-")


def train(o: argparse.Namespace, phase: str, out: Path, *flags: str) -> None:
    length = ["--minutes", str(o.minutes)] if o.minutes else ["--steps", str(o.steps)]
    if o.minutes and o.device == "cpu":
        length.append("--processor-time")
    run_phase(phase, o.data, out, *length, "--batch-tokens", str(o.batch_tokens),
              "--threads", str(o.threads), "--device", o.device, *flags)


def nll(model: Transformer, dev: Corpus, new_run: Callable[[], SelectionRun], tokens: int) -> tuple[float, dict]:
    """Mean negative log-likelihood per token at the last exit, and the share of keys kept per module."""
    total, count, kept = 0.0, 0, {m: [] for m in MODULES}
    with torch.no_grad():
        for source, target in batches(dev, 2 * CHUNK_TOKENS, seed=1, mixture={CHUNK_TOKENS: 1.0}, endless=False):
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
    """C' / C of eq. 9 and 10, with each module weighted by its layers, for source and target of equal length.

    Self-attention of a decoder sees half of the keys on average, so its weight is halved.
    """
    weights = {"encoder": config.encoder.layers, "decoder": config.decoder.layers / 2, "cross": config.decoder.layers}
    cost = 0.0
    for module, weight in weights.items():
        layers = config.encoder.layers if module == "encoder" else config.decoder.layers
        chosen = config.selection.width / (2 * config.d_model) * len(config.selection_layers(module)) / layers
        cost += weight * (keys[module] + (chosen if selects else 0.0))
    return cost / sum(weights.values())


def measure(name: str, model: Transformer, dev: Corpus, window: int | None, tokens: int) -> Measured:
    config = model.config
    dense, _ = nll(model, dev, SelectionRun, tokens)
    found = Measured(name, sum(p.numel() for p in model.parameters()), dense, dense, {}, 1.0)
    if config.selection is not None:
        found.nll, found.keys = nll(
            model, dev, lambda: SelectionRun(mode="select", ratio=config.selection.learned_ratio,
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
            train(o, "supervision", place / "supervision.pt", "--start", str(start), *new)
            start = place / "supervision.pt"
            flags = [f for f in flags if f == "--no-straight-through"]
        train(o, "selection", place / "selection.pt", "--start", str(start), "--straight-through", "--k-step", "0",
              "--k-most", BUDGET, *flags)
        window = 20 if "--attention-window" in flags else None
        found.append(measure(name, load_checkpoint(place / "selection.pt"), dev, window, o.tokens))
    return found


def converted(trained: dict[str, Tensor], base: ModelConfig, config: ModelConfig) -> dict[str, Tensor]:
    """A trained model's tensors for another arrangement of its feed-forward blocks, as far as they can be reused.

    A shared block starts as the first of the blocks that it replaces; a wide block as the mean of as many as fit into
    it.
    """
    blocks = {side: [f"{side}_layers.{i}.ffn." for i in range(stack.layers)]
              for side, stack in (("encoder", base.encoder), ("decoder", base.decoder))}
    found = dict(trained)
    for side, stack in (("encoder", config.encoder), ("decoder", config.decoder)):
        if stack.ffn.kind == "shared":
            own, other = blocks[side], blocks["decoder" if side == "encoder" else "encoder"]
            parts = [*own, *other][: stack.ffn.width // base.encoder.ffn.width]
            for name in ("up.weight", "up.bias"):
                found[f"{side}_ffn.{name}"] = torch.cat([trained[p + name] for p in parts])
            found[f"{side}_ffn.down.weight"] = torch.cat([trained[p + "down.weight"] for p in parts], 1) / len(parts)
            found[f"{side}_ffn.down.bias"] = sum(trained[p + "down.bias"] for p in parts) / len(parts)
    names = Transformer(config).state_dict()
    return {name: tensor for name, tensor in found.items() if name in names}


def scratch_suite(o: argparse.Namespace, folder: Path, dev: Corpus) -> list[Measured]:
    make, found = ffn_configurations if o.suite == "ffn" else plain_configurations, []
    for name, config in make(ModelConfig.from_json(o.config.read_text())).items():
        print(f"{o.suite}: {name}", file=sys.stderr)
        place = folder / slug(name)
        place.mkdir(parents=True, exist_ok=True)
        (place / "config.json").write_text(config.to_json())
        flags = ["--config", str(place / "config.json"), "--warmup", "30"]
        if o.start is not None:
            stored = torch.load(o.start, map_location="cpu")
            tensors = converted(stored["model"], ModelConfig.from_json(stored["config"]), config)
            torch.save({"config": config.to_json(), "model": tensors}, place / "start.pt")
            flags = ["--start", str(place / "start.pt"), "--lr", "0.0005", "--matrix-lr", "0.005", "--warmup", "5"]
        train(o, "base", place / "base.pt", *flags)
        model = load_checkpoint(place / "base.pt")
        export(model, o.data / "tokenizer.model", place)
        found.append(measure(name, model, dev, None, o.tokens))
        found[-1].steps = torch.load(place / "base.pt", map_location="cpu")["step"]
    if o.bin is not None:
        test_set = sets.sample(sets.read_set(o.test), o.segments)
        for m, scores in zip(found, scored(o.bin, [folder / slug(m.name) for m in found], test_set, o.out)):
            m.scores = asdict(scores)
    return found


def scores_columns(found: list[Measured]) -> list[list[str]]:
    """The header, and one row for each run."""
    rows = [["steps", "BLEU", "against the first", "p", "chrF", "document BLEU", "tokens/s", "of the first"]]
    first = found[0].scores["tokens_per_second"]
    for m in found:
        s = m.scores
        against = [signed(s["difference"]), probability(s["p"])] if s["p"] is not None else ["", ""]
        rows.append([str(m.steps), f"{s['bleu']:.1f} ± {s['interval']:.1f}", *against, f"{s['chrf']:.1f}",
                     f"{s['document_bleu']:.1f}", f"{s['tokens_per_second']:,.0f}",
                     f"{s['tokens_per_second'] / first:.2f}"])
    return rows


def table(found: list[Measured]) -> str:
    """One row for each run. Columns that only selection has are omitted if no run has it."""
    rows = [["run", "parameters", "dense NLL", "selected NLL", "keys: encoder", "decoder", "cross", "attention cost"]]
    for m in found:
        keys = [f"{100 * m.keys[x]:.1f} %" if m.keys else "" for x in MODULES]
        sparse = [f"{m.nll:.3f}", *keys, f"{100 * m.attention_cost:.1f} %"] if m.keys else [""] * 5
        rows.append([m.name, f"{m.parameters / 1e6:.2f} M", f"{m.dense_nll:.3f}", *sparse])
    if not any(m.keys for m in found):
        rows = [row[:3] for row in rows]
    if all(m.scores for m in found):
        rows = [[*row, *more] for row, more in zip(rows, scores_columns(found))]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(rows[0]) - 1), *lines[1:]])


TITLES = {"plain": "Against a plain Transformer", "ffn": "Feed-forward configurations", "selection": "Selection"}


def conditions(o: argparse.Namespace) -> str:
    """The conditions that all runs of a suite have in common, as text."""
    length = f"{o.minutes:g} minutes" if o.minutes else f"{o.steps} steps"
    if o.minutes and o.device == "cpu":
        length += " of processor time"
    where = f"{o.threads} thread{'s' if o.threads > 1 else ''} of a processor" if o.device == "cpu" else o.device
    if o.suite == "selection":
        return (f"From one trained dense model: {length} of supervision, then {length} of selection, batches of "
                f"{o.batch_tokens:,} tokens, {where}; the budget of keys is {BUDGET}.")
    config = ModelConfig.from_json(o.config.read_text())
    origin = "One trained model, converted to each and trained on" if o.start else "From scratch"
    test = ""
    if o.suite == "plain":
        test = (" Data, chunks, batches, optimiser and schedule are the same; the rates are those that Salient's "
                "recipe found for itself.")
    if o.bin is not None:
        test_set = sets.sample(sets.read_set(o.test), o.segments)
        test += (f" BLEU: {test_set.segments:,} segments of {len(test_set.documents)} documents of `{o.test.name}`, "
                 "translated by the engine, dense, greedily, at full depth, in chunks of at most "
                 f"{config.chunk_tokens:,} source tokens, with the 95 % interval and the paired bootstrap over "
                 f"segments; tokens/s: target tokens of about {TIMED_SEGMENTS} of them, the median of {TAKES} takes, "
                 "the models in turn; a model that translates badly writes texts of other lengths.")
    return (f"{origin}: {length} each, batches of {o.batch_tokens:,} tokens, {where}; {config.encoder.layers} encoder "
            f"and {config.decoder.layers} decoder layers, width {config.d_model}, feed-forward "
            f"{config.encoder.ffn.width}.{test}")


def page(folder: Path) -> str:
    """A page of all suites with results in the folder."""
    parts = ["# Ablations", "Written by `python -m salient.ablations`; do not edit. NLL: nats a token of the last exit "
             f"on development chunks of {CHUNK_TOKENS} tokens, dense and under the model's own selection. The runs are "
             "short: they say which way a change goes, not where it would end."]
    for suite, title in TITLES.items():
        stored = folder / f"{suite}.json"
        if stored.exists():
            run = json.loads(stored.read_text())
            parts += [f"## {title}", run["conditions"], table([Measured(**row) for row in run["runs"]])]
    return "\n\n".join(parts) + "\n"


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("suite", choices=list(TITLES))
    p.add_argument("--data", type=Path, required=True, help="folder that `salient.prepare` wrote")
    p.add_argument("--start", type=Path, help="checkpoint of a dense model; needed for selection, of use for ffn")
    p.add_argument("--config", type=Path, help="ffn, plain: the configuration that is varied")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--steps", type=int, default=40, help="of every phase of every run")
    p.add_argument("--minutes", type=float, help="of every phase of every run, instead of --steps")
    p.add_argument("--batch-tokens", type=int, default=3072)
    p.add_argument("--tokens", type=int, default=15_000, help="development tokens to measure on")
    p.add_argument("--bin", type=Path, help="ffn, plain: folder of salient and salient-server, to translate with too")
    p.add_argument("--test", type=Path, help="with --bin: a TSV of documents to translate")
    p.add_argument("--segments", type=int, default=1800, help="with --bin: how much of --test; 0 for all")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--device", default="cpu", help="cpu or cuda, to train on; measured on the CPU")
    return p


def main() -> None:
    o = parser().parse_args()
    if (o.suite == "selection") != (o.config is None) or (o.start is None and o.suite == "selection"):
        sys.exit("selection needs --start, ffn and plain need --config")
    if (o.bin is None) != (o.test is None):
        sys.exit("--bin and --test go together")
    if o.suite == "plain" and o.start is not None:
        sys.exit("plain trains from scratch and takes no --start")
    torch.set_num_threads(o.threads)
    dev = Corpus.load(o.data / "dev.npz")
    found = (selection_suite if o.suite == "selection" else scratch_suite)(o, o.out / o.suite, dev)
    stored = {"conditions": conditions(o), "runs": [asdict(m) for m in found]}
    (o.out / f"{o.suite}.json").write_text(json.dumps(stored, indent=2) + "\n")
    (o.out / "ablations.md").write_text(page(o.out))
    print(table(found))


if __name__ == "__main__":
    main()
