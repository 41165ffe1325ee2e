"""The autoscalers' queries to Prometheus: more replicas while documents wait, no more when none waits."""

import math
import re
import subprocess

import pytest
import yaml

from manifests import DEPLOY
from programs import CLIENT, DOCUMENT, Server, has_binaries, has_prometheus, prometheus, query, wait_for

LABELS = {"namespace": "salient", "pod": "salient-0"}  # as the Prometheus operator and annotations give them


def component(name, file):
    return yaml.safe_load((DEPLOY / "components" / name / file).read_text())


def adapter_queries():
    """By metric: (whether it exists, its value), with templates filled in as prometheus-adapter does for one pod."""
    queries = {}
    for rule in component("hpa", "adapter-values.yaml")["rules"]["custom"]:
        series = re.match(r"\w+", rule["seriesQuery"])[0]
        value = rule["metricsQuery"].replace("<<.Series>>", series).replace("<<.GroupBy>>", "pod")
        matchers = ",".join(f'{label}="{value}"' for label, value in LABELS.items())
        queries[series] = (rule["seriesQuery"], value.replace("<<.LabelMatchers>>", matchers))
    return queries


def quantity(text):
    return float(text[:-1]) * 1000 if text.endswith("k") else float(text)


def hpa_targets():
    """(query, documents or tokens per replica) of each metric. The name must be one that the adapter provides."""
    queries = adapter_queries()
    metrics = [entry["pods"] for entry in component("hpa", "autoscaler.yaml")["spec"]["metrics"]]
    return [(queries[entry["metric"]["name"]][1], quantity(entry["target"]["averageValue"])) for entry in metrics]


def keda_targets():
    triggers = component("keda", "scaled-object.yaml")["spec"]["triggers"]
    return [(entry["metadata"]["query"], float(entry["metadata"]["threshold"])) for entry in triggers]


def test_both_scale_on_the_same():
    assert [target for _, target in hpa_targets()] == [target for _, target in keda_targets()]
    assert set(adapter_queries()) == {"salient_requests_waiting", "salient_tokens_waiting"}


needs_all = pytest.mark.skipif(not (has_prometheus and has_binaries), reason="no prometheus, or nothing built")


def replicas(address, targets):
    """As both compute it: the total that waits, divided by what one replica may have waiting, rounded up."""
    answers = [(query(address, expression), target) for expression, target in targets]
    return [math.ceil(float(found[0]["value"][1]) / target) for found, target in answers if found]


@needs_all
def test_no_replica_is_added_for_one_document(tmp_path):
    """Most tokens of a large document wait, but no other replica can take them."""
    targets = hpa_targets() + keda_targets()
    large = tmp_path / "large.txt"
    large.write_text(80 * DOCUMENT.read_text())
    flags = ["--threads", "1", "--max-rows", "8"]
    with Server(tmp_path, *flags) as server, prometheus(tmp_path, [server.admin], [], labels=LABELS) as address:
        sender = subprocess.Popen([CLIENT, "translate", large, "--server", server.grpc, "--quiet",
                                   "--selection", "dense", "--exit", "full"], stdout=subprocess.DEVNULL)
        try:
            begun = "salient_requests_waiting == 0 and salient_requests_running == 1 and salient_tokens_waiting > 8000"
            wait_for(lambda: query(address, begun), 60, "a document that has begun")
            assert replicas(address, targets) == [0] * len(targets)
        finally:
            sender.kill()
            sender.wait()


@needs_all
def test_replicas_follow_the_queue(tmp_path):
    targets = hpa_targets() + keda_targets()
    long = tmp_path / "long.txt"
    long.write_text(12 * DOCUMENT.read_text())
    flags = ["--threads", "1", "--max-rows", "8", "--max-queue", "64"]
    with Server(tmp_path, *flags) as server, prometheus(tmp_path, [server.admin], [], labels=LABELS) as address:

        def all_want(enough):
            wanted = replicas(address, targets)
            return len(wanted) == len(targets) and all(map(enough, wanted))

        wait_for(lambda: all_want(lambda count: count == 0), 60, "an idle server's metrics")
        for exists, _ in adapter_queries().values():
            assert query(address, exists), exists
        sender = subprocess.Popen([CLIENT, "bench", long, "--server", server.grpc, "--rate", "40", "--seconds", "1",
                                   "--selection", "dense", "--exit", "full", "--quiet"], stdout=subprocess.DEVNULL)
        try:
            wait_for(lambda: all_want(lambda count: count >= 2), 120, f"more replicas by each of {targets}")
        finally:
            sender.kill()
            sender.wait()
        wait_for(lambda: all_want(lambda count: count == 0), 120, "no replica more once nobody waits")
