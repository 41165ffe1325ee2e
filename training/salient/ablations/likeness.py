"""How alike two models are that were trained apart: table 5 of arXiv 2309.01826."""

from __future__ import annotations

import torch

from ..evaluation.similarity import linear_cka, local_similarity, module_names, neighbours, representations
from ..evaluation.tokens import Chunk
from ..model import Transformer


def layer_states(model: Transformer, chunks: list[Chunk]) -> list[list[torch.Tensor]]:
    """[encoder, decoder]: the state after each layer, [segments, d]. Layers may have different blocks, so only the last
    block of each is kept."""
    sides = zip(module_names(model), representations(model, chunks))
    return [list({name.split()[0]: states for name, states in zip(names, blocks)}.values()) for names, blocks in sides]


def likeness(a: list[list[torch.Tensor]], b: list[list[torch.Tensor]]) -> dict[str, float]:
    """CKA and LNS of corresponding layers, mean over the layers of each side."""
    found = {}
    for side, ours, theirs in zip(("encoder", "decoder"), a, b):
        found[f"{side} CKA"] = sum(map(linear_cka, ours, theirs)) / len(ours)
        near = [[neighbours(x) for x in states] for states in (ours, theirs)]
        found[f"{side} LNS"] = sum(map(local_similarity, *near)) / len(ours)
    return found


def normalised(found: dict[str, float], seeds: dict[str, float]) -> dict[str, float]:
    return {name: value / seeds[name] for name, value in found.items()}
