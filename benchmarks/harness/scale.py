"""Measures how Salient's time and memory grow with length, with documents at once, with sparsity and with depth.

Times are taken in one process. Memory is measured in a process of its own, as the peak above what the loaded model
takes. Settings take turns at every point. Writes tables (Markdown) and all measurements (JSON) to
build/benchmarks/results; a full run also writes its section of docs/benchmarks.md and docs/figures/scale.svg. A stopped
run can continue.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path

from . import page
from .cases import WARM, Case, documents
from .environment import BUILD, build, conditions, machine, models, program, say
from .models import ModelConfig
from .page import lines_of
from .protocol import Peer
from .variants import DENSE, OURS, SPARSE

SETTINGS = {**OURS, "selection": {**SPARSE, "depth": DENSE["depth"]}}
AROUND = 64  # tokens on either side of a position that are timed
POSITIONS = (100, 2000)
POSITION_GOAL = 1.2  # greatest time per token at the later position relative to the earlier one, with selection
MEMORY_GOAL = 400e6  # greatest number of bytes above the weights, for encoding the longest document
OUT = 64  # target tokens if only the source's length varies


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/scale", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="A full run takes about six minutes on two cores.")
    parser.add_argument("--quick", action="store_true", help="few points on a small model, in well under a minute")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="all cores when left out")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each point; the median counts (3)")
    parser.add_argument("--fresh", action="store_true", help="do not go on with a run that was stopped")
    parser.add_argument("--driver", type=Path, help="a translate_bench that is built already")
    parser.add_argument("--out", type=Path, default=BUILD / "results", help="folder of the JSON")
    parser.add_argument("--figure", type=Path, help="the picture (docs/figures/scale.svg; with --quick, in --out)")
    return parser.parse_args()


def milliseconds_at(timeline: list[list[float]], position: int) -> float | None:
    """Milliseconds per token around an output position, from [tokens, seconds] pairs."""
    near = [(tokens, at) for tokens, at in timeline if abs(tokens - position) <= AROUND]
    if len(near) < 2 or near[-1][0] == near[0][0]:
        return None
    return 1000 * (near[-1][1] - near[0][1]) / (near[-1][0] - near[0][0])


class Scale:
    def __init__(self, o: argparse.Namespace):
        self.o = o
        self.driver = (o.driver or build(["translate_bench"]) / "translate_bench").resolve()
        self.folder, _ = models("small" if o.quick else "base", converted=False)
        self.config = ModelConfig.load(self.folder)
        self.peer = self.start()

    def start(self) -> Peer:
        peer = Peer([str(self.driver)], {"model": str(self.folder), "threads": self.o.threads, "compute": "int8"})
        peer.ask(self.line(WARM, DENSE))
        return peer

    def line(self, case: Case, run: dict, **more) -> dict:
        wanted = documents(case, self.config)
        return {"documents": [{key: d[key] for key in ("text", "length")} for d in wanted], **run, **more}

    def points(self, lengths: list[int], cap: int, runs: dict[str, dict]) -> dict[str, dict]:
        """Times the same documents under each setting, in turns."""
        lines = {name: self.line(Case("scale", "", lengths, cap=cap), run) for name, run in runs.items()}
        taken: dict[str, list[dict]] = {name: [] for name in runs}
        for _ in range(self.o.repeats):
            for name, line in lines.items():
                taken[name].append(self.peer.ask(line))
        return {name: {"seconds": statistics.median(a["seconds"] for a in answers),
                       "encode_seconds": statistics.median(a["documents"][0]["encode_seconds"] for a in answers),
                       "mean_exit": statistics.mean(d["mean_exit"] for d in answers[0]["documents"])}
                for name, answers in taken.items()}

    def memory(self, length: int, run: dict) -> int:
        """Greatest number of bytes above the weights, in a process that does nothing else."""
        alone = Peer([str(self.driver)], {"model": str(self.folder), "threads": self.o.threads, "compute": "int8"})
        bytes_used = alone.ask(self.line(Case("scale", "", [length], cap=OUT), run))["peak_rss"] - alone.about["rss"]
        alone.close()
        return bytes_used

    def lengths(self) -> list[dict]:
        found = []
        for n in [32, 128] if self.o.quick else [128, 512, 1024, 2048, 4096, 8192]:
            at = self.points([n], OUT, OURS)
            for name, run in OURS.items():
                at[name]["bytes"] = self.memory(n, run)
            found.append({"length": n, **at})
        return found

    def concurrency(self) -> list[dict]:
        counts, length = ([1, 4], 32) if self.o.quick else ([1, 2, 4, 8, 16, 32, 64], 256)
        return [{"documents": n, **self.points([length] * n, length, OURS)} for n in counts]

    def sparsity(self) -> list[dict]:
        ratios = (0.05, 1.0) if self.o.quick else (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
        runs = {str(r): {"selection": {"policy": "ratio", "value": r}, "depth": {"policy": "full"}} for r in ratios}
        at = self.points([64 if self.o.quick else 2048], 128, runs)
        return [{"ratio": r, "full depth": at[str(r)]} for r in ratios]

    def depth(self) -> list[dict]:
        layers = range(1, self.config.decoder.layers + 1)
        runs = {str(n): {"selection": {"policy": "dense"}, "depth": {"policy": "fixed", "layer": n}} for n in layers}
        at = self.points([64 if self.o.quick else 512], 128, runs)
        return [{"exit": n, "dense": at[str(n)]} for n in layers]

    def positions(self) -> dict:
        """Milliseconds per token, early and late in one long document."""
        length, at = (256, (80, 180)) if self.o.quick else (POSITIONS[1] + 2 * AROUND, POSITIONS)
        taken: dict[str, list[list]] = {name: [] for name in SETTINGS}
        for _ in range(self.o.repeats):
            for name, run in SETTINGS.items():
                line = self.line(Case("scale", "", [length], cap=length), run, timeline=True)
                taken[name].append(self.peer.ask(line)["documents"][0]["timeline"])
        return {name: {str(p): statistics.median(milliseconds_at(timeline, p) for timeline in timelines) for p in at}
                for name, timelines in taken.items()}


PARTS = ("lengths", "concurrency", "positions", "sparsity", "depth")


def markdown(found: dict) -> str:
    names = list(OURS)
    megabytes = [f"{name}: MB above the weights" for name in names]
    lengths = lines_of(["source tokens", *(f"{name}: encoding, s" for name in names),
                        *(f"{name}: in all, s" for name in names), *megabytes],
                       [[f"{p['length']:,}", *(f"{p[n]['encode_seconds']:.3g}" for n in names),
                         *(f"{p[n]['seconds']:.3g}" for n in names), *(f"{p[n]['bytes'] / 1e6:.0f}" for n in names)]
                        for p in found["lengths"]], left=0)
    at_once = lines_of(["documents at once", *(f"{name}: seconds a document" for name in names)],
                       [[str(p["documents"]), *(f"{p[n]['seconds'] / p['documents']:.3g}" for n in names)]
                        for p in found["concurrency"]], left=0)
    first, last = next(iter(found["positions"].values()))
    late = lines_of(["milliseconds a token", f"at output position {first}", f"at {last}", "over the first",
                     "goal, at most"],
                    [[name, f"{at[first]:.2f}", f"{at[last]:.2f}", f"{at[last] / at[first]:.2f}",
                      f"{POSITION_GOAL}" if name != "dense" else ""] for name, at in found["positions"].items()])
    sparsity = lines_of(["share of keys read", "seconds"],
                        [[f"{p['ratio']:g}", f"{p['full depth']['seconds']:.3g}"] for p in found["sparsity"]], left=0)
    depth = lines_of(["layers run", "seconds"],
                     [[str(p["exit"]), f"{p['dense']['seconds']:.3g}"] for p in found["depth"]], left=0)
    return "\n\n".join([
        conditions(found), "![Time and memory](figures/scale.svg)",
        f"Model `{found['model']}`, {found['threads']} threads, int8, random weights; medians of {found['repeats']}. "
        f"One document, {OUT} tokens out (goal: at most {MEMORY_GOAL / 1e6:.0f} MB above the weights):", lengths,
        "Documents of 256 tokens at once, as many out:", at_once,
        "Time a token late in a long document:", late,
        "One document, full depth, by the share of keys that selection keeps:", sparsity,
        "One document, dense, by fixed exit:", depth]) + "\n"


def label(axis, title: str, across: str, up: str) -> None:
    axis.set_title(title, fontsize=9)
    axis.set_xlabel(across, fontsize=8)
    axis.set_ylabel(up, fontsize=8)
    axis.set_ylim(bottom=0)
    axis.legend(fontsize=8)


def picture(found: dict, path: Path) -> None:
    figure, axes = page.drawing().subplots(2, 2, figsize=(9, 6.5))
    panels = [("lengths", "length", "seconds", f"One document, {OUT} tokens out", "source tokens", "seconds"),
              ("lengths", "length", "bytes", "Memory for one document", "source tokens", "MB above the weights"),
              ("concurrency", "documents", "seconds", "Documents of 256 tokens at once", "documents at once",
               "seconds a document")]
    for axis, (part, x, y, title, across, up) in zip(axes.flat, panels):
        for name in OURS:
            scale = 1e-6 if y == "bytes" else 1
            values = [p[name][y] * scale / (p["documents"] if part == "concurrency" else 1) for p in found[part]]
            axis.plot([p[x] for p in found[part]], values, marker="o", label=name)
        axis.set_xscale("log", base=2)
        label(axis, title, across, up)
    last = axes.flat[3]
    last.plot([p["ratio"] for p in found["sparsity"]], [p["full depth"]["seconds"] for p in found["sparsity"]],
              marker="o", label="keys read, full depth")
    layers = len(found["depth"])
    last.plot([p["exit"] / layers for p in found["depth"]], [p["dense"]["seconds"] for p in found["depth"]],
              marker="s", label="layers run, dense")
    label(last, "Sparsity and depth", "share of keys read, or of layers run", "seconds")
    page.save(figure, path)


def stored(path: Path, about: dict) -> dict:
    """The measurements of a stopped run under the same conditions; `about` if there is none."""
    if not path.exists():
        return about
    told = json.loads(path.read_text())
    same = all(told.get(key) == about[key] for key in ("threads", "repeats", "model", "command", "driver")) and \
        told["machine"]["salient"] == about["machine"]["salient"]
    return told if same and not told["finished"] else about


def main() -> None:
    o = parse()
    scale = Scale(o)
    o.out.mkdir(parents=True, exist_ok=True)
    results = o.out / "scale.json"
    about = {"machine": machine(), "threads": o.threads, "repeats": o.repeats, "model": scale.folder.name,
             "command": "benchmarks/scale" + (" --quick" if o.quick else ""), "driver": program(scale.driver),
             "finished": False}
    found = about if o.fresh else stored(results, about)
    for part in PARTS:
        if part not in found:
            say(f"[{time.strftime('%H:%M:%S')}] Measuring {part}")
            found[part] = getattr(scale, part)()
            results.write_text(json.dumps(found, indent=1) + "\n")
    scale.peer.close()
    found["finished"] = True
    results.write_text(json.dumps(found, indent=1) + "\n")
    text = markdown(found)
    (o.out / "scale.md").write_text(text, encoding="utf-8")
    figure = o.figure or (o.out if o.quick else page.FIGURES) / "scale.svg"
    picture(found, figure)
    if not o.quick:
        page.put("scale", text)
    print(text)
    say(f"Wrote {results}, {o.out / 'scale.md'} and {figure}")


if __name__ == "__main__":
    main()
