"""Runs the examples as a reader would, with a server that has the bundled model."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conftest import PACKAGE


def run(package_folder, name, *arguments):
    command = [sys.executable, str(PACKAGE / "examples" / name), *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": package_folder}, capture_output=True, text=True,
                          timeout=300)


def test_translate(server, package_folder):
    done = run(package_folder, "translate.py", server["grpc"], "Good morning. The server is running.")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("% of dense") == 3 and "Server" in done.stdout


def test_stream(server, package_folder, tmp_path):
    (tmp_path / "text.txt").write_text("The first sentence is here. The second sentence is there.")
    done = run(package_folder, "stream.py", server["grpc"], tmp_path / "text.txt")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2 and "tokens" in done.stderr


def test_folder(server, package_folder, tmp_path):
    (tmp_path / "page.html").write_text("<p>The <b>server</b> is running.</p>")
    (tmp_path / "notes.md").write_text("# Notes\n\nThe server is running.\n")
    (tmp_path / "notes.xyz").write_text("?")
    files = [tmp_path / name for name in ("none.md", "page.html", "notes.md", "notes.xyz")]
    done = run(package_folder, "folder.py", server["grpc"], tmp_path / "out", *files)
    assert done.returncode == 1 and "notes.xyz" in done.stderr and "none.md: " in done.stderr
    assert "Traceback" not in done.stderr
    page = (tmp_path / "out" / "page.html").read_text()
    assert page.startswith("<p>") and "<b>" in page and "running" not in page
    assert (tmp_path / "out" / "notes.md").read_text().startswith("# ")


def test_folder_overwrites_no_source(server, package_folder, tmp_path):
    (tmp_path / "notes.md").write_text("The server is running.\n")
    done = run(package_folder, "folder.py", server["grpc"], tmp_path, tmp_path / "notes.md")
    assert done.returncode == 1 and "would overwrite it" in done.stderr
    assert (tmp_path / "notes.md").read_text() == "The server is running.\n"


@pytest.mark.parametrize("name", ["folder.py", "stream.py", "translate.py"])
def test_without_arguments_they_say_what_they_take(package_folder, name):
    done = run(package_folder, name)
    assert done.returncode == 1 and f"examples/{name} localhost:50051" in done.stderr
    assert "Traceback" not in done.stderr
