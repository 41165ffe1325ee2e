"""The script's stages, restarts and limits, with a program in the place of Python that leaves what commands would."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "run_gpu.sh"
PYTHON = """#!{python}
import json, os, pathlib, sys, time
if sys.argv[1] == "-c":  # whether there is PyTorch
    sys.exit()
if sys.argv[2] == "tarfile":
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
here, arguments = pathlib.Path(__file__).parent, sys.argv[2:]
flags = dict(zip(arguments[1:], arguments[2:]))
out = pathlib.Path(flags["--out"])
name = arguments[0].split(".")[1] + ":" + (out.stem if arguments[0] == "salient.train" else "")
with open(here / "calls", "a") as calls:
    calls.write(name + " " + " ".join(arguments[1:]) + "\\n")
while name == "train:selection" and (here / "hang").exists():
    time.sleep(0.05)
if arguments[0] == "salient.train":
    wide = "wide" in flags.get("--config", "")
    print(json.dumps({{"tokens_per_second": 900 if "--compile" in arguments else 1000}}))
    print(json.dumps({{"dev_nll_by_exit": [3.0, 1.5 if wide else 1.75], "dev_nll_average": [3.0, 2.0]}}))
    out.write_text("checkpoint")
elif out.suffix:
    out.write_text("")
else:
    out.mkdir(parents=True, exist_ok=True)
    files = {{"prepare": ["train.npz"], "export": ["model.safetensors"], "evaluate": ["operating_points.json"],
              "ablations": ["ablations.md", "selection.json"]}}
    for file in files[arguments[0].split(".")[1]]:
        (out / file).write_bytes(b"x" * int((here / "size").read_text()))
