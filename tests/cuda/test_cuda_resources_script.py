"""What scripts/cuda-resources makes of what ptxas says. Stand-ins for nvcc and cmake are first on the PATH."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from stand_ins import program

ROOT = Path(__file__).resolve().parents[2]

# What ptxas says of a kernel: the GPU, bytes spilled, registers.
REPORT = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN7salient4cuda12_GLOBAL__N_16KernelIfLi16EEEvPf' for 'sm_%s'
ptxas info    : Function properties for _ZN7salient4cuda12_GLOBAL__N_16KernelIfLi16EEEvPf
    8 bytes stack frame, %d bytes spill stores, 64 bytes spill loads
ptxas info    : Used %d registers, used 1 barriers, 8 bytes stack frame, 96 bytes smem, 360 bytes cmem[0]
"""


class Checkout:
    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "scripts").mkdir()
        for name in ("cuda-resources", "common.sh"):
            shutil.copy(ROOT / "scripts" / name, folder / "scripts" / name)
        program(folder / "tools/nvcc", "true")

    def builds(self, architecture: str, said: str, status: int = 0) -> None:
        """What building for the architecture prints from now on; configuring prints its options."""
        (self.folder / f"said-{architecture}").write_text(said)
        (self.folder / f"status-{architecture}").write_text(str(status))
        program(self.folder / "tools/cmake",
                'case "$1" in --build) cat "said-${2##*/}"; exit "$(cat "status-${2##*/}")";; esac\n'
                'echo "$*" >> configured')

    def run(self, *architectures: str) -> int:
        done = subprocess.run([self.folder / "scripts/cuda-resources", *architectures], text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=os.environ | {"PATH": f"{self.folder / 'tools'}:/usr/bin:/bin"})
        self.output = done.stdout
        return done.returncode

    def rows(self) -> list[list[str]]:
        return [line.split() for line in self.output.splitlines() if " sm_" in line and "Compiling" not in line]


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_each_kernel_has_a_row_for_each_gpu(checkout):
    checkout.builds("80", REPORT % ("80", 60, 128))
    checkout.builds("90a", REPORT % ("90a", 0, 97))
    assert checkout.run("80", "90a") == 0, checkout.output
    assert checkout.rows() == [["Kernel<float,", "16>", "sm_80", "128", "96", "60"],
                               ["Kernel<float,", "16>", "sm_90a", "97", "96", "0"]]
    configured = (checkout.folder / "configured").read_text().splitlines()
    assert [("SALIENT_CUDA_ARCHITECTURES=80 " in line, "-DSALIENT_CUDA_PTX=OFF" in line) for line in configured] == [
        (True, True), (False, True)]


def test_the_last_report_of_a_kernel_holds_and_what_is_not_compiled_again_stays(checkout):
    checkout.builds("80", REPORT % ("80", 60, 128))
    assert checkout.run("80") == 0, checkout.output
    checkout.builds("80", "ninja: no work to do.")
    assert checkout.run("80") == 0, checkout.output
    assert [row[-3:] for row in checkout.rows()] == [["128", "96", "60"]]
    checkout.builds("80", REPORT % ("80", 0, 120))
    assert checkout.run("80") == 0, checkout.output
    assert [row[-3:] for row in checkout.rows()] == [["120", "96", "0"]]


def test_a_failure_of_the_compiler_is_told_and_ends_it(checkout):
    checkout.builds("80", "kernel.cu(3): error: identifier is undefined", status=1)
    assert checkout.run("80") == 1
    assert "kernel.cu(3): error" in checkout.output and "ptxas.log" in checkout.output
    assert checkout.rows() == []
