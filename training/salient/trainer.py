"""One phase of training: steps, learning rates, the adapting ratio of keys, averages, checkpoints."""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path

import torch

from .checkpoint import write_checkpoint
from .data import Corpus, ahead, batches, within
from .loss import smoothed_cross_entropy
from .model import Transformer
from .objective import TRAINED, Objective
from .optimiser import optimisers
from .selection import MODULES, SelectionRun, adapt_ratio

MEASURE_EVERY = 4  # steps between measurements of k in the supervision phase, which needs no masks otherwise
AVERAGE_EVERY = 10  # steps between the states that enter the average


def begins(name: str, patterns: list[str]) -> bool:
    """Whether the name begins as one of the patterns, in which * stands for any characters."""
    return any(fnmatchcase(name, pattern + "*") for pattern in patterns)


def refuse_unknown_parts(model: Transformer, frozen: list[str]) -> None:
    """Raises ValueError if nothing has a name that begins as one of `frozen`. Optional parts that this model lacks may
    be named."""
    lacks = [name for name, part in vars(model).items() if part is None and not name.startswith("_")]
    parts = [name for name, _ in model.named_parameters()] + lacks
    for name in frozen:
        if not any(begins(part, [name]) for part in parts):
            raise ValueError(f"--frozen: no part of a model is named {name}...; there are "
                             + ", ".join(dict.fromkeys(part.split(".")[0] for part in parts)))


