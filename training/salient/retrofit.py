"""Adds selection layers, early exits and a shortlist to an existing dense model, without changing its weights.

    python -m salient.retrofit --model my-model --monolingual text.zh.txt --out my-model-salient --minutes 20
    python -m salient.retrofit --model my-model --data work/data --out my-model-salient --minutes 20

With --monolingual the engine translates text in the source language with the model, and the model learns from these
translations (salient.monolingual); no parallel text is needed. --data is a folder that `salient.prepare` made of
parallel text with the model's own tokenizer.model in it.

Phases on the frozen model, then an export: selection layers learn to imitate its attention (KL, eq. 5 of
arXiv 2309.14174) while their ratio of keys adapts (eq. 7); early exits get classifiers: the last exit's behind a map
that is fitted to the text (salient.exit_maps), and trained further if the vocabulary is small; halting heads learn from
an oracle when to leave (arXiv 1910.10073). With dense attention and full depth the result translates exactly as the
original model. `--adapt` adds a phase that changes the model. With selection layers it trains all weights with
selection: better with few keys. Without, it trains the decoder's layers for all exits (eq. 4 of arXiv 1910.10073), and
the encoder and all classifiers stay as they are. `--documents` first teaches a model of single sentences to translate
several as one chunk (salient.joined): attention, norms and the separator's embedding learn, and the result is a mean
with the original's weights.
A stopped run can be continued with the same model, text and flags. Only --out, --bin, --minutes, --batch-tokens,
--device, --dtype and --keep-work may differ.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from .average import write_average
from .calibrate import calibrate
from .checkpoint import write_checkpoint
from .command import Help, check_device, given, not_negative, positive, refusals, share, whole
from .config import ModelConfig
from .data import Corpus
from .evaluation.engine import file_hash, model_hash
from .exit_maps import with_mapped_exits
from .export import export, load_checkpoint, load_model
from .joined import CHUNK_TOKENS, join, write_vocabulary
from .model_folder import SHORTLIST, copy_existing, new_files
from .monolingual import monolingual
from .shortlist import shortlist
from .train import exit_shares, k_most, run_phase
from .vocabulary import TOKENIZER, VOCABULARY, Vocabulary, other_tokenizer
from .whole_file import whole_file

# Relative times of the steps, of --minutes.
SHARES = {"documents": 1.8, "supervision": 0.35, "adapt": 0.9, "selection": 0.3, "exits": 0.25, "halting": 0.1}
# The model's own translations are the reference, so nothing is smoothed.
ITS_OWN = ["--label-smoothing", "0", "--vocabulary-sample", "4096", "--warmup", "20", "--cooldown", "0.7"]
# With --documents, in all phases: single sentences as before, and chunks of up to as many tokens as it is to translate
# at once, and a quarter more, because the mixture counts the longer side.
CHUNKS = ["--mixture", f"0=0.25,96=0.25,{CHUNK_TOKENS * 5 // 4}=0.5"]
# Attention learns what is new in a chunk. Feed-forward blocks and the embedding hold what the model knows of words, and
# some thousand sentences would spoil it; of the embedding only the separator's learns.
KNOWN = ["--learned-tokens", "-1", "--frozen", "*ffn."]
# Then the weights are a mean, in which the original has this share: it gives back what the model has forgotten
# (arXiv 2109.01903). With 0.3 the separators are forgotten as well.
ORIGINAL = 0.2
CAPTURED, CAPTURED_IN_CHUNKS = 0.95, 0.99  # defaults of --captured; in chunks 0.95 loses much (docs/models.md)
# With --adapt: all exits of the decoder, before classifiers that stay as they are.
ALL_EXITS = ["--early-exits", "--frozen", "encoder", "embedding", "source_embedding", "output", "exit_classifiers"]
MEAN = "mean"  # not a training phase: what was learned and the original become one
MAPPED = "mapped"  # not a training phase: exits get the classifiers of salient.exit_maps
LARGE = 16 << 20  # weights of a classifier that is not trained further, because its gradients would take all the time
MAP_TOKENS = 100_000  # tokens that the maps are fitted to
# Shortlist: tokens per source token, and the share of the vocabulary that is in every list; pairs read. Much of what
# other text needs is rare in a text of this size, so a small share loses words (docs/models.md).
WIDTH, COMMON, PAIRS = 64, 1 / 3, 20_000_000
CALIBRATED = 16  # factor of the number of chunks if each chunk is a single sentence
JOINED = "joined.pt"  # in the work folder: the original with a separator
RUN = "run.json"  # in the work folder: what its data and checkpoints were made from
FREE = ("out", "bin", "minutes", "batch_tokens", "device", "dtype", "keep_work")  # may change when a run is continued


@dataclass
class Step:
    """A phase of training, MEAN or MAPPED; the name is its checkpoint's. flags: its differences from the recipe."""

    name: str
    phase: str
    flags: list[str]


