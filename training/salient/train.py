"""Trains a model in phases, each a run of this command on the last one's checkpoint.

    base         dense attention, aligned training of every exit (eq. 4 of arXiv 1910.10073)
    supervision  selection layers alone imitate the frozen model's attention (eq. 5), which stays dense; k adapts
    selection    all of it: KL supervision, straight-through masks, adaptive k (arXiv 2309.14174)
    exits        the norms and classifiers of early exits alone, towards the frozen last exit (of a model trained dense)
    depth        all of it once more, halting heads with it (eq. 6 of arXiv 1910.10073)
    halting      the halting heads on the frozen model, against their oracles

Flags that a command leaves out are those of salient/recipe.py for its phase, or else the defaults shown by --help. A
phase lasts `--minutes` of wall-clock time or a number of `--steps`; its learning rate follows its progress, and it
resumes from its checkpoint.
Over the last share of a phase the weights are averaged, and the mean is kept if it does better on development text.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from .config import HEADS, Exits, ModelConfig, Selection
from .data import BOS, MIXTURE, Corpus, ahead, batches
from .depth import geometric_loss, oracle
from .loss import smoothed_cross_entropy
from .model import Transformer
from .optimiser import optimisers
from .recipe import RECIPE
from .selection import MODULES, SelectionRun, adapt_fraction
from .tensor_file import read_folder

TRAINED = {"base": {"base", "exit"}, "supervision": {"selection"}, "selection": {"base", "exit", "selection"},
           "exits": {"exit"}, "depth": {"base", "exit", "selection", "halting"}, "halting": {"halting"}}
MEASURE_EVERY = 4  # steps between two measurements of k in the supervision phase, which needs no masks otherwise


AVERAGE_EVERY = 10  # steps between two states that enter the average


class Trainer:
    def __init__(self, model: Transformer, options: argparse.Namespace):
        self.device = torch.device(options.device)
        self.model, self.options, self.config = model.to(self.device), options, model.config
        self.step, self.elapsed, self.worked = 0, 0.0, 0.0  # seconds on the clock, and of the processor
        self.average, self.averaged = {}, 0  # sums of trained weights, and of how many states
        self.rng = random.Random(options.seed)
        for name, p in model.named_parameters():
            p.requires_grad = self.part_of(name) in TRAINED[options.phase]
        self.optimisers = optimisers(model, options.matrix_lr, options.lr)

    def part_of(self, name: str) -> str:
        if name.startswith("halting."):
            return "halting"
        if ".selection." in name:
            return "selection"
        last = f".{self.config.decoder.layers - 1}."  # the last exit is the model's own
        return "exit" if name.startswith(("exit_norms.", "exit_classifiers.")) and last not in name else "base"

    def progress(self) -> float:
        """The share of the phase that is done: of its steps if it has a number of them, of its time otherwise."""
        o = self.options
        if o.steps:
            return self.step / o.steps
        return (self.worked if o.processor_time else self.elapsed) / (o.minutes * 60)

    def rate(self) -> float:
        """Warm-up by steps, then flat, then linear to zero over the last share of the phase."""
        left = 1 - self.progress()
        return min(1.0, (self.step + 1) / self.options.warmup) * max(0.0, min(1.0, left / self.options.cooldown))

    def selection_run(self) -> SelectionRun:
        if self.options.phase in ("base", "exits") or self.config.selection is None:
            return SelectionRun()
        chosen = self.config.selection
        # Halting heads see the states that they will meet: under selection and dense, batch by batch.
        mode = "dense" if self.options.phase in ("depth", "halting") and self.step % 2 else "select"
        if self.options.phase == "supervision":
            mode = "supervise"
        return SelectionRun(mode=mode, measure=mode == "select" or self.step % MEASURE_EVERY == 0,
                            fraction=chosen.key_fraction, min_keys=chosen.min_keys,
                            straight_through=self.options.straight_through,
                            supervision=self.options.supervision, window=self.options.attention_window)

    def translation_loss(self, states, target) -> torch.Tensor:
        """Aligned training: the mean over exits of their losses, estimated by the last exit and one other.

        A model without exits learns at its last layer alone.
        """
        model, n = self.model, self.config.decoder.layers
        aligned = n > 1 and self.config.exits is not None
        gold = target[:, 1:].flatten()
        exits = [(n - 1, 1 / n), (self.rng.randrange(n - 1), (n - 1) / n)] if aligned else [(n - 1, 1.0)]
        loss = 0.0
        for exit_layer, weight in exits:
            rows = model.exit_norms[exit_layer](states[exit_layer]).flatten(0, 1)
            if self.options.bf16:
                rows = rows.to(torch.bfloat16)
            total = smoothed_cross_entropy(rows, model.classifier(exit_layer), model.output_bias, gold,
                                           self.options.label_smoothing, self.config.tokens.pad)
            loss = loss + weight * total / gold.ne(self.config.tokens.pad).sum()
            if exit_layer == n - 1:
                self.last_exit_loss = float(total.detach()) / int(gold.ne(self.config.tokens.pad).sum())
        return loss

    def exits_loss(self, source, target) -> torch.Tensor:
        """Early exits learn the distribution of the frozen last one: mean over exits of KL(last exit, exit n)."""
        model, n = self.model, self.config.decoder.layers
        real = target[:, 1:].ne(self.config.tokens.pad)
        with torch.no_grad():
            run = SelectionRun()
            states = [h[real] for h in model.decode(target[:, :-1], source, model.encode(source, run), run)]
            teacher = model.logits(n - 1, states[-1]).float().log_softmax(-1)
        students = [model.logits(i, states[i]).float().log_softmax(-1) for i in range(n - 1)]
        losses = [F.kl_div(student, teacher, reduction="sum", log_target=True) for student in students]
        return sum(losses) / (len(losses) * len(teacher))

    def most(self, module: str) -> float:
        """The bound on k: from 1 down to --k-most, a straight line over the first --k-most-share of the phase."""
        bound = self.options.k_most.get(module, 1.0)
        done = min(1.0, self.progress() / self.options.k_most_share)
        return 1 - (1 - bound) * done

    def adapt(self, run: SelectionRun) -> None:
        o = self.options
        for module in MODULES:
            for i, captured in enumerate(run.captured.get(module, ())):
                k = self.config.selection.key_fraction[module][i]
                k = adapt_fraction(k, captured, o.captured, o.k_step, growing=k < 0.5)
                self.config.selection.key_fraction[module][i] = min(k, self.most(module))

    @torch.no_grad()
    def exit_scores(self, normed, gold) -> torch.Tensor:
        """What the oracle compares: [B, T, N] of the exits' normed states [B, T, d]."""
        model, found, best = self.model, [], []
        for n, h in enumerate(normed):
            logits = F.linear(h, model.classifier(n), model.output_bias).float()
            if self.options.oracle == "likelihood":
                found.append(logits.log_softmax(-1).gather(-1, gold.unsqueeze(-1)).squeeze(-1))
            else:
                best.append(logits.argmax(-1))
        if best:
            reference = gold if self.options.oracle == "correctness" else best[-1]
            found = [token.eq(reference).float() for token in best]
        return torch.stack(found, -1)

    def halting_loss(self, states, memory, source, target) -> torch.Tensor:
        """Cross entropy of the heads with the exits that the oracle chooses."""
        model, heads, o = self.model, self.model.halting, self.options
        gold, real = target[:, 1:], target[:, 1:].ne(self.config.tokens.pad)
        normed = [norm(h) for norm, h in zip(model.exit_norms, states)]
        score = self.exit_scores(normed, gold)
        a_token = oracle(score, real, o.penalty, sigma=o.sigma)
        a_sequence = oracle(score, real, o.penalty, a_sequence=True)
        loss = torch.zeros((), device=self.device)
        if heads.sequence is not None:
            source_real = source.ne(self.config.tokens.pad).unsqueeze(-1)
            mean = (memory * source_real).sum(1) / source_real.sum(1)
            loss = loss + F.cross_entropy(heads.sequence(mean).float(), a_sequence)
        if heads.multinomial is not None:
            loss = loss + F.cross_entropy(heads.multinomial(normed[0]).float()[real], a_token[real])
        if heads.geometric is not None:
            logits = torch.stack([heads.geometric_logit(n, h) for n, h in enumerate(normed)], -1)
            loss = loss + geometric_loss(logits.float(), a_token, real)
        self.mean_oracle_exit = 1 + float(a_token[real].float().mean())
        return loss

    def forward(self, source, target):
        """(states after every decoder layer, the encoder's output, how selection went)."""
        run = self.selection_run()
        with torch.set_grad_enabled(self.options.phase != "halting"):
            memory = self.model.encode(source, run)
            return self.model.decode(target[:, :-1], source, memory, run), memory, run

    def loss(self, source, target) -> tuple[torch.Tensor, SelectionRun, dict]:
        """What the phase minimises, how selection went, and what the log says."""
        o, notes = self.options, {}
        if o.phase == "exits":
            loss = self.exits_loss(source, target)
            return loss, SelectionRun(), {"loss": float(loss.detach())}
        states, memory, run = self.forward(source, target)
        loss = torch.zeros((), device=self.device)
        if o.phase in ("base", "selection", "depth"):
            loss = self.translation_loss(states, target)
            notes["loss"] = self.last_exit_loss
        if o.phase in ("depth", "halting"):
            halting = self.halting_loss(states, memory, source, target)
            loss = loss + o.halting_weight * halting  # (6) of 1910.10073
            notes.update(halting=float(halting.detach()), oracle_exit=self.mean_oracle_exit)
        if run.mode != "dense" and o.phase != "halting":
            notes["kl"] = float(run.loss.detach())
            notes["k"] = {m: [round(x, 3) for x in v] for m, v in self.config.selection.key_fraction.items()}
            notes["captured"] = {m: [round(x, 3) for x in v] for m, v in run.captured.items()}
            loss = loss + o.alpha * run.loss  # (6)
        return loss, run, notes

    def precision(self):
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.options.bf16)

    def train_step(self, source, target) -> dict:
        o = self.options
        source, target = source.to(self.device, non_blocking=True), target.to(self.device, non_blocking=True)
        with self.precision():
            loss, run, notes = self.loss(source, target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in self.model.parameters() if p.grad is not None], 2.0)
        for optimiser in self.optimisers:
            optimiser.param_groups[0]["lr"] = optimiser.defaults["lr"] * self.rate()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        if o.phase in ("supervision", "selection"):
            self.adapt(run)
        self.step += 1
        if self.progress() > 1 - o.average and self.step % AVERAGE_EVERY == 0:
            self.add_to_average()
        return notes

    @torch.no_grad()
    def add_to_average(self) -> None:
        for name, p in self.model.named_parameters():
            if p.requires_grad:
                self.average[name] = self.average[name] + p if name in self.average else p.detach().clone()
        self.averaged += 1

    @torch.no_grad()
    def swap_average(self) -> None:
        """Exchanges the weights with their average."""
        for name, p in self.model.named_parameters():
            if name in self.average:
                mean = self.average[name] / self.averaged
                self.average[name] = p.detach() * self.averaged
                p.copy_(mean)

    def keep_the_better(self, dev: Corpus) -> dict:
        """At the end of a phase: the average of the last states, unless the very last is better on development text."""
        last = self.dev_loss(dev, 20_000)
        self.swap_average()
        mean = self.dev_loss(dev, 20_000)
        if sum(mean) > sum(last):
            self.swap_average()
        return {"dev_nll_last": last, "dev_nll_average": mean, "averaged": self.averaged}

    def dev_loss(self, corpus: Corpus, tokens: int) -> list[float]:
        """Mean negative log-likelihood a token at every exit, dense, on a fixed part of the development set."""
        totals, count = [0.0] * self.config.decoder.layers, 0
        with torch.no_grad(), self.precision():
            for source, target in batches(corpus, 4096, seed=1, mixture={384: 1.0}, endless=False):
                source, target = source.to(self.device), target.to(self.device)
                run, gold = SelectionRun(), target[:, 1:].flatten()
                states = self.model.decode(target[:, :-1], source, self.model.encode(source, run), run)
                for n, h in enumerate(states):
                    rows = self.model.exit_norms[n](h).flatten(0, 1)
                    totals[n] += float(smoothed_cross_entropy(rows, self.model.classifier(n), self.model.output_bias,
                                                              gold, 0.0, self.config.tokens.pad))
                count += int(gold.ne(self.config.tokens.pad).sum())
                if count > tokens:
                    break
        return [round(t / count, 4) for t in totals]

    def save(self, path: Path) -> None:
        part = path.with_suffix(".part")
        torch.save({"config": self.config.to_json(), "model": self.model.state_dict(), "step": self.step,
                    "elapsed": self.elapsed, "worked": self.worked, "average": self.average, "averaged": self.averaged,
                    "optimisers": [o.state_dict() for o in self.optimisers]}, part)
        part.replace(path)

    def resume(self, stored: dict) -> None:
        self.step, self.elapsed, self.worked = stored["step"], stored["elapsed"], stored["worked"]
        self.average, self.averaged = stored["average"], stored["averaged"]
        for optimiser, state in zip(self.optimisers, stored["optimisers"]):
            optimiser.load_state_dict(state)

    def run(self, train: Corpus, dev: Corpus | None, out: Path) -> None:
        if self.progress() >= 1:
            return
        o, last, spent = self.options, time.monotonic(), {"save": time.monotonic(), "log": time.monotonic()}
        tokens, worked_before = 0, self.worked - time.process_time()
        stream = batches(train, o.batch_tokens, o.seed + self.step, o.mixture, o.source_weights)
        for source, target in ahead(stream, pinned=self.device.type == "cuda"):
            notes = self.train_step(source, target)
            now = time.monotonic()
            self.elapsed, last = self.elapsed + now - last, now
            self.worked = worked_before + time.process_time()
            tokens += int(target.ne(BOS).sum() - target.eq(self.config.tokens.pad).sum())
            done = self.progress() >= 1
            if now - spent["log"] > o.log_seconds or done:
                rate = tokens / (now - spent["log"])
                print(json.dumps({"phase": o.phase, "step": self.step, "minutes": round(self.elapsed / 60, 1),
                                  "processor_minutes": round(self.worked / 60, 1), "tokens_per_second": round(rate),
                                  **notes}), flush=True)
                spent["log"], tokens = now, 0
            if now - spent["save"] > o.save_seconds or done:
                if done and self.averaged and dev is not None and o.phase in ("base", "selection", "depth"):
                    print(json.dumps(self.keep_the_better(dev)), flush=True)
                elif dev is not None:
                    print(json.dumps({"step": self.step, "dev_nll_by_exit": self.dev_loss(dev, 20_000)}), flush=True)
                self.save(out)
                spent["save"] = time.monotonic()
            if done:
                return


