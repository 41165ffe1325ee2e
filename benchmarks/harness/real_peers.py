"""`benchmarks/peers --model NAME --text FILE`: a real model on real text, Salient and the model's own engine.

Translations end where the model ends them, so times are those of useful translations, and their BLEU is shown, too.
Greedy search and a beam of 4; single sentences, 256 sentences at once, and one document. CTranslate2 runs with the best
of the settings that were tried. Salient runs with its defaults and int8: dense and, if the model has them, with exits
and a shortlist. translateLocally reads whole files; its start-up time, measured on one line in every round, is
subtracted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from . import cases, page, real, variants
from .agreement import bleu
from .environment import BUILD, build, conditions, machine, say
from .measure import Timing, best, interleave
from .variants import CTRANSLATE2, SALIENT, Engine, Variant

BEAMS = (1, 4)
SCREENED = {True: 4, False: 48}  # documents of a case with which CTranslate2's settings are compared; alone, together


@dataclass
class RealCase(cases.Case):
    """documents: the line numbers of each. alone: one document after the other, with summed times."""

    documents: tuple[tuple[int, ...], ...] = ()
    alone: bool = False


def real_cases(lines: int, quick: bool) -> list[RealCase]:
    few = 4 if quick else 24
    many = min(lines, 16 if quick else 256)
    length = min(lines, 8 if quick else 64)
    apart = range(0, lines, max(1, lines // few))
    return [
        RealCase("one", f"{few} sentences, one after the other", [1], documents=tuple((i,) for i in apart[:few]),
                 alone=True),
        RealCase("sentences", f"{many} sentences at once", [1], documents=tuple((i,) for i in range(many))),
        RealCase("document", f"a document of {length} sentences", [1], documents=(tuple(range(length)),)),
    ]


@dataclass
class RealVariant(Variant):
    """ask: whole documents for Salient; for CTranslate2 all their sentences at once."""

    alone: bool = False

    def lines_of(self, answer: dict, pieces: real.Pieces) -> list[str]:
        if self.family == SALIENT:
            return [text for one in answer["documents"] for text, _ in one["translations"]]
        return [pieces.join(one["translation"][0]) for one in answer["documents"]]

    def ask(self, documents: list[list[dict]]) -> dict:
        groups = [[document] for document in documents] if self.alone else [documents]
        answers = [self.engine.start().ask({"documents": self.given(group), "translations": True, **self.run})
                   for group in groups]
        return {"seconds": sum(a["seconds"] for a in answers), "cpu_seconds": sum(a["cpu_seconds"] for a in answers),
                "documents": [one for a in answers for one in a["documents"]]}

    def given(self, documents: list[list[dict]]) -> list[dict]:
        if self.family == SALIENT:
            return [{"text": "\n".join(line["text"] for line in document)} for document in documents]
        return [{"tokens": line["tokens"], "at": 0.0} for document in documents for line in document]


def ours(driver: Path, folders: list[Path], threads: int, beam: int, alone: bool, engines: dict) -> list[Variant]:
    """For every folder: dense, and all that the model can do besides."""
    found = []
    for folder in folders:
        engine = engines.setdefault(str(folder), Engine(
            SALIENT, [str(driver)], {"model": str(folder.resolve()), "threads": threads, "compute": "int8"}))
        config = json.loads((folder / "config.json").read_text())
        exits, shortlist = config.get("exits") or {}, (folder / "shortlist.safetensors").exists()
        runs = {"dense": {}}
        if shortlist:
            runs["dense, shortlist"] = {"shortlist": True}
        if exits.get("heads") and beam == 1:
            runs["exits"] = {"depth": {"policy": "geometric", "threshold": 0.5}}
            if shortlist:
                runs["exits, shortlist"] = {**runs["exits"], "shortlist": True}
        found += [RealVariant(f"{folder.name}: {name}" if len(folders) > 1 else name, SALIENT, engine,
                              {**run, "beam": beam}, exact=not name.endswith("shortlist"), alone=alone)
                  for name, run in runs.items()]
    return found


def intel() -> bool:
    """Elsewhere CTranslate2 uses oneDNN by itself. There, int8 with MKL took half a second per token."""
    return "GenuineIntel" in Path("/proc/cpuinfo").read_text()


def theirs(model: real.RealModel, threads: int, case: RealCase, beam: int, few: bool) -> list[Variant]:
    batches = {"": {"max_batch_size": 0}}
    if not case.alone:
        batches |= {f", batches of {n}": {"max_batch_size": n} for n in (16, 32, 64)}
    engines = [e for e in variants.ctranslate2_engines(model.ctranslate2.resolve(), threads, few)
               if e.setup["compute"].startswith("int8") and not (case.alone and e.setup["inter"] > 1)
               and (e.environment["CT2_USE_MKL"] == "0" or intel())]
    return [RealVariant(engine.name + name, CTRANSLATE2, engine, {**run, "beam": beam}, alone=case.alone)
            for engine in engines for name, run in batches.items()]


def chosen(tried: list[Variant], case: RealCase, documents: list, keep: int, clock: str) -> list[Variant]:
    """CTranslate2's best settings for a part of the case. Ends the processes of all others."""
    part = documents[:SCREENED[case.alone]]
    for variant in tried:
        variant.ask(documents[:1])
    times = sorted(((variant.ask(part)[clock], n) for n, variant in enumerate(tried)))
    say("    " + "; ".join(f"{tried[n].name} {seconds:.3g} s" for seconds, n in times))
    kept = [tried[n] for _, n in times[:keep]]
    for variant in tried:
        if all(variant.engine is not k.engine for k in kept):
            variant.engine.stop()
    return kept


