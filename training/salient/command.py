"""What the commands share: help with defaults, and a message instead of a traceback when they refuse something."""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from contextlib import contextmanager
from typing import Callable, Iterator


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


class Help(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Keeps the lines of the description, and shows the default of each option that has a help text."""

    def _get_help_string(self, action: argparse.Action) -> str:
        is_flag = action.default is False or action.const is False  # says by itself what happens without it
        has = action.default not in (None, {}, [], argparse.SUPPRESS) and not is_flag
        if has and isinstance(action.default, dict):  # as it would be given
            return f"{action.help} (default: {','.join(f'{key}={value:g}' for key, value in action.default.items())})"
        return super()._get_help_string(action) if has else action.help


def number(least: float, most: float, kind: str) -> Callable[[str], float]:
    """The type of an option that is a number from `least` to `most`; kind: what the message calls it."""
    def parsed(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not least <= found <= most or math.isinf(found):
            raise argparse.ArgumentTypeError(f"{text!r} is no {kind}")
        return found

    return parsed


positive = number(sys.float_info.min, math.inf, "number above 0")
share = number(0, 1, "share, a number from 0 to 1")
not_negative = number(0, math.inf, "number from 0 on")


def whole(least: int, multiple: int = 1, most: int = sys.maxsize) -> Callable[[str], int]:
    """The type of an option that is a whole number from `least` to `most`, and a multiple of `multiple`."""
    def parsed(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = least - 1
        if not least <= found <= most or found % multiple:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} "
                                             + ("on" if most == sys.maxsize else f"to {most}")
                                             + (f" and a multiple of {multiple}" if multiple > 1 else ""))
        return found

    return parsed


def given(parser: argparse.ArgumentParser, arguments: list[str] | None = None) -> list[str]:
    """The names of the options that the command line has, also those that are given their default."""
    absent = object()
    names = vars(parser.parse_args(arguments))
    seen = parser.parse_args(arguments, argparse.Namespace(**dict.fromkeys(names, absent)))
    return [name for name, value in vars(seen).items() if value is not absent]


def check_device(device: str) -> None:
    """Raises ValueError if PyTorch cannot use the device here, or if it is none of those that this code knows."""
    import torch

    if device.split(":")[0] not in ("cpu", "cuda"):
        raise ValueError(f"--device: {device!r} is neither cpu nor cuda (or cuda:1); leave it out for the processor")
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as reason:  # an assertion: PyTorch was built without CUDA
        said = str(reason).strip().splitlines()[0]
        raise ValueError(f"--device: PyTorch cannot use {device!r} here ({said}); leave it out for the processor")
