"""The PromQL of rules and dashboards."""

import json
import re

import yaml

from manifests import DEPLOY

RULES = sorted((DEPLOY / "prometheus" / "rules").glob("*.yaml"))
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
METRIC = re.compile(r"\b(?:salient_[a-z0-9_]+|process_[a-z0-9_]+|up)\b(?!:)")
# Recorded names such as outcome:salient_requests:rate5m contain a metric's name, but are not the server's metrics.
RECORDED = re.compile(r"\b[a-z_]+:[a-z0-9_]+:[a-z0-9_]+\b|\bsalient:[a-z_]+:[a-z0-9_]+\b")


def rules():
    """(file, rule) for every rule."""
    return [(path.name, rule) for path in RULES
            for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]]


def panels():
    """(dashboard, panel, expression) for every query of a dashboard, its variables filled in."""
    result = []
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", []):
                expression = re.sub(r"\$(namespace|model|instance)", ".*", target["expr"])
                expression = expression.replace("$__rate_interval", "20s")
                result.append((path.stem, panel["title"], expression))
    return result


def metrics(expression):
    """The server's metrics that are used in an expression."""
    return set(METRIC.findall(RECORDED.sub("", re.sub(r'"[^"]*"', "", expression))))
