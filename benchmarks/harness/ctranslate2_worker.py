"""Runs documents through CTranslate2 for the harness: JSON lines in, JSON lines out, one process a setting.

    {"model": DIR, "compute": "int8", "inter": 1, "intra": 2}           the first line; answered with {"rss": bytes}
    {"documents": [{"tokens": [...], "length": 512, "at": 0.0}, ...],   every other: a run
     "max_batch_size": 0, "batch_type": "examples", "vmap": false, "arrivals": "each"}
      -> {"seconds": s, "cpu_seconds": s, "documents": [{"seconds": s}, ...], "peak_rss": bytes}

Every document with a `length` gets exactly so many tokens: the end token is suppressed, and decoding of a document
stops at its length. Where lengths differ a callback stops each, which CTranslate2 then takes out of its batch.
Documents without one are sentences of real text: they end as the model does; "beam" is the width of their search, and
"translations": true asks for [pieces, score] of each, "trace": true for the log probabilities of their tokens.

Documents that arrive one by one are either translated each by itself, by as many workers as `inter` says, or gathered:
whenever the translator is free it takes all that are waiting as one batch.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import ctranslate2
import numpy as np

from .protocol import answer_lines, forget_peak_memory, peak_memory


LONGEST = 512  # target tokens of a sentence of real text


def limits(documents: list[dict], line: dict) -> dict:
    if "length" not in documents[0]:
        # By default CTranslate2 forbids the end as the first token, and distributes its probability over the others.
        return dict(beam_size=line.get("beam", 1), max_input_length=0, max_decoding_length=LONGEST,
                    min_decoding_length=0, return_scores=True,
                    return_logits_vocab=line.get("trace", False))
    lengths = [document["length"] for document in documents]
    options = dict(beam_size=1, max_input_length=0, min_decoding_length=max(lengths), max_decoding_length=max(lengths))
    if min(lengths) < max(lengths):
        options["callback"] = lambda step: step.step + 1 >= lengths[step.batch_id]
    return options


def log_probabilities(result, numbers: dict[str, int]) -> list[float]:
    """Log probabilities of the tokens of a greedy translation, without its end."""
    found = []
    for piece, row in zip(result.hypotheses[0], result.logits[0]):
        logits = np.array(row, dtype=np.float64).flatten()
        best = logits.max()
        found.append(float(logits[numbers[piece]] - best - np.log(np.exp(logits - best).sum())))
    return found


class Worker:
    def __init__(self, line: dict):
        self.results, self.folder = [], Path(line["model"])
        self.translator = ctranslate2.Translator(
            line["model"], device="cpu", compute_type=line["compute"], inter_threads=line["inter"],
            intra_threads=line["intra"], max_queued_batches=-1)

    def numbers(self) -> dict[str, int]:
        path = next(p for p in self.folder.glob("*vocabulary.json") if not p.name.startswith("source"))
        return {piece: i for i, piece in enumerate(json.loads(path.read_text()))}

    def translate(self, documents: list[dict], line: dict, **more):
        return self.translator.translate_batch(
            [document["tokens"] for document in documents], max_batch_size=line.get("max_batch_size", 0),
            batch_type=line.get("batch_type", "examples"), use_vmap=line.get("vmap", False),
            **limits(documents, line), **more)

    def together(self, documents: list[dict], line: dict) -> list[float]:
        results = self.translate(documents, line)
        self.results = results
        for document, result in zip(documents, results):
            if "length" in document and len(result.hypotheses[0]) != document["length"]:
                raise ValueError(f"got {len(result.hypotheses[0])} tokens where {document['length']} were asked for")
        return [time.perf_counter()] * len(documents)

    def one_by_one(self, documents: list[dict], line: dict, start: float) -> list[float]:
        pending, ends = [], [0.0] * len(documents)
        waiting = list(range(len(documents)))
        while waiting or pending:
            now = time.perf_counter() - start
            while waiting and documents[waiting[0]]["at"] <= now:
                i = waiting.pop(0)
                pending.append((i, self.translate([documents[i]], line, asynchronous=True)[0]))
            for entry in [entry for entry in pending if entry[1].done()]:
                entry[1].result()
                ends[entry[0]] = time.perf_counter()
                pending.remove(entry)
            time.sleep(0.0005)
        return ends

    def gathered(self, documents: list[dict], line: dict, start: float) -> list[float]:
        waiting, ends = list(range(len(documents))), [0.0] * len(documents)
        while waiting:
            time.sleep(max(0.0, documents[waiting[0]]["at"] - (time.perf_counter() - start)))
            now = time.perf_counter() - start
            batch = [i for i in waiting if documents[i]["at"] <= now]
            for i, end in zip(batch, self.together([documents[i] for i in batch], line)):
                ends[i] = end
            waiting = waiting[len(batch):]
        return ends

    def run(self, line: dict) -> dict:
        documents = line["documents"]
        forget_peak_memory()
        cpu, start = time.process_time(), time.perf_counter()
        if all(document["at"] == 0 for document in documents):
            ends = self.together(documents, line)
        elif line.get("arrivals") == "gather":
            ends = self.gathered(documents, line, start)
        else:
            ends = self.one_by_one(documents, line, start)
        told = {"seconds": max(ends) - start, "cpu_seconds": time.process_time() - cpu, "peak_rss": peak_memory(),
                "documents": [{"seconds": end - start - document["at"]} for end, document in zip(ends, documents)]}
        numbers = self.numbers() if line.get("trace") else {}
        for one, result in zip(told["documents"], self.results if line.get("translations") else ()):
            one["translation"] = [result.hypotheses[0], result.scores[0]]
            if numbers:
                one["log_probabilities"] = log_probabilities(result, numbers)
        return told


if __name__ == "__main__":
    answer_lines(Worker)
