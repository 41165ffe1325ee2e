"""Several exported models side by side: the feed-forward configurations, or ablations of selection.

A folder holds a model folder each, `name/config.json` and its files, as `salient.export` writes them. A training log
`name.jsonl` or `name/*.jsonl` beside it, if there is one, gives the last `dev_nll_by_exit` of training.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..config import ModelConfig
from ..tensor_file import read_folder


@dataclass
class Variant:
    name: str
    folder: Path
    config: ModelConfig
    parameters: int
    logged_nll: float | None  # the last exit's


def logged_nll(logs: list[Path]) -> float | None:
    """The last exit's loss in the last line that has one."""
    found = None
    for path in logs:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # logs hold words between their lines of JSON
            if not isinstance(entry, dict):
                continue
            losses = entry.get("dev_nll_by_exit") or entry.get("dev_nll_last")
            found = losses[-1] if losses else found
    return found


def parameters(folder: Path) -> int:
    """Weights and biases; not the int8 step that calibration fits."""
    tensors = read_folder(folder)
    return sum(t.numel() for name, t in tensors.items() if not name.endswith("key_inverse_step"))


def find_variants(folder: Path) -> list[Variant]:
    found = []
    for path in sorted(folder.glob("*/config.json")):
        place = path.parent
        if not list(place.glob("*.safetensors")):
            continue
        logs = [p for p in (folder / f"{place.name}.jsonl", *sorted(place.glob("*.jsonl"))) if p.exists()]
        found.append(Variant(place.name, place, ModelConfig.load(place), parameters(place), logged_nll(logs)))
    if not found:
        raise ValueError(f"{folder}: no exported models in it; each is a folder with config.json and *.safetensors")
    return found


def ffn_text(config: ModelConfig) -> str:
    return " / ".join(f"{s.ffn.kind} {s.ffn.width}" if s.ffn.kind in ("own", "shared") else s.ffn.kind
                      for s in (config.encoder, config.decoder))
