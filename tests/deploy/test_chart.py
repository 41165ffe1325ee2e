"""The Helm chart renders the same objects as kustomize does from the base and the components of the same names."""

import copy
import difflib

import pytest
import yaml

from manifests import (CHART_VALUES, DEPLOY, PVC, build_with, container, find, has_kustomize, plain_name, render_chart,
                       render_files, settings)

helm = pytest.importorskip("helm_python", reason="no helm-python-sdk")

# The same quantity in two notations.
QUANTITIES = {"8k": "8000"}


def essence(items):
    """The objects by kind and name, without differences that are only notation."""
    result = {}
    for item in copy.deepcopy(items):
        name = plain_name(item)
        item["metadata"] = {"name": name}
        if item["kind"] == "Deployment":
            annotations = item["spec"]["template"]["metadata"].get("annotations", {})
            item["spec"]["template"]["metadata"]["annotations"] = {
                key: value for key, value in annotations.items() if not key.startswith("checksum/")}
        result[item["kind"], name] = plain(item)
    return result


def plain(value):
    if isinstance(value, dict):
        return {key: plain(entry) if key != "name" else strip(entry) for key, entry in value.items()}
    if isinstance(value, list):
        entries = [plain(entry) for entry in value]
        return sorted(entries, key=yaml.safe_dump) if all(isinstance(entry, dict) for entry in entries) else entries
    return QUANTITIES.get(value, value) if isinstance(value, str) else value


def strip(name):
    return plain_name({"kind": "ConfigMap", "metadata": {"name": name}}) if isinstance(name, str) else plain(name)


@pytest.mark.skipif(not has_kustomize, reason="neither kubectl nor pykustomize")
@pytest.mark.parametrize("components", CHART_VALUES, ids="+".join)
def test_chart_equals_components(components):
    built, rendered = essence(build_with(components)), essence(render_chart(CHART_VALUES[components]))
    assert built.keys() == rendered.keys()
    for key, item in built.items():
        lines = (yaml.safe_dump(entry).splitlines() for entry in (item, rendered[key]))
        difference = "\n".join(difflib.unified_diff(*lines, "kustomize", "chart", lineterm=""))
        assert not difference, difference


def test_lint():
    result = helm.lint(str(DEPLOY / "helm" / "salient"))
    assert not result["errors"]
    assert not [message for message in result["messages"] if message["severity"] >= 2], result["messages"]


@pytest.mark.parametrize("values, where", [
    ({"repicas": 3}, "repicas"),
    ({"replicas": -1}, "replicas"),
    ({"model": {"image": "a", "claim": "b"}}, "model"),
    ({"autoscaling": {"kind": "cron"}}, "autoscaling"),
    ({"settings": {"max-queue": 3}}, "settings"),
    ({"settings": None}, "settings"),
    ({"settings": {"DRAIN_SECONDS": "a minute"}}, "settings"),
    ({"settings": {"DRAIN_SECONDS": "060"}}, "settings"),
    ({"settings": {"DRAIN_SECONDS": -1}}, "settings"),
    ({"settings": {"ADMIN": "off"}}, "settings"),
    ({"settings": {"LISTEN": "0.0.0.0:6000"}}, "settings"),
    ({"settings": {"HTTP": "127.0.0.1:8080"}}, "settings"),
    ({"settings": {"HTTP": False}}, "settings"),
    ({"settings": {"GUARD": False}}, "settings"),
    ({"extraEnv": [{"name": "SALIENT_SERVER_THREADS", "value": "2"}]}, "extraEnv"),
    ({"extraEnv": [{"name": "SALIENT_CPU_ISA", "value": 1}]}, "extraEnv"),
    ({"extraEnv": [{"name": "SALIENT_CPU_ISA", "value": False}]}, "extraEnv"),
    ({"extraEnv": [{"value": "avx2"}]}, "extraEnv"),
    ({"gpu": {"enabled": True, "settings": None}}, "gpu"),
    ({"gpu": {"enabled": True, "settings": {"ADMIN": "off"}}}, "gpu"),
    ({"gpu": {"enabled": True, "settings": {"DRAIN_SECONDS": "a minute"}}}, "gpu"),
])
def test_schema_refuses(values, where):
    with pytest.raises(Exception, match=where):
        render_chart(values)


