"""Trains a model in phases. Each phase is a run of this command on the checkpoint of the previous one.

    base         aligned training of every exit (eq. 4 of arXiv 1910.10073); dense attention, unless --selected
    supervision  selection layers alone imitate the frozen model's attention (eq. 5), which stays dense; k adapts
    selection    the whole model: KL supervision, straight-through masks, adaptive k (arXiv 2309.14174)
    exits        the norms and classifiers of early exits alone, towards the frozen last exit (of a model trained dense)
    depth        the whole model together with the halting heads (eq. 6 of arXiv 1910.10073)
    halting      the halting heads on the frozen model, against their oracles

The defaults of flags are those of salient/recipe.py for the phase, otherwise those shown by --help. A flag that has no
effect in the phase is refused. A phase lasts `--minutes` of wall-clock time or a number of `--steps`; its learning rate
follows its progress, and it resumes from its checkpoint. Over the last part of base, selection and depth the weights
are averaged, and the mean is kept if it is better on development text.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Collection

import torch

from .checkpoint import load_tensors, read_checkpoint
from .command import Help, check_device, given, not_negative, number, positive, refusals, share, whole
from .config import HEADS, Exits, ModelConfig, Selection
from .data import MIXTURE, Corpus, refuse_other_data
from .model import Transformer
from .precision import flush_denormals, has_bf16
from .recipe import RECIPE, SOURCES
from .selection import MODULES
from .tensor_file import read_folder
from .trainer import TRAINED, Trainer
from .whole_file import check_writable


# The phases that train the layers, those that train selection layers, and those in which k changes.
LAYERS = tuple(phase for phase, parts in TRAINED.items() if "base" in parts)
KEYS = tuple(phase for phase, parts in TRAINED.items() if "selection" in parts)
ADAPTS = ("supervision", "selection")
# The phases in which an option has an effect; those that are not here have one in all.
EFFECTIVE_IN = {
    **dict.fromkeys(("config", "early_exits", "selected"), ("base",)), "untied_exits": ("exits",),
    **dict.fromkeys(("average", "distil", "exit_loss", "exit_shares", "hand_up", "label_smoothing", "learned_tokens",
                     "mistakes", "teacher", "teacher_share"), LAYERS),
    "vocabulary_sample": (*LAYERS, "halting"),
    **dict.fromkeys(("captured", "k_most", "k_most_share", "k_step", "selection_group", "selection_width"), ADAPTS),
    **dict.fromkeys(("alpha", "supervision"), KEYS), "straight_through": ("selection", "depth"),
    "attention_window": tuple(phase for phase in TRAINED if phase != "exits"),
    **dict.fromkeys(("halting_weight", "oracle", "penalty", "sigma"), ("depth", "halting")),
}


def table_of(key, value, example: str):
    """Parses `key=value,key=value` into a dict; key and value are types of options themselves."""
    def parsed(text: str) -> dict:
        try:
            return {key(name): value(amount) for name, amount in (item.split("=") for item in text.split(","))}
        except (ValueError, argparse.ArgumentTypeError) as reason:
            why = f": {reason}" if isinstance(reason, argparse.ArgumentTypeError) else ""
            raise argparse.ArgumentTypeError(f"{text!r} is no list such as {example}{why}") from None

    return parsed


def module(text: str) -> str:
    if text not in MODULES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(MODULES)}")
    return text


# Types of options, also of other commands that hand them on to this one.
mixture = table_of(whole(0), not_negative, "96=0.5,384=0.5")
source_weights = table_of(str, not_negative, "news=1,books=2.5")
exit_shares = table_of(int, not_negative, "1=0.2,2=1")
k_most = table_of(module, number(0.001, 1, "share from 0.001 to 1"), "encoder=0.1,cross=0.05")
selection_group = table_of(module, whole(1), "encoder=3,cross=2")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    p.add_argument("--phase", choices=list(TRAINED), required=True)
    p.add_argument("--data", type=Path, required=True, help="folder that `salient.prepare` wrote")
    p.add_argument("--config", type=Path, help="config.json of a new model (phase base)")
    p.add_argument("--start", type=Path, help="checkpoint of the phase before")
    p.add_argument("--out", type=Path, required=True, help="checkpoint to write, and to resume from if it exists")
    p.add_argument("--minutes", type=positive, default=10, help="wall-clock time of the phase")
    p.add_argument("--processor-time", action="store_true",
                   help="--minutes of the processor's time, so that other work on the machine changes nothing")
    p.add_argument("--steps", type=whole(1), help="batches of the phase, instead of --minutes")
    p.add_argument("--batch-tokens", type=whole(1), default=6144, help="positions of a batch on each side, at most")
    p.add_argument("--mixture", type=mixture, default=MIXTURE, metavar="TOKENS=SHARE,...",
                   help="how often chunks of so many tokens are cut, relative to the others; 0 for single "
                        "segments")
    p.add_argument("--source-weights", type=source_weights, default=SOURCES, metavar="SOURCE=WEIGHT,...",
                   help="how often a pass holds the documents of a source; 1 for those left out")
    p.add_argument("--lr", type=not_negative, default=2e-3, help="Adam: embeddings, norms, biases, heads")
    p.add_argument("--matrix-lr", type=not_negative, default=0.02,
                   help="Muon: weight matrices of the layers; 0: Adam has them, too")
    p.add_argument("--warmup", type=whole(0), default=200, help="steps over which the rate rises")
    p.add_argument("--cooldown", type=share, default=0.5, help="share of the phase over which the rate falls to zero")
    p.add_argument("--average", type=share, default=0.1, help="share of the phase over which weights are averaged")
    p.add_argument("--frozen", nargs="*", default=[], metavar="NAME",
                   help="parts that stay as they are, by the beginning of their tensors' names: encoder_layers; "
                        "* stands for any characters: '*ffn.'")
    p.add_argument("--learned-tokens", type=whole(-(1 << 20)), default=0, metavar="TOKENS",
                   help="of the embedding and the output only so many first tokens learn, such as the separator and "
                        "markers, or if it is negative so many last ones; 0: all")
    p.add_argument("--label-smoothing", type=share, default=0.1,
                   help="share of the target that all tokens of the vocabulary have together")
    p.add_argument("--vocabulary-sample", type=whole(0), default=0, metavar="TOKENS",
                   help="estimate the losses of a step with so many tokens of the vocabulary, those of the batch among "
                        "them (a loss over 16,000 tokens takes more than half of a step); 0: with all")
    p.add_argument("--distil", type=share, default=0.0,
                   help="share of an early exit's target that is the last exit's distribution, not the reference")
    p.add_argument("--teacher", type=Path, metavar="FOLDER",
                   help="a model whose distributions all exits learn instead of --distil (word-level distillation): "
                        "one of documents with the same vocabularies, such as the model that learns, or a converted "
                        "one of sentences with the same pieces")
    p.add_argument("--teacher-share", type=share, default=0.9,
                   help="share of the target that is the teacher's distribution, not the reference")
    p.add_argument("--exit-loss", choices=["sampled", "all", "mixed"], default="sampled",
                   help="of a model with early exits: sampled: the mean over all exits, estimated from the last and "
                        "one other; all: computed (eq. 4); mixed: every token at one random exit (eq. 5)")
    p.add_argument("--exit-shares", type=exit_shares, default={}, metavar="EXIT=SHARE,...",
                   help="weights of the losses of the early exits relative to each other, the first exit being 1; "
                        "1 for those left out")
    p.add_argument("--dropout", type=share, default=0.0, help="share of the outputs of blocks that is dropped")
    p.add_argument("--word-dropout", type=share, default=0.0, help="share of the words whose embedding is dropped")
    p.add_argument("--hand-up", type=share, default=0.0,
                   help="share of the batches in which tokens leave at random layers and hand their states up")
    p.add_argument("--selected", type=share, default=0.0,
                   help="phase base: share of the batches in which layers read the keys that learned selection chooses")
    p.add_argument("--mistakes", type=share, default=0.0,
                   help="share of the decoder's input words that are replaced by others of the same translation")
    p.add_argument("--alpha", type=not_negative, default=0.01, help="weight of the supervision (eq. 6)")
    p.add_argument("--captured", type=share, default=0.95, help="t of eq. 7")
    p.add_argument("--k-step", type=share, default=0.001, help="step of eq. 7")
    p.add_argument("--k-most", type=k_most, default={}, metavar="MODULE=SHARE,...",
                   help="bounds on k for encoder, decoder and cross: a budget, beside eq. 7; none when left out")
    p.add_argument("--k-most-share", type=share, default=0.6, help="share of the phase over which the bounds come down")
    p.add_argument("--selection-width", type=whole(8, 8),
                   help="new selection layers of this width (ds) instead of the old")
    p.add_argument("--selection-group", type=selection_group, metavar="MODULE=LAYERS,...",
                   help="new selection layers, shared by groups of so many layers (r)")
    p.add_argument("--supervision", choices=["own", "group"], default="group",
                   help="a selection layer imitates its own layer's attention, or the mean of its group's layers")
    p.add_argument("--straight-through", action=argparse.BooleanOptionalAction, default=True,
                   help="whether masks have the gradient of eq. 3")
    p.add_argument("--attention-window", type=whole(1),
                   help="ablation: a fixed window of that many keys instead of top-k")
    p.add_argument("--early-exits", action="store_true",
                   help="phase base: a model without early exits gets them, with its own classifier")
    p.add_argument("--untied-exits", action="store_true", help="phase exits: a classifier of its own for every exit")
    p.add_argument("--halting-weight", type=not_negative, default=1.0,
                   help="phase depth: alpha of eq. 6, of 1910.10073")
    p.add_argument("--oracle", choices=["likelihood", "correctness", "agreement"], default="correctness",
                   help="agreement: correctness with the last exit's own prediction as the reference")
    p.add_argument("--penalty", type=not_negative, default=0.1, help="alpha of eq. 9, 10, 15, 17")
    p.add_argument("--sigma", type=not_negative, default=1.0, help="width of the smoothing over time, 0 for none")
    p.add_argument("--bf16", action=argparse.BooleanOptionalAction,
                   help="multiply matrices in bf16; the default, except on a CPU without instructions for it")
    p.add_argument("--device", default="cpu", help="cpu or cuda")
    p.add_argument("--compile", action="store_true", help="compile the layers' element-wise parts (torch.compile)")
    p.add_argument("--threads", type=whole(0), default=0, help="of the processor; 0: as PyTorch likes")
    p.add_argument("--seed", type=int, default=1, help="of the order of the text and of all that is drawn")
    p.add_argument("--log-seconds", type=not_negative, default=30, help="time between two lines of the log")
    p.add_argument("--save-seconds", type=not_negative, default=300, help="time between two checkpoints")
    return p


def refuse_without_effect(p: argparse.ArgumentParser, phase: str, named: Collection[str]) -> None:
    """Ends the command if an option that was named changes nothing: its user expects something of it."""
    for name in named:
        phases, option = EFFECTIVE_IN.get(name, tuple(TRAINED)), name.replace("_", "-")
        if phase not in phases:
            p.error(f"--{option} has no effect in phase {phase}, only in {', '.join(phases)}; leave it out")
    if "teacher_share" in named and "teacher" not in named:
        p.error("--teacher-share needs --teacher")
    if "config" in named and "start" in named:
        p.error("--config is of a new model, and --start of one to go on with; name one of them")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command's options. The recipe of the phase has the defaults."""
    p = parser()
    p.set_defaults(**RECIPE[p.parse_known_args(arguments)[0].phase])
    options = p.parse_args(arguments)
    refuse_without_effect(p, options.phase, given(p, arguments))
    if not any(options.mixture.values()):
        p.error("argument --mixture: all shares are 0, so that nothing is cut; give one of them more")
    if options.bf16 is None:
        options.bf16 = has_bf16(options.device)
    return options


