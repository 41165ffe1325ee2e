"""Measures a model: quality and cost on held-out documents, with the engine as the decoder.

    training/evaluate --bin build/release/bin --model models/en-de --data DATA --out docs --work build/evaluation
    training/evaluate --bin build/release/bin --model models/en-de --data DATA --out build/look --quick
    training/evaluate --bin build/release/bin --model models/en-de --data dev.tsv \\
        --setting 'sparse=--selection learned' --setting 'early=--selection learned --exit geometric:0.4'

DATA is a folder with dev*.tsv and eval/*.tsv, or one such file: one segment on each line, `source|document`, source and
reference, tab-separated. Of files that are named NAME.en-de.tsv, those of the model's languages are used. A folder
gives the whole report: OUT/quality.md with its tables, OUT/figures/*.svg, and OUT/operating_points.json, which belongs
into the model's folder. A file, or --setting, gives one table on standard output, with each setting's difference to the
first and its p by paired bootstrap.

Translations are kept in WORK, so that an interrupted run can continue. On two idle cores --quick uses samples and takes
about seven minutes, --documents 60 twenty-five, and all documents of all sets about forty. Quality does not depend on
the load of the machine, but times do: `--only points` measures the times again, and replaces the operating points in
the page of an earlier run. Needs sacrebleu and matplotlib (training/requirements.txt), and salient and salient-server
in BIN (see the README).
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Callable

from .evaluation import cost, inside, sections
from .evaluation.engine import Engine, Result, say
from .evaluation.report import Report
from .evaluation.run import QUICK, Run, Section, Sizes, some_documents
from .evaluation.score import Scorer, check_sacrebleu
from .evaluation.settings import Setting
from .evaluation.tables import percent, probability, signed, table

SETTINGS = [Setting(), Setting("learned"), Setting("window:20"), Setting("learned", "sequence"),
            Setting("learned", "multinomial"), Setting("learned", "geometric:0.5"),
            Setting("learned", "confidence:0.9")]

SECTIONS: dict[str, Callable[[Run], Section]] = {
    "sources": sections.by_source,
    "selection": sections.selection,
    "keys": sections.key_formats,
    "depth": sections.depth_section,
    "exits": sections.exits,
    "points": sections.points,
    "sets": sections.test_sets,
    "counts": inside.segment_counts,
    "similarity": inside.likeness,
    "oracles": inside.oracles,
}
OF_PYTORCH = {"depth", "counts", "similarity", "oracles"}  # sections that read text with the PyTorch model


def row(setting: str, source: str, result: Result, against: list[str], timed: bool) -> list[str]:
    scores = Scorer(result.documents).scores(result)
    return [setting, source, str(len(result.translated)), str(sum(len(d.lines) for d in result.documents)),
            f"{scores.bleu:.1f}", *against, f"{scores.chrf:.1f}", f"{scores.document_bleu:.1f}",
            percent(cost.attention_cost(result)), f"{cost.mean_exit(result):.2f}",
            percent(cost.closed_by_bound(result), 2), f"{cost.tokens_per_second(result):.0f}" if timed else ""]


def settings_table(run: Run, settings: dict[str, str], split_sources: bool, without: list[str]) -> str:
    rows = [["setting", "source", "documents", "segments", "BLEU", "against the first", "p", "chrF", "document BLEU",
             "attention cost", "mean exit", "closed by bound", "tokens/s"]]
    for name in run.paths if "dev" not in run.paths else ["dev"]:
        test_set = run.read(name, run.sizes.dev_segments)
        kept = [i for i, d in enumerate(test_set.documents) if d.source not in without]
        results = [run.engine.translate(test_set, flags).part(kept) for flags in settings.values()]
        differences = Scorer(results[0].documents).differences(results[0], results[1:]) if results[1:] else []
        against = [["", ""], *([signed(d.bleu), probability(d.p)] for d in differences)]
        for setting, result, difference in zip(settings, results, against):
            rows.append(row(setting, "all", result, difference, not without))
            for source in sorted({d.source for d in result.documents}) if split_sources else []:
                part = [i for i, d in enumerate(result.documents) if d.source == source]
                rows.append(row(setting, source, result.part(part), ["", ""], False))
    return table(rows, text_columns=2)


def write_report(run: Run, o: argparse.Namespace, command: str) -> None:
    wanted = SECTIONS if not o.only else {name: SECTIONS[name] for name in o.only}
    if OF_PYTORCH & wanted.keys():
        inside.check_numpy()
    report, started = Report(run, command, list(SECTIONS)), time.monotonic()
    for number, (name, make) in enumerate(wanted.items(), 1):
        say(f"section {number} of {len(wanted)}: {name}")
        report.add(name, make(run))
    say(f"{run.out / 'quality.md'} is complete, after {time.monotonic() - started:.0f} s")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="training/evaluate", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", type=Path, required=True, help="folder of the salient and salient-server programs")
    p.add_argument("--model", type=Path, required=True, help="model folder; a server of its own is started")
    p.add_argument("--data", type=Path, required=True, help="folder of test sets, or one TSV file")
    p.add_argument("--out", type=Path, help="where the report goes; needed with a folder of data")
    p.add_argument("--work", type=Path, help="where translations are kept; OUT/work when left out, and for a file "
                   "build/evaluation")
    size = p.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="samples of the sets, fewer settings")
    size.add_argument("--documents", type=int, metavar="N", help="the development set whole, of the other sets at most "
                      "N documents, fewer settings")
    p.add_argument("--only", nargs="+", choices=list(SECTIONS),
                   help="these sections alone; the page keeps others that an earlier run of these sizes left in WORK")
    p.add_argument("--setting", action="append", default=[], metavar="NAME=FLAGS",
                   help="flags of `salient translate`, with the guard off unless they name it; several when repeated")
    p.add_argument("--by-source", action="store_true", help="with a file or --setting: a row a source too")
    p.add_argument("--without", nargs="+", default=[], metavar="SOURCE",
                   help="with a file or --setting: leave the documents of these sources out of the figures")
    p.add_argument("--parallel", type=int, default=32, help="documents sent at once (default: 32)")
    p.add_argument("--threads", type=int, default=0, help="of the PyTorch model; 0: as PyTorch likes")
    return p


def evaluate(o: argparse.Namespace, command: str) -> None:
    unnamed = [setting for setting in o.setting if "=" not in setting]
    if unnamed:
        raise ValueError(f"--setting {unnamed[0]!r}: NAME=FLAGS is needed, such as 'sparse=--selection learned'")
    whole = o.data.is_dir() and not o.setting
    if whole and o.out is None:
        raise ValueError("--out is needed: the folder that the report goes to")
    work = o.work or (o.out / "work" if o.out else Path("build/evaluation"))
    if o.threads:
        import torch

        torch.set_num_threads(o.threads)
    with Engine(o.bin, o.model, work, o.parallel) as engine:
        sizes = QUICK if o.quick else some_documents(o.documents) if o.documents else Sizes()
        run = Run(engine, o.model, o.data, o.out or work, sizes)
        run.out.mkdir(parents=True, exist_ok=True)
        if whole:
            return write_report(run, o, command)
        usual = [s for s in SETTINGS if run.takes(s)]
        print(settings_table(run, dict(s.split("=", 1) for s in o.setting) or {s.name: s.flags for s in usual},
                             o.by_source, o.without))


def shown(arguments: list[str]) -> str:
    """The command without the folders of this machine."""
    return shlex.join(["training/evaluate", *(os.path.basename(a.rstrip("/")) if os.path.isabs(a) else a
                                              for a in arguments)])


def main() -> None:
    o = parser().parse_args()
    try:
        check_sacrebleu()
        evaluate(o, shown(sys.argv[1:]))
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"training/evaluate: {error}")


if __name__ == "__main__":
    main()
