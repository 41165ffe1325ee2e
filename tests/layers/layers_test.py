"""Every include in the C++ sources must point down the list of layers, docs/layers.txt."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = ("engine", "server", "client", "cli", "proto", "documents")
SOURCES = (".h", ".cc", ".cu", ".cuh")
KERNELS = ("cpu", "cuda")  # names of folders that only backends may include
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def read_layers(text):
    """By folder: (its index in the list, the only folders that it may include; None: all above it)."""
    layers = {}
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        folder = line.split()[0]
        assert folder not in layers, f"{folder} is listed twice"
        sees = re.search(r"\bsees\b(.*)$", line)
        layers[folder] = (len(layers), sees.group(1).split() if sees else None)
    return layers


def kind(folder):
    name = folder.rsplit("/", 1)[-1]
    return name if name in KERNELS else None


def violations(layers, includes):
    """The violations among `includes`: (file, included path) pairs, both relative to the project."""
    found = []
    for file, included in includes:
        here, there = str(pathlib.PurePosixPath(file).parent), str(pathlib.PurePosixPath(included).parent)
        if here not in layers:
            found.append(f"{file}: the folder {here} is missing in docs/layers.txt")
            continue
        if there == here or there.split("/")[0] not in FOLDERS or included.endswith(".pb.h"):
            continue
        if there not in layers:
            found.append(f"{file}: includes {included}, whose folder is missing in docs/layers.txt")
            continue
        place, sees = layers[here]
        if layers[there][0] > place:
            found.append(f"{file}: includes {included}, a layer above its own")
        elif sees is not None and there not in sees:
            found.append(f"{file}: includes {included}, but {here} may only include {', '.join(sees) or 'itself'}")
        elif kind(there) and kind(here) != kind(there) and not here.startswith("engine/backend"):
            found.append(f"{file}: includes {included}; kernels are included by backends only")
    return found


def project_includes():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SOURCES:
                name = path.relative_to(ROOT).as_posix()
                for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
                    yield name, included


def test_includes_point_down():
    layers = read_layers((ROOT / "docs/layers.txt").read_text(encoding="utf-8"))
    includes = list(project_includes())
    assert len(includes) > 500, "the sources were not found"
    assert not violations(layers, includes)


def test_every_listed_folder_has_sources():
    listed = read_layers((ROOT / "docs/layers.txt").read_text(encoding="utf-8"))
    for folder in listed:
        assert any(path.suffix in (*SOURCES, ".proto") for path in (ROOT / folder).iterdir()), folder


def test_the_architecture_page_shows_the_list():
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    for line in (ROOT / "docs/layers.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            assert f"    {line}\n" in page


@pytest.mark.parametrize(
    "file, included, reason",
    [
        ("engine/core/rows.h", "engine/backend/backend.h", "above its own"),
        ("engine/text/document.h", "engine/document/job.h", "above its own"),
        ("engine/model/decoder.h", "engine/attention/cpu/kernels.h", "backends only"),
        ("engine/attention/cpu/attend.cc", "engine/core/cuda/device.h", "backends only"),
        ("server/rpc/service.h", "engine/model/model.h", "may only include"),
        ("client/call.h", "engine/engine.h", "may only include"),
        ("engine/nowhere/new.h", "engine/core/rows.h", "missing in docs/layers.txt"),
        ("engine/core/rows.h", "engine/nowhere/new.h", "missing in docs/layers.txt"),
    ],
)
def test_a_planted_include_is_found(file, included, reason):
    layers = read_layers((ROOT / "docs/layers.txt").read_text(encoding="utf-8"))
    found = violations(layers, [(file, included)])
    assert len(found) == 1 and reason in found[0]
