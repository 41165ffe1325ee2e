"""Manifests as lists of objects: the output of kustomize and of the chart."""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
OVERLAYS = sorted(path.name for path in (DEPLOY / "overlays").iterdir())
COMPONENTS = sorted(path.name for path in (DEPLOY / "components").iterdir())


def knows_components(kubectl):
    """Whether this kubectl's Kustomize knows components. Debian's is too old, and too old to tell its version."""
    if shutil.which(kubectl) is None:
        return False
    done = subprocess.run([kubectl, "version", "--client", "-o", "json"], capture_output=True, text=True, check=False)
    return "kustomizeVersion" in done.stdout


has_kubectl = knows_components("kubectl")
has_pykustomize = importlib.util.find_spec("pykustomize") is not None
has_kustomize = has_kubectl or has_pykustomize
has_helm = importlib.util.find_spec("helm_python") is not None

MODEL = "model-image"
PVC = {"model": {"image": "", "claim": "salient-models", "createClaim": True}}
# Components, and the chart's values with the same effect.
CHART_VALUES = {
    (MODEL,): {},
    ("model-pvc",): PVC,
    (MODEL, "models-dir"): {"model": {"directory": "/models"}},
    ("model-pvc", "models-dir"): {"model": {**PVC["model"], "directory": "/models"}},
    (MODEL, "hpa"): {"autoscaling": {"kind": "hpa"}},
    (MODEL, "keda"): {"autoscaling": {"kind": "keda"}},
    (MODEL, "podmonitor"): {"podMonitor": {"enabled": True}},
    (MODEL, "tls"): {"tls": {"enabled": True}},
    (MODEL, "api-keys"): {"apiKeys": {"enabled": True}},
    (MODEL, "gpu"): {"gpu": {"enabled": True}},
    (MODEL, "envoy"): {"envoy": {"enabled": True}},
    (MODEL, "gateway"): {"gateway": {"enabled": True}},
    (MODEL, "gpu", "tls", "api-keys", "podmonitor", "keda"): {
        "gpu": {"enabled": True}, "tls": {"enabled": True}, "apiKeys": {"enabled": True},
        "podMonitor": {"enabled": True}, "autoscaling": {"kind": "keda"}},
}


KUBECTL = ["kubectl", "kustomize"]
PYKUSTOMIZE = [sys.executable, str(Path(__file__).with_name("kustomize.py"))]


def build_text(folder, command=KUBECTL if has_kubectl else PYKUSTOMIZE):
    """The output of `kubectl kustomize FOLDER`, or of the same library from PyPI."""
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} {folder}:\n{done.stderr}"
    return done.stdout


def build(folder):
    return [item for item in yaml.safe_load_all(build_text(folder)) if item]


def build_with(components):
    """The base with some components, as in a user's own overlay."""
    with tempfile.TemporaryDirectory() as folder:
        deploy = os.path.relpath(DEPLOY, Path(folder).resolve())  # kustomize does not accept absolute paths
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [f"{deploy}/base"],
            "components": [f"{deploy}/components/{name}" for name in components],
        }
        Path(folder, "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        return build(folder)


def render_files(values, name="salient", namespace="salient"):
    """The output of `helm template` by file, by Helm's own code from PyPI."""
    import helm_python  # installed only where the chart is tested

    with helm_python.Chart.load(str(DEPLOY / "helm" / "salient")) as chart:
        return chart.render(values, name=name, namespace=namespace)


def render_chart(values, **release):
    """The chart's objects."""
    files = render_files(values, **release)
    return [item for name, text in files.items() if name.endswith(".yaml")
            for item in yaml.safe_load_all(text) if item]


def find(items, kind, name="salient"):
    """The object of this kind and name. Kustomize appends a hash to generated names."""
    found = [item for item in items if item["kind"] == kind and plain_name(item) == name]
    assert len(found) == 1, f"{len(found)} of {kind} {name}"
    return found[0]


def plain_name(item):
    name = item["metadata"]["name"]
    return re.sub(r"-[0-9bcdfghkmt2456789]{10}$", "", name) if item["kind"] in ("ConfigMap", "Secret") else name


def container(items, name="server", deployment="salient"):
    pod = find(items, "Deployment", deployment)["spec"]["template"]["spec"]
    return next(entry for entry in pod["containers"] + pod.get("initContainers", []) if entry["name"] == name)


def settings(items):
    return find(items, "ConfigMap", "salient-settings")["data"]


@functools.cache
def variants():
    """Objects by name of the variant: every overlay, the base with each component, and the chart with each.

    Each variant is built once, so its objects must not be changed.
    """
    found = {}
    if has_kustomize:
        found |= {name: lambda name=name: build(DEPLOY / "overlays" / name) for name in OVERLAYS}
        found |= {name: lambda name=name: build_with([name] if name.startswith("model-") else [MODEL, name])
                  for name in COMPONENTS}
    if has_helm:
        found |= {"chart:" + "+".join(names): lambda values=values: render_chart(values)
                  for names, values in CHART_VALUES.items()}
    return {name: functools.cache(make) for name, make in found.items()}
