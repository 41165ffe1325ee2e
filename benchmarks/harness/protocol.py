"""How the harness talks with the programs that it times: one JSON object a line, each answered with one.

The first line sets a program up, every other is a run. A program that cannot do what it is asked answers
{"error": why}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def forget_peak_memory() -> None:
    """Makes the peak start again from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def peak_memory() -> int:
    return memory("VmHWM")


def answer_lines(worker_type) -> None:
    """The loop of a program in Python: `worker_type(first line)`, then `run(line)` for every other."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not get between the answers
    worker = None
    for text in sys.stdin:
        try:
            if worker is None:
                worker = worker_type(json.loads(text))
                answer = {"rss": memory("VmRSS")}
            else:
                answer = worker.run(json.loads(text))
        except (ValueError, KeyError, RuntimeError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        out.write(json.dumps(answer) + "\n")
        out.flush()
        if worker is None:
            return


class WorkerError(RuntimeError):
    pass


class Peer:
    """A program being timed. Started and set up at once; ended by close or with the harness."""

    def __init__(self, command: list[str], setup: dict, environment: dict[str, str] | None = None):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})},
                                        cwd=Path(__file__).resolve().parents[1])
        self.about = self.ask(setup)

    def ask(self, line: dict) -> dict:
        try:
            self.process.stdin.write(json.dumps(line) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended; the missing answer below says so
        text = self.process.stdout.readline()
        if not text:
            raise WorkerError(f"{self.command[0]} ended with status {self.process.wait()}: its errors stand above")
        answer = json.loads(text)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
