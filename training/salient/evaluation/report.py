"""The page that a run leaves: conditions, then a section after the other, written again as each is finished."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from .run import Run, Section


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def conditions(run: Run, command: str) -> str:
    size = "a sample of every set (`--quick`)" if run.quick else "every set whole"
    return "\n".join([
        f"- command: `{command}`; {size}",
        f"- model: `{run.config.name}`, hash `{run.engine.model_hash}`; window {run.config.window:,} tokens",
        f"- engine: `salient-server` of hash `{run.engine.program_hash}`, default arithmetic of the processor",
        f"- {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores of {processor()}, load {os.getloadavg()[1]:.1f} in "
        "the last five minutes: times are comparable within a table",
    ])


def page(run: Run, command: str, sections: list[Section]) -> str:
    parts = ["# Quality", "Written by `training/evaluate`; do not edit. Translations are the engine's, over gRPC, "
             "greedy where no beam is named.", conditions(run, command)]
    parts += [f"## {s.title}\n\n{s.body}" for s in sections]
    if run.signatures:
        parts.append("## Signatures\n\n" + "\n".join(f"- {s}" for s in run.signatures))
    return "\n\n".join(parts) + "\n"
