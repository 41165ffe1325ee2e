"""Options in manifests, images and documents: each one is in --help, and the server accepts its value."""

import json
import os
import re
import shutil
import subprocess

import pytest
import yaml

from manifests import DEPLOY, ROOT, container, settings, variants
from programs import CLIENT, SERVER, has_binaries

pytestmark = pytest.mark.skipif(not has_binaries, reason="nothing built")


def options(program, *command):
    said = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", said))


def variables(prefix, known):
    return {prefix + option[2:].upper().replace("-", "_") for option in known}


@pytest.fixture(scope="module")
def server_variables():
    return variables("SALIENT_SERVER_", options(SERVER))


def test_every_setting_of_the_manifests_is_an_option(server_variables):
    for name, make in variants().items():
        items = make()
        used = set(settings(items)) | {entry["name"] for entry in container(items).get("env", [])}
        assert used <= server_variables, f"{name}: no option for {used - server_variables}"


@pytest.mark.parametrize("variant", variants())
def test_the_server_takes_the_values(variant):
    """The server gets as far as the model, which is missing: exit status 1. Status 2 means an invalid value."""
    items = variants()[variant]()
    values = {name: value for name, value in settings(items).items() if not value.startswith("/etc/")}
    values |= {"SALIENT_SERVER_MODEL": "/nowhere", "SALIENT_SERVER_ADMIN": "127.0.0.1:0", "SALIENT_SERVER_HTTP": "off",
               "SALIENT_SERVER_THREADS": container(items)["resources"]["limits"]["cpu"]}
    environment = {**os.environ, **values}
    done = subprocess.run([SERVER], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert "/nowhere" in done.stderr


def test_every_setting_of_chart_images_and_compose_is_an_option(server_variables):
    values = yaml.safe_load((DEPLOY / "helm" / "salient" / "values.yaml").read_text())
    for name in [*values["settings"], *values["gpu"]["settings"]]:
        assert f"SALIENT_SERVER_{name}" in server_variables
    texts = [*(ROOT / "docker").iterdir(), *(DEPLOY / "helm").rglob("*.tpl"), *(DEPLOY / "components").rglob("*.yaml")]
    for path in texts:
        used = set(re.findall(r"SALIENT_SERVER_[A-Z_]*[A-Z]\b", path.read_text()))
        assert used <= server_variables, f"{path}: no option for {used - server_variables}"


def test_the_health_check_asks_where_the_server_listens_by_default():
    said = subprocess.run([SERVER, "--help"], capture_output=True, text=True, check=True).stdout
    default = re.search(r"--admin ADDRESS.*?\(default:\s+(\S+)\)", said, re.DOTALL)[1]
    assert f"{{SALIENT_SERVER_ADMIN:-{default}}}" in (ROOT / "docker" / "healthcheck").read_text()


def seconds(text):
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def test_no_proxy_ends_a_call_before_the_server_does():
    """There may be no data, in either direction, until --default-deadline. Envoy's 0s is no limit."""
    said = subprocess.run([SERVER, "--help"], capture_output=True, text=True, check=True).stdout
    deadline = int(re.search(r"--default-deadline .*?\(default:\s+(\d+)\)", said, re.DOTALL)[1])
    proxies = DEPLOY / "proxies"
    nginx = dict(re.findall(r"^ *(\w+_timeout) (\w+);", (proxies / "nginx.conf").read_text(), re.MULTILINE))
    for name in ("client_body_timeout", "send_timeout", "grpc_read_timeout", "grpc_send_timeout"):
        assert seconds(nginx[name]) >= deadline, name
    haproxy = dict(re.findall(r"^ *timeout (\S+) (\w+)$", (proxies / "haproxy.cfg").read_text(), re.MULTILINE))
    for name in ("client", "server"):
        assert seconds(haproxy[name]) >= deadline, name
    resources = yaml.safe_load((proxies / "envoy.yaml").read_text())["static_resources"]
    manager = resources["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    route = manager["route_config"]["virtual_hosts"][0]["routes"][0]["route"]
    assert [manager["stream_idle_timeout"], manager["request_timeout"], route["timeout"]] == ["0s", "0s", "0s"]


def test_the_documented_service_config_is_the_clients():
    source = (ROOT / "client" / "connection.cc").read_text()
    own = re.search(r'kServiceConfig\[\] = R"\((.*?)\)";', source, re.DOTALL)[1]
    assert json.loads(own) == json.loads((DEPLOY / "clients" / "service-config.json").read_text())


def test_images_are_of_this_version():
    version = re.search(r"^project\(salient VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    chart = yaml.safe_load((DEPLOY / "helm" / "salient" / "Chart.yaml").read_text())
    assert chart["appVersion"] == version
    for name, make in variants().items():
        items = make()
        kind = "cuda" if "gpu" in name else "cpu"
        assert container(items)["image"].endswith(f"salient-server:{version}-{kind}"), name
    assert f"salient-server:{version}-cpu" in (ROOT / "docker" / "compose.yaml").read_text()


def test_version():
    version = re.search(r"^project\(salient VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    for program in (SERVER, CLIENT):
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        assert re.fullmatch(rf"{program.name} {re.escape(version)} \(\w+\)\n", said)


def test_packages_have_folders_that_every_user_may_read(tmp_path):
    """scripts/package in a checkout of its own, with other programs instead of those that install, build and pack."""
    for name, does in {"dpkg-query": "echo ok installed", "cmake": "mkdir -p build/release/package",
                       "cpack": "mkdir package/folder"}.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{does}\n")
        program.chmod(0o755)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    subprocess.run([tmp_path / "scripts" / "package"], env=environment, check=True, capture_output=True, umask=0o077)
    assert (tmp_path / "build/release/package/folder").stat().st_mode & 0o777 == 0o755


def test_install_gives_what_the_packages_hold(tmp_path):
    build_folder = SERVER.parents[1]
    if not (build_folder / "cmake_install.cmake").exists():
        pytest.skip("not CMake's build folder")
    command = ["cmake", "--install", build_folder, "--prefix", tmp_path, "--strip"]
    subprocess.run(command, check=True, capture_output=True)
    for file in ("bin/salient-server", "bin/salient", "share/salient/models/en-de/model.safetensors",
                 "share/doc/salient-server/copyright", "share/doc/salient/copyright"):
        assert (tmp_path / file).is_file(), file
    server = tmp_path / "bin" / "salient-server"
    said = subprocess.run([server, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("salient-server ")
