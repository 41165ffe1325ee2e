"""Servers and other programs, which are started on loopback and end with the test."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path

from manifests import ROOT

BIN = Path(os.environ.get("SALIENT_BIN", ROOT / "build" / "release" / "bin"))
SERVER = BIN / "salient-server"
CLIENT = BIN / "salient"
MODEL = ROOT / "models" / "en-de"
DOCUMENT = ROOT / "docs" / "samples" / "caching.en.txt"

has_binaries = SERVER.exists() and CLIENT.exists()
has_prometheus = shutil.which("prometheus") is not None and shutil.which("promtool") is not None


def free_port(host="127.0.0.1"):
    with socket.socket() as listener:
        listener.bind((host, 0))
        return listener.getsockname()[1]


def get(url, timeout=10):
    with urllib.request.urlopen(url, timeout=timeout) as reply:
        return reply.read().decode()


def wait_for(condition, seconds, what):
    """Polls until the condition returns a true value, and returns that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if result := condition():
                return result
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s: {what}")


class Server:
    """A salient-server with the bundled model. Its ports are attributes: grpc, http, admin, each "HOST:PORT"."""

    def __init__(self, folder, *flags, host="127.0.0.1", port=0, admin=None):
        self.host = host
        self.admin = f"{host}:{admin or free_port(host)}"
        ready = Path(folder) / f"ready-{self.admin}"
        self.log = Path(folder) / f"log-{self.admin}"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [SERVER, "--model", MODEL, "--listen", f"{host}:{port}", "--http", f"{host}:0", "--admin", self.admin,
                 "--ready-file", ready, *flags], stderr=log)
        wait_for(lambda: ready.exists() or self.process.poll() is not None, 60, "the server's ready file")
        assert self.process.poll() is None, self.log.read_text()
        addresses = json.loads(ready.read_text())
        self.grpc, self.http = addresses["grpc"], addresses["http"]

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=60):
        """Terminates the server and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def translate(address, *flags, document=DOCUMENT, timeout=120):
    """Runs `salient translate` and returns its output."""
    done = subprocess.run([CLIENT, "translate", document, "--server", address, "--quiet", *flags],
                          capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def prometheus(folder, targets, rules, scrape="1s", labels=None):
    """A Prometheus that scrapes the targets as job "salient", with these rule files and labels. Returns its address."""
    folder = Path(folder)
    config = {"global": {"scrape_interval": scrape, "evaluation_interval": "1s"},
              "rule_files": [str(path) for path in rules],
              "scrape_configs": [{"job_name": "salient",
                                  "static_configs": [{"targets": targets, "labels": labels or {}}]}]}
    (folder / "prometheus.json").write_text(json.dumps(config))  # JSON is YAML
    address = f"127.0.0.1:{free_port()}"
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.json", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={address}", "--log.level=warn"], stderr=log, stdout=log)
    try:
        wait_for(lambda: get(f"http://{address}/-/ready"), 30, "Prometheus")
        yield address
    finally:
        process.kill()
        process.wait()


def query(address, expression):
    """The samples of the expression now, without those that are NaN."""
    reply = json.loads(get(f"http://{address}/api/v1/query?query={urllib.parse.quote(expression)}"))
    assert reply["status"] == "success", reply
    return [sample for sample in reply["data"]["result"] if sample["value"][1] != "NaN"]
