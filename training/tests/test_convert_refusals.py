"""Hostile and damaged models of all toolkits end in a refusal, before a folder is written that nothing could serve."""

import json
import zipfile

import numpy as np
import pytest

from salient.config import Tokens
from salient.convert import marian
from salient.convert.__main__ import convert
from salient.convert.reading import pieces_of
from toolkit_folders import marian_model, opus_mt, random_model, write_ctranslate2, write_marian


def changed(path, **settings):
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


@pytest.fixture
def opus(tmp_path, spm):
    pieces = pieces_of(spm)
    opus_mt(tmp_path / "theirs", spm, random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None)), pieces)
    return tmp_path / "theirs"


@pytest.mark.parametrize("name, value", [("model_type", ["marian"]), ("activation_function", {}),
                                         ("length_penalty", [1])])
def test_a_setting_of_a_wrong_kind_is_refused(opus, name, value):
    changed(opus / "config.json", **{name: value})
    with pytest.raises(ValueError, match="theirs: one of its settings has a value of a wrong kind, .*get the model"):
        convert(opus, source="en", target="de")


@pytest.mark.parametrize("name", ["models", "vocabs"])
def test_a_setting_of_marian_of_a_wrong_kind_is_refused(tmp_path, spm, name):
    write_marian(tmp_path, marian_model(spm), spm)
    changed(tmp_path / "config.yml", **{name: 7})
    with pytest.raises(ValueError, match="one of its settings has a value of a wrong kind"):
        convert(tmp_path, source="en", target="pt")


@pytest.mark.parametrize("name", ["d_model", "decoder_ffn_dim"])
def test_a_width_is_compared_before_memory_is_taken_for_it(opus, name):
    changed(opus / "config.json", **{name: 1 << 40})
    with pytest.raises(ValueError, match=f"config.json: {name} is {1 << 40}, and .* has the width"):
        convert(opus, source="en", target="de")


@pytest.mark.parametrize("settings, message", [
    ({"decoder_start_token_id": 10 ** 6}, "the bos token is 1000000; the embedding has"),
    ({"pad_token_id": 3}, "special tokens with one number: .*only bos may be pad or eos"),
    ({"length_penalty": 50}, "the length penalty 50.0; supported are 0 to 5"),
    ({"encoder_attention_heads": 3, "decoder_attention_heads": 3}, "3 heads of a model of width 32"),
    ({"max_position_embeddings": 3}, "3 positions; 16 are needed")])
def test_what_no_server_would_load_is_not_written(opus, tmp_path, settings, message):
    changed(opus / "config.json", **settings)
    with pytest.raises(ValueError, match=message):
        convert(opus, source="en", target="de").write(tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize("name, language", [("from", "zh_CN"), ("to", "cat+oci+spa"), ("to", "abcdefghi"), ("to", "x")])
def test_what_is_no_language_tag_is_not_written(opus, tmp_path, name, language):
    """Model folders of Hugging Face may name several languages in this way."""
    told = {"source_lang": "en", "target_lang": "de", {"from": "source_lang", "to": "target_lang"}[name]: language}
    (opus / "tokenizer_config.json").write_text(json.dumps(told))
    with pytest.raises(ValueError, match=f"is no BCP 47 tag, such as en or pt-BR; name another with --{name}"):
        convert(opus, name="a").write(tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_a_width_that_the_engine_does_not_have_is_not_written(tmp_path, spm):
    pieces = pieces_of(spm)
    model = random_model(len(pieces), d_model=36, heads=3, tokens=Tokens(0, 1, 0, 3, None))
    opus_mt(tmp_path / "theirs", spm, model, pieces)
    with pytest.raises(ValueError, match="d_model is 36; it must be a whole number .* a multiple of 8"):
        convert(tmp_path / "theirs", source="en", target="de").write(tmp_path / "ours")


def test_a_damaged_tokenizer_is_not_copied(opus, tmp_path):
    (opus / "target.spm").write_bytes((opus / "source.spm").read_bytes()[:100])
    with pytest.raises(ValueError, match="target.spm: not a readable SentencePiece model"):
        convert(opus, source="en", target="de").write(tmp_path / "ours")


def test_weights_that_are_not_finite_are_refused(opus, tmp_path):
    made = convert(opus, source="en", target="de")
    made.tensors["output_bias"][3] = float("nan")
    with pytest.raises(ValueError, match="output_bias has a value that is not finite"):
        made.write(tmp_path / "ours")


@pytest.mark.parametrize("epsilon", ["x", -1.0, 2.0])
def test_an_epsilon_beyond_the_engines_is_refused(tmp_path, spm, epsilon):
    pieces = pieces_of(spm)
    write_ctranslate2(tmp_path / "theirs", random_model(len(pieces)), spm, pieces)
    changed(tmp_path / "theirs" / "config.json", layer_norm_epsilon=epsilon)
    with pytest.raises(ValueError, match="layer_norm_epsilon .*; supported is more than 0"):
        convert(tmp_path / "theirs", source="en", target="de").write(tmp_path / "ours")


def test_a_tokenizer_that_ends_the_library_is_refused(tmp_path, spm):
    """A piece without text makes the library call std::terminate."""
    data = spm.read_bytes()
    size = data[1]  # of the first piece: its text, with number and length, then the score
    assert data[0] == 0x0A and data[2] == 0x0A
    text = data[3]
    piece = b"\x0a\x00" + data[4 + text:2 + size]
    write_marian(tmp_path, marian_model(spm), spm)
    (tmp_path / "vocab.spm").write_bytes(b"\x0a" + bytes([len(piece)]) + piece + data[2 + size:])
    with pytest.raises(ValueError, match="vocab.spm: not a readable SentencePiece model"):
        convert(tmp_path, source="en", target="pt")


def test_an_array_of_marian_whose_header_is_cut_off_is_refused(tmp_path):
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,".ljust(117) + b"\n"
    with zipfile.ZipFile(tmp_path / "model.npz", "w") as archive:
        archive.writestr("Wemb.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(16))
    with pytest.raises(ValueError, match="model.npz: not a readable Marian model"):
        marian.read_model(tmp_path / "model.npz")


def test_an_archive_of_marian_takes_no_more_memory_than_it_may(tmp_path, monkeypatch):
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
    with zipfile.ZipFile(tmp_path / "model.npz", "w") as archive:
        archive.writestr("Wemb.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(16))
    with pytest.raises(ValueError, match="model.npz: not a readable Marian model"):
        marian.read_model(tmp_path / "model.npz")
    np.savez_compressed(tmp_path / "model.npz", Wemb=np.zeros(1 << 20, np.float32))
    monkeypatch.setattr(marian, "MOST_UNPACKED", 1 << 20)
    with pytest.raises(ValueError, match="model.npz: .*it unpacks to more than"):
        marian.read_model(tmp_path / "model.npz")
