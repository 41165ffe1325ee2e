"""The oracle: translates one chunk at a time and one token at a time, in the simplest way.

Tests compare the engine with it, layer by layer and choice by choice (fixture.py records both). It uses the weights of
a Transformer, but shares no arithmetic with it. There is no batching, padding or other optimisation. All arithmetic is
fp32.

A chunk is the source tokens of some segments: segment SEP segment SEP ... segment EOS. Decoding starts from BOS and
produces as many segments. When a token exits after layer q, its state is copied to the layers above. Each of them
computes its own keys, values and selection keys from it, so that later tokens can attend to it (arXiv 1910.10073).
"""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import dataclass, field, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .model import ACTIVATIONS, Attention, Layer, Transformer
from .selection import MODULES

SLACK = 16  # target tokens that a segment may have beyond max_length_ratio times its source tokens


@dataclass
class Settings:
    """The controls of a request, with the names and meanings of the API. `values` has the modules' values by name."""

    selection: str = "dense"  # dense | learned | ratio | mass | window
    values: dict[str, float] = field(default_factory=dict)  # encoder, decoder, cross; of ratio, mass, window
    min_keys: int | None = None
    depth: str = "full"  # full | fixed | sequence | multinomial | geometric | confidence
    fixed_exit: int | None = None
    thresholds: list[float] = field(default_factory=list)  # one per layer
    min_exit: int | None = None
    max_exit: int | None = None
    beam: int = 1
    length_penalty: float = 1.0
    max_length_ratio: float = 3.0
    prefix: list[int] = field(default_factory=list)  # tokens that the translation must begin with
    listed: list[int] = field(default_factory=list)  # the only allowed tokens, ascending; empty: all
    screen: list[int] = field(default_factory=list)  # confidence must be high among these tokens, too; empty: no screen


@dataclass
class Tally:
    """Counts over the layers that ran: keys that queries could see, keys that they read, and keys that were scored."""

    visible: int = 0
    attended: int = 0
    scored: int = 0


@dataclass
class Choice:
    """The keys that one query reads. gap: worst score kept minus best score not kept; None if nothing was ranked."""

    keys: list[int]
    scored: int = 0
    gap: int | None = None


@dataclass
class Step:
    """One decoding step: the input's states after every layer that ran, then the choice that they led to."""

    states: list[Tensor]
    exit: int  # number of layers that ran
    exit_margin: float  # how close the closest exit decision was to the opposite decision
    selected: dict[str, list[Choice]]  # decoder and cross: one choice per group that ran
    token: int = -1
    log_probability: float = 0.0
    gap: float = math.inf  # log probability, best allowed token minus the second best; a beam: in the pool


@dataclass
class Hypothesis:
    tokens: list[int] = field(default_factory=list)
    total: float = 0.0
    segment: int = 0
    in_segment: int = 0  # tokens of the current segment
    steps: list[Step] = field(default_factory=list)
    keys: list[list[Tensor]] = field(default_factory=list)  # per layer, position: [heads, head width]; SSRU: [d]
    values: list[list[Tensor]] = field(default_factory=list)
    selection_keys: dict[int, list[Tensor]] = field(default_factory=dict)  # by the layer that has them: int8 steps
    score: float = 0.0  # of a finished hypothesis

    def fork(self) -> "Hypothesis":
        twin = copy.copy(self)
        twin.tokens, twin.steps = list(self.tokens), list(self.steps)
        twin.keys, twin.values = [list(k) for k in self.keys], [list(v) for v in self.values]
        twin.selection_keys = {layer: list(k) for layer, k in self.selection_keys.items()}
        return twin


@dataclass
class Encoded:
    states: list[Tensor]  # after every layer [S, d]
    memory: Tensor  # after the last norm [S, d]
    selected: list[list[Choice]]  # per group and query


@dataclass
class Translation:
    finished: list[Hypothesis]  # best first
    encoded: Encoded
    tallies: dict[str, Tally]


