"""The reader of Hugging Face's folders, held against folders written here and, where it is installed, against
transformers."""

import json
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from salient.config import Positions, Tokens
from salient.convert import Unsupported
from salient.convert.__main__ import convert
from salient.convert.huggingface import read_weights, unpickled
from salient.convert.reading import pieces_of
from salient.model import sinusoid
from salient.tensor_file import write_file
from toolkit_folders import (huggingface_tensors, logits, m2m_model, nllb_folder, nllb_tokenizer, opus_mt,
                             random_model, same)


def test_opus_mt(tmp_path, spm):
    pieces = [*pieces_of(spm), ">>deu<<", ">>fra<<"]
    model = random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None))
    opus_mt(tmp_path, spm, model, pieces)
    made = convert(tmp_path, source="en", target="mul")
    same(made.model(), model)
    assert made.config.positions == Positions("sinusoidal", "none", "none")
    assert made.config.languages.tokens["de"] == made.config.languages.tokens["deu"] == len(pieces) - 2
    assert made.config.languages.source_prefix == "target" and made.config.languages.target_prefix == "none"


@pytest.mark.parametrize("told, suppressed", [
    ({"bad_words_ids": [[0]]}, []), ({"bad_words_ids": [[0], [7]], "suppress_tokens": [9, 7]}, [7, 9]),
    ({"bad_words_ids": [[5, 6]]}, "bad_words_ids with a word of several"),
    ({"suppress_tokens": [-1]}, "a token that is not in the vocabulary"),
    ({"begin_suppress_tokens": [5]}, "begin_suppress_tokens"), ({"forced_bos_token_id": 5}, "forced_bos_token_id 5")])
def test_tokens_that_no_translation_may_contain(tmp_path, spm, told, suppressed):
    pieces = pieces_of(spm)
    opus_mt(tmp_path, spm, random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None)), pieces)
    (tmp_path / "generation_config.json").write_text(json.dumps(told))
    if isinstance(suppressed, list):
        assert convert(tmp_path, source="en", target="de").config.search.suppressed == suppressed
    else:
        with pytest.raises(ValueError, match=suppressed):
            convert(tmp_path, source="en", target="de")


def test_an_end_token_that_could_never_be_written_is_refused(tmp_path, spm):
    pieces = pieces_of(spm)
    opus_mt(tmp_path / "theirs", spm, random_model(len(pieces) + 3, tokens=Tokens(0, 1, 0, len(pieces), None)), pieces)
    with pytest.raises(Unsupported, match=f"the end token is {len(pieces)}, which the vocabulary has no piece for"):
        convert(tmp_path / "theirs", source="en", target="de").write(tmp_path / "ours")


def test_a_tokenizer_that_is_not_nllbs_is_refused(tmp_path, spm):
    """Its pieces would have other numbers than the model's."""
    nllb_folder(tmp_path, spm, m2m_model(len(pieces_of(spm)) + 1 + 3))
    with pytest.raises(Unsupported, match="begins with <pad>, <unk>, <s>; NLLB's begins with <unk>, <s>, </s>"):
        convert(tmp_path, tokenizer=spm)


def test_opus_mt_languages_of_three_letters(tmp_path, spm):
    pieces = pieces_of(spm)
    opus_mt(tmp_path, spm, random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None)), pieces)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"source_lang": "eng", "target_lang": "fra"}))
    config = convert(tmp_path).config
    assert (config.source_language, config.target_language, config.name) == ("en", "fr", "en-fr")


def test_nllb(tmp_path, spm):
    vocab = len(pieces_of(spm)) + 1 + 3
    model = m2m_model(vocab)
    nllb_folder(tmp_path, spm, model)
    made = convert(tmp_path)
    same(made.model(), model)
    languages = made.config.languages
    assert languages.tokens["en"] == languages.tokens["eng-Latn"] == vocab - 3
    assert languages.tokens["zh"] == languages.tokens["zho-Hans"] == vocab - 1
    assert (languages.source_prefix, languages.target_prefix) == ("source", "target")
    assert made.config.tokens == Tokens(1, 3, 2, 2, None)
    assert made.vocabulary[languages.tokens["de"]] == "deu_Latn"
    pair = convert(tmp_path, source="eng_Latn", target="zho_Hans").config
    assert (pair.source_language, pair.languages.target) == ("eng-Latn", ["zho-Hans"])


def test_language_tokens_as_transformers_5_saves_them(tmp_path, spm):
    vocab = len(pieces_of(spm)) + 1 + 3
    nllb_folder(tmp_path, spm, m2m_model(vocab))
    told = json.loads((tmp_path / "special_tokens_map.json").read_text())
    (tmp_path / "special_tokens_map.json").unlink()
    with pytest.raises(Unsupported, match="without language tokens .*copy special_tokens_map.json of the original"):
        convert(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(
        {"extra_special_tokens": told["additional_special_tokens"]}))
    assert convert(tmp_path).config.languages.tokens["zh"] == vocab - 1
    (tmp_path / "sentencepiece.bpe.model").unlink()
    with pytest.raises(ValueError, match="transformers 5 does not save; name that of the original model with --token"):
        convert(tmp_path)


