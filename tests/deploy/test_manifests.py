"""What kustomize makes of deploy/: valid for the API, and in agreement with itself and with the server's flags."""

import re
import subprocess
import sys

import pytest

from manifests import COMPONENTS, DEPLOY, OVERLAYS, build, build_text, build_with, container, find, has_kubectl, settings

pytestmark = pytest.mark.skipif(not has_kubectl, reason="no kubectl")

KUBERNETES = ["1.30", "1.34"]
MODEL = "model-image"
# Of no Kubernetes release: kinds that the Prometheus operator, KEDA and the Gateway API bring.
OTHERS = {"PodMonitor", "ScaledObject", "GRPCRoute", "HTTPRoute"}
# Each with what it needs beside it.
VARIANTS = {name: ([] if name.startswith("model-") else [MODEL]) + [name] for name in COMPONENTS}


@pytest.fixture(scope="module", params=[*OVERLAYS, *VARIANTS], ids=str)
def items(request):
    return build(DEPLOY / "overlays" / request.param) if request.param in OVERLAYS else build_with(VARIANTS[request.param])


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("version", KUBERNETES)
def test_overlay_is_valid(overlay, version, tmp_path):
    import kubernetes_validate

    assert kubernetes_validate  # the command below is its
    path = tmp_path / "manifests.yaml"
    path.write_text(build_text(DEPLOY / "overlays" / overlay))
    done = subprocess.run(
        [sys.executable, "-m", "kubernetes_validate", "--strict", "-k", version, str(path)],
        capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    unknown = set(re.findall(r"schema for kind (\w+)", said))
    assert unknown <= OTHERS, said
    assert said.count("passed") >= 8, said


def test_ports_have_one_meaning(items):
    server = container(items)
    ports = {port["name"]: port["containerPort"] for port in server["ports"]}
    assert settings(items)["SALIENT_SERVER_ADMIN"] == f"0.0.0.0:{ports['admin']}"
    for service in ("salient", "salient-headless"):
        for port in find(items, "Service", service)["spec"]["ports"]:
            assert port["targetPort"] in ports
            assert port["port"] == ports[port["targetPort"]]
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        probe = server[kind]
        assert ("httpGet" in probe) != ("grpc" in probe), "one way to ask"
        if "grpc" in probe:
            assert probe["grpc"]["port"] == ports["grpc"]
        else:
            assert probe["httpGet"]["port"] == "admin"
    for rule in find(items, "NetworkPolicy")["spec"]["ingress"]:
        assert all(port["port"] in ports for port in rule["ports"])


def test_tls_is_not_probed_in_the_clear(items):
    if "SALIENT_SERVER_TLS_CERT" in settings(items):
        assert "grpc" not in container(items)["readinessProbe"], "the kubelet's gRPC probe speaks no TLS"


def test_selectors_select_the_pods(items):
    labels = find(items, "Deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = [find(items, "Deployment")["spec"]["selector"]["matchLabels"],
                 find(items, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
                 find(items, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
                 find(items, "Service")["spec"]["selector"],
                 find(items, "Service", "salient-headless")["spec"]["selector"]]
    selectors += [item["spec"]["selector"]["matchLabels"] for item in items if item["kind"] == "PodMonitor"]
    for selector in selectors:
        assert selector and selector.items() <= labels.items()
    others = [item["spec"]["template"]["metadata"]["labels"] for item in items
              if item["kind"] == "Deployment" and item["metadata"]["name"] != "salient"]
    for selector in selectors:
        assert not any(selector.items() <= other.items() for other in others), "another workload's pods"


def test_grace_exceeds_sleep_and_drain(items):
    pod = find(items, "Deployment")["spec"]["template"]["spec"]
    command = container(items)["lifecycle"]["preStop"]["exec"]["command"]
    assert command[0] == "sleep"
    drain = sum(int(settings(items)[f"SALIENT_SERVER_{name}"]) for name in ("DRAIN_DELAY", "DRAIN_SECONDS"))
    assert pod["terminationGracePeriodSeconds"] == int(command[1]) + drain + 10


def test_rollouts_lose_no_capacity(items):
    update = find(items, "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert update["maxUnavailable"] == 0
    assert update["maxSurge"] >= 1


def test_pods_are_restricted(items):
    for item in items:
        if item["kind"] != "Deployment":
            continue
        pod = item["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
        assert pod["automountServiceAccountToken"] is False
        for entry in pod["containers"] + pod.get("initContainers", []):
            assert entry["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                "capabilities": {"drop": ["ALL"]}}
            assert {"cpu", "memory"} <= entry["resources"]["limits"].keys()


def test_mounts_have_volumes(items):
    for item in items:
        if item["kind"] != "Deployment":
            continue
        pod = item["spec"]["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        for entry in pod["containers"] + pod.get("initContainers", []):
            assert {mount["name"] for mount in entry.get("volumeMounts", [])} <= volumes


def test_files_that_settings_name_are_mounted(items):
    mounts = [mount["mountPath"] for mount in container(items)["volumeMounts"]]
    for name, value in settings(items).items():
        if value.startswith("/"):
            assert any(value.startswith(mount + "/") for mount in mounts), f"{name}={value} is not on {mounts}"


def test_an_autoscaled_deployment_says_no_number(items):
    scaled = any(item["kind"] in ("HorizontalPodAutoscaler", "ScaledObject") for item in items)
    assert ("replicas" in find(items, "Deployment")["spec"]) != scaled


def test_references_resolve(items):
    """Config maps by their generated names; secrets are the user's, by the names that the components' comments give."""
    maps = {item["metadata"]["name"] for item in items if item["kind"] == "ConfigMap"}
    claims = {item["metadata"]["name"] for item in items if item["kind"] == "PersistentVolumeClaim"}
    for item in items:
        if item["kind"] != "Deployment":
            continue
        pod = item["spec"]["template"]["spec"]
        for entry in pod["containers"]:
            assert all(source["configMapRef"]["name"] in maps for source in entry.get("envFrom", []))
        for volume in pod["volumes"]:
            if "configMap" in volume:
                assert volume["configMap"]["name"] in maps
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
            if "secret" in volume:
                assert volume["secret"]["secretName"] in {"salient-tls", "salient-api-keys"}


def test_checkov_finds_nothing(tmp_path):
    pytest.importorskip("checkov")
    paths = []
    for overlay in OVERLAYS:
        paths.append(tmp_path / f"{overlay}.yaml")
        paths[-1].write_text(build_text(DEPLOY / "overlays" / overlay))
    done = subprocess.run(
        [sys.executable, "-m", "checkov.main", "--config-file", str(DEPLOY / ".checkov.yaml"), "-f", *map(str, paths)],
        capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
