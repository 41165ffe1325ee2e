"""Runs salient-server with one model for a measurement."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from .sets import Document

START_SECONDS = 300  # a busy machine is slow


class Server:
    """A running server on free loopback ports. `addresses`: by the names in its ready file, grpc and http."""

    def __init__(self, programs: Path, model: Path, *flags: str):
        with tempfile.TemporaryDirectory() as folder:
            ready = Path(folder) / "ready"
            self.process = subprocess.Popen(
                [str(programs / "salient-server"), "--model", str(model), "--listen", "127.0.0.1:0", "--http",
                 "127.0.0.1:0", "--admin", "off", "--ready-file", str(ready), *flags], stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + START_SECONDS
            while not (ready.exists() and ready.read_text()):
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.close()
                    raise ValueError(f"{programs / 'salient-server'} did not start with {model}; "
                                     "run it by hand to see why")
                time.sleep(0.05)
            self.addresses: dict[str, str] = json.loads(ready.read_text())

    def translate(self, request: dict) -> dict:
        """TranslateDocument over HTTP, both as the JSON of the API."""
        call = urllib.request.Request(f"http://{self.addresses['http']}/v1/translate", json.dumps(request).encode(),
                                      {"Content-Type": "application/json"})
        with urllib.request.urlopen(call) as reply:
            return json.load(reply)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def as_request(document: Document) -> dict:
    """The `document` of a request, a segment a line."""
    return {"text": "\n".join(document.lines) + "\n", "segmentation": "SEGMENTATION_LINES"}


def lines_of(reply: dict, document: Document) -> list[str]:
    """The translation of each line of a document that was sent in this way."""
    lines = reply["text"].removesuffix("\n").split("\n")
    if len(lines) != len(document.lines):
        raise ValueError(f"{len(lines)} translated lines for {len(document.lines)} segments; segments were lost")
    return lines
