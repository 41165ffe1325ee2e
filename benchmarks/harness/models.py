"""Models to time: real architectures, random but well-scaled weights, and a tokeniser of whole words.

    python3 -m harness.models --out DIR [--shape base small]

Each shape becomes the model folder DIR/SHAPE, written by the training code's own exporter. Positions are sinusoids
added to the embeddings, which other engines can express too. Selection layers and halting heads are there; since
nothing is trained, what they choose means nothing, but how much they choose is like a trained model: five per cent of
the keys, LIKELY words for every word of the source, and halting heads that leave after each layer with the probability
EXIT_RATE. A random model soon repeats itself, and a head that reads its words would then always say the same; so the
heads read channels in which the states hold little but the position's sinusoids, which change from token to token.

Piece i of the tokeniser is the word "w" and i in five digits, so that any tokens can be given to the engine as text.
"""

from __future__ import annotations

import argparse
import struct
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "training"))

from salient.calibrate import fit_key_steps  # noqa: E402
from salient.config import Exits, FeedForward, ModelConfig, Positions, Selection, Stack  # noqa: E402
from salient.export import export  # noqa: E402
from salient.model import Transformer  # noqa: E402
from salient.selection import SelectionRun  # noqa: E402
from salient.shortlist import Shortlist  # noqa: E402

LONGEST = 8448  # positions: for a document of 8,192 tokens, and a longer translation
FIRST_WORD = 5  # lower ids are pad, unknown, begin, end and separator
EXIT_RATE = 0.3  # of the tokens that reach a layer below the last; with 6 layers the mean exit is 2.9
NEVER = -1e4  # an output bias with which a token is never chosen
LIKELY = 20  # target words per source word, in the shortlist and in other engines' vocabulary maps
FREQUENCIES = 32  # the number of fast position sinusoids that the halting heads read
FAINT = 0.1  # factor of everything else in their channels


def shapes() -> dict[str, ModelConfig]:
    def shape(name: str, **sizes) -> ModelConfig:
        return ModelConfig(name=name, positions=Positions("sinusoidal", "none", "none"), chunk_tokens=LONGEST,
                           exits=Exits("tied", ["geometric"]), **sizes)

    return {
        # Transformer base, with the selection of the paper: one layer of width 64 for every three.
        "base": shape("base", vocab_size=32000, d_model=512, heads=8, encoder=Stack(6, FeedForward("own", 2048)),
                      decoder=Stack(6, FeedForward("own", 2048)), selection=Selection(64)),
        # The sizes of the bundled model.
        "small": shape("small", vocab_size=8000, d_model=256, heads=4, encoder=Stack(6, FeedForward("own", 1024)),
                       decoder=Stack(4, FeedForward("own", 1024)),
                       selection=Selection(32, group={"encoder": 3, "decoder": 2, "cross": 2})),
    }


def piece(token: int, config: ModelConfig) -> str:
    """The tokeniser's piece, and the entry of other engines' vocabularies."""
    t = config.tokens
    special = {t.pad: "<pad>", t.unk: "<unk>", t.bos: "<s>", t.eos: "</s>", t.separator: "<sep>"}
    return special.get(token, f"\u2581w{token:05d}")


def text_of(tokens: list[int]) -> str:
    return " ".join(f"w{token:05d}" for token in tokens)


def tokenizer_bytes(config: ModelConfig) -> bytes:
    """A SentencePiece unigram model, written field by field in the protobuf wire format."""
    normal, unknown, control = 1, 2, 3

    def varint(value: int) -> bytes:
        out = b""
        while value > 0x7F:
            out += bytes([value & 0x7F | 0x80])
            value >>= 7
        return out + bytes([value])

    def message(field: int, body: bytes) -> bytes:
        return varint(field << 3 | 2) + varint(len(body)) + body

    out = []
    for token in range(config.vocab_size):
        kind = unknown if token == config.tokens.unk else control if token < FIRST_WORD else normal
        out.append(message(1, message(1, piece(token, config).encode()) + b"\x15" + struct.pack("<f", -1.0) +
                           b"\x18" + varint(kind)))
    unigram = b"\x18\x01"
    special = ((45, b"<unk>"), (46, b"<s>"), (47, b"</s>"), (48, b"<pad>"))
    names = b"".join(message(field, name) for field, name in special)
    return b"".join(out) + message(2, unigram + names)


