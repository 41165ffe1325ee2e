"""The page of a run: its conditions, then the sections. It is written again when a section is finished.

Sections are stored beside the translations, with the time and the engine of their measurement. So a run of some
sections (`--only`) replaces these and keeps the others of the same model, data and sizes; times can be measured when
the machine is quiet. Text that is written by hand in OUT/notes/NAME.md is added at the end of the section NAME.
"""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ..whole_file import whole_file
from .engine import file_hash
from .run import Run, Section


@dataclass
class Kept:
    """The results of a section."""

    title: str
    body: str
    command: str
    engine: str  # hash of the server
    started: str  # when the run that made it started
    load: float


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def runs(sections: list[Kept]) -> list[str]:
    """One line per run: its command, the engine, the time, the load, and its sections if there are several runs."""
    lines, groups = [], {}
    for s in sections:
        groups.setdefault((s.started, s.command, s.engine), []).append(s)
    for (started, command, engine), found in sorted(groups.items()):
        loads = sorted(s.load for s in found)
        titles = f": {', '.join(s.title for s in found)}" if len(groups) > 1 else ""
        lines.append(f"- {started}, load {loads[0]:.1f} to {loads[-1]:.1f}, `salient-server` of hash `{engine}`, "
                     f"`{command}`{titles}")
    return lines


def note(folder: Path, name: str) -> str:
    """What notes/NAME.md beside the page adds to the end of a section; nothing without that file."""
    path = folder / "notes" / f"{name}.md"
    return "\n\n" + path.read_text(encoding="utf-8").strip() if path.exists() else ""


class Report:
    """`order` names the sections that a page may have. The page is written whenever a section is added."""

    def __init__(self, run: Run, command: str, order: list[str]):
        self.run, self.command, self.order = run, command, order
        self.started = time.strftime("%Y-%m-%d %H:%M")
        self.path = run.engine.work / "report.json"
        self.key, self.data = f"{run.engine.model_hash}, {run.sizes.words}", file_hash(list(run.paths.values()))
        stored = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        if stored.get("key") != self.key or stored.get("data", self.data) != self.data:  # earlier ones lack `data`
            stored = {"sections": {}, "signatures": []}
        self.sections = {name: Kept(**section) for name, section in stored["sections"].items()}
        self.signatures: list[str] = stored["signatures"]

    def add(self, name: str, section: Section) -> None:
        self.sections[name] = Kept(section.title, section.body, self.command, self.run.engine.program_hash,
                                   self.started, os.getloadavg()[1])
        self.signatures = self.run.signatures or self.signatures
        stored = {"key": self.key, "data": self.data, "signatures": self.signatures,
                  "sections": {name: asdict(kept) for name, kept in self.sections.items()}}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self.path) as part:
            part.write_text(json.dumps(stored, indent=1), encoding="utf-8")
        (self.run.out / "quality.md").write_text(self.page(), encoding="utf-8")

    def page(self) -> str:
        shown = {name: self.sections[name] for name in self.order if name in self.sections}
        conditions = [
            f"- model: `{self.run.config.name}`, hash `{self.run.engine.model_hash}`; chunks "
            f"of at most {self.run.config.chunk_tokens:,} tokens; {self.run.sizes.words}",
            f"- {os.cpu_count()} cores of {processor()}, default arithmetic; times are comparable within a table",
            *runs(list(shown.values()))]
        parts = ["# Quality", "Written by `training/evaluate`; do not edit. Translations are the engine's, over gRPC, "
                 "greedy where no beam is named.", "\n".join(conditions)]
        parts += [f"## {s.title}\n\n{s.body}{note(self.run.out, name)}" for name, s in shown.items()]
        if self.signatures:
            parts.append("## Signatures\n\n" + "\n".join(f"- {s}" for s in self.signatures))
        return "\n\n".join(parts) + "\n"
