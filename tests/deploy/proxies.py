"""The proxies of deploy/proxies with their own configuration; only names, addresses and ports are changed."""

import contextlib
import shutil
import subprocess
import sysconfig
from pathlib import Path

import yaml

from cluster import ADMIN, NAME, PORT
from manifests import DEPLOY
from programs import free_port, get, wait_for

CONFIGURATIONS = DEPLOY / "proxies"


def program(name):
    places = Path(sysconfig.get_path("scripts"), name), Path("/usr/sbin", name)
    return next((str(path) for path in places if path.exists()), shutil.which(name))


def replaced(text, *pairs):
    """The text with the first of each pair replaced by the second. The first must occur."""
    for old, new in pairs:
        assert old in text, f"the configuration has no {old!r}"
        text = text.replace(old, new)
    return text


def envoy(folder, names, port):
    config = yaml.safe_load(replaced((CONFIGURATIONS / "envoy.yaml").read_text(), ("salient-headless", NAME)))
    resources = config["static_resources"]
    ready = free_port()
    for listener, at in zip(resources["listeners"], (port, ready)):
        listener["address"]["socket_address"].update(address="127.0.0.1", port_value=at)
    cluster = resources["clusters"][0]
    endpoint = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]
    endpoint["address"]["socket_address"]["port_value"] = PORT
    host, at = names.split(":")
    cluster["cluster_type"]["typed_config"]["typed_dns_resolver_config"] = {
        "name": "envoy.network.dns_resolver.cares",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
            "resolvers": [{"socket_address": {"address": host, "port_value": int(at)}}],
        },
    }
    path = folder / "envoy.yaml"
    path.write_text(yaml.safe_dump(config))
    flags = ["--log-level", "warning", "--use-dynamic-base-id", "--concurrency", "1"]
    return [program("envoy"), "-c", str(path), *flags], ready


def haproxy(folder, names, port):
    path = folder / "haproxy.cfg"
    path.write_text(replaced((CONFIGURATIONS / "haproxy.cfg").read_text(),
                             ("parse-resolv-conf", f"nameserver test {names}"),
                             ("bind :50051", f"bind 127.0.0.1:{port}"),
                             ("port 8080", f"port {ADMIN}"), ("salient-headless:50051", f"{NAME}:{PORT}")))
    return [program("haproxy"), "-db", "-f", str(path)], None


def nginx(folder, names, port):
    path = folder / "nginx.conf"
    path.write_text(replaced((CONFIGURATIONS / "nginx.conf").read_text(),
                             ("kube-dns.kube-system.svc.cluster.local", names),
                             ("listen 50051", f"listen 127.0.0.1:{port}"),
                             ("salient-headless.salient.svc.cluster.local:50051", f"{NAME}:{PORT}"),
                             ("/tmp/", f"{folder}/")))
    return [program("nginx"), "-g", "daemon off;", "-c", str(path), "-p", str(folder)], None


PROXIES = {"envoy": envoy, "haproxy": haproxy, "nginx": nginx}


@contextlib.contextmanager
def running(name, folder, names):
    """Runs the proxy in front of the name server's addresses. Returns the address for clients."""
    port = free_port()
    command, ready = PROXIES[name](folder, names, port)
    with (folder / f"{name}.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        if ready:
            wait_for(lambda: get(f"http://127.0.0.1:{ready}/readyz") is not None, 20, f"{name}: {folder}/{name}.log")
        yield f"127.0.0.1:{port}"
        assert process.poll() is None, (folder / f"{name}.log").read_text()
    finally:
        process.terminate()
        process.wait()
