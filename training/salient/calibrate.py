"""Fits parameters to text after training: the int8 step of selection keys, the biases of halting heads, the thresholds
of the confidence policy, the layer that aligns, and the characters that a model with markers has learned in bytes.

A geometric head predicts the probability that a token may leave. The best threshold on it differs between layers. So
each layer's threshold is tuned (thresholds.py), and the head's bias is moved so that the threshold becomes 0.5, the
default of `geometric`. A single threshold in a request then applies to all layers alike. The confidence has no bias to
move: its tuned thresholds stand in config.json, for requests that name none.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Iterable, Iterator

import torch
from torch import Tensor

from .alignment import fit_alignment
from .byte_characters import byte_characters
from .data import Corpus, chunks, refuse_other_data
from .model import Transformer
from .selection import SelectionLayer, SelectionRun
from .teacher_forcing import force, own_selection
from .thresholds import tuned
from .vocabulary import Vocabulary

QUANTILE = 0.9999  # share of the selection keys' components that int8 represents without clipping
# How much of the probability that the last exit gives its token one layer less may cost, on average. The confidence may
# cost more, for it takes a product over the vocabulary at each exit that is looked at.
EXIT_COST, CONFIDENCE_COST = 0.004, 0.01
CHUNKS, TOKENS = 64, 768  # number of chunks, and their tokens

Pairs = Iterable[tuple[Tensor, Tensor]]  # unpadded source [1, S] and target [1, T] chunks


def training_chunks(corpus: Corpus, count: int, most_tokens: int) -> list[tuple[Tensor, Tensor]]:
    """`count` chunks of whole passages from the training text."""
    found = []
    for source, target in chunks(corpus, random.Random(1), {most_tokens: 1.0}):
        found.append((torch.from_numpy(source)[None], torch.from_numpy(target)[None]))
        if len(found) == count:
            break
    return found


def told(pairs: list[tuple[Tensor, Tensor]], what: str) -> Iterator[tuple[Tensor, Tensor]]:
    """The same pairs, while progress is written to standard error."""
    for number, pair in enumerate(pairs, 1):
        print(f"\rcalibrating {what}: chunk {number} of {len(pairs)}", end="", file=sys.stderr, flush=True)
        yield pair
    print(file=sys.stderr)


def selection_layers(model: Transformer) -> list[SelectionLayer]:
    return [m for m in model.modules() if isinstance(m, SelectionLayer)]


@torch.no_grad()
def fit_key_steps(model: Transformer, pairs: Pairs) -> None:
    """Sets every key_inverse_step to 127 over a high quantile of |Ks|, positions applied."""
    seen: dict[SelectionLayer, list[Tensor]] = {layer: [] for layer in selection_layers(model)}
    hooks = [layer.register_forward_pre_hook(lambda m, inputs: seen[m].append(inputs[1].float().abs().flatten()))
             for layer in seen]
    trained = bool(model.config.selection.learned_ratio)
    for source, target in pairs:
        run = own_selection(model) if trained else SelectionRun(mode="supervise", measure=False)
        model.decode(target[:, :-1], source, model.encode(source, run), run)
    for hook in hooks:
        hook.remove()
    for layer, values in seen.items():
        sizes = torch.cat(values).sort().values
        high = sizes[min(len(sizes) - 1, int(QUANTILE * len(sizes)))]
        layer.key_inverse_step.copy_(127 / high.clamp_min(1e-6))


@torch.no_grad()
def fit_exits(model: Transformer, pairs: Pairs, exit_cost: float, confidence_cost: float = CONFIDENCE_COST) -> None:
    """Moves the biases of the geometric heads, so that 0.5 is the threshold with the least loss at every layer; sets
    the confidence's thresholds. One layer less may cost `exit_cost` or `confidence_cost`."""
    sparse = model.config.selection is not None and bool(model.config.selection.learned_ratio)
    forced = [force(model, source, target, sparse) for source, target in pairs]
    loss = torch.cat([f.loss for f in forced]).cpu()
    confidence = torch.cat([f.confidence for f in forced]).cpu()
    model.config.exits.confidence = [*tuned(confidence, loss, confidence_cost), 0.0]
    geometric = model.halting.geometric
    if geometric is not None:
        found = tuned(torch.cat([f.halting for f in forced]).cpu(), loss, exit_cost)
        geometric.bias[:len(found)] -= torch.tensor(found, device=geometric.bias.device).logit()


def calibrate(model: Transformer, data: Path, vocabulary: Vocabulary, count: int = CHUNKS,
              exit_cost: float = EXIT_COST) -> None:
    """Fits all on the model's device, on `count` chunks of the training text that `salient.prepare` wrote to the folder
    `data`. vocabulary: the model's."""
    corpus, device = Corpus.load(data / "train.npz"), model.output_bias.device
    refuse_other_data(model.config, corpus, data)
    pairs = [(source.to(device), target.to(device))
             for source, target in training_chunks(corpus, count, min(TOKENS, model.config.chunk_tokens))]
    if model.config.selection is not None:
        fit_key_steps(model, told(pairs, "steps of selection keys"))
    if model.config.exits is not None and model.config.decoder.layers > 1:
        fit_exits(model, told(pairs, "thresholds of exits"), exit_cost)
    fit_alignment(model, told(pairs, "the layer that aligns"), vocabulary)
    if model.config.tokens.markers is not None:
        model.config.tokens.byte_characters = byte_characters(corpus)
