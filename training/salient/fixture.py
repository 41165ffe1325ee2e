"""Records the results of the oracle with a model, for comparison with other implementations.

    python -m salient.fixture --model DIR --out FILE.json [--seed N] [--documents N]

The file is one JSON object:

    model        the model's name
    sample       the number of leading components kept of every state
    documents    [{id, lines, tokens, pieces}]: one chunk each. lines: the text of its segments, or null if the tokens
                 are random; tokens: separators and EOS included; pieces: source tokens a segment, without them
    cases        [{id, document, settings, ...}], the results of translating a document with some settings:
      settings   as salient.decode.Settings; fields at their default are left out
      translations  best first, all that the beam finished: [{tokens, log_probabilities, score, length_limited}];
                    tokens end in EOS; score: total / length^length_penalty; length_limited: segments, from 0
      exits      a token of the best translation: decoder layers run
      exit_margins  a token: how far the closest exit decision was from going the other way; null: nothing decided
      gaps       a step: log probability (a beam: total, over the pool's first places) between the closest choices
      encoder    {states: a layer: [first row, last row], memory: the same after the last norm,
                  selected: a group, a query: positions, least_gap: a group}
      steps      a token: {states: a layer that ran, decoder: a group: positions, cross: a group: positions,
                  decoder_gaps, cross_gaps: a group}
      tallies    {encoder, decoder, cross: {visible, attended, scored}}, a beam's every live hypothesis counted

States are fp32 with six significant digits. Positions are ascending; null stands for every position. A selection gap is
the integer score between the last key kept and the first left out, null where nothing was ranked. Implementations round
their projections differently. So occasionally a component quantises to a neighbouring value, which changes a score by
up to 127. It is an error if a set differs although its gap is above 254, or if more than one set in a hundred differs.
If every `gaps` entry and exit margin is above 1e-3 and the sets agree, tokens and exits must agree.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import random
import sys
from pathlib import Path

import torch

from .config import ModelConfig
from .data import join
from .decode import Choice, Encoded, Hypothesis, Oracle, Settings, Step
from .export import load_model
from .selection import MODULES
from .tiny import SENTENCES
from .vocabulary import Vocabulary

SAMPLE = 8


def values(encoder: float, decoder: float, cross: float) -> dict[str, float]:
    return dict(zip(MODULES, (encoder, decoder, cross)))


def settings_for(config: ModelConfig) -> dict[str, Settings]:
    """Every policy that the model can run, alone and in combination."""
    n = config.decoder.layers
    found = {
        "dense": Settings(),
        "window": Settings(selection="window", values=values(5, 4, 6)),
        "short": Settings(max_length_ratio=0.01, prefix=[9, 11]),
        "listed": Settings(listed=some_tokens(config, 3)),
        "listed-few": Settings(listed=some_tokens(config, config.vocab_size)),
        "listed-beam": Settings(listed=some_tokens(config, 5), beam=3, max_length_ratio=0.5),
        "beam": Settings(beam=4, max_length_ratio=0.5),
        "beam-penalty": Settings(beam=3, length_penalty=0.0, max_length_ratio=0.5),
    }
    if config.selection is not None:
        found |= {
            "learned": Settings(selection="learned"),
            "ratio": Settings(selection="ratio", values=values(0.3, 0.4, 0.25), min_keys=2),
            "ratio-all": Settings(selection="ratio", values=values(1.0, 1.0, 1.0)),
            "ratio-least": Settings(selection="ratio", values=values(0.01, 0.01, 0.01), min_keys=4),
            "mass": Settings(selection="mass", values=values(0.8, 0.9, 0.7), min_keys=1),
            "learned-beam": Settings(selection="learned", beam=3, max_length_ratio=0.5),
        }
    if config.exits is None:
        return found
    chosen = "learned" if config.selection is not None else "dense"
    found |= {f"fixed-{at}": Settings(depth="fixed", fixed_exit=at) for at in range(1, n)}
    found["confidence"] = Settings(selection=chosen, depth="confidence", thresholds=[0.4, 0.3, 0.3, 0.2][:n])
    found["confidence-listed"] = dataclasses.replace(found["confidence"], listed=some_tokens(config, 2))
    found["confidence-screened"] = dataclasses.replace(found["confidence"], screen=some_tokens(config, 5))
    found["confidence-screened-beam"] = dataclasses.replace(found["confidence-screened"], beam=2, max_length_ratio=0.5)
    found["confidence-beam"] = dataclasses.replace(found["confidence"], beam=3, max_length_ratio=0.5)
    for head in config.exits.heads:
        thresholds = [0.6, 0.5, 0.5, 0.5][:n] if head == "geometric" else []
        found[head] = Settings(depth=head, thresholds=thresholds)
        found[f"{head}-selected"] = Settings(selection=chosen, depth=head, thresholds=thresholds)
        found[f"{head}-bounded"] = Settings(depth=head, thresholds=thresholds, min_exit=2, max_exit=n - 1)
        found[f"{head}-beam"] = Settings(selection=chosen, depth=head, thresholds=thresholds, beam=2,
                                         max_length_ratio=0.5)
    return found


def some_tokens(config: ModelConfig, step: int) -> list[int]:
    """Every step-th token, and the tokens that the search needs: markers, and those that end a segment."""
    t = config.tokens
    markers = [] if t.markers is None else range(t.markers.first, t.markers.first + t.markers.count)
    return sorted({*range(step, config.vocab_size, step), *markers, t.separator or t.eos, t.eos})


def documents_for(config: ModelConfig, vocabulary: Vocabulary, rng: random.Random, count: int) -> list[dict]:
    """Text and random tokens alternately, with one to four segments each, or one if the model has no separator. Every
    segment of random tokens has some of the model's markers."""
    t, found = config.tokens, []
    special = [t.pad, t.unk, t.bos, t.eos, t.separator or 0]
    markers = [] if t.markers is None else range(t.markers.first, t.markers.first + t.markers.count)
    for index in range(count):
        lines = None
        if index % 2 == 0:
            lines = [rng.choice(SENTENCES)[0] for _ in range(1 + index % 4 + rng.randint(0, 1))]
            lines = lines if config.tokens.separator is not None else lines[:1]
            segments = [vocabulary.encode(line) for line in lines]
        else:
            words = [v for v in range(max(special) + 1, config.source_vocab_size or config.vocab_size)
                     if v not in markers]
            segments = [rng.choices(words, k=rng.randint(1, 14)) for _ in range(rng.randint(2, 4))]
            for segment in segments if markers else []:
                for marker in rng.sample(markers[:8], rng.randint(1, 6)):
                    segment.insert(rng.randint(0, len(segment)), marker)
            segments = segments if config.tokens.separator is not None else segments[:1]
        found.append({"id": f"document-{index}", "lines": lines, "tokens": join(segments, False, t).tolist(),
                      "pieces": [len(segment) for segment in segments]})
    return found


