"""Measures how the number formats change real translations, and the speed of self-speculative decoding.

Translates a sample of a development set with the bundled model through the service, in fp32, bf16 and int8, and scores
it. Then translates in int8, one document at a time, at full depth and with drafts of an early exit that full depth
verifies; the text must be the same. Last, decodes several long documents at once with keys and values in bf16 and in
int8. Translations are saved in --out, so that a stopped run can continue. Writes a table (Markdown) and, unless
--quick, its section of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
from dataclasses import dataclass
from pathlib import Path

from . import keys, page
from .environment import BUILD, ROOT, build, conditions, die, end_on_sigterm, machine, say
from .page import lines_of

FORMATS = {"fp32": "--compute fp32", "bf16": "--compute bf16", "int8": "--compute int8",
           "int8, keys and values too": "--compute int8 --kv-type int8"}  # the others are compared with the first
GOAL = 0.2  # BLEU that int8 may lose to fp32
DENSE, SPARSE = "--selection dense --exit full", "--selection learned --exit geometric:0.5"
VERIFIED = {"full depth": DENSE, "drafts at layer 2, verified": "--selection dense --exit verify:2"}
QUICK_SET = ROOT / "benchmarks" / "samples" / "quick.tsv"
TAKES = 3  # for each that is timed


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/formats", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="FILE",
                        help="a development set: key<TAB>source<TAB>reference, a segment a line (with --quick a few "
                        "lines of our own when left out)")
    parser.add_argument("--documents", type=int, default=40, help="how many of its documents, evenly chosen (40)")
    parser.add_argument("--quick", action="store_true", help="at most three documents: does it all work?")
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "en-de", help="model folder (the bundled one)")
    parser.add_argument("--bin", type=Path, help="a folder with salient, salient-server and translate_bench "
                        "(built when left out)")
    parser.add_argument("--out", type=Path, default=BUILD / "results", help="folder of the table and the translations")
    return parser.parse_args()


@dataclass
class Scored:
    format: str
    setting: str
    bleu: float
    difference: float  # from fp32
    chance: float  # probability of such a difference by chance
    same: float  # share of segments with the same text as fp32


def same_share(ours: list[str], theirs: list[str]) -> float:
    return statistics.mean(a == b for a, b in zip(ours, theirs, strict=True))


def evenly(documents: list, count: int) -> list:
    """`count` of the documents, at equal distances."""
    count = min(count, len(documents))
    return [documents[i * len(documents) // count] for i in range(count)]


def score_formats(engines: dict, test_set) -> list[Scored]:
    from salient.evaluation.score import Scorer, segments

    scorer, found = Scorer(test_set.documents), []
    for setting in (DENSE, SPARSE):
        results = {name: engine.translate(test_set, setting) for name, engine in engines.items()}
        exact = results["fp32"]
        others = [results[name] for name in list(FORMATS)[1:]]
        differences = [None, *scorer.differences(exact, others)]
        for name, difference in zip(FORMATS, differences):
            found.append(Scored(name, setting, scorer.bleu(results[name]), difference.bleu if difference else 0.0,
                                difference.p if difference else 1.0,
                                same_share(segments(results[name]), segments(exact))))
    return found


def verified(engine, test_set) -> list[list[str]]:
    """Rows: the setting, seconds, speed-up, the share of equal segments. Takes alternate."""
    from salient.evaluation.score import segments

    takes = {name: [] for name in VERIFIED}
    for take in range(TAKES):
        for name, flags in VERIFIED.items():
            takes[name].append(engine.translate(test_set, flags, parallel=1, take=take))
    first = takes["full depth"]
    rows = []
    for name, results in takes.items():
        ratio = statistics.median(a.seconds / b.seconds for a, b in zip(first, results))
        rows.append([name, f"{statistics.median(r.seconds for r in results):.2f}", f"{ratio:.2f}x",
                     f"{same_share(segments(results[0]), segments(first[0])):.1%}"])
    return rows


def markdown(about: dict, scored: list[Scored], drafts: list[list[str]], stored: list[list[str]]) -> str:
    formats = lines_of(
        ["format", "setting", "BLEU", "against fp32", "goal, at least", "p", "segments equal to fp32's"],
        [[s.format, f"`{s.setting}`", f"{s.bleu:.2f}", f"{s.difference:+.2f}" if s.format != "fp32" else "",
          f"{-GOAL}" if s.format.startswith("int8") else "", f"{s.chance:.2f}" if s.format != "fp32" else "",
          f"{s.same:.1%}"] for s in scored], left=2)
    parts = [
        conditions(about),
        f"{about['documents']} documents ({about['segments']} segments) of the development set, model "
        f"`{about['model']}`, greedy, through the service. p: paired bootstrap.", formats]
    if drafts:
        parts += [f"In int8, dense, one document at a time, medians of {TAKES} (including the start of the client):",
                  lines_of(["depth", "seconds", "times as fast", "segments equal to full depth's"], drafts)]
    if stored:
        parts += [f"Keys and values as bf16 and as int8 (`--kv-type`): documents decoded at once, {keys.OUT} tokens of "
                  f"each, random weights, medians of {TAKES} rounds in which the two take turns:",
                  lines_of(["documents", "setting", "bf16, tokens/s", "int8, tokens/s", "int8 over bf16",
                            "bf16, MB of keys and values", "int8, MB"], stored, left=2)]
    return "\n\n".join(parts) + "\n"


def write(text: str, o: argparse.Namespace) -> None:
    (o.out / "formats.md").write_text(text, encoding="utf-8")
    if not o.quick:
        page.put("formats", text)


def main() -> None:
    o = parse()
    end_on_sigterm()
    if o.data is None and not o.quick:
        die("--data is missing: name a development set, or give --quick")
    o.data = o.data or QUICK_SET
    if not o.data.exists():
        die(f"--data: {o.data} does not exist")
    programs = o.bin.resolve() if o.bin else build(["salient", "salient-server", "translate_bench"])
    from salient.evaluation.engine import Engine
    from salient.evaluation.sets import DocumentSet, read_set

    whole = read_set(o.data)
    sample = DocumentSet(whole.name, evenly(whole.documents, 3 if o.quick else o.documents))
    about = {"machine": machine(), "command": "benchmarks/formats" + (" --quick" if o.quick else ""),
             "documents": len(sample.documents), "segments": sample.segments, "model": o.model.resolve().name}
    engines = {name: Engine(programs, o.model, o.out / "formats", flags=flags) for name, flags in FORMATS.items()}
    try:
        scored = score_formats(engines, sample)
        write(markdown(about, scored, [], []), o)
        drafts = verified(engines["int8"], sample)
        write(markdown(about, scored, drafts, []), o)
        threads = len(os.sched_getaffinity(0))
        text = markdown(about, scored, drafts, keys.at_once(programs / "translate_bench", threads, TAKES, o.quick))
    except (RuntimeError, ValueError) as error:
        die(str(error))
    finally:
        for engine in engines.values():
            engine.__exit__()
    write(text, o)
    print(text)
    say(f"Wrote {o.out / 'formats.md'}")


if __name__ == "__main__":
    main()
