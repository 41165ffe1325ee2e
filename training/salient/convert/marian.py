"""Reads Marian's model files: `.npz`, and `.bin` with float32 or intgemm matrices (Bergamot's students).

A `.bin` file, little-endian: version 1 (uint64), number of items n (uint64), n headers of four uint64 (length of the
name with its final zero, type, rank, bytes of data), the names, the shapes (int32), a count of padding bytes (uint64),
the padding, then the items' data one after another. An item of a type of INTGEMM (int8 or int16) is a matrix of
integers = value * multiplier; its multiplier is the float32 that follows its elements. It is stored transposed but for
the embedding ("Wemb" in its name). `NAME_QuantMultA` is the multiplier (alpha) of the activations that NAME is
multiplied with; that of the output layer, which has no name, is `none_QuantMultA`. The item `special:model.yml` is the
model's configuration.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError

import numpy as np
import torch
import yaml
from torch import Tensor

from . import Unsupported

VERSION = 1
MOST_ITEMS = 100_000
LONGEST_NAME = 4096
MOST_AXES = 8
MOST_UNPACKED = 16 << 30  # bytes of a .npz, whose arrays may be compressed
PLAIN = {0x0101: "<i1", 0x0402: "<f2", 0x0404: "<f4", 0x0408: "<f8"}
INTGEMM = {0x4101: "<i1", 0x4102: "<i2", 0x10001: "<i1", 0x10002: "<i2"}  # Bergamot's numbers, and Marian's own
OPTIONS = "special:model.yml"
ALPHA = "_QuantMultA"


@dataclass
class MarianModel:
    """tensors: float32 in Marian's shapes, a matrix as [in, out], by Marian's names. alphas: by a matrix's name, the
    multiplier of the activations that an int8 matrix is multiplied with; empty if not stored. options: the
    configuration that the model was trained with."""

    tensors: dict[str, Tensor]
    alphas: dict[str, float]
    options: dict


@dataclass
class Item:
    name: str
    type: int
    shape: tuple[int, ...]
    data: memoryview

    @property
    def count(self) -> int:
        return math.prod(self.shape)


def read_model(path: str | Path) -> MarianModel:
    """Reads a Marian model file. Raises ValueError with the file's name and the reason."""
    path = Path(path)
    try:
        return read_npz(path) if path.suffix == ".npz" else read_bin(path)
    except Unsupported as reason:
        raise Unsupported(f"{path}: {reason}") from None
    except (ValueError, MemoryError, zipfile.BadZipFile, zlib.error, EOFError, SyntaxError, TokenError) as reason:
        raise ValueError(f"{path}: not a readable Marian model: {reason}") from None


def read_npz(path: Path) -> MarianModel:
    tensors, options = {}, None
    with zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_UNPACKED:
            raise ValueError(f"it unpacks to more than {MOST_UNPACKED >> 30} GB")
    with np.load(path, allow_pickle=False) as stored:
        for name in stored.files:
            array = stored[name]
            if name == OPTIONS:
                options = array.tobytes()
            elif array.dtype.kind == "f":
                tensors[name] = torch.from_numpy(array.astype(np.float32))
            elif not name.startswith("special:"):
                raise Unsupported(f"tensor {name} has type {array.dtype}; supported are floating point types")
    return split(tensors, options)


def read_bin(path: Path) -> MarianModel:
    tensors, options = {}, None
    for item in items(path.read_bytes()):
        if item.name == OPTIONS:
            options = bytes(item.data)
        elif not item.name.startswith("special:"):
            tensors[item.name] = value(item)
    return split(tensors, options)


class Cursor:
    """Takes structures from the front of a file's bytes. Raises ValueError if there are too few."""

    def __init__(self, data: bytes):
        self.data, self.at = memoryview(data), 0

    def take(self, count: int, what: str) -> memoryview:
        if not 0 <= count <= len(self.data) - self.at:
            raise ValueError(f"{what} needs {count} bytes at byte {self.at}; the file has {len(self.data)}")
        self.at += count
        return self.data[self.at - count:self.at]

    def unpack(self, layout: str, what: str) -> tuple:
        return struct.unpack(layout, self.take(struct.calcsize(layout), what))


def items(data: bytes) -> list[Item]:
    file = Cursor(data)
    version, count = file.unpack("<QQ", "the header")
    if version != VERSION:
        raise ValueError(f"version {version}; readable is {VERSION}")
    if count > MOST_ITEMS:
        raise ValueError(f"{count} items; at most {MOST_ITEMS}")
    headers = [file.unpack("<QQQQ", f"header {i}") for i in range(count)]
    names, shapes = [], []
    for length, _, _, _ in headers:
        if not 1 <= length <= LONGEST_NAME:
            raise ValueError(f"a name of {length} bytes; at most {LONGEST_NAME}")
        names.append(bytes(file.take(length, "a name"))[:-1].decode())
    for (_, _, axes, _), name in zip(headers, names):
        if axes > MOST_AXES:
            raise ValueError(f"{name} has {axes} axes; at most {MOST_AXES}")
        shapes.append(file.unpack(f"<{axes}i", f"the shape of {name}"))
        if any(size < 0 for size in shapes[-1]):
            raise ValueError(f"{name} has the shape {list(shapes[-1])}")
    file.take(file.unpack("<Q", "the padding")[0], "the padding")
    return [Item(name, header[1], shape, file.take(header[3], name))
            for header, name, shape in zip(headers, names, shapes)]


def value(item: Item) -> Tensor:
    """The values of an item as float32, in the item's shape."""
    integer = INTGEMM.get(item.type)
    kind = np.dtype(integer or PLAIN.get(item.type) or refuse(item))
    needed = item.count * kind.itemsize + (4 if integer else 0)
    if needed > len(item.data):
        raise ValueError(f"{item.name} of shape {list(item.shape)} needs {needed} bytes and has {len(item.data)}")
    values = np.frombuffer(item.data, kind, item.count).astype(np.float32)
    if integer:
        (multiplier,) = struct.unpack_from("<f", item.data, item.count * kind.itemsize)
        if not np.isfinite(multiplier) or multiplier == 0:
            raise ValueError(f"{item.name} has the quantisation multiplier {multiplier}")
        values = values / np.float32(multiplier)
        if "Wemb" not in item.name:
            rows = math.prod(item.shape[:-1])
            values = values.reshape(item.shape[-1], rows).T
    return torch.from_numpy(np.ascontiguousarray(values.reshape(item.shape)))


def refuse(item: Item):
    raise Unsupported(f"tensor {item.name} has Marian's type {item.type:#x}, packed for one kind of processor: "
                      "convert the original float32 model, or the intgemm8 one")


def split(tensors: dict[str, Tensor], options: bytes | None) -> MarianModel:
    if options is None:
        raise ValueError(f"it has no {OPTIONS}, which Marian writes with every model")
    try:
        parsed = yaml.safe_load(options.rstrip(b"\0").decode())
    except (yaml.YAMLError, UnicodeDecodeError) as reason:
        raise ValueError(f"{OPTIONS} cannot be read: {reason}") from None
    if not isinstance(parsed, dict):
        raise ValueError(f"{OPTIONS} is not a mapping")
    alphas = {name[:-len(ALPHA)]: float(tensor.reshape(-1)[0])
              for name, tensor in tensors.items() if name.endswith(ALPHA) and tensor.numel()}
    return MarianModel({name: t for name, t in tensors.items() if not name.endswith(ALPHA)}, alphas, parsed)
