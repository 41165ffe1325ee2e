"""The losses of the training phases: the translation at every exit, and the oracle's choice for halting heads.

B documents, T target positions, N exits; `target` [B, T + 1] has BOS before and EOS after, states are [B, T, d] each.
"""

from __future__ import annotations

import argparse
import functools
import random

import torch
import torch.nn.functional as F

from .config import Tokens
from .depth import geometric_loss, oracle
from .document_teacher import DocumentTeacher, load_teacher
from .loss import IGNORED, Candidates, Teacher, sampled, smoothed_cross_entropy
from .model import Transformer
from .selection import SelectionRun


# Which parts of the model a phase trains.
TRAINED = {"base": {"base", "exit"}, "supervision": {"selection"}, "selection": {"base", "exit", "selection"},
           "exits": {"exit"}, "depth": {"base", "exit", "selection", "halting"}, "halting": {"halting"}}


def mistaken(inputs: torch.Tensor, share: float, tokens: Tokens, rng: random.Random) -> torch.Tensor:
    """inputs [B, T] with some words replaced by others of the same row. Each row draws its share of replaced words
    between 0 and 2 * `share`. Separators are not replaced."""
    chance = torch.Generator().manual_seed(rng.getrandbits(32))

    def drawn(*shape):
        return torch.rand(*shape, generator=chance).to(inputs.device)

    def is_word(x):
        return x.ne(tokens.pad) & x.ne(tokens.bos) & x.ne(tokens.eos) & x.ne(tokens.separator)

    rows, length = inputs.shape
    other = inputs.gather(1, (drawn(rows, length) * length).long())
    wrong = drawn(rows, length) < 2 * share * drawn(rows, 1)
    return torch.where(wrong & is_word(inputs) & is_word(other), other, inputs)


