"""A long document with and without a trace, in turns; meanwhile another client sends one sentence after another.

Starts the release build's server on loopback. Prints a Markdown table of medians: how long the document took, what
processor time the server used, the size of the reply in JSON, and how long the other client waited for its sentences.
"""

import argparse
import json
import os
import statistics
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from harness import environment
from harness.overload import Server

SENTENCE = "The server decides how long a copy may be used before it asks again."


@dataclass
class Run:
    seconds: float
    processor_seconds: float
    reply_bytes: int
    waits: list[float]  # of the other client, for each sentence


def translate(address: str, text: str, **controls) -> bytes:
    body = json.dumps({"document": {"text": text}, **controls}).encode()
    request = urllib.request.Request(f"http://{address}/v1/translate", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return reply.read()


def processor_seconds(pid: int) -> float:
    """User and system time of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server: Server, text: str, ratio: float, trace: bool) -> Run:
    waits, ended = [], threading.Event()

    def send_sentences():
        while not ended.is_set():
            began = time.monotonic()
            translate(server.http, SENTENCE)
            waits.append(time.monotonic() - began)

    other = threading.Thread(target=send_sentences)
    used = processor_seconds(server.process.pid)
    began = time.monotonic()
    other.start()
    try:
        reply = translate(server.http, text, trace=trace, selection={"policy": "RATIO", "value": ratio})
        seconds = time.monotonic() - began
    finally:
        ended.set()
        other.join()
    return Run(seconds, processor_seconds(server.process.pid) - used, len(reply), waits)


def row(name: str, runs: list[Run]) -> str:
    def median(values):
        return statistics.median(list(values))

    waits = sorted(wait for run in runs for wait in run.waits)
    cells = [f"{median(run.seconds for run in runs):.1f}", f"{median(run.processor_seconds for run in runs):.1f}",
             f"{median(run.reply_bytes for run in runs) / 1e6:.2f}", str(len(waits)), f"{median(waits):.2f}",
             f"{waits[-1]:.2f}"]
    return f"| {name} | {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(prog="benchmarks/trace", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, help="a folder of built programs; built when left out")
    parser.add_argument("--quick", action="store_true", help="does it work? No measurement")
    parser.add_argument("--model", type=Path, default=environment.ROOT / "models/en-de")
    parser.add_argument("--words", type=int, default=5400, help="of the document")
    parser.add_argument("--ratio", type=float, default=0.99, help="of the keys that it reads")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    environment.end_on_sigterm()
    if args.quick:
        args.words, args.rounds = 100, 1
    args.bin = args.bin.resolve() if args.bin else environment.build(["salient-server"])
    paragraphs = (environment.ROOT / "docs/samples/caching.en.txt").read_text().strip().split("\n\n")
    text, number = "", 0
    while len(text.split()) < args.words:
        text += paragraphs[number % len(paragraphs)] + "\n\n"
        number += 1
    runs = {False: [], True: []}
    with Server(args, http="127.0.0.1:0") as server:
        translate(server.http, SENTENCE)
        for _ in range(args.rounds):
            for trace, done in runs.items():
                done.append(measure(server, text, args.ratio, trace))
    print(f"{len(text.split())} words, ratio:{args.ratio:g}, median of {args.rounds}, nice {os.nice(0)}, "
          f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.0f} at the end\n")
    print("| | seconds | processor seconds of both clients | reply, MB | the other's sentences | wait, p50 | longest |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    print(row("without a trace", runs[False]))
    print(row("with a trace", runs[True]))
