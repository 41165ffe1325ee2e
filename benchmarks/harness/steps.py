"""Measures the step loop's work between steps, with a thousand documents in the queue, and when a book ends.

The head of benchmarks/steps_bench.cc defines the times. Prints a Markdown table.
"""

import argparse
import subprocess

from harness import environment


def main():
    parser = argparse.ArgumentParser(prog="benchmarks/steps", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(environment.ROOT / "models/en-de"))
    parser.add_argument("--quick", action="store_true", help="does it work? No measurement")
    args, rest = parser.parse_known_args()
    environment.end_on_sigterm()
    if args.quick:
        rest += ["--waiting", "50", "--book-characters", "5000", "--rounds", "1"]
    folder = environment.build(["steps_bench"])
    raise SystemExit(subprocess.run([folder / "steps_bench", args.model, *rest]).returncode)
