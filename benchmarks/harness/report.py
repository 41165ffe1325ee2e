"""From timings to a table, a JSON file and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .environment import conditions
from .measure import Timing, best
from .variants import CTRANSLATE2, OURS, PYTORCH, SALIENT, WITH_SHORTLIST


@dataclass
class Row:
    """A case's outcome. Ratios are CTranslate2's median over ours: above 1 we are faster."""

    name: str
    about: str
    outputs: list[int]
    timings: list[Timing]
    clock: str = "seconds"
    goals: tuple[float, float] | None = None

    def runs(self) -> int:
        """How often the fewest of those whose ratio is told ran."""
        return min(len(t.seconds) for t in (self.rival(True), *map(self.ours, OURS)) if t)

    def of(self, family: str, exact: bool | None = None) -> list[Timing]:
        return [t for t in self.timings if t.variant.family == family and (exact is None or t.variant.exact == exact)]

    def rival(self, exact: bool) -> Timing | None:
        found = self.of(CTRANSLATE2, exact)
        return best(found, self.clock) if found else None

    def ours(self, name: str) -> Timing | None:
        return next((t for t in self.of(SALIENT) if t.variant.name == name), None)

    def ratio(self, name: str, exact: bool = True) -> float | None:
        rival, ours = self.rival(exact), self.ours(name)
        return rival.median(self.clock) / ours.median(self.clock) if rival and ours else None

    def to_json(self) -> dict:
        return {"case": self.name, "about": self.about, "outputs": self.outputs, "clock": self.clock,
                "goals": self.goals, "timings": [t.to_json() for t in self.timings],
                "ratios": {t.variant.name: {"exact": self.ratio(t.variant.name),
                                            "vocabulary map": self.ratio(t.variant.name, False)}
                           for t in self.of(SALIENT)}}

    @staticmethod
    def from_json(told: dict) -> "Row":
        return Row(told["case"], told["about"], told["outputs"], [Timing.from_json(t) for t in told["timings"]],
                   told["clock"], told["goals"])


def seconds(timing: Timing | None, clock: str) -> str:
    return f"{timing.median(clock):.3g}" if timing else ""


def times(ratio: float | None) -> str:
    return f"{ratio:.2f}x" if ratio is not None else ""


def lengths(outputs: list[int]) -> str:
    return f"{outputs[0]:,}" if len(set(outputs)) == 1 else f"{min(outputs):,} to {max(outputs):,}"


def lines_of(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    """A table; all columns but the first `left` are numbers."""
    rule = "|" + "---|" * left + "---:|" * (len(head) - left)
    return "\n".join(["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)])


def table(rows: list[Row]) -> str:
    """Both engines compute the whole output layer."""
    head = ["case", "CTranslate2's best setting", "tokens out, each", "runs", "CTranslate2", "PyTorch"]
    for name in OURS:
        head += [f"Salient, {name}", "times as fast", "goal"]
    cells = []
    for row in rows:
        rival, pytorch = row.rival(True), row.of(PYTORCH)
        line = [row.about, rival.variant.name if rival else "", lengths(row.outputs), str(row.runs()),
                seconds(rival, row.clock), seconds(pytorch[0] if pytorch else None, row.clock)]
        for i, name in enumerate(OURS):
            goal = f"{row.goals[i]:g}x" if row.goals else ""
            line += [seconds(row.ours(name), row.clock), times(row.ratio(name)), goal]
        cells.append(line)
    return lines_of(head, cells, left=2)


def map_table(rows: list[Row]) -> str:
    """Both engines compute a part of the output layer; empty without a row that has both."""
    names = [name + WITH_SHORTLIST for name in OURS]
    head = ["case", "CTranslate2, vocabulary map"]
    for name in names:
        head += [f"Salient, {name}", "times as fast"]
    cells = []
    for row in rows:
        if row.rival(False) and all(row.ours(name) for name in names):
            line = [row.about, seconds(row.rival(False), row.clock)]
            for name in names:
                line += [seconds(row.ours(name), row.clock), times(row.ratio(name, False))]
            cells.append(line)
    return lines_of(head, cells) if cells else ""


def sum_of_parts(rows: list[Row]) -> str:
    """How much longer unlike documents take together than one kind after the other; empty without those cases."""
    by_name = {row.name: row for row in rows}
    parts = [by_name.get(name) for name in ("mixed", "mixed-long-part", "mixed-short-part")]
    if not all(parts):
        return ""
    together, *apart = parts
    cells = []
    for name in OURS:
        if all(row.ours(name) for row in parts):
            ratio = together.ours(name).median(together.clock) / sum(row.ours(name).median(row.clock) for row in apart)
            cells.append([f"Salient, {name}", f"{ratio:.2f}", "1.1"])
    rival = together.rival(True).median(together.clock) / sum(row.rival(True).median(row.clock) for row in apart)
    cells.append(["CTranslate2, best setting of each", f"{rival:.2f}", ""])
    return lines_of(["one of 4,096 with seven of 64: together over the sum of the parts", "", "goal, at most"], cells)


def markdown(rows: list[Row], about: dict) -> str:
    unit = "seconds" if rows[0].clock == "seconds" else "seconds of processor time"
    early = [t.to_json() for row in rows if (t := row.ours("selection and exits"))]
    exits = [timing["mean_exit"] for timing in early if "mean_exit" in timing]
    mean_exit = f" (mean exit {sum(exits) / len(exits):.2f} of {about['layers']})" if exits else ""
    parts = [
        conditions(about), "![Times as fast as CTranslate2](figures/peers.svg)",
        f"Model `{about['shape']}`, {about['threads']} threads each, CTranslate2 {about['ctranslate2']}. Medians in "
        f"{unit}; of documents that arrive one by one, how long one waited on average. Both compute the same model "
        "with the same weights and tokens, and give translations of the same forced lengths. Weights are random: "
        f"selection reads 5 % of the keys, and exits are spread over the layers{mean_exit}. Settings of CTranslate2 "
        "were chosen for each case out of those in [benchmarks/README.md](../benchmarks/README.md).",
        table(rows)]
    if shortlists := map_table(rows):
        parts.append("With the output layer cut down to the same likely tokens in both, by CTranslate2's vocabulary "
                     "map and by Salient's shortlist:\n\n" + shortlists)
    if together := sum_of_parts(rows):
        parts.append(together)
    return "\n\n".join(parts) + "\n"


def picture(rows: list[Row], path: Path, title: str) -> None:
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "salient"
    from matplotlib import pyplot

    rows = [row for row in rows if "part" not in row.name]
    figure, axes = pyplot.subplots(figsize=(9, 0.55 * len(rows) + 1.6))
    height = 0.8 / len(OURS)
    for i, (name, colour) in enumerate(zip(OURS, ("#9aa7b5", "#1f3b63"))):
        ratios = [row.ratio(name) or 0 for row in rows]
        at = [-y - i * height for y in range(len(rows))]
        bars = axes.barh(at, ratios, height, label=name, color=colour)
        axes.bar_label(bars, [times(ratio) for ratio in ratios], padding=2, fontsize=7)
        for y, row in zip(at, rows):
            if row.goals:
                axes.plot([row.goals[i]] * 2, [y - height / 2, y + height / 2], color="#c0504d", linewidth=1.5)
    axes.plot([], [], color="#c0504d", linewidth=1.5, label="goal")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks([-y - height / 2 for y in range(len(rows))], [row.about for row in rows], fontsize=8)
    axes.set_xlabel("times as fast as the best setting of CTranslate2")
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
