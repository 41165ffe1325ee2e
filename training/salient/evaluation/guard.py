"""How good is the guard (documents/guard)? Its precision and recall, what it mends, what it costs, and its estimate.

    python -m salient.evaluation.guard planted --bin build/release/bin --model models/en-de --data dev.tsv
    python -m salient.evaluation.guard loops   --bin build/release/bin --model models/en-de --data news.tsv
    python -m salient.evaluation.guard coverage --bin build/release/bin --model models/en-de --data news.tsv
    python -m salient.evaluation.guard cost    --bin build/release/bin --model models/en-de --data dev.tsv
    python -m salient.evaluation.guard fit     --bin build/release/bin --model models/en-de --data dev.tsv

planted  Faults are made in human translations, one kind after another, and `guard_signals` looks at them. A detector's
         recall is the share of its kind that it finds; its precision is measured with as many sound translations as
         faulty ones. Faults that a kind of planting makes besides its own count for `any`.
loops    The engine translates with dense selection, greedily, without the guard and with it. Which segments loop is
         told by how well a translation compresses, which the guard does not look at.
coverage The engine translates with an alignment; then a clause is deleted from its translations, and the links of the
         clause with it. Recall and precision of the coverage detector.
cost     Processor time of the server with the guard off, reporting and retrying, in turns.
fit      A model's guard.json (documents/guard/calibration.h): the two coefficients of the estimate by least squares on
         half of the documents against the chrF of each segment, and how well it does on the other half; beside it a fit
         that has more of the signs.

Data: a line is `document TAB source TAB reference` (sets.py).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..config import ModelConfig
from ..vocabulary import Vocabulary
from .server import Server, as_request, lines_of
from .sets import Document, read_set, sample

LEAST_WORDS = 8  # of a reference that faults are planted in
LOOP_COMPRESSION = 1.4  # a translation that loops compresses so many times better than the reference
Pair = tuple[str, str]  # source, translation
LEAST_COPIED = 3  # as in documents/guard/estimate.cc


# ---- Faults made by hand ----

def deleted(pair: Pair, rng: random.Random) -> str | None:
    """Without a half of its words, at the beginning, in the middle or at the end."""
    words = pair[1].split()
    if len(words) < LEAST_WORDS:
        return None
    length = len(words) * 6 // 10
    at = rng.choice([0, (len(words) - length) // 2, len(words) - length])
    return " ".join(words[:at] + words[at + length:])


def clause_deleted(pair: Pair, rng: random.Random) -> str | None:
    """Without one clause of four words and more between commas."""
    parts = re.split(r"(?<=[,;:]) ", pair[1])
    long = [i for i, part in enumerate(parts) if len(part.split()) >= 4]
    if len(parts) < 3 or not long:
        return None
    del parts[rng.choice(long)]
    return " ".join(parts)


def repeated(pair: Pair, rng: random.Random) -> str | None:
    """Two to five words are said two to four times more."""
    words = pair[1].split()
    if len(words) < LEAST_WORDS:
        return None
    length, times = rng.randint(2, 5), rng.randint(2, 4)
    at = rng.randint(0, len(words) - length)
    return " ".join(words[:at + length] + words[at:at + length] * times + words[at + length:])


def number_changed(pair: Pair, rng: random.Random) -> str | None:
    """Another digit in a number that both texts have."""
    shared = [m for m in re.finditer(r"\d+", pair[1]) if re.search(rf"(?<!\d){m[0]}(?!\d)", pair[0])]
    if not shared:
        return None
    number = rng.choice(shared)
    digit = rng.choice([d for d in "123456789" if d != number[0][-1]])
    return pair[1][:number.end() - 1] + digit + pair[1][number.end():]


def name_changed(pair: Pair, rng: random.Random) -> str | None:
    """An identifier that both texts have loses its case and underscores."""
    shared = [w for w in re.findall(r"[A-Za-z]+(?:_\w+|[a-z][A-Z]\w*)", pair[1]) if w in pair[0]]
    if not shared:
        return None
    name = rng.choice(shared)
    return pair[1].replace(name, name.replace("_", " ").lower())


def untranslated(pair: Pair, rng: random.Random) -> str | None:
    return pair[0] if len(pair[0].split()) >= LEAST_WORDS else None


def half_untranslated(pair: Pair, rng: random.Random) -> str | None:
    """The second half is that of the source."""
    source, words = pair[0].split(), pair[1].split()
    if min(len(source), len(words)) < LEAST_WORDS:
        return None
    return " ".join(words[:len(words) // 2] + source[len(source) // 2:])


PLANTED: dict[str, tuple[str, Callable[[Pair, random.Random], str | None]]] = {
    "60 % of the words deleted": ("too_short", deleted),
    "a clause deleted": ("too_short", clause_deleted),
    "words repeated": ("repetition", repeated),
    "a number changed": ("numbers", number_changed),
    "an identifier changed": ("names", name_changed),
    "left in the source language": ("untranslated", untranslated),
    "half left in the source language": ("untranslated", half_untranslated),
}


class Signals:
    """Asks guard_signals, with the tokens that the model would count."""

    def __init__(self, programs: Path, model: Path):
        self.program = programs / "guard_signals"
        self.config = ModelConfig.load(model)
        self.vocabulary = Vocabulary(model, self.config)

    def of(self, segments: list[dict]) -> list[dict]:
        lines = "\n".join(json.dumps(segment) for segment in segments)
        done = subprocess.run([str(self.program)], input=lines, stdout=subprocess.PIPE, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def of_pairs(self, pairs: list[Pair]) -> list[dict]:
        return self.of([{"source": source, "text": text, "target_language": self.config.target_language,
                         "source_tokens": len(self.vocabulary.encode(source)),
                         "target_tokens": len(self.vocabulary.encode_target(text))} for source, text in pairs])


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def report_planted(signals: Signals, pairs: list[Pair], others: list[str]) -> None:
    """`others`: for each pair its translation into another language; or none."""
    sound = [set(found["faults"]) for found in signals.of_pairs(pairs)]
    print("| planted | detector | segments | recall | precision | any fault found |\n|---|---|---:|---:|---:|---:|")
    made_at_all = found_at_all = 0
    planted = {}
    for name, (detector, plant) in PLANTED.items():
        rng = random.Random(1)
        planted[name] = detector, [plant(pair, rng) for pair in pairs]
    if others:
        planted["in a third language"] = ("language", others)
    for name, (detector, texts_made) in planted.items():
        made = list(enumerate(texts_made))
        made = [(i, text) for i, text in made if text and text != pairs[i][1]]
        faults = [set(found["faults"]) for found in signals.of_pairs([(pairs[i][0], text) for i, text in made])]
        hits = sum(detector in found for found in faults)
        false = sum(detector in sound[i] for i, _ in made)
        any_fault = sum(bool(found) for found in faults)
        made_at_all, found_at_all = made_at_all + len(made), found_at_all + any_fault
        print(f"| {name} | {detector} | {len(made)} | {share(hits, len(made))} | {share(hits, hits + false)} | "
              f"{share(any_fault, len(made))} |")
    false = sum(map(bool, sound))
    scaled = false * made_at_all / len(pairs)
    print(f"| all | any | {made_at_all} | {share(found_at_all, made_at_all)} | "
          f"{share(found_at_all, found_at_all + round(scaled))} | {share(found_at_all, made_at_all)} |")
    kinds = ", ".join(f"{name} {sum(name in found for found in sound)}" for name in sorted(set().union(*sound)))
    print(f"\nOf {len(pairs)} sound translations {false} ({share(false, len(pairs))}) have a fault, says the guard: "
          f"{kinds}")


# ---- What the engine translates ----

def translated(server: Server, documents: list[Document], guard: str, controls: dict) -> list[dict]:
    """A reply for each document, a segment a line."""
    return [server.translate({**controls, "guard": f"GUARD_{guard}", "document": as_request(document)})
            for document in documents]


def score(documents: list[Document], replies: list[dict]) -> tuple[float, float]:
    lines = [line for reply, document in zip(replies, documents) for line in lines_of(reply, document)]
    references = [line for document in documents for line in document.references[0]]
    import sacrebleu

    return sacrebleu.corpus_bleu(lines, [references]).score, sacrebleu.corpus_chrf(lines, [references]).score


def compression(text: str) -> float:
    data = text.encode()
    return len(data) / len(zlib.compress(data, 9)) if data else 1


def loops(text: str, reference: str) -> bool:
    return len(text) > 40 and compression(text) > LOOP_COMPRESSION * compression(reference)


def checks(replies: list[dict]) -> list[tuple[dict, dict]]:
    return [(segment, segment.get("check", {})) for reply in replies for segment in reply.get("segments", [])]


def looping(documents: list[Document], replies: list[dict]) -> list[bool]:
    """Of each segment that has letters."""
    found = []
    for document, reply in zip(documents, replies):
        for segment, reference in zip(reply.get("segments", []), references_of(reply.get("segments", []), document)):
            found.append(loops(segment.get("text", ""), reference))
    return found


def references_of(segments: list[dict], document: Document) -> list[str]:
    """Of each segment its reference; lines without a letter are no segments."""
    references, at = [], 0
    for segment in segments:
        while segment["source"].strip() != document.lines[at].strip():
            at += 1
        references.append(document.references[0][at])
        at += 1
    return references


def report_loops(server: Server, documents: list[Document], controls: dict) -> None:
    controls = {"selection": {"policy": "DENSE"}, **controls}
    first = translated(server, documents, "REPORT", controls)
    before = looping(documents, first)
    found = [set(check.get("faults", [])) for _, check in checks(first)]
    both = sum(is_loop and bool(faults) for is_loop, faults in zip(before, found))
    named = sum(is_loop and bool({"FAULT_REPETITION", "FAULT_TOO_LONG"} & faults)
                for is_loop, faults in zip(before, found))
    second = translated(server, documents, "RETRY", controls)
    outcomes = [check.get("retry", "RETRY_NONE") for _, check in checks(second)]
    after = looping(documents, second)
    print(f"{len(outcomes)} segments; {sum(before)} loop, {both} of them are flagged ({share(both, sum(before))}), "
          f"{named} as repetition or too long; {sum(map(bool, found))} are flagged in all, " + ", ".join(
              f"{name} {sum(name in faults for faults in found)}" for name in sorted(set().union(*found))))
    print("second translations: " + ", ".join(f"{name} {outcomes.count(name)}" for name in sorted(set(outcomes))))
    print("\n| guard | segments that loop | BLEU | chrF |\n|---|---:|---:|---:|")
    for name, count, replies in (("off", sum(before), first), ("retry", sum(after), second)):
        bleu, chrf = score(documents, replies)
        print(f"| {name} | {count} | {bleu:.1f} | {chrf:.1f} |")


def without_clause(segment: dict, rng: random.Random) -> dict | None:
    """The segment without a clause of four words and more, and without the links of that clause."""
    text = segment["text"]
    clauses = [m for m in re.finditer(r"[^,;:]+(?:[,;:] |$)", text) if len(m[0].split()) >= 4]
    if len(clauses) < 2:
        return None
    clause = rng.choice(clauses)
    begin, end = (len(text[:at].encode()) for at in clause.span())
    links = [link for link in segment["alignment"] if link[3] <= begin or link[2] >= end]
    moved = [[*link[:2], *(at - (end - begin) if at >= end else at for at in link[2:])] for link in links]
    return {**segment, "text": text[:clause.start()] + text[clause.end():], "alignment": moved}


def report_coverage(server: Server, signals: Signals, documents: list[Document], controls: dict) -> None:
    fields = ("source_begin", "source_end", "target_begin", "target_end")
    segments = [{**{name: s[name] for name in ("source", "text", "source_tokens", "target_tokens")},
                 "alignment": [[link.get(field, 0) for field in fields] for link in s["alignment"]]}
                for s, _ in checks(translated(server, documents, "OFF", {**controls, "alignment": True}))
                if s.get("text") and s.get("alignment")]
    rng = random.Random(1)
    pairs = [(segment, made) for segment in segments if (made := without_clause(segment, rng))]
    before = [found["gap"] for found in signals.of([segment for segment, _ in pairs])]
    after = [found["gap"] for found in signals.of([made for _, made in pairs])]
    print(f"{len(pairs)} translations of two clauses and more, of {len(segments)}\n")
    print("| source words in a row without a link | recall | flagged as they were | precision |\n|---:|---:|---:|---:|")
    for bound in range(3, 10):
        hits, false = sum(gap >= bound for gap in after), sum(gap >= bound for gap in before)
        print(f"| {bound} | {share(hits, len(pairs))} | {share(false, len(pairs))} | {share(hits, hits + false)} |")


def processor_seconds(server: Server) -> float:
    """User and system time of the server so far."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def report_cost(server: Server, documents: list[Document], controls: dict, rounds: int) -> None:
    modes, spent = ("OFF", "REPORT", "RETRY"), {"OFF": 0.0, "REPORT": 0.0, "RETRY": 0.0}
    counts = {"segments_flagged": 0, "segments_retried": 0, "segments_replaced": 0}
    clean = {mode: 0.0 for mode in modes}
    segments = clean_documents = 0
    translated(server, documents[:2], "OFF", controls)
    for turn in range(rounds):
        for document in documents:
            seconds = {}
            for mode in modes[turn % 3:] + modes[:turn % 3]:
                before = processor_seconds(server)
                (reply,) = translated(server, [document], mode, controls)
                seconds[mode] = processor_seconds(server) - before
                if mode == "RETRY":
                    report = reply["report"]
            flagged = report.get("segments_flagged", 0)
            for mode in modes:
                spent[mode] += seconds[mode]
                clean[mode] += 0 if flagged else seconds[mode]
            if turn == 0:
                segments, clean_documents = segments + len(document.lines), clean_documents + (not flagged)
                for name in counts:
                    counts[name] += report.get(name, 0)
    print(f"{len(documents)} documents, {segments} segments, {rounds} rounds; "
          + ", ".join(f"{name} {count}" for name, count in counts.items()))
    print(f"\n| guard | processor seconds | against off | {clean_documents} documents without faults | against off |\n"
          "|---|---:|---:|---:|---:|")
    for mode in modes:
        print(f"| {mode.lower()} | {spent[mode]:.1f} | {100 * (spent[mode] / spent['OFF'] - 1):+.1f} % | "
              f"{clean[mode]:.1f} | {100 * (clean[mode] / max(clean['OFF'], 0.01) - 1):+.1f} % |")


