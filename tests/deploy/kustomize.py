"""Prints what Kustomize makes of a folder, with the library in PyPI's pykustomize: for machines without kubectl.

A program of its own, because Helm's library (helm_python) is written in Go, too, and two Go runtimes do not share a
process.
"""

import asyncio
import sys

import pykustomize

try:
    print(asyncio.run(pykustomize.build(sys.argv[1])).yaml, end="")
except pykustomize.KustomizeError as error:
    sys.exit(str(error))