def load(path: Path) -> dict:
    """A checkpoint. A model folder is read as one, so that a dense model from elsewhere can be adapted."""
    if path.is_dir():
        return {"config": (path / "config.json").read_text(), "model": read_folder(path)}
    return read_checkpoint(path)


def grow(config: ModelConfig, options: argparse.Namespace) -> bool:
    """Adds to the configuration what the phase trains and the model lacks. Returns whether selection layers start
    anew."""
    if options.phase == "base" and options.early_exits:
        config.exits = config.exits or Exits()
    if options.phase == "exits":
        config.exits = config.exits or Exits()
        config.exits.classifier = "untied" if options.untied_exits else config.exits.classifier
    if options.phase in ("depth", "halting"):
        config.exits = config.exits or Exits()
        config.exits.heads = config.exits.heads or list(HEADS)
    if options.phase not in ("supervision", "selection"):
        return False
    anew = config.selection is None or options.selection_width or options.selection_group
    if anew:
        config.selection = config.selection or Selection()
        config.selection.width = options.selection_width or config.selection.width
        layers = {"encoder": config.encoder.layers, "decoder": config.decoder.layers, "cross": config.decoder.layers}
        wanted = config.selection.group | (options.selection_group or {})
        config.selection.group = {m: min(r, layers[m]) for m, r in wanted.items()}  # the engine's bound
        config.selection.learned_ratio = {}
    if not config.selection.learned_ratio:
        config.selection.learned_ratio = {m: [1.0] * len(config.selection_layers(m)) for m in MODULES}
    return bool(anew)


