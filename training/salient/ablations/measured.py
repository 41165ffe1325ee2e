"""A run that is measured by the likelihood of development text, and by the engine's translations."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Callable

import torch

from ..config import ModelConfig
from ..data import Corpus, batches
from ..evaluation import sets, tables
from ..evaluation.side_by_side import TAKES, TIMED_SEGMENTS, scored
from ..evaluation.tables import probability, signed
from ..loss import smoothed_cross_entropy
from ..model import Transformer
from ..selection import MODULES, SelectionRun

CHUNK_TOKENS = 768  # tokens of the development chunks on which selection is measured: long, because there it matters


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
    likeness: dict[str, float] = field(default_factory=dict)  # to the first run (likeness.likeness)


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


def test_set(o: argparse.Namespace) -> sets.DocumentSet:
    return sets.sample(sets.read_set(o.test), o.segments)


def translate(o: argparse.Namespace, folders: list[Path], found: list[Measured]) -> None:
    """Adds the scores of the engine's translations, if there is an engine."""
    if o.bin is not None:
        for m, scores in zip(found, scored(o.bin, folders, test_set(o), o.out)):
            m.scores = asdict(scores)


def translations(o: argparse.Namespace, chunk_tokens: int) -> str:
    """How the scores were made, as text."""
    if o.bin is None:
        return ""
    used = test_set(o)
    return (f" BLEU: {used.segments:,} segments of {len(used.documents)} documents of `{o.test.name}`, translated by "
            f"the engine, dense, greedily, at full depth, in chunks of at most {chunk_tokens:,} source tokens, with "
            "the 95 % interval and the paired bootstrap over segments; tokens/s: target tokens of about "
            f"{TIMED_SEGMENTS} of them, the median of {TAKES} takes, the models in turn; a model that translates badly "
            "writes texts of other lengths.")


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


def likeness_columns(found: list[Measured]) -> list[list[str]]:
    rows = [["like the first, encoder: CKA", "LNS", "decoder: CKA", "LNS"]]
    return rows + [[f"{100 * value:.0f} %" for value in m.likeness.values()] or [""] * 4 for m in found]


def table(runs: list[dict]) -> str:
    """One row for each run. Columns that only some suites have are left out of the others."""
    found = [Measured(**run) for run in runs]
    rows = [["run", "parameters", "dense NLL", "selected NLL", "keys: encoder", "decoder", "cross", "attention cost"]]
    for m in found:
        keys = [f"{100 * m.keys[x]:.1f} %" if m.keys else "" for x in MODULES]
        sparse = [f"{m.nll:.3f}", *keys, f"{100 * m.attention_cost:.1f} %"] if m.keys else [""] * 5
        rows.append([m.name, f"{m.parameters / 1e6:.2f} M", f"{m.dense_nll:.3f}", *sparse])
    if not any(m.keys for m in found):
        rows = [row[:3] for row in rows]
    if all(m.scores for m in found):
        rows = [[*row, *more] for row, more in zip(rows, scores_columns(found))]
    if any(m.likeness for m in found):
        rows = [[*row, *more] for row, more in zip(rows, likeness_columns(found))]
    return tables.table(rows, padded=False)
