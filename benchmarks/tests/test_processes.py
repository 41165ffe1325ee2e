"""What a command has started ends with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1]
SERVER = """#!/bin/sh
echo $$ >"$PIDS/$$"
while [ $# -gt 1 ]; do
  [ "$1" = --ready-file ] && [ -n "$READY" ] && echo '{"grpc": "127.0.0.1:1"}' >"$2"
  shift
done
exec sleep 1000
"""


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("ready", ["yes", ""], ids=["measuring", "starting"])
def test_sigterm_ends_servers_and_clients(tmp_path, ready):
    programs, pids = tmp_path / "a bin", tmp_path / "pids"
    programs.mkdir()
    pids.mkdir()
    for name in ("salient-server", "salient"):
        (programs / name).write_text(SERVER)
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PIDS": str(pids), "READY": ready, "PYTHONPATH": str(BENCHMARKS)}
    main = "from harness.overload import main; main()"
    command = subprocess.Popen([sys.executable, "-c", main, "--part", "throughput", "--bin", "."], env=environment,
                               cwd=programs, stdout=subprocess.DEVNULL)
    wanted, deadline = 2 if ready else 1, time.monotonic() + 60
    while len(list(pids.iterdir())) < wanted and command.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    started = [int(path.name) for path in pids.iterdir()]
    assert len(started) == wanted
    time.sleep(0.3)
    command.terminate()
    try:
        assert command.wait(30) == 128 + signal.SIGTERM
        assert [pid for pid in started if is_running(pid)] == []
    finally:
        for pid in filter(is_running, started):
            os.kill(pid, signal.SIGKILL)
