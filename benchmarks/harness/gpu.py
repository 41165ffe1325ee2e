"""Draws the speed-up on a GPU by selection and by exits, from the report that scripts/test-gpu writes.

The speed-up is that of whole decoding over the dense path of the same run, with one group of bars per case. Beside it
is the end-to-end speed-up that the paper on selection reports.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from . import page
from .environment import BUILD, ROOT, say

PAPERS_GAIN = 1.2  # end to end, by selection
HEAD = "| case | dense |"
SAMPLE = ROOT / "benchmarks" / "samples" / "gpu-report.md"
SHOWN = ("selection of 5 %", "and geometric exits")


def decoding(report: str) -> list[dict]:
    """The rows of the decoding tables, one device after another: {"case", column name: microseconds per step}."""
    rows, columns, device = [], None, ""
    for line in report.splitlines():
        if line.startswith("# "):
            device = line[2:].strip()
        if line.startswith(HEAD):
            columns = [cell.strip() for cell in line.strip("|").split("|")]
            continue
        if columns is None or line.startswith("|---"):
            continue
        if not line.startswith("|"):
            columns = None
            continue
        cells = dict(zip(columns, (cell.strip() for cell in line.strip("|").split("|"))))
        times = {name: float(found[1]) for name, cell in cells.items() if (found := re.match(r"([\d.]+) us", cell))}
        rows.append({"device": device, "case": cells["case"], **times})
    return rows


def gains(row: dict) -> list[float]:
    return [row["dense"] / row[name] for name in SHOWN]


def picture(rows: list[dict], path: Path) -> None:
    figure, axes = page.drawing().subplots(figsize=(9, 0.55 * len(rows) + 1.6))
    height = 0.8 / len(SHOWN)
    for i, (name, colour) in enumerate(zip(SHOWN, ("#9aa7b5", "#1f3b63"))):
        bars = axes.barh([-y - i * height for y in range(len(rows))], [gains(row)[i] for row in rows], height,
                         label=name, color=colour)
        axes.bar_label(bars, [f"{gains(row)[i]:.2f}x" for row in rows], padding=2, fontsize=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.axvline(PAPERS_GAIN, color="#c0504d", linewidth=1.2, label=f"selection in the paper, {PAPERS_GAIN:g}x")
    axes.set_yticks([-y - height / 2 for y in range(len(rows))], [f"{row['case']}\n{row['device']}" for row in rows],
                    fontsize=7)
    axes.set_xlabel("times as fast as dense decoding")
    axes.legend(fontsize=8)
    page.save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, nargs="?", help="report.md, as scripts/test-gpu leaves it")
    parser.add_argument("--quick", action="store_true", help="a report of made-up numbers: does it all work?")
    parser.add_argument("--figure", type=Path, help=f"the picture ({page.FIGURES / 'gpu.svg'}; with --quick, in "
                        f"{BUILD / 'results'})")
    o = parser.parse_args()
    if o.report is None and not o.quick:
        parser.error("name the report that scripts/test-gpu has written, or give --quick")
    o.report = o.report or SAMPLE
    o.figure = o.figure or (BUILD / "results" if o.quick else page.FIGURES) / "gpu.svg"
    rows = decoding(o.report.read_text(encoding="utf-8"))
    if not rows:
        raise SystemExit(f"{o.report}: no table of decoding in it (a line that begins with {HEAD!r}); was "
                         "scripts/test-gpu run on a machine with a GPU?")
    picture(rows, o.figure)
    say(f"Wrote {o.figure}")


if __name__ == "__main__":
    main()
