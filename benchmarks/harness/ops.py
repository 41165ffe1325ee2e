"""Measures every operation of the CPU engine against the limits of this machine: bytes and operations per second.

Builds ops_bench (Google Benchmark), which times the operations in the shapes of a Transformer base, and in the same run
small loops that only read or only multiply: the limits. Runs it in rounds, takes each benchmark's fastest, and writes a
table (Markdown) and everything that was measured (JSON) to build/benchmarks/results; a full run also writes its section
of docs/benchmarks.md and docs/figures/ops.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

from . import page
from .environment import BUILD, build, conditions, die, end_on_sigterm, machine, say
from .page import lines_of
from .roofline import Measured, Roofs, least, read

ROUNDS, SECONDS = 3, 0.05  # rounds, and the least time per round, of each benchmark
NOT_OPERATIONS = ("roof/", "oneDNN/", "crossover/")  # they have tables of their own


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/ops", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="A full run takes about five minutes once ops_bench is built.")
    parser.add_argument("--quick", action="store_true", help="one hasty round on all cores: does it work?")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="all cores when left out")
    parser.add_argument("--filter", default="", metavar="REGEX", help="only these operations, such as selection")
    parser.add_argument("--program", type=Path, help="an ops_bench that is built already")
    parser.add_argument("--out", type=Path, default=BUILD / "results", help="folder of the table and the JSON")
    return parser.parse_args()


def run(program: Path, threads: int, seconds: float, only: str, out: Path) -> list[Measured]:
    command = [str(program), str(threads), f"--benchmark_min_time={seconds}", f"--benchmark_out={out}",
               "--benchmark_out_format=json"]
    if only:
        command.append(f"--benchmark_filter=roof/|{only}")
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        die(f"{program}: {done.stderr[-1000:]}")
    return read(out)


def rounds(o: argparse.Namespace, program: Path) -> dict[int, list[Measured]]:
    """Results by number of threads: one, and all. Rounds alternate between the two."""
    counts = [o.threads] if o.quick else sorted({1, o.threads})
    found: dict[int, list[list[Measured]]] = {threads: [] for threads in counts}
    for number in range(1 if o.quick else ROUNDS):
        for threads in counts:
            start = time.monotonic()
            least_seconds = 0.001 if o.quick else SECONDS
            found[threads].append(run(program, threads, least_seconds, o.filter, o.out / "ops_bench.json"))
            say(f"Round {number + 1}, {threads} threads: {time.monotonic() - start:.0f} s")
    return {threads: least(taken) for threads, taken in found.items()}


def amount(value: float) -> str:
    """1234567 -> "1.23 M"."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def spell(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def roof_table(roofs: Roofs) -> str:
    reads = " | ".join(f"{amount(size)}B" for size, _ in roofs.reads)
    speeds = " | ".join(f"{speed / 1e9:.3g}" for _, speed in roofs.reads)
    peaks = ", ".join(f"{name} {peak / 1e12:.3g}" for name, peak in roofs.peaks.items())
    rule = "---|" + "---:|" * len(roofs.reads)
    return (f"Tera-operations a second at most: {peaks}.\n\n| read over and over | {reads} |\n|{rule}\n"
            f"| GB/s | {speeds} |")


