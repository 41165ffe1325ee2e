"""What scripts/test-gpu leaves behind: a report and an archive of logs, whatever happens to its steps.

Stand-ins for nvcc, cmake, nvidia-smi and the programs that it runs are first on the PATH.
"""

import os
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from stand_ins import program

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ["cuda_ops_test", "parity_test", "agreement_test", "device_bench"]


class Checkout:
    """A copy of the script in a folder of its own, with its stand-ins."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.tools = folder / "tools"
        self.out = folder / "out"
        (folder / "scripts").mkdir()
        for name in ("test-gpu", "common.sh"):
            shutil.copy(ROOT / "scripts" / name, folder / "scripts" / name)
        for variant in ("base", "wide"):
            (folder / "models/tiny" / variant).mkdir(parents=True)
            (folder / "models/tiny" / f"{variant}.json").write_text("{}")
        program(self.tools / "nvcc", "echo release 13.0")
        program(self.tools / "nvidia-smi", 'case "$*" in *compute_cap*) echo 9.0;; *) echo "A GPU, 1, 2";; esac')
        program(self.tools / "compute-sanitizer", "echo sanitized")
        program(self.tools / "python3", "exit 1")
        self.makes(dict.fromkeys(PROGRAMS, 'echo "ran $0 $*"'))

    def makes(self, programs: dict[str, str]) -> None:
        """What the build makes of the sources: shell scripts."""
        made = "\n".join(f"cat > $bin/{name} <<'END'\n#!/bin/sh\n{body}\nEND\nchmod +x $bin/{name}"
                         for name, body in programs.items())
        program(self.tools / "cmake", f'echo "cmake $*"\nbin=build/gpu-release/bin\nmkdir -p $bin\n{made}')

    def start(self, *arguments: str, seconds: int = 60) -> subprocess.Popen:
        environment = os.environ | {"PATH": f"{self.tools}:/usr/bin:/bin", "OUT": str(self.out),
                                    "SALIENT_GPU_SECONDS": str(seconds)}
        return subprocess.Popen([self.folder / "scripts/test-gpu", *arguments], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *arguments: str, seconds: int = 60) -> int:
        process = self.start(*arguments, seconds=seconds)
        self.output, _ = process.communicate(timeout=120)
        return process.returncode

    @property
    def report(self) -> str:
        return (self.out / "report.md").read_text()

    def log(self, name: str) -> str:
        with tarfile.open(self.out / "logs.tar.gz") as archive:
            return archive.extractfile(f"logs/{name}.log").read().decode()


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_two_files_hold_everything(checkout):
    assert checkout.run() == 0, checkout.output
    assert sorted(path.name for path in checkout.out.iterdir()) == ["logs.tar.gz", "report.md"]
    steps = [line.split("|")[1:4] for line in checkout.report.splitlines() if line.startswith("| ")][1:]
    assert [(phase.strip(), step.strip()) for phase, step, _ in steps] == [
        ("build", "configure"), ("build", "build"), ("test", "operations"), ("test", "parity of base"),
        ("test", "parity of wide"), ("test", "agreement of the bundled model"), ("measure", "measurements cuda"),
        ("measure", "measurements cuda-int8"), ("sanitize", "memcheck"), ("sanitize", "racecheck"),
        ("sanitize", "synccheck")]
    assert all(result.strip() == "passed" for *_, result in steps)
    assert "device_bench cuda-int8" in checkout.report
    assert "-DSALIENT_CUDA_ARCHITECTURES=90a -DSALIENT_CUDA_PTX=OFF" in checkout.log("build-configure")
    assert "-DSALIENT_WERROR=OFF" in checkout.log("build-configure")


def test_phases_add_to_one_report(checkout):
    for phase in ("--build", "--test", "--measure", "--measure"):
        assert checkout.run(phase) == 0, checkout.output
    assert checkout.report.count("| passed |") == 8
    assert checkout.report.count("## device_bench cuda-int8") == 1


def test_a_build_that_fails_ends_it_with_its_log(checkout):
    program(checkout.tools / "cmake", "echo no such compiler; exit 3")
    assert checkout.run() == 1
    assert "**failed** (3)" in checkout.report
    assert "no such compiler" in checkout.log("build-configure")


def test_a_step_that_fails_does_not_end_the_others(checkout):
    checkout.makes(dict.fromkeys(PROGRAMS, "exit 0") | {"cuda_ops_test": "echo wrong; exit 1"})
    assert checkout.run() == 1
    assert "| test | operations | **failed** (1) |" in checkout.report
    assert "| measure | measurements cuda | passed |" in checkout.report
    assert "wrong" in checkout.log("test-operations")


def test_a_phase_ends_in_time(checkout):
    checkout.makes(dict.fromkeys(PROGRAMS, "exit 0") | {"cuda_ops_test": "echo slow; sleep 60"})
    assert checkout.run("--build") == 0
    before = time.monotonic()
    assert checkout.run("--test", seconds=6) == 1
    assert time.monotonic() - before < 30
    assert "**failed**: not done after" in checkout.report
    assert "**left out**: the phase's time was over" in checkout.report
    assert "slow" in checkout.log("test-operations")


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGKILL])
def test_what_was_done_is_there_when_it_is_cut_off(checkout, way):
    marker = checkout.folder / "started"
    checkout.makes(dict.fromkeys(PROGRAMS, "exit 0") | {"parity_test": f"touch {marker}; exec sleep 30"})
    assert checkout.run("--build") == 0
    process = checkout.start("--test")
    while not marker.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(way)
    process.communicate(timeout=60)
    assert "| test | operations | passed |" in checkout.report
    assert "| test | parity of base | **cut off while it ran** |" in checkout.report
    assert checkout.log("test-operations") == ""


def test_without_a_gpu_it_builds_and_says_what_it_left_out(checkout):
    program(checkout.tools / "nvidia-smi", "exit 9")
    assert checkout.run() == 0, checkout.output
    assert "No GPU: what needs one was left out." in checkout.report
    assert "| build | build | passed |" in checkout.report and "| test |" not in checkout.report


def test_cublaslt_of_a_wheel_is_taken_where_the_toolkit_has_none(checkout):
    wheel = checkout.folder / "site/nvidia/cublas"
    (wheel / "include").mkdir(parents=True)
    (wheel / "include/cublasLt.h").write_text("")
    program(checkout.tools / "python3", f'case "$2" in *site*) echo {checkout.folder}/site;; *) exit 1;; esac')
    assert checkout.run("--build") == 0, checkout.output
    assert f"-DSALIENT_CUBLASLT_ROOT={wheel}" in checkout.log("build-configure")


def test_an_unknown_phase_is_refused(checkout):
    assert checkout.run("--tset") == 1
    assert "no such phase" in checkout.output


def test_help_is_the_head_and_does_nothing(checkout):
    for flag in ("--help", "-h"):
        assert checkout.run(flag) == 0
        assert checkout.output.startswith("Tests and measures the CUDA backend")
        assert "scripts/test-gpu --test" in checkout.output and "source" not in checkout.output
    assert not checkout.out.exists()


def test_a_relative_folder_is_the_callers(checkout, tmp_path, monkeypatch):
    (tmp_path / "else where").mkdir()
    monkeypatch.chdir(tmp_path / "else where")
    checkout.out = Path("report folder")
    assert checkout.run("--build") == 0, checkout.output
    assert (tmp_path / "else where/report folder/report.md").exists()


def test_what_is_no_terminal_gets_no_colours(checkout):
    assert checkout.run("--tset") == 1
    assert "\033" not in checkout.output


def test_no_library_comes_from_the_working_folder(checkout, monkeypatch):
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    (checkout.folder / "sysroot/usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    checkout.makes(dict.fromkeys(PROGRAMS, 'echo "libraries [$LD_LIBRARY_PATH]"'))
    assert checkout.run() == 0, checkout.output
    assert "/sysroot/usr/lib/x86_64-linux-gnu]" in checkout.log("test-operations")
