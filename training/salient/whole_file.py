"""Files that other runs take as finished if they are there: they are never seen half-written."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator


def check_writable(path: Path) -> None:
    """Makes the file's folder. Raises OSError if no file can be written there, before hours of work are to be saved."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=path.parent):
        pass


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The place to write the file to. It becomes `path` at the end of the block. After an error `path` is as before.
    What a killed run left at this place is removed first."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        yield part
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
