"""The README's first requests, sent as they stand there to a server with the bundled model."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from pages import ROOT, Page

BIN = Path(os.environ.get("SALIENT_BIN", ROOT / "build" / "release" / "bin"))
README = Page(ROOT / "README.md", (ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """{"grpc": address, "http": address} of a server on free ports of the loopback."""
    ready = tmp_path_factory.mktemp("server") / "ready"
    command = [str(BIN / "salient-server"), "--model", str(ROOT / "models" / "en-de"), "--listen", "127.0.0.1:0",
               "--http", "127.0.0.1:0", "--admin", "off", "--ready-file", str(ready)]
    with subprocess.Popen(command) as process:
        try:
            deadline = time.monotonic() + 60
            while not (ready.exists() and ready.read_text()):
                assert process.poll() is None and time.monotonic() < deadline, "the server did not start"
                time.sleep(0.05)
            yield json.loads(ready.read_text())
        finally:
            process.terminate()


def requests(program: str) -> list[str]:
    found = [command for command in README.commands() if program in command]
    assert found, f"README.md shows no request by {program}"
    return found


@pytest.mark.parametrize("command", requests("salient translate"))
def test_requests_of_the_client(command, server, tmp_path):
    sample = (ROOT / "docs" / "samples" / "caching.en.txt").read_text(encoding="utf-8")
    sources = {"page.html": "<p>Good <b>morning</b>.</p>\n", "notes.md": "# Notes\n\nA *short* note.\n",
               "film.srt": "1\n00:00:01,000 --> 00:00:02,000\nGood morning.\n"}
    for name, text in sources.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "report.txt").write_text("".join(sample.splitlines(keepends=True)[:8]), encoding="utf-8")
    line = command.replace("build/release/bin/salient", shlex.quote(str(BIN / "salient")))
    done = subprocess.run(["bash", "-c", f"{line} --server {server['grpc']}"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    made = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.*")
            if path.is_file() and path.name not in (*sources, "report.txt")]
    assert done.stdout.strip() or any(text.strip() for text in made), f"{command} gave no translation"


@pytest.mark.parametrize("command", [*requests("curl -s"), *requests("grpcurl")])
def test_requests_as_json(command, server):
    """The body is the same message for gRPC and HTTP; it goes to the HTTP port."""
    body = re.search(r"-d '([^']*)'", command)[1]
    request = urllib.request.Request(f"http://{server['http']}/v1/translate", body.encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)
