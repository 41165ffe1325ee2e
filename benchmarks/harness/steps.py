"""Measures the step loop's work between steps, with a thousand documents in the queue, and when a book ends.

The head of benchmarks/steps_bench.cc defines the times. Prints a Markdown table.
"""

import argparse
import subprocess

from harness import environment

# Of steps_bench: the default, and what it is.
OPTIONS = {
    "documents": (16, "documents that are translated all the time"),
    "waiting": (1000, "documents in the queue"),
    "book-characters": (1_000_000, "length of the book"),
    "threads": (2, "threads of the engine"),
    "rounds": (3, "rounds; the table has the steps of all of them"),
}
QUICK = {"waiting": 50, "book_characters": 5000, "rounds": 1}


def main():
    parser = argparse.ArgumentParser(prog="benchmarks/steps", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(environment.ROOT / "models/en-de"))
    parser.add_argument("--quick", action="store_true", help="does it work? No measurement")
    for name, (default, meaning) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N",
                            help=f"{meaning} (default: {default})")
    args = parser.parse_args()
    if args.quick:
        parser.set_defaults(**QUICK)
        args = parser.parse_args()
    environment.end_on_sigterm()
    flags = [word for name in OPTIONS for word in (f"--{name}", str(getattr(args, name.replace("-", "_"))))]
    folder = environment.build(["steps_bench"])
    raise SystemExit(subprocess.run([folder / "steps_bench", args.model, *flags]).returncode)
