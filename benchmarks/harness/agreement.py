"""Does a converted model translate as it did? Salient beside the model's own engine, on real weights and real text.

    benchmarks/agreement --model zh-en --text flores-dev.zh-en.tsv
    benchmarks/agreement --model en-pt --text flores-dev.en-pt.tsv

The model comes through scripts/get-model, its own engine is CTranslate2 or Bergamot's translateLocally (docs/models.md).
The text has an id, a source and a reference a line, with tabs between. Greedy translations in fp32 are compared token by
token with CTranslate2's, with their log probabilities; a wider beam and int8 by BLEU and by the share of equal lines. What
was found is kept in benchmarks/results/agreement and shown in docs/models.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from . import real
from .environment import BUILD, ROOT, build, machine, say
from .page import lines_of, put
from .protocol import Peer

KEPT = ROOT / "benchmarks" / "results" / "agreement"
PAGE = ROOT / "docs" / "models.md"
BATCH = 8  # lines that CTranslate2 gets at once where it tells all logits


def bleu(made: list[str], references: list[str]) -> float:
    import sacrebleu

    return round(sacrebleu.corpus_bleu(made, [references]).score, 2)


def equal(a: list, b: list) -> float:
    return round(sum(x == y for x, y in zip(a, b)) / len(a), 4)


class Salient:
    def __init__(self, driver: Path, model: real.RealModel, compute: str, threads: int):
        self.peer = Peer([str(driver)], {"model": str(model.folder.resolve()), "compute": compute, "threads": threads})

    def lines(self, lines: list[str], **run) -> list[dict]:
        told = self.peer.ask({"documents": [{"text": line} for line in lines], "translations": True, **run})["documents"]
        for one in told:
            one["text"] = " ".join(text for text, _ in one["translations"])
        return told


class CTranslate2:
    def __init__(self, model: real.RealModel, compute: str, threads: int):
        self.pieces = real.Pieces(model)
        self.peer = Peer([sys.executable, "-m", "harness.ctranslate2_worker"],
                         {"model": str(model.ctranslate2.resolve()), "compute": compute, "inter": 1, "intra": threads})

    def lines(self, lines: list[str], batch: int = 32, **run) -> list[dict]:
        found = []
        for i in range(0, len(lines), batch):
            documents = [{"tokens": self.pieces.cut(line), "at": 0.0} for line in lines[i:i + batch]]
            told = self.peer.ask({"documents": documents, "translations": True, **run})["documents"]
            for one in told:
                one["pieces"] = one["translation"][0]
                one["text"] = self.pieces.join(one["pieces"])
            found += told
        return found


def token_by_token(ours: list[dict], theirs: list[dict], lines: list[str]) -> dict:
    """Equal lines, the worst difference of a log probability within them, and where the others part."""
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


def beside_ctranslate2(model: real.RealModel, driver: Path, lines: list[str], references: list[str],
                       threads: int) -> dict:
    theirs, ours = CTranslate2(model, "float32", threads), Salient(driver, model, "f32", threads)
    say("fp32, greedy")
    a, b = ours.lines(lines, trace=True), theirs.lines(lines, BATCH, trace=True)
    found = {"greedy": token_by_token(a, b, lines), "rows": []}

    def row(what: str, a: list[dict], b: list[dict]) -> None:
        a, b = [one["text"] for one in a], [one["text"] for one in b]
        found["rows"].append([what, bleu(a, references), bleu(b, references), equal(a, b)])
        say("  ".join(map(str, found["rows"][-1])))

    row("fp32, greedy", a, b)
    say(f"{found['greedy']}")
    row("fp32, beam 4", ours.lines(lines, beam=4), theirs.lines(lines, beam=4))
    ours.peer.close(), theirs.peer.close()
    theirs, ours = CTranslate2(model, "int8", threads), Salient(driver, model, "int8", threads)
    row("int8, greedy", ours.lines(lines), theirs.lines(lines))
    row("int8, beam 4", ours.lines(lines, beam=4), theirs.lines(lines, beam=4))
    ours.peer.close(), theirs.peer.close()
    return found


def beside_bergamot(model: real.RealModel, driver: Path, lines: list[str], references: list[str], work: Path,
                    threads: int) -> dict:
    made, _ = real.translate_locally(model, lines, work, threads)
    found: dict = {"rows": []}
    for compute, shortlist in (("f32", False), ("f32", True), ("int8", True)):
        ours = Salient(driver, model, compute, threads)
        a = [one["text"] for one in ours.lines(lines, shortlist=shortlist, segmentation="sentences")]
        ours.peer.close()
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
            text += (f"\n\n{one['model']}, fp32, greedy: {greedy['equal']} of {greedy['lines']} lines have the same tokens; "
                     f"over {greedy['tokens']:,} tokens the log probabilities differ by {greedy['worst']:.1g} at most.")
    return text + "\n\n" + "\n".join(sorted({f"Measured by `{one['command']}`, {one['date']}, {one['cpu']}." for one in kept}))


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/agreement", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a name of the catalogue: zh-en, en-pt, pt-en")
    parser.add_argument("--text", type=Path, required=True, help="lines of id, source, reference")
    parser.add_argument("--lines", type=int, help="only so many; nothing is kept then")
    parser.add_argument("--cache", type=Path, default=real.CACHE, help="where archives are kept")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--driver", type=Path, help="a translate_bench that is built already")
    o = parser.parse_args()
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
                 **beside_ctranslate2(model, driver, lines, references, o.threads)}
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
