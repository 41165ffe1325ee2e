#!/usr/bin/env python3
"""Generates the Python stubs of proto/salient/v1/translation.proto.

    client/python/generate.py FOLDER        such as client/python/salient_client/proto, for work on the package in place

The compiler is grpcio-tools where it is installed (as it is while pip builds the package), else Debian's protoc with
grpc_python_plugin (packages protobuf-compiler and protobuf-compiler-grpc).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "proto" / "salient" / "v1" / "translation.proto"
# The path by which the compiler knows the file decides how the generated modules import each other.
PACKAGE = "salient_client/proto"


def compiler() -> list[str]:
    try:
        import grpc_tools  # noqa: F401

        return [sys.executable, "-m", "grpc_tools.protoc"]
    except ImportError:
        pass
    plugin = shutil.which("grpc_python_plugin")
    if not (shutil.which("protoc") and plugin):
        raise SystemExit("no compiler for .proto files: install grpcio-tools, or Debian's protobuf-compiler-grpc")
    return ["protoc", f"--plugin=protoc-gen-grpc_python={plugin}"]


def generate(folder: Path) -> None:
    """Writes the package of stubs into `folder`, whose path ends in salient_client/proto."""
    folder = folder.resolve()
    root = folder.parents[1]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text('"""Generated from translation.proto; see generate.py."""\n')
    command = [*compiler(), f"-I{PACKAGE}={SOURCE.parent}", f"--python_out={root}", f"--pyi_out={root}",
               f"--grpc_python_out={root}", f"{PACKAGE}/{SOURCE.name}"]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    generate(Path(sys.argv[1]))