def rounded(row: torch.Tensor) -> list[float]:
    return [float(f"{x:.6g}") for x in row[:SAMPLE].tolist()]


def finite(x: float) -> float | None:
    return float(f"{x:.6g}") if math.isfinite(x) else None


def positions(choice: Choice, length: int) -> list[int] | None:
    return None if len(choice.keys) == length else choice.keys


def encoder_record(encoded: Encoded) -> dict:
    length = len(encoded.memory)

    def least(group: list[Choice]) -> int | None:
        return min((choice.gap for choice in group if choice.gap is not None), default=None)

    return {"states": [[rounded(x[0]), rounded(x[-1])] for x in encoded.states],
            "memory": [rounded(encoded.memory[0]), rounded(encoded.memory[-1])],
            "selected": [[positions(choice, length) for choice in group] for group in encoded.selected],
            "least_gap": [least(group) for group in encoded.selected]}


def step_record(step: Step, position: int, source_length: int) -> dict:
    lengths = {"decoder": position + 1, "cross": source_length}
    record: dict = {"states": [rounded(x) for x in step.states]}
    for module, length in lengths.items():
        record[module] = [positions(choice, length) for choice in step.selected[module]]
        record[f"{module}_gaps"] = [choice.gap for choice in step.selected[module]]
    return record


def length_limited(oracle: Oracle, source: list[int], h: Hypothesis, s: Settings) -> list[int]:
    limited, count, segment, segments = [], 0, 0, oracle.source_segments(source)
    for token in h.tokens:
        if token in (oracle.config.tokens.separator, oracle.config.tokens.eos):
            first, last = segments[segment]
            if count >= oracle.length_limit(source[first:last], s):
                limited.append(segment)
            segment, count = segment + 1, 0
        else:
            count += 1
    return limited


def case_record(oracle: Oracle, document: dict, name: str, s: Settings) -> dict:
    result = oracle.translate(document["tokens"], s)
    best = result.finished[0]
    defaults = Settings()
    return {
        "id": f"{document['id']} {name}", "document": document["id"],
        "settings": {k: v for k, v in dataclasses.asdict(s).items() if v != getattr(defaults, k)},
        "translations": [{"tokens": h.tokens, "log_probabilities": [finite(step.log_probability) for step in h.steps],
                          "score": finite(h.score), "length_limited": length_limited(oracle, document["tokens"], h, s)}
                         for h in result.finished],
        "exits": [step.exit for step in best.steps],
        "exit_margins": [finite(step.exit_margin) for step in best.steps],
        "gaps": [finite(step.gap) for step in best.steps],
        "encoder": encoder_record(result.encoded),
        "steps": [step_record(step, i, len(document["tokens"])) for i, step in enumerate(best.steps)],
        "tallies": {module: dataclasses.asdict(tally) for module, tally in result.tallies.items()},
    }


def fixture(folder: Path, seed: int, documents: int) -> dict:
    model, config = load_model(folder)
    made = documents_for(config, Vocabulary(folder, config), random.Random(seed), documents)
    oracle = Oracle(model)
    return {"model": config.name, "sample": SAMPLE, "documents": made,
            "cases": [case_record(oracle, document, name, s)
                      for name, s in settings_for(config).items() for document in made]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=3)
    o = parser.parse_args()
    torch.set_num_threads(1)
    written = fixture(o.model, o.seed, o.documents)
    o.out.write_text(json.dumps(written, separators=(",", ":"), allow_nan=False) + "\n")
    print(f"wrote {o.out}: {len(written['cases'])} cases", file=sys.stderr)


if __name__ == "__main__":
    main()
