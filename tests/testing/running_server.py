"""Runs salient-server with the bundled model, for tests that call its APIs from another program."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("SALIENT_BIN", ROOT / "build" / "release" / "bin"))
START_SECONDS = 300  # a busy machine is slow


@contextlib.contextmanager
def running_server(folder: Path, *flags: str, http: str = "127.0.0.1:0") -> Iterator[dict[str, str]]:
    """Starts a server on free loopback ports, and ends it. Yields {"grpc": address, "http": address}.

    folder: for its ready file. http: "off" for a server without HTTP.
    """
    ready = folder / "ready"
    command = [str(BIN / "salient-server"), "--model", str(ROOT / "models" / "en-de"), "--listen", "127.0.0.1:0",
               "--http", http, "--admin", "off", "--ready-file", str(ready), *flags]
    with subprocess.Popen(command) as process:
        try:
            deadline = time.monotonic() + START_SECONDS
            while not (ready.exists() and ready.read_text()):
                assert process.poll() is None and time.monotonic() < deadline, "the server did not start"
                time.sleep(0.05)
            yield json.loads(ready.read_text())
        finally:
            process.terminate()
