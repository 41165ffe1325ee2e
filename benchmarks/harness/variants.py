"""The competitors: settings of CTranslate2, settings of Salient, and PyTorch.

An engine setting is a process. A variant is a process together with the request of a run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from .protocol import Peer

SALIENT, CTRANSLATE2, PYTORCH = "Salient", "CTranslate2", "PyTorch"


@dataclass
class Engine:
    """A program with one configuration. `start` gives the process, which all variants of a case share."""

    name: str
    command: list[str]
    setup: dict
    environment: dict[str, str] = field(default_factory=dict)
    peer: Peer | None = None

    def start(self) -> Peer:
        if self.peer is None:
            self.peer = Peer(self.command, self.setup, self.environment)
        return self.peer

    def stop(self) -> None:
        if self.peer is not None:
            self.peer.close()
        self.peer = None


@dataclass
class Variant:
    name: str
    family: str  # SALIENT, CTRANSLATE2 or PYTORCH
    engine: Engine
    run: dict = field(default_factory=dict)
    exact: bool = True  # same results as the model; false for a vocabulary map or a shortlist
    rounds: int = 1 << 30  # number of rounds after which it stops

    def ask(self, documents: list[dict]) -> dict:
        keep = {"text", "length", "at"} if self.family == SALIENT else {"ids", "tokens", "length", "at"}
        return self.engine.start().ask(
            {"documents": [{k: v for k, v in d.items() if k in keep} for d in documents], **self.run})


DENSE = {"selection": {"policy": "dense"}, "depth": {"policy": "full"}}
SPARSE = {"selection": {"policy": "learned"}, "depth": {"policy": "geometric", "threshold": 0.5}}
OURS = {"dense": DENSE, "selection and exits": SPARSE}
WITH_SHORTLIST = ", shortlist"


def salient_variants(driver: Path, model: Path, threads: int) -> list[Variant]:
    engine = Engine(SALIENT, [str(driver)], {"model": str(model), "threads": threads, "compute": "int8"})
    found = [Variant(name, SALIENT, engine, run) for name, run in OURS.items()]
    if (model / "shortlist.safetensors").exists():
        found += [Variant(name + WITH_SHORTLIST, SALIENT, engine, {**run, "shortlist": True}, exact=False)
                  for name, run in OURS.items()]
    return found


MKL, ONEDNN = {"CT2_USE_MKL": "1"}, {"CT2_USE_MKL": "0"}  # by default MKL on Intel's processors only


def ctranslate2_engines(model: Path, threads: int, few: bool) -> list[Engine]:
    """The settings of CTranslate2 that this processor supports."""
    def engine(name: str, compute: str, library: dict[str, str], inter: int = 1, **environment: str) -> Engine:
        setup = {"model": str(model), "compute": compute, "inter": inter, "intra": max(1, threads // inter)}
        return Engine(name, [sys.executable, "-m", "harness.ctranslate2_worker"], setup, {**library, **environment})

    engines = [engine("int8 oneDNN", "int8", ONEDNN), engine("float32 MKL", "float32", MKL)]
    if not few:
        engines += [
            engine("int8 MKL", "int8", MKL),
            engine("int8 MKL packed", "int8", MKL, CT2_USE_EXPERIMENTAL_PACKED_GEMM="1"),
            engine("int8 MKL AVX2", "int8", MKL, CT2_FORCE_CPU_ISA="AVX2"),
            engine("int8_float32 MKL", "int8_float32", MKL),
            engine("int16 MKL", "int16", MKL),
            engine("float32 oneDNN", "float32", ONEDNN),
        ]
        if threads > 1:
            engines += [engine(f"int8 {name}, {threads} workers", "int8", library, inter=threads)
                        for name, library in (("MKL", MKL), ("oneDNN", ONEDNN))]
    return supported(engines)


def supported(engines: list[Engine]) -> list[Engine]:
    """Which types are supported depends on the processor and on the library, so this asks CTranslate2 in each engine's
    environment."""
    types: dict[str, set[str]] = {}
    for engine in engines:
        key = json.dumps(engine.environment, sort_keys=True)
        if key not in types:
            types[key] = supported_types(engine.environment)
    return [e for e in engines if e.setup["compute"] in types[json.dumps(e.environment, sort_keys=True)]]


def supported_types(environment: dict[str, str]) -> set[str]:
    ask = "import ctranslate2; print(*ctranslate2.get_supported_compute_types('cpu'))"
    done = subprocess.run([sys.executable, "-c", ask], env={**os.environ, **environment}, capture_output=True,
                          text=True, check=True)
    return set(done.stdout.split())


def batchings(sizes: list[int], arriving: bool) -> dict[str, dict]:
    """Ways to give several documents to CTranslate2."""
    if arriving:
        return {"each by itself": {"arrivals": "each"}, "gathered": {"arrivals": "gather"}}
    if len(sizes) == 1:
        return {"": {}}
    whole = {"one batch": {"max_batch_size": 0}}
    # Tokens include padding. The smallest batch has the longest document only.
    by_tokens = {f"batches of {n} tokens": {"max_batch_size": n, "batch_type": "tokens"}
                 for n in sorted({max(sizes), 1024, 4096}) if max(sizes) <= n < len(sizes) * max(sizes)}
    return {**whole, **by_tokens}


def ctranslate2_variants(engines: list[Engine], sizes: list[int], arriving: bool) -> list[Variant]:
    return [Variant(", ".join(filter(None, [engine.name, name])), CTRANSLATE2, engine, run)
            for engine in engines for name, run in batchings(sizes, arriving).items()]


def with_vocabulary_map(variant: Variant) -> Variant:
    return Variant(f"{variant.name}, vocabulary map", CTRANSLATE2, variant.engine, {**variant.run, "vmap": True}, False,
                   rounds=3)


def pytorch_variants(model: Path, threads: int) -> list[Variant]:
    engine = Engine(PYTORCH, [sys.executable, "-m", "harness.pytorch_worker"],
                    {"model": str(model), "threads": threads})
    return [Variant("float32", PYTORCH, engine, rounds=1)]


def scaled(variant: Variant, factor: float) -> Variant:
    """The same way of batching, for documents `factor` times as long."""
    if variant.run.get("batch_type") != "tokens":
        return variant
    size = round(variant.run["max_batch_size"] * factor)
    name = variant.name.replace(f"of {variant.run['max_batch_size']} tokens", f"of {size} tokens")
    return replace(variant, name=name, run={**variant.run, "max_batch_size": size})