VALUES = yaml.safe_load((DEPLOY / "helm" / "salient" / "values.yaml").read_text())
# Maps whose entries are the user's, or may be missing.
OPEN = {"settings", "rollingUpdate", "resources"}
ON = {"gpu": {"enabled": True}, "autoscaling": {"kind": "hpa"}, "apiKeys": {"enabled": True},
      "podMonitor": {"enabled": True}, "gateway": {"enabled": True}}


@pytest.mark.parametrize("name", [f"{name}.{inner}" if inner else name for name, value in VALUES.items() for inner in
                                  ["", *(value if isinstance(value, dict) and name not in OPEN else [])]])
@pytest.mark.parametrize("also", ["tls", "envoy"])
def test_a_value_without_content_is_refused_or_means_none(name, also):
    """A key of a user's file with nothing behind it takes the chart's own value away: "settings:" its drain times."""
    name, _, inner = name.partition(".")
    values = copy.deepcopy({**ON, also: {"enabled": True}})
    values[name] = {**values.get(name, {}), inner: None} if inner else None
    try:
        files = render_files(values)
    except ValueError as error:
        assert f"missing property '{inner or name}'" in str(error)
    else:
        assert not [text for text in files.values() if "<nil>" in text]


def test_grace_follows_the_settings():
    items = render_chart({"settings": {"DRAIN_SECONDS": "600", "DRAIN_DELAY": 20}, "preStopSeconds": 15})
    spec = find(items, "Deployment")["spec"]
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] == 15 + 600 + 20 + 10
    assert spec["progressDeadlineSeconds"] > 180 + 645 + 300, "a new pod may have to wait for the room of an old one"


def test_envoys_grace_follows_the_settings():
    items = render_chart({"settings": {"DRAIN_SECONDS": "600"}, "preStopSeconds": 15, "envoy": {"enabled": True}})
    pod = find(items, "Deployment", "salient-envoy")["spec"]["template"]["spec"]
    assert pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"] == 15 + 60 + 5 + 600
    assert pod["terminationGracePeriodSeconds"] == 15 + 60 + 5 + 600 + 10


def test_settings_are_written_out():
    items = render_chart({"settings": {"MAX_QUEUE_TOKENS": 33554432, "KV_MEMORY": "2GiB", "COMPAT": True},
                          "autoscaling": {"kind": "hpa", "requestsWaiting": 10000000}})
    assert settings(items)["SALIENT_SERVER_MAX_QUEUE_TOKENS"] == "33554432"
    assert settings(items)["SALIENT_SERVER_KV_MEMORY"] == "2GiB"
    assert settings(items)["SALIENT_SERVER_COMPAT"] == "true"
    metric = find(items, "HorizontalPodAutoscaler")["spec"]["metrics"][0]["pods"]
    assert metric["target"]["averageValue"] == "10000000"


def test_an_image_may_be_pinned_by_its_digest():
    digest = f"sha256:{'0' * 64}"
    assert container(render_chart({"image": {"tag": f"1.2.3@{digest}"}}))["image"] == f"salient-server:1.2.3@{digest}"


def test_ports_may_be_those_of_ipv6():
    items = render_chart({"settings": {"ADMIN": "[::]:9464", "LISTEN": "[::]:50051", "HTTP": "off", "GUARD": "off"}})
    assert settings(items)["SALIENT_SERVER_LISTEN"] == "[::]:50051"


def notes(values):
    return render_files(values, name="other", namespace="staging")["salient/templates/NOTES.txt"]