@pytest.mark.parametrize("told, said", [({"tokenizer_class": "SMALL100Tokenizer"}, "'SMALL100Tokenizer'"),
                                        ({"legacy_behaviour": True}, "legacy_behaviour")])
def test_language_tokens_in_other_places_are_refused(tmp_path, spm, told, said):
    """SMaLL-100 is an M2M100ForConditionalGeneration with the target's token before the source."""
    nllb_folder(tmp_path, spm, m2m_model(len(pieces_of(spm)) + 1 + 3))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(told))
    with pytest.raises(Unsupported, match=f"tokenizer_config.json: .*{said}"):
        convert(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "NllbTokenizer"}))
    convert(tmp_path)
    (tmp_path / "tokenization_small100.py").write_text("")
    with pytest.raises(Unsupported, match="a tokenizer in Python"):
        convert(tmp_path)


def test_nllb_is_named_after_its_folder(tmp_path, spm, monkeypatch):
    nllb_folder(tmp_path / "nllb-200", spm, m2m_model(len(pieces_of(spm)) + 1 + 3))
    monkeypatch.chdir(tmp_path / "nllb-200")
    made = convert(Path("."))
    assert made.config.name == "nllb-200" and made.origin.endswith("nllb-200")
    made.write(tmp_path / "out")
    with pytest.raises(ValueError, match="--target-tokenizer: M2M-100 and NLLB"):
        convert(Path("."), target_tokenizer=spm)


@pytest.mark.parametrize("noise, said", [(0, None), (0.1, "positions that are learned")])
def test_positions_that_are_learned_are_refused(tmp_path, spm, noise, said):
    pieces = pieces_of(spm)
    model = random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None))
    opus_mt(tmp_path, spm, model, pieces)
    table = sinusoid(torch.arange(100), 32).half().float() + noise * torch.randn(100, 32)
    write_file(tmp_path / "model.safetensors",
               huggingface_tensors(model) | {"model.encoder.embed_positions.weight": table})
    if said is None:
        same(convert(tmp_path, source="en", target="de").model(), model)
        return
    with pytest.raises(Unsupported, match=said):
        convert(tmp_path, source="en", target="de")


def test_settings_that_are_left_out_have_the_values_of_their_class(tmp_path, spm):
    """M2M100Config scales embeddings and starts from the end token, MarianConfig does neither."""
    nllb_folder(tmp_path, spm, m2m_model(len(pieces_of(spm)) + 1 + 3))
    settings = json.loads((tmp_path / "config.json").read_text())
    for name in ("scale_embedding", "decoder_start_token_id"):
        del settings[name]
    (tmp_path / "config.json").write_text(json.dumps(settings))
    config = convert(tmp_path).config
    assert config.scale_embeddings and config.tokens.bos == config.tokens.eos == 2
    pieces = pieces_of(spm)
    opus_mt(tmp_path / "marian", spm, random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None)), pieces)
    (tmp_path / "marian" / "config.json").write_text(json.dumps(
        {name: value for name, value in json.loads((tmp_path / "marian" / "config.json").read_text()).items()
         if name not in ("scale_embedding", "decoder_start_token_id")}))
    config = convert(tmp_path / "marian", source="en", target="de").config
    assert not config.scale_embeddings and config.tokens.bos == config.tokens.pad == 0


def test_a_variant_beside_the_weights_is_not_mixed_with_them(tmp_path):
    torch.save({"a": torch.ones(1)}, tmp_path / "pytorch_model.bin")
    torch.save({"a": torch.zeros(1)}, tmp_path / "pytorch_model.fp16.bin")
    assert read_weights(tmp_path)["a"].tolist() == [1]
    (tmp_path / "pytorch_model.bin").unlink()
    for number, name in ((1, "a"), (2, "b")):
        torch.save({name: torch.ones(1)}, tmp_path / f"pytorch_model-0000{number}-of-00002.bin")
    assert sorted(read_weights(tmp_path)) == ["a", "b"]


def test_tokens_without_a_piece_are_never_written(tmp_path, spm):
    """The embedding may have more rows than the vocabulary has pieces."""
    pieces = pieces_of(spm)
    opus_mt(tmp_path, spm, random_model(len(pieces) + 3, tokens=Tokens(0, 1, 0, 3, None)), pieces)
    made = convert(tmp_path, source="en", target="de")
    assert made.config.search.suppressed == [len(pieces), len(pieces) + 1, len(pieces) + 2]