def operation_table(measured: list[Measured], roofs: Roofs) -> str:
    lines = ["| operation | time | bytes | operations | GB/s | Gop/s | limit | by | reached |",
             "|---|---:|---:|---:|---:|---:|---:|---|---:|"]
    for m in measured:
        if m.name.startswith(NOT_OPERATIONS):
            continue
        limit = roofs.limit(m)
        cells = [m.name, spell(m.seconds), amount(m.bytes), amount(m.operations), f"{m.bytes / m.seconds / 1e9:.3g}",
                 f"{m.operations / m.seconds / 1e9:.3g}", *((spell(limit.seconds), limit.by, f"{limit.share:.0%}")
                                                            if limit else ("", "", ""))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def onednn_table(measured: list[Measured]) -> str:
    """Empty if oneDNN was not timed, which is done on one thread only."""
    by_name = {m.name: m for m in measured}
    rows = []
    for name, theirs in by_name.items():
        ours = by_name.get(name.replace("oneDNN/", "linear/", 1))
        if name.startswith("oneDNN/") and ours:
            rows.append([name.removeprefix("oneDNN/"), spell(ours.seconds), spell(theirs.seconds),
                         f"{ours.seconds / theirs.seconds:.2f}"])
    return lines_of(["layer", "ours", "oneDNN", "ours over oneDNN"], rows) if rows else ""


def crossover_table(measured: list[Measured]) -> str:
    """The time of attention query by query, relative to tiles, by document length and by share of keys."""
    seconds = {tuple(m.name.split("/")[1:]): m.seconds for m in measured if m.name.startswith("crossover/")}
    lengths, shares = (list(dict.fromkeys(where[i] for where in seconds)) for i in (1, 2))
    head = ["tokens", *(f"{share.removeprefix('percent:')} %" for share in shares)]
    rows = [[length.removeprefix("length:"),
             *(f"{seconds['rows', length, share] / seconds['tiles', length, share]:.2f}" for share in shares)]
            for length in lengths]
    return lines_of(head, rows, left=0) if seconds else ""


def markdown(found: dict[int, list[Measured]], about: dict) -> str:
    threads = max(found)
    roofs = Roofs(found[threads])
    parts = [
        conditions(about), "![Operations below the machine's limits](figures/ops.svg)",
        f"On {threads} threads, the fastest of {about['rounds']} rounds. `bytes` and `operations` are the least work "
        "of an execution (multiplications and additions; an exponential counts as 14); `limit` is the least time that "
        "the machine needs for it, given by the speed of memory at the size of the data of successive executions, or "
        "by the peak of the arithmetic. K and V are bf16.", roof_table(roofs), operation_table(found[threads], roofs)]
    beside = onednn_table(found[min(found)])
    if beside:
        parts.append("Linear layers compared with oneDNN's on one thread. oneDNN's time is that of the matrix product "
                     "alone, with weights that it packed itself. Ours also quantises its inputs and applies scales and "
                     "bias, and the result of a row does not depend on the other rows, bit for bit.\n\n" + beside)
    crossover = crossover_table(found[threads])
    if crossover:
        parts.append("The two implementations of an encoder's attention, with a random share of the keys for each "
                     "query: the time of rows (query by query) divided by the time of tiles. At the crossover, a "
                     "constant of the instruction set (`engine/attention/cpu/tiles.h`), this is 1.\n\n" + crossover)
    return "\n\n".join(parts) + "\n"


FAMILIES = {"linear/int8": "#1f3b63", "linear/bf16": "#4f81bd", "linear/f32": "#9ec1e8", "attention": "#c0504d",
            "selection": "#e8a33d", "": "#7f7f7f"}


def picture(measured: list[Measured], path: Path, title: str) -> None:
    roofs = Roofs(measured)
    figure, axes = page.drawing().subplots(figsize=(9, 5.5))
    left, right = 0.1, 3e3  # operations per byte
    for size, speed in (roofs.reads[0], min(roofs.reads, key=lambda r: abs(r[0] - (32 << 20))), roofs.reads[-1]):
        axes.plot([left, right], [left * speed / 1e9, right * speed / 1e9], color="#bbbbbb", linewidth=1)
        axes.annotate(f"{amount(size)}B at {speed / 1e9:.0f} GB/s", (left, left * speed / 1e9), fontsize=7,
                      color="#666666", xytext=(2, 4), textcoords="offset points", rotation=33)
    for name, peak in roofs.peaks.items():
        axes.axhline(peak / 1e9, color="#bbbbbb", linewidth=1, linestyle="--")
        axes.annotate(name, (right, peak / 1e9), fontsize=7, color="#666666", ha="right", va="bottom")
    for family, colour in FAMILIES.items():
        points = [m for m in measured if not m.name.startswith(NOT_OPERATIONS) and
                  family == next(f for f in FAMILIES if m.name.startswith(f))]
        axes.scatter([m.operations / m.bytes for m in points], [m.operations / m.seconds / 1e9 for m in points], s=16,
                     color=colour, label=family or "row by row", zorder=3)
    highest = max(roofs.peaks.values(), default=1e12) / 1e9
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(1, highest * 2),
             xlabel="operations a byte", ylabel="10⁹ operations a second")
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    page.save(figure, path)


def main() -> None:
    o = parse()
    end_on_sigterm()
    program = (o.program or build(["ops_bench"]) / "ops_bench").resolve()
    o.out.mkdir(parents=True, exist_ok=True)
    about = {"machine": machine(), "threads": o.threads, "rounds": 1 if o.quick else ROUNDS,
             "command": "benchmarks/ops"}
    found = rounds(o, program)
    text = markdown(found, about)
    (o.out / "ops.md").write_text(text, encoding="utf-8")
    told = {str(threads): [vars(m) for m in measured] for threads, measured in found.items()}
    (o.out / "ops.json").write_text(json.dumps({**about, "measured": told}, indent=1) + "\n")
    whole = not o.quick and not o.filter
    figure = (page.FIGURES if whole else o.out) / "ops.svg"
    picture(found[max(found)], figure, f"{max(found)} threads, {about['machine']['cpu']}")
    if whole:
        page.put("ops", text)
    print(text)
    say(f"Wrote {o.out / 'ops.md'}, {o.out / 'ops.json'} and {figure}")


if __name__ == "__main__":
    main()
