"""Measures what the number format of stored keys and values (--kv-type) changes in memory-bound decoding of several
long documents at once. Two processes take turns on the same documents, with random weights and forced lengths."""

from __future__ import annotations

import statistics
from pathlib import Path

from .cases import WARM, Case, documents
from .environment import models
from .models import ModelConfig
from .protocol import Peer
from .variants import DENSE, SPARSE

TYPES = ("bf16", "int8")
SETTINGS = {"dense": DENSE, "selection of 5 %": {**SPARSE, "depth": DENSE["depth"]}}
OUT = 64  # target tokens of each document


def at_once(driver: Path, threads: int, rounds: int, quick: bool) -> list[list[str]]:
    """Rows: what is decoded, the setting, tokens per second with each type, int8 relative to bf16, megabytes of
    keys."""
    folder, _ = models("small" if quick else "base", converted=False)
    config = ModelConfig.load(folder)
    peers = {kv: Peer([str(driver)], {"model": str(folder), "threads": threads, "compute": "int8", "kv_type": kv})
             for kv in TYPES}
    length, counts = (128, (1, 2)) if quick else (2048, (1, 8))
    rows = []
    for count in counts:
        for name, run in SETTINGS.items():
            seconds, megabytes = take_turns(peers, config, Case("keys", "", [length] * count, cap=OUT), run, rounds)
            speeds = {kv: count * OUT / statistics.median(seconds[kv]) for kv in TYPES}
            ratio = statistics.median(a / b for a, b in zip(seconds["bf16"], seconds["int8"]))
            rows.append([f"{count} of {length:,} tokens", name, *(f"{speeds[kv]:.0f}" for kv in TYPES), f"{ratio:.2f}x",
                         *(f"{megabytes[kv]:.0f}" for kv in TYPES)])
    for peer in peers.values():
        peer.close()
    return rows


def take_turns(peers: dict[str, Peer], config: ModelConfig, case: Case, run: dict,
               rounds: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds of decoding per round, and megabytes of keys and values, by type."""
    def line(wanted: Case) -> dict:
        made = documents(wanted, config)
        return {"documents": [{key: d[key] for key in ("text", "length")} for d in made], **run}

    seconds: dict[str, list[float]] = {kv: [] for kv in peers}
    megabytes = {}
    for peer in peers.values():
        peer.ask(line(WARM))
    for turn in range(rounds):
        for kv in list(peers)[::1 if turn % 2 == 0 else -1]:
            told = peers[kv].ask(line(case))["documents"]
            seconds[kv].append(max(d["decode_seconds"] for d in told))
            megabytes[kv] = sum(d["peak_kv_bytes"] for d in told) / 1e6
    return seconds, megabytes
