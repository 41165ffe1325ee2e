"""Shared by the tests: the package on the path, one thread, tiny exported models, and a tokeniser."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory):
    """A folder with one model folder for every variant of salient.tiny."""
    from salient import tiny

    out = tmp_path_factory.mktemp("tiny")
    tokenizer = out / "tokenizer.model"
    tiny.train_tokenizer([tiny.SENTENCES], tiny.VOCABULARY, tokenizer)
    for name, config in tiny.variants().items():
        tiny.write(name, config, tokenizer, out, seed=1)
    return out


@pytest.fixture(scope="session")
def spm(tmp_path_factory) -> Path:
    """A SentencePiece model."""
    from salient import tiny

    path = tmp_path_factory.mktemp("spm") / "tokenizer.model"
    tiny.train_tokenizer([tiny.SENTENCES], tiny.VOCABULARY, path)
    return path


@pytest.fixture
def chunk():
    """A chunk's source tokens: three segments, of 7, 3 and 5 tokens."""
    return [31, 47, 215, 99, 300, 12, 260, 4, 88, 88, 340, 4, 17, 261, 262, 6, 120, 3]
