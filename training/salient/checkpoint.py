"""Checkpoints: files with a model's configuration and weights, and the state of the phase that trains it."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from .whole_file import whole_file


def read_checkpoint(path: Path) -> dict:
    """What `write_checkpoint` wrote; tensors are on the CPU. Raises ValueError if it is something else or damaged.
    PyTorch before 2.6 runs code that a file holds, so read none from strangers with it."""
    try:
        stored = torch.load(path, map_location="cpu")
    except OSError:
        raise
    except Exception:  # damage may raise any, and PyTorch's own message proposes to run the file's code
        stored = None
    if not isinstance(stored, dict) or not {"config", "model"} <= stored.keys():
        raise ValueError(f"{path}: no checkpoint of salient.train, or a damaged one; make it again")
    return stored


def write_checkpoint(path: Path, config: str, tensors: dict[str, torch.Tensor], **state: object) -> None:
    """config: its JSON. state: more entries, such as those of a phase that goes on later. Raises OSError if the file
    cannot be written."""
    with whole_file(path) as part:
        try:
            torch.save({"config": config, "model": tensors, **state}, part)
        except RuntimeError as reason:  # PyTorch's own, of a full disk
            said = str(reason).strip().splitlines()[0]
            raise OSError(f"{path}: it cannot be written ({said}); is the disk full?") from None


def load_tensors(model: nn.Module, tensors: dict[str, torch.Tensor], origin: Path | str, strict: bool = True):
    """As `load_state_dict`, but raises ValueError for tensors that are not those of the configuration."""
    try:
        return model.load_state_dict(tensors, strict=strict)
    except RuntimeError as reason:
        said = " ".join(str(reason).split("\n\t")[1:]) or str(reason)
        raise ValueError(f"{origin}: its tensors are not those of its config.json: {said[:500]}") from None
