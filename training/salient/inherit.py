"""Creates a student with its teacher's weights: those of a Marian model (Bergamot's students), in our architecture.

    python -m salient.inherit --marian model.bin --vocabulary vocab.spm --text first.tsv --pieces 15707 --out work/start

The teacher has a post-norm Transformer encoder without relative positions, and a decoder with a recurrent unit (SSRU)
instead of self-attention. The student gets:

- the embeddings, of the pieces that the smaller vocabulary keeps;
- the encoder. The teacher was trained on single sentences, but the student encodes documents. Therefore queries and
  keys are rotated by the ordinals of segments (`encoder_self_attention: segment_rotary`), which changes nothing within
  a segment. In each head, a quarter of the components, the least important ones on real states, are replaced by
  constants, which the rotation turns into a penalty of at least five nats on other segments;
- the decoder's cross-attention, in the same way, and its feed-forward blocks. Self-attention replaces the recurrent
  unit; it is fitted, layer by layer, to the output of the unit on `--text`;
- deeper decoder layers, which the teacher does not have, as the identity.

--out becomes a model folder for `salient.train --start`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Callable, Iterator

import sentencepiece
import torch
import torch.nn.functional as F
from torch import Tensor

from .command import Help, refusals, whole
from .config import MOST_MARKERS, Exits, FeedForward, Markers, ModelConfig, Positions, Selection, Stack, Tokens
from .convert.from_marian import check
from .convert.marian import OPTIONS, MarianModel, read_model
from .convert.reading import reading, whole_number
from .export import export
from .heads import LEAST_WIDTH, Moments, begin_selection, set_apart
from .model import Attention, Layer, Transformer, segment_of
from .model_folder import new_files
from .precision import has_bf16
from .selection import SelectionRun
from .pieces import counted, first_marker, first_piece, kept_pieces, pruned, texts_of
from .vocabulary import TOKENIZER

NEVER = -12.0  # bias of tokens that the teacher does not have, so that they are not chosen before they are learned
EPSILON = 1e-6
BATCH, FITTED_TOKENS = 24, 40  # segments per step of the fit, and the greatest number of tokens in one
SEEN_BATCHES = 20  # batches from which the inputs of attention blocks are measured
FITTED_BATCHES = 80  # batches that the fit uses repeatedly
RATE = 2e-3


def weight(model: MarianModel, name: str) -> Tensor:
    """Marian's [in, out] as [out, in]."""
    return model.tensors[name].t().contiguous()


def vector(model: MarianModel, name: str) -> Tensor:
    return model.tensors[name].flatten()


@torch.no_grad()
def fill(module: torch.nn.Module, w: Tensor, b: Tensor | None = None) -> None:
    module.weight.copy_(w)
    if b is not None:
        module.bias.copy_(b)


def take_norm(norm: torch.nn.LayerNorm, model: MarianModel, prefix: str) -> None:
    fill(norm, vector(model, f"{prefix}_ln_scale"), vector(model, f"{prefix}_ln_bias"))


def take_attention(attention: Attention, model: MarianModel, prefix: str) -> None:
    w, b = ({c: f(model, f"{prefix}_{kind}{c}") for c in "qkvo"} for f, kind in ((weight, "W"), (vector, "b")))
    if attention.cross:
        fill(attention.query, w["q"], b["q"])
        fill(attention.key_value, torch.cat((w["k"], w["v"])), torch.cat((b["k"], b["v"])))
    else:
        fill(attention.query_key_value, torch.cat((w["q"], w["k"], w["v"])), torch.cat((b["q"], b["k"], b["v"])))
    fill(attention.output, w["o"], b["o"])


def take_ffn(layer: Layer, model: MarianModel, prefix: str) -> None:
    fill(layer.ffn.up, weight(model, f"{prefix}_ffn_W1"), vector(model, f"{prefix}_ffn_b1"))
    fill(layer.ffn.down, weight(model, f"{prefix}_ffn_W2"), vector(model, f"{prefix}_ffn_b2"))
    take_norm(layer.ffn_norm, model, f"{prefix}_ffn_ffn")


