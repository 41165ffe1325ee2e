"""Exports tiny models with random weights, for tests that compare implementations.

    python -m salient.tiny --out DIR [--variant NAME ...] [--seed N]

Each variant becomes the model folder DIR/NAME. Together they cover the configurations that an engine must run: every
norm, position, feed-forward and classifier kind, selection groups whose last one is incomplete, all halting heads,
markers, a shortlist (of random tokens) and none.
No weight is zero, so that a missing term is detected, and logits are sharp, so that outputs vary.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

import numpy as np
import torch

from .calibrate import fit_key_steps
from .config import (HEADS, Exits, FeedForward, Languages, Markers, ModelConfig, Positions, Search, Selection, Stack,
                     Tokens)
from .data import PAD, SEPARATOR, join
from .export import DTYPES, export
from .model import Transformer
from .model_folder import SHORTLIST, new_files
from .pieces import first_marker, pruned
from .prepare import train_tokenizer
from .selection import SelectionRun
from .shortlist import Shortlist
from .vocabulary import SOURCE_VOCABULARY, TOKENIZER, VOCABULARY as VOCABULARY_FILE

SENTENCES = [
    ("The old house stands at the river.", "Das alte Haus steht am Fluss."),
    ("She opened the window and looked out.", "Sie öffnete das Fenster und sah hinaus."),
    ("Three birds sat on the roof.", "Drei Vögel saßen auf dem Dach."),
    ("The water was cold and clear.", "Das Wasser war kalt und klar."),
    ("He had not seen his brother for years.", "Er hatte seinen Bruder seit Jahren nicht gesehen."),
    ("They spoke about the weather.", "Sie sprachen über das Wetter."),
    ("The train leaves at seven.", "Der Zug fährt um sieben."),
    ("Nobody knew the answer.", "Niemand wusste die Antwort."),
    ("Please close the door behind you.", "Bitte schließen Sie die Tür hinter sich."),
    ("The children played in the garden until it grew dark.", "Die Kinder spielten im Garten, bis es dunkel wurde."),
    ("A letter lay on the table.", "Ein Brief lag auf dem Tisch."),
    ("We walked along the river for an hour.", "Wir gingen eine Stunde am Fluss entlang."),
    ("The book is older than the house.", "Das Buch ist älter als das Haus."),
    ("In winter the lake freezes.", "Im Winter friert der See zu."),
    ("He wrote three letters and sent none.", "Er schrieb drei Briefe und schickte keinen ab."),
    ("The answer came late.", "Die Antwort kam spät."),
]
VOCABULARY = 384  # 256 byte pieces, 5 special tokens, letters, and a few words
SINUSOIDAL = Positions("sinusoidal", "none", "none")
MARIAN = Positions("sinusoidal", "none", "none", sinusoid="half_minus_one")
FAIRSEQ = Positions("sinusoidal", "none", "none", sinusoid="half_minus_one", offset=2)


def selection(encoder: int, decoder: int, cross: int, width: int = 16, min_keys: int = 3) -> Selection:
    return Selection(width, min_keys, {"encoder": encoder, "decoder": decoder, "cross": cross})


def variants() -> dict[str, ModelConfig]:
    def model(**changes) -> ModelConfig:
        base = dict(d_model=48, heads=3, encoder=Stack(4, FeedForward("own", 96)), chunk_tokens=256,
                    decoder=Stack(3, FeedForward("own", 96)), selection=selection(3, 2, 2),
                    exits=Exits("tied", list(HEADS)))
        return ModelConfig(**{**base, **changes})

    return {
        "base": model(),
        "post": model(norm="post", activation="swish", positions=SINUSOIDAL, exits=Exits("untied", list(HEADS)),
                      d_model=64, heads=4, scale_embeddings=False),
        "wide": model(encoder=Stack(4, FeedForward("shared", 224)), decoder=Stack(4, FeedForward("none", 0)),
                      activation="gelu", selection=selection(2, 3, 3)),
        "borrowed": model(encoder=Stack(3, FeedForward("shared", 112)), decoder=Stack(3, FeedForward("encoder", 112)),
                          positions=Positions("none", "rotary", "segment_rotary", 500.0), norm="post",
                          scale_embeddings=False),
        "shared-decoder": model(encoder=Stack(3, FeedForward("none", 0)), decoder=Stack(4, FeedForward("shared", 80)),
                                positions=Positions("segment_sinusoidal", "none", "segment_rotary"), heads=2,
                                d_model=32, exits=Exits("untied", ["geometric"])),
        "each-layer": model(decoder=Stack(4, FeedForward("own", 64)), selection=selection(1, 1, 4, 8, min_keys=1)),
        "no-selection": model(selection=None, exits=Exits("tied", ["multinomial"])),
        "no-exits": model(exits=None, positions=Positions("sinusoidal", "rotary", "none")),
        "by-segment": model(norm="post", positions=Positions(encoder_self_attention="segment_rotary")),
        "plain": model(selection=None, exits=None, norm="post", positions=SINUSOIDAL, activation="gelu",
                       scale_embeddings=False),
        # Like models of other toolkits, for single sentences: OpenNMT-py's, OPUS-MT, Bergamot's students, M2M-100.
        "opennmt": model(positions=SINUSOIDAL, selection=None, exits=None,
                         tokens=Tokens(0, 1, 2, 3, None, source_end=False)),
        "opus": model(norm="post", activation="swish", positions=SINUSOIDAL, selection=None, exits=None,
                      tokens=Tokens(0, 1, 0, 3, None), scale_embeddings=False),
        "student": model(norm="post", positions=MARIAN, selection=None, exits=None, autoregression="ssru", d_model=64,
                         heads=4, scale_embeddings=False, tokens=Tokens(2, 1, 2, 3, None),
                         search=Search(1.0, [20, 21])),
        "student-selected": model(norm="post", positions=MARIAN, exits=None, autoregression="ssru",
                                  selection=selection(2, 1, 2), scale_embeddings=False),
        "multilingual": model(positions=FAIRSEQ, selection=None, exits=None, tokens=Tokens(0, 1, 3, 3, None),
                              source_vocab_size=1, output="own", embedding_norm=True,
                              languages=Languages({"en": 370, "de": 371, "fr": 372}, ["en", "de", "fr"], ["de", "fr"],
                                                  "source", "target"), search=Search(0.5, [370, 371, 372])),
        "markers": model(norm="post", tokens=Tokens(markers=Markers(first_marker(), 32), byte_characters="")),
        # Wide enough for the kernels that process a position's K and V as one row.
        "whole-rows": model(d_model=256, heads=8, encoder=Stack(1, FeedForward("own", 32)),
                            decoder=Stack(3, FeedForward("own", 32)), selection=selection(1, 2, 2)),
    }


@torch.no_grad()
def randomise(model: Transformer, generator: torch.Generator) -> None:
    """Weights unlike those of a fresh model: peaked attention and logits, no zero bias, no norm that is the identity.

    A random model that reads its own output repeats itself after a while. These gains delay that the most.
    """
    config, d = model.config, model.config.d_model
    pre = config.norm == "pre"
    gain, peak = (2.8, 2.4) if pre else (0.8, 3.0)  # of every matrix; of those that make attention's queries and keys

    def normal(tensor, deviation, mean=0.0):
        tensor.copy_(torch.randn(tensor.shape, generator=generator) * deviation + mean)

    for name, p in model.named_parameters():
        if p.dim() == 1:
            is_gain = "norm" in name and name.endswith("weight")
            normal(p, 0.2 if is_gain else 0.1, (3.0 if "exit" in name else 1.0) if is_gain else 0.0)
            continue
        if name.startswith(("embedding", "source_embedding")):
            scale = 1.0 if pre else 3.0
        elif name.startswith(("exit_classifiers", "output")):
            scale = 3.0
        elif ".ssru." in name:  # its output is an average of tokens, half of it cut off
            scale = 4 * gain
        else:
            scale = 1.0 if name.startswith("halting") else 1.5 if ".selection." in name else gain
        normal(p, scale * p.shape[1] ** -0.5)
        if ".query_key_value." in name:
            p[:2 * d] *= peak / gain
        elif "cross_attention.query." in name or ".key_value." in name:
            p[:d] *= peak / gain


@torch.no_grad()
def balance(model: Transformer, pairs: list[tuple[torch.Tensor, torch.Tensor]], generator: torch.Generator) -> None:
    """Sets the output bias so that no token is preferred overall, and a segment ends about every sixth token."""
    rows = []
    for source, target in pairs:
        states = model.decode(target[:, :-1], source, model.encode(source, SelectionRun()), SelectionRun())
        rows += [model.logits(n, x)[0] for n, x in enumerate(states)]
    model.output_bias -= torch.cat(rows).mean(0)
    model.output_bias += 0.3 * torch.randn(model.output_bias.shape, generator=generator)
    rows = torch.cat(rows) - torch.cat(rows).mean(0)
    t = model.config.tokens
    for token in {t.eos} if t.separator is None else {t.separator, t.eos}:
        short_of_best = rows[:, SEPARATOR + 1:].amax(-1) - rows[:, token]
        model.output_bias[token] += torch.quantile(short_of_best, 0.16 if t.separator is not None else 0.01)


def random_pairs(config: ModelConfig, rng: random.Random, count: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Chunks of one or a few segments of random tokens: source [1, S], and target [1, T] with BOS."""
    t = config.tokens

    def side(vocab_size, bos):
        segments = [[rng.randrange(SEPARATOR + 1, vocab_size) for _ in range(rng.randint(3, 12))]
                    for _ in range(1 if t.separator is None else 4)]
        return torch.from_numpy(join(segments, bos, t))[None]

    return [(side(config.source_vocab_size or config.vocab_size, False), side(config.vocab_size, True))
            for _ in range(count)]


