"""Reads and writes `model.safetensors`, without a further package.

A file is an 8-byte little-endian header length, a JSON header {name: {dtype, shape, data_offsets}}, then the data.
Stored types are F32, BF16, and I8 with a companion "<name>.scale" of one F32 value a row: value = scale * integer.
Arrays of token ids are U16, or U32 if an id needs it.
A folder holds one `model.safetensors`, or shards and `model.safetensors.index.json`, as Hugging Face lays them out.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from .whole_file import whole_file

NAMES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.int8: "I8"}
TYPES = {name: dtype for dtype, name in NAMES.items()}
ID_TYPES = {"U16": "<u2", "U32": "<u4"}
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
SCALE = ".scale"


def bytes_of(tensor: Tensor) -> memoryview | bytes:
    """The tensor's data in memory; not a copy, if it is contiguous there."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    flat = flat.view(torch.int16) if flat.dtype == torch.bfloat16 else flat
    return memoryview(flat.numpy()).cast("B") if len(flat) else b""


def write_file(path: Path, tensors: dict[str, Tensor]) -> None:
    write_stored(path, {name: (NAMES[t.dtype], list(t.shape), bytes_of(t)) for name, t in tensors.items()})


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Writes arrays of token ids."""
    def stored(a: np.ndarray) -> tuple[str, list[int], bytes]:
        kind = "U16" if a.max(initial=0) < 1 << 16 else "U32"
        return kind, list(a.shape), a.astype(ID_TYPES[kind]).tobytes()

    write_stored(path, {name: stored(a) for name, a in arrays.items()})


def write_stored(path: Path, tensors: dict[str, tuple[str, list[int], memoryview | bytes]]) -> None:
    """tensors: by name (type, shape, data)."""
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the data starts at a multiple of 8 bytes
    with whole_file(path) as part, open(part, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def read_file(path: Path) -> dict[str, Tensor]:
    """All tensors, in the types of NAMES."""
    tensors = {}
    for name, (dtype, shape, data) in read_stored(path).items():
        if dtype not in TYPES:
            raise ValueError(f"{path}: tensor {name} has type {dtype}; readable are {', '.join(TYPES)}")
        empty = torch.empty(0, dtype=TYPES[dtype])
        tensors[name] = (torch.frombuffer(data, dtype=TYPES[dtype]) if data else empty).reshape(shape)
    return tensors


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Reads what write_arrays wrote."""
    arrays = {}
    for name, (dtype, shape, data) in read_stored(path).items():
        if dtype not in ID_TYPES:
            raise ValueError(f"{path}: tensor {name} has type {dtype}; token ids are {' or '.join(ID_TYPES)}")
        arrays[name] = np.frombuffer(data, ID_TYPES[dtype]).reshape(shape)
    return arrays


WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2, "I8": 1, "U8": 1,
          "BOOL": 1}


def read_stored(path: Path) -> dict[str, tuple[str, list[int], memoryview]]:
    """Type, shape and data of every tensor, checked against each other; the data are parts of the file's only copy in
    memory. Raises ValueError, with the file's name, if it is something else or damaged."""
    data = memoryview(bytearray(path.stat().st_size))
    with open(path, "rb") as file:
        data = data[:file.readinto(data)]
    if len(data) < 8:
        raise ValueError(f"{path}: too short for a safetensors header")
    (length,) = struct.unpack_from("<Q", data)
    if length > len(data) - 8:
        raise ValueError(f"{path}: the header says {length} bytes, the file has {len(data) - 8}")
    header, body = header_of(path, bytes(data[8:8 + length])), data[8 + length:]
    tensors = {}
    for name, (dtype, shape, begin, end) in header.items():
        if dtype not in WIDTHS:
            raise ValueError(f"{path}: tensor {name} has type {dtype}; readable are {', '.join(WIDTHS)}")
        if not 0 <= begin <= end <= len(body) or end - begin != math.prod(shape) * WIDTHS[dtype]:
            raise ValueError(f"{path}: tensor {name} of shape {shape} does not fit bytes {begin} to {end}")
        aligned = (8 + length + begin) % WIDTHS[dtype] == 0
        tensors[name] = dtype, shape, body[begin:end] if aligned else memoryview(bytearray(body[begin:end]))
    return tensors


