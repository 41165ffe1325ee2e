"""Another order of a model's width, which changes nothing that the model computes."""

from __future__ import annotations

import torch
from torch import Tensor

FROM_WIDTH = ("query", "key_value", "query_key_value", "up")  # matrices [rows, width]
TO_WIDTH = ("attention.output", "down")  # [width, columns]; their biases are of the width


def pairs_apart(width: int) -> Tensor:
    """The order for sinusoids that alternate, sine and cosine of each frequency: all sines first."""
    return torch.arange(width).reshape(-1, 2).t().reshape(-1)


def reordered(tensors: dict[str, Tensor], order: Tensor) -> dict[str, Tensor]:
    """The tensors of a converted model, with component order[i] of every state as component i."""
    def of(name: str, tensor: Tensor) -> Tensor:
        part, _, kind = name.rpartition(".")
        if name == "output_bias":
            return tensor
        if "norm" in part or part.endswith(TO_WIDTH):
            return tensor[order]
        if part.endswith(FROM_WIDTH):
            return tensor[:, order] if kind == "weight" else tensor
        if part in ("embedding", "source_embedding", "output"):
            return tensor[:, order]
        raise ValueError(f"{name}: which of its dimensions is the width?")

    return {name: of(name, tensor) for name, tensor in tensors.items()}
