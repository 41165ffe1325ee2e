"""How Salient's time and memory grow: with length, with documents at once, with sparsity, with depth.

Times one process; memory is that of a process of its own, its peak above what the loaded model holds. Writes JSON to
build/benchmarks/results and a picture to docs/figures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from pathlib import Path

from .cases import Case, documents
from .environment import BUILD, ROOT, build, machine, models, say
from .models import ModelConfig
from .protocol import Peer

DENSE = {"selection": {"policy": "dense"}, "depth": {"policy": "full"}}
SPARSE = {"selection": {"policy": "ratio", "value": 0.05}, "depth": {"policy": "geometric", "threshold": 0.5}}
SETTINGS = {"dense": DENSE, "selection and exits": SPARSE}
AROUND = 64  # tokens on either side of a position whose time a token is wanted


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/scale", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few points on a small model, in well under a minute")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="all cores when left out")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each point; the median counts (3)")
    parser.add_argument("--driver", type=Path, help="a translate_bench that is built already")
    parser.add_argument("--out", type=Path, default=BUILD / "results", help="folder of the JSON")
    parser.add_argument("--figure", type=Path, help="the picture (docs/figures/scale.png; with --quick, in --out)")
    return parser.parse_args()


def milliseconds_at(timeline: list[list[float]], position: int) -> float | None:
    """Milliseconds a token around an output position, from [tokens, seconds] pairs."""
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
        return Peer([str(self.driver)], {"model": str(self.folder), "threads": self.o.threads, "compute": "int8"})

    def point(self, lengths: list[int], cap: int, run: dict, memory: bool = False) -> dict:
        wanted = documents(Case("scale", "", lengths, cap=cap), self.config)
        line = {"documents": [{key: d[key] for key in ("text", "length")} for d in wanted], **run}
        answers = [self.peer.ask(line) for _ in range(self.o.repeats)]
        told = {"seconds": statistics.median(a["seconds"] for a in answers),
                "mean_exit": statistics.mean(d["mean_exit"] for d in answers[0]["documents"])}
        if memory:
            alone = self.start()
            told["bytes"] = alone.ask(line)["peak_rss"] - alone.about["rss"]
            alone.close()
        return told

    def lengths(self) -> list[dict]:
        points = [32, 128] if self.o.quick else [128, 512, 1024, 2048, 4096, 8192]
        return [{"length": n, **{name: self.point([n], 128, run, memory=True) for name, run in SETTINGS.items()}}
                for n in points]

    def concurrency(self) -> list[dict]:
        counts, length = ([1, 4], 32) if self.o.quick else ([1, 2, 4, 8, 16, 32, 64], 256)
        return [{"documents": n, **{name: self.point([length] * n, length, run) for name, run in SETTINGS.items()}}
                for n in counts]

    def sparsity(self) -> list[dict]:
        length = 64 if self.o.quick else 2048
        return [{"ratio": ratio, "full depth": self.point(
            [length], 128, {"selection": {"policy": "ratio", "value": ratio}, "depth": {"policy": "full"}})}
            for ratio in (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)]

    def depth(self) -> list[dict]:
        length = 64 if self.o.quick else 512
        return [{"exit": layer, "dense": self.point(
            [length], 128, {"selection": {"policy": "dense"}, "depth": {"policy": "fixed", "layer": layer}})}
            for layer in range(1, self.config.decoder.layers + 1)]

    def positions(self) -> dict:
        length, at = (256, (80, 180)) if self.o.quick else (2200, (100, 2000))
        found = {}
        for name, run in SETTINGS.items():
            wanted = documents(Case("scale", "", [length], cap=length), self.config)
            line = {"documents": [{key: d[key] for key in ("text", "length")} for d in wanted], "timeline": True, **run}
            timeline = self.peer.ask(line)["documents"][0]["timeline"]
            found[name] = {str(position): milliseconds_at(timeline, position) for position in at}
        return found


def picture(found: dict, path: Path) -> None:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(9, 6.5))
    panels = [("lengths", "length", "seconds", "source tokens, 128 out: seconds"),
              ("lengths", "length", "bytes", "source tokens: MB above the weights"),
              ("concurrency", "documents", "seconds", "documents of 256 at once: seconds a document")]
    for axis, (part, x, y, title) in zip(axes.flat, panels):
        for name in SETTINGS:
            scale = 1e-6 if y == "bytes" else 1
            values = [p[name][y] * scale / (p["documents"] if part == "concurrency" else 1) for p in found[part]]
            axis.plot([p[x] for p in found[part]], values, marker="o", label=name)
        axis.set_xscale("log", base=2)
        axis.set_ylim(bottom=0)
        axis.set_title(title, fontsize=9)
        axis.legend(fontsize=8)
    last = axes.flat[3]
    last.plot([p["ratio"] for p in found["sparsity"]], [p["full depth"]["seconds"] for p in found["sparsity"]],
              marker="o", label="share of keys read")
    layers = len(found["depth"])
    last.plot([p["exit"] / layers for p in found["depth"]], [p["dense"]["seconds"] for p in found["depth"]],
              marker="s", label="share of layers run")
    last.set_title("sparsity and depth: seconds", fontsize=9)
    last.set_ylim(bottom=0)
    last.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main() -> None:
    o = parse()
    scale = Scale(o)
    found: dict = {"machine": machine(), "threads": o.threads, "model": scale.folder.name}
    for part in ("lengths", "concurrency", "sparsity", "depth", "positions"):
        say(f"Measuring {part}")
        found[part] = getattr(scale, part)()
    scale.peer.close()
    o.out.mkdir(parents=True, exist_ok=True)
    (o.out / "scale.json").write_text(json.dumps(found, indent=1) + "\n")
    figure = o.figure or (o.out if o.quick else ROOT / "docs" / "figures") / "scale.png"
    figure.parent.mkdir(parents=True, exist_ok=True)
    picture(found, figure)
    for name, at in found["positions"].items():
        print(f"{name}: " + ", ".join(f"{ms:.2f} ms a token at position {p}" for p, ms in at.items() if ms))
    say(f"Wrote {o.out / 'scale.json'} and {figure}")


if __name__ == "__main__":
    main()
