"""Tables in Markdown."""

from __future__ import annotations


def table(rows: list[list[str]], text_columns: int = 1, padded: bool = True) -> str:
    """The first row is the header. The first `text_columns` columns are text, the others numbers. Padded tables are
    readable in a terminal; of others a changed cell changes one line only."""
    widths = [max(len(row[c]) for row in rows) if padded else 0 for c in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(w) if c < text_columns else cell.rjust(w)
                               for c, (cell, w) in enumerate(zip(row, widths))) + " |" for row in rows]
    rule = "|".join("-" * max(3, w + 2 if c < text_columns else w + 1) + ":" * (c >= text_columns)
                    for c, w in enumerate(widths))
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def percent(ratio: float, digits: int = 1) -> str:
    return f"{100 * ratio:.{digits}f} %"


def signed(value: float, digits: int = 1) -> str:
    return f"{value:+.{digits}f}"


def probability(p: float | None) -> str:
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
