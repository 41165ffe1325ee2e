"""Builds the Python client in a folder of its own, and starts servers for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "client" / "python"
sys.path.append(str(ROOT / "tests" / "testing"))

from running_server import running_server  # noqa: E402


def build(folder: Path) -> None:
    """Copies the package, and generates its stubs, which are not in the repository."""
    shutil.copytree(PACKAGE / "salient_client", folder / "salient_client",
                    ignore=shutil.ignore_patterns("proto", "__pycache__"))
    subprocess.run([sys.executable, str(PACKAGE / "generate.py"), str(folder / "salient_client" / "proto")], check=True)


BUILT = tempfile.TemporaryDirectory()
build(Path(BUILT.name))
sys.path.insert(0, BUILT.name)


@pytest.fixture(scope="session")
def package_folder() -> str:
    return BUILT.name


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server"), http="off") as addresses:
        yield addresses
