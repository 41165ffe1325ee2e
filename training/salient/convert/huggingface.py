"""Reads the weights of Hugging Face folders: `model.safetensors`, or `pytorch_model.bin`; whole, or in shards."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..tensor_file import read_stored
from .reading import read_json, reading

FLOATS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors as float32: model.safetensors, its shards, or pytorch_model.bin."""
    index = folder / "model.safetensors.index.json"
    places = read_json(index).get("weight_map", {})
    with reading(index, "index"):
        files = sorted({folder / name for name in places.values()}) or [folder / "model.safetensors"]
    if all(path.exists() for path in files):
        found: dict[str, Tensor] = {}
        for path in files:
            with reading(path, "safetensors file"):
                for name, (kind, shape, data) in read_stored(path).items():
                    if kind in FLOATS:
                        found[name] = torch.from_numpy(floats(kind, data).reshape(shape))
        return found
    whole = folder / "pytorch_model.bin"  # other names are shards, or variants such as pytorch_model.fp16.bin
    pickled = [whole] if whole.exists() else sorted(folder.glob("pytorch_model-*-of-*.bin"))
    if not pickled:
        missing = [path.name for path in files if not path.exists()]
        raise ValueError(f"{folder}: no weights: neither {', '.join(missing[:3])} nor pytorch_model.bin is there")
    found = {}
    for path in pickled:
        found.update(unpickled(path))
    return {name: t.float() for name, t in found.items() if torch.is_tensor(t)}


def unpickled(path: Path) -> dict:
    """The tensors of a pytorch_model.bin. PyTorch before 2.6 runs the code in a TorchScript archive, and extracts a tar
    archive, whatever `weights_only` says."""
    with reading(path, "archive"):
        names = zipfile.ZipFile(path).namelist() if zipfile.is_zipfile(path) else []
    scripted = any(Path(name).name == "constants.pkl" for name in names)
    if scripted or tarfile.is_tarfile(path):
        raise ValueError(f"{path}: a TorchScript or tar archive, which may run code; save the model as safetensors")
    try:
        part = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # damage may raise any, and PyTorch's own message proposes to run the file's code
        raise ValueError(f"{path}: it is damaged, or holds more than tensors; get it again, or save the model as "
                         "safetensors") from None
    if not isinstance(part, dict):
        raise ValueError(f"{path}: it is no table of tensors")
    return part


def floats(kind: str, data: memoryview) -> np.ndarray:
    values = np.frombuffer(data, FLOATS[kind])
    return (values.astype("<u4") << 16).view("<f4") if kind == "BF16" else values.astype(np.float32, copy=False)
