"""Salient beside CTranslate2 and PyTorch: whole translations, same model, same tokens, same forced lengths.

Makes a model with random weights, converts it to CTranslate2, checks that both compute what PyTorch computes, finds
CTranslate2's best settings for each case on this machine, and times them against Salient's in turns. Writes a table
(Markdown) and everything that was measured (JSON) to build/benchmarks/results, and a picture to docs/figures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

from . import cases, report, variants
from .check import check
from .environment import BUILD, ROOT, build, machine, models, say
from .measure import best, interleave
from .models import ModelConfig
from .protocol import WorkerError

SCREEN_OUTPUT = 24  # target tokens of the short runs that choose CTranslate2's settings
PYTORCH_MOST = 1024  # source tokens in all: beyond it plain PyTorch takes minutes


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Start with --quick (under a minute once the models are made). A full run takes an hour or more on two "
               "cores, and wants a machine that does nothing else.")
    parser.add_argument("--quick", action="store_true", help="a few small cases on a small model: does it all work?")
    parser.add_argument("--shape", choices=["base", "small"], help="Transformer base, or the bundled model's sizes "
                        "(default: base; small with --quick)")
    parser.add_argument("--case", nargs="+", metavar="NAME", help="only these cases (see --list)")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of each engine (all cores)")
    parser.add_argument("--repeats", type=int, help="rounds of every case (default 5; 2 with --quick)")
    parser.add_argument("--budget", type=float, default=900, metavar="SECONDS",
                        help="a case's rounds end earlier than they would take longer than this (default 900)")
    parser.add_argument("--output-cap", type=int, metavar="TOKENS", help="the most target tokens a document (2,048)")
    parser.add_argument("--keep", type=int, default=2, help="CTranslate2 settings timed in full, of those screened (2)")
    parser.add_argument("--clock", choices=["seconds", "cpu"], default="seconds",
                        help="what ratios compare: time that passed, or processor time, which means more on a machine "
                        "that others use, if --threads is 1")
    parser.add_argument("--no-pytorch", action="store_true", help="leave PyTorch out")
    parser.add_argument("--driver", type=Path, help="a translate_bench that is built already")
    parser.add_argument("--out", type=Path, default=BUILD / "results", help="folder of the table and the JSON")
    parser.add_argument("--figure", type=Path, help="the picture (default docs/figures/peers.png; with --quick, or only "
                        "some cases, it goes to --out instead)")
    return parser.parse_args()


def chosen_cases(o: argparse.Namespace) -> list[cases.Case]:
    found = cases.quick_cases() if o.quick else cases.full_cases()
    known = [case.name for case in found]
    unknown = set(o.case or ()) - set(known)
    if unknown:
        raise SystemExit(f"no case {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return [case for case in found if not o.case or case.name in o.case]


class Run:
    def __init__(self, o: argparse.Namespace):
        self.o = o
        self.shape = o.shape or ("small" if o.quick else "base")
        self.repeats = o.repeats or (2 if o.quick else 5)
        self.clock = "cpu_seconds" if o.clock == "cpu" else "seconds"
        self.driver = o.driver.resolve() if o.driver else build(["translate_bench"]) / "translate_bench"
        self.model, self.converted = models(self.shape, converted=True)
        self.config = ModelConfig.load(self.model)
        self.ours = variants.salient_variants(self.driver, self.model, o.threads)
        self.engines = variants.ctranslate2_engines(self.converted, o.threads, few=o.quick)
        self.pytorch = [] if o.no_pytorch else variants.pytorch_variants(self.model, o.threads)

    def warm_up(self) -> None:
        """Starts every process and lets each translate once."""
        documents = cases.documents(cases.Case("warm", "", [32]), self.config)
        for variant in [*self.ours, *self.pytorch, *variants.ctranslate2_variants(self.engines, [32], False)]:
            variant.ask(documents)

    def screen(self, case: cases.Case) -> list[variants.Variant]:
        """CTranslate2's best settings for the case, by short translations; its best also with a vocabulary map."""
        documents = cases.documents(case, self.config, SCREEN_OUTPUT)
        found = variants.ctranslate2_variants(self.engines, case.lengths, bool(case.arrivals))
        timings = interleave(found, documents, case, 1, 0)
        timings.sort(key=lambda timing: timing.median(self.clock))
        kept = [timing.variant for timing in timings[:self.o.keep]]
        say("    CTranslate2: " + "; ".join(f"{t.variant.name} {t.median(self.clock):.3g} s" for t in timings))
        return [*kept, variants.with_vocabulary_map(kept[0])]

    def set_arrivals(self, case: cases.Case) -> None:
        """Spaces the documents by what one of middle length takes CTranslate2 alone."""
        middle = sorted(case.lengths)[len(case.lengths) // 2]
        alone = cases.Case("alone", "", [middle], cap=case.cap)
        documents = cases.documents(alone, self.config, self.o.output_cap)
        found = variants.ctranslate2_variants(self.engines[:1], alone.lengths, False)
        seconds = best(interleave(found, documents, alone, 2, 60)).median()
        case.arrivals = [0.001 + i * case.spacing * seconds for i in range(len(case.lengths))]
        say(f"    one of {middle} tokens takes CTranslate2 {seconds:.3g} s; one arrives every "
            f"{case.spacing * seconds:.3g} s")

    def measure(self, case: cases.Case) -> report.Row:
        say(f"[{time.strftime('%H:%M:%S')}] {case.about}")
        if case.spacing:
            self.set_arrivals(case)
        rivals = self.screen(case)
        documents = cases.documents(case, self.config, self.o.output_cap)
        slow = sum(case.lengths) > PYTORCH_MOST or case.arrivals
        taking_part = [*rivals, *self.ours, *([] if slow else self.pytorch)]
        timings = interleave(taking_part, documents, case, self.repeats, self.o.budget)
        row = report.Row(case.name, case.about, case.outputs(self.o.output_cap), timings, self.clock)
        say("    " + "; ".join(f"{t.variant.family} {t.variant.name} {t.median(self.clock):.3g} s" for t in timings))
        say("    " + ", ".join(f"{name} {report.times(row.ratio(name))}" for name in report.OURS))
        return row

    def close(self) -> None:
        for engine in {id(v.engine): v.engine for v in [*self.ours, *self.pytorch]}.values():
            engine.stop()
        for engine in self.engines:
            engine.stop()


def version_of_salient() -> str:
    found = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return found.stdout.strip() or "unversioned"


def write(rows: list[report.Row], about: dict, o: argparse.Namespace) -> None:
    o.out.mkdir(parents=True, exist_ok=True)
    text = report.markdown(rows, about)
    (o.out / "peers.md").write_text(text)
    (o.out / "peers.json").write_text(json.dumps({**about, "cases": [row.to_json() for row in rows]}, indent=1) + "\n")
    whole = not o.quick and not o.case
    figure = o.figure or (ROOT / "docs" / "figures" / "peers.png" if whole else o.out / "peers.png")
    figure.parent.mkdir(parents=True, exist_ok=True)
    report.picture(rows, str(figure), f"{about['shape']}, {about['threads']} threads, {about['machine']['cpu']}")
    print(text)
    say(f"Wrote {o.out / 'peers.md'}, {o.out / 'peers.json'} and {figure}")


def main() -> None:
    o = parse()
    wanted = chosen_cases(o)
    if o.list:
        for case in wanted:
            print(f"{case.name:18} {case.about}")
        return
    import ctranslate2

    about = {"machine": machine(), "threads": o.threads, "ctranslate2": ctranslate2.__version__,
             "salient": version_of_salient()}
    run = Run(o)
    about["shape"] = run.shape
    try:
        about["difference_to_pytorch"] = check(run.model, run.converted, run.driver)
        say("Same model in all: greatest difference of a log probability to PyTorch " +
            ", ".join(f"{name} {value:.1g}" for name, value in about["difference_to_pytorch"].items()))
        run.warm_up()
        rows = []
        for case in wanted:
            rows.append(run.measure(case))
            write_partial(rows, about, o)
    except WorkerError as error:
        raise SystemExit(f"Failed: {error}")
    finally:
        run.close()
    write(rows, about, o)


def write_partial(rows: list[report.Row], about: dict, o: argparse.Namespace) -> None:
    """What there is so far, so that a run that is stopped has not been for nothing."""
    o.out.mkdir(parents=True, exist_ok=True)
    (o.out / "peers.json").write_text(json.dumps({**about, "cases": [row.to_json() for row in rows]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
