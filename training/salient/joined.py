"""A model of single sentences gets a separator, so that it can learn to translate several sentences as one chunk.

The separator is one more token at the end of the vocabulary. It ends a segment as the end token does, and starts with
the end token's embedding, output and bias. Positions go on through a chunk, so the model must see chunks in training
(salient.retrofit --documents); what it knows of single sentences stays as it is.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

from .checkpoint import write_checkpoint
from .config import ModelConfig
from .export import load_model
from .model import Transformer
from .vocabulary import VOCABULARY, Vocabulary

SEPARATOR = "<sep>"
CHUNK_TOKENS = 128  # of the source; a model of sentences translates longer chunks worse (docs/models.md)


def refuse_what_cannot_join(config: ModelConfig, vocabulary: Vocabulary) -> None:
    if config.tokens.separator is not None:
        raise ValueError("--documents: the model translates documents already")
    if config.source_vocab_size is not None:
        raise ValueError("--documents: the model has two vocabularies, and the separator must be one token of both")
    if SEPARATOR in vocabulary.target:
        raise ValueError(f"--documents: the vocabulary has a piece {SEPARATOR} already")


@torch.no_grad()
def with_separator(model: Transformer) -> Transformer:
    """The same model with a separator."""
    size, end = model.config.vocab_size, model.config.tokens.eos
    config = ModelConfig.from_json(model.config.to_json())
    config.vocab_size, config.tokens.separator, config.chunk_tokens = size + 1, size, CHUNK_TOKENS
    grown = Transformer(config)
    of_tokens = {"embedding.weight", "output.weight", "output_bias"}
    of_tokens |= {name for name in model.state_dict() if name.startswith("exit_classifiers.")}
    grown.load_state_dict({name: torch.cat((tensor, tensor[end:end + 1])) if name in of_tokens else tensor
                           for name, tensor in model.state_dict().items()})
    return grown.eval()


def join(folder: Path, checkpoint: Path) -> ModelConfig:
    """Writes a checkpoint of the folder's model with a separator, and returns its configuration."""
    model, config = load_model(folder)
    refuse_what_cannot_join(config, Vocabulary(folder, config))
    grown = with_separator(model)
    write_checkpoint(checkpoint, grown.config.to_json(), grown.state_dict())
    return grown.config


def write_vocabulary(folder: Path, config: ModelConfig, out: Path) -> None:
    """The vocabulary of the folder's model, with the separator as its last piece."""
    pieces = [*Vocabulary(folder, config).target, SEPARATOR]
    (out / VOCABULARY).write_text(json.dumps(pieces, ensure_ascii=False), encoding="utf-8")