@torch.no_grad()
def take_embedding(student: Transformer, model: MarianModel, kept: list[int], markers: int, teacher_eos: int) -> None:
    """Copies the embeddings of kept pieces. The separator gets that of the end of a sentence. BOS gets zeros, because
    Marian's decoder starts from zeros. All others get small random values."""
    table, bias = model.tensors["Wemb"], vector(model, "decoder_ff_logit_out_b")
    e, b, tokens = student.embedding.weight, student.output_bias, student.config.tokens
    spread = table[kept].std()
    e.normal_(0, float(spread) / 2)
    b.fill_(NEVER)
    start = first_piece(markers)
    e[start:start + len(kept)], b[start:start + len(kept)] = table[kept], bias[kept]
    for token in (tokens.eos, tokens.separator):
        e[token], b[token] = table[teacher_eos], bias[teacher_eos]
    e[tokens.bos], e[tokens.pad] = 0, 0
    b[first_marker():start] = float(bias[kept].mean())


class Unit:
    """Marian's simple recurrent unit: c_t = f_t c_(t-1) + (1 - f_t) W x_t, f_t = sigmoid(Wf x_t + bf); relu(c_t)."""

    def __init__(self, model: MarianModel, prefix: str):
        self.w, self.wf, self.bf = (weight(model, f"{prefix}_rnn_W"), weight(model, f"{prefix}_rnn_Wf"),
                                    vector(model, f"{prefix}_rnn_bf"))

    def __call__(self, x: Tensor) -> Tensor:
        forget, new = torch.sigmoid(F.linear(x, self.wf, self.bf)), F.linear(x, self.w)
        c, out = torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            c = forget[:, t] * c + (1 - forget[:, t]) * new[:, t]
            out.append(c)
        return F.relu(torch.stack(out, 1))


