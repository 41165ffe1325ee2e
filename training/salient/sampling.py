"""Translations of a batch drawn from the model's own distribution, a token of every chunk at a time.

B chunks, N translations of each, R = B N of them at once; S source positions, h heads, d the model's width. Translation
r belongs to chunk r // N. The first of every N is the greedy one. Attention is dense, and all layers run. Every
translation has as many segments as its source, as in the engine.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .model import Transformer, attend, segment_of

SLACK = 8  # tokens that a segment may have beyond LONGEST times its source tokens
LONGEST = 2.0


class Decoder:
    """The decoder's layers, with the keys and values (or the state of the SSRU) of what they have read."""

    def __init__(self, model: Transformer, source: Tensor, memory: Tensor, count: int, most: int):
        """memory [B, S, d]: the encoder's output; `most`: the number of tokens that are read at most."""
        self.model, self.rows, self.count = model, source.shape[0] * count, count
        config = model.config
        separator, heads = config.tokens.separator, config.heads
        segment, _ = segment_of(source, separator, inclusive=False)
        self.real = source.ne(config.tokens.pad)[:, None, None, :]
        self.cross = [layer.cross_attention.project(memory, memory, segment, segment)[1:]
                      for layer in model.decoder_layers]
        shape = (self.rows, heads, most, config.d_model // heads)
        self.own = [(memory.new_empty(shape), memory.new_empty(shape)) for _ in model.decoder_layers]
        self.states = [memory.new_zeros(self.rows, 1, config.d_model) for _ in model.decoder_layers]

    def read(self, tokens: Tensor, offsets: Tensor, segment: Tensor, at: int) -> Tensor:
        """The state [R, d] after the last layer, from token `at` of every translation. tokens, offsets, segment: [R]."""
        model, positions = self.model, torch.full((self.rows, 1), at)
        x = model.embed(tokens.unsqueeze(1), offsets.unsqueeze(1), True, positions[:1].squeeze(0))
        for n, layer in enumerate(model.decoder_layers):
            x = layer.residual(x, layer.self_attention_norm, lambda y: self.earlier(n, y, positions, at))
            x = layer.residual(x, layer.cross_attention_norm, lambda y: self.source(n, y, segment))
            x = model.feed_forward(layer, x, True)
        return x.squeeze(1)

    def earlier(self, n: int, x: Tensor, positions: Tensor, at: int) -> Tensor:
        layer, (keys, values) = self.model.decoder_layers[n], self.own[n]
        if layer.ssru is not None:
            self.states[n] = layer.ssru.step(x, self.states[n])
            return self.states[n].relu()
        attention = layer.self_attention
        q, keys[:, :, at:at + 1], values[:, :, at:at + 1] = attention.project(x, x, positions, positions)
        found = attend(q, keys[:, :, :at + 1], values[:, :, :at + 1], None, False)
        return attention.output(attention.merge(found))

    def source(self, n: int, x: Tensor, segment: Tensor) -> Tensor:
        """Cross-attention. The translations of a chunk are queries of the same keys."""
        attention, (keys, values) = self.model.decoder_layers[n].cross_attention, self.cross[n]
        grouped = x.view(-1, self.count, x.shape[-1])
        q = attention.query(grouped).unflatten(-1, (self.model.config.heads, -1)).transpose(-2, -3)
        q = attention.turn(q, segment.view(-1, 1, self.count))
        return attention.output(attention.merge(attend(q, keys, values, self.real, False))).view_as(x)


def segment_bounds(source: Tensor, segment: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """[B, segments]: the most tokens of each segment's translation; [B]: the ordinal of the last segment."""
    real = source.ne(pad)
    last = (segment * real).amax(1)
    lengths = torch.zeros(source.shape[0], int(last.max()) + 1).scatter_add_(1, segment * real, real.float())
    return (LONGEST * lengths).long() + SLACK, last


@torch.no_grad()
def sampled_translations(model: Transformer, source: Tensor, memory: Tensor, count: int, temperature: float,
                         likeliest: int, generator: torch.Generator) -> Tensor:
    """[R, T + 1]: token sequences with BOS, EOS and padding. Each token is drawn among the `likeliest`."""
    config, t = model.config, model.config.tokens
    segment_of_source, _ = segment_of(source, t.separator, inclusive=False)
    bounds, last = (x.repeat_interleave(count, 0) for x in segment_bounds(source, segment_of_source, t.pad))
    most, rows = int(bounds.sum(1).max()), len(last)
    decoder, top = Decoder(model, source, memory, count, most), config.decoder.layers - 1
    greedy = torch.arange(rows) % count == 0
    never = [x for x in (t.pad, t.unk, t.bos) if x not in (t.eos, t.separator)]
    token = torch.full((rows,), t.bos)
    offset, segment, out = torch.zeros(rows, dtype=torch.long), torch.zeros(rows, dtype=torch.long), [token]
    done = torch.zeros(rows, dtype=torch.bool)
    for at in range(most):
        logits = model.logits(top, decoder.read(token, offset, segment, at)).float()
        logits[:, never] = -torch.inf
        closes = torch.where(segment == last, t.eos, t.eos if t.separator is None else t.separator)
        closing = logits.gather(1, closes.unsqueeze(1))
        logits[:, t.eos] = -torch.inf
        if t.separator is not None:
            logits[:, t.separator] = -torch.inf
        logits.scatter_(1, closes.unsqueeze(1), closing)
        score, chosen = logits.topk(likeliest)
        gumbel = -torch.rand(score.shape, generator=generator).clamp_min(1e-10).log().neg().log()
        pick = torch.where(greedy.unsqueeze(1), score, score / temperature + gumbel).argmax(1)
        token = chosen.gather(1, pick.unsqueeze(1)).squeeze(1)
        full = offset + 1 >= bounds.gather(1, segment.clamp_max(bounds.shape[1] - 1).unsqueeze(1)).squeeze(1)
        token = torch.where(full, closes, token).masked_fill(done, t.pad)
        out.append(token)
        ended = token.eq(closes) & ~done
        done = done | (ended & (segment == last))
        if bool(done.all()):
            break
        offset, segment = torch.where(ended, 0, offset + 1), segment + (ended & ~done).long()
    return torch.stack(out, 1)
