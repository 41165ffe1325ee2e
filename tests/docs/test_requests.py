"""Sends the first requests of README.md, and those by curl of other pages, exactly as written there, to a server with
the bundled model."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import urllib.request

import pytest

from pages import ROOT, Page

sys.path.append(str(ROOT / "tests" / "testing"))

from running_server import BIN, running_server  # noqa: E402

README, CLIENTS, DEPLOYING = (Page(ROOT / name, (ROOT / name).read_text(encoding="utf-8"))
                              for name in ("README.md", "docs/clients.md", "docs/deploying.md"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server"), "--compat") as addresses:
        yield addresses


def requests(program: str, page: Page = README) -> list[str]:
    found = [command for command in page.commands() if program in command]
    assert found, f"{page} shows no request by {program}"
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


@pytest.mark.parametrize("command", requests("grpcurl"))
def test_requests_by_grpcurl(command, server):
    """The body is the same message for gRPC and HTTP; it goes to the HTTP port."""
    body = re.search(r"-d '([^']*)'", command)[1]
    request = urllib.request.Request(f"http://{server['http']}/v1/translate", body.encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)


@pytest.mark.parametrize("command", [command for page in (README, CLIENTS, DEPLOYING)
                                     for command in requests("curl -s localhost:8080/", page)
                                     if command.startswith("curl") and "@" not in command])  # others need a file
def test_requests_by_curl(command, server):
    """What curl would send: a form, unless a header says that the body is JSON."""
    program, quiet, url, *options = shlex.split(command)
    given = list(zip(options[::2], options[1::2]))
    assert {name for name, _ in given} <= {"-H", "-d"}, command
    headers = dict(value.split(": ", 1) for name, value in given if name == "-H")
    body = "&".join(value for name, value in given if name == "-d").encode()
    request = urllib.request.Request("http://" + url.replace("localhost:8080", server["http"]), body or None, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)


def test_the_table_of_formats_has_every_extension(server):
    """The table of docs/formats.md, and what the server tells LibreTranslate's clients."""
    table = re.findall(r"^\| `\w+` \| ([^|]*) \|", (ROOT / "docs/formats.md").read_text(encoding="utf-8"), re.MULTILINE)
    with urllib.request.urlopen(f"http://{server['http']}/frontend/settings", timeout=60) as answer:
        known = json.load(answer)["supportedFilesFormat"]
    listed = [f".{extension}" for cell in table for extension in cell.split(", ") if re.fullmatch(r"\w+", extension)]
    assert sorted(listed) == sorted(known)
