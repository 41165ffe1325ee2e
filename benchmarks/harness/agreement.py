"""Compares a converted model's translations with those of the model's own engine, with real weights and text.

    benchmarks/agreement --model zh-en --text flores-dev.zh-en.tsv
    benchmarks/agreement --model en-pt --text flores-dev.en-pt.tsv

The model comes through scripts/get-model. Its own engine is CTranslate2 or Bergamot's translateLocally
(docs/models.md). Each line of the text has an id, a source and a reference, separated by tabs. Greedy translations in
fp32 are compared with CTranslate2's token by token, with their log probabilities; a wider beam and int8 are compared by
BLEU and by the share of equal lines. Results are kept in benchmarks/results/agreement and shown in docs/models.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from pathlib import Path

from . import real
from .environment import BUILD, ROOT, build, machine, program, say
from .page import lines_of, put
from .variants import Engine

from salient.evaluation.engine import model_hash  # noqa: E402

KEPT = ROOT / "benchmarks" / "results" / "agreement"
PAGE = ROOT / "docs" / "models.md"
QUICK_TEXT = ROOT / "benchmarks" / "samples" / "quick.zh-en.tsv"
BATCH = 8  # lines that CTranslate2 decodes at once if it returns all logits
PART = 32  # results are saved after this many lines


def bleu(made: list[str], references: list[str]) -> float:
    import sacrebleu

    return round(sacrebleu.corpus_bleu(made, [references]).score, 2)


def equal(a: list, b: list) -> float:
    return round(sum(x == y for x, y in zip(a, b)) / len(a), 4)


class Translator(Engine):
    """An engine whose translations are saved part by part, so that a stopped run can continue. Its process starts only
    if something must be translated."""

    def __init__(self, name: str, command: list[str], setup: dict, kept: Path):
        super().__init__(name, command, setup)
        self.kept = kept

    def lines(self, lines: list[str], **run) -> list[dict]:
        found: list[dict] = []
        for i in range(0, len(lines), PART):
            part = lines[i:i + PART]
            key = hashlib.sha256(json.dumps([self.name, self.setup, run, part]).encode()).hexdigest()[:24]
            path = self.kept / f"{key}.json"
            if not path.exists():
                told = json.dumps(self.ask(part, run), ensure_ascii=False)
                path.with_suffix(".part").write_text(told, encoding="utf-8")
                path.with_suffix(".part").replace(path)
                say(f"  {self.name} {self.setup['compute']} {run}: {min(len(lines), i + PART)} of {len(lines)} lines")
            found += json.loads(path.read_text(encoding="utf-8"))
        return found


class Salient(Translator):
    def __init__(self, driver: Path, model: real.RealModel, compute: str, threads: int, kept: Path):
        setup = {"model": str(model.folder.resolve()), "compute": compute, "threads": threads}
        made_by = [program(driver), model_hash(model.folder)]  # a model may have been converted anew
        super().__init__(" ".join(["Salient", *made_by]), [str(driver)], setup, kept)

    def ask(self, lines: list[str], run: dict) -> list[dict]:
        documents = [{"text": line} for line in lines]
        told = self.start().ask({"documents": documents, "translations": True, **run})["documents"]
        return [{"text": " ".join(text for text, _ in one["translations"]), "pieces": one.get("pieces"),
                 "log_probabilities": one.get("log_probabilities")} for one in told]


class CTranslate2(Translator):
    def __init__(self, model: real.RealModel, compute: str, threads: int, kept: Path):
        import ctranslate2

        self.pieces = real.Pieces(model)
        setup = {"model": str(model.ctranslate2.resolve()), "compute": compute, "inter": 1, "intra": threads}
        super().__init__(f"CTranslate2 {ctranslate2.__version__}",
                         [sys.executable, "-m", "harness.ctranslate2_worker"], setup, kept)

    def ask(self, lines: list[str], run: dict) -> list[dict]:
        documents = [{"tokens": self.pieces.cut(line), "at": 0.0} for line in lines]
        batch = BATCH if run.get("trace") else 0
        asked = {"documents": documents, "translations": True, "max_batch_size": batch, **run}
        told = self.start().ask(asked)["documents"]
        return [{"text": self.pieces.join(one["translation"][0]), "pieces": one["translation"][0],
                 "log_probabilities": one.get("log_probabilities")} for one in told]


def token_by_token(ours: list[dict], theirs: list[dict], lines: list[str]) -> dict:
    """The equal lines, the greatest difference of a log probability within them, and where the other lines diverge."""
    same, worst, worst_line, total, parted = 0, 0.0, -1, 0, []
    for n, (a, b) in enumerate(zip(ours, theirs)):
        p, q = a["pieces"], b["pieces"]
        first = next((i for i, (x, y) in enumerate(zip(p, q)) if x != y), min(len(p), len(q)))
        for i in range(first):
            total += 1
            difference = abs(a["log_probabilities"][i] - b["log_probabilities"][i])
            if difference > worst:
                worst, worst_line = difference, n
        if p == q:
            same += 1
        else:
            parted.append({"line": n, "at": first, "ours": p[first:first + 2], "theirs": q[first:first + 2],
                           "source": lines[n][:60]})
    return {"lines": len(lines), "equal": same, "tokens": total, "worst": worst, "worst_line": worst_line,
            "parted": parted}


def beside_ctranslate2(model: real.RealModel, driver: Path, lines: list[str], references: list[str], kept: Path,
                       threads: int) -> dict:
    theirs, ours = CTranslate2(model, "float32", threads, kept), Salient(driver, model, "f32", threads, kept)
    for i in range(0, len(lines), PART):  # a stopped run then has both engines' results for the same lines
        ours.lines(lines[i:i + PART], trace=True), theirs.lines(lines[i:i + PART], trace=True)
    a, b = ours.lines(lines, trace=True), theirs.lines(lines, trace=True)
    found = {"greedy": token_by_token(a, b, lines), "rows": []}

    def row(what: str, a: list[dict], b: list[dict]) -> None:
        a, b = [one["text"] for one in a], [one["text"] for one in b]
        found["rows"].append([what, bleu(a, references), bleu(b, references), equal(a, b)])
        say("  ".join(map(str, found["rows"][-1])))

    row("fp32, greedy", a, b)
    say(json.dumps(found["greedy"], ensure_ascii=False))
    row("fp32, beam 4", ours.lines(lines, beam=4), theirs.lines(lines, beam=4))
    ours.stop(), theirs.stop()
    theirs, ours = CTranslate2(model, "int8", threads, kept), Salient(driver, model, "int8", threads, kept)
    row("int8, greedy", ours.lines(lines), theirs.lines(lines))
    row("int8, beam 4", ours.lines(lines, beam=4), theirs.lines(lines, beam=4))
    ours.stop(), theirs.stop()
    return found


def beside_bergamot(model: real.RealModel, driver: Path, lines: list[str], references: list[str], work: Path,
                    threads: int) -> dict:
    made, _ = real.translate_locally(model, lines, work, threads)
    found: dict = {"rows": []}
    for compute, shortlist in (("f32", False), ("f32", True), ("int8", True)):
        ours = Salient(driver, model, compute, threads, work)
        a = [one["text"] for one in ours.lines(lines, shortlist=shortlist, segmentation="sentences")]
        ours.stop()
        what = ("fp32" if compute == "f32" else compute) + (", shortlist" if shortlist else ", whole vocabulary")
        found["rows"].append([what, bleu(a, references), bleu(made, references), equal(a, made)])
        say("  ".join(map(str, found["rows"][-1])))
        found[what] = [{"line": n, "ours": x, "theirs": y} for n, (x, y) in enumerate(zip(a, made)) if x != y]
    return found


def markdown(kept: list[dict]) -> str:
    rows = [[one["model"], one["peer"], str(one["lines"]), what, f"{ours:.2f}", f"{theirs:.2f}", f"{100 * share:.1f} %"]
            for one in kept for what, ours, theirs, share in one["rows"]]
    head = ["model", "beside", "lines", "setting", "BLEU", "its BLEU", "equal lines"]
    text = lines_of(head, rows, 2)
    for one in kept:
        if greedy := one.get("greedy"):
            text += (f"\n\n{one['model']}, fp32, greedy: {greedy['equal']} of {greedy['lines']} lines have the same "
                     f"tokens; over {greedy['tokens']:,} tokens the log probabilities differ by "
                     f"{greedy['worst']:.1g} at most.")
    conditions = sorted({f"Measured by `{one['command']}`, {one['date']}, {one['cpu']}." for one in kept})
    return text + "\n\n" + "\n".join(conditions)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/agreement", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a name of the catalogue: zh-en, en-pt, pt-en")
    parser.add_argument("--text", type=Path, help="lines of id, source, reference")
    parser.add_argument("--lines", type=int, help="only so many; nothing is kept then")
    parser.add_argument("--quick", action="store_true", help="zh-en on three sentences: does it all work?")
    parser.add_argument("--cache", type=Path, default=real.CACHE, help="where archives are kept")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--driver", type=Path, help="a translate_bench that is built already")
    o = parser.parse_args()
    if o.quick:
        o.model, o.text, o.lines = "zh-en", QUICK_TEXT, 3
    if not o.model or not o.text:
        parser.error("--model and --text are missing: name a model and a text, or give --quick")
    driver = o.driver.resolve() if o.driver else build(["translate_bench"]) / "translate_bench"
    model = real.fetch(o.model, o.cache)
    lines, references = real.read_lines(o.text, o.lines)
    work = BUILD / "agreement" / o.model
    work.mkdir(parents=True, exist_ok=True)
    if model.bergamot:
        found = {"peer": "translateLocally", **beside_bergamot(model, driver, lines, references, work, o.threads)}
    else:
        import ctranslate2

        found = {"peer": f"CTranslate2 {ctranslate2.__version__}",
                 **beside_ctranslate2(model, driver, lines, references, work, o.threads)}
    told = {"model": o.model, "lines": len(lines), **found, "date": time.strftime("%Y-%m-%d"), "cpu": machine()["cpu"],
            "command": f"benchmarks/agreement --model {o.model} --text {o.text.name}"}
    (work / "found.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    say(f"Wrote {work / 'found.json'}")
    if o.lines:
        print(markdown([told]))
        return
    KEPT.mkdir(parents=True, exist_ok=True)
    short = {key: told[key] for key in ("model", "peer", "lines", "rows", "date", "cpu", "command")}
    if "greedy" in told:
        short["greedy"] = {k: v for k, v in told["greedy"].items() if k not in ("parted", "worst_line")}
    (KEPT / f"{o.model}.json").write_text(json.dumps(short, indent=1) + "\n")
    text = markdown([json.loads(path.read_text()) for path in sorted(KEPT.glob("*.json"))])
    put("agreement", text, PAGE)
    print(text)


if __name__ == "__main__":
    main()
