"""Adds selection layers and early exits to an existing dense model, without changing its weights.

    python -m salient.retrofit --model my-model --data work/data --out my-model-salient --minutes 20

Three phases on the frozen model, then an export: selection layers learn to imitate its attention (KL, eq. 5 of
arXiv 2309.14174) while their ratio of keys adapts (eq. 7); every early exit gets a classifier that
learns the distribution of the last one; halting heads learn from an oracle when to leave (arXiv 1910.10073). With dense
attention and full depth the result translates exactly as the original model. `--adapt` adds a phase that trains all
weights with selection: better with few keys, but the dense model changes.

The model folder must be one that the engine reads; `--data` is a folder that `salient.prepare` made with the model's
own tokenizer.model in it. A stopped run can be continued.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from .calibrate import calibrate
from .export import export, load_checkpoint
from .train import run_phase

SHARES = {"supervision": 0.35, "selection": 0.3, "exits": 0.25, "halting": 0.1}  # of --minutes; less without --adapt


def phases(o: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """The phases in order, each with what it does differently from the recipe."""
    found = [("supervision", ["--k-step", "0.016", "--captured", str(o.captured), "--selection-width",
                              str(o.selection_width)])]
    if o.adapt:
        found.append(("selection", ["--k-most", o.k_most]))
    found.append(("exits", ["--untied-exits"] if o.untied_exits else []))
    found.append(("halting", []))
    return found


def retrofit(o: argparse.Namespace) -> None:
    work = o.out / "work"
    work.mkdir(parents=True, exist_ok=True)
    ours, theirs = o.data / "tokenizer.model", o.model / "tokenizer.model"
    if ours.read_bytes() != theirs.read_bytes():
        raise ValueError(f"{ours} is not the model's tokeniser: copy {theirs} there before `salient.prepare`")
    start = o.model
    planned = phases(o)
    total = sum(SHARES[phase] for phase, _ in planned)
    for phase, flags in planned:
        minutes = o.minutes * SHARES[phase] / total
        print(f"{phase}: {minutes:.1f} minutes, log in {work / phase}.jsonl", file=sys.stderr)
        run_phase(phase, o.data.resolve(), (work / f"{phase}.pt").resolve(), "--start", str(start.resolve()),
                  "--minutes", str(minutes), "--batch-tokens", str(o.batch_tokens), "--device", o.device, *flags)
        start = work / f"{phase}.pt"
    model = load_checkpoint(start)
    calibrate(model, o.data)
    readme = o.model / "README.md"
    export(model, theirs, o.out, dtype=o.dtype, readme=readme if readme.exists() else None)
    if not o.keep_work:
        shutil.rmtree(work)
    print(f"wrote {o.out}; measure it with training/evaluate", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", type=Path, required=True, help="folder of the dense model")
    p.add_argument("--data", type=Path, required=True, help="folder that `salient.prepare` wrote")
    p.add_argument("--out", type=Path, required=True, help="folder of the new model")
    p.add_argument("--minutes", type=float, default=20, help="all phases together")
    p.add_argument("--adapt", action="store_true", help="let the whole model learn under selection")
    p.add_argument("--captured", type=float, default=0.95, help="share of the attention that the kept keys must hold")
    p.add_argument("--k-most", default="encoder=0.1,decoder=0.03,cross=0.05", help="with --adapt: the budget of keys")
    p.add_argument("--selection-width", type=int, default=64)
    p.add_argument("--tied-exits", dest="untied_exits", action="store_false",
                   help="early exits share the model's classifier and learn their norms alone: smaller, but worse")
    p.add_argument("--batch-tokens", type=int, default=4096)
    p.add_argument("--device", default="cpu", help="cpu or cuda")
    p.add_argument("--dtype", choices=["f32", "bf16", "int8"], default="f32", help="type of the stored matrices")
    p.add_argument("--keep-work", action="store_true", help="keep checkpoints and logs in OUT/work")
    return p


if __name__ == "__main__":
    try:
        retrofit(parser().parse_args())
    except ValueError as error:
        sys.exit(f"retrofit: {error}")
