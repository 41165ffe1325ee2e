"""The command line of the ablations."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from ..command import check_device, positive, refusals
from ..data import Corpus
from ..evaluation.report import note
from . import __doc__ as description
from . import exits, scratch, selection
from .measured import CHUNK_TOKENS
from .runs import Suite, page_of

# In the order of the page.
SUITES: dict[str, Suite] = {"plain": scratch.PLAIN, "ffn": scratch.FFN, "converted": scratch.CONVERTED,
                            "selection": selection.BUDGETED, "paper": selection.PAPER, "exits": exits.EXITS}

# For readers of the tables.
TERMS = [
    "NLL: negative log-likelihood of the reference at the last exit, in nats a token; lower is better. Measured on "
    f"development chunks of {CHUNK_TOKENS} tokens. Dense: attention reads all keys. Selected: it reads those that the "
    "model selects.",
    "ds, r (arXiv 2309.14174): a selection layer chooses the keys that attention reads. ds is its width, and r the "
    "number of consecutive layers that use its choice.",
    "k, t (same paper): k is the share of keys that is selected. t is the share of the attention weight that these "
    "keys should have; training changes k accordingly (eq. 7).",
    "Supervision (same paper): a loss, with weight alpha, by which a selection layer learns to imitate attention.",
    "Straight-through (same paper): the gradient of the translation loss reaches the selection layer through its "
    "choice.",
    "Attention cost: operations of attention and selection, over those of dense attention.",
    "Exit (arXiv 1910.10073): a decoder layer at which a token may leave; it skips the layers above. A halting head "
    "decides where. It learns from an oracle, a rule that compares the exits' predictions with the reference "
    "(likelihood, correctness) or with the last exit's prediction (agreement).",
    "Eq. 4, eq. 5 (same paper): losses that train the exits. Eq. 4, aligned: the mean of the losses of all exits. Eq. "
    "5, mixed: every token leaves at a random exit, and only that exit has a loss.",
    "SharedEnc, NoDec and so on (arXiv 2309.01826): the layers of the encoder or decoder share one feed-forward "
    "block, or have none. One Wide FFN: the encoder's layers share one as wide as all together; the decoder has none.",
    "CKA (centred kernel alignment): how alike the similarities between segments are in two models' states. It is 1 "
    "if the states differ only by a rotation, a scale and a shift.",
    "LNS (local neighbourhood similarity): of the nearest neighbours that a segment has in either model's states, the "
    "share that it has in both; mean over segments.",
]


def sections(page: Path) -> dict[str, str]:
    """The sections of a page that was written before, by title."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return {title: body.strip() for title, _, body in (part.partition("\n") for part in text.split("\n## ")[1:])}


def write_page(path: Path, name: str, section: str) -> None:
    """Puts the section of a suite into the page; the others stay. Text in notes/ablations-NAME.md is added to it."""
    found = {**sections(path), SUITES[name].title: section + note(path.parent, f"ablations-{name}")}
    parts = ["# Ablations", "Written by `python -m salient.ablations`; do not edit. The runs are short: they say which "
             "way a change goes, not where it would end.", "Terms:", "\n".join(f"- {term}" for term in TERMS)]
    parts += [f"## {s.title}\n\n{found[s.title]}" for s in SUITES.values() if s.title in found]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="salient.ablations", description=description,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("suite", choices=list(SUITES))
    p.add_argument("--data", type=Path, required=True, help="folder that `salient.prepare` wrote")
    p.add_argument("--start", type=Path, help="checkpoint or folder of a dense model")
    p.add_argument("--config", type=Path, help="ffn, converted, plain: the configuration that is varied")
    p.add_argument("--out", type=Path, required=True, help="folder for checkpoints, models and results")
    p.add_argument("--page", type=Path, help="the page to write; it keeps the sections of other suites "
                                             "(default: OUT/ablations.md)")
    p.add_argument("--only", nargs="*", default=[], metavar="RUN", help="these runs of the suite")
    p.add_argument("--steps", type=int, default=40, help="of every phase of every run")
    p.add_argument("--minutes", type=positive, help="of every phase of every run, instead of --steps")
    p.add_argument("--k-step", type=float, default=0.005,
                   help="paper: step of eq. 7 (the paper's 0.001 takes a thousand steps from 1 to nothing)")
    p.add_argument("--batch-tokens", type=int, default=3072)
    p.add_argument("--vocabulary-sample", type=int, default=0, metavar="TOKENS",
                   help="estimate the losses of a step with so many tokens of the vocabulary; 0: with all")
    p.add_argument("--tokens", type=int, default=15_000, help="development tokens to measure on")
    p.add_argument("--bin", type=Path, help="folder of salient and salient-server, to translate with too")
    p.add_argument("--test", type=Path, help="a TSV of documents to translate")
    p.add_argument("--segments", type=int, default=1800, help="how much of --test; 0 for all")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--device", default="cpu", help="cpu or cuda, to train on; measured on the CPU")
    return p


def check(o: argparse.Namespace) -> None:
    suite = SUITES[o.suite]
    missing = [f"--{name}" for name in suite.needs if getattr(o, name) is None]
    if missing:
        raise ValueError(f"{o.suite} needs {', '.join(missing)}")
    refused = [f"--{name}" for name in suite.refuses if getattr(o, name) is not None]
    if refused:
        raise ValueError(f"{o.suite} takes no {', '.join(refused)}")
    if o.bin is not None and o.test is None:
        raise ValueError("--bin needs --test, the documents to translate")


def main() -> None:
    o = parser().parse_args()
    with refusals("ablations"):
        check(o)
        check_device(o.device)
        torch.set_num_threads(o.threads)
        suite, dev = SUITES[o.suite], Corpus.load(o.data / "dev.npz")
        runs = suite.run(o, o.out / o.suite, dev)
    found = {"conditions": suite.conditions(o), "runs": runs}
    (o.out / f"{o.suite}.json").write_text(json.dumps(found, indent=2) + "\n")
    table = suite.table(runs)
    write_page(page_of(o), o.suite, f"{found['conditions']}\n\n{table}")
    print(table)


if __name__ == "__main__":
    main()
