"""Files, headings, flags, environment variables, metrics and names in code that the pages name must exist."""

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
            "salient tune": ["salient", "tune"], "salient-server": ["salient-server"]}
# Made by commands, so not in the repository.
MADE = ("training/pack", "training/out", "models/tiny", "models/en-fr")
# Names of other programs, which no file of ours has.
FOREIGN = {"preserve_formatting", "style_id", "ImageVolume", "subPath", "dnsNames", "PrometheusRule", "ContainerCreating",
           "ImagePullBackOff", "pick_first", "SM_COUNT_TARGET", "dirty_decay_ms"}
PAGES = pytest.mark.parametrize("page", pages(), ids=str)


@lru_cache
def flags_of(program: str) -> frozenset[str]:
    """The flags in --help of one of our programs."""
    command = [str(BIN / PROGRAMS[program][0]), *PROGRAMS[program][1:], "--help"]
    return frozenset(FLAG.findall(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


@lru_cache
def text_of(folder: str) -> str:
    """All programs, scripts and settings of one folder as one text."""
    suffixes = (".cc", ".h", ".cu", ".cuh", ".cmake", ".proto", ".py", ".sh", ".txt", ".json", ".yaml", ".yml", "")
    made = {"pack", "out", "corpus", "__pycache__"}
    files = [path for path in (ROOT / folder).rglob("*")
             if path.is_file() and path.suffix in suffixes and not made.intersection(path.parts)]
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)


@lru_cache
def flags_in(*folders: str) -> frozenset[str]:
    """Every flag in the text of scripts and smaller programs: parsers, case statements, fuzz targets."""
    return frozenset(flag for folder in folders for flag in FLAG.findall(text_of(folder)))


@lru_cache
def sources() -> str:
    folders = ("engine", "documents", "proto", "server", "client", "cli", "cmake", "scripts", "benchmarks", "training",
               "tests", "deploy", "docker")
    return "\n".join([(ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), *map(text_of, folders)])


@lru_cache
def names() -> frozenset[str]:
    """Every name in the sources, and the names of their files."""
    files = (path.stem for folder in ROOT.iterdir() if folder.is_dir() and folder.name not in (".git", "build")
             for path in folder.rglob("*"))
    return frozenset(re.findall(r"\w+", sources())).union(files, FOREIGN)


def program_of(command: str) -> str | None:
    """The one of PROGRAMS that a command or a span of code runs."""
    words = [word.rsplit("/", 1)[-1] for word in command.split()]
    return next((name for name in PROGRAMS if any(words[i:i + len(name.split())] == name.split()
                                                  for i in range(len(words)))), None)


def is_ours(command: str) -> bool:
    """Whether only programs of ours are run, so that every flag must belong to one of them."""
    return home_of(command) is not None


def home_of(command: str) -> str | None:
    """The folder of our program that a command runs."""
    homes = {r"(training|python3? -m salient)\b": "training", r"benchmarks\b": "benchmarks",
             r"scripts/get-model\b": "training", r"scripts\b": "scripts", r"build\b": "tests", r"salient\b": "client"}
    return next((home for start, home in homes.items() if re.match(r"(\w+=\S* )*" + start, command)), None)


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
    every = flags_in("benchmarks", "training", "scripts", "tests").union(*map(flags_of, PROGRAMS))
    for command in [*page.spans(), *page.commands()]:
        program = program_of(command)
        if program is not None and is_ours(command):
            for flag in FLAG.findall(command):
                assert flag in flags_of(program), f"{page}: {program} has no {flag} (`{command}`)"
        elif is_ours(command):
            for flag in FLAG.findall(command):
                assert flag in flags_in(home_of(command)), f"{page}: nothing in {home_of(command)} has {flag}"
        elif command.startswith("--"):
            for flag in FLAG.findall(command):
                assert flag in every, f"{page}: nothing has {flag} (`{command}`)"


@PAGES
def test_names_in_code_exist(page):
    """Functions, classes, fields: names with a capital or an underscore inside."""
    for span in page.spans():
        for name in re.findall(r"\b[A-Za-z]\w*", span.replace("-D", " ")):
            if re.search(r"[a-z][A-Z]|\w_\w", name) and not name.startswith("salient_"):  # metrics are tested below
                assert name in names(), f"{page}: nothing is called {name} (`{span}`)"


@PAGES
def test_variables_exist(page):
    for name in set(re.findall(r"\bSALIENT_[A-Z0-9_]*[A-Z0-9]\b", page.text)):
        if name.startswith("SALIENT_SERVER_"):
            flag = "--" + name.removeprefix("SALIENT_SERVER_").lower().replace("_", "-")
            assert flag in flags_of("salient-server"), f"{page}: {name} stands for {flag}, which salient-server lacks"
        else:
            assert name in sources(), f"{page}: nothing reads {name}"


@PAGES
def test_channels_take_large_replies(page):
    """gRPC's clients refuse more than 4 MiB unless told otherwise, and a reply is larger than its document."""
    made = r"insecure_channel\(|secure_channel\(|grpc\.NewClient\(|NettyChannelBuilder\.forTarget\("
    for block in page.text.split("\n\n"):
        if re.search(made, block):
            assert re.search(r"max_receive_message_length|MaxCallRecvMsgSize|maxInboundMessageSize", block), \
                f"{page}: a channel without the limit of its replies:\n{block}"


@PAGES
def test_metrics_exist(page):
    for name in re.findall(r"\bsalient_[a-z_]*[a-z]\b", page.text):
        assert name in sources(), f"{page}: nothing is called {name}"