def write(name: str, config: ModelConfig, tokenizer: Path, out: Path, seed: int, dtype: str = "f32",
          shard_bytes: int = 90 << 20) -> None:
    import sentencepiece

    rng = random.Random(f"{seed} {name}")
    config.name = f"tiny-{name}"
    with new_files(out / name) as made:
        stored = tokenizer.read_bytes()
        if config.tokens.markers is not None:
            stored = with_markers(stored, config.tokens.markers.count)
        (made / TOKENIZER).write_bytes(stored)
        model_file = sentencepiece.SentencePieceProcessor(model_proto=stored)
        config.vocab_size = model_file.get_piece_size()
        if config.source_vocab_size is not None:
            config.source_vocab_size, config.vocab_size = own_vocabularies(model_file, made, rng)
        if config.selection is not None:
            config.selection.learned_ratio = {
                module: [round(rng.uniform(0.15, 0.6), 3) for _ in config.selection_layers(module)]
                for module in config.selection.group}
        model, generator = Transformer(config).eval(), torch.Generator().manual_seed(rng.randrange(2 ** 31))
        pairs = random_pairs(config, rng, 8)
        randomise(model, generator)
        balance(model, pairs, generator)
        if config.selection is not None:
            fit_key_steps(model, pairs)
        export(model, made / TOKENIZER, made, dtype=dtype, shard_bytes=shard_bytes)
        if name != "plain":
            random_shortlist(config.source_vocab_size or config.vocab_size, config.vocab_size, rng).save(
                made / SHORTLIST)