@torch.no_grad()
def begin_recent(attention: Attention, unit: Unit, heads: int) -> None:
    """Self-attention that reads recent tokens, with constant queries and keys under rotation, and the unit's values."""
    d = unit.w.shape[0]
    width = d // heads
    start = torch.zeros(heads, width)
    start[:, :width // 2] = torch.linspace(0.5, 2.5, heads).sqrt().unsqueeze(1)  # heads look back differently far
    q = torch.randn(d, d) * 0.3 * d ** -0.5
    k = torch.randn(d, d) * 0.3 * d ** -0.5
    order = torch.sigmoid(unit.bf).argsort(descending=True)  # slow channels go to heads that look far back
    fill(attention.query_key_value, torch.cat((q, k, unit.w[order])),
         torch.cat((start.flatten(), start.flatten(), torch.zeros(d))))
    fill(attention.output, torch.eye(d)[:, order] * 0.7, torch.zeros(d))


def batches_of(student: Transformer, tokenizer, pairs: list[tuple[str, str]], seed: int):
    """Endless random batches: source [B, S], target inputs [B, T], both padded."""
    t, generator = student.config.tokens, torch.Generator().manual_seed(seed)
    rows = [([*tokenizer.encode(s), t.eos], [t.bos, *tokenizer.encode(g)]) for s, g in pairs]
    rows = sorted((r for r in rows if max(map(len, r)) <= FITTED_TOKENS), key=lambda r: len(r[0]))
    if not rows:
        raise ValueError(f"--text: no pair has at most {FITTED_TOKENS} tokens on each side; the fit needs sentences")
    groups = [rows[i:i + BATCH] for i in range(0, len(rows), BATCH)]
    while True:
        group = groups[int(torch.randint(len(groups), (1,), generator=generator))]
        yield tuple(torch.nn.utils.rnn.pad_sequence([torch.tensor(r[side]) for r in group], batch_first=True,
                                                    padding_value=t.pad) for side in (0, 1))


def states_below(student: Transformer, units: list[Unit], depth: int, source: Tensor, target: Tensor) -> Tensor:
    """The input of decoder layer `depth`; the layers below use the units instead of self-attention."""
    run, s = SelectionRun(), student.config.tokens.separator
    memory = student.encode(source, run)
    _, offsets = segment_of(target, s, inclusive=True)
    x = student.embed(target, offsets, True)
    zeros, allowed = torch.zeros_like(target), student.is_source(source).unsqueeze(1)
    allowed = allowed.expand(-1, target.shape[1], -1)
    for unit, layer in zip(units[:depth], student.decoder_layers):
        x = layer.self_attention_norm(x + unit(x))
        x = layer.residual(x, layer.cross_attention_norm,
                           lambda y, a=layer.cross_attention: a(y, memory, zeros, torch.zeros_like(source), allowed,
                                                                False, run, {}))
        x = student.feed_forward(layer, x, True)
    return x


@torch.no_grad()
def observed(blocks: list[Attention], batches: Iterator[tuple[Tensor, Tensor]], pad: int,
             run: Callable[[Tensor, Tensor], object]) -> dict[Attention, Moments]:
    """Measures the inputs of attention blocks while `run` processes a few batches."""
    moments = {block: Moments.none(block.config.d_model) for block in blocks}
    real: dict[bool, Tensor] = {}

    def note(block, inputs):
        of_target = block.module != "encoder"
        moments[block].add(inputs[0][real[of_target]], inputs[1][real[block.module == "decoder"]])

    hooks = [block.register_forward_pre_hook(note) for block in blocks]
    for _ in range(SEEN_BATCHES):
        source, target = next(batches)
        real[False], real[True] = source.ne(pad), target.ne(pad)
        run(source, target)
    for hook in hooks:
        hook.remove()
    return moments


def separate(student: Transformer, units: list[Unit], tokenizer, pairs: list[tuple[str, str]]) -> None:
    """Calls set_apart for the encoder's attention and the cross-attention of the layers that the teacher has."""
    blocks = [layer.self_attention for layer in student.encoder_layers]
    blocks += [layer.cross_attention for layer in student.decoder_layers[:len(units)]]
    found = observed(blocks, batches_of(student, tokenizer, pairs, 0), student.config.tokens.pad,
                     lambda source, target: states_below(student, units, len(units), source, target))
    for block in blocks:
        set_apart(block, found[block], student.config.heads)


@torch.no_grad()
def choose(student: Transformer, tokenizer, pairs: list[tuple[str, str]]) -> None:
    """Calls begin_selection for all selection layers."""
    blocks = [m for m in student.modules() if isinstance(m, Attention) and m.selection is not None]

    def run(source, target):
        dense = SelectionRun()
        student.decode(target, source, student.encode(source, dense), dense)

    found = observed(blocks, batches_of(student, tokenizer, pairs, 1), student.config.tokens.pad, run)
    for block in blocks:
        begin_selection(block, found[block], student.config.heads)


def fit_self_attention(student: Transformer, units: list[Unit], tokenizer, pairs: list[tuple[str, str]],
                       steps: int) -> None:
    """Trains the self-attention of the first decoder layers to give the output of the units."""
    for depth, unit in enumerate(units):
        attention = student.decoder_layers[depth].self_attention
        begin_recent(attention, unit, student.config.heads)
        optimiser = torch.optim.Adam(attention.parameters(), lr=RATE)
        stream, seen, shown = batches_of(student, tokenizer, pairs, depth), [], []
        for step in range(steps):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=has_bf16("cpu")):
                if step < FITTED_BATCHES:
                    source, target = next(stream)
                    with torch.no_grad():
                        x = states_below(student, units, depth, source, target)
                        seen.append((x, unit(x).float(), target.ne(student.config.tokens.pad)))
                x, wanted, real = seen[step % len(seen)]
                at = torch.arange(x.shape[1]).expand_as(real)
                made = attention(x, x, at, at, torch.ones(1, 1, 1, dtype=torch.bool), True, SelectionRun(), {})
            error = F.mse_loss(made.float()[real], wanted[real])
            optimiser.param_groups[0]["lr"] = RATE * (1 - step / steps)
            optimiser.zero_grad()
            error.backward()
            optimiser.step()
            shown.append(float(error.detach() / wanted[real].var()))
            if (step + 1) % 10 == 0 or step + 1 == steps:
                print(f"\rdecoder layer {depth + 1}, step {step + 1}: {sum(shown[-10:]) / len(shown[-10:]):.3f} of the "
                      "variance unexplained", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)


