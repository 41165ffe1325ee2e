"""What the pages name must exist: files, headings, flags, environment variables and metrics."""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

from pages import FLAG, ROOT, expand, named_files, pages

BIN = Path(os.environ.get("SALIENT_BIN", ROOT / "build" / "release" / "bin"))
PROGRAMS = {"salient translate": ["salient", "translate"], "salient models": ["salient", "models"],
            "salient-server": ["salient-server"]}
# Made when their commands run, not kept in the repository.
MADE = ("training/pack", "training/out", "models/tiny")
PAGES = pytest.mark.parametrize("page", pages(), ids=str)


@lru_cache
def flags_of(program: str) -> frozenset[str]:
    """What --help of one of our programs tells."""
    command = [str(BIN / PROGRAMS[program][0]), *PROGRAMS[program][1:], "--help"]
    return frozenset(FLAG.findall(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


@lru_cache
def flags_of_others() -> frozenset[str]:
    """Every flag in the text of our scripts and lesser programs: parsers, case statements, the fuzz targets."""
    files = [path for folder in ("benchmarks", "training", "scripts", "tests") for path in (ROOT / folder).rglob("*")
             if path.is_file() and path.suffix in ("", ".cc", ".py", ".sh") and "pack" not in path.parts]
    return frozenset(flag for path in files for flag in FLAG.findall(path.read_text(encoding="utf-8")))


@lru_cache
def sources() -> str:
    folders = ("engine", "server", "client", "cli", "cmake", "scripts", "benchmarks", "training", "tests")
    suffixes = (".cc", ".h", ".cu", ".cuh", ".cmake", ".py", ".sh", ".txt", "")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")
             if path.is_file() and path.suffix in suffixes]
    return "\n".join(path.read_text(encoding="utf-8") for path in [ROOT / "CMakeLists.txt", *files])


def program_of(command: str) -> str | None:
    """Which of PROGRAMS a command or a span of code runs."""
    words = [word.rsplit("/", 1)[-1] for word in command.split()]
    return next((name for name in PROGRAMS if any(words[i:i + len(name.split())] == name.split()
                                                  for i in range(len(words)))), None)


def is_ours(command: str) -> bool:
    """Whether nothing but programs of ours is run, so that every flag must be one of theirs."""
    ours = r"(\w+=\S* )*(training|benchmarks|scripts|build|python3? -m salient|salient)\b"
    return re.match(ours, command) is not None


def test_spans_and_paths_are_read_as_they_are_meant():
    assert named_files("engine/{a,b}/x.h, and models/en-de") == ["engine/a/x.h", "engine/b/x.h", "models/en-de"]
    assert expand("a") == ["a"] and named_files("learned/dense") == []
    assert program_of("build/release/bin/salient translate x --exit full") == "salient translate"
    assert program_of("salient-server --model x &") == "salient-server" and program_of("grpcurl -plaintext") is None


@PAGES
def test_links_lead_somewhere(page):
    for file, anchor in page.links():
        target = (page.path.parent / file).resolve() if file else page.path
        assert target.exists(), f"{page}: the link to {file} leads nowhere"
        if anchor and target.suffix == ".md":
            there = next(p for p in pages() if p.path == target)
            assert anchor in there.anchors(), f"{page}: {file or 'the page'} has no heading #{anchor}"


@PAGES
def test_files_exist(page):
    for span in [*page.spans(), *(c for c in page.commands() if is_ours(c))]:
        for path in named_files(span):
            there = [found for start in (ROOT, page.path.parent) for ending in ("", ".*")  # x stands for x.h and x.cc
                     for found in start.glob(path.rstrip("/") + ending)]
            assert there or path.startswith(MADE), f"{page}: `{path}` does not exist"


@PAGES
def test_flags_exist(page):
    every = flags_of_others().union(*(flags_of(program) for program in PROGRAMS))
    for command in [*page.spans(), *page.commands()]:
        program = program_of(command)
        if program is not None and is_ours(command):
            for flag in FLAG.findall(command):
                assert flag in flags_of(program), f"{page}: {program} has no {flag} (`{command}`)"
        elif is_ours(command) or command.startswith("--"):
            for flag in FLAG.findall(command):
                assert flag in every, f"{page}: nothing has {flag} (`{command}`)"


@PAGES
def test_variables_exist(page):
    for name in set(re.findall(r"\bSALIENT_[A-Z0-9_]*[A-Z0-9]\b", page.text)):
        if name.startswith("SALIENT_SERVER_"):
            flag = "--" + name.removeprefix("SALIENT_SERVER_").lower().replace("_", "-")
            assert flag in flags_of("salient-server"), f"{page}: {name} stands for {flag}, which salient-server lacks"
        else:
            assert name in sources(), f"{page}: nothing reads {name}"


@PAGES
def test_metrics_exist(page):
    for name in re.findall(r"\bsalient_[a-z_]*[a-z]\b", page.text):
        assert name in sources(), f"{page}: nothing is called {name}"
