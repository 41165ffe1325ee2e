"""Reads CTranslate2's `model.bin`.

A file, little-endian: version (uint32), the specification's name and its revision (uint32), the number of variables
(uint32), the variables, and, from version 3 on, pairs of names: aliases of variables. A variable is its name, its rank
(uint8), its sizes (uint32), its type (uint8), the bytes of its data (uint32) and the data. A string is its length
(uint16), final zero included, and its bytes. A quantised matrix X has a companion X_scale, a value a row or one for
all: value = integer / scale.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from . import Unsupported
from .marian import Cursor

VERSIONS = range(4, 7)  # earlier versions do not state the data's type
TYPES = {0: np.dtype("<f4"), 1: np.dtype("i1"), 2: np.dtype("<i2"), 3: np.dtype("<i4"), 4: np.dtype("<f2"),
         5: np.dtype("<u2")}
BFLOAT16 = 5
MOST_VARIABLES = 1_000_000
MOST_AXES = 8
SCALE = "_scale"


@dataclass
class ModelFile:
    """tensors: float32 by name, with aliases; a matrix is [out, in]. scalars: attributes by name; those that are stored
    as whole numbers are int. int8: whether matrices are stored as int8, with one step per row."""

    version: int
    specification: str
    revision: int
    tensors: dict[str, Tensor]
    scalars: dict[str, float | int]
    int8: bool


def text(file: Cursor, what: str) -> str:
    (length,) = file.unpack("<H", what)
    return bytes(file.take(length, what)).rstrip(b"\0").decode()


def read_model(path: str | Path) -> ModelFile:
    """Reads a CTranslate2 model file. Raises ValueError with the file's name and the reason."""
    try:
        return parse(Path(path).read_bytes())
    except Unsupported as reason:
        raise Unsupported(f"{path}: {reason}") from None
    except (ValueError, struct.error) as reason:
        raise ValueError(f"{path}: not a readable CTranslate2 model: {reason}") from None


def parse(data: bytes) -> ModelFile:
    file = Cursor(data)
    (version,) = file.unpack("<I", "the version")
    if version not in VERSIONS:
        raise Unsupported(f"CTranslate2's format version {version}; readable are {VERSIONS[0]} to {VERSIONS[-1]}: "
                          "convert the original model again with a newer CTranslate2")
    specification = text(file, "the specification")
    revision, count = file.unpack("<II", "the header")
    if count > MOST_VARIABLES:
        raise ValueError(f"{count} variables; at most {MOST_VARIABLES}")
    stored = dict(variable(file, i) for i in range(count))
    if len(stored) < count:
        raise ValueError("it has two variables of one name")
    values, scalars = {}, {}
    for name, array in stored.items():
        if name.endswith(SCALE) and name[:-len(SCALE)] in stored:
            continue
        if array.ndim == 0:
            scalars[name] = array.item()
        else:
            values[name] = torch.from_numpy(floats(name, array, stored.get(name + SCALE)))
    (aliases,) = file.unpack("<I", "the aliases")
    if aliases > MOST_VARIABLES:
        raise ValueError(f"{aliases} aliases; at most {MOST_VARIABLES}")
    for _ in range(aliases):
        alias, name = text(file, "an alias"), text(file, "an alias")
        if name in values:
            values[alias] = values[name]
        elif name in scalars:
            scalars[alias] = scalars[name]
        elif name not in stored:
            raise ValueError(f"{alias} stands for {name}, which is missing")
    int8 = any(array.dtype == np.int8 and array.ndim == 2 for array in stored.values())
    return ModelFile(version, specification, revision, values, scalars, int8)


def variable(file: Cursor, index: int) -> tuple[str, np.ndarray]:
    name = text(file, f"variable {index}")
    (axes,) = file.unpack("<B", name)
    if axes > MOST_AXES:
        raise ValueError(f"{name} has {axes} axes; at most {MOST_AXES}")
    shape = file.unpack(f"<{axes}I", f"the shape of {name}")
    kind, size = file.unpack("<BI", name)
    if kind not in TYPES:
        raise Unsupported(f"{name} has CTranslate2's type {kind}; known are 0 to {max(TYPES)}")
    if math.prod(shape) * TYPES[kind].itemsize != size:
        raise ValueError(f"{name} of shape {list(shape)} has {size} bytes")
    array = np.frombuffer(file.take(size, name), TYPES[kind]).reshape(shape)
    return name, widened(array) if kind == BFLOAT16 else array


def widened(array: np.ndarray) -> np.ndarray:
    return (array.astype("<u4") << 16).view("<f4")


def floats(name: str, array: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    if scale is None:  # alignment heads or similar
        if name.endswith("weight"):
            raise Unsupported(f"{name} is stored as {array.dtype} without {name + SCALE}: convert the original model "
                              "again with a newer CTranslate2")
        return array.astype(np.float32)
    if scale.size not in (1, array.shape[0]):
        raise ValueError(f"{name} has {array.shape[0]} rows and {scale.size} scales")
    if not np.isfinite(scale).all() or (scale == 0).any():
        raise ValueError(f"{name} has a scale that is zero or not finite")
    return array.astype(np.float32) / scale.astype(np.float32).reshape(-1, *[1] * (array.ndim - 1))