@torch.no_grad()
def begin_as_identity(student: Transformer, first: int, states: Tensor) -> None:
    """Decoder layers from `first` on start as the identity: they add nothing, and their norms keep the scale of
    `states` [N, d]. They attend as the layer before them does, so that there is something useful for them to learn
    from."""
    scale, shift = float(states.std(-1).mean()), float(states.mean())
    below = student.decoder_layers[first - 1]
    for layer in student.decoder_layers[first:]:
        for ours, theirs in ((layer.self_attention.query_key_value, below.self_attention.query_key_value),
                             (layer.cross_attention.query, below.cross_attention.query),
                             (layer.cross_attention.key_value, below.cross_attention.key_value)):
            fill(ours, theirs.weight, theirs.bias)
        for block in (layer.self_attention.output, layer.cross_attention.output, layer.ffn.down):
            torch.nn.init.zeros_(block.weight), torch.nn.init.zeros_(block.bias)
        for norm in (layer.self_attention_norm, layer.cross_attention_norm, layer.ffn_norm):
            torch.nn.init.constant_(norm.weight, scale), torch.nn.init.constant_(norm.bias, shift)


def configuration(model: MarianModel, vocab_size: int, decoder_layers: int, o: argparse.Namespace) -> ModelConfig:
    options = model.options
    wanted = {"type": "transformer", "transformer-postprocess": "dan", "transformer-preprocess": "",
              "transformer-decoder-autoreg": "rnn", "dec-cell": "ssru", "transformer-ffn-depth": 2,
              "tied-embeddings-all": True}
    for key, value in wanted.items():
        if options.get(key) != value:
            raise ValueError(f"the teacher's {key} is {options.get(key)!r}; this command needs {value!r}")
    check(options)
    sizes = {name: whole_number(options, name, OPTIONS)
             for name in ("enc-depth", "dec-depth", "dim-emb", "transformer-heads", "transformer-dim-ffn")}
    if decoder_layers < sizes["dec-depth"]:
        raise ValueError(f"--decoder-layers {decoder_layers}: the teacher has {sizes['dec-depth']}, all of which the "
                         "student gets")
    ffn = FeedForward("own", sizes["transformer-dim-ffn"])
    group = {"encoder": min(3, sizes["enc-depth"]), "decoder": min(2, decoder_layers), "cross": min(2, decoder_layers)}
    config = ModelConfig(
        name=o.name, source_language=o.source_language, target_language=o.target_language, vocab_size=vocab_size,
        d_model=sizes["dim-emb"], heads=sizes["transformer-heads"],
        encoder=Stack(sizes["enc-depth"], ffn), decoder=Stack(decoder_layers, ffn), norm="post",
        activation=options.get("transformer-ffn-activation", "swish"), layer_norm_epsilon=EPSILON,
        selection=Selection(width=o.selection_width, group=group),
        exits=Exits(), tokens=Tokens(markers=Markers(first_marker(), o.markers) if o.markers else None),
        chunk_tokens=o.chunk_tokens,
        positions=Positions(encoder_self_attention="segment_rotary"))
    config.check()
    config.check_settable()
    return config