"""


@pytest.fixture
def run(tmp_path):
    """run(command, arguments...) -> (exit status, what it says)."""
    program = tmp_path / "python"
    program.write_text(PYTHON.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "size").write_text("10")
    (tmp_path / "bin").mkdir()
    for name in ("salient", "salient-server"):
        shutil.copy("/bin/echo", tmp_path / "bin" / name)
    for name in ("train", "dev.en-de", "dev-long.en-de", "wmt21.en-de"):
        (tmp_path / f"{name}.tsv").write_text("k|1\ta\tb\n")
    environment = {**os.environ, "PYTHON": str(program), "DEVICE": "cpu", "MINUTES": "1", "MODEL": "small",
                   "PACK": "pack", "BIN": "bin"}

    def call(*arguments, path=os.environ["PATH"]):
        done = subprocess.run(["bash", str(SCRIPT), *arguments], cwd=tmp_path, env={**environment, "PATH": path},
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    yield call
    if (tmp_path / "out" / "pid").exists():
        stop(tmp_path)


def stop(folder: Path) -> None:
    try:
        os.killpg(int((folder / "out" / "pid").read_text()), signal.SIGKILL)
    except ProcessLookupError:
        pass


def calls(folder: Path) -> list[str]:
    return [line.split()[0] for line in (folder / "calls").read_text().splitlines()]


def pack(run):
    return run("pack", "train.tsv", "dev.en-de.tsv", "dev-long.en-de.tsv", "wmt21.en-de.tsv")


def stub_pack(folder: Path) -> None:
    (folder / "pack").mkdir()
    (folder / "pack" / "train.npz").write_text("data")


def test_the_pack_has_text_and_programs_that_run_anywhere(run, tmp_path):
    assert pack(run)[0] == 0
    (packed,) = (tmp_path / "calls").read_text().splitlines()
    assert f"--train {tmp_path}/train.tsv --dev {tmp_path}/dev.en-de.tsv" in packed
    assert "--vocab-size 8000 --source-language en --target-language de --out" in packed
    elsewhere = tmp_path / "elsewhere"
    with tarfile.open(tmp_path / "pack.tar.xz") as archive:
        archive.extractall(elsewhere)
    tests = sorted(str(p.relative_to(elsewhere / "test")) for p in (elsewhere / "test").rglob("*.tsv"))
    assert tests == ["dev-long.en-de.tsv", "dev.tsv", "eval/wmt21.en-de.tsv"]
    shutil.rmtree(tmp_path / "bin")
    said = subprocess.run([elsewhere / "bin" / "salient-server", "two  words", "x"], stdout=subprocess.PIPE, text=True,
                          env={}, check=True).stdout
    assert said == "two  words x\n"
    maps = subprocess.run([elsewhere / "bin" / "salient", "--help"], env={"LD_DEBUG": "libs"}, stderr=subprocess.PIPE,
                          text=True).stderr
    assert f"{elsewhere}/bin/lib/libc.so.6" in maps


def test_a_pack_needs_the_engine(run, tmp_path):
    (tmp_path / "bin" / "salient").unlink()
    status, text = pack(run)
    assert status == 1 and "bin/salient is missing: build it first" in text


def test_all_stages_run_once_and_leave_what_travels(run, tmp_path):
    assert pack(run)[0] == 0
    shutil.rmtree(tmp_path / "pack")  # what came along is the archive
    (tmp_path / "pack.part").mkdir()
    (tmp_path / "pack.part" / "other.npz").write_text("of another archive, whose unpacking was killed")
    status, text = run("run", "out")
    assert status == 0, text
    assert (tmp_path / "pack" / "train.npz").exists() and not (tmp_path / "pack" / "other.npz").exists()
    assert calls(tmp_path)[1:] == ["train:trial-plain", "train:trial-compiled", "train:choice-small",
                                   "train:choice-small-wide", "train:base", "train:supervision", "train:selection",
                                   "train:depth", "train:supervision-again", "train:halting", "export:",
                                   "shortlist:", "evaluate:", "ablations:"]
    assert (tmp_path / "out" / "choice.sh").read_text() == "config=small-wide\ncompile=\n"
    base = next(c for c in (tmp_path / "calls").read_text().splitlines() if c.startswith("train:base"))
    assert "configs/small-wide.json" in base and "--minutes 0.380" in base
    phases = ("base", "choice-small", "choice-small-wide", "depth", "halting", "selection", "supervision",
              "supervision-again")
    assert {p.name for p in (tmp_path / "out.work").iterdir()} == {"ablations", *(f"{p}.pt" for p in phases)}
    assert not list((tmp_path / "out").rglob("*.pt")) and (tmp_path / "out" / "ablations.md").exists()


def test_it_goes_on_where_it_was_killed(run, tmp_path):
    stub_pack(tmp_path)
    (tmp_path / "hang").write_text("")
    assert run("start", "out")[0] == 0
    while not (tmp_path / "calls").exists() or "train:selection" not in calls(tmp_path):
        time.sleep(0.05)
    status, text = run("start", "out")
    assert status == 1 and "already running" in text
    stop(tmp_path)
    status, text = run("collect", "out")
    assert status == 1 and "stopped before its end" in text
    (tmp_path / "hang").unlink()
    before = len(calls(tmp_path))
    status, text = run("run", "out")
    assert status == 0, text
    again = calls(tmp_path)[before:]
    # each phase is asked for, which finds its checkpoint; the choice is not made again
    assert again == ["train:base", "train:supervision", "train:selection", "train:depth", "train:supervision-again",
                     "train:halting", "export:", "shortlist:", "evaluate:", "ablations:"]


def test_what_is_too_large_to_travel_is_said(run, tmp_path):
    tar = tmp_path / "tar"
    tar.write_text(f"#!/bin/sh\ntruncate -s 65M {tmp_path}/pack.tar.xz\n")
    tar.chmod(0o755)
    status, text = run("pack", "train.tsv", "dev.en-de.tsv", path=f"{tmp_path}:{os.environ['PATH']}")
    assert status == 1 and "pack.tar.xz is 65 MiB, more than the 64 that travel" in text
    (tmp_path / "size").write_text(str(17 << 20))
    status, text = run("run", "out")
    assert status == 1 and "out is 69 MiB, more than the 64 that travel" in text


def test_a_missing_pack_and_a_failing_stage_are_said(run, tmp_path):
    status, text = run("start", "out")
    assert status == 1 and "pack.tar.xz is missing" in text
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack.tar.xz").write_text("")
    status, text = run("start", "out")
    assert status == 1 and "pack is there without its train.npz" in text
    (tmp_path / "pack").rmdir()
    stub_pack(tmp_path)
    (tmp_path / "size").write_text("none")  # export fails on it
    status, text = run("run", "out")
    assert status == 1 and "training failed" in text
