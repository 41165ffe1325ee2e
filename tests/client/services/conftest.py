"""A server with --compat and an API key, for the clients of other services."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "testing"))

from running_server import running_server  # noqa: E402

KEY = "0123456789abcdef0123"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    (folder / "keys").write_text(f"{KEY} name=tester\n")
    (folder / "glossaries").mkdir()
    (folder / "glossaries" / "operator.tsv").write_text("house\tGebäude\n")
    with running_server(folder, "--compat", "--api-keys", str(folder / "keys"), "--glossaries",
                        str(folder / "glossaries"), "--glossary-uploads") as addresses:
        yield addresses


@pytest.fixture
def url(server) -> str:
    return f"http://{server['http']}"
