"""The programs that are installed guard their stack and what the loader writes, as cmake/salient.cmake asks for."""

import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["SALIENT_BUILD"])
FILES = ["bin/salient-server", "bin/salient", "lib/salient/libsalient-sentencepiece.so"]


def readelf(flag: str, file: str) -> str:
    return subprocess.run(["readelf", "-W", flag, str(BUILD / file)], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("file", FILES)
def test_the_table_of_library_functions_is_bound_at_the_start_and_read_only(file):
    assert "GNU_RELRO" in readelf("-l", file)
    assert "BIND_NOW" in readelf("-d", file) or "NOW" in readelf("-d", file).split("FLAGS_1", 1)[-1]


@pytest.mark.parametrize("file", FILES)
def test_the_stack_is_guarded_and_not_executable(file):
    assert "__stack_chk_fail" in readelf("--dyn-syms", file)
    stack = next(line for line in readelf("-l", file).splitlines() if "GNU_STACK" in line)
    assert " RW " in stack and "E" not in stack.split("GNU_STACK")[1]


@pytest.mark.parametrize("file", FILES[:2])
def test_addresses_are_random(file):
    assert "Position-Independent Executable" in readelf("-h", file)


def test_copies_of_the_c_library_are_checked():
    assert "_chk@" in readelf("--dyn-syms", FILES[0]).replace("__stack_chk_fail", "")