@functools.lru_cache(maxsize=None)
def unit_turns(position: int, half: int, base: float) -> Tensor:
    angle = position * base ** (-torch.arange(half, dtype=torch.float32) / half)
    return torch.complex(angle.cos(), angle.sin())


def positions_turned(x: Tensor, position: int, base: float) -> Tensor:
    """x [..., width]: component c < width / 2 pairs with c + width / 2 and turns by position * base^(-2c / width)."""
    half = x.shape[-1] // 2
    turned = torch.complex(x[..., :half], x[..., half:]) * unit_turns(position, half, base)
    return torch.cat((turned.real, turned.imag), -1)


def offset_encoding(position: int, width: int, kind: str) -> Tensor:
    half = width // 2
    angle = position * 10000.0 ** (-torch.arange(half, dtype=torch.float32) / (half - (kind == "half_minus_one")))
    return torch.cat((angle.sin(), angle.cos()))


MASS_STEPS = 1024  # steps of the exponent per power of two
MASS_TABLE = [round(2.0 ** (31.0 - i / MASS_STEPS)) for i in range(MASS_STEPS)]


def mass_weights(scores: np.ndarray, largest_query: float, inverse_step: float, width: int) -> list[int]:
    """2^31 exp(score - best) in real units, in the fixed-point arithmetic of engine/attention/mass.h: exact
    everywhere."""
    one, span = np.float32, 32 * MASS_STEPS
    steps_per_e = one(1.44269504) * one(MASS_STEPS)
    scale = one(largest_query) / one(127) / one(inverse_step) / np.sqrt(one(width)) * steps_per_e
    weights = []
    for below in scores.max() - scores:
        step = int(min(one(span), one(below) * scale))
        weights.append(0 if step >= span else MASS_TABLE[step % MASS_STEPS] >> (step // MASS_STEPS))
    return weights


class Oracle:
    def __init__(self, model: Transformer):
        self.model, self.config = model, model.config

    # Settings, resolved.

    def rule(self, s: Settings, module: str, group: int) -> tuple[str, float, int]:
        """(policy, value, least number of keys) of a selection layer. `learned` becomes `ratio` with the layer's own
        value."""
        chosen = self.config.selection
        least = s.min_keys if s.min_keys is not None else chosen.min_keys if chosen is not None else 0
        if s.selection == "learned":
            return "ratio", chosen.learned_ratio[module][group], least
        return s.selection, s.values.get(module, 1.0), least

    def group_of(self, module: str, layer: int) -> tuple[int, bool]:
        """The group of a layer, and whether this layer selects for it. Without selection layers all layers are one
        group."""
        if self.config.selection is None:
            return 0, layer == 0
        r = self.config.group_of(module)
        return layer // r, layer % r == 0

    def exit_bounds(self, s: Settings) -> tuple[int, int]:
        return s.min_exit or 1, s.max_exit or self.config.decoder.layers

    # Selection.

    def choose(self, s: Settings, module: str, group: int, selection, query: Tensor | None, keys: list[Tensor],
               length: int, centre: int) -> Choice:
        """The keys that a query reads, out of `length`. Query [ds] and integer keys [ds], with positions applied."""
        policy, value, least = self.rule(s, module, group)
        everything = list(range(length))
        if policy == "dense":
            return Choice(everything)
        if policy == "window":
            keep = min(int(value), length)
            first = min(max(centre - keep // 2, 0), length - keep)
            return Choice(everything[first:first + keep])
        share = min(length, max(least, math.ceil(length * value - 1e-6)))
        if (share if policy == "ratio" else least) >= length:
            return Choice(everything)
        largest = query.abs().max().clamp_min(1e-20)
        turned = torch.round(query * (torch.tensor(127.0) / largest)).double()
        scores = torch.stack(keys).double().mv(turned).numpy().astype(np.int64)
        order = sorted(everything, key=lambda j: (-scores[j], j))
        keep = share
        if policy == "mass":
            weights = mass_weights(scores, float(largest), float(selection.key_inverse_step), selection.width)
            wanted, held, keep = value * sum(weights), 0, 0
            while keep < length and held < wanted:
                held += weights[order[keep]]
                keep += 1
            keep = min(length, max(keep, least))
        gap = int(scores[order[keep - 1]] - scores[order[keep]]) if 0 < keep < length else None
        return Choice(sorted(order[:keep]), length, gap)

    def selection_key(self, selection, x: Tensor, position: int, turns: bool) -> Tensor:
        key = F.linear(x, selection.key.weight)
        if turns:
            key = positions_turned(key, position, self.config.positions.rotary_base)
        return torch.round(key * selection.key_inverse_step).clamp(-127, 127)

    def selection_query(self, selection, x: Tensor, position: int, turns: bool) -> Tensor:
        query = F.linear(x, selection.query.weight)
        return positions_turned(query, position, self.config.positions.rotary_base) if turns else query

    # Parts of a layer; x is one position's state [d].

    def turns(self, module: str) -> bool:
        return self.config.positions.of(module) != "none"

    def heads(self, x: Tensor, position: int | None) -> Tensor:
        x = x.reshape(self.config.heads, -1)
        return x if position is None else positions_turned(x, position, self.config.positions.rotary_base)

    def query(self, attention: Attention, x: Tensor, position: int) -> Tensor:
        d, turned = self.config.d_model, position if self.turns(attention.module) else None
        projected = attention.query(x) if attention.cross else attention.query_key_value(x)[:d]
        return self.heads(projected, turned)

    def key_value(self, attention: Attention, x: Tensor, position: int) -> tuple[Tensor, Tensor]:
        d, turned = self.config.d_model, position if self.turns(attention.module) else None
        projected = attention.key_value(x) if attention.cross else attention.query_key_value(x)[d:]
        return self.heads(projected[:d], turned), self.heads(projected[d:], None)

    @staticmethod
    def attend(attention: Attention, query: Tensor, keys: list[Tensor], values: list[Tensor],
               chosen: list[int]) -> Tensor:
        """softmax(q K^T / sqrt(head width)) V over the chosen keys, head by head, then the output projection."""
        k = torch.stack([keys[j] for j in chosen], 1)  # [heads, keys, head width]
        v = torch.stack([values[j] for j in chosen], 1)
        weights = F.softmax((k @ query.unsqueeze(-1)).squeeze(-1) / math.sqrt(query.shape[-1]), -1)
        return attention.output((weights.unsqueeze(1) @ v).flatten())

    def block_input(self, x: Tensor, norm) -> Tensor:
        return norm(x) if self.config.norm == "pre" else x

    def add(self, x: Tensor, norm, result: Tensor) -> Tensor:
        return x + result if self.config.norm == "pre" else norm(x + result)

    def feed_forward(self, layer: Layer, x: Tensor, is_decoder: bool) -> Tensor:
        stack = self.config.decoder if is_decoder else self.config.encoder
        if stack.ffn.kind == "none":
            return x
        block = {"own": layer.ffn, "encoder": self.model.encoder_ffn,
                 "shared": self.model.decoder_ffn if is_decoder else self.model.encoder_ffn}[stack.ffn.kind]
        hidden = ACTIVATIONS[self.config.activation](block.up(self.block_input(x, layer.ffn_norm)))
        return self.add(x, layer.ffn_norm, block.down(hidden))

    def embed(self, token: int, position: int, offset: int, is_decoder: bool) -> Tensor:
        model, p = self.model, self.config.positions
        x = (model.embedding if is_decoder or model.source_embedding is None else model.source_embedding).weight[token]
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        if p.embedding != "none":
            at = p.offset + (offset if p.embedding == "segment_sinusoidal" else position)
            x = x + offset_encoding(at, self.config.d_model, p.sinusoid)
        return (model.decoder_embedding_norm if is_decoder else model.encoder_embedding_norm)(x)

    # The encoder.

    def source_segments(self, source: list[int]) -> list[tuple[int, int]]:
        """(first, last) position of every segment, its separator or EOS included."""
        found, start = [], 0
        for i, token in enumerate(source):
            if token == self.config.tokens.separator or i + 1 == len(source):
                found.append((start, i))
                start = i + 1
        return found

    def text_of(self, source: list[int], segment: tuple[int, int]) -> list[int]:
        """A segment's tokens without what closes it, if anything does."""
        tokens = source[segment[0]:segment[1] + 1]
        return tokens[:-1] if tokens[-1] in (self.config.tokens.separator, self.config.tokens.eos) else tokens

    def segment_of(self, source: list[int]) -> list[int]:
        """The ordinal of every position's segment."""
        return [n for n, (first, last) in enumerate(self.source_segments(source)) for _ in range(first, last + 1)]

    @torch.no_grad()
    def encode(self, source: list[int], s: Settings, tally: Tally) -> Encoded:
        offset_of = [i - first for first, last in self.source_segments(source) for i in range(first, last + 1)]
        rows = [self.embed(token, i, offset_of[i], False) for i, token in enumerate(source)]
        states, groups, turns = [], [], self.turns("encoder")
        by_segment = self.config.positions.of("encoder") == "segment_rotary"
        turned = self.segment_of(source) if by_segment else list(range(len(source)))
        for n, layer in enumerate(self.model.encoder_layers):
            attention = layer.self_attention
            inputs = [self.block_input(x, layer.self_attention_norm) for x in rows]
            made = [self.key_value(attention, x, at) for at, x in zip(turned, inputs)]
            keys, values = [k for k, _ in made], [v for _, v in made]
            group, chooses = self.group_of("encoder", n)
            if chooses:
                groups.append(self.encoder_choices(s, group, attention.selection, inputs, turned if turns else None))
                tally.scored += sum(choice.scored for choice in groups[-1])
            tally.visible += len(rows) ** 2
            tally.attended += sum(len(choice.keys) for choice in groups[-1])
            for i, choice in enumerate(groups[-1]):
                result = self.attend(attention, self.query(attention, inputs[i], turned[i]), keys, values, choice.keys)
                rows[i] = self.feed_forward(layer, self.add(rows[i], layer.self_attention_norm, result), False)
            states.append(torch.stack(rows))
        return Encoded(states, self.model.encoder_norm(states[-1]), groups)

    def encoder_choices(self, s: Settings, group: int, selection, inputs: list[Tensor],
                        turned: list[int] | None) -> list[Choice]:
        length = len(inputs)
        if selection is None:
            return [self.choose(s, "encoder", group, None, None, [], length, i) for i in range(length)]
        turns, at = turned is not None, turned or [0] * length
        keys = [self.selection_key(selection, x, at[i], turns) for i, x in enumerate(inputs)]
        return [self.choose(s, "encoder", group, selection, self.selection_query(selection, x, at[i], turns), keys,
                            length, i) for i, x in enumerate(inputs)]

    # The decoder, a token at a time.

    def cross_keys(self, source: list[int], memory: Tensor) -> list[tuple[list[Tensor], list[Tensor], list[Tensor]]]:
        """For each decoder layer: keys and values of the source and, if the layer has a selection layer, selection
        keys."""
        segment, found = self.segment_of(source), []
        for layer in self.model.decoder_layers:
            attention = layer.cross_attention
            made = [self.key_value(attention, x, segment[i]) for i, x in enumerate(memory)]
            chosen = [] if attention.selection is None else [
                self.selection_key(attention.selection, x, at, self.turns("cross")) for at, x in zip(segment, memory)]
            found.append(([k for k, _ in made], [v for _, v in made], chosen))
        return found

    def add_self_keys(self, n: int, x: Tensor, position: int, h: Hypothesis) -> Tensor:
        """Appends layer n's keys and values of a state, or the state of an SSRU. Returns the layer's input."""
        layer = self.model.decoder_layers[n]
        y = self.block_input(x, layer.self_attention_norm)
        if layer.ssru is not None:
            before = h.keys[n][-1] if h.keys[n] else torch.zeros(self.config.d_model)
            h.keys[n].append(layer.ssru.step(y, before))
            return y
        key, value = self.key_value(layer.self_attention, y, position)
        h.keys[n].append(key)
        h.values[n].append(value)
        selection = layer.self_attention.selection
        if selection is not None:
            h.selection_keys[n].append(self.selection_key(selection, y, position, self.turns("decoder")))
        return y

    def leaves(self, n: int, x: Tensor, s: Settings, decided: dict) -> bool:
        """Whether a token whose state after layer n (from 1) is x exits there."""
        least, greatest = self.exit_bounds(s)
        normed, margin = self.model.exit_norms[n - 1](x), math.inf
        if s.depth == "multinomial" and n == 1 and n < self.config.decoder.layers:
            decided.update(self.decide(self.model.halting.multinomial(normed), s))
        if n >= greatest:
            return True
        if s.depth in ("geometric", "confidence"):
            if n < least:
                return False
            if s.depth == "geometric":
                signal = float(torch.sigmoid(self.model.halting.geometric_logit(n - 1, normed)))
            else:
                signal = self.confidence(n, x, s)
            decided["margin"] = min(decided.get("margin", margin), abs(signal - s.thresholds[n - 1]))
            return signal > s.thresholds[n - 1]
        return n >= max(least, decided["at"])

    def confidence(self, n: int, x: Tensor, s: Settings) -> float:
        """The greatest probability after layer n; the greatest among the screen's tokens if that is lower."""
        tops = [self.log_probabilities(n, x, s)]
        if s.screen:
            tops.append(self.log_probabilities(n, x, replace(s, listed=s.screen)))
        return min(float(top.max().exp()) for top in tops)

    def decide(self, logits: Tensor, s: Settings) -> dict:
        """The exit that a softmax head predicts, within the request's bounds."""
        least, greatest = self.exit_bounds(s)
        best, second = logits.topk(2).values.tolist() if len(logits) > 1 else (0.0, -math.inf)
        return {"at": min(max(int(logits.argmax()) + 1, least), greatest), "margin": best - second}

    def before_decoding(self, encoded: Encoded, s: Settings) -> dict:
        if s.depth == "sequence":
            return self.decide(self.model.halting.sequence(encoded.memory.mean(0)), s)
        return {"at": s.fixed_exit if s.depth == "fixed" else self.config.decoder.layers, "margin": math.inf}

    @torch.no_grad()
    def step(self, h: Hypothesis, cross: list, segments: list[tuple[int, int]], s: Settings, decided: dict,
             tallies: dict[str, Tally]) -> tuple[Step, Tensor]:
        """Feeds the last token of a hypothesis. Returns what happened, and the log probabilities [V] of the next
        token."""
        position, decided = len(h.tokens), dict(decided)
        token = h.tokens[-1] if h.tokens else self.config.tokens.bos
        x, states, selected = self.embed(token, position, h.in_segment, True), [], {"decoder": [], "cross": []}
        first, last = segments[h.segment]
        centres = {"decoder": position, "cross": min(first + h.in_segment, last)}
        exit_at = self.config.decoder.layers
        for n, layer in enumerate(self.model.decoder_layers):
            y = self.add_self_keys(n, x, position, h)
            if layer.ssru is not None:
                x = self.add(x, layer.self_attention_norm, F.relu(h.keys[n][-1]))
            else:
                x = self.attention(layer, "decoder", n, x, y, h.keys[n], h.values[n], h.selection_keys.get(n, []),
                                   position, centres, selected, s, tallies)
            y = self.block_input(x, layer.cross_attention_norm)
            keys, values, chosen = cross[n]
            x = self.attention(layer, "cross", n, x, y, keys, values, chosen, h.segment, centres, selected, s, tallies)
            x = self.feed_forward(layer, x, True)
            states.append(x)
            if self.leaves(n + 1, x, s, decided):
                exit_at = n + 1
                break
        for n in range(exit_at, self.config.decoder.layers):
            self.add_self_keys(n, x, position, h)  # the copied state, with the projections of each upper layer
        return Step(states, exit_at, decided.get("margin", math.inf), selected), self.log_probabilities(exit_at, x, s)

    def log_probabilities(self, n: int, x: Tensor, s: Settings) -> Tensor:
        """Log probabilities [V] of the next token, by the classifier of exit n (from 1). -inf: suppressed, or not
        listed."""
        logits = self.model.logits(n - 1, x)
        logits[self.config.search.suppressed] = -math.inf
        if s.listed:
            unlisted = torch.ones_like(logits, dtype=torch.bool)
            unlisted[s.listed] = False
            logits = logits.masked_fill(unlisted, -math.inf)
        return F.log_softmax(logits, -1)

    def attention(self, layer: Layer, module: str, n: int, x: Tensor, y: Tensor, keys: list[Tensor],
                  values: list[Tensor], selection_keys: list[Tensor], position: int, centres: dict[str, int],
                  selected: dict[str, list[Choice]], s: Settings, tallies: dict[str, Tally]) -> Tensor:
        """One attention of a decoder layer over the keys that its group selected. position: for the rotation."""
        cross, tally = module == "cross", tallies[module]
        attention = layer.cross_attention if cross else layer.self_attention
        norm = layer.cross_attention_norm if cross else layer.self_attention_norm
        group, chooses = self.group_of(module, n)
        if chooses:
            selection = attention.selection
            query = None if selection is None else self.selection_query(selection, y, position,
                                                                              self.turns(attention.module))
            selected[module].append(self.choose(s, module, group, selection, query, selection_keys, len(keys),
                                                centres[module]))
            tally.scored += selected[module][-1].scored
        chosen = selected[module][group].keys
        tally.visible += len(keys)
        tally.attended += len(chosen)
        return self.add(x, norm, self.attend(attention, self.query(attention, y, position), keys, values, chosen))

    # Search.

    def numbers(self, tokens: list[int]) -> list[int]:
        """The markers among the tokens, as numbers."""
        m = self.config.tokens.markers
        return [] if m is None else [t - m.first for t in tokens if 0 <= t - m.first < m.count]

    def length_limit(self, source: list[int], s: Settings) -> int:
        """The greatest number of tokens of a segment's translation, including markers."""
        markers = len(set(self.numbers(source)))
        return math.floor(s.max_length_ratio * (len(source) - markers)) + SLACK + markers

    def next_markers(self, source: list[int], target: list[int]) -> tuple[list[int], list[int], int]:
        """For a segment so far: (markers that may follow, those that may follow if no more text does, number still
        missing)."""
        wanted, said, open_pairs = self.numbers(source), self.numbers(target), []
        closes = {n for n in wanted if n % 2 and n - 1 in wanted and wanted.index(n - 1) < wanted.index(n)}
        for n in said:
            if n in closes:
                open_pairs.pop()
            elif n + 1 in closes:
                open_pairs.append(n + 1)
        lacking = sorted(set(wanted) - set(said))
        free = [n for n in lacking if n not in closes]
        innermost = open_pairs[-1:]
        return sorted(free + innermost), innermost or free[:1], len(lacking)

    def allowed(self, h: Hypothesis, source: list[int], segments: list[tuple[int, int]],
                s: Settings) -> tuple[list[int], int | None]:
        """The tokens that may follow, and the marker that stands in for what would close a segment too early."""
        tokens, is_last = self.config.tokens, h.segment + 1 == len(segments)
        closing = tokens.eos if is_last else tokens.separator
        if len(h.tokens) < len(s.prefix):
            return [s.prefix[len(h.tokens)]], None
        text = self.text_of(source, segments[h.segment])
        following, forced, lacking = self.next_markers(text, h.tokens[len(h.tokens) - h.in_segment:])
        if h.in_segment + lacking >= self.length_limit(text, s):
            return [tokens.markers.first + n for n in forced] or [closing], None
        never = {tokens.pad, tokens.unk, tokens.bos, tokens.eos, tokens.separator}
        if not lacking:
            never -= {closing}
        if tokens.markers is not None:
            never |= {tokens.markers.first + n for n in range(tokens.markers.count) if n not in following}
        stand_in = tokens.markers.first + forced[0] if lacking else None
        return [v for v in s.listed or range(self.config.vocab_size) if v not in never], stand_in

    def extend(self, h: Hypothesis, token: int, log_probability: float, gap: float) -> Hypothesis:
        child = h.fork()
        child.steps[-1] = copy.copy(child.steps[-1])
        child.steps[-1].token, child.steps[-1].log_probability, child.steps[-1].gap = token, log_probability, gap
        child.tokens.append(token)
        child.total += log_probability
        child.in_segment += 1
        if token == self.config.tokens.separator:
            child.segment, child.in_segment = h.segment + 1, 0
        return child

    def translate(self, source: list[int], s: Settings) -> Translation:
        """Beam search; greedy with a beam of 1. source: the tokens of a chunk, with separators and EOS."""
        tallies = {module: Tally() for module in MODULES}
        encoded, segments = self.encode(source, s, tallies["encoder"]), self.source_segments(source)
        decided = self.before_decoding(encoded, s)
        with torch.no_grad():
            cross = self.cross_keys(source, encoded.memory)
        layers = range(self.config.decoder.layers)
        owners = self.config.selection_layers("decoder") if self.config.selection is not None else []
        live = [Hypothesis(keys=[[] for _ in layers], values=[[] for _ in layers],
                           selection_keys={n: [] for n in owners})]
        finished: list[Hypothesis] = []
        while live and len(finished) < s.beam:
            pool = []
            for index, h in enumerate(live):
                step, log_probabilities = self.step(h, cross, segments, s, decided, tallies)
                h.steps.append(step)
                gains, (allowed, stand_in) = log_probabilities.tolist(), self.allowed(h, source, segments, s)
                if len(h.tokens) < len(s.prefix) and gains[allowed[0]] == -math.inf:
                    gains[allowed[0]] = 0.0  # it is given, though the model suppresses it, such as a language's token
                if stand_in is not None:
                    closing = [t for t in (self.config.tokens.separator, self.config.tokens.eos) if t is not None]
                    gains[stand_in] = max(gains[stand_in], *(gains[t] for t in closing))
                    allowed = {*allowed, stand_in}
                ranked = sorted((-gains[v], v) for v in allowed)
                pool += [(h.total - lost, index, v, -lost) for lost, v in ranked[:2 * s.beam]]
            pool.sort(key=lambda c: (-c[0], c[1], c[2]))
            ranks = pool[:2 * s.beam + 1]
            gap = min((a[0] - b[0] for a, b in zip(ranks, ranks[1:])), default=math.inf) if s.beam > 1 else (
                pool[0][0] - pool[1][0] if len(pool) > 1 else math.inf)
            following: list[Hypothesis] = []
            for rank, (_, parent, token, log_probability) in enumerate(pool):
                ends = token == self.config.tokens.eos
                if len(following) == s.beam:
                    break
                if ends and rank >= s.beam:
                    continue
                child = self.extend(live[parent], token, log_probability, gap)
                if ends:
                    child.score = child.total / len(child.tokens) ** s.length_penalty
                    finished.append(child)
                else:
                    following.append(child)
            live = following
        finished.sort(key=lambda h: -h.score)
        return Translation(finished, encoded, tallies)