def measure(model: real.RealModel, o: argparse.Namespace, driver: Path, lines: list[str],
            references: list[str]) -> list:
    pieces, rows, engines = real.Pieces(model), [], {}
    clock = "cpu_seconds" if o.clock == "cpu" else "seconds"
    whole = [{"text": line, "tokens": pieces.cut(line)} for line in lines]
    for case in real_cases(len(lines), o.quick):
        if o.case and case.name not in o.case:
            continue
        documents = [[whole[i] for i in document] for document in case.documents]
        wanted = [references[i] for document in case.documents for i in document]
        for beam in BEAMS:
            taking_part = [*chosen(theirs(model, o.threads, case, beam, o.quick), case, documents, o.keep, clock),
                           *ours(driver, [model.folder, *o.also], o.threads, beam, case.alone, engines)]
            for variant in taking_part:
                variant.ask(documents[:1])
            timings = interleave(taking_part, documents, case, o.repeats or (2 if o.quick else 5), 600 * o.patience)
            rows += table_rows(case, beam, timings, wanted, pieces, clock)
            for variant in taking_part:
                if variant.family == CTRANSLATE2:
                    variant.engine.stop()
    for engine in engines.values():
        engine.stop()
    return rows


def table_rows(case: RealCase, beam: int, timings: list[Timing], references: list[str], pieces: real.Pieces,
               clock: str) -> list:
    """One row per setting of ours: the case, the search, the peer's best setting, seconds, BLEU and the ratio."""
    rival = best([t for t in timings if t.variant.family == CTRANSLATE2], clock)
    its = bleu(rival.variant.lines_of(rival.last, pieces), references)
    found = []
    for t in timings:
        if t.variant.family == SALIENT:
            made = bleu(t.variant.lines_of(t.last, pieces), references)
            found.append([case.about, "greedy" if beam == 1 else f"beam {beam}", rival.variant.name,
                          f"{rival.median(clock):.3g} s", f"{its:.2f}", t.variant.name, f"{t.median(clock):.3g} s",
                          f"{made:.2f}", f"**{rival.median(clock) / t.median(clock):.2f}x**"])
            say("  ".join(found[-1]))
    return found


def beside_bergamot(model: real.RealModel, o: argparse.Namespace, driver: Path, lines: list[str],
                    references: list[str]) -> list:
    """Times whole files in turns. Both engines use their shortlist and int8."""
    work, mine, its = BUILD / "agreement" / model.name, [], []
    engine = Engine(SALIENT, [str(driver)],
                    {"model": str(model.folder.resolve()), "threads": o.threads, "compute": "int8"})
    documents = [{"text": line} for line in lines]
    ask = {"translations": True, "shortlist": True, "segmentation": "sentences"}
    engine.start().ask({"documents": documents[:1], **ask})
    cpu = o.clock == "cpu"
    for _ in range(o.repeats or (2 if o.quick else 5)):
        _, start = real.translate_locally(model, lines[:1], work, o.threads, cpu)
        made, seconds = real.translate_locally(model, lines, work, o.threads, cpu)
        its.append(seconds - start)
        answer = engine.start().ask({"documents": documents, **ask})
        mine.append(answer["cpu_seconds" if cpu else "seconds"])
        say(f"translateLocally {its[-1]:.3g} s (start {start:.3g} s), Salient {mine[-1]:.3g} s")
    engine.stop()
    ratio = sorted(a / b for a, b in zip(its, mine))[len(mine) // 2]
    texts = [" ".join(text for text, _ in one["translations"]) for one in answer["documents"]]
    return [[f"{len(lines)} lines at once", "greedy", "translateLocally", f"{sorted(its)[len(its) // 2]:.3g} s",
             f"{bleu(made, references):.2f}", "dense, shortlist", f"{sorted(mine)[len(mine) // 2]:.3g} s",
             f"{bleu(texts, references):.2f}", f"**{ratio:.2f}x**"]]


def run(o: argparse.Namespace) -> None:
    driver = o.driver.resolve() if o.driver else build(["translate_bench"]) / "translate_bench"
    model = real.fetch(o.model)
    lines, references = real.read_lines(o.text)
    about = {"machine": machine(), "command": f"benchmarks/peers --model {o.model} --text {o.text.name}"}
    began = time.perf_counter()
    rows = (beside_bergamot if model.bergamot else measure)(model, o, driver, lines, references)
    head = ["case", "search", "its own engine", "time", "BLEU", "Salient", "time", "BLEU", "times as fast"]
    clock = "processor time" if o.clock == "cpu" else "time"
    text = page.lines_of(head, rows, 3) + f"\n\n{conditions(about)} Threads each: {o.threads}; {clock}."
    say(f"{time.perf_counter() - began:.0f} s")
    o.out.mkdir(parents=True, exist_ok=True)
    (o.out / f"peers.{o.model}.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    print(f"Wrote {o.out / f'peers.{o.model}.md'}", file=sys.stderr)
