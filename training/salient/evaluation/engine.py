"""Translates with the engine: starts a server, sends documents with `salient translate`, and stores the results.

A result is stored under the hash of the model, the server, the setting and the set, so that an interrupted run
can continue, and another table with the same setting translates nothing again. The server starts at the first
translation. Not thread safe.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ..whole_file import whole_file
from .server import Server
from .sets import Document, DocumentSet
from .settings import Setting

# All that the engine reads to translate: the weights' files include the shortlist's.
MODEL_FILES = ("config.json", "tokenizer.model", "target_tokenizer.model", "vocabulary.json", "source_vocabulary.json",
               "*.safetensors", "*.safetensors.index.json")

PROGRESS_SECONDS = 15  # between two lines of progress


@dataclass
class Translated:
    document: Document
    lines: list[str]
    report: dict  # the fields of CostReport; `trace`, if requested: per segment and token (piece, exit, probability)


@dataclass
class Result:
    """The translations of one set under one setting."""

    translated: list[Translated]
    seconds: float  # of the whole call, with documents in parallel

    def part(self, indices: list[int]) -> "Result":
        return Result([self.translated[i] for i in indices], self.seconds)

    @property
    def documents(self) -> list[Document]:
        return [t.document for t in self.translated]


def say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def file_hash(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def model_hash(model: Path) -> str:
    """A hash of what determines a translation: without the model card and the operating points."""
    return file_hash([path for pattern in MODEL_FILES for path in model.glob(pattern)])


def read_translation(path: Path, document: Document) -> list[str]:
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    if len(lines) != len(document.lines):
        raise ValueError(f"{path}: {len(lines)} lines for {len(document.lines)} segments; segments were lost")
    return lines


def slim(report: dict) -> dict:
    """The report with traces that lack the selected positions, which are most of their size and which no figure
    uses."""
    if "trace" in report:
        report["trace"] = [[[t["piece"], t["exit_layer"], t["probability"]] for t in segment["trace"]]
                           for segment in report["trace"]]
    return report


def guard_off(words: list[str]) -> list[str]:
    """The flags without which the guard would mend what a setting makes; none if the setting names a guard itself."""
    return [] if any(word.split("=")[0] == "--guard" for word in words) else ["--guard", "off"]


class Engine:
    """The programs in `bin` with one model. A context manager, which stops the server at its end. `flags`: the server's
    flags, such as --compute fp32."""

    def __init__(self, programs: Path, model: Path, work: Path, parallel: int = 32, flags: str = ""):
        self.programs, self.model, self.work, self.parallel, self.flags = programs, model, work, parallel, flags
        for name in ("salient", "salient-server"):
            if not (programs / name).exists():
                raise ValueError(f"--bin: {programs / name} does not exist; build salient and salient-server first")
        if not (model / "config.json").exists():
            raise ValueError(f"{model}: no config.json; name the folder of an exported model")
        self.model_hash = model_hash(model)
        self.program_hash = file_hash([programs / "salient-server"])
        self.server: Server | None = None

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None

    def with_flags(self, flags: str) -> "Engine":
        """The same with further flags of the server, which is one of its own."""
        return Engine(self.programs, self.model, self.work, self.parallel, f"{self.flags} {flags}".strip())

    def start(self) -> str:
        """The address of the server, which is started on a free port if it is not running."""
        if self.server is None:
            self.server = Server(self.programs, self.model, "--max-queue", "4096", *shlex.split(self.flags))
        return self.server.addresses["grpc"]

    def store(self, test_set: DocumentSet, flags: str, parallel: int, take: int) -> Path:
        lines = json.dumps([d.lines for d in test_set.documents]).encode()
        what = [self.model_hash, self.program_hash + self.flags, flags, str(parallel), str(take)]
        key = "|".join(what).encode() + lines
        return self.work / "translations" / f"{hashlib.sha256(key).hexdigest()[:24]}.json"

    def translate(self, test_set: DocumentSet, setting: Setting | str, *, trace: bool = False, parallel: int = 0,
                  take: int = 0) -> Result:
        """Translates all documents under one setting, or its flags. `take` numbers repetitions, for measuring times."""
        flags = setting if isinstance(setting, str) else setting.flags
        flags += " --trace" if trace else ""
        parallel = parallel or self.parallel
        path = self.store(test_set, flags, parallel, take)
        if not path.exists():
            stored = self.run(test_set, flags, parallel)
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as part:
                part.write_text(json.dumps(stored), encoding="utf-8")
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Result([Translated(document, entry["lines"], entry["report"])
                       for document, entry in zip(test_set.documents, stored["documents"])], stored["seconds"])

    def run(self, test_set: DocumentSet, flags: str, parallel: int) -> dict:
        """One call of `salient translate`. Reports are in the order of the command line."""
        address, started, words = self.start(), time.monotonic(), shlex.split(flags)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            sources = [folder / f"{index:05d}.txt" for index in range(len(test_set.documents))]
            for path, document in zip(sources, test_set.documents):
                path.write_text("\n".join(document.lines) + "\n", encoding="utf-8")
            out = folder / "translated"
            command = [str(self.programs / "salient"), "translate", *map(str, sources), "--server", address, "--lines",
                       "--quiet", "--report", "json", "--parallel", str(parallel), "--out", f"{out}/",
                       *guard_off(words), *words]
            reports, said = [], started
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as call:
                for line in call.stdout:
                    reports.append(json.loads(line))
                    if time.monotonic() > said + PROGRESS_SECONDS:
                        said = time.monotonic()
                        say(f"{test_set.name}, {flags}: {len(reports)} of {len(sources)} documents")
            seconds = time.monotonic() - started
            failed = [r for r in reports if "error" in r]
            if call.returncode or failed or len(reports) != len(sources):
                reason = failed[0]["error"]["message"] if failed else (
                    f"exit status {call.returncode}, {len(reports)} reports")
                raise ValueError(f"salient translate {flags}, {test_set.name}: {reason}")
            documents = [{"lines": read_translation(out / path.name, document), "report": slim(report)}
                         for path, document, report in zip(sources, test_set.documents, reports)]
        say(f"{test_set.name}, {flags}: {len(documents)} documents in {seconds:.1f} s")
        return {"flags": flags, "seconds": seconds, "documents": documents}