def header_of(path: Path, text: bytes) -> dict[str, tuple[str, list[int], int, int]]:
    """By a tensor's name: type, shape, and where its data begin and end."""
    try:
        found = {}
        for name, entry in json.loads(text).items():
            if name == "__metadata__":
                continue
            shape, (begin, end) = entry["shape"], entry["data_offsets"]
            if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)):
                raise ValueError(f"tensor {name} has a size or an offset that is no whole number from 0 on")
            found[name] = str(entry["dtype"]), list(shape), begin, end
        return found
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as reason:
        raise ValueError(f"{path}: its header cannot be read ({type(reason).__name__}: {reason}); the file is damaged, "
                         "or no safetensors file") from None


def quantise_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Symmetric int8 with one step per row: weight is about integers * scale[:, None]."""
    scale = weight.float().abs().amax(1).clamp_min(1e-12) / 127
    return torch.round(weight.float() / scale.unsqueeze(1)).clamp_(-127, 127).to(torch.int8), scale


def write_folder(folder: Path, tensors: dict[str, Tensor], shard_bytes: int) -> list[Path]:
    """Writes tensors to files with at most shard_bytes of data each. A single larger tensor gets a file of its own."""
    shards: list[dict[str, Tensor]] = [{}]
    sizes = [0]
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        if shards[-1] and sizes[-1] + size > shard_bytes:
            shards.append({})
            sizes.append(0)
        shards[-1][name] = tensor
        sizes[-1] += size
    for old in [*folder.glob("model*.safetensors"), folder / INDEX]:
        old.unlink(missing_ok=True)  # a reader must not find files of an earlier export
    if len(shards) == 1:
        write_file(folder / SINGLE, shards[0])
        return [folder / SINGLE]
    paths = [folder / f"model-{i + 1:05d}-of-{len(shards):05d}.safetensors" for i in range(len(shards))]
    for path, shard in zip(paths, shards):
        write_file(path, shard)
    places = {name: path.name for path, shard in zip(paths, shards) for name in shard}
    (folder / INDEX).write_text(
        json.dumps({"metadata": {"total_size": sum(sizes)}, "weight_map": places}, indent=2) + "\n")
    return [*paths, folder / INDEX]


def shards_of(folder: Path) -> dict[str, str]:
    """The file of each tensor, by the folder's index."""
    index = folder / INDEX
    try:
        places = dict(json.loads(index.read_text(encoding="utf-8"))["weight_map"])
        outside = [file for file in places.values() if Path(file).name != file]
    except (KeyError, TypeError, ValueError) as reason:
        raise ValueError(f"{index}: it has no readable weight_map, the file of each tensor "
                         f"({type(reason).__name__}: {reason})") from None
    if outside:
        raise ValueError(f"{index}: {outside[0]} is not a file of the folder itself")
    return places


def read_folder(folder: Path) -> dict[str, Tensor]:
    """All tensors of a model folder by name, widened to fp32."""
    if (folder / INDEX).exists():
        places = shards_of(folder)
        stored: dict[str, Tensor] = {}
        for file in sorted(set(places.values())):
            shard = read_file(folder / file)
            stored.update({name: tensor for name, tensor in shard.items() if places.get(name) == file})
        missing = set(places) - set(stored)
        if missing:
            raise ValueError(f"{folder / INDEX} lists tensors that its shards lack: {', '.join(sorted(missing))}")
    else:
        stored = read_file(folder / SINGLE)
    widened = {}
    for name, tensor in stored.items():
        if name.endswith(SCALE) and name[:-len(SCALE)] in stored:
            continue
        if tensor.dtype == torch.int8:
            scale = stored.get(name + SCALE)
            if tensor.dim() != 2 or scale is None or scale.shape != tensor.shape[:1]:
                raise ValueError(f"{folder}: the int8 tensor {name} needs {name + SCALE}, one value for each of its "
                                 "rows")
            tensor = tensor.float() * scale.unsqueeze(1)
        widened[name] = tensor.float()
    return widened
