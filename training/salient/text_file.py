"""Text files, plain or compressed. Damage is told with the file's name."""

from __future__ import annotations

import lzma
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, TextIO

from .whole_file import whole_file


@contextmanager
def open_text(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    """Opens UTF-8 text for reading; .xz is unpacked. newline: as of `open`. Raises ValueError, at the damaged place,
    for a file that is cut off, is no .xz file, or has another encoding."""
    try:
        with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8", newline=newline) as file:
            yield file
    except (EOFError, lzma.LZMAError) as reason:
        raise ValueError(f"{path}: it is damaged or incomplete ({reason}); get it again") from None
    except UnicodeDecodeError as reason:
        raise ValueError(f"{path}: it is not UTF-8 ({reason}); convert it, for instance with iconv -t UTF-8") from None


@contextmanager
def whole_text(path: Path) -> Iterator[TextIO]:
    """Opens UTF-8 text for writing; .xz is compressed. Lines end in a line feed. The file is there when it is whole, as
    whole_file says."""
    with whole_file(path) as part:
        compressed = path.suffix == ".xz"
        with (lzma.open(part, "wt", encoding="utf-8", newline="\n", preset=1) if compressed
              else open(part, "w", encoding="utf-8", newline="\n")) as file:
            yield file