def table_of(number):
    """Parses `key=value,key=value` into a dict whose keys are made by `number`."""
    return lambda text: {number(key): float(value) for key, value in (item.split("=") for item in text.split(","))}


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--phase", choices=list(TRAINED), required=True)
    p.add_argument("--data", type=Path, required=True, help="folder that `salient.data prepare` wrote")
    p.add_argument("--config", type=Path, help="config.json of a new model (phase base)")
    p.add_argument("--start", type=Path, help="checkpoint of the phase before")
    p.add_argument("--out", type=Path, required=True, help="checkpoint to write, and to resume from if it exists")
    p.add_argument("--minutes", type=float, default=10, help="wall-clock time of the phase")
    p.add_argument("--processor-time", action="store_true",
                   help="--minutes of the processor's time, so that other work on the machine changes nothing")
    p.add_argument("--steps", type=int, help="batches of the phase, instead of --minutes")
    p.add_argument("--batch-tokens", type=int, default=6144)
    p.add_argument("--mixture", type=table_of(int), default=MIXTURE, metavar="TOKENS=SHARE,...",
                   help="share of the tokens cut to windows of so many tokens; 0 for single segments")
    p.add_argument("--source-weights", type=table_of(str), default={}, metavar="SOURCE=WEIGHT,...",
                   help="how often a pass holds the documents of a source; 1 for those left out")
    p.add_argument("--lr", type=float, default=2e-3, help="Adam: embeddings, norms, biases, heads")
    p.add_argument("--matrix-lr", type=float, default=0.02, help="Muon: weight matrices of the layers")
    p.add_argument("--warmup", type=int, default=200)
    p.add_argument("--cooldown", type=float, default=0.5, help="share of the phase over which the rate falls to zero")
    p.add_argument("--average", type=float, default=0.1, help="share of the phase over which weights are averaged")
    p.add_argument("--label-smoothing", type=float, default=0.1)
    p.add_argument("--alpha", type=float, default=0.01, help="weight of the supervision (eq. 6)")
    p.add_argument("--captured", type=float, default=0.95, help="t of eq. 7")
    p.add_argument("--k-step", type=float, default=0.001, help="step of eq. 7")
    p.add_argument("--k-most", type=table_of(str), default={}, metavar="MODULE=SHARE,...",
                   help="bounds on k for encoder, decoder and cross: a budget, beside eq. 7; none when left out")
    p.add_argument("--k-most-share", type=float, default=0.6, help="share of the phase over which the bounds come down")
    p.add_argument("--selection-width", type=int, help="new selection layers of this width (ds) instead of the old")
    p.add_argument("--selection-group", type=table_of(str), metavar="MODULE=LAYERS,...",
                   help="new selection layers, shared by groups of so many layers (r)")
    p.add_argument("--supervision", choices=["own", "group"], default="group")
    p.add_argument("--straight-through", action=argparse.BooleanOptionalAction, default=True,
                   help="whether masks have the gradient of eq. 3")
    p.add_argument("--attention-window", type=int, help="ablation: a fixed window of that many keys instead of top-k")
    p.add_argument("--untied-exits", action="store_true", help="phase exits: a classifier of its own for every exit")
    p.add_argument("--halting-weight", type=float, default=1.0, help="phase depth: alpha of eq. 6, of 1910.10073")
    p.add_argument("--oracle", choices=["likelihood", "correctness", "agreement"], default="correctness",
                   help="agreement: correctness with the last exit's own prediction as the reference")
    p.add_argument("--penalty", type=float, default=0.1, help="alpha of eq. 9, 10, 15, 17")
    p.add_argument("--sigma", type=float, default=1.0, help="width of the smoothing over time, 0 for none")
    p.add_argument("--no-bf16", dest="bf16", action="store_false")
    p.add_argument("--device", default="cpu", help="cpu or cuda")
    p.add_argument("--compile", action="store_true", help="compile the layers' element-wise parts (torch.compile)")
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--log-seconds", type=float, default=30)
    p.add_argument("--save-seconds", type=float, default=300)
    return p


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command's options; what it leaves out is the phase's recipe."""
    p = parser()
    p.set_defaults(**RECIPE[p.parse_known_args(arguments)[0].phase])
    return p.parse_args(arguments)


def load(path: Path) -> dict:
    """A checkpoint, or a model folder as a checkpoint: so that a dense model made elsewhere can be adapted."""
    if path.is_dir():
        return {"config": (path / "config.json").read_text(), "model": read_folder(path)}
    return torch.load(path, map_location="cpu")


def grow(config: ModelConfig, options: argparse.Namespace) -> bool:
    """Adds to the configuration what the phase trains and the model lacks; whether selection layers start anew."""
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
        config.selection.group.update({m: int(r) for m, r in (options.selection_group or {}).items()})
        config.selection.key_fraction = {}
    if not config.selection.key_fraction:
        config.selection.key_fraction = {m: [1.0] * len(config.selection_layers(m)) for m in MODULES}
    return bool(anew)


def build(start: dict | None, options: argparse.Namespace, resumed: bool = False) -> Transformer:
    """The model of a checkpoint, with parts that the phase needs and the checkpoint lacks freshly initialised."""
    config = ModelConfig.from_json(start["config"] if start else options.config.read_text())
    anew = not resumed and grow(config, options)
    model = Transformer(config)
    if start:
        tensors = {n: t for n, t in start["model"].items() if not (anew and ".selection." in n)}
        missing, unexpected = model.load_state_dict(tensors, strict=False)
        grown = (".selection.", "halting.", "exit_classifiers.")
        lost = [n for n in missing if not any(part in n for part in grown)] + unexpected
        if lost:
            raise ValueError(f"the checkpoint does not fit its configuration: {', '.join(sorted(lost)[:5])}")
        if model.exit_classifiers is not None and any("exit_classifiers." in n for n in missing):
            for classifier in model.exit_classifiers:  # a new classifier starts as the model's own
                classifier.weight.data.copy_(model.embedding.weight)
    return model


def run_phase(phase: str, data: Path, out: Path, *flags: str) -> None:
    """Another process that trains one phase; it logs beside its checkpoint and returns at once if the phase is over."""
    command = [sys.executable, "-m", "salient.train", "--phase", phase, "--data", str(data), "--out", str(out), *flags]
    with open(out.with_suffix(".jsonl"), "a", encoding="utf-8") as log:
        subprocess.run(command, check=True, stdout=log, cwd=Path(__file__).resolve().parents[1])


def main() -> None:
    options = parse()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    stored = load(options.out) if options.out.exists() else None
    model = build(stored or (load(options.start) if options.start else None), options, resumed=stored is not None)
    trainer = Trainer(model, options)
    if options.compile:
        model.compile_blocks()
    if stored:
        trainer.resume(stored)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters", file=sys.stderr)
    dev, corpus = options.data / "dev.npz", Corpus.load(options.data / "train.npz")
    most = int(max(corpus.source.max(), corpus.target.max()))
    if most >= model.config.vocab_size:
        sys.exit(f"{options.data}: token {most} is beyond the configuration's vocab_size {model.config.vocab_size}; "
                 "prepare the data with a tokenizer.model of that size")
    trainer.run(corpus, Corpus.load(dev) if dev.exists() else None, options.out)


if __name__ == "__main__":
    main()