def selects(o: argparse.Namespace, config: ModelConfig) -> bool:
    """Whether the model gets selection layers."""
    return o.selection if o.selection is not None else o.documents or config.tokens.separator is not None


def refuse_without_effect(o: argparse.Namespace, config: ModelConfig, named: list[str]) -> None:
    """Raises ValueError for an option that changes nothing for this model: its user expects something of it."""
    sparse = selects(o, config)
    rates = "--documents, or --adapt without selection layers"
    needs = {"bin": (o.monolingual, "--monolingual"), "sentences": (o.monolingual, "--monolingual"),
             "captured": (sparse, "selection layers (--selection)"),
             "selection_width": (sparse, "selection layers (--selection)"),
             "k_most": (o.adapt and sparse, "--adapt, and selection layers (--selection)"),
             "exit_shares": (o.adapt and not sparse, "--adapt without selection layers (--no-selection)"),
             "lr": (o.documents or o.adapt and not sparse, rates),
             "matrix_lr": (o.documents or o.adapt and not sparse, rates)}
    for name in named:
        has, wanted = needs.get(name, (True, ""))
        if not has:
            raise ValueError(f"--{name.replace('_', '-')} has an effect only with {wanted}; leave it out")


def steps(o: argparse.Namespace, config: ModelConfig) -> list[Step]:
    """In order. config: of the model that learns."""
    sparse = selects(o, config)
    large = config.vocab_size * config.d_model > LARGE
    its_own = [*ITS_OWN, "--lr", str(o.lr), "--matrix-lr", str(o.matrix_lr)]
    found = [Step("documents", "base", its_own + KNOWN), Step(MEAN, MEAN, [])] if o.documents else []
    if sparse:
        usual = CAPTURED_IN_CHUNKS if o.documents else CAPTURED
        captured = usual if o.captured is None else o.captured
        found.append(Step("supervision", "supervision", ["--k-step", "0.016", "--captured", str(captured),
                                                         "--selection-width", str(o.selection_width)]))
        if o.adapt:
            found.append(Step("selection", "selection", ["--k-most", o.k_most]))
    if o.untied_exits:
        found.append(Step(MAPPED, MAPPED, []))
    if o.adapt and not sparse:
        shares = ["--exit-shares", o.exit_shares] if o.exit_shares else []
        found.append(Step("adapt", "base", its_own + ALL_EXITS + shares))
    elif not large and (o.untied_exits or config.norm == "pre"):  # tied exits behind post-norm have nothing to learn
        found.append(Step("exits", "exits", ["--untied-exits"] if o.untied_exits else []))
    found.append(Step("halting", "halting", ["--oracle", "agreement"] if large else []))
    for step in found:
        step.flags += CHUNKS if o.documents else []
    return found


def add_mapped_exits(start: Path, corpus: Corpus, out: Path, device: str) -> None:
    """A checkpoint with mapped exits from a checkpoint or a model folder."""
    model = load_model(start)[0] if start.is_dir() else load_checkpoint(start)
    model = with_mapped_exits(model.to(device), corpus, MAP_TOKENS)
    write_checkpoint(out, model.config.to_json(), model.state_dict())


def add_shortlist(config: ModelConfig, corpus: Corpus, out: Path) -> None:
    """Makes a shortlist from the model's own translations if it has none. A separate source vocabulary shares no
    ids."""
    if not (out / SHORTLIST).exists() and config.source_vocab_size is None:
        common = int(COMMON * config.vocab_size)
        shortlist(corpus, config.vocab_size, WIDTH, common, PAIRS).save(out / SHORTLIST)


