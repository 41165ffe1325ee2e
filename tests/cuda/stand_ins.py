"""Programs that stand in for others in the tests of scripts."""

from pathlib import Path


def program(path: Path, body: str) -> None:
    """Makes a shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + body + "\n")
    path.chmod(0o755)
