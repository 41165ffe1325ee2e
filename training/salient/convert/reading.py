"""What the readers share: damaged files and missing settings become a ValueError with the file's name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Iterator

import torch
import yaml
from torch import Tensor

from .. import command
from . import Unsupported

DAMAGE = (ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RuntimeError, TypeError, ValueError,
          yaml.YAMLError, zipfile.BadZipFile, zlib.error)
LICENCE = re.compile(r"licen[cs]|CC-BY", re.IGNORECASE)
LICENCE_FIELD = re.compile(r"^\W*licen[cs]e\W*:\W*", re.IGNORECASE)


@contextmanager
def refusals(program: str) -> Iterator[None]:
    """Ends the program with a message if the block refuses a model."""
    with command.refusals(program):
        try:
            yield
        except Unsupported as reason:
            raise ValueError(f"not supported: {reason}") from None


@contextmanager
def wrong_kinds(folder: Path) -> Iterator[None]:
    """Refuses a model with a setting whose value has a kind that no reader expects, such as a list for a number."""
    try:
        yield
    except (ValueError, OSError):
        raise
    except DAMAGE as reason:
        raise ValueError(f"{folder}: one of its settings has a value of a wrong kind, or a file is damaged "
                         f"({type(reason).__name__}: {reason}); get the model again") from None


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Whatever the block raises because the file is damaged becomes a ValueError."""
    try:
        yield
    except DAMAGE as reason:
        raise ValueError(f"{path}: not a readable {kind}: {reason}") from None


def read_json(path: Path) -> dict:
    """A file's object; an empty one if there is no such file."""
    if not path.exists():
        return {}
    with reading(path, "JSON file"):
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it must be an object")
    return found


def whole_number(settings: dict, name: str, file: str, *, least: int = 1, default: int | None = None) -> int:
    """file: that of the settings, for the message. default: if the setting is missing or null."""
    value = default if settings.get(name) is None else settings[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{file}: {name} is {'missing' if value is None else repr(value)}; it must be a whole number, "
                         f"{least} or more")
    return value


READ_PIECES = """
import json, sys, sentencepiece
model = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
json.dump([model.id_to_piece(i) for i in range(model.get_piece_size())], sys.stdout)
"""


def pieces_of(path: Path) -> list[str]:
    """The pieces of a SentencePiece model."""
    facts = path.stat()
    return list(read_pieces(path.absolute(), facts.st_size, facts.st_mtime_ns))


@lru_cache
def read_pieces(path: Path, size: int, changed: int) -> list[str]:
    """By a process of its own: damage may end the process in which the library meets it. -P: no code of this folder."""
    safe = ["-P"] if sys.version_info >= (3, 11) else []
    done = subprocess.run([sys.executable, *safe, "-c", READ_PIECES, path], capture_output=True, text=True)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"the library ended with {done.returncode}"]
        raise ValueError(f"{path}: not a readable SentencePiece model: {said[-1].strip()}")
    return json.loads(done.stdout)


def number(pieces: list[str] | dict[str, int], token: str, what: str) -> int:
    """The number of a special token."""
    if token not in pieces:
        raise Unsupported(f"the vocabulary lacks {token!r}, the {what} token")
    return pieces[token] if isinstance(pieces, dict) else pieces.index(token)


@dataclass
class Tensors:
    """Hands out a model's tensors, and remembers which were used: an unused tensor means that something would be
    missing."""

    tensors: Mapping[str, Tensor]
    taken: set[str] = field(default_factory=set)

    def find(self, *names: str) -> Tensor | None:
        """The first of the names that is there; the others are not used."""
        for name in names:
            if name in self.tensors:
                self.taken.add(name)
                return self.tensors[name]
        return None

    def need(self, *names: str) -> Tensor:
        found = self.find(*names)
        if found is None:
            raise Unsupported(f"the model has no {' or '.join(names)}")
        return found


def matrix(tensor: Tensor, name: str) -> Tensor:
    if tensor.dim() != 2:
        raise Unsupported(f"{name} has shape {list(tensor.shape)}; it must be a matrix")
    return tensor


def side_by_side(tensors: list[Tensor], names: list[str]) -> Tensor:
    try:
        return torch.cat(tensors)
    except RuntimeError:
        shapes = ", ".join(f"{name} has shape {list(t.shape)}" for name, t in zip(names, tensors))
        raise Unsupported(f"the model's parts do not fit each other: {shapes}") from None


def licence(folder: Path) -> str:
    """What the folder says of its licence in a line; empty if it says nothing."""
    for path in (folder / "README.md", folder / "LICENSE"):
        if path.exists():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            found = [LICENCE_FIELD.sub("", line).strip().rstrip(".") for line in lines
                     if LICENCE.search(line) and not line.startswith("#")]
            if any(found):
                return next(filter(None, found))
    return ""
