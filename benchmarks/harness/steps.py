"""What the step loop does between its steps, beside a thousand documents that wait and beside a book that ends.

Times are those of benchmarks/steps_bench.cc, whose head says what they are. Prints a Markdown table."""

import argparse
import subprocess

from harness import environment


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(environment.ROOT / "models/en-de"))
    parser.add_argument("--quick", action="store_true", help="does it work? No measurement")
    args, rest = parser.parse_known_args()
    if args.quick:
        rest += ["--waiting", "50", "--book-characters", "5000", "--rounds", "1"]
    folder = environment.build(["steps_bench"])
    raise SystemExit(subprocess.run([folder / "steps_bench", args.model, *rest]).returncode)