def with_markers(model: bytes, count: int) -> bytes:
    """The SentencePiece model with that many markers."""
    import sentencepiece

    read = sentencepiece.SentencePieceProcessor(model_proto=model)
    kept = [i for i in range(read.get_piece_size()) if not (read.is_control(i) or read.is_unknown(i) or
                                                            read.is_byte(i))]
    return pruned(model, kept, count)


def own_vocabularies(model_file, folder: Path, rng: random.Random) -> tuple[int, int]:
    """Writes vocabularies in another order: the source's lacks a few pieces, the target's has a few more."""
    pieces = [model_file.id_to_piece(i) for i in range(model_file.get_piece_size())]
    special, source, target = pieces[:SEPARATOR + 1], pieces[SEPARATOR + 1:-5], pieces[SEPARATOR + 1:]
    rng.shuffle(source)
    rng.shuffle(target)
    target += [f"\u2581more{i}" for i in range(6)]
    for name, made in {SOURCE_VOCABULARY: special + source, VOCABULARY_FILE: special + target}.items():
        (folder / name).write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    return len(special + source), len(special + target)


def random_shortlist(source_size: int, vocab_size: int, rng: random.Random) -> Shortlist:
    rows = [rng.sample(range(SEPARATOR + 1, vocab_size), 3) + [PAD] for _ in range(source_size)]
    return Shortlist(np.array(rows), np.array(sorted(rng.sample(range(SEPARATOR + 1, vocab_size), 20))))


def main() -> None:
    known = variants()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variant", nargs="*", choices=[*known, []], default=[], metavar="NAME",
                        help=f"all when left out: {', '.join(known)}")
    parser.add_argument("--dtype", choices=DTYPES, default="f32")
    parser.add_argument("--shard-kb", type=int, default=90 << 10, help="the most kilobytes a file")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    torch.set_num_threads(1)
    o.out.mkdir(parents=True, exist_ok=True)
    tokenizer = o.out / "tokenizer.model"
    train_tokenizer([SENTENCES], VOCABULARY, tokenizer)
    for name in o.variant or known:
        write(name, known[name], tokenizer, o.out, o.seed, o.dtype, o.shard_kb << 10)
        print(f"wrote {o.out / name}", file=sys.stderr)


if __name__ == "__main__":
    main()
