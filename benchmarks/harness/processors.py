"""The results of every processor, kept in benchmarks/results. The page and the picture show all of them.

Each processor has one file, with each case's medians, ratios and conditions. A full run replaces the file of its
processor; a run of some cases replaces these.
"""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .environment import ROOT
from .page import drawing, lines_of, save
from .variants import CTRANSLATE2, OURS, PYTORCH, WITH_SHORTLIST

FOLDER = ROOT / "benchmarks" / "results" / "peers"
MAP = f"{CTRANSLATE2}, vocabulary map"


@dataclass
class Outcome:
    """The outcome of one case. A ratio is CTranslate2's median over ours: above 1 we are faster. A shortlist is
    compared with a vocabulary map, everything else with CTranslate2 without a map."""

    name: str
    about: str
    outputs: list[int]
    runs: int
    setting: str  # CTranslate2's best setting
    seconds: dict[str, float]  # CTRANSLATE2, MAP, PYTORCH, and Salient's variants by name
    ratios: dict[str, float]  # Salient's variants by name
    goals: list[float] | None = None
    mean_exit: float | None = None  # of the run with selection and exits
    conditions: str = ""  # of the run: a line of text


@dataclass
class Processor:
    name: str
    about: dict  # "shape", "threads", "layers", "ctranslate2", "clock"
    cases: list[Outcome] = field(default_factory=list)

    def path(self, folder: Path = FOLDER) -> Path:
        return folder / (re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") + ".json")

    def save(self, folder: Path = FOLDER) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        self.path(folder).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        return self.path(folder)

    def case(self, name: str) -> Outcome | None:
        return next((case for case in self.cases if case.name == name), None)


def load(path: Path) -> Processor:
    told = json.loads(path.read_text(encoding="utf-8"))
    return Processor(told["name"], told["about"], [Outcome(**case) for case in told["cases"]])


def stored(folder: Path = FOLDER) -> list[Processor]:
    """All processors, the one with the most cases first."""
    return sorted(map(load, folder.glob("*.json")), key=lambda p: (-len(p.cases), p.name))


def name_of(machine: dict) -> str:
    """The processor's name, with the widest of the instruction sets that matter."""
    has = machine["features"]
    widest = ("AMX" if "amx_int8" in has else "AVX-512 with VNNI" if "avx512_vnni" in has else
              "AVX-512" if "avx512f" in has else "AVX2" if "avx2" in has else "no AVX2")
    return f"{re.sub(r'[(](R|TM)[)]| Processor', '', machine['cpu']).strip()}, {widest}"


def seconds(case: Outcome, name: str) -> str:
    return f"{case.seconds[name]:.3g}" if name in case.seconds else ""


def times(ratio: float | None) -> str:
    return f"{ratio:.2f}x" if ratio is not None else ""


def lengths(outputs: list[int]) -> str:
    return f"{outputs[0]:,}" if len(set(outputs)) == 1 else f"{min(outputs):,} to {max(outputs):,}"


def table(cases: list[Outcome]) -> str:
    """The cases in which both engines compute the whole output layer."""
    head = ["case", "CTranslate2's best setting", "tokens out, each", "runs", CTRANSLATE2, PYTORCH]
    for name in OURS:
        head += [f"Salient, {name}", "times as fast", "goal"]
    cells = []
    for case in cases:
        line = [case.about, case.setting, lengths(case.outputs), str(case.runs), seconds(case, CTRANSLATE2),
                seconds(case, PYTORCH)]
        for i, name in enumerate(OURS):
            goal = f"{case.goals[i]:g}x" if case.goals else ""
            line += [seconds(case, name), times(case.ratios.get(name)), goal]
        cells.append(line)
    return lines_of(head, cells, left=2)


def map_table(cases: list[Outcome]) -> str:
    """The cases in which both engines compute a part of the output layer. Empty if no case has both."""
    names = [name + WITH_SHORTLIST for name in OURS]
    head = ["case", MAP]
    for name in names:
        head += [f"Salient, {name}", "times as fast"]
    cells = []
    for case in cases:
        if MAP in case.seconds and all(name in case.seconds for name in names):
            line = [case.about, seconds(case, MAP)]
            for name in names:
                line += [seconds(case, name), times(case.ratios.get(name))]
            cells.append(line)
    return lines_of(head, cells) if cells else ""


def sum_of_parts(cases: list[Outcome]) -> str:
    """How much longer different documents take together than one kind after the other. Empty without such cases."""
    by_name = {case.name: case for case in cases}
    parts = [by_name.get(name) for name in ("mixed", "mixed-long-part", "mixed-short-part")]
    if not all(parts):
        return ""
    together, *apart = parts

    def ratio(name: str) -> float:
        return together.seconds[name] / sum(case.seconds[name] for case in apart)

    cells = [[f"Salient, {name}", f"{ratio(name):.2f}", "1.1"] for name in OURS
             if all(name in case.seconds for case in parts)]
    cells.append([f"{CTRANSLATE2}, best setting of each", f"{ratio(CTRANSLATE2):.2f}", ""])
    return lines_of([f"{together.about.removesuffix(', arriving together')}: together over the sum of the parts", "",
                     "goal, at most"], cells)


def threads(about: dict) -> str:
    return "1 thread" if about["threads"] == 1 else f"{about['threads']} threads"


def conditions(cases: list[Outcome]) -> str:
    """A paragraph for each run that measured some of the cases."""
    runs: dict[str, list[str]] = {}
    for case in cases:
        runs.setdefault(case.conditions, []).append(case.about)
    if len(runs) == 1:
        return next(iter(runs))
    return "\n\n".join(f"{text} It measured: {'; '.join(abouts)}." for text, abouts in runs.items())


def section(processor: Processor) -> str:
    about, cases = processor.about, processor.cases
    exits = [case.mean_exit for case in cases if case.mean_exit]
    mean_exit = f" (mean exit {sum(exits) / len(exits):.2f} of {about['layers']})" if exits else ""
    unit = "seconds" if about["clock"] == "seconds" else "seconds of processor time"
    parts = [f"### {processor.name}", conditions(cases),
             f"Model `{about['shape']}`{mean_exit}, {threads(about)} each, CTranslate2 "
             f"{about['ctranslate2']}; {unit}.", table(cases)]
    if shortlists := map_table(cases):
        parts.append("With the output layer restricted to the same tokens in both, by CTranslate2's vocabulary map and "
                     "by Salient's shortlist:\n\n" + shortlists)
    if together := sum_of_parts(cases):
        parts.append(together)
    return "\n\n".join(parts)


def markdown(processors: list[Processor]) -> str:
    return "\n\n".join([
        "![Times as fast as CTranslate2](figures/peers.svg)",
        "Medians of the runs. For documents that arrive one by one, the mean time from arrival to translation. Both "
        "programs compute the same model with the same weights and tokens, and their translations have the same forced "
        "lengths. Weights are random: selection reads 5 % of the keys, and exits are spread over the layers. For each "
        "case and processor, CTranslate2 has the best of the settings in "
        "[benchmarks/README.md](../benchmarks/README.md).",
        *map(section, processors)]) + "\n"


def picture(processors: list[Processor], path: Path) -> None:
    """One panel per processor, one pair of bars per case."""
    rows: dict[str, str] = {}  # every case of any processor, and its description
    for processor in processors:
        rows |= {case.name: case.about for case in processor.cases if "part" not in case.name}
    figure, panels = drawing().subplots(1, len(processors), sharex=True, sharey=True, squeeze=False,
                                        figsize=(5 + 4 * len(processors), 0.55 * len(rows) + 1.6))
    height = 0.8 / len(OURS)
    for axes, processor in zip(panels[0], processors):
        found = [processor.case(name) for name in rows]
        for i, (name, colour) in enumerate(zip(OURS, ("#9aa7b5", "#1f3b63"))):
            ratios = [case.ratios.get(name) if case else None for case in found]
            at = [-y - i * height for y in range(len(rows))]
            bars = axes.barh(at, [ratio or 0 for ratio in ratios], height, label=name, color=colour)
            axes.bar_label(bars, [times(ratio) for ratio in ratios], padding=2, fontsize=7)
            for y, case in zip(at, found):
                if case and case.goals:
                    axes.plot([case.goals[i]] * 2, [y - height / 2, y + height / 2], color="#c0504d", linewidth=1.5)
        axes.axvline(1, color="black", linewidth=0.8)
        labels = ["\n".join(textwrap.wrap(about, 50)) for about in rows.values()]
        axes.set_yticks([-y - height / 2 for y in range(len(rows))], labels, fontsize=8)
        axes.set_title(f"{processor.name}, {threads(processor.about)}", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    axes.plot([], [], color="#c0504d", linewidth=1.5, label="goal")
    axes.legend(fontsize=8, loc="lower right")
    figure.supxlabel("times as fast as the best setting of CTranslate2", fontsize=9)
    save(figure, path)
