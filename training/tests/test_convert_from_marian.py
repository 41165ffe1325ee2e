"""The reader of Marian's folders, held against folders written here."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from salient.config import Tokens
from salient.convert import Unsupported
from salient.convert.__main__ import convert
from salient.convert.from_marian import check
from salient.convert.reading import pieces_of
from salient.prepare import train_tokenizer
from salient.tiny import SENTENCES, VOCABULARY
from toolkit_folders import logits, marian_model, marian_tensors, write_marian


@pytest.mark.parametrize("autoregression", ["attention", "ssru"])
def test_marian(tmp_path, spm, autoregression):
    model = marian_model(spm, autoregression=autoregression)
    write_marian(tmp_path, model, spm)
    made = convert(tmp_path, source="en", target="pt")
    assert made.config.search.length_penalty == 0.6 and made.config.autoregression == autoregression
    pieces = pieces_of(spm)
    assert made.config.tokens == Tokens(len(pieces), pieces.index("<unk>"), len(pieces), pieces.index("</s>"), None)
    ours = made.model()
    assert torch.allclose(logits(ours, [5, 9, 2], [len(pieces), 8, 9])[:, :-1],
                          logits(model, [5, 9, 2], [len(pieces), 8, 9])[:, :-1], atol=1e-5)


def test_the_model_that_is_named_is_converted(tmp_path, spm):
    first, second = marian_model(spm), marian_model(spm)
    with torch.no_grad():
        second.decoder_layers[0].ffn.up.weight.add_(1.0)
    write_marian(tmp_path / "best", second, spm)
    write_marian(tmp_path, first, spm)
    (tmp_path / "best" / "model.npz").rename(tmp_path / "model.npz.best-bleu.npz")
    made = convert(tmp_path / "model.npz.best-bleu.npz", source="en", target="pt").model()
    assert torch.equal(made.decoder_layers[0].ffn.up.weight, second.decoder_layers[0].ffn.up.weight)
    (tmp_path / "notes.txt").write_text("no model")
    with pytest.raises(ValueError, match="neither a folder"):
        convert(tmp_path / "notes.txt", source="en", target="pt")


def test_several_models_are_refused(tmp_path, spm):
    """Of an ensemble one alone would be another model. Of files that nothing tells apart, any may be meant."""
    write_marian(tmp_path, marian_model(spm), spm)
    shutil.copyfile(tmp_path / "model.npz", tmp_path / "second.npz")
    (tmp_path / "config.yml").write_text("models: [model.npz, second.npz]\nvocabs: [vocab.spm, vocab.spm]\n")
    with pytest.raises(Unsupported, match="an ensemble of 2 models"):
        convert(tmp_path, source="en", target="pt")
    (tmp_path / "config.yml").unlink()
    with pytest.raises(ValueError, match="nothing says which of model.npz, second.npz is the model; name the file"):
        convert(tmp_path, source="en", target="pt")
    convert(tmp_path / "second.npz", source="en", target="pt")


def test_its_gelu_is_another_function_than_ours():
    """x sigmoid(1.702 x): 0.02 from the exact one where it differs most."""
    check({"transformer-ffn-activation": "swish", "transformer-postprocess": "dan"})
    with pytest.raises(Unsupported, match="transformer-ffn-activation: 'gelu'; supported is 'relu' or 'swish'"):
        check({"transformer-ffn-activation": "gelu", "transformer-postprocess": "dan"})


@pytest.fixture(scope="module")
def other_spm(tmp_path_factory) -> Path:
    """As many pieces as `spm` has, and others."""
    path = tmp_path_factory.mktemp("other") / "other.model"
    train_tokenizer([[(s[::-1], t[::-1]) for s, t in SENTENCES]], VOCABULARY, path)
    assert len(pieces_of(path)) == VOCABULARY
    return path


def two_vocabularies(folder: Path, spm: Path, other_spm: Path, source: str, target: str) -> None:
    """A Marian model with a vocabulary and an embedding for each side, and no configuration that names them."""
    model = marian_model(spm)
    tensors = marian_tensors(model)
    tensors["decoder_Wemb"] = tensors["Wemb"]
    tensors["encoder_Wemb"] = tensors.pop("Wemb") + 1
    write_marian(folder, model, spm)
    with np.load(folder / "model.npz") as stored:
        np.savez(folder / "two.npz", **tensors, **{"special:model.yml": stored["special:model.yml"]})
    (folder / "two.npz").replace(folder / "model.npz")
    for name in ("vocab.spm", "config.yml"):
        (folder / name).unlink()
    shutil.copyfile(spm, folder / source)
    shutil.copyfile(other_spm, folder / target)


def test_two_vocabularies_without_sides_are_refused(tmp_path, spm, other_spm):
    two_vocabularies(tmp_path, spm, other_spm, "vocab.en.spm", "vocab.de.spm")  # not in the order of the alphabet
    languages = {"source": "en", "target": "de"}
    source, target = tmp_path / "vocab.en.spm", tmp_path / "vocab.de.spm"
    for given in ({}, {"tokenizer": source}, {"target_tokenizer": target}):
        with pytest.raises(ValueError, match="--tokenizer and --target-tokenizer"):
            convert(tmp_path, **languages, **given)
    made = convert(tmp_path, **languages, tokenizer=source, target_tokenizer=target)
    assert (made.tokenizer, made.target_tokenizer) == (source, target)
    assert made.source_vocabulary == pieces_of(spm) and made.vocabulary[:-1] == pieces_of(other_spm)
    (tmp_path / "config.yml").write_text("vocabs: [vocab.en.spm, vocab.de.spm]")
    assert convert(tmp_path, **languages).tokenizer == source


def test_the_names_of_vocabularies_tell_the_sides(tmp_path, spm, other_spm):
    two_vocabularies(tmp_path, spm, other_spm, "z-srcvocab.ende.spm", "a-trgvocab.ende.spm")
    made = convert(tmp_path, source="en", target="de")
    assert (made.tokenizer.name, made.target_tokenizer.name) == ("z-srcvocab.ende.spm", "a-trgvocab.ende.spm")


def test_each_side_keeps_its_own_tokenizer(tmp_path, spm, other_spm, monkeypatch):
    two_vocabularies(tmp_path / "theirs", spm, other_spm, "source.spm", "target.spm")
    shutil.copyfile(other_spm, tmp_path / "mine.spm")
    monkeypatch.chdir(tmp_path)
    made = convert(Path("theirs"), source="en", target="de", target_tokenizer=Path("mine.spm"))
    assert (made.tokenizer.name, made.target_tokenizer) == ("source.spm", Path("mine.spm"))
    made = convert(Path("theirs"), source="en", target="de", tokenizer=Path("mine.spm"))
    assert (made.tokenizer, made.target_tokenizer) == (Path("mine.spm"), None)  # target.spm has the same bytes
    assert made.source_vocabulary == pieces_of(other_spm)
    shared = tmp_path / "shared"
    write_marian(shared, marian_model(spm), spm)
    (shared / "vocab.spm").rename(tmp_path / "elsewhere.spm")  # the configuration names a file that is not there
    made = convert(shared, source="en", target="de", tokenizer=Path("elsewhere.spm"))
    assert (made.tokenizer, made.target_tokenizer) == (Path("elsewhere.spm"), None)


@pytest.mark.parametrize("option, value", [("transformer-postprocess", "dhn"), ("dec-cell", "gru"),
                                           ("transformer-ffn-depth", 3), ("type", "s2s"),
                                           ("transformer-disable-position-embeddings", True),
                                           ("transformer-attention-mask", "alibi"),
                                           ("transformer-decoder-autoreg", "average-attention")])
def test_marian_refuses_by_the_options_name(tmp_path, spm, option, value):
    write_marian(tmp_path, marian_model(spm, autoregression="ssru"), spm, **{option: value})
    with pytest.raises(Unsupported, match=option.removesuffix("-postprocess")):
        convert(tmp_path, source="en", target="pt")