class Objective:
    """The losses of one model under the options of `salient.train`."""

    def __init__(self, model: Transformer, options: argparse.Namespace, rng: random.Random):
        self.model, self.options, self.rng = model, options, rng
        self.layers, self.pad = model.config.decoder.layers, model.config.tokens.pad
        self.refuse_exit_shares()
        self.teacher = options.teacher and load_teacher(options.teacher, options.data, model.config.tokens,
                                                        options.device)

    def refuse_exit_shares(self) -> None:
        shares, early = self.options.exit_shares, range(1, self.layers)
        unknown = [n for n in shares if n not in early]
        if shares and not self.aligned:
            raise ValueError("--exit-shares: this model has no early exits; phase base with --early-exits adds them")
        if shares and self.mixed:
            raise ValueError("--exit-shares has no effect with --exit-loss mixed, in which each token has one exit")
        if unknown:
            raise ValueError(f"--exit-shares: early exits are 1 to {early[-1]}; not {unknown[0]}")
        if shares and not any(shares.get(n, 1.0) for n in early):
            raise ValueError("--exit-shares: all early exits have 0, so none would learn; give one of them more")

    @property
    def trains_model(self) -> bool:
        """Whether the phase trains the layers themselves, and not only the parts added to them."""
        return "base" in TRAINED[self.options.phase]

    @property
    def aligned(self) -> bool:
        """Whether all exits are trained. A model without exits is trained at its last layer only."""
        return self.layers > 1 and self.model.config.exits is not None

    @property
    def mixed(self) -> bool:
        """Whether every token is trained at one random exit (eq. 5)."""
        return self.aligned and self.options.exit_loss == "mixed"

    def early_exits(self, target) -> torch.Tensor | None:
        """[B, T]: the layers at which tokens exit, so that upper layers learn to read copied states. In mixed training
        they are uniform in every batch; otherwise there are early exits in a share of the batches, and None in the
        others."""
        if not self.aligned or (not self.mixed and self.rng.random() >= self.options.hand_up):
            return None
        chance = torch.Generator().manual_seed(self.rng.getrandbits(32))
        shape = target[:, 1:].shape
        if self.mixed:
            return torch.randint(self.layers, shape, generator=chance).to(target.device)
        stays = self.rng.uniform(0.4, 0.8)  # the probability to continue after a layer
        goes_on = torch.rand(self.layers - 1, *shape, generator=chance) < stays
        return goes_on.long().cumprod(0).sum(0).to(target.device)

    def chosen_exits(self) -> list[tuple[int, float]]:
        """The exits whose losses a step computes, and their weights: 1/N for the last, and the rest for the early ones
        by `--exit-shares`."""
        n = self.layers
        if not self.aligned:
            return [(n - 1, 1.0)]
        shares = [self.options.exit_shares.get(exit_layer + 1, 1.0) for exit_layer in range(n - 1)]
        if self.options.exit_loss == "sampled":
            return [(n - 1, 1 / n), (self.rng.choices(range(n - 1), shares)[0], (n - 1) / n)]
        early = (n - 1) / n / sum(shares)
        return [*((exit_layer, share * early) for exit_layer, share in enumerate(shares)), (n - 1, 1 / n)]

    def inputs(self, target) -> torch.Tensor:
        """The decoder's input for each token of target [B, T + 1]: the reference. With `--mistakes` some words are
        wrong, so that the model learns to continue after its own mistakes."""
        o = self.options
        if not self.trains_model or not o.mistakes:
            return target[:, :-1]
        return mistaken(target[:, :-1], o.mistakes, self.model.config.tokens, self.rng)

    def candidates(self, target) -> Candidates | None:
        """The part of the vocabulary that the step's losses use; None for all of it."""
        o, vocabulary = self.options, self.model.config.vocab_size
        if not 0 < o.vocabulary_sample < vocabulary:
            return None
        generator = torch.Generator().manual_seed(self.rng.getrandbits(32))
        return sampled(target.flatten(), vocabulary, o.vocabulary_sample, generator)

    @functools.cached_property
    def shares_encoder(self) -> bool:
        """Whether the teacher can read what the model's encoder puts out. Known once it is settled what learns."""
        o = self.options
        return (isinstance(self.teacher, DocumentTeacher) and not o.dropout and not o.word_dropout
                and self.teacher.encodes_as(self.model))

    def taught(self, source, target, candidates: Candidates | None, memory) -> Teacher | None:
        """What the teacher (`--teacher`) says of all tokens of the target."""
        if self.teacher is None:
            return None
        known = {"memory": memory} if memory is not None and self.shares_encoder else {}
        teacher = self.teacher(source, target, self.options.teacher_share, **known)
        if candidates is None:
            return teacher
        weight, bias = candidates.of(teacher.weight, teacher.bias)
        return teacher._replace(weight=weight, bias=bias)

    def translation(self, states, source, target, candidates: Candidates | None, exits=None,
                    memory=None) -> tuple[torch.Tensor, float]:
        """Aligned training: the mean of the losses of all exits (eq. 4), estimated from the last exit and one other
        unless `--exit-loss all`. Mixed training: the mean over tokens of the loss at their exit (eq. 5, with M = 1:
        each batch draws exits once). Also returns the loss of the last exit.

        All exits learn from the teacher (`--teacher`). Without one, early exits also learn from the last one
        (`--distil`), except if tokens exit early: a token that does not reach an exit is not counted there.
        memory: the encoder's output, if it is dense.
        """
        model, n, o = self.model, self.layers, self.options

        def rows(exit_layer):
            found = model.exit_norms[exit_layer](states[exit_layer]).flatten(0, 1)
            return found.to(torch.bfloat16) if o.bf16 else found

        classifiers = {}

        def classifier(exit_layer):
            """Weight and bias. With tied classifiers all exits have the same."""
            found = model.classifier(exit_layer)
            if candidates is None:
                return found, model.output_bias
            if id(found) not in classifiers:
                classifiers[id(found)] = candidates.of(found, model.output_bias)
            return classifiers[id(found)]

        last, loss, last_exit_loss, taught = rows(n - 1), 0.0, 0.0, self.taught(source, target, candidates, memory)
        tokens = target[:, 1:].ne(self.pad).sum().clamp_min(1)
        for exit_layer, weight in self.chosen_exits():
            gold = target[:, 1:]
            if exits is not None:
                gold = gold.masked_fill(exits != exit_layer if self.mixed else exits < exit_layer, self.pad)
            gold, teacher, (matrix, bias) = gold.flatten(), taught, classifier(exit_layer)
            if not taught and exit_layer < n - 1 and exits is None and o.distil:
                share = torch.full((len(gold),), o.distil, device=gold.device)
                teacher = Teacher(last.detach(), *classifier(n - 1), share)
            kept = gold.ne(self.pad)
            wanted = gold if candidates is None else candidates.place[gold]
            total = smoothed_cross_entropy(last if exit_layer == n - 1 else rows(exit_layer), matrix, bias,
                                           wanted.masked_fill(~kept, IGNORED), o.label_smoothing, IGNORED, teacher,
                                           None if candidates is None else candidates.weight_log)
            count = gold.ne(self.pad).sum().clamp_min(1)
            loss = loss + (total / tokens if self.mixed else weight * total / count)
            if exit_layer == n - 1:
                last_exit_loss = float(total.detach()) / int(count)
        return loss, last_exit_loss

    def imitation(self, source, target) -> torch.Tensor:
        """Early exits learn the distribution of the frozen last one: mean over exits of KL(last exit, exit n)."""
        model, n = self.model, self.layers
        real = target[:, 1:].ne(self.pad)
        with torch.no_grad():
            run = SelectionRun()
            states = [h[real] for h in model.decode(target[:, :-1], source, model.encode(source, run), run)]
            teacher = model.logits(n - 1, states[-1]).float().log_softmax(-1)
        students = [model.logits(i, states[i]).float().log_softmax(-1) for i in range(n - 1)]
        losses = [F.kl_div(student, teacher, reduction="sum", log_target=True) for student in students]
        return sum(losses) / (len(losses) * len(teacher))

    @torch.no_grad()
    def exit_scores(self, normed, gold, candidates: Candidates | None = None) -> torch.Tensor:
        """The scores that the oracle compares, [B, T, N], from the exits' normalised states. With candidates, an exit
        predicts one of these, and a likelihood is an estimate."""
        model, found, best = self.model, [], []
        tokens = slice(None) if candidates is None else candidates.tokens
        wanted = gold if candidates is None else candidates.place[gold]
        for n, h in enumerate(normed):
            logits = F.linear(h, model.classifier(n)[tokens], model.output_bias[tokens])
            if self.options.oracle == "likelihood":
                logits = logits.float() + (0 if candidates is None else candidates.weight_log)
                found.append(logits.log_softmax(-1).gather(-1, wanted.unsqueeze(-1)).squeeze(-1))
            else:
                best.append(logits.argmax(-1))
        if best:
            reference = wanted if self.options.oracle == "correctness" else best[-1]
            found = [token.eq(reference).float() for token in best]
        return torch.stack(found, -1)

    def halting(self, states, memory, source, target, candidates: Candidates | None) -> tuple[torch.Tensor, float]:
        """Cross entropy of the heads against the oracle's exits, and the mean of these exits (layers from 1)."""
        model, heads, o = self.model, self.model.halting, self.options
        gold, real = target[:, 1:], target[:, 1:].ne(self.pad)
        normed = [norm(h) for norm, h in zip(model.exit_norms, states)]
        score = self.exit_scores(normed, gold, candidates)
        a_token = oracle(score, real, o.penalty, sigma=o.sigma)
        a_sequence = oracle(score, real, o.penalty, a_sequence=True)
        loss = torch.zeros((), device=gold.device)
        if heads.sequence is not None:
            source_real = model.is_source(source).unsqueeze(-1)
            mean = (memory * source_real).sum(1) / source_real.sum(1)
            loss = loss + F.cross_entropy(heads.sequence(mean).float(), a_sequence)
        if heads.multinomial is not None:
            loss = loss + F.cross_entropy(heads.multinomial(normed[0]).float()[real], a_token[real])
        if heads.geometric is not None:
            logits = torch.stack([heads.geometric_logit(n, h) for n, h in enumerate(normed)], -1)
            loss = loss + geometric_loss(logits.float(), a_token, real)
        return loss, 1 + float(a_token[real].float().mean())
