"""docs/benchmarks.md has one section per command. A full run of a command replaces its section."""

from __future__ import annotations

import re
from pathlib import Path

from .environment import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
FIGURES = ROOT / "docs" / "figures"


def lines_of(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    """A table. All columns but the first `left` are numbers."""
    rule = "|" + "---|" * left + "---:|" * (len(head) - left)
    return "\n".join(["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)])


def drawing():
    """matplotlib's pyplot. With it and `save`, the same numbers give the same bytes."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "salient"
    from matplotlib import pyplot

    return pyplot


def save(figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def put(name: str, text: str, page: Path = PAGE) -> None:
    """Replaces the text between the page's markers of section `name`."""
    begin, end = f"<!-- {name}: written by benchmarks/{name} -->", f"<!-- end of {name} -->"
    old = page.read_text(encoding="utf-8")
    new, found = re.subn(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n\n{text.strip()}\n\n{end}", old,
                         flags=re.DOTALL)
    if found != 1:
        raise ValueError(f"{page}: the marks of section {name} stand there {found} times; they must stand once")
    page.write_text(new, encoding="utf-8")
