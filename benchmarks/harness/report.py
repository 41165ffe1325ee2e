"""From timings to a table, a JSON file and a picture."""

from __future__ import annotations

from dataclasses import dataclass

from .measure import Timing, best
from .variants import CTRANSLATE2, PYTORCH, SALIENT


@dataclass
class Row:
    """A case's outcome. Ratios are CTranslate2's median over ours: above 1 we are faster."""

    name: str
    about: str
    outputs: list[int]
    timings: list[Timing]
    clock: str = "seconds"

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
                "timings": [t.to_json() for t in self.timings],
                "ratios": {t.variant.name: {"exact": self.ratio(t.variant.name),
                                            "vocabulary map": self.ratio(t.variant.name, False)}
                           for t in self.of(SALIENT)}}


def seconds(timing: Timing | None, clock: str) -> str:
    return f"{timing.median(clock):.3g}" if timing else ""


def times(ratio: float | None) -> str:
    return f"{ratio:.2f}x" if ratio is not None else ""


def lengths(outputs: list[int]) -> str:
    return f"{outputs[0]:,}" if len(set(outputs)) == 1 else f"{min(outputs):,} to {max(outputs):,}"


OURS = ["dense", "selection", "selection and exits"]


def table(rows: list[Row]) -> str:
    clock = rows[0].clock
    head = ["case", "tokens out, each", "runs", "CTranslate2, best", "its setting", "with a vocabulary map", "PyTorch",
            *(f"Salient, {name}" for name in OURS), *(f"ratio, {name}" for name in OURS), "mean exit"]
    lines = ["| " + " | ".join(head) + " |", "|---|---:|---:|---:|---|" + "---:|" * (len(head) - 5)]
    for row in rows:
        rival, pytorch = row.rival(True), row.of(PYTORCH)
        exits = row.ours(OURS[2])
        mean_exit = exits.to_json().get("mean_exit") if exits else None
        cells = [row.about, lengths(row.outputs), str(len(row.timings[0].seconds)), seconds(rival, clock),
                 rival.variant.name if rival else "", seconds(row.rival(False), clock),
                 seconds(pytorch[0] if pytorch else None, clock), *(seconds(row.ours(name), clock) for name in OURS),
                 *(times(row.ratio(name)) for name in OURS), f"{mean_exit:.2f}" if mean_exit else ""]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def sum_of_parts(rows: list[Row]) -> str:
    """How much longer unlike documents take together than one kind after the other."""
    by_name = {row.name: row for row in rows}
    parts = [by_name.get(name) for name in ("mixed", "mixed-long-part", "mixed-short-part")]
    if not all(parts):
        return ""
    together, *apart = parts
    lines = ["| together over the sum of the parts | |", "|---|---:|"]
    for name in OURS:
        if all(row.ours(name) for row in parts):
            ratio = together.ours(name).median(together.clock) / sum(row.ours(name).median(row.clock) for row in apart)
            lines.append(f"| Salient, {name} | {ratio:.2f} |")
    rival = together.rival(True).median(together.clock) / sum(row.rival(True).median(row.clock) for row in apart)
    return "\n".join([*lines, f"| CTranslate2, best setting of each | {rival:.2f} |"])


def markdown(rows: list[Row], about: dict) -> str:
    machine = about["machine"]
    unit = "seconds" if rows[0].clock == "seconds" else "seconds of processor time"
    busy = machine["load"] > 0.5
    lines = [
        f"Model `{about['shape']}`, {about['threads']} threads, {machine['cpu']} ({', '.join(machine['features'])}); "
        f"CTranslate2 {about['ctranslate2']}, Salient {about['salient']}. Medians in {unit}; of documents that arrive "
        "one by one, how long one waited on average.",
        "",
        "Both compute the same model with the same weights and tokens, and give translations of the same forced lengths. "
        "Random weights: \"selection\" reads 5 % of the keys, and \"exits\" are spread to a mean of about half the layers.",
    ]
    if busy:
        lines += ["", f"Other work was running (load {machine['load']:.1f}): only ratios mean something, and only roughly."]
    return "\n".join([*lines, "", table(rows), "", sum_of_parts(rows), ""])


def picture(rows: list[Row], path: str, title: str) -> None:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in rows if "part" not in row.name]
    figure, axes = pyplot.subplots(figsize=(9, 0.6 * len(rows) + 1.6))
    height = 0.8 / len(OURS)
    for i, name in enumerate(OURS):
        ratios = [row.ratio(name) or 0 for row in rows]
        at = [-y - i * height for y in range(len(rows))]
        bars = axes.barh(at, ratios, height, label=name, color=["#9aa7b5", "#4f81bd", "#1f3b63"][i])
        axes.bar_label(bars, [times(ratio) for ratio in ratios], padding=2, fontsize=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks([-y - height for y in range(len(rows))], [row.about for row in rows], fontsize=8)
    axes.set_xlabel("times as fast as the best setting of CTranslate2")
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
