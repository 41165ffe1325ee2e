"""Arrangements of feed-forward blocks, and a plain Transformer: models that are trained from scratch or converted."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Callable

import torch
from torch import Tensor

from ..checkpoint import read_checkpoint, write_checkpoint
from ..config import FeedForward, ModelConfig, Positions
from ..data import Corpus
from ..evaluation.tokens import chunks
from ..export import export, load_checkpoint
from ..model import Transformer
from ..train import load
from ..vocabulary import TOKENIZER, Vocabulary
from .likeness import layer_states, likeness, normalised
from .measured import Measured, measure, table, test_set, translate, translations
from .runs import Suite, batches_and_place, chosen, length, place_of, train

LIKENESS_TOKENS = 1024  # of a chunk
SECOND_SEED = "Transformer, a second seed"


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


def start_flags(o: argparse.Namespace, config: ModelConfig, place: Path) -> list[str]:
    if o.start is None:
        return ["--config", str(place / "config.json"), "--warmup", "30"]
    stored = load(o.start)
    tensors = converted(stored["model"], ModelConfig.from_json(stored["config"]), config)
    write_checkpoint(place / "start.pt", config.to_json(), tensors)
    return ["--start", str(place / "start.pt"), "--lr", "0.0005", "--matrix-lr", "0.005", "--warmup", "5"]


def trained_run(o: argparse.Namespace, name: str, config: ModelConfig, place: Path, dev: Corpus,
                *flags: str) -> tuple[Measured, Transformer]:
    print(f"{o.suite}: {name}", file=sys.stderr)
    (place / "config.json").write_text(config.to_json())
    train(o, "base", place / "base.pt", *start_flags(o, config, place), *flags)
    model = load_checkpoint(place / "base.pt")
    export(model, o.data / TOKENIZER, place)
    found = measure(name, model, dev, None, o.tokens)
    found.steps = read_checkpoint(place / "base.pt")["step"]
    return found, model


def compares(o: argparse.Namespace) -> bool:
    """Whether the models' states are compared with those of the first run, and of its second seed."""
    return o.suite == "ffn" and o.test is not None


def suite(configurations: Callable[[ModelConfig], dict[str, ModelConfig]], o: argparse.Namespace, folder: Path,
          dev: Corpus) -> list[dict]:
    runs = chosen(o, configurations(ModelConfig.from_json(o.config.read_text())))
    flags = {name: [] for name in runs}
    first = next(iter(runs))
    if compares(o):
        runs[SECOND_SEED], flags[SECOND_SEED] = runs[first], ["--seed", "2"]
    found, states, text = [], {}, None
    for name, config in runs.items():
        place = place_of(folder, name)
        m, model = trained_run(o, name, config, place, dev, *flags[name])
        found.append(m)
        if compares(o):
            text = text or chunks(test_set(o).documents, Vocabulary(place, model.config), LIKENESS_TOKENS)
            states[name] = layer_states(model, text)
    if compares(o):
        seeds = likeness(states[first], states[SECOND_SEED])
        for m in found[1:]:
            m.likeness = normalised(likeness(states[first], states[m.name]), seeds)
    translate(o, [place_of(folder, m.name) for m in found], found)
    return [asdict(m) for m in found]


def conditions(o: argparse.Namespace) -> str:
    config = ModelConfig.from_json(o.config.read_text())
    origin = "One trained model, converted to each and trained on" if o.start else "From scratch"
    more = ""
    if o.suite == "plain":
        more = (" Data, chunks, batches, optimiser and schedule are the same; the rates are those that Salient's "
                "recipe found for itself.")
    elif compares(o):
        more = (" Similarity to the first run: the states after corresponding layers, a row a segment of the reference "
                f"translations of `{o.test.name}`, mean over layers, as a share of that of the two seeds.")
    return (f"{origin}: {length(o)} each, {batches_and_place(o)}; {config.encoder.layers} encoder and "
            f"{config.decoder.layers} decoder layers, width {config.d_model}, feed-forward {config.encoder.ffn.width}."
            f"{more}{translations(o, config.chunk_tokens)}")


FFN = Suite("Feed-forward configurations, from scratch", partial(suite, ffn_configurations), table, conditions,
            needs=("config",), refuses=("start",))
CONVERTED = Suite("Feed-forward configurations, converted", partial(suite, ffn_configurations), table, conditions,
                  needs=("config", "start"))
PLAIN = Suite("Against a plain Transformer", partial(suite, plain_configurations), table, conditions,
              needs=("config",), refuses=("start",))
