"""Generates the stubs from proto/ before the package is built. All other settings are in pyproject.toml."""

import sys
from importlib.metadata import version
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import generate  # noqa: E402

generate.generate(HERE / "salient_client" / "proto")
# Generated code needs libraries that are at least as new as the generator's.
setup(install_requires=[f"grpcio>={version('grpcio')}", f"protobuf>={version('protobuf')}"])