class Trainer:
    def __init__(self, model: Transformer, options: argparse.Namespace):
        self.device = torch.device(options.device)
        self.model, self.options, self.config = model.to(self.device), options, model.config
        self.step, self.elapsed, self.worked = 0, 0.0, 0.0  # wall-clock and processor seconds
        self.target_tokens = 0  # that were learned from
        self.left_out = 0  # steps whose gradient was not finite: one of them would end the model
        self.average, self.averaged = {}, 0  # sums of trained weights, and their number
        self.objective = Objective(model, options, random.Random(options.seed))
        self.model.train()
        self.model.set_dropout(options.dropout, options.word_dropout)
        refuse_unknown_parts(model, options.frozen)
        for name, p in model.named_parameters():
            p.requires_grad = self.part_of(name) in TRAINED[options.phase] and not begins(name, options.frozen)
        if not any(p.requires_grad for p in model.parameters()):
            raise ValueError(f"phase {options.phase}: no part of this model learns in it"
                             + ("; name less with --frozen" if options.frozen else
                                "; with --untied-exits every exit gets a classifier that learns"
                                if options.phase == "exits" else ""))
        if options.learned_tokens:
            for name, p in model.named_parameters():
                if name in ("embedding.weight", "output.weight", "output_bias") and p.requires_grad:
                    p.register_hook(self.of_learned_tokens)
        self.encoder_learns = any(p.requires_grad for p in model.encoder_layers.parameters())
        self.optimisers = optimisers(model, options.matrix_lr, options.lr, options.bf16)
        if options.phase == "base" and options.selected and not self.has_learned_selection:
            raise ValueError("--selected: this model has no learned selection yet; phases supervision and selection "
                             "train it")

    @property
    def has_learned_selection(self) -> bool:
        """Whether the model has selection layers and a ratio of keys for each."""
        return self.config.selection is not None and bool(self.config.selection.learned_ratio)

    def learned_by(self) -> list[list[str]]:
        """The names of the parameters of each optimiser, in its order."""
        names = {id(p): name for name, p in self.model.named_parameters()}
        return [[names[id(p)] for group in o.param_groups for p in group["params"]] for o in self.optimisers]

    def of_learned_tokens(self, gradient: torch.Tensor) -> torch.Tensor:
        """gradient [V, ...], only for the first or the last tokens. Adam does not move parameters that never had a
        gradient."""
        count, learned = self.options.learned_tokens, torch.zeros_like(gradient)
        chosen = slice(count, None) if count < 0 else slice(count)
        learned[chosen] = gradient[chosen]
        return learned

    def part_of(self, name: str) -> str:
        if name.startswith("halting."):
            return "halting"
        if ".selection." in name:
            return "selection"
        last = f".{self.config.decoder.layers - 1}."  # the last exit is the model's own output
        return "exit" if name.startswith(("exit_norms.", "exit_classifiers.")) and last not in name else "base"

    def progress(self) -> float:
        """The finished share of the phase: of its steps if their number is set, otherwise of its time."""
        o = self.options
        if o.steps:
            return self.step / o.steps
        return (self.worked if o.processor_time else self.elapsed) / (o.minutes * 60)

    def rate(self) -> float:
        """Learning rate: warm-up over steps, then constant, then linear to zero over the last share of the phase."""
        o, left = self.options, 1 - self.progress()
        warm = min(1.0, (self.step + 1) / max(1, o.warmup))
        return warm * max(0.0, min(1.0, left / o.cooldown if o.cooldown else 1.0))

    @property
    def learns_selection(self) -> bool:
        """Whether selection layers or k change in the phase. Otherwise their sets are only applied."""
        o = self.options
        return "selection" in TRAINED[o.phase] and (o.phase != "depth" or o.alpha > 0 or o.straight_through)

    @property
    def selects(self) -> bool:
        """Whether the step's batch has selection. Halting heads must see the states of both ways of use, so batches
        alternate."""
        share = {"base": self.options.selected, "depth": 0.5, "halting": 0.5}.get(self.options.phase, 1.0)
        return math.ceil((self.step + 1) * share) > math.ceil(self.step * share)

    def selection_run(self) -> SelectionRun:
        chosen = self.config.selection
        if self.options.phase == "exits" or not self.has_learned_selection:
            return SelectionRun()
        mode = "supervise" if self.options.phase == "supervision" else "select" if self.selects else "dense"
        if mode == "dense":
            return SelectionRun()
        return SelectionRun(mode=mode, learns=self.learns_selection,
                            measure=mode == "select" or self.step % MEASURE_EVERY == 0,
                            ratio=chosen.learned_ratio, min_keys=chosen.min_keys,
                            straight_through=self.options.straight_through,
                            supervision=self.options.supervision, window=self.options.attention_window)

    def most(self, module: str) -> float:
        """The bound on k: linear from 1 down to --k-most over the first --k-most-share of the phase."""
        bound = self.options.k_most.get(module, 1.0)
        share = self.options.k_most_share
        done = min(1.0, self.progress() / share) if share else 1.0
        return 1 - (1 - bound) * done

    def adapt(self, run: SelectionRun) -> None:
        o = self.options
        for module in MODULES:
            for i, captured in enumerate(run.captured.get(module, ())):
                k = self.config.selection.learned_ratio[module][i]
                k = adapt_ratio(k, captured, o.captured, o.k_step, growing=k < 0.5)
                self.config.selection.learned_ratio[module][i] = min(k, self.most(module))

    def forward(self, source, target, exits=None):
        """(states after every decoder layer, the encoder's output, the run of selection)."""
        run = self.selection_run()
        learns = self.options.phase != "halting"
        with torch.set_grad_enabled(learns and self.encoder_learns):
            memory = self.model.encode(source, run)
        with torch.set_grad_enabled(learns):
            return self.model.decode(self.objective.inputs(target), source, memory, run, exits), memory, run

    def loss(self, source, target) -> tuple[torch.Tensor, SelectionRun, dict]:
        """(the loss that the phase minimises, the run of selection, values for the log)."""
        o, notes = self.options, {}
        if o.phase == "exits":
            loss = self.objective.imitation(source, target)
            return loss, SelectionRun(), {"loss": float(loss.detach())}
        exits = self.objective.early_exits(target) if self.objective.trains_model else None
        states, memory, run = self.forward(source, target, exits)
        loss, candidates = torch.zeros((), device=self.device), self.objective.candidates(target)
        if self.objective.trains_model:
            loss, notes["loss"] = self.objective.translation(states, source, target, candidates, exits,
                                                             memory if run.mode == "dense" else None)
        if o.phase in ("depth", "halting") and exits is None:
            halting, notes["oracle_exit"] = self.objective.halting(states, memory, source, target, candidates)
            loss = loss + o.halting_weight * halting  # (6) of 1910.10073
            notes["halting"] = float(halting.detach())
        if run.mode != "dense" and run.learns:
            notes["kl"] = float(run.loss.detach())
            notes["k"] = {m: [round(x, 3) for x in v] for m, v in self.config.selection.learned_ratio.items()}
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
        norm = torch.nn.utils.clip_grad_norm_([p for p in self.model.parameters() if p.grad is not None], 2.0)
        finite = bool(torch.isfinite(norm))
        self.left_out += not finite
        if self.left_out:
            notes["left_out"] = self.left_out
        for optimiser in self.optimisers:
            optimiser.param_groups[0]["lr"] = optimiser.defaults["lr"] * self.rate()
            if finite:
                optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        if finite and o.phase in ("supervision", "selection"):
            self.adapt(run)
        self.step += 1
        if self.objective.trains_model and self.progress() > 1 - o.average and self.step % AVERAGE_EVERY == 0:
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

    @property
    def seed(self) -> str:
        """That of what is drawn from this step on. Runs with different seeds never draw alike."""
        return f"{self.options.seed} from {self.step}"

    def report(self, measured: dict) -> None:
        """A line of the log about development text."""
        print(json.dumps({"phase": self.options.phase, "step": self.step, "target_tokens": self.target_tokens,
                          **measured}), flush=True)

    def keep_the_better(self, dev: Corpus) -> dict:
        """Ends a phase: keeps the average of the last states, unless the last state is better on development text, at
        all exits that are trained."""
        last = self.dev_loss(dev, 20_000)
        self.swap_average()
        mean = self.dev_loss(dev, 20_000)
        kept = min(mean, last, key=sum if self.objective.aligned else lambda by_exit: by_exit[-1])
        if kept is last:
            self.swap_average()
        return {"dev_nll_by_exit": kept, "dev_nll_last": last, "dev_nll_average": mean,
                "averaged": self.averaged}

    def dev_loss(self, corpus: Corpus, tokens: int) -> list[float]:
        """Mean negative log-likelihood per token at every exit, with dense attention, on a fixed part of the
        development set."""
        totals, count = [0.0] * self.config.decoder.layers, 0
        self.model.eval()
        with torch.no_grad(), self.precision():
            for source, target in batches(corpus, 4096, 1, within(self.config.chunk_tokens, {384: 1.0}), endless=False):
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
        self.model.train()
        return [round(t / count, 4) for t in totals]

    def save(self, path: Path) -> None:
        write_checkpoint(path, self.config.to_json(), self.model.state_dict(), step=self.step,
                         phase=self.options.phase, elapsed=self.elapsed, worked=self.worked,
                         target_tokens=self.target_tokens, average=self.average, averaged=self.averaged,
                         left_out=self.left_out, learned_by=self.learned_by(),
                         optimisers=[o.state_dict() for o in self.optimisers])

    def resume(self, stored: dict) -> None:
        """Goes on from a checkpoint of the same phase. Raises ValueError if it is of another phase, or of none, or if
        other parameters learned, or by another optimiser: their averages and momenta would be taken for these."""
        phase = stored.get("phase", self.options.phase if "step" in stored else "none")  # older checkpoints lack it
        if phase != self.options.phase:
            raise ValueError(f"--out: {self.options.out} is a checkpoint of phase {phase}, not of "
                             f"{self.options.phase}; name another file, or remove it to begin anew")
        if stored.get("learned_by", self.learned_by()) != self.learned_by():  # older checkpoints lack it
            raise ValueError(f"--out: {self.options.out} was trained with another --frozen or --matrix-lr; give the "
                             "same to go on, or name another file")
        self.step, self.elapsed, self.worked = stored["step"], stored["elapsed"], stored["worked"]
        self.objective.rng.seed(self.seed)  # else every part of the run would draw what the first part drew
        torch.manual_seed(self.objective.rng.getrandbits(63))
        self.target_tokens = stored.get("target_tokens", 0)  # older checkpoints lack these two as well
        self.left_out = stored.get("left_out", 0)
        self.average = {name: total.to(self.device) for name, total in stored["average"].items()}
        self.averaged = stored["averaged"]
        for optimiser, state in zip(self.optimisers, stored["optimisers"]):
            optimiser.load_state_dict(state)

    def run(self, train: Corpus, dev: Corpus | None, out: Path) -> None:
        if self.progress() >= 1:
            print(f"{out}: phase {self.options.phase} is over; give it more time, or name another --out",
                  file=sys.stderr)
            return
        o, last, spent = self.options, time.monotonic(), {"save": time.monotonic(), "log": time.monotonic()}
        logged, worked_before = self.target_tokens, self.worked - time.process_time()
        stream = batches(train, o.batch_tokens, self.seed, o.mixture, o.source_weights)
        for source, target in ahead(stream, pinned=self.device.type == "cuda"):
            notes = self.train_step(source, target)
            now = time.monotonic()
            self.elapsed, last = self.elapsed + now - last, now
            self.worked = worked_before + time.process_time()
            self.target_tokens += int(target[:, 1:].ne(self.config.tokens.pad).sum())
            done = self.progress() >= 1
            if now - spent["log"] > o.log_seconds or done:
                rate = (self.target_tokens - logged) / (now - spent["log"])
                print(json.dumps({"phase": o.phase, "step": self.step, "target_tokens": self.target_tokens,
                                  "minutes": round(self.elapsed / 60, 1),
                                  "processor_minutes": round(self.worked / 60, 1), "tokens_per_second": round(rate),
                                  **notes}), flush=True)
                spent["log"], logged = now, self.target_tokens
            if now - spent["save"] > o.save_seconds or done:
                if done and self.averaged and dev is not None and self.objective.trains_model:
                    self.report(self.keep_the_better(dev))
                elif dev is not None:
                    self.report({"dev_nll_by_exit": self.dev_loss(dev, 20_000)})
                self.save(out)
                spent["save"] = time.monotonic()
            if done:
                return
