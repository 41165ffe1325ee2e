"""Minimum risk training (arXiv 1512.02433): the model learns from its own translations, by how good they are.

Segment s of a chunk has N translations y_1 ... y_N of the model's own, one in each of N translations of the chunk. With
the cost c(y) = 1 - score(y), the loss is the expected cost under the model's distribution over these translations,

    sum over s of w_s / a * sum over n of Q(y_n) c(y_n),    Q(y_n) = p(y_n)^a / sum over m of p(y_m)^a

(eq. 11 and 12 of the paper). w_s is the length of the reference, because BLEU counts words, not segments. The division
by a keeps the gradient's size independent of a.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import sacrebleu
import sentencepiece
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .config import Tokens
from .sentence_teacher import segments
from .vocabulary import TARGET_TOKENIZER, TOKENIZER

ROWS = 512  # whose logits exist at a time


class Scorer:
    """The mean of sentence BLEU and chrF, from 0 to 1, of token sequences."""

    def __init__(self, data: Path):
        target = data / TARGET_TOKENIZER
        self.pieces = sentencepiece.SentencePieceProcessor(
            model_file=str(target if target.exists() else data / TOKENIZER))
        self.bleu, self.chrf = sacrebleu.BLEU(effective_order=True), sacrebleu.CHRF()
        self.score = lru_cache(maxsize=100_000)(self.measured)

    def measured(self, found: tuple[int, ...], reference: tuple[int, ...]) -> float:
        text, wanted = self.pieces.decode(list(found)), [self.pieces.decode(list(reference))]
        return (self.bleu.sentence_score(text, wanted).score + self.chrf.sentence_score(text, wanted).score) / 200


def token_log_probabilities(states: Tensor, weight: Tensor, bias: Tensor, tokens: Tensor) -> Tensor:
    """[R]: log p of token r after state r. states [R, d], weight [V, d], bias [V]. Logits are formed again for the
    gradient."""
    def some(h, wanted):
        logits = torch.mm(h, weight.to(h.dtype).t()).float() + bias
        return logits.gather(1, wanted.unsqueeze(1)).squeeze(1) - logits.logsumexp(1)

    return torch.cat([checkpoint(some, h, wanted, use_reentrant=False)
                      for h, wanted in zip(states.split(ROWS), tokens.split(ROWS))])


class Samples:
    """The segments of sampled translations, and their scores.

    scores [segments, N]; weights [segments]: tokens of the reference; place [rows, T]: segment * N + n of every token,
    or -1 for padding.
    """

    def __init__(self, source: Tensor, target: Tensor, translations: Tensor, scorer: Scorer, tokens: Tokens):
        """source [B, S], target [B, T' + 1], translations [B N, T + 1]."""
        count = len(translations) // len(target)
        references = segments(source, target, tokens)
        known = {(row, begin): index for index, (row, begin, *_) in enumerate(references)}
        self.scores = torch.zeros(len(references), count)
        self.weights = torch.tensor([float(end - begin) for *_, begin, end in references])
        self.place = torch.full_like(translations[:, 1:], -1)
        wanted, found = target[:, 1:].tolist(), translations[:, 1:].tolist()
        for row, s_begin, _, begin, end in segments(source.repeat_interleave(count, 0), translations, tokens):
            index = known[row // count, s_begin]
            _, _, _, r_begin, r_end = references[index]
            reference = tuple(wanted[row // count][r_begin:r_end - 1])
            self.scores[index, row % count] = scorer.score(tuple(found[row][begin:end - 1]), reference)
            self.place[row, begin:end] = index * count + row % count

    def risk(self, log_probabilities: Tensor, place: Tensor, sharpness: float) -> Tensor:
        """The sum over segments of the module's text. log_probabilities [R] of the tokens whose `place` [R] is given."""
        total = torch.zeros(self.scores.numel(), dtype=log_probabilities.dtype)
        total = total.index_add(0, place, log_probabilities).view_as(self.scores)
        q = (sharpness * total).softmax(1)
        return (self.weights / sharpness * (q * (1 - self.scores)).sum(1)).sum()
