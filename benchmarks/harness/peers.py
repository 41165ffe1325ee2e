"""Compares Salient with CTranslate2 and PyTorch: whole translations, with the same model, tokens and forced lengths.

Makes a model with random weights, converts it to CTranslate2, and checks that both engines compute what PyTorch
computes. Finds CTranslate2's best settings for each kind of case on this machine, and times them against Salient's in
turns. Writes a table (Markdown) and all measurements (JSON) to build/benchmarks/results. A full run also writes its
section of docs/benchmarks.md and docs/figures/peers.svg, which show every processor that was measured
(benchmarks/results). A stopped run can continue.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from . import cases, page, processors, real_peers, report, variants
from .check import check
from .environment import BUILD, build, conditions, machine, models, program, say
from .measure import best, interleave
from .models import ModelConfig
from .protocol import WorkerError

SCREEN_OUTPUTS = (20, 52)  # target tokens of the short runs that find CTranslate2's best settings
SCREEN_ENGINES = 3  # the best settings on one batch, which are also tried with other batches
PYTORCH_MOST = 512  # source tokens; with more, or with several documents, plain PyTorch takes minutes
HEAVY = 4096  # source tokens in all; after more, processes are restarted, because CTranslate2 keeps its memory


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Start with --quick (under a minute once the models are made). A full run takes about twelve minutes on "
               "two cores, and wants a machine that does nothing else.")
    parser.add_argument("--quick", action="store_true", help="a few small cases on a small model: does it all work?")
    parser.add_argument("--shape", choices=["base", "small"], help="Transformer base, or the bundled model's sizes "
                        "(default: base; small with --quick)")
    parser.add_argument("--model", metavar="NAME", help="a real model instead, by its name in scripts/get-model's "
                        "list, on --text (harness/real_peers.py)")
    parser.add_argument("--text", type=Path, help="with --model: lines of id, source, reference, with tabs between")
    parser.add_argument("--also", type=Path, nargs="+", default=[], metavar="FOLDER", help="with --model: other "
                        "folders of that model to time, such as one that training/retrofit made")
    parser.add_argument("--case", nargs="+", metavar="NAME", help="only these cases (see --list)")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of each engine (all cores)")
    parser.add_argument("--repeats", type=int, help="rounds of every case (default 5; 2 with --quick)")
    parser.add_argument("--patience", type=float, default=1, metavar="FACTOR",
                        help="a case has fewer rounds where they would take longer than its budget; this multiplies "
                        "all budgets (default 1: twelve minutes in all)")
    parser.add_argument("--fresh", action="store_true", help="do not go on with a run that was stopped")
    parser.add_argument("--output-cap", type=int, metavar="TOKENS", help="the most target tokens a document (2,048)")
    parser.add_argument("--keep", type=int, default=2, help="CTranslate2 settings timed in full, of those screened (2)")
    parser.add_argument("--clock", choices=["seconds", "cpu"], default="seconds",
                        help="what ratios compare: time that passed, or processor time, which means more on a machine "
                        "that others use, if --threads is 1")
    parser.add_argument("--no-pytorch", action="store_true", help="leave PyTorch out")
    parser.add_argument("--driver", type=Path, help="a translate_bench that is built already")
    parser.add_argument("--out", type=Path, default=BUILD / "results", help="folder of the table and the JSON")
    parser.add_argument("--record", action="store_true", help="with --case: put these cases among those that are kept "
                        "of this processor, and onto the page")
    parser.add_argument("--processor", metavar="NAME", help="what the page calls this processor (its own name and its "
                        "widest instructions)")
    parser.add_argument("--figure", type=Path, help="the picture (default docs/figures/peers.svg; with --quick, or "
                        "only some cases, it goes to --out instead)")
    return parser.parse_args()


def chosen_cases(o: argparse.Namespace) -> list[cases.Case]:
    found = cases.quick_cases() if o.quick else cases.full_cases()
    known = [case.name for case in found]
    unknown = set(o.case or ()) - set(known)
    if unknown:
        raise SystemExit(f"no case {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return [case for case in found if not o.case or case.name in o.case]


def estimate(short: float, long: float, outputs: int) -> float:
    """Seconds for `outputs` target tokens, extrapolated from those for SCREEN_OUTPUTS."""
    least, most = SCREEN_OUTPUTS
    return short + (outputs - least) * max(0.0, long - short) / (most - least)


def spread_over(ordered: list[variants.Variant], keep: int) -> list[variants.Variant]:
    """The first `keep` variants with different ways of batching, as far as there are so many. What is best for the
    short screening documents may be very slow for longer ones."""
    batching: dict[str, variants.Variant] = {}
    for variant in ordered:
        batching.setdefault(json.dumps(variant.run, sort_keys=True), variant)
    first = list(batching.values())
    return [*first, *(v for v in ordered if v not in first)][:keep]


class Screen:
    """CTranslate2's best settings for a kind of case, found with short translations once per kind."""

    def __init__(self, engines: list[variants.Engine], config: ModelConfig, clock: str):
        self.engines, self.config, self.clock = engines, config, clock
        self.found: dict[str, list[tuple[variants.Variant, float, float]]] = {}

    def times(self, case: cases.Case) -> list[tuple[variants.Variant, float, float]]:
        small = cases.screening(case)
        if small.name not in self.found:
            say(f"    choosing CTranslate2's settings for {small.about}")
            first = [variants.ctranslate2_variants([engine], small.lengths, False)[0] for engine in self.engines]
            tried = self.run(first, small)
            tried.sort(key=lambda entry: estimate(*entry[1:], SCREEN_OUTPUTS[1]))
            best_engines = [entry[0].engine for entry in tried[:SCREEN_ENGINES]]
            others = [v for v in variants.ctranslate2_variants(best_engines, small.lengths, False)
                      if v.name not in {f.name for f in first}]
            self.found[small.name] = tried + self.run(others, small)
        return self.found[small.name]

    def run(self, tried: list[variants.Variant], small: cases.Case) -> list[tuple[variants.Variant, float, float]]:
        for variant in tried:
            variant.ask(cases.documents(cases.WARM, self.config))
        seconds = []
        for most in SCREEN_OUTPUTS:
            documents = cases.documents(small, self.config, most)
            seconds.append([t.median(self.clock) for t in interleave(tried, documents, small, 1, 0)])
        return list(zip(tried, *seconds))

    def best(self, case: cases.Case, keep: int) -> list[variants.Variant]:
        """The `keep` best settings. Batch sizes are scaled to this case's documents."""
        outputs = max(case.outputs())
        order = sorted(self.times(case), key=lambda entry: estimate(*entry[1:], outputs))
        estimates = [f"{v.name} {estimate(a, b, outputs):.3g} s" for v, a, b in order]
        say("    CTranslate2, estimated: " + "; ".join(estimates))
        if case.spacing:
            workers = [engine for engine in self.engines if engine.setup["inter"] > 1][:1]
            engines = list({id(e): e for e in [order[0][0].engine, *workers]}.values())
            return variants.ctranslate2_variants(engines, case.lengths, True)
        kept = spread_over([variant for variant, *_ in order], keep)
        scale = max(case.lengths) / max(cases.screening(case).lengths)
        return [variants.scaled(variant, scale) for variant in kept]


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
        self.screen = Screen(self.engines, self.config, self.clock)

    def set_arrivals(self, case: cases.Case, engine: variants.Engine) -> None:
        """Sets the documents' intervals from the time that one of medium length takes CTranslate2's best setting
        alone."""
        middle = sorted(case.lengths)[len(case.lengths) // 2]
        alone = cases.Case("alone", "", [middle], cap=case.cap)
        documents = cases.documents(alone, self.config, self.o.output_cap)
        found = variants.ctranslate2_variants([engine], alone.lengths, False)
        seconds = best(interleave(found, documents, alone, 2, 60)).median()
        case.arrivals = [0.001 + i * case.spacing * seconds for i in range(len(case.lengths))]
        say(f"    one of {middle} tokens takes CTranslate2 {seconds:.3g} s; one arrives every "
            f"{case.spacing * seconds:.3g} s")

    def measure(self, case: cases.Case) -> report.Row:
        say(f"[{time.strftime('%H:%M:%S')}] {case.about}")
        rivals = self.screen.best(case, self.o.keep)
        if case.spacing:
            self.set_arrivals(case, rivals[0].engine)
        slow = sum(case.lengths) > PYTORCH_MOST or len(case.lengths) > 1
        taking_part = [*rivals, variants.with_vocabulary_map(rivals[0]), *self.ours, *([] if slow else self.pytorch)]
        for variant in taking_part:
            variant.ask(cases.documents(cases.WARM, self.config))
        documents = cases.documents(case, self.config, self.o.output_cap)
        timings = interleave(taking_part, documents, case, self.repeats, case.budget * self.o.patience)
        row = report.Row(case.name, case.about, case.outputs(self.o.output_cap), timings, self.clock, case.goals)
        say("    " + "; ".join(f"{t.variant.family} {t.variant.name} {t.median(self.clock):.3g} s" for t in timings))
        say("    " + ", ".join(f"{name} {processors.times(row.ratio(name))}" for name in variants.OURS) +
            (f" (goals {case.goals[0]:g}x, {case.goals[1]:g}x)" if case.goals else ""))
        if sum(case.lengths) > HEAVY:
            self.close()
        return row

    def close(self) -> None:
        for engine in [*self.engines, *(v.engine for v in [*self.ours, *self.pytorch])]:
            engine.stop()


class Store:
    """The measurements of a run so far, in --out, so that a stopped run can continue."""

    def __init__(self, o: argparse.Namespace, about: dict):
        self.path, self.about = o.out / "peers.json", about
        self.rows: list[report.Row] = []
        o.out.mkdir(parents=True, exist_ok=True)
        if o.fresh or not self.path.exists():
            return
        told = json.loads(self.path.read_text())
        same = all(told.get(key) == about[key] for key in ("asked", "threads", "shape", "ctranslate2", "driver")) and \
            told["machine"]["salient"] == about["machine"]["salient"]
        if same and not told["finished"]:
            self.rows = [report.Row.from_json(row) for row in told["cases"]]
            say(f"Going on after {len(self.rows)} cases of a run that was stopped (--fresh starts anew)")

    def add(self, row: report.Row) -> None:
        self.rows.append(row)
        self.write(finished=False)

    def write(self, finished: bool) -> None:
        told = {**self.about, "finished": finished, "cases": [row.to_json() for row in self.rows]}
        self.path.write_text(json.dumps(told, indent=1) + "\n")


def is_kept(o: argparse.Namespace) -> bool:
    return not o.quick and (o.record or not o.case)


def this_processor(about: dict, o: argparse.Namespace) -> processors.Processor:
    return processors.Processor(o.processor or processors.name_of(about["machine"]),
                                {key: about[key] for key in ("shape", "threads", "layers", "ctranslate2", "clock")})


def check_comparable(here: processors.Processor, folder: Path = processors.FOLDER) -> None:
    """The page says once for all cases of a processor how they were measured."""
    if here.path(folder).exists():
        before = processors.load(here.path(folder)).about
        other = [f"{key} {before.get(key)}, not {value}" for key, value in here.about.items()
                 if before.get(key) != value]
        if other:
            raise SystemExit(f"Failed: --record: the other cases of {here.name} were measured with {'; '.join(other)}. "
                             "Measure all cases again, or give --processor another name")


def write(rows: list[report.Row], about: dict, o: argparse.Namespace) -> None:
    told = conditions(about)
    here = this_processor(about, o)
    here.cases = [replace(row.outcome(), conditions=told) for row in rows]
    kept = is_kept(o)
    if kept:
        if o.case and here.path().exists():
            new = {case.name for case in here.cases}
            here.cases += [case for case in processors.load(here.path()).cases if case.name not in new]
            order = [case.name for case in cases.full_cases()]
            here.cases.sort(key=lambda case: order.index(case.name))
        say(f"Wrote {here.save()}")
    shown = processors.stored() if kept else [here]
    text = processors.markdown(shown)
    (o.out / "peers.md").write_text(text, encoding="utf-8")
    figure = o.figure or (page.FIGURES if kept else o.out) / "peers.svg"
    processors.picture(shown, figure)
    if kept:
        page.put("peers", text)
    print(text)
    say(f"Wrote {o.out / 'peers.md'}, {o.out / 'peers.json'} and {figure}")


def main() -> None:
    o = parse()
    if o.model:
        if o.text is None:
            raise SystemExit("--model needs --text")
        return real_peers.run(o)
    wanted = chosen_cases(o)
    if o.list:
        for case in wanted:
            print(f"{case.name:18} {case.about}")
        return
    import ctranslate2

    about = {"machine": machine(), "threads": o.threads, "ctranslate2": ctranslate2.__version__,
             "command": " ".join(["benchmarks/peers", *sys.argv[1:]]),
             "asked": [a for a in sys.argv[1:] if a != "--fresh"]}
    run = Run(o)
    about |= {"shape": run.shape, "layers": run.config.decoder.layers, "clock": run.clock,
              "driver": program(run.driver)}
    if is_kept(o) and o.case:
        check_comparable(this_processor(about, o))
    store = Store(o, about)
    try:
        about["difference_to_pytorch"] = check(run.model, run.converted, run.driver)
        say("Same model in all: greatest difference of a log probability to PyTorch " +
            ", ".join(f"{name} {value:.1g}" for name, value in about["difference_to_pytorch"].items()))
        done = {row.name for row in store.rows}
        for case in wanted:
            if case.name not in done:
                store.add(run.measure(case))
    except WorkerError as error:
        raise SystemExit(f"Failed: {error}")
    finally:
        run.close()
    store.write(finished=True)
    write(store.rows, about, o)


if __name__ == "__main__":
    main()
