"""Rules and dashboards are valid, use metrics that exist, and show data when a server is under load."""

import json
import re
import shutil
import subprocess
import threading
import urllib.request

import pytest
import yaml

from expressions import DASHBOARDS, RULES, metrics, panels, rules
from manifests import DEPLOY, ROOT
from programs import Server, get, has_binaries, has_prometheus, prometheus, query, translate, wait_for

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool: apt-get install prometheus")
needs_all = pytest.mark.skipif(not (has_prometheus and has_binaries), reason="no prometheus, or nothing built")

SETTINGS = [["--selection", "dense", "--exit", "full"], ["--selection", "learned", "--exit", "geometric"],
            ["--selection", "ratio:0.1", "--exit", "confidence:0.6"]]


def promtool(*arguments, given=None):
    done = subprocess.run(["promtool", *map(str, arguments)], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_promtool_finds_configuration_and_rules_good():
    promtool("check", "config", "--syntax-only", DEPLOY / "prometheus" / "prometheus.yml")
    promtool("check", "rules", *RULES)


def test_every_way_to_scrape_is_often_enough():
    """SalientStalled counts steps within a minute, of which a Prometheus with its default of one minute sees none."""
    text = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    in_comment = "\n".join(line[4:] for line in text.splitlines() if line.startswith(("  # - ", "  #   ")))
    (commented,) = yaml.safe_load(in_comment)
    monitor = yaml.safe_load((DEPLOY / "components" / "podmonitor" / "pod-monitor.yaml").read_text())
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert commented["job_name"] == "salient"
    assert commented["scrape_interval"] == yaml.safe_load(text)["global"]["scrape_interval"] == endpoint["interval"]
    assert commented["scrape_timeout"] == endpoint["scrapeTimeout"]


@needs_promtool
def test_rules_do_what_their_tests_say():
    promtool("test", "rules", *sorted((DEPLOY / "prometheus" / "tests").glob("*.yaml")))


@needs_promtool
def test_dashboards_expressions_parse(tmp_path):
    group = {"name": "panels", "rules": [{"record": "panel:expression", "expr": expression, "labels": {"n": str(i)}}
                                         for i, (_, _, expression) in enumerate(panels())]}
    path = tmp_path / "panels.yaml"
    path.write_text(yaml.safe_dump({"groups": [group]}))
    promtool("check", "rules", path)


def test_every_alert_has_a_test_and_a_page():
    tested = (DEPLOY / "prometheus" / "tests" / "alerts_test.yaml").read_text()
    alerts = [rule for _, rule in rules() if "alert" in rule]
    assert alerts
    for alert in alerts:
        assert re.search(rf"alertname: {alert['alert']}\n\s+eval_time: \w+\n\s+exp_alerts", tested), alert["alert"]
        page, anchor = alert["annotations"]["runbook_url"].split("#")
        headings = re.findall(r"^#+ (.*)$", (ROOT / page).read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert anchor in anchors, f"{page} has no part #{anchor}"


def test_all_that_is_recorded_is_read():
    expressions = [rule["expr"] for _, rule in rules()] + [expression for *_, expression in panels()]
    recorded = [rule["record"] for _, rule in rules() if "record" in rule]
    assert recorded
    for name in recorded:
        assert any(name in expression for expression in expressions), f"nothing reads {name}"


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_dashboard_is_whole(path):
    dashboard = json.loads(path.read_text())
    assert dashboard["uid"] == path.stem
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    places = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & places, f"{panel['title']} lies on another panel"
        assert at["x"] + at["w"] <= 24
        places |= cells
        if panel["type"] != "row":
            assert panel["description"], panel["title"]


def test_dashboards_can_show_one_of_several_installations():
    for path in DASHBOARDS:
        dashboard = json.loads(path.read_text())
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                selectors = re.findall(r"{[^{}]*}", target["expr"])
                assert selectors and all('namespace=~"$namespace"' in selector for selector in selectors), target


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """A server under load for some seconds, and a Prometheus that scrapes it. Alerts wait only 2 s here."""
    folder = tmp_path_factory.mktemp("prometheus")
    copies = []
    for path in RULES:
        copies.append(folder / path.name)
        copies[-1].write_text(re.sub(r"for: \w+", "for: 2s", path.read_text()))
    with Server(folder) as server, prometheus(folder, [server.admin], copies) as address:
        stop = threading.Event()

        def load(flags):
            while not stop.is_set():
                translate(server.grpc, *flags)

        threads = [threading.Thread(target=load, args=(flags,)) for flags in SETTINGS]
        for thread in threads:
            thread.start()
        try:
            yield server, address
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def wait_for_a_document(server):
    translated = re.compile(r'^salient_requests_total{.*outcome="ok".*} [1-9]', re.MULTILINE)
    wait_for(lambda: translated.search(get(f"http://{server.admin}/metrics")), 30, "a translated document")


@needs_all
def test_every_metric_exists(observed):
    server, _ = observed
    wait_for_a_document(server)
    known = set(re.findall(r"^([a-z_]+)[{ ]", get(f"http://{server.admin}/metrics"), re.MULTILINE)) | {"up"}
    expressions = [(f"{file}: {rule.get('alert') or rule['record']}", rule["expr"]) for file, rule in rules()]
    expressions += [(f"{dashboard}: {panel}", expression) for dashboard, panel, expression in panels()]
    for where, expression in expressions:
        assert metrics(expression) <= known, f"{where} names {metrics(expression) - known}"


@needs_all
def test_promtool_finds_metrics_good(observed):
    server, _ = observed
    promtool("check", "metrics", given=get(f"http://{server.admin}/metrics"))


@needs_all
def test_every_label_exists(observed):
    """Labels of the server's metrics, and those that Prometheus adds. A selector with another matches nothing."""
    grpc = pytest.importorskip("grpc", reason="no grpcio")
    server, _ = observed
    wait_for_a_document(server)
    labels, values = {}, {}
    for metric, inside in re.findall(r"^(\w+)(?:{(.*)})? ", get(f"http://{server.admin}/metrics"), re.MULTILINE):
        labels.setdefault(metric, set())
        for label, value in re.findall(r'(\w+)="([^"]*)"', inside):
            labels[metric].add(label)
            values.setdefault((metric, label), set()).add(value)
    # What is there only after a failure.
    values["salient_requests_total", "outcome"] = {code.name.lower() for code in grpc.StatusCode}
    expressions = [rule["expr"] for _, rule in rules()] + [expression for *_, expression in panels()]
    for expression in expressions:
        for metric, inside in re.findall(r"\b((?:salient|process)_\w+){([^}]*)}", expression):
            for label, text in re.findall(r'(\w+) *!?[=~]+ *"([^"]*)"', inside):
                known = labels[metric] | {"namespace", "instance", "job"}
                assert label in known, f"{metric} has no {label}: {expression}"
                if (metric, label) in values and text not in ("", ".*", "+Inf"):
                    assert set(text.split("|")) <= values[metric, label], f"{metric}: {label} is never {text}"


@needs_all
def test_every_expression_has_data_under_load(observed):
    _, address = observed
    wanted = [(rule["record"], rule["record"]) for _, rule in rules() if "record" in rule]
    wanted += [(f"{dashboard}: {panel}", expression) for dashboard, panel, expression in panels()]
    # 5-minute rates need only two samples; quantiles need a document within the last 20 seconds.
    missing = wanted

    def all_there():
        nonlocal missing
        missing = [(where, expression) for where, expression in missing if not query(address, expression)]
        return not missing

    try:
        wait_for(all_there, 180, "data")
    except AssertionError:
        pytest.fail("no data: " + "; ".join(f"{where}: {expression}" for where, expression in missing))


@needs_all
def test_an_alert_fires_after_a_kill(tmp_path):
    copy = tmp_path / "alerts.yaml"
    copy.write_text(re.sub(r"for: \w+", "for: 2s", (DEPLOY / "prometheus" / "rules" / "alerts.yaml").read_text()))
    with Server(tmp_path) as server, prometheus(tmp_path, [server.admin], [copy]) as address:
        firing = 'ALERTS{alertname=~"SalientReplicaDown|SalientDown", alertstate="firing"}'
        wait_for(lambda: query(address, "up == 1") and not query(address, firing), 60, "a scrape")
        server.process.kill()
        wait_for(lambda: len(query(address, firing)) == 2, 60, "both alerts")


@needs_all
def test_an_alert_fires_for_a_model_that_cannot_be_loaded_until_it_is_gone(tmp_path):
    models = tmp_path / "models"
    (models / "broken").mkdir(parents=True)
    (models / "broken" / "config.json").write_text("{}")
    copy = tmp_path / "alerts.yaml"
    copy.write_text(re.sub(r"for: \w+", "for: 2s", (DEPLOY / "prometheus" / "rules" / "alerts.yaml").read_text()))
    with (Server(tmp_path, "--models-dir", models) as server,
          prometheus(tmp_path, [server.admin], [copy]) as address):
        firing = 'ALERTS{alertname="SalientModelFailed", alertstate="firing"}'
        alerts = wait_for(lambda: query(address, firing), 60, "the alert")
        assert [alert["metric"]["model"] for alert in alerts] == ["broken"]
        shutil.rmtree(models / "broken")
        reload = urllib.request.Request(f"http://{server.admin}/models/reload", method="POST")
        urllib.request.urlopen(reload, timeout=10).close()
        wait_for(lambda: not query(address, firing), 60, "the end of the alert")
