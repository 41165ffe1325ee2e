"""A model folder as a CTranslate2 model: the same weights, in CTranslate2's own specification.

    python3 -m harness.convert --model DIR --out DIR

CTranslate2 can express what harness.models makes: pre-norm, ReLU, sinusoids added to scaled embeddings, one matrix for
both embeddings and the classifier. Exits, selection and halting heads stay behind: it computes everything, always. The
vocabulary map says what the model's shortlist says.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from ctranslate2.specs import TransformerSpec, common_spec

from .models import FIRST_WORD, LONGEST, ModelConfig, likely_words, piece
from salient.model import sinusoid
from salient.tensor_file import read_folder

import torch  # noqa: E402


class Weights:
    """The folder's tensors by name, as numpy arrays, each stored as CTranslate2 expects it."""

    def __init__(self, folder: Path):
        self.tensors = {name: tensor.numpy() for name, tensor in read_folder(folder).items()}

    def linear(self, spec, name: str) -> None:
        spec.weight, spec.bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]

    def norm(self, spec, name: str) -> None:
        spec.gamma, spec.beta = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]

    def feed_forward(self, spec, name: str) -> None:
        self.norm(spec.layer_norm, f"{name}.ffn_norm")
        self.linear(spec.linear_0, f"{name}.ffn.up")
        self.linear(spec.linear_1, f"{name}.ffn.down")

    def self_attention(self, spec, name: str) -> None:
        self.norm(spec.layer_norm, f"{name}.self_attention_norm")
        self.linear(spec.linear[0], f"{name}.self_attention.query_key_value")
        self.linear(spec.linear[1], f"{name}.self_attention.output")

    def cross_attention(self, spec, name: str) -> None:
        self.norm(spec.layer_norm, f"{name}.cross_attention_norm")
        self.linear(spec.linear[0], f"{name}.cross_attention.query")
        self.linear(spec.linear[1], f"{name}.cross_attention.key_value")
        self.linear(spec.linear[2], f"{name}.cross_attention.output")


def check(config: ModelConfig) -> None:
    positions = config.positions
    if config.norm != "pre" or config.activation != "relu" or not config.scale_embeddings:
        raise ValueError(f"{config.name}: only pre-norm models with ReLU and scaled embeddings are converted")
    if (positions.embedding, positions.self_attention, positions.cross_attention) != ("sinusoidal", "none", "none"):
        raise ValueError(f"{config.name}: positions are {positions}; CTranslate2 takes sinusoids alone")
    if {config.encoder.ffn.kind, config.decoder.ffn.kind} != {"own"}:
        raise ValueError(f"{config.name}: every layer must have its own feed-forward block")


def specification(config: ModelConfig, weights: Weights) -> TransformerSpec:
    check(config)
    spec = TransformerSpec.from_config((config.encoder.layers, config.decoder.layers), config.heads, pre_norm=True,
                                       activation=common_spec.Activation.RELU)
    table = sinusoid(torch.arange(LONGEST), config.d_model).numpy()
    for side in (spec.encoder, spec.decoder):
        embedding = side.embeddings[0] if side is spec.encoder else side.embeddings
        embedding.weight = weights.tensors["embedding.weight"]
        side.scale_embeddings = True
        side.position_encodings.encodings = table
    for i, layer in enumerate(spec.encoder.layer):
        weights.self_attention(layer.self_attention, f"encoder_layers.{i}")
        weights.feed_forward(layer.ffn, f"encoder_layers.{i}")
    for i, layer in enumerate(spec.decoder.layer):
        weights.self_attention(layer.self_attention, f"decoder_layers.{i}")
        weights.cross_attention(layer.attention, f"decoder_layers.{i}")
        weights.feed_forward(layer.ffn, f"decoder_layers.{i}")
    weights.norm(spec.encoder.layer_norm, "encoder_norm")
    weights.norm(spec.decoder.layer_norm, f"exit_norms.{config.decoder.layers - 1}")
    spec.decoder.projection.weight = weights.tensors["embedding.weight"]
    spec.decoder.projection.bias = weights.tensors["output_bias"]
    return spec


def vocabulary_map(config: ModelConfig) -> str:
    """The model's shortlist as lines "source<tab>targets". The line with an empty source applies to every batch."""
    tokens, common = likely_words(config)

    def line(source: str, targets: np.ndarray) -> str:
        return source + "\t" + " ".join(piece(int(token), config) for token in np.unique(targets))

    words = range(FIRST_WORD, config.vocab_size)
    return "\n".join([line("", common), *(line(piece(token, config), tokens[token]) for token in words)]) + "\n"


def convert(model: Path, out: Path) -> None:
    config = ModelConfig.load(model)
    spec = specification(config, Weights(model))
    pieces = [piece(token, config) for token in range(config.vocab_size)]
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.config.decoder_start_token = "<s>"
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "vmap.txt"
        path.write_text(vocabulary_map(config))
        spec.register_vocabulary_mapping(str(path))
        spec.validate()
        spec.optimize(quantization=None)
        shutil.rmtree(out, ignore_errors=True)  # CTranslate2 refuses to overwrite
        out.mkdir(parents=True)
        spec.save(str(out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    o = parser.parse_args()
    convert(o.model, o.out)
    print(f"wrote {o.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