def test_notes_say_how_to_call_and_what_is_missing():
    plain = notes({})
    assert "need no key and are not encrypted" in plain
    assert "  kubectl -n staging port-forward service/other 50051 &\n  salient translate report.txt\n" in plain
    assert "--server dns:///other-headless.staging:50051\n" in plain
    proxied = notes({"envoy": {"enabled": True}})
    assert "--server dns:///other-headless.staging:50051\n" in proxied, "salient asks for health, of one replica there"
    assert "themselves call other-envoy.staging:50051." in proxied
    secured = notes({"tls": {"enabled": True}, "apiKeys": {"enabled": True}, "model": PVC["model"]})
    for needed in ("salient-tls", "salient-api-keys", "salient-models"):
        assert needed in secured
    assert "  SALIENT_API_KEY=KEY salient translate report.txt --tls --tls-ca CA.pem\n" in secured
    assert "other-headless.staging, other.staging, and localhost" in secured, "names of the certificate"
    mutual = notes({"tls": {"enabled": True, "clientCA": True}})
    assert "salient translate report.txt --tls --tls-ca CA.pem --tls-cert ME.crt --tls-key ME.key\n" in mutual


def test_threads_of_the_settings_hold():
    items = render_chart({"settings": {"THREADS": 1}})
    assert settings(items)["SALIENT_SERVER_THREADS"] == "1"
    assert "env" not in container(items), "a variable of the container overrides the config map's"


def test_a_variable_that_is_no_option():
    wanted = {"name": "SALIENT_CPU_ISA", "value": "avx2"}
    with_threads = container(render_chart({"extraEnv": [wanted]}))["env"]
    assert [entry["name"] for entry in with_threads] == ["SALIENT_SERVER_THREADS", "SALIENT_CPU_ISA"]
    assert container(render_chart({"extraEnv": [wanted], "settings": {"THREADS": 1}}))["env"] == [wanted]


