"""A server with --compat, the bundled model and a key, for clients that know nothing of it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("SALIENT_BIN", ROOT / "build" / "release" / "bin"))
KEY = "0123456789abcdef0123"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """{"grpc": address, "http": address}."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "keys").write_text(f"{KEY} name=tester\n")
    command = [str(BIN / "salient-server"), "--model", str(ROOT / "models" / "en-de"), "--compat", "--admin", "off",
               "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--api-keys", str(folder / "keys"),
               "--ready-file", str(folder / "ready")]
    with subprocess.Popen(command) as process:
        try:
            deadline = time.monotonic() + 300
            while not ((folder / "ready").exists() and (folder / "ready").read_text()):
                assert process.poll() is None and time.monotonic() < deadline, "the server did not start"
                time.sleep(0.05)
            yield json.loads((folder / "ready").read_text())
        finally:
            process.terminate()


@pytest.fixture
def url(server) -> str:
    return f"http://{server['http']}"