def inherit(model: MarianModel, config: ModelConfig, kept: list[int], markers: int, teacher_eos: int) -> Transformer:
    """The student with everything that can be copied. The decoder's self-attention is not fitted yet."""
    student = Transformer(config)
    take_embedding(student, model, kept, markers, teacher_eos)
    for i, layer in enumerate(student.encoder_layers, 1):
        take_attention(layer.self_attention, model, f"encoder_l{i}_self")
        take_norm(layer.self_attention_norm, model, f"encoder_l{i}_self_Wo")
        take_ffn(layer, model, f"encoder_l{i}")
    for i, layer in enumerate(student.decoder_layers[:model.options["dec-depth"]], 1):
        take_norm(layer.self_attention_norm, model, f"decoder_l{i}_rnn_ffn")
        take_attention(layer.cross_attention, model, f"decoder_l{i}_context")
        take_norm(layer.cross_attention_norm, model, f"decoder_l{i}_context_Wo")
        take_ffn(layer, model, f"decoder_l{i}")
    return student


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    p.add_argument("--marian", type=Path, required=True, help="the teacher's model, .bin or .npz")
    p.add_argument("--vocabulary", type=Path, required=True, help="the teacher's SentencePiece model")
    p.add_argument("--text", type=Path, required=True, help="parallel text (TSV), the target by the teacher")
    p.add_argument("--out", type=Path, required=True, help="model folder to write")
    p.add_argument("--pieces", type=whole(1), default=100_000,
                   help="pieces to keep of the teacher's, beside special ones")
    p.add_argument("--markers", type=whole(0, 2, MOST_MARKERS), default=MOST_MARKERS,
                   help="marker pieces of the vocabulary")
    p.add_argument("--decoder-layers", type=whole(1), default=4, help="of the student")
    p.add_argument("--selection-width", type=whole(LEAST_WIDTH, 8), default=32,
                   help="width of the selection layers' head")
    p.add_argument("--chunk-tokens", type=int, default=2048, help="the most source tokens in one pass")
    p.add_argument("--steps", type=whole(1), default=400, help="of the fit of each self-attention")
    p.add_argument("--name", default="en-pt", help="of the student")
    p.add_argument("--source-language", default="en", help="of the student")
    p.add_argument("--target-language", default="pt", help="of the student")
    return p


def main() -> None:
    with refusals("inherit"):
        run(parser().parse_args())


def run(o: argparse.Namespace) -> None:
    torch.manual_seed(1)
    model = read_model(o.marian)
    with reading(o.vocabulary, "SentencePiece model"):
        teacher = sentencepiece.SentencePieceProcessor(model_file=str(o.vocabulary))
    print("counting the teacher's pieces in the text", file=sys.stderr)
    kept = kept_pieces(teacher, counted(teacher, texts_of(o.text, 400_000)), o.pieces)
    with new_files(o.out) as made:
        tokenizer_path = made / TOKENIZER
        tokenizer_path.write_bytes(pruned(o.vocabulary.read_bytes(), kept, o.markers))
        tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer_path))
        config = configuration(model, tokenizer.get_piece_size(), o.decoder_layers, o)
        student = inherit(model, config, kept, o.markers, teacher.piece_to_id("</s>"))
        texts = texts_of(o.text, 40_000)
        pairs = list(zip(texts[::2], texts[1::2]))
        units = [Unit(model, f"decoder_l{i}") for i in range(1, model.options["dec-depth"] + 1)]
        print("turning the heads, so that segments stay apart", file=sys.stderr)
        separate(student, units, tokenizer, pairs)
        fit_self_attention(student, units, tokenizer, pairs, o.steps)
        with torch.no_grad():
            source, target = next(batches_of(student, tokenizer, pairs, 0))
            states = states_below(student, units, len(units), source, target)[target.ne(config.tokens.pad)]
        begin_as_identity(student, len(units), states)
        choose(student, tokenizer, pairs)
        export(student, tokenizer_path, made)
    print(f"{sum(p.numel() for p in student.parameters()) / 1e6:.1f} M parameters in {o.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