def training_data(o: argparse.Namespace, config: ModelConfig, work: Path) -> Path:
    if o.monolingual:
        return monolingual(o.model, config, o.monolingual, o.bin, work, o.sentences)
    if o.documents:
        raise ValueError("--documents needs --monolingual: text in whole documents")
    t = config.tokens
    if (o.model / VOCABULARY).exists() or (t.pad, t.unk, t.bos, t.eos, t.separator) != (0, 1, 2, 3, 4):
        raise ValueError(f"{o.model}: its tokens are not those that `salient.prepare` writes; use --monolingual")
    other = other_tokenizer(o.model, o.data)
    if other is not None:
        raise ValueError(f"{o.data / other} is not the model's tokeniser: copy all of {o.model}/*tokenizer.model to an "
                         "empty folder, and prepare the data there")
    return o.data


def refuse_what_cannot_learn(o: argparse.Namespace, config: ModelConfig) -> None:
    model = o.model
    if o.documents and o.adapt:
        raise ValueError("--adapt cannot go with --documents: it trains all weights, and the model would forget words; "
                         "leave --adapt out")
    if config.autoregression == "ssru":
        raise ValueError(f"{model}: its decoder has an SSRU, whose state a layer that was skipped cannot make later; "
                         "such models have no early exits")
    if config.languages is not None:
        raise ValueError(f"{model}: its config.json has `languages`, and models with language tokens (M2M-100, NLLB, "
                         "OPUS-MT with >>xx<<) are not supported, even with one pair of languages")


def made_from(o: argparse.Namespace) -> dict:
    """What the data and the checkpoints of a run depend on."""
    texts = o.monolingual or [o.data / name for name in ("train.npz", "dev.npz") if (o.data / name).exists()]
    for path in texts:
        if not path.is_file():
            raise ValueError(f"--monolingual: there is no file {path}")
    options = {name: value for name, value in vars(o).items() if name not in (*FREE, "data", "monolingual")}
    return options | {"model": model_hash(o.model), "text": file_hash(texts)}


def claim(work: Path, o: argparse.Namespace) -> None:
    """Makes the work folder of a run. Refuses that of another run, whose data and checkpoints would be taken for this
    one's."""
    run, now = work / RUN, made_from(o)
    before = json.loads(run.read_text()) if run.exists() else {}
    others = [name for name, value in now.items() if before.get(name) != value]
    made = {path.name for path in work.glob("*") if path.suffix != ".part"} - {RUN}
    if others and made:
        raise ValueError(f"{work}: it is of a run with other values of {', '.join(others)}; remove it, or name another "
                         "--out")
    work.mkdir(parents=True, exist_ok=True)
    with whole_file(run) as part:
        part.write_text(json.dumps(now, indent=2) + "\n")


def retrofit(o: argparse.Namespace) -> None:
    check_device(o.device)
    work = o.out / "work"
    config, start = ModelConfig.load(o.model), o.model
    refuse_what_cannot_learn(o, config)
    claim(work, o)
    before = config
    if o.documents:
        start = work / JOINED
        config = join(o.model, start)
    data = training_data(o, config, work)
    planned = steps(o, config)
    total = sum(SHARES.get(step.name, 0) for step in planned)
    for step in planned:
        checkpoint = work / f"{step.name}.pt"
        if step.phase == MEAN:
            if not checkpoint.exists():
                write_average([(work / JOINED, ORIGINAL), (start, 1 - ORIGINAL)], checkpoint)
        elif step.phase == MAPPED:
            if not checkpoint.exists():
                add_mapped_exits(start, Corpus.load(data / "train.npz"), checkpoint, o.device)
        else:
            minutes = o.minutes * SHARES[step.name] / total
            print(f"{step.name}: {minutes:.1f} minutes, log in {work / step.name}.jsonl", file=sys.stderr)
            run_phase(step.phase, data.resolve(), checkpoint.resolve(), "--start", str(start.resolve()),
                      "--minutes", str(minutes), "--batch-tokens", str(o.batch_tokens), "--device", o.device,
                      *step.flags)
        start = checkpoint
    model = load_checkpoint(start).to(o.device)
    sentences = config.tokens.separator is None
    calibrate(model, data, Vocabulary(o.model, config), **({"count": CALIBRATED * 64} if sentences else {}))
    readme = o.model / "README.md"
    with new_files(o.out) as made:
        export(model.cpu(), o.model / TOKENIZER, made, dtype=o.dtype, readme=readme if readme.exists() else None)
        if o.documents:  # the vocabulary has grown, and the shortlist is of the old one
            write_vocabulary(o.model, before, made)
        else:
            copy_existing(o.model, made, SHORTLIST)
        if o.monolingual:
            add_shortlist(config, Corpus.load(data / "train.npz"), made)
    if not o.keep_work:
        shutil.rmtree(work)
    print(f"wrote {o.out}; measure it with training/evaluate", file=sys.stderr)


