"""What the commands share: they end with a message, not with a traceback, when they refuse what they were given."""

from __future__ import annotations

import argparse
import subprocess
import sys
from contextlib import contextmanager
from typing import Iterator


@contextmanager
def refusals(program: str) -> Iterator[None]:
    """Ends the program with a message if the block refuses its input, cannot read or write a file, or if a command
    that it runs fails (which has said why)."""
    try:
        yield
    except (ValueError, OSError) as reason:
        sys.exit(f"{program}: {reason}")
    except subprocess.CalledProcessError as failed:
        sys.exit(f"{program}: this command failed, with status {failed.returncode}: {' '.join(map(str, failed.cmd))}")


def positive(text: str) -> float:
    """The type of an option that is a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return number


def check_device(device: str) -> None:
    """Raises ValueError if PyTorch cannot use the device here."""
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as reason:  # an assertion: PyTorch was built without CUDA
        said = str(reason).strip().splitlines()[0]
        raise ValueError(f"--device: PyTorch cannot use {device!r} here ({said}); leave it out for the processor")
