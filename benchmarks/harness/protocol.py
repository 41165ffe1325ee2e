"""The protocol between the harness and the programs that it times: one JSON object per line, each with one reply.

The first line configures a program; every other line is a run. If a program cannot do what is asked, it replies
{"error": why}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def forget_peak_memory() -> None:
    """Resets the peak to the memory that is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def peak_memory() -> int:
    return memory("VmHWM")


def answer_lines(worker_type) -> None:
    """The main loop of a program in Python: calls `worker_type(first line)`, then `run(line)` for every other line."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries must not mix with the replies
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
    """A program being timed. It is started and configured at once, and ends with close() or with the harness."""

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
            pass  # the process has ended; the missing reply below says so
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
