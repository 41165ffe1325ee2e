"""docker/compose.yaml as a user starts it: server and Prometheus from their images, where a Docker engine runs.

SALIENT_IMAGE and PROMETHEUS_IMAGE name other images than the file does, see prometheus.Dockerfile. Nobody else may use
the ports of the file.
"""

import json
import re
import shutil
import subprocess
import time
import urllib.request

import pytest
import yaml

from expressions import rules
from manifests import ROOT
from programs import CLIENT, DOCUMENT, get, has_binaries, query, translate, wait_for

FILE = ROOT / "docker" / "compose.yaml"
PROJECT = "salient-test"
GRPC, HTTP, PROMETHEUS = "localhost:50051", "localhost:8080", "localhost:9090"


def docker(*arguments, check=True):
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, f"docker {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done


def compose(*arguments, check=True):
    return docker("compose", "--project-name", PROJECT, "--file", str(FILE), *arguments, check=check)


def why_not():
    """Why this machine cannot run the test; empty if it can."""
    if not has_binaries:
        return "nothing built"
    if shutil.which("docker") is None:
        return "no docker"
    for command, missing in ((["info"], "no Docker engine runs"), (["compose", "version"], "no docker compose")):
        if docker(*command, check=False).returncode != 0:
            return missing
    for service in ("server", "prometheus"):
        image = yaml.safe_load(compose("config").stdout)["services"][service]["image"]
        if docker("image", "inspect", image, check=False).returncode != 0:
            return f"no image {image}; docker/build makes the server's, docker pull brings Prometheus's"
    return ""


pytestmark = pytest.mark.skipif(bool(reason := why_not()), reason=reason)


def container(service):
    """What Docker knows of the service's container."""
    return json.loads(docker("inspect", f"{PROJECT}-{service}-1").stdout)[0]


@pytest.fixture(scope="module", autouse=True)
def services():
    compose("up", "--detach", "server", "prometheus")
    yield
    compose("down", "--volumes")


def test_prometheus_starts_when_the_server_is_healthy():
    server, prometheus = container("server"), container("prometheus")
    assert server["State"]["Health"]["Status"] == "healthy"
    healthy = min(check["End"] for check in server["State"]["Health"]["Log"] if check["ExitCode"] == 0)
    assert healthy <= prometheus["State"]["StartedAt"]


def test_the_server_has_few_rights():
    host = container("server")["HostConfig"]
    assert (host["Memory"], host["NanoCpus"]) == (2 << 30, 2_000_000_000)
    status = compose("exec", "-T", "server", "cat", "/proc/1/status").stdout
    assert re.search(r"^Uid:\s+65532\s+65532", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)
    for kind in ("Prm", "Eff", "Bnd"):
        assert re.search(rf"^Cap{kind}:\s+0+$", status, re.MULTILINE), kind
    for folder in ("/", "/tmp", "/var/tmp", "/models/en-de"):
        written = compose("exec", "-T", "--user", "0", "server", "touch", f"{folder}/file", check=False)
        assert written.returncode != 0 and "Read-only file system" in written.stderr, folder


def test_translations_from_outside():
    assert translate(GRPC).strip()
    request = urllib.request.Request(f"http://{HTTP}/v1/translate", b'{"document": {"text": "Good morning."}}',
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)["text"]


def test_prometheus_scrapes_the_server_and_evaluates_all_rules():
    wait_for(lambda: query(PROMETHEUS, 'up{job="salient", instance="server:9464"} == 1'), 60, "a scrape")
    wait_for(lambda: query(PROMETHEUS, 'salient_requests_total{outcome="ok"} > 0'), 60, "the documents")

    def evaluated():
        groups = json.loads(get(f"http://{PROMETHEUS}/api/v1/rules"))["data"]["groups"]
        found = [rule for group in groups for rule in group["rules"]]
        return found if all(rule["health"] != "unknown" for rule in found) else None

    found = wait_for(evaluated, 60, "an evaluation of every rule")
    assert [rule.get("lastError") for rule in found if rule["health"] != "ok"] == []
    assert sorted(rule["name"] for rule in found) == sorted(rule.get("alert") or rule["record"] for _, rule in rules())
    firing = 'ALERTS{alertstate="firing"}'
    assert not query(PROMETHEUS, firing)


def test_stop_finishes_the_document_in_flight(tmp_path):
    (tmp_path / "long.txt").write_text(DOCUMENT.read_text() * 3)
    command = [CLIENT, "translate", tmp_path / "long.txt", "--server", GRPC, "--quiet", "--selection", "dense",
               "--exit", "full"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as caller:
        metrics = "exec 3<>/dev/tcp/127.0.0.1/9464; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"

        def running():
            text = compose("exec", "-T", "server", "bash", "-c", metrics).stdout
            return re.search(r"^salient_requests_running\{.*\} [1-9]", text, re.MULTILINE)

        wait_for(running, 30, "a running document")
        begun = time.monotonic()
        compose("stop", "server")
        print(f"stopped in {time.monotonic() - begun:.1f} s")
        text, log = caller.communicate(timeout=10)
        assert caller.returncode == 0, log
        assert text.strip()
    log = compose("logs", "server").stdout
    assert "Terminated: 1 documents in flight" in log, log
    assert container("server")["State"]["ExitCode"] == 0, log
