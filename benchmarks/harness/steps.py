"""Measures the step loop's work between steps, with a thousand documents in the queue, and when a book ends.

The head of benchmarks/steps_bench.cc defines the times. Prints a Markdown table.
"""

import argparse
import subprocess

from harness import environment

# Of steps_bench: the default, the value with --quick, what it is.
OPTIONS = {
    "documents": (16, 16, "documents that are translated all the time"),
    "waiting": (1000, 50, "documents in the queue"),
    "book-characters": (1_000_000, 5000, "length of the book"),
    "threads": (2, 2, "threads of the engine"),
    "rounds": (3, 1, "rounds; the table has the steps of all of them"),
}


def main():
    parser = argparse.ArgumentParser(prog="benchmarks/steps", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(environment.ROOT / "models/en-de"))
    parser.add_argument("--quick", action="store_true", help="does it work? No measurement")
    for name, (default, _, meaning) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"{meaning} (default: {default})")
    args = parser.parse_args()
    environment.end_on_sigterm()
    given = {name: getattr(args, name.replace("-", "_")) for name in OPTIONS}
    chosen = {name: (quick if args.quick else default) if given[name] is None else given[name]
              for name, (default, quick, _) in OPTIONS.items()}
    flags = [word for name, value in chosen.items() for word in (f"--{name}", str(value))]
    folder = environment.build(["steps_bench"])
    raise SystemExit(subprocess.run([folder / "steps_bench", args.model, *flags]).returncode)
