"""Word-level distillation (arXiv 1606.07947, section 3.1): the targets of a model of documents are the distributions
of a frozen model of sentences, the teacher.

The teacher translates every segment of a chunk by itself: it reads the segment and the reference before each token, and
predicts that token. Both models must divide text into the same pieces; their numbers may differ. A segment that has a
piece that the teacher lacks, such as a marker, has no teacher. B chunks, T target positions, d the teacher's width, V
the student's target vocabulary.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from .config import Tokens
from .export import load_model
from .loss import Teacher
from .model import Transformer
from .selection import SelectionRun
from .vocabulary import TARGET_TOKENIZER, TOKENIZER, Vocabulary, tokenizer_of

NONE = -1  # in place of a token that the teacher lacks
IMPOSSIBLE = -30.0  # added to the logit of a token that cannot be there
BATCH_TOKENS = 2048  # positions, padding included, of the segments that the teacher reads at once

Segment = tuple[int, int, int, int, int]  # row, begin and end in the source, begin and end in the target's outputs


def last_exit(model: Transformer, source: Tensor, inputs: Tensor, memory: Tensor | None = None) -> Tensor:
    """What the last exit's classifier reads at every position, with dense attention: source [B, S], inputs [B, T] to
    [B, T, d]. memory [B, S, d]: the encoder's output, if it is known."""
    dense = SelectionRun()
    memory = model.encode(source, dense) if memory is None else memory
    return model.exit_norms[-1](model.decode(inputs, source, memory, dense)[-1])


def segments(source: Tensor, target: Tensor, tokens: Tokens) -> list[Segment]:
    """The segments of chunks, in order; source [B, S], target [B, T + 1]. The ends are those after EOS or the
    separator."""
    def ends(side: Tensor) -> list[list[int]]:
        found = side.eq(tokens.eos) | side.eq(tokens.separator)
        return [[0, *(row.nonzero().squeeze(1) + 1).tolist()] for row in found]

    return [(row, *s, *t) for row, (of_source, of_target) in enumerate(zip(ends(source), ends(target[:, 1:])))
            for s, t in zip(zip(of_source, of_source[1:]), zip(of_target, of_target[1:]))]


class SentenceTeacher:
    """The folder of a converted model, for a student whose tokenisers are in `data`."""

    def __init__(self, folder: Path, data: Path, tokens: Tokens, device: torch.device | str = "cpu"):
        self.model, config = load_model(folder)
        self.model = self.model.to(device).requires_grad_(False)
        self.tokens, self.own, vocabulary = tokens, config.tokens, Vocabulary(folder, config)
        target = data / TARGET_TOKENIZER
        self.source_of = self.mapped(data / TOKENIZER, vocabulary.source).to(device)
        self.target_of = self.mapped(target if target.exists() else data / TOKENIZER, vocabulary.target).to(device)
        self.weight, self.bias = (x.to(device) for x in self.classifier())

    def mapped(self, tokenizer: Path, pieces: list[str]) -> Tensor:
        """The teacher's tokens by those of the student."""
        student = tokenizer_of(tokenizer)
        place = {piece: token for token, piece in enumerate(pieces)}
        found = torch.tensor([place.get(student.id_to_piece(i), NONE) for i in range(student.get_piece_size())])
        t = self.tokens
        found[[t.pad, t.unk, t.bos]] = NONE
        found[[t.eos, t.separator]] = self.own.eos
        return found

    def classifier(self) -> tuple[Tensor, Tensor]:
        """Weight [V, d + 2] and bias [V] of the student's tokens. The last two inputs say whether a segment is the
        last one of its chunk, which ends with EOS, or another one, which ends with the separator."""
        last = self.model.config.decoder.layers - 1
        weight, known = self.model.classifier(last)[self.target_of], self.target_of.ne(NONE)
        weight = torch.cat((weight, torch.zeros(len(weight), 2)), 1)
        weight[self.tokens.separator, -2] = weight[self.tokens.eos, -1] = IMPOSSIBLE
        return weight, torch.where(known, self.model.output_bias[self.target_of], IMPOSSIBLE)

    @torch.no_grad()
    def __call__(self, source: Tensor, target: Tensor, share: float) -> Teacher:
        """The targets of all positions: source [B, S], target [B, T + 1]; rows are B x T. `share` is that of the
        teacher's distribution in the target where there is one, elsewhere it is 0."""
        outputs = target[:, 1:]
        states = torch.zeros(*outputs.shape, self.weight.shape[1], device=target.device)
        shares = torch.zeros(outputs.shape, device=target.device)
        known = []
        for row, *bounds in segments(source, target, self.tokens):
            begin, end, first, after = bounds
            if not self.own.source_end and end - begin > 1:
                end -= 1
            read, wanted = self.source_of[source[row, begin:end]], self.target_of[outputs[row, first:after]]
            if bool((read >= 0).all() & (wanted >= 0).all()):
                known.append((row, first, after, read, wanted))
        for batch in self.batches(known):
            found = self.predict([k[3] for k in batch], [k[4] for k in batch])
            for (row, first, after, _, _), state in zip(batch, found):
                states[row, first:after, :-2] = state[:after - first].float()
                shares[row, first:after] = share
                states[row, first:after, -2 if outputs[row, after - 1] == self.tokens.eos else -1] = 1
        return Teacher(states.flatten(0, 1), self.weight, self.bias, shares.flatten())

    @staticmethod
    def batches(known: list) -> list[list]:
        """Groups of segments of similar length."""
        made: list[list] = [[]]
        for segment in sorted(known, key=lambda k: max(len(k[3]), len(k[4]))):
            if made[-1] and max(len(segment[3]), len(segment[4])) * (len(made[-1]) + 1) > BATCH_TOKENS:
                made.append([])
            made[-1].append(segment)
        return [batch for batch in made if batch]

    def predict(self, sources: list[Tensor], targets: list[Tensor]) -> Tensor:
        """What the classifier reads at each token of the targets [N, T, d]."""
        start = torch.tensor([self.own.bos], device=targets[0].device)
        source = pad_sequence(sources, batch_first=True, padding_value=self.own.pad)
        inputs = pad_sequence([torch.cat((start, t[:-1])) for t in targets], batch_first=True,
                              padding_value=self.own.pad)
        return last_exit(self.model, source, inputs)
