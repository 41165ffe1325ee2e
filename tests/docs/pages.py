"""The pages for readers, and what they name: links, files, flags, commands."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = ("README.md", "*/README.md", "models/*/README.md", "tests/*/README.md", "docs/**/*.md")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


@dataclass
class Page:
    path: Path
    text: str

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    def spans(self) -> list[str]:
        """`code` in running text, also across a line break. Code blocks are left out."""
        prose = "\n".join(line for line in self.text.splitlines() if not line.startswith("    "))
        prose = re.sub(r"^```.*?^```", "", prose, flags=re.DOTALL | re.MULTILINE)
        return [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose)]

    def commands(self) -> list[str]:
        """The lines of indented code blocks, without comments. A line that ends with a backslash is joined with the
        next."""
        blocks = "\n".join(line[4:] for line in self.text.splitlines() if re.match("    [^ |]", line) or
                           re.match("     +[^ |]", line))
        return [re.sub(r"\s{2,}#.*$", "", line).strip() for line in blocks.replace("\\\n", " ").splitlines()]

    def links(self) -> list[tuple[str, str]]:
        """(file, anchor), either of which may be empty. Links to other sites are left out."""
        found = re.findall(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)", self.text)
        return [(file, anchor) for file, anchor in found if "://" not in file and not file.startswith("mailto:")]

    def anchors(self) -> set[str]:
        heads = re.findall(r"^#+ +(.*)$", self.text, flags=re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def pages() -> list[Page]:
    paths = sorted(set(itertools.chain.from_iterable(ROOT.glob(pattern) for pattern in PATTERNS)))
    return [Page(path, path.read_text(encoding="utf-8")) for path in paths
            if not {"build", ".pytest_cache"}.intersection(path.parts)]  # what is made here


def expand(pattern: str) -> list[str]:
    """a/{b,c} -> [a/b, a/c]."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if not found:
        return [pattern]
    return [made for choice in found[1].split(",")
            for made in expand(pattern[:found.start()] + choice + pattern[found.end():])]


def named_files(span: str) -> list[str]:
    """The paths in the repository that a span of code names: it begins with one of the top-level folders."""
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")} - {"build"}
    words = [word.rstrip(",:;") for word in span.split()]
    return [path for word in words if word.split("/")[0] in folders and re.fullmatch(r"[\w./*{},-]+/[\w./*{},-]*", word)
            for path in expand(word)]
