"""The same model in plain PyTorch, batched, with cached keys and values: what a user has without any engine.

Speaks the protocol of the other workers (see ctranslate2_worker.py). Documents are translated together in a padded
batch. A finished document stays in the batch until all have finished.
"""

from __future__ import annotations

import math
import time

import torch
import torch.nn.functional as F
from torch import Tensor

from .models import FIRST_WORD
from .protocol import answer_lines, forget_peak_memory, peak_memory
from salient.export import load_model
from salient.model import Layer, sinusoid
from salient.selection import NEGATIVE, SelectionRun


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """[B, h, 1, w] queries over [B, h, L, w] keys; `mask` [B, 1, 1, L] is 0 or NEGATIVE."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return F.softmax(scores if mask is None else scores + mask, -1) @ v


class Decoder:
    """Decodes one token per step, for a batch of documents."""

    def __init__(self, model, memory: Tensor, mask: Tensor, steps: int):
        config = model.config
        self.model, self.mask = model, mask
        batch, width = memory.shape[0], config.d_model // config.heads
        self.shape = (batch, -1, config.heads, width)
        self.caches = [torch.empty(2, batch, config.heads, steps, width) for _ in model.decoder_layers]
        self.cross = [[self.split(x) for x in layer.cross_attention.key_value(memory).chunk(2, -1)]
                      for layer in model.decoder_layers]

    def split(self, x: Tensor) -> Tensor:
        return x.reshape(self.shape).transpose(1, 2)

    def merge(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(2)

    def layer(self, index: int, layer: Layer, x: Tensor, step: int) -> Tensor:
        block, cache = layer.self_attention, self.caches[index]
        q, k, v = (self.split(y) for y in block.query_key_value(layer.self_attention_norm(x)).chunk(3, -1))
        cache[0, :, :, step:step + 1], cache[1, :, :, step:step + 1] = k, v
        x = x + block.output(self.merge(attend(q, cache[0, :, :, :step + 1], cache[1, :, :, :step + 1], None)))
        block = layer.cross_attention
        q = self.split(block.query(layer.cross_attention_norm(x)))
        x = x + block.output(self.merge(attend(q, *self.cross[index], self.mask)))
        return x + layer.ffn(layer.ffn_norm(x))

    def step(self, tokens: Tensor, step: int) -> Tensor:
        """The best next tokens [B] after `tokens` [B]."""
        config = self.model.config
        x = self.model.embedding(tokens).unsqueeze(1) * math.sqrt(config.d_model)
        x = x + sinusoid(torch.tensor([step]), config.d_model)
        for index, layer in enumerate(self.model.decoder_layers):
            x = self.layer(index, layer, x, step)
        logits = self.model.logits(config.decoder.layers - 1, x[:, 0])
        return logits[:, FIRST_WORD:].argmax(-1) + FIRST_WORD


class Worker:
    def __init__(self, line: dict):
        torch.set_num_threads(line["threads"])
        self.model, self.config = load_model(line["model"])

    @torch.no_grad()
    def run(self, line: dict) -> dict:
        documents = line["documents"]
        forget_peak_memory()
        cpu, start = time.process_time(), time.perf_counter()
        longest = max(len(document["ids"]) for document in documents)
        source = torch.full((len(documents), longest), self.config.tokens.pad)
        for row, document in enumerate(documents):
            source[row, :len(document["ids"])] = torch.tensor(document["ids"])
        mask = torch.where(source.eq(self.config.tokens.pad), NEGATIVE, 0.0)[:, None, None, :]
        steps = max(document["length"] for document in documents)
        decoder = Decoder(self.model, self.model.encode(source, SelectionRun()), mask, steps)
        tokens = torch.full((len(documents),), self.config.tokens.bos)
        for step in range(steps):
            tokens = decoder.step(tokens, step)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "cpu_seconds": time.process_time() - cpu, "peak_rss": peak_memory(),
                "documents": [{"seconds": seconds} for _ in documents]}


if __name__ == "__main__":
    answer_lines(Worker)
