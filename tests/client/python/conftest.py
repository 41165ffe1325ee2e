"""The Python client as it is when it is built, in a folder of its own, and servers for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "client" / "python"
BIN = Path(os.environ.get("SALIENT_BIN", ROOT / "build" / "release" / "bin"))


def build(folder: Path) -> None:
    """The package with its stubs, which the repository does not hold."""
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
    """{"grpc": address, "http": address} of a server with the bundled model."""
    ready = tmp_path_factory.mktemp("server") / "ready"
    command = [str(BIN / "salient-server"), "--model", str(ROOT / "models" / "en-de"), "--listen", "127.0.0.1:0",
               "--http", "off", "--admin", "off", "--ready-file", str(ready)]
    with subprocess.Popen(command) as process:
        try:
            deadline = time.monotonic() + 300
            while not (ready.exists() and ready.read_text()):
                assert process.poll() is None and time.monotonic() < deadline, "the server did not start"
                time.sleep(0.05)
            yield json.loads(ready.read_text())
        finally:
            process.terminate()