def test_damaged_weights_are_refused_by_name(tmp_path, spm):
    pieces = pieces_of(spm)
    opus_mt(tmp_path, spm, random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None)), pieces)
    header = json.dumps([1, 2]).encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ValueError, match="model.safetensors: not a readable"):
        convert(tmp_path, source="en", target="de")
    (tmp_path / "model.safetensors").unlink()
    torch.save({"a": torch.ones(200)}, tmp_path / "whole.bin")
    whole = (tmp_path / "whole.bin").read_bytes()
    torch.save({"a": Path("of a class")}, tmp_path / "class.bin")
    for data in (b"", b"no pickle", whole[:len(whole) // 2], (tmp_path / "class.bin").read_bytes()):
        (tmp_path / "pytorch_model.bin").write_bytes(data)
        with pytest.raises(ValueError, match="pytorch_model.bin: ") as refused:
            convert(tmp_path, source="en", target="de")
        assert "weights_only" not in str(refused.value)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": ["a"]}))
    with pytest.raises(ValueError, match="index.json: not a readable index"):
        convert(tmp_path, source="en", target="de")


@pytest.mark.parametrize("name, value", [("encoder_layers", None), ("decoder_ffn_dim", "wide"), ("pad_token_id", None),
                                         ("encoder_attention_heads", 0), ("d_model", None)])
def test_a_setting_that_is_missing_is_named(tmp_path, spm, name, value):
    pieces = pieces_of(spm)
    opus_mt(tmp_path, spm, random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None)), pieces)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | {name: value}))
    said = "missing" if value is None else repr(value)
    with pytest.raises(ValueError, match=f"config.json: {name} is {said}; it must be a whole number"):
        convert(tmp_path, source="en", target="de")


@pytest.mark.parametrize("kind, message", [("t5", "T5"), ("bart", "BART"), ("xyz", "'xyz'")])
def test_what_hugging_face_has_more(tmp_path, kind, message):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(Unsupported, match=message):
        convert(tmp_path)


@pytest.mark.parametrize("kind", ["marian", "m2m_100"])
def test_against_transformers(tmp_path, spm, kind):
    transformers = pytest.importorskip("transformers")
    pieces = pieces_of(spm)
    if kind == "marian":
        made = transformers.MarianMTModel(transformers.MarianConfig(
            vocab_size=len(pieces), d_model=32, encoder_layers=2, decoder_layers=3, encoder_ffn_dim=48,
            decoder_ffn_dim=40, encoder_attention_heads=4, decoder_attention_heads=4, activation_function="swish",
            scale_embedding=True, pad_token_id=0, eos_token_id=3, decoder_start_token_id=0, forced_eos_token_id=3))
    else:
        made = transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(
            vocab_size=len(pieces) + 4, d_model=32, encoder_layers=2, decoder_layers=3, encoder_ffn_dim=48,
            decoder_ffn_dim=40, encoder_attention_heads=4, decoder_attention_heads=4, scale_embedding=True))
    with torch.no_grad():
        for name, p in made.named_parameters():
            if "embed_positions" not in name:  # sinusoids
                p.add_(torch.randn(p.shape) * 0.05)
        if kind == "marian":
            made.final_logits_bias.add_(torch.randn(made.final_logits_bias.shape))
    made.eval().save_pretrained(tmp_path)
    if kind == "marian":
        (tmp_path / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
        for name in ("source.spm", "target.spm"):
            (tmp_path / name).write_bytes(spm.read_bytes())
    else:
        nllb_tokenizer(tmp_path, spm)
    ours = convert(tmp_path, source="en", target="de").model()
    source, target = [5, 9, 11, 30, made.config.eos_token_id], [made.config.decoder_start_token_id, 8, 9, 7]
    with torch.no_grad():
        theirs = made(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])).logits[0]
    assert torch.allclose(logits(ours, source, target), theirs, atol=1e-4)


class Script(torch.nn.Module):
    def forward(self, x):
        return x


def test_archives_that_may_run_code_are_refused(tmp_path):
    torch.jit.script(Script()).save(str(tmp_path / "pytorch_model.bin"))
    with pytest.raises(ValueError, match="may run code"):
        unpickled(tmp_path / "pytorch_model.bin")
    with tarfile.open(tmp_path / "pytorch_model.bin", "w") as archive:
        archive.add(__file__, "storages")
    with pytest.raises(ValueError, match="may run code"):
        unpickled(tmp_path / "pytorch_model.bin")
    torch.save({"a": torch.ones(2)}, tmp_path / "pytorch_model.bin")
    assert unpickled(tmp_path / "pytorch_model.bin")["a"].tolist() == [1, 1]


def test_weights_in_half_precision_are_read(tmp_path):
    tensors = {"a": ("F16", np.array([1.5, -2], "<f2")), "of_no_use": ("I64", np.array([7], "<i8"))}
    header, body = {}, b""
    for name, (kind, values) in tensors.items():
        end = len(body) + values.nbytes
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": [len(body), end]}
        body += values.tobytes()
    head = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + body)
    found = read_weights(tmp_path)
    assert found["a"].tolist() == [1.5, -2] and list(found) == ["a"]


def test_a_missing_shard_is_named(tmp_path):
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    write_file(tmp_path / "model-00001-of-00002.safetensors", {"a": torch.zeros(1)})
    with pytest.raises(ValueError, match="neither model-00002-of-00002.safetensors nor pytorch_model.bin is there"):
        read_weights(tmp_path)
