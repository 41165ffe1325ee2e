"""The encoder-decoder with all mechanisms: selection layers, a classifier for every decoder layer, halting heads.

Shapes: B documents, T target and S source positions, d the model's width. Positions after a document's end are padding
and are ignored. The engine's counterpart is engine/model/; parameter names are the tensor names of
`model.safetensors`.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig
from .depth import HaltingHeads
from .selection import NEGATIVE, SelectionLayer, SelectionRun, rotate, supervision_loss, top_k_mask, window_mask

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}


def segment_of(tokens: Tensor, separator: int | None, *, inclusive: bool) -> tuple[Tensor, Tensor]:
    """The ordinal of each position's segment and its offset within it.

    On the source side a separator closes its segment; on the decoder's input side (`inclusive`) it is what the first
    token of the next segment is predicted from, so that it opens that segment at offset 0, as BOS opens the first.
    Both sides thus give the i-th token of a segment the same offset.
    """
    is_separator = torch.zeros_like(tokens, dtype=torch.bool) if separator is None else tokens.eq(separator)
    ordinal = is_separator.long().cumsum(-1)
    if not inclusive:
        ordinal = ordinal - is_separator.long()
    position = torch.arange(tokens.shape[-1], device=tokens.device).expand_as(tokens)
    opens = torch.ones_like(is_separator)
    opens[..., 1:] = is_separator[..., 1:] if inclusive else is_separator[..., :-1]
    start = torch.where(opens, position, torch.zeros_like(position)).cummax(-1).values
    return ordinal, position - start


def aligned(target_segment: Tensor, offsets: Tensor, source_segment: Tensor, real: Tensor) -> Tensor:
    """The source position that corresponds to a target position [B, T]: the same offset in the same segment, if it
    exists."""
    same = (target_segment.unsqueeze(-1) == source_segment.unsqueeze(-2)) & real.unsqueeze(-2)
    start, length = same.int().argmax(-1), same.sum(-1)
    return start + offsets.minimum((length - 1).clamp_min(0))


def sinusoid(positions: Tensor, width: int, kind: str = "half") -> Tensor:
    half = width // 2
    steps = half if kind == "half" else half - 1
    frequency = 10000.0 ** (-torch.arange(half, dtype=torch.float32, device=positions.device) / steps)
    angle = positions.float().unsqueeze(-1) * frequency
    return torch.cat((angle.sin(), angle.cos()), dim=-1)


HAS_FUSED = hasattr(F, "scaled_dot_product_attention")  # since PyTorch 2.0
FUSED_FROM = 512  # keys; forward and back in bf16 with AMX: 0.4 to 0.7 of the time at 768 keys, 1.3 to 1.6 times at 369


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """Attention over the keys of `mask`; all if None, except those to the right of a causal query. Uses PyTorch's fused
    kernel, on a CPU only for many keys: for few its gradient is slower than this."""
    if q.is_cuda or (HAS_FUSED and k.shape[-2] >= FUSED_FROM):
        if mask is not None:  # a query without keys is padding; the fused kernels may make NaN of it
            mask = mask | ~mask.any(-1, keepdim=True)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    if causal:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
    with torch.autocast("cpu", enabled=False):  # autocast would keep every probability in fp32
        k, v = k.to(q.dtype), v.to(q.dtype)
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
        if mask is not None:
            scores = scores + torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, NEGATIVE)
        return F.softmax(scores, -1) @ v


class StraightThrough(torch.autograd.Function):
    """The attention p over the selected set [B, heads, queries, keys], with the gradient of eq. 3 for the selection
    layer's softmax [B, queries, keys].

    Let A be the dense attention. Attention weighted by a mask m has the derivative dp_j / dm_i = A_i ([i = j] - p_j) /
    (sum over the set of A). The sum is omitted: without that, the gradient for an unselected key would be unbounded
    when the set holds little attention. So a query's gradient has the direction of eq. 3, weighted by the attention
    that its set holds.
    """

    @staticmethod
    def forward(ctx, p: Tensor, attention: Tensor, soft: Tensor) -> Tensor:
        ctx.save_for_backward(p, attention)
        return p.view_as(p)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, Tensor]:
        p, attention = ctx.saved_tensors
        of_mask = attention * (gradient - (gradient * p).sum(-1, keepdim=True))
        return gradient, None, of_mask.sum(1)


class Attention(nn.Module):
    """Multi-head attention over the keys that the group's selection layer selected.

    Self-attention has one projection for queries, keys and values; cross-attention has separate ones.
    """

    def __init__(self, config: ModelConfig, module: str, owns_selection: bool):
        super().__init__()
        d = config.d_model
        self.config, self.module, self.cross = config, module, module == "cross"
        if self.cross:
            self.query, self.key_value = nn.Linear(d, d), nn.Linear(d, 2 * d)
        else:
            self.query_key_value = nn.Linear(d, 3 * d)
        self.output = nn.Linear(d, d)
        self.selection = SelectionLayer(d, config.selection.width) if owns_selection else None

    @property
    def rotary(self) -> bool:
        return self.config.positions.of(self.module) != "none"

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        return rotate(x, positions, self.config.positions.rotary_base) if self.rotary else x

    def project(self, queries_from: Tensor, keys_from: Tensor, q_at: Tensor, k_at: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values as [B, heads, L, d / heads], positions applied."""
        h = self.config.heads
        if self.cross:
            q, (k, v) = self.query(queries_from), self.key_value(keys_from).chunk(2, -1)
        else:
            q, k, v = self.query_key_value(queries_from).chunk(3, -1)

        def split(x):
            return x.unflatten(-1, (h, -1)).transpose(-2, -3)

        return self.turn(split(q), q_at.unsqueeze(-2)), self.turn(split(k), k_at.unsqueeze(-2)), split(v)

    def forward(self, queries_from: Tensor, keys_from: Tensor, q_at: Tensor, k_at: Tensor, allowed: Tensor,
                causal: bool, run: SelectionRun, shared: dict) -> Tensor:
        """`shared` passes the group's selected set from its selection layer to the layers above it (eq. 8)."""
        q, k, v = self.project(queries_from, keys_from, q_at, k_at)
        if run.mode == "dense":
            # Padding is at the end, so a causal mask already hides it from every real query.
            mask = None if causal else allowed.unsqueeze(1).expand(-1, 1, q.shape[-2], -1)
            return self.output(self.merge(attend(q, k, v, mask, causal)))
        if not run.learns:
            if self.selection is not None:
                with torch.no_grad():
                    shared["mask"] = self.select(self.rank(queries_from, keys_from, q_at, k_at), allowed, run)
            return self.output(self.merge(attend(q, k, v, shared["mask"].unsqueeze(1), False)))

        scores = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        learns_dense = torch.is_grad_enabled() and run.mode == "supervise"  # in select the set's attention learns
        with torch.set_grad_enabled(learns_dense):
            attention = F.softmax(scores.masked_fill(~allowed.unsqueeze(1), NEGATIVE).float(), -1)
        if self.selection is not None:
            self.finish_group(run, shared)
            ranks = self.rank(queries_from, keys_from, q_at, k_at)
            shared.clear()
            shared.update(module=self.module, scores=ranks, allowed=allowed, attention=[])
            if run.mode == "select" or run.measure:
                shared["mask"] = self.select(ranks, allowed, run)
                shared["soft"] = F.softmax(ranks.masked_fill(~allowed, NEGATIVE).float(), -1)
        shared["attention"].append(self.target(q, k, attention, allowed, run))
        if run.mode == "select":
            attention = self.sparse(scores, attention, shared, run)
        return self.output(self.merge(attention.to(v.dtype) @ v))

    def rank(self, queries_from: Tensor, keys_from: Tensor, q_at: Tensor, k_at: Tensor) -> Tensor:
        """The selection layer's scores [B, queries, keys]. Gradients stay within it: the states serve translation
        only."""
        qs = self.turn(self.selection.query(queries_from.detach()), q_at)
        ks = self.turn(self.selection.key(keys_from.detach()), k_at)
        return self.selection(qs, ks)

    @staticmethod
    def sparse(scores: Tensor, attention: Tensor, shared: dict, run: SelectionRun) -> Tensor:
        """Attention over the selected set only (eq. 2), with the straight-through term (eq. 3) if the run wants it."""
        p = F.softmax(scores.masked_fill(~shared["mask"].unsqueeze(1), NEGATIVE).float(), -1)
        return StraightThrough.apply(p, attention.detach(), shared["soft"]) if run.straight_through else p

    @staticmethod
    def merge(x: Tensor) -> Tensor:
        return x.transpose(-2, -3).flatten(-2)

    def target(self, q: Tensor, k: Tensor, attention: Tensor, allowed: Tensor, run: SelectionRun) -> Tensor:
        """The target of the selection layer's supervision: eq. 4, one softmax over the full width, or the mean of the
        heads."""
        if run.supervision == "group":
            return attention.mean(1).detach()
        joint = torch.einsum("bhqd,bhkd->bqk", q, k) / math.sqrt(self.config.d_model)
        return F.softmax(joint.masked_fill(~allowed, NEGATIVE).float(), -1).detach()

    def select(self, scores: Tensor, allowed: Tensor, run: SelectionRun) -> Tensor:
        if run.window is not None:
            mask = window_mask(allowed, run.centre[self.module], run.window).expand_as(scores)
        else:
            index = len(run.kept.get(self.module, ()))
            mask = top_k_mask(scores.detach().float(), allowed, run.ratio[self.module][index], run.min_keys)
        real = allowed.any(-1)
        run.note(run.kept, self.module,
                 float((mask.float().sum(-1) / allowed.float().sum(-1).clamp_min(1)).expand_as(real)[real].mean()))
        return mask

    @staticmethod
    def finish_group(run: SelectionRun, shared: dict) -> None:
        """Supervises the group's set once all layers of the group have shown their attention (eq. 4, 5)."""
        if not shared.get("attention"):
            return
        allowed = shared["allowed"]
        layers = shared["attention"] if run.supervision == "group" else shared["attention"][:1]
        target = sum(layers) / len(layers)
        run.loss = run.loss + supervision_loss(shared["scores"], target, allowed)
        if "mask" in shared:
            held = (target * shared["mask"]).sum(-1)
            real = allowed.any(-1).expand_as(held)
            run.note(run.captured, shared["module"], float(held[real].mean()))
        shared.clear()