def likely_words(config: ModelConfig, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """[vocabulary, LIKELY]: the target words of each source token; and [LIKELY]: words that any text may use."""
    rng = np.random.default_rng(seed)
    words = rng.integers(FIRST_WORD, config.vocab_size, (config.vocab_size + 1, LIKELY), dtype=np.uint16)
    return words[1:], words[0]


def random_pairs(config: ModelConfig, count: int, length: int, generator: torch.Generator):
    def tokens(n: int) -> torch.Tensor:
        return torch.randint(FIRST_WORD, config.vocab_size, (1, n), generator=generator)

    begin, end = torch.full((1, 1), config.tokens.bos), torch.full((1, 1), config.tokens.eos)
    return [(torch.cat((tokens(length), end), 1), torch.cat((begin, tokens(length)), 1)) for _ in range(count)]


@torch.no_grad()
def clear_channels(model: Transformer) -> torch.Tensor:
    """Removes nearly everything but sinusoids from the channels of FREQUENCIES. Returns these channels."""
    half = model.config.d_model // 2
    channels = torch.cat((torch.arange(FREQUENCIES), half + torch.arange(FREQUENCIES)))
    model.embedding.weight[:, channels] *= FAINT
    for layer in [*model.encoder_layers, *model.decoder_layers]:
        for linear in (layer.self_attention.output, layer.cross_attention and layer.cross_attention.output,
                       layer.ffn.down):
            if linear is not None:
                linear.weight[channels] *= FAINT
                linear.bias[channels] *= FAINT
    return channels


@torch.no_grad()
def spread_exits(model: Transformer, channels: torch.Tensor, pairs, generator: torch.Generator) -> None:
    """Halting heads that let EXIT_RATE of the tokens that reach a layer exit after it, at threshold 0.5."""
    head = model.halting.geometric
    head.weight.zero_()
    head.weight[:, channels] = torch.randn((head.weight.shape[0], len(channels)), generator=generator)
    by_layer: list[list[torch.Tensor]] = [[] for _ in model.decoder_layers]
    for source, target in pairs:
        states = model.decode(target, source, model.encode(source, SelectionRun()), SelectionRun())
        for n, state in enumerate(states):
            by_layer[n].append(model.halting.geometric_logit(n, model.exit_norms[n](state))[0])
    staying = torch.ones(sum(len(x) for x in by_layer[0]), dtype=torch.bool)
    for n, logits in enumerate(by_layer[:-1]):
        values = torch.cat(logits)
        bound = torch.quantile(values[staying], 1 - EXIT_RATE)
        head.bias[n] -= bound
        staying &= values <= bound


@torch.no_grad()
def make(config: ModelConfig, seed: int = 1) -> Transformer:
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Transformer(config).eval()
    for name, p in model.named_parameters():
        if p.dim() == 1:  # no zero bias and no identity norm, so that a missing term is detected
            p += 0.05 * torch.randn(p.shape, generator=generator)
    for token in range(FIRST_WORD):
        model.output_bias[token] = NEVER
    channels = clear_channels(model)
    config.selection.learned_ratio = {module: [0.05] * len(config.selection_layers(module))
                                     for module in config.selection.group}
    pairs = random_pairs(config, 2, 256, generator)
    fit_key_steps(model, pairs)
    spread_exits(model, channels, pairs, generator)
    return model


def write(shape: str, folder: Path) -> None:
    config = shapes()[shape]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.model").write_bytes(tokenizer_bytes(config))
    export(make(config), folder / "tokenizer.model", folder)
    tokens, common = likely_words(config)
    Shortlist(tokens, np.unique(common)).save(folder / "shortlist.safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shape", nargs="*", choices=[*shapes(), []], default=[], help="all when left out")
    o = parser.parse_args()
    for shape in o.shape or shapes():
        write(shape, o.out / shape)
        print(f"wrote {o.out / shape}", file=sys.stderr)


if __name__ == "__main__":
    main()