def checked(kind: Callable[[str], object]) -> Callable[[str], str]:
    """The type of an option that is handed on as it is, to a phase that begins much later."""
    def parsed(text: str) -> str:
        kind(text)
        return text

    return parsed


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    p.add_argument("--model", type=Path, required=True, help="folder of the dense model")
    text = p.add_mutually_exclusive_group(required=True)
    text.add_argument("--data", type=Path, help="folder that `salient.prepare` wrote")
    text.add_argument("--monolingual", type=Path, nargs="+", metavar="TEXT",
                      help="text in the source language, a paragraph a line, plain or .xz")
    p.add_argument("--bin", type=Path, default=Path("build/release/bin"),
                   help="with --monolingual: folder of the programs salient and salient-server")
    p.add_argument("--sentences", type=whole(1), default=100_000,
                   help="with --monolingual: the most that are translated")
    p.add_argument("--out", type=Path, required=True, help="folder of the new model")
    p.add_argument("--minutes", type=positive, default=20, help="all phases of training together")
    p.add_argument("--selection", action=argparse.BooleanOptionalAction, default=None,
                   help="selection layers; when left out, for models of whole documents alone: a sentence has few keys")
    p.add_argument("--adapt", action="store_true", help="let the model change: with selection layers all of it, "
                   "without them the decoder's layers, for their exits")
    p.add_argument("--documents", action="store_true", help="with --monolingual, a file or `# source|document` a "
                   "document: teach a model of single sentences to translate several at once")
    p.add_argument("--captured", type=share, help="share of the attention that the kept keys must hold; when left "
                   f"out {CAPTURED}, and with --documents, whose chunks are short, {CAPTURED_IN_CHUNKS}")
    p.add_argument("--k-most", type=checked(k_most), default="encoder=0.1,decoder=0.03,cross=0.05",
                   metavar="MODULE=SHARE,...", help="with --adapt and selection layers: the budget of keys")
    p.add_argument("--selection-width", type=whole(8, 8), default=64,
                   help="width of the selection layers' head")
    p.add_argument("--tied-exits", dest="untied_exits", action="store_false",
                   help="early exits have the model's own classifier: smaller; without --adapt much worse")
    p.add_argument("--exit-shares", type=checked(exit_shares), metavar="EXIT=SHARE,...",
                   help="with --adapt, without selection layers: weights of the early exits' losses relative to "
                        "each other, as in salient.train; equal when left out")
    p.add_argument("--batch-tokens", type=whole(1), default=4096, help="a GPU wants 16384 and more")
    p.add_argument("--lr", type=not_negative, default=1e-4,
                   help="with --documents, or with --adapt without selection layers: the learning rate; about 4e-4 for "
                        "large batches")
    p.add_argument("--matrix-lr", type=not_negative, default=0,
                   help="the same: Muon's, for the layers' matrices; 0: Adam has them, too")
    p.add_argument("--device", default="cpu", help="cpu or cuda")
    p.add_argument("--dtype", choices=["f32", "bf16", "int8"], default="f32", help="type of the stored matrices")
    p.add_argument("--keep-work", action="store_true", help="keep checkpoints and logs in OUT/work")
    return p


def main() -> None:
    p = parser()
    o = p.parse_args()
    with refusals("retrofit"):
        refuse_without_effect(o, ModelConfig.load(o.model), given(p))
        retrofit(o)


if __name__ == "__main__":
    main()
