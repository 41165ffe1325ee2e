"""A server at half its capacity, at it, at twice and ten times as much; and its throughput over the bare engine's.

Starts the release build's server on loopback, measures with `salient bench` (an open loop: latencies count from when a
document should have been sent), prints Markdown tables."""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from harness import environment

ROOT = environment.ROOT


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


class Server:
    """salient-server of args.bin with args.model, on loopback: gRPC at `address`, HTTP at `http` unless it is off."""

    def __init__(self, args, *flags, http="off"):
        self.folder = tempfile.TemporaryDirectory()
        ready = Path(self.folder.name) / "ready"
        self.process = subprocess.Popen(
            [args.bin / "salient-server", "--model", args.model, "--listen", "127.0.0.1:0", "--http", http, "--admin",
             "off", "--ready-file", ready, "--log-level", "warn", *map(str, flags)])
        while not ready.exists():
            if self.process.poll() is not None:
                raise SystemExit("the server did not start")
            time.sleep(0.1)
        addresses = json.loads(ready.read_text())
        self.address, self.http = addresses["grpc"], addresses.get("http")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def bench(args, server, rate, seconds, in_flight):
    return run(args.bin / "salient", "bench", args.document, "--server", server.address, "--rate", rate, "--seconds",
               seconds, "--in-flight", in_flight, "--report", "json", "--quiet")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, help="a folder of built programs; built when left out")
    parser.add_argument("--quick", action="store_true", help="does it work? No measurement")
    parser.add_argument("--model", type=Path, default=ROOT / "models/en-de")
    parser.add_argument("--document", type=Path, help="a text; a paragraph of docs/samples when left out")
    parser.add_argument("--seconds", type=float, default=20, help="a measurement")
    parser.add_argument("--rounds", type=int, default=3, help="of server and engine in turns")
    parser.add_argument("--max-queue", type=int, default=8)
    parser.add_argument("--clients", type=int, default=64)
    args = parser.parse_args()
    if args.quick:
        args.seconds, args.rounds = 2, 1
    args.bin = args.bin or environment.build(["salient-server", "salient", "engine_bench"])
    with tempfile.TemporaryDirectory() as folder:
        if args.document is None:
            args.document = Path(folder) / "paragraph.txt"
            paragraphs = (ROOT / "docs/samples/caching.en.txt").read_text().split("\n\n")
            args.document.write_text(max(paragraphs, key=len))
        words = len(args.document.read_text().split())
        ratios = []
        for _ in range(args.rounds):
            with Server(args, "--max-queue", 1024) as server:
                bench(args, server, 2000, 3, args.clients)  # until everything is warm
                served = bench(args, server, 2000, args.seconds, args.clients)["documents_per_second"]
            bare = run(args.bin / "engine_bench", args.model, args.document, args.clients, args.seconds)
            ratios.append((served / bare["documents_per_second"], served, bare["documents_per_second"]))
        ratio, capacity, bare = sorted(ratios)[len(ratios) // 2]
        print(f"{words} words a document, nice {os.nice(0)}, {os.cpu_count()} processors, "
              f"load {os.getloadavg()[0]:.0f} at the end\n\n"
              f"{args.clients} clients: server {capacity:.1f} documents/s, bare engine {bare:.1f}: {100 * ratio:.1f} % "
              f"(median of {args.rounds}; all: {', '.join(f'{100 * r[0]:.1f}' for r in sorted(ratios))})\n")
        print("| load | documents/s sent | admitted | refused | p50 | p99 of the admitted | over half load's | "
              "p99 of refusals, ms |\n|---|---:|---:|---:|---:|---:|---:|---:|")
        half = None
        with Server(args, "--max-queue", args.max_queue) as server:
            bench(args, server, capacity / 2, 3, 100000)
            for load in (0.5, 1, 2, 10):
                report = bench(args, server, load * capacity, args.seconds, 100000)
                whole, failed = report["whole_seconds"], report["failed_seconds"]
                half = half or whole["p99"]
                refused = report["outcomes"].get("resource_exhausted", 0)
                others = {k: v for k, v in report["outcomes"].items() if k not in ("ok", "resource_exhausted")}
                print(f"| {load:g}x | {load * capacity:.1f} | {report['outcomes'].get('ok', 0)} | {refused} | "
                      f"{whole['p50']:.3f} | {whole['p99']:.3f} | {whole['p99'] / half:.2f} | "
                      f"{1e3 * failed['p99']:.1f} |"
                      + (f" {others}" if others else ""))

