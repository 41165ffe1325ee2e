"""Published models and real text, for benchmarks/agreement and `benchmarks/peers --model`.

A model comes by name from the catalogue of scripts/get-model, with what its own engine reads: a CTranslate2 folder, or
a Bergamot student and the program translateLocally. Each line of the text has an id, a source and a reference,
separated by tabs.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .environment import BUILD, ROOT, die

sys.path.insert(0, str(ROOT / "training"))

from salient import distil  # noqa: E402
from salient.convert import from_ctranslate2, get  # noqa: E402
from salient.convert.__main__ import unpacked  # noqa: E402

CACHE = Path.home() / ".cache" / "salient"


@dataclass
class RealModel:
    """folder: our model. peer: what the model's own engine reads."""

    name: str
    folder: Path
    peer: Path

    @property
    def bergamot(self) -> bool:
        return from_ctranslate2.find_model(self.peer) is None

    @property
    def ctranslate2(self) -> Path:
        return from_ctranslate2.find_model(self.peer)


def fetch(name: str, cache: Path = CACHE, into: Path = BUILD / "real") -> RealModel:
    """Downloads what is missing, and converts the model, unless this converter has done so."""
    entry = get.catalogue().get(name)
    if entry is None:
        die(f"no model {name}; scripts/get-model lists those that there are")
    ours, theirs = into / name, into / f"{name}-original"
    package = entry["path"].endswith(".argosmodel")
    original = theirs / "package" if package else theirs / entry["path"]
    if not original.exists():
        archive = get.archive_of(entry, cache)
        part = into / f"{name}-original.part"  # a run that is stopped here leaves no half of a model as the whole
        shutil.rmtree(part, ignore_errors=True)
        found = get.unpack(archive, entry["path"], part)
        if package:
            unpacked(found, part / "package")
        else:
            get.unpack(archive, f"{distil.RESOURCES}/{distil.PROGRAM}", part).chmod(0o755)
        shutil.rmtree(theirs, ignore_errors=True)
        part.rename(theirs)
    folder = next((path for path in original.iterdir() if path.is_dir()), original) if package else original
    converter = max(path.stat().st_mtime for path in (ROOT / "training" / "salient" / "convert").glob("*.*"))
    config = ours / "config.json"
    if not config.exists() or config.stat().st_mtime < converter:
        get.get(name, ours, cache)
    return RealModel(name, ours, folder)


def read_lines(path: Path, most: int | None = None) -> tuple[list[str], list[str]]:
    """Sources and references."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()][:most]
    if not rows or any(len(row) != 3 for row in rows):
        die(f"{path}: every line must be an id, a source and a reference with tabs between")
    return [row[1] for row in rows], [row[2] for row in rows]


class Pieces:
    """The model's own tokeniser, for engines whose input is pieces."""

    def __init__(self, model: RealModel):
        import sentencepiece

        self.model = sentencepiece.SentencePieceProcessor(model_file=str(model.folder / "tokenizer.model"))

    def cut(self, line: str) -> list[str]:
        return self.model.encode(line, out_type=str)

    @staticmethod
    def join(pieces: list[str]) -> str:
        """Joins pieces of either language, because the source's model may not have the target's pieces."""
        return "".join(pieces).replace("\u2581", " ").strip()


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def translate_locally(model: RealModel, lines: list[str], work: Path, threads: int,
                      cpu: bool = False) -> tuple[list[str], float]:
    """The translation of the lines by Bergamot's own program, which splits lines into sentences itself, and its
    wall-clock or processor seconds, including its start."""
    work.mkdir(parents=True, exist_ok=True)
    source, target = work / "source.txt", work / "target.txt"
    source.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    clock = children_seconds if cpu else time.perf_counter
    began = clock()
    try:
        distil.translate_file(model.peer.parents[5], source, target, threads, f"{model.name}-tiny")
    except (OSError, subprocess.CalledProcessError) as error:
        die(f"{error}. The program needs Qt 6: apt-get install libqt6widgets6 libqt6network6 libqt6svg6")
    seconds = clock() - began
    return target.read_text(encoding="utf-8").splitlines(), seconds