# ---- The estimate ----

def features(signals: dict) -> list[float]:
    """First the two that documents/guard/estimate.cc has, for offset and scale."""
    copied = signals["copied_share"] if signals["copied"] >= LEAST_COPIED else 0
    sound = 1 - max(signals["repeated"], copied)
    length = math.log((signals["target_tokens"] + 6) / (signals["source_tokens"] + 6))
    return [sound, sound * math.exp(signals["log_probability"]), 1.0, max(-4.0, signals["log_probability"]),
            min(1.0, abs(length)), min(1.0, signals["looped"] / 8), min(3, signals["numbers_missing"]),
            min(3, signals["literals_missing"]), signals["copied_share"], math.log(1 + signals["source_tokens"])]


def ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values)).astype(float)


def report_fit(server: Server, signals: Signals, documents: list[Document], controls: dict) -> None:
    import sacrebleu

    replies = translated(server, documents, "REPORT", controls)
    rows, scores, halves, said = [], [], [], []
    for number, (reply, document) in enumerate(zip(replies, documents)):
        segments = reply.get("segments", [])
        references = references_of(segments, document)
        found = signals.of([{"source": s["source"], "text": s.get("text", ""), "score": s.get("score", 0),
                             "source_tokens": s.get("source_tokens", 0), "target_tokens": s.get("target_tokens", 0)}
                            for s in segments])
        rows += [features(f) for f in found]
        scores += [sacrebleu.sentence_chrf(s.get("text", ""), [r]).score for s, r in zip(segments, references)]
        said += [s["check"].get("quality", 0) for s in segments]
        halves += [number % 2] * len(segments)
    x, y, half, now = np.array(rows), np.array(scores), np.array(halves), np.array(said)
    test = half == 1
    two, *_ = np.linalg.lstsq(x[~test, :2], y[~test], rcond=None)
    every, *_ = np.linalg.lstsq(x[~test], y[~test], rcond=None)
    print(f"{len(y)} segments of {len(documents)} documents; mean chrF {y.mean():.1f}")
    print(json.dumps({"quality": {"offset": round(two[0], 1), "scale": round(two[1], 1)}}))
    for name, guess in (("fitted", np.clip(x[:, :2] @ two, 0, 100)), ("with more signs", np.clip(x @ every, 0, 100)),
                        ("as the server has it", now)):
        pearson = np.corrcoef(guess[test], y[test])[0, 1]
        spearman = np.corrcoef(ranks(guess[test]), ranks(y[test]))[0, 1]
        error = np.abs(guess[test] - y[test]).mean()
        print(f"{name} on the other half: Pearson {pearson:.2f}, Spearman {spearman:.2f}, mean error {error:.1f} chrF; "
              f"the mean alone {np.abs(y[~test].mean() - y[test]).mean():.1f}")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("planted", "loops", "coverage", "cost", "fit"))
    p.add_argument("--bin", type=Path, required=True,
                   help="the folder of salient-server and, built with -DSALIENT_BENCHMARKS=ON, of guard_signals")
    p.add_argument("--model", type=Path, required=True)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--other", type=Path, help="planted: the same segments with references in a third language")
    p.add_argument("--segments", type=int, default=0, help="about so many segments, in whole documents; 0: all")
    p.add_argument("--controls", type=json.loads, default={}, help="fields of every request, as JSON")
    p.add_argument("--rounds", type=int, default=3, help="cost: how often each document is translated")
    o = p.parse_args()
    if o.what not in ("loops", "cost") and not (o.bin / "guard_signals").exists():
        p.error(f"{o.bin} has no guard_signals, which {o.what} needs; build it: cmake -DSALIENT_BENCHMARKS=ON")
    documents = sample(read_set(o.data), o.segments).documents
    if o.what == "planted":
        pairs = [pair for d in documents for pair in zip(d.lines, d.references[0])]
        others = [line for d in read_set(o.other).documents for line in d.references[0]] if o.other else []
        if others and len(others) != len(pairs):
            p.error(f"--other has {len(others)} segments, --data {len(pairs)}")
        return report_planted(Signals(o.bin, o.model), pairs, others)
    server = Server(o.bin, o.model)
    try:
        if o.what == "loops":
            report_loops(server, documents, o.controls)
        elif o.what == "coverage":
            report_coverage(server, Signals(o.bin, o.model), documents, o.controls)
        elif o.what == "cost":
            report_cost(server, documents, o.controls, o.rounds)
        else:
            report_fit(server, Signals(o.bin, o.model), documents, o.controls)
    finally:
        server.close()


if __name__ == "__main__":
    main()