def test_a_rollout_without_a_spare_gpu_and_a_slow_start():
    items = render_chart({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}, "startupSeconds": 600})
    assert find(items, "Deployment")["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    probe = container(items)["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 600
    assert find(items, "Deployment")["spec"]["progressDeadlineSeconds"] == 1020, "a start may take all of the 600"


def test_the_models_outlive_the_release():
    claim = find(render_chart({"model": PVC["model"]}), "PersistentVolumeClaim", "salient-models")
    assert claim["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def pod(items, name="salient"):
    return find(items, "Deployment", name)["spec"]["template"]["spec"]


def test_a_private_registry_has_its_secret_in_every_pod():
    items = render_chart({"imagePullSecrets": [{"name": "registry"}], "envoy": {"enabled": True}})
    for name in ("salient", "salient-envoy"):
        assert pod(items, name)["imagePullSecrets"] == [{"name": "registry"}]


def test_nodes_are_chosen_with_and_without_a_gpu():
    spot = {"key": "spot", "operator": "Exists"}
    values = {"nodeSelector": {"pool": "translation"}, "tolerations": [spot],
              "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}
    without = pod(render_chart(values))
    assert (without["nodeSelector"], without["tolerations"]) == ({"pool": "translation"}, [spot])
    assert without["affinity"] == values["affinity"]
    beside = pod(render_chart(values | {"gpu": {"enabled": True}}))
    assert beside["nodeSelector"] == {"pool": "translation", "nvidia.com/gpu.present": "true"}
    assert [toleration["key"] for toleration in beside["tolerations"]] == ["spot", "nvidia.com/gpu"]


def test_glossaries_are_a_volume_more():
    volume = {"name": "glossaries", "configMap": {"name": "glossaries"}}
    mount = {"name": "glossaries", "mountPath": "/glossaries", "readOnly": True}
    items = render_chart({"extraVolumes": [volume], "extraVolumeMounts": [mount],
                          "settings": {"GLOSSARIES": "/glossaries"}, "apiKeys": {"enabled": True}})
    assert pod(items)["volumes"][-1] == volume
    assert container(items)["volumeMounts"][-1] == mount
    assert settings(items)["SALIENT_SERVER_GLOSSARIES"] == "/glossaries"


def test_without_prometheus_no_replica_is_taken_away():
    spec = find(render_chart({"autoscaling": {"kind": "keda"}}), "ScaledObject")["spec"]
    assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"
    assert {trigger["metadata"]["ignoreNullValues"] for trigger in spec["triggers"]} == {"false"}


def test_envoy_does_not_go_with_tls():
    with pytest.raises(Exception, match="without TLS"):
        render_chart({"envoy": {"enabled": True}, "tls": {"enabled": True}})


def test_the_pod_monitor_has_the_labels_by_which_it_is_chosen():
    items = render_chart({"podMonitor": {"enabled": True, "labels": {"release": "stack"}}})
    assert find(items, "PodMonitor")["metadata"]["labels"]["release"] == "stack"


def test_a_gateway_without_the_http_port():
    items = render_chart({"gateway": {"enabled": True}, "settings": {"HTTP": "off"}})
    rules = find(items, "HTTPRoute")["spec"]["rules"]
    assert [rule["backendRefs"][0]["port"] for rule in rules] == [50051]


def test_a_gateway_of_another_namespace_and_more_paths():
    values = {"enabled": True, "namespace": "infrastructure", "paths": ["/v1", "/v2"]}
    spec = find(render_chart({"gateway": values}), "HTTPRoute")["spec"]
    assert spec["parentRefs"] == [{"name": "gateway", "namespace": "infrastructure"}]
    assert [match["path"]["value"] for match in spec["rules"][1]["matches"]] == ["/v1", "/v2"]


def test_dns_of_another_cluster():
    namespace = {"kubernetes.io/metadata.name": "openshift-dns"}
    dns = {"to": [{"namespaceSelector": {"matchLabels": namespace}}], "port": 5353}
    items = render_chart({"envoy": {"enabled": True}, "networkPolicy": {"dns": dns}})
    rule = find(items, "NetworkPolicy", "salient-envoy")["spec"]["egress"][1]
    assert rule["to"] == dns["to"]
    assert {port["port"] for port in rule["ports"]} == {5353}


def test_without_network_policies_there_is_none():
    items = render_chart({"envoy": {"enabled": True}, "networkPolicy": {"enabled": False}})
    assert not [item for item in items if item["kind"] == "NetworkPolicy"]


def test_keda_counts_the_releases_namespace():
    items = render_chart({"autoscaling": {"kind": "keda"}}, namespace="staging")
    assert [trigger["metadata"]["query"] for trigger in find(items, "ScaledObject")["spec"]["triggers"]] == [
        'sum(salient_requests_waiting{namespace="staging"})',
        'sum(salient_tokens_waiting{namespace="staging"} * (salient_requests_waiting > bool 0))']


def test_a_release_of_another_name_refers_to_itself():
    values = {"autoscaling": {"kind": "hpa"}, "envoy": {"enabled": True}, "podMonitor": {"enabled": True}}
    text = repr(render_chart(values, name="other"))
    for reference in ("salient-settings", "salient-headless", "salient-envoy"):
        assert reference not in text


@pytest.mark.parametrize("kind", ["hpa", "keda"])
def test_a_name_that_is_a_word_of_yaml_stays_a_name(kind):
    """`on` is true in YAML 1.1, which Kubernetes reads."""
    values = {"autoscaling": {"kind": kind}, "gateway": {"enabled": True}, "podMonitor": {"enabled": True}}
    for value in names_in(render_chart(values, name="on")):
        assert isinstance(value, str), value


def names_in(value):
    """What every `name` and `serviceAccountName` in it has."""
    if isinstance(value, list):
        return [name for entry in value for name in names_in(entry)]
    if not isinstance(value, dict):
        return []
    own = [entry for key, entry in value.items() if key in ("name", "serviceAccountName")]
    return own + [name for entry in value.values() for name in names_in(entry)]