class Ssru(nn.Module):
    """The simpler simple recurrent unit (arXiv 1909.12673), which Marian's students have instead of self-attention: c_t
    = f c_{t-1} + (1 - f) W x_t with f = sigmoid(W_f x_t + b_f). Its output is relu(c_t)."""

    def __init__(self, d_model: int):
        super().__init__()
        self.input, self.forget = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model)

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """The state c_t, from an input [., d] and the previous state."""
        f = torch.sigmoid(self.forget(x))
        return f * state + (1 - f) * self.input(x)

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, d], starting from a state of zeros."""
        f, put = torch.sigmoid(self.forget(x)), self.input(x)
        put, state, states = (1 - f) * put, torch.zeros_like(put[:, 0]), []
        for t in range(x.shape[1]):
            state = f[:, t] * state + put[:, t]
            states.append(state)
        return F.relu(torch.stack(states, 1))


class FeedForwardBlock(nn.Module):
    """FFN(x) = act(x W1 + b1) W2 + b2."""

    def __init__(self, d_model: int, width: int, activation: str):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, width), nn.Linear(width, d_model)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.activation(self.up(x)))


class Layer(nn.Module):
    """Self-attention, cross-attention in a decoder, feed-forward; each with its residual and norm."""

    def __init__(self, config: ModelConfig, index: int, is_decoder: bool, own_ffn: bool):
        super().__init__()
        module = "decoder" if is_decoder else "encoder"
        stack = config.decoder if is_decoder else config.encoder

        def owns(m):
            return config.selection is not None and index in config.selection_layers(m)

        def norm():
            return nn.LayerNorm(config.d_model, eps=config.layer_norm_epsilon)

        self.pre = config.norm == "pre"
        recurs = is_decoder and config.autoregression == "ssru"
        self.self_attention = None if recurs else Attention(config, module, owns(module))
        self.ssru = Ssru(config.d_model) if recurs else None
        self.self_attention_norm = norm()
        self.cross_attention = Attention(config, "cross", owns("cross")) if is_decoder else None
        self.cross_attention_norm = norm() if is_decoder else None
        has_ffn = stack.ffn.kind != "none"
        self.ffn = FeedForwardBlock(config.d_model, stack.ffn.width, config.activation) if own_ffn else None
        self.ffn_norm = norm() if has_ffn else None
        self.dropout = nn.Dropout(0.0)

    def residual(self, x: Tensor, norm: nn.Module, block) -> Tensor:
        return x + self.dropout(block(norm(x))) if self.pre else norm(x + self.dropout(block(x)))


class Transformer(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        d, enc, dec = config.d_model, config.encoder, config.decoder
        self.embedding = nn.Embedding(config.vocab_size, d)  # also the source's, if that has none of its own
        self.source_embedding = nn.Embedding(config.source_vocab_size, d) if config.source_vocab_size else None
        self.word_dropout = nn.Dropout1d(0.0)  # of whole embeddings
        self.encoder_layers = nn.ModuleList(
            Layer(config, i, False, enc.ffn.kind == "own") for i in range(enc.layers))
        self.decoder_layers = nn.ModuleList(
            Layer(config, i, True, dec.ffn.kind == "own") for i in range(dec.layers))
        self.encoder_ffn = FeedForwardBlock(d, enc.ffn.width, config.activation) if enc.ffn.kind == "shared" else None
        self.decoder_ffn = FeedForwardBlock(d, dec.ffn.width, config.activation) if dec.ffn.kind == "shared" else None
        pre = config.norm == "pre"

        def norm():
            return nn.LayerNorm(d, eps=config.layer_norm_epsilon) if pre else nn.Identity()

        def embedding_norm():
            return nn.LayerNorm(d, eps=config.layer_norm_epsilon) if config.embedding_norm else nn.Identity()

        self.encoder_embedding_norm, self.decoder_embedding_norm = embedding_norm(), embedding_norm()
        self.encoder_norm = norm()
        # A state leaves the decoder through the norm of its last layer. With post-norm it is already normalised.
        self.exit_norms = nn.ModuleList(norm() for _ in range(dec.layers))
        untied = config.exits is not None and config.exits.classifier == "untied"
        self.exit_classifiers = nn.ModuleList(
            nn.Linear(d, config.vocab_size, bias=False) for _ in range(dec.layers)) if untied else None
        self.output = nn.Linear(d, config.vocab_size, bias=False) if config.output == "own" else None
        self.output_bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.halting = HaltingHeads(config) if config.exits is not None else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for name, p in self.named_parameters():
            if p.dim() == 2:
                nn.init.xavier_uniform_(p) if "embedding" not in name else nn.init.normal_(p, std=p.shape[1] ** -0.5)
            elif name.endswith("bias"):
                nn.init.zeros_(p)
        depth = len(self.encoder_layers) + len(self.decoder_layers)
        for layer in [*self.encoder_layers, *self.decoder_layers]:
            for block in (layer.self_attention, layer.cross_attention):
                if block is not None:  # an SSRU has no output projection
                    block.output.weight.data.mul_(depth ** -0.5)
            if layer.ffn is not None:
                layer.ffn.down.weight.data.mul_(depth ** -0.5)

    def set_dropout(self, blocks: float, words: float) -> None:
        """Shares that are dropped in training: of the outputs of blocks, and of whole words."""
        self.word_dropout.p = words
        for layer in [*self.encoder_layers, *self.decoder_layers]:
            layer.dropout.p = blocks

    def compile_blocks(self) -> None:
        """Lets PyTorch fuse the operations between matrix products. Shapes are dynamic, because lengths vary with the
        batch."""
        for block in self.modules():
            if isinstance(block, (FeedForwardBlock, nn.LayerNorm)):
                block.compile(dynamic=True)
            elif isinstance(block, Attention):
                block.project = torch.compile(block.project, dynamic=True)

    def embed(self, tokens: Tensor, offsets: Tensor, is_decoder: bool) -> Tensor:
        table = self.embedding if is_decoder or self.source_embedding is None else self.source_embedding
        x = self.word_dropout(table(tokens))
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        p = self.config.positions
        if p.embedding != "none":
            at = offsets if p.embedding == "segment_sinusoidal" else torch.arange(tokens.shape[-1],
                                                                                  device=tokens.device)
            x = x + sinusoid(at + p.offset, self.config.d_model, p.sinusoid).to(x.dtype)
        return self.decoder_embedding_norm(x) if is_decoder else self.encoder_embedding_norm(x)

    def feed_forward(self, layer: Layer, x: Tensor, is_decoder: bool) -> Tensor:
        if layer.ffn_norm is None:
            return x
        kind = (self.config.decoder if is_decoder else self.config.encoder).ffn.kind
        shared = self.decoder_ffn if is_decoder and kind == "shared" else self.encoder_ffn
        return layer.residual(x, layer.ffn_norm, layer.ffn if kind == "own" else shared)

    def is_source(self, source: Tensor) -> Tensor:
        """source [B, S] -> whether a position is of the source, or padding: one of the pad tokens at the end. In a
        vocabulary of the source's own that number may be a piece of text; the source then has to end in EOS."""
        return source.ne(self.config.tokens.pad).flip(-1).cumsum(-1).flip(-1).gt(0)

    def encode(self, source: Tensor, run: SelectionRun) -> Tensor:
        """source [B, S] -> the encoder's output [B, S, d]."""
        segment, offsets = segment_of(source, self.config.tokens.separator, inclusive=False)
        real = self.is_source(source)
        source = source.masked_fill(~real, self.config.tokens.eos)  # which is in every vocabulary; pad may be beyond
        at = torch.arange(source.shape[1], device=source.device).expand_as(source)
        allowed = real.unsqueeze(1).expand(-1, source.shape[1], -1)
        if run.mode != "dense":
            allowed = allowed & real.unsqueeze(-1)  # padding as a query selects nothing and supervises nothing
        run.centre["encoder"] = at
        turned = segment if self.config.positions.of("encoder") == "segment_rotary" else at
        x, shared = self.embed(source, offsets, False), {}
        for layer in self.encoder_layers:
            x = layer.residual(x, layer.self_attention_norm,
                               lambda y, a=layer.self_attention: a(y, y, turned, turned, allowed, False, run, shared))
            x = self.feed_forward(layer, x, False)
        Attention.finish_group(run, shared)
        return self.encoder_norm(x)

    def decode(self, target: Tensor, source: Tensor, memory: Tensor, run: SelectionRun,
               exits: Tensor | None = None) -> list[Tensor]:
        """Teacher-forced target inputs [B, T], BOS first -> the states h^n after every layer, each [B, T, d].

        exits [B, T]: the layer, from 0, after which a token exits. As in the engine, its state is copied to the layers
        above, where later tokens read it as a key.
        """
        separator, pad = self.config.tokens.separator, self.config.tokens.pad
        real_source = self.is_source(source)
        source_segment, _ = segment_of(source, separator, inclusive=False)
        target_segment, offsets = segment_of(target, separator, inclusive=True)
        at = torch.arange(target.shape[1], device=target.device).expand_as(target)
        length = target.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=target.device).tril().unsqueeze(0)
        allowed_source = real_source.unsqueeze(1).expand(-1, target.shape[1], -1)
        if run.mode != "dense":
            real = (target.ne(pad) | at.eq(0)).unsqueeze(-1)  # decoding may start from the pad token
            causal, allowed_source = causal & real, allowed_source & real
        if run.window is not None:
            run.centre.update(decoder=at, cross=aligned(target_segment, offsets, source_segment, real_source))
        x, states, self_shared, cross_shared = self.embed(target, offsets, True), [], {}, {}
        for n, layer in enumerate(self.decoder_layers):
            below = x
            x = layer.residual(x, layer.self_attention_norm, layer.ssru or (
                lambda y, a=layer.self_attention: a(y, y, at, at, causal, True, run, self_shared)))
            x = layer.residual(x, layer.cross_attention_norm,
                               lambda y, a=layer.cross_attention: a(y, memory, target_segment, source_segment,
                                                                    allowed_source, False, run, cross_shared))
            x = self.feed_forward(layer, x, True)
            if exits is not None:
                x = torch.where((exits >= n).unsqueeze(-1), x, below)
            states.append(x)
        Attention.finish_group(run, self_shared)
        Attention.finish_group(run, cross_shared)
        return states

    def classifier(self, n: int) -> Tensor:
        if self.exit_classifiers is not None:
            return self.exit_classifiers[n].weight
        return (self.output or self.embedding).weight

    def logits(self, n: int, state: Tensor) -> Tensor:
        """p(y | h^n) before the softmax (eq. 3 of arXiv 1910.10073), n from 0."""
        return F.linear(self.exit_norms[n](state), self.classifier(n), self.output_bias)

    def decoding_logits(self, n: int, state: Tensor) -> Tensor:
        """The same in fp32 and as the engine has them: no translation may contain the tokens of `search.suppressed`."""
        logits = self.logits(n, state).float()
        return logits.index_fill(-1, torch.tensor(self.config.search.suppressed, dtype=torch.long,
                                                  device=logits.device), -math.inf)