def build(start: dict | None, options: argparse.Namespace, resumed: bool = False) -> Transformer:
    """The model of a checkpoint. Parts that the phase needs and the checkpoint lacks are initialised."""
    config = ModelConfig.from_json(start["config"] if start else options.config.read_text())
    if not start:
        config.check_settable()
    anew = not resumed and grow(config, options)
    model = Transformer(config)
    if start:
        tensors = {n: t for n, t in start["model"].items() if not (anew and ".selection." in n)}
        missing, unexpected = load_tensors(model, tensors, "the checkpoint", strict=False)
        grown = (".selection.", "halting.", "exit_classifiers.")
        lost = [n for n in missing if not any(part in n for part in grown)] + unexpected
        if lost:
            raise ValueError(f"the checkpoint does not fit its configuration: {', '.join(sorted(lost)[:5])}")
        if model.exit_classifiers is not None and any("exit_classifiers." in n for n in missing):
            for classifier in model.exit_classifiers:  # a new classifier starts as a copy of the model's own
                classifier.weight.data.copy_((model.output or model.embedding).weight)
    return model


def run_phase(phase: str, data: Path, out: Path, *flags: str) -> None:
    """Trains one phase in a process of its own, with a log beside its checkpoint. Returns at once if the phase is
    done. Paths in flags are relative to the folder of this process."""
    command = [sys.executable, "-m", "salient.train", "--phase", phase, "--data", str(data), "--out", str(out), *flags]
    found = [str(Path(__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    with open(out.with_suffix(".jsonl"), "a", encoding="utf-8") as log:
        subprocess.run(command, check=True, stdout=log, env={**os.environ, "PYTHONPATH": os.pathsep.join(found)})


def refuse_other_config(stored: dict | None, options: argparse.Namespace) -> None:
    """Raises ValueError if a run would go on with a model of another configuration than the one that is named."""
    if stored is None or options.config is None:
        return
    wanted = ModelConfig.from_json(options.config.read_text())
    grow(wanted, options)
    if wanted != ModelConfig.from_json(stored["config"]):
        raise ValueError(f"--out: {options.out} is of another configuration than {options.config}; remove it to begin "
                         "anew, or name another file")


def refuse_unknown_sources(weights: dict[str, float], corpus: Corpus, data: Path) -> None:
    """Raises ValueError for weights of sources that the text does not have. Those of the recipe may be missing."""
    known = sorted(map(str, corpus.origins))
    unknown = [name for name in weights if name not in known] if weights != SOURCES else []
    if unknown:
        raise ValueError(f"--source-weights: {data} has no source {unknown[0]}; it has {', '.join(known[:20])}")


def texts_of(data: Path, config: ModelConfig) -> tuple[Corpus, Corpus | None]:
    """The training text, and the development text if there is any, in the model's tokens."""
    found = [Corpus.load(path) if required or path.exists() else None
             for path, required in ((data / "train.npz", True), (data / "dev.npz", False))]
    for corpus, name in zip(found, ("train.npz", "dev.npz")):
        if corpus is not None:
            refuse_other_data(config, corpus, data / name)
    return found[0], found[1]


def train(options: argparse.Namespace) -> None:
    check_device(options.device)
    flush_denormals()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    check_writable(options.out)
    stored = load(options.out) if options.out.exists() else None
    if not stored and not options.start and not options.config:
        raise ValueError("name the model that learns: --start CHECKPOINT, or for a new one --config config.json")
    refuse_other_config(stored, options)
    model = build(stored or (load(options.start) if options.start else None), options, resumed=stored is not None)
    trainer = Trainer(model, options)
    if options.compile:
        model.compile_blocks()
    if stored:
        trainer.resume(stored)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters", file=sys.stderr)
    corpus, dev = texts_of(options.data, model.config)
    refuse_unknown_sources(options.source_weights, corpus, options.data)
    trainer.run(corpus, dev, options.out)


def main() -> None:
    with refusals("train"):
        train(parse())


if __name__ == "__main__":
    main()
