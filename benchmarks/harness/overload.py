"""The throughput of a server over its bare engine's; and a server at half its capacity, at it, at twice and ten times.

Starts the release build's server on loopback, measures with `salient bench` (an open loop: latencies count from when a
document should have been sent), prints Markdown tables."""

import argparse
import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness import environment

ROOT = environment.ROOT

# For throughput, and for latency: rows bound how many documents share a step, and so how long each takes.
SETTINGS = [("--max-rows", 64, "--max-rows-ahead", 64, "--max-queue", 8),
            ("--max-rows", 8, "--max-rows-ahead", 2, "--max-queue", 2)]


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


class Server:
    """salient-server of args.bin with args.model, on loopback: gRPC at `address`, HTTP at `http` unless it is off.
    `processors`: those that it may use."""

    def __init__(self, args, *flags, http="off", processors=None):
        self.folder = tempfile.TemporaryDirectory()
        ready = Path(self.folder.name) / "ready"
        self.process = subprocess.Popen(
            [*on(processors), args.bin / "salient-server", "--model", args.model, "--listen", "127.0.0.1:0", "--http",
             http, "--admin", "off", "--ready-file", ready, "--log-level", "warn", *map(str, flags)])
        try:
            while not ready.exists():
                if self.process.poll() is not None:
                    raise SystemExit("the server did not start")
                time.sleep(0.1)
        except BaseException:
            self.__exit__()
            raise
        addresses = json.loads(ready.read_text())
        self.address, self.http = addresses["grpc"], addresses.get("http")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def on(processors):
    """The beginning of a command that may only use these processors."""
    return ["taskset", "--cpu-list", ",".join(map(str, processors))] if processors else []


@dataclass
class Bench:
    """Runs `salient bench` and the bare engine. The load generator has a processor of its own, where there are two: it
    stands for clients, which are on other machines."""

    args: argparse.Namespace

    def __post_init__(self):
        processors = sorted(os.sched_getaffinity(0))
        self.servers, self.clients = (processors[:-1], processors[-1:]) if len(processors) > 1 else ([], [])

    def server(self, *flags):
        return Server(self.args, *flags, processors=self.servers)

    def load(self, server, document, rate, seconds, in_flight=100000):
        return run(*on(self.clients), self.args.bin / "salient", "bench", document, "--server", server.address,
                   "--rate", rate, "--seconds", seconds, "--in-flight", in_flight, "--guard", "off", "--report", "json",
                   "--quiet")

    def throughput(self, document):
        """Documents a second with args.clients in flight: of the server, and of the bare engine."""
        clients = self.args.clients
        with self.server("--max-queue", 1024) as server:
            self.load(server, document, 2000, 3, clients)  # until everything is warm
            served = self.load(server, document, 2000, self.args.seconds, clients)["documents_per_second"]
        bare = run(*on(self.servers), self.args.bin / "engine_bench", self.args.model, document, clients,
                   self.args.seconds)
        return served, bare["documents_per_second"]


def print_throughput(bench, documents, rounds):
    print(f"{bench.args.clients} documents in flight, median of {rounds} rounds, server and engine in turns:\n\n"
          "| words a document | server, documents/s | bare engine, documents/s | server over engine | all rounds |\n"
          "|---:|---:|---:|---:|---|")
    for document in documents:
        took = sorted((bench.throughput(document) for _ in range(rounds)), key=lambda pair: pair[0] / pair[1])
        served, bare = took[len(took) // 2]
        print(f"| {len(document.read_text().split())} | {served:.1f} | {bare:.1f} | {100 * served / bare:.1f} % | "
              f"{', '.join(f'{100 * a / b:.1f}' for a, b in took)} |", flush=True)


def print_overload(bench, document, flags, seconds):
    """A server with these flags at multiples of what it can do."""
    with bench.server(*flags) as server:
        bench.load(server, document, 1000, 3)  # until everything is warm
        in_flight = sum(flags[1::2])  # as many as the server takes: a refusal would cost it time
        capacity = bench.load(server, document, 1000, seconds, in_flight)["documents_per_second"]
        if not capacity:
            raise SystemExit(f"no document of {document} ended in {seconds:g} seconds: ask for more --seconds")
        print(f"\n`{' '.join(map(str, flags))}`, {len(document.read_text().split())} words a document:\n\n"
              "| load | documents/s sent | translated/s | refused/s | p50, s | p99, s | over p99 at half load | "
              "p99 of refusals, ms |\n|---|---:|---:|---:|---:|---:|---:|---:|")
        half = None
        for load in (0.5, 1, 2, 10):
            report = bench.load(server, document, load * capacity, seconds)
            whole, outcomes = report["whole_seconds"], report["outcomes"]
            half = half or whole["p99"]
            others = {k: v for k, v in outcomes.items() if k not in ("ok", "resource_exhausted")}
            print(f"| {load:g}x | {load * capacity:.1f} | {outcomes.get('ok', 0) / seconds:.1f} | "
                  f"{outcomes.get('resource_exhausted', 0) / seconds:.1f} | {whole['p50']:.3f} | {whole['p99']:.3f} | "
                  f"{whole['p99'] / half:.2f} | {1e3 * report['failed_seconds']['p99']:.1f} |"
                  + (f" {others}" if others else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(prog="benchmarks/overload", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, help="a folder of built programs; built when left out")
    parser.add_argument("--quick", action="store_true", help="does it work? No measurement")
    parser.add_argument("--model", type=Path, default=ROOT / "models/en-de")
    parser.add_argument("--document", type=Path, default=ROOT / "docs/samples/caching.en.txt",
                        help="a text; its longest paragraph is a document, too")
    parser.add_argument("--seconds", type=float, default=20, help="a measurement")
    parser.add_argument("--rounds", type=int, default=3, help="of server and engine in turns")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--part", choices=["throughput", "overload"], help="only this table, or these")
    args = parser.parse_args()
    environment.end_on_sigterm()
    if args.quick:
        args.seconds, args.rounds, args.clients = 2, 1, 8
    args.bin = args.bin.resolve() if args.bin else environment.build(["salient-server", "salient", "engine_bench"])
    bench = Bench(args)
    with tempfile.TemporaryDirectory() as folder:
        paragraph = Path(folder) / "paragraph.txt"
        paragraph.write_text(max(args.document.read_text().split("\n\n"), key=len))
        print(f"nice {os.nice(0)}, load {os.getloadavg()[0]:.1f}; server and engine on {len(bench.servers) or 1} "
              f"processors, the load generator on {'another' if bench.clients else 'the same'}; without the guard\n")
        # Two seconds are enough for paragraphs, a few at once.
        documents, settings = ([paragraph], SETTINGS[-1:]) if args.quick else ([paragraph, args.document], SETTINGS)
        if args.part != "overload":
            print_throughput(bench, documents, args.rounds)
        for flags in settings if args.part != "throughput" else []:
            for document in documents:
                print_overload(bench, document, flags, args.seconds)
