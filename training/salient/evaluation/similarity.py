"""The similarity of the layers' representations: linear CKA and local neighbourhood similarity, as in arXiv 2309.01826.

    CKA(A, B) = |A^T B|_F^2 / (|A^T A|_F |B^T B|_F)         A, B [n, d], centred
    LNS(A, B) = mean over rows s of |kNN_A(s) & kNN_B(s)| / |kNN_A(s) | kNN_B(s)|         cosine, k of 5 % of the rows

with a row a segment: the mean of its tokens' states after a module (self-attention, cross-attention, feed-forward, each
with its residual). A few thousand rows fit in memory, so that this is the value itself and no estimate from batches.
"""

from __future__ import annotations

import contextlib
from typing import Iterator

import torch
from torch import Tensor

from ..model import Transformer, segment_of
from ..selection import SelectionRun
from .tokens import Chunk


NEIGHBOURS = 0.05  # of the rows; the paper's share


def linear_cka(a: Tensor, b: Tensor) -> float:
    a, b = (x.double() - x.double().mean(0) for x in (a, b))
    own = (a.T @ a).norm() * (b.T @ b).norm()
    return float((a.T @ b).norm() ** 2 / own.clamp_min(1e-30))


def neighbours(a: Tensor) -> Tensor:
    """[n, n]: whether one row is among the nearest of another."""
    unit = torch.nn.functional.normalize(a.double(), dim=-1)
    nearness = (unit @ unit.T).fill_diagonal_(-2)
    k = max(1, round(NEIGHBOURS * len(a)))
    return torch.zeros_like(nearness, dtype=torch.bool).scatter_(-1, nearness.topk(k, -1).indices, True)


def local_similarity(a: Tensor, b: Tensor) -> float:
    """LNS of two matrices of neighbours."""
    return float(((a & b).sum(-1) / (a | b).sum(-1)).double().mean())


def module_names(model: Transformer) -> tuple[list[str], list[str]]:
    """The names (layer and kind) of the encoder's and of the decoder's blocks, in the order in which they run."""

    def stack(layers, kinds):
        return [f"{n} {kind}" for n, layer in enumerate(layers, 1) for kind in kinds
                if kind != "ffn" or layer.ffn_norm is not None]

    return stack(model.encoder_layers, ("self", "ffn")), stack(model.decoder_layers, ("self", "cross", "ffn"))


@contextlib.contextmanager
def recorded(layers) -> Iterator[list[Tensor]]:
    """Records the states after every block of the layers, in order, while the context is open."""
    states: list[Tensor] = []

    def recorder(run):
        def residual(*arguments):
            states.append(run(*arguments))
            return states[-1]
        return residual

    for layer in layers:
        layer.residual = recorder(layer.residual)
    try:
        yield states
    finally:
        for layer in layers:
            del layer.residual


def segment_means(states: Tensor, ordinal: Tensor) -> Tensor:
    """[L, d] and the segment of each position [L] -> [segments, d]."""
    count = int(ordinal.max()) + 1
    sums = torch.zeros(count, states.shape[-1]).index_add_(0, ordinal, states.float())
    return sums / torch.bincount(ordinal, minlength=count).unsqueeze(-1)


@torch.no_grad()
def representations(model: Transformer, chunks: list[Chunk]) -> tuple[list[Tensor], list[Tensor]]:
    """One matrix [segments, d] per block, of the encoder and of the decoder."""
    separator = model.config.tokens.separator
    parts: tuple[list, list] = ([], [])
    for chunk in chunks:
        inputs = chunk.target[:, :-1]
        with recorded(model.encoder_layers) as encoder:
            memory = model.encode(chunk.source, SelectionRun())
        with recorded(model.decoder_layers) as decoder:
            model.decode(inputs, chunk.source, memory, SelectionRun())
        source_segments = segment_of(chunk.source, separator, inclusive=False)[0][0]
        target_segments = segment_of(inputs, separator, inclusive=True)[0][0]
        for part, states, ordinal in ((parts[0], encoder, source_segments), (parts[1], decoder, target_segments)):
            part.append([segment_means(state[0], ordinal) for state in states])
    return tuple([torch.cat(blocks) for blocks in zip(*part)] for part in parts)


def cka_matrix(blocks: list[Tensor]) -> list[list[float]]:
    return [[linear_cka(a, b) for b in blocks] for a in blocks]


def lns_matrix(blocks: list[Tensor]) -> list[list[float]]:
    near = [neighbours(block) for block in blocks]
    return [[local_similarity(a, b) for b in near] for a in near]
