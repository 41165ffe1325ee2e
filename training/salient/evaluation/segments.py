"""Measures how often the model produces the right number of segments without constraints.

The engine forces exactly as many segments as the source has. Here the PyTorch model decodes greedily without
constraints, whole documents in batches, and its separators are counted; or with only the engine's bound on the length
of a segment, at which a segment is closed. Dense attention, full depth. Shapes: B documents, S source positions, h
heads, w a head's width.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ..decode import SLACK
from ..model import Attention, Transformer, segment_of
from ..selection import NEGATIVE, SelectionRun

MAX_RATIO = 3.0  # target tokens per source token, as in the engine


def lengths(tokens: list[int], separator: int, eos: int) -> list[int]:
    """The number of tokens of every segment, without separators and EOS."""
    counts = [0]
    for token in tokens:
        if token == separator:
            counts.append(0)
        else:
            counts[-1] += token != eos
    return counts


def bounds(source: list[int], separator: int, eos: int) -> list[int]:
    """The greatest number of target tokens for every segment of a source."""
    return [int(MAX_RATIO * n) + SLACK for n in lengths(source, separator, eos)]


def within(output: list[int], source: list[int], separator: int, eos: int) -> bool:
    """Whether no segment of a translation is longer than allowed, among the segments that the source has."""
    return all(n <= most for n, most in zip(lengths(output, separator, eos), bounds(source, separator, eos)))


def padded(sources: list[list[int]], pad: int) -> Tensor:
    width = max(len(s) for s in sources)
    return torch.tensor([s + [pad] * (width - len(s)) for s in sources])


class Batch:
    """Documents that are decoded together, one token at a time; finished ones are removed from the tensors. `bounded`:
    a segment is closed when it reaches its greatest length."""

    def __init__(self, model: Transformer, sources: list[list[int]], bounded: bool):
        self.model, tokens = model, model.config.tokens
        source = padded(sources, tokens.pad)
        memory = model.encode(source, SelectionRun())
        self.ids = torch.arange(len(sources))
        self.outputs: list[list[int]] = [[] for _ in sources]
        self.limits = torch.tensor([int(MAX_RATIO * len(s)) + SLACK for s in sources])
        self.bounded, found = bounded, [bounds(s, tokens.separator, tokens.eos) for s in sources]
        self.bounds = padded([[*b, SLACK] for b in found], SLACK)  # [B, segments + 1]; further segments are short
        self.segments = torch.tensor([len(b) for b in found])
        if bounded:
            self.limits = torch.tensor([sum(b) + len(b) for b in found])
        self.hidden = ~model.is_source(source)[:, None, None, :]  # [B, 1, 1, S]
        ordinal, _ = segment_of(source, tokens.separator, inclusive=False)
        self.cross = [self.heads_of_memory(layer.cross_attention, memory, ordinal) for layer in model.decoder_layers]
        self.keys: list[Tensor | None] = [None] * len(model.decoder_layers)  # [B, h, room, w] a layer
        self.values: list[Tensor | None] = [None] * len(model.decoder_layers)
        self.token = torch.full((len(sources),), tokens.bos)
        self.segment = torch.zeros(len(sources), dtype=torch.long)
        self.offset = torch.zeros(len(sources), dtype=torch.long)
        self.position = 0

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.model.config.heads, -1)).transpose(-2, -3)

    def heads_of_memory(self, attention: Attention, memory: Tensor, ordinal: Tensor) -> tuple[Tensor, Tensor]:
        k, v = attention.key_value(memory).chunk(2, -1)
        return attention.turn(self.split(k), ordinal.unsqueeze(-2)), self.split(v)

    @staticmethod
    def attend(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None) -> Tensor:
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if hidden is not None:
            scores = scores.masked_fill(hidden, NEGATIVE)
        return Attention.merge(F.softmax(scores, -1) @ v)

    def remembered(self, seen: list[Tensor | None], n: int, x: Tensor) -> Tensor:
        """All of layer n up to this position, where x [B, h, 1, w] is new. Doubles the capacity when it is full."""
        if seen[n] is None or seen[n].shape[2] == self.position:
            room = x.new_zeros(*x.shape[:2], max(64, self.position), x.shape[3])
            seen[n] = room if seen[n] is None else torch.cat((seen[n], room), 2)
        seen[n][:, :, self.position] = x[:, :, 0]
        return seen[n][:, :, :self.position + 1]

    def self_attention(self, n: int, x: Tensor) -> Tensor:
        attention = self.model.decoder_layers[n].self_attention
        at = torch.full((len(x), 1, 1), self.position)
        q, k, v = map(self.split, attention.query_key_value(x).chunk(3, -1))
        k, v = self.remembered(self.keys, n, attention.turn(k, at)), self.remembered(self.values, n, v)
        return attention.output(self.attend(attention.turn(q, at), k, v, None))

    def cross_attention(self, n: int, x: Tensor) -> Tensor:
        attention = self.model.decoder_layers[n].cross_attention
        q = attention.turn(self.split(attention.query(x)), self.segment[:, None, None])
        return attention.output(self.attend(q, *self.cross[n], self.hidden))

    def embed(self) -> Tensor:
        """[B, 1, d]: the model's own embedding, which counts positions from 0 in its input."""
        config = self.model.config
        if config.positions.embedding == "sinusoidal":
            row = torch.full((len(self.token), self.position + 1), config.tokens.pad)
            row[:, -1] = self.token
            return self.model.embed(row, row, True)[:, -1:]
        return self.model.embed(self.token[:, None], self.offset[:, None], True)

    def step(self) -> None:
        x = self.embed()
        for n, layer in enumerate(self.model.decoder_layers):
            x = layer.residual(x, layer.self_attention_norm, lambda y, n=n: self.self_attention(n, y))
            x = layer.residual(x, layer.cross_attention_norm, lambda y, n=n: self.cross_attention(n, y))
            x = self.model.feed_forward(layer, x, True)
        self.take(self.model.decoding_logits(len(self.model.decoder_layers) - 1, x)[:, 0].argmax(-1))

    def closed_at_bounds(self, chosen: Tensor) -> Tensor:
        """The chosen tokens [B]; the end of a segment instead, if the segment has its greatest length."""
        tokens = self.model.config.tokens
        bound = self.bounds.gather(1, self.segment.clamp_max(self.bounds.shape[1] - 1)[:, None])[:, 0]
        cut = (self.offset >= bound) & chosen.ne(tokens.separator) & chosen.ne(tokens.eos)
        ends = torch.where(self.segment + 1 < self.segments, tokens.separator, tokens.eos)
        return torch.where(cut, ends, chosen)

    def take(self, chosen: Tensor) -> None:
        if self.bounded:
            chosen = self.closed_at_bounds(chosen)
        for index, token in zip(self.ids.tolist(), chosen.tolist()):
            self.outputs[index].append(token)
        tokens = self.model.config.tokens
        closes = chosen.eq(tokens.separator)
        self.segment = self.segment + closes.long()
        self.offset = torch.where(closes, torch.zeros_like(self.offset), self.offset + 1)
        self.token, self.position = chosen, self.position + 1
        self.keep(chosen.ne(tokens.eos) & (self.position < self.limits))

    def keep(self, going: Tensor) -> None:
        if bool(going.all()):
            return
        for name in ("ids", "limits", "bounds", "segments", "hidden", "token", "segment", "offset"):
            setattr(self, name, getattr(self, name)[going])
        self.cross = [(k[going], v[going]) for k, v in self.cross]
        self.keys = [k[going] for k in self.keys]
        self.values = [v[going] for v in self.values]


@torch.no_grad()
def decode_freely(model: Transformer, sources: list[list[int]], bounded: bool = False,
                  rows: int = 24) -> list[list[int]]:
    """Greedy translations, constrained only by a length limit. sources: with separators and EOS, in any order."""
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    found: list[list[int]] = [[] for _ in sources]
    for start in range(0, len(order), rows):
        chosen = order[start:start + rows]
        batch = Batch(model, [sources[i] for i in chosen], bounded)
        while len(batch.ids):
            batch.step()
        for index, output in zip(chosen, batch.outputs):
            found[index] = output
    return found


def closed_segments(tokens: list[int], separator: int, eos: int) -> int:
    """The number of segments of a translation; 0 if it did not end."""
    return tokens.count(separator) + 1 if tokens and tokens[-1] == eos else 0
