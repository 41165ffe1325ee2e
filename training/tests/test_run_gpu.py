"""The script's stages, restarts and limits, with a program in the place of Python that leaves what commands would."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "run_gpu.sh"
PYTHON = """#!{python}
import json, pathlib, sys, time
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
    print(json.dumps({{"dev_nll_last": [3.0, 2.0], "dev_nll_average": [3.0, 1.5 if wide else 1.75]}}))
    out.write_text("checkpoint")
else:
    out.mkdir(parents=True, exist_ok=True)
    for file in ("train.npz", "model.safetensors", "ablations.md", "selection.json"):
        (out / file).write_bytes(b"x" * int((here / "size").read_text()))
"""


@pytest.fixture
def run(tmp_path):
    """run(command, arguments...) -> (exit status, what it says)."""
    program = tmp_path / "python"
    program.write_text(PYTHON.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "size").write_text("10")
    environment = {**os.environ, "PYTHON": str(program), "DEVICE": "cpu", "MINUTES": "1", "MODEL": "small",
                   "PACK": "pack"}

    def call(*arguments):
        done = subprocess.run(["bash", str(SCRIPT), *arguments], cwd=tmp_path, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
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


def test_all_stages_run_once_and_leave_what_travels(run, tmp_path):
    assert run("pack", "train.tsv", "dev.tsv", "test.tsv")[0] == 0
    (packed,) = (tmp_path / "calls").read_text().splitlines()
    assert f"--train {tmp_path}/train.tsv --dev {tmp_path}/dev.tsv" in packed and "--vocab-size 8000" in packed
    status, text = run("run", "out")
    assert status == 0, text
    assert calls(tmp_path)[1:] == ["train:trial-plain", "train:trial-compiled", "train:choice-small",
                                   "train:choice-small-wide", "train:base", "train:supervision", "train:selection",
                                   "train:halting", "export:", "ablations:"]
    assert (tmp_path / "out" / "choice.sh").read_text() == "config=small-wide\ncompile=\n"
    base = next(c for c in (tmp_path / "calls").read_text().splitlines() if c.startswith("train:base"))
    assert "configs/small-wide.json" in base and "--minutes 0.520" in base
    phases = ("base", "choice-small-wide", "choice-small", "halting", "selection", "supervision")
    assert sorted(p.name for p in (tmp_path / "out.work").iterdir()) == ["ablations", *(f"{p}.pt" for p in phases)]
    assert not list((tmp_path / "out").rglob("*.pt")) and (tmp_path / "out" / "ablations.md").exists()


def test_it_goes_on_where_it_was_killed(run, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "train.npz").write_text("data")
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
    assert again == ["train:base", "train:supervision", "train:selection", "train:halting", "export:", "ablations:"]


def test_what_is_too_large_to_travel_is_said(run, tmp_path):
    (tmp_path / "size").write_text(str(17 << 20))
    assert run("pack", "train.tsv", "dev.tsv")[0] == 1  # 68 MiB
    (tmp_path / "pack" / "model.safetensors").unlink()
    status, text = run("run", "out")
    assert status == 1 and "MiB" in text


def test_a_missing_pack_and_a_failing_stage_are_said(run, tmp_path):
    status, text = run("start", "out")
    assert status == 1 and "train.npz is missing" in text
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "train.npz").write_text("data")
    (tmp_path / "size").write_text("none")  # export fails on it
    status, text = run("run", "out")
    assert status == 1 and "training failed" in text
