"""The files of a model folder, and how a folder gets those of a new model."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from .tensor_file import INDEX
from .vocabulary import SOURCE_VOCABULARY, TARGET_TOKENIZER, TOKENIZER, VOCABULARY

CONFIG, SHORTLIST = "config.json", "shortlist.safetensors"
FILES = (CONFIG, "README.md", "model*.safetensors", INDEX, TOKENIZER, TARGET_TOKENIZER, VOCABULARY, SOURCE_VOCABULARY,
         SHORTLIST, "operating_points.json", "guard.json")
UNFINISHED = ".unfinished-"


@contextmanager
def new_files(out: Path) -> Iterator[Path]:
    """A temporary folder for the files of a model. At the end of the block they become those of the model folder `out`,
    in which no file of an earlier model stays. After an error or Ctrl-C in the block `out` is as before. The temporary
    folder of a run that was killed is removed by the next one."""
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    for left in out.glob(f"{UNFINISHED}*"):
        shutil.rmtree(left)
    try:
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=out) as made:
            yield Path(made)
            replace(out, Path(made))
    except BaseException:
        if is_new:
            shutil.rmtree(out)
        raise


@contextmanager
def unpacking(out: Path) -> Iterator[Path]:
    """A folder beside the model folder `out`, for what is unpacked on the way to it; the block makes it if it needs it.
    It is removed at the end of the block; that of a run that was killed, by the next one with this `out`. Its name
    begins with a dot, so that a server with --models-dir takes it for no model."""
    out = out.resolve()
    work = out.with_name(f".{out.name}.unpacked")
    shutil.rmtree(work, ignore_errors=True)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def copy_existing(folder: Path, out: Path, *names: str) -> None:
    for name in names:
        if (folder / name).exists():
            shutil.copyfile(folder / name, out / name)


def replace(out: Path, made: Path) -> None:
    """config.json goes first and comes last, because a folder without it is no model."""
    for pattern in FILES:
        for old in out.glob(pattern):
            old.unlink()
    for path in sorted(made.iterdir(), key=lambda path: path.name == CONFIG):
        path.replace(out / path.name)
