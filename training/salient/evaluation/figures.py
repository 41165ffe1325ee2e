"""The figures, as SVG of a few dozen kB each. matplotlib is imported when the first one is drawn."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..teacher_forcing import Point
    from .depth import Measured
    from .pareto import Candidate

COLOURS = {"fixed": "#222222", "geometric": "#0072b2", "confidence": "#d55e00", "multinomial": "#009e73",
           "sequence": "#cc79a7", "oracle, likelihood": "#888888", "oracle, correctness": "#e69f00",
           "oracle, agreement": "#b8860b", "geometric, by layer": "#56b4e9",
           "confidence, by layer": "#f0a070"}
MARKS = {"fixed": "s", "geometric": "o", "confidence": "^", "multinomial": "D", "sequence": "v"}


@functools.lru_cache(maxsize=None)
def pyplot():
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "salient", "svg.fonttype": "none", "font.size": 9, "axes.grid": True,
                                "grid.color": "#dddddd", "axes.axisbelow": True, "axes.spines.top": False,
                                "axes.spines.right": False, "legend.frameon": False, "figure.dpi": 100})
    from matplotlib import pyplot as plt

    return plt


def save(figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot().close(figure)
    return path


def line(axes, name: str, x: list[float], y: list[float]) -> None:
    axes.plot(x, y, marker=MARKS.get(name, "."), markersize=4, linewidth=1.2, color=COLOURS.get(name), label=name,
              linestyle="--" if name.startswith("oracle") else "-")


def depth_curve(engine: dict[str, list[Measured]], forced: dict[str, list[Point]], layers: int, path: Path) -> Path:
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(9.5, 3.6))
    for name, found in engine.items():
        line(left, name, [m.report[0] for m in found], [m.report[1] for m in found])
    left.set(title="Decoded by the engine (reporting half)", xlabel=f"mean exit, of {layers} layers", ylabel="BLEU")
    for name, points in forced.items():
        line(right, name, [p.mean_exit for p in points], [p.nll for p in points])
    right.set(title="References read by the PyTorch model", xlabel=f"mean exit, of {layers} layers",
              ylabel="nats a reference token")
    right.invert_yaxis()
    for axes in (left, right):
        axes.legend(fontsize=7)
    figure.text(0.5, -0.06, "Oracles look at the reference, which free decoding has not: they are drawn on the right "
                "alone, where every rule reads the same references.", ha="center", fontsize=8)
    return save(figure, path)


def shades(count: int) -> list:
    return [pyplot().get_cmap("viridis")(0.1 + 0.8 * n / max(1, count - 1)) for n in range(count)]


def position(by_position: list[list[float]], path: Path) -> Path:
    parts, layers = len(by_position), len(by_position[0])
    figure, axes = pyplot().subplots(figsize=(6, 3.2))
    below = [0.0] * parts
    for n, colour in enumerate(shades(layers)):
        heights = [row[n] for row in by_position]
        axes.bar(range(parts), heights, bottom=below, color=colour, width=0.9, label=f"layer {n + 1}")
        below = [b + h for b, h in zip(below, heights)]
    axes.set(title="Exits by position in the segment", xlabel="tenth of the segment", ylabel="share of tokens",
             xticks=range(parts), xticklabels=range(1, parts + 1), ylim=(0, 1))
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return save(figure, path)


def heat(axes, values: list[list[float]], low: float | None, high: float | None):
    axes.grid(False)
    return axes.imshow(values, aspect="auto", cmap="viridis", vmin=low, vmax=high, origin="lower",
                       interpolation="nearest")


def confidence(joint: list[list[float]], path: Path) -> Path:
    """joint [probability bins][layers]."""
    parts, layers = len(joint), len(joint[0])
    figure, axes = pyplot().subplots(figsize=(5, 3.4))
    image = heat(axes, [[joint[p][n] for p in range(parts)] for n in range(layers)], 0, None)
    axes.set(title="Exit against probability", xlabel="probability of the token chosen", ylabel="exit layer",
             xticks=[p - 0.5 for p in range(0, parts + 1, 2)],
             xticklabels=[f"{p / parts:.1f}" for p in range(0, parts + 1, 2)],
             yticks=range(layers), yticklabels=range(1, layers + 1))
    figure.colorbar(image, label="share of tokens")
    return save(figure, path)


def sentence(segment: list, layers: int, path: Path) -> Path:
    """segment: (piece, exit, probability) per token."""
    figure, axes = pyplot().subplots(figsize=(max(6.0, 0.38 * len(segment)), 2.8))
    colours = shades(layers)
    axes.bar(range(len(segment)), [layer for _, layer, _ in segment], color=[colours[e - 1] for _, e, _ in segment])
    for x, (_, layer, p) in enumerate(segment):
        axes.text(x, layer + 0.05, f"{p:.2f}".lstrip("0"), ha="center", fontsize=6)
    axes.set_xticks(range(len(segment)))
    axes.set_xticklabels([piece.replace("\u2581", "_") for piece, _, _ in segment], rotation=60, ha="right", fontsize=8)
    axes.set(title="Exit of every token of a segment, and its probability", ylabel="exit layer",
             yticks=range(1, layers + 1), ylim=(0, layers + 0.6))
    axes.grid(False, axis="x")
    return save(figure, path)


def similarity(title: str, encoder: tuple[list[str], list], decoder: tuple[list[str], list], path: Path) -> Path:
    """(names, matrix) of the encoder's and of the decoder's blocks."""
    figure, both = pyplot().subplots(1, 2, figsize=(9, 4))
    for axes, side, (names, matrix) in zip(both, ("encoder", "decoder"), (encoder, decoder)):
        image = heat(axes, matrix, 0, 1)
        axes.set(title=f"{title}, {side}", xticks=range(len(names)), yticks=range(len(names)), yticklabels=names)
        axes.set_xticklabels(names, rotation=90)
        axes.tick_params(labelsize=7)
    figure.colorbar(image, ax=list(both), shrink=0.8)
    return save(figure, path)


def pareto(candidates: list[Candidate], front: list[Candidate], named: dict[str, Candidate], path: Path) -> Path:
    figure, axes = pyplot().subplots(figsize=(6.5, 4))
    axes.scatter([c.seconds for c in candidates], [c.bleu for c in candidates], s=14, color="#bbbbbb")
    axes.plot([c.seconds for c in front], [c.bleu for c in front], "o-", color="#0072b2", markersize=5, linewidth=1.2)
    labels: dict[int, list[str]] = {}
    for name, c in named.items():
        labels.setdefault(id(c), []).append(name)
    for c in {id(c): c for c in named.values()}.values():
        axes.annotate(f"{', '.join(labels[id(c)])}\n{c.setting.name}", (c.seconds, c.bleu), xytext=(8, -18),
                      textcoords="offset points", fontsize=7)
    axes.margins(y=0.12)  # the names are below their points
    axes.set(title="Quality against cost", xlabel="seconds per 1,000 source tokens, one document at a time",
             ylabel="BLEU")
    return save(figure, path)
