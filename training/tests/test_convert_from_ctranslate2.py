"""The reader of CTranslate2's folders, held against folders written here and, where it is installed, against
CTranslate2 itself."""

import json
import struct

import numpy as np
import pytest
import torch

from salient.config import Positions, Tokens
from salient.convert import Unsupported, from_ctranslate2
from salient.convert.__main__ import convert
from salient.convert.reading import pieces_of
from salient.export import load_model
from salient.model import sinusoid
from toolkit_folders import logits, random_model, same, write_ctranslate2


@pytest.mark.parametrize("kind, tolerance", [("float32", 1e-5), ("float16", 2e-2), ("int8", 0.3), ("int16", 0.05)])
def test_ctranslate2_types(tmp_path, spm, kind, tolerance):
    pieces = pieces_of(spm)
    model = random_model(len(pieces), positions=Positions("sinusoidal", "none", "none", sinusoid="half_minus_one",
                                                          offset=1))
    write_ctranslate2(tmp_path / "theirs", model, spm, pieces, kind)
    made = convert(tmp_path / "theirs", source="en", target="de")
    assert made.dtype == ("int8" if kind == "int8" else "f32")
    assert made.config.positions == model.config.positions
    same(made.model(), model, tolerance)
    made.write(tmp_path / "ours")
    read, config = load_model(tmp_path / "ours")
    assert config == made.config and config.tokens.bos == pieces.index("<s>")
    same(read, made.model(), 1e-3)  # int8 as it was


def test_ctranslate2_with_a_tokenizer_for_each_side(tmp_path, spm):
    pieces = pieces_of(spm)
    write_ctranslate2(tmp_path, random_model(len(pieces)), spm, pieces)
    assert from_ctranslate2.convert(tmp_path, source="en", target="de").target_tokenizer is None
    (tmp_path / "sentencepiece.model").rename(tmp_path / "source.spm")
    (tmp_path / "target.spm").write_bytes(spm.read_bytes())
    made = from_ctranslate2.convert(tmp_path, source="en", target="de")
    assert (made.tokenizer, made.target_tokenizer) == (tmp_path / "source.spm", tmp_path / "target.spm")
    other = from_ctranslate2.convert(tmp_path, source="en", target="de", target_tokenizer=tmp_path / "other.model")
    assert other.target_tokenizer == tmp_path / "other.model"


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_ctranslate2_layer_variants(tmp_path, spm, norm):
    pieces = pieces_of(spm)
    model = random_model(len(pieces), norm=norm, embedding_norm=True, activation="gelu", scale_embeddings=False)
    table = sinusoid(torch.arange(100), 32).numpy()
    write_ctranslate2(tmp_path, model, spm, pieces, **{f"{side}/position_encodings/encodings": table
                                                      for side in ("encoder", "decoder")})
    made = convert(tmp_path, source="en", target="de")
    assert made.config.embedding_norm and made.config.positions.sinusoid == "half"
    same(made.model(), model)


def test_ctranslate2_start_from_zero(tmp_path, spm):
    pieces = pieces_of(spm)
    model = random_model(len(pieces))
    write_ctranslate2(tmp_path, model, spm, pieces, **{"decoder/start_from_zero_embedding": np.int8(1)})
    made = convert(tmp_path, source="en", target="de")
    assert made.config.tokens.bos == len(pieces) and len(made.vocabulary) == len(pieces) + 1
    assert not made.model().embedding.weight[-1].any() and float(made.model().output_bias[-1].detach()) == -1e9
    settings = json.loads((tmp_path / "config.json").read_text())  # an OPUS-MT model of Hugging Face
    (tmp_path / "config.json").write_text(json.dumps(settings | {"add_source_eos": False}))
    assert convert(tmp_path, source="en", target="de").config == made.config


def alternating(positions: torch.Tensor, width: int, *_) -> torch.Tensor:
    """OpenNMT-py's sinusoids: component 2 i is the sine of frequency i, component 2 i + 1 its cosine."""
    angle = positions[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    table = torch.zeros(len(positions), width)
    table[:, 0::2], table[:, 1::2] = angle.sin(), angle.cos()
    return table


def write_opennmt(folder, model, spm, pieces) -> None:
    """As CTranslate2's converter of OpenNMT-py does."""
    table = alternating(torch.arange(100), model.config.d_model).numpy()
    write_ctranslate2(folder, model, spm, pieces, **{f"{side}/position_encodings/encodings": table
                                                    for side in ("encoder", "decoder")})
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"add_source_eos": False}))


def test_ctranslate2_of_opennmt(tmp_path, spm, monkeypatch):
    pieces = pieces_of(spm)
    model = random_model(len(pieces), norm="pre", activation="relu", output="own")
    write_opennmt(tmp_path / "theirs", model, spm, pieces)
    made = convert(tmp_path / "theirs", source="en", target="de")
    assert made.config.positions == Positions("sinusoidal", "none", "none") and not made.config.tokens.source_end
    made.write(tmp_path / "ours")
    read, config = load_model(tmp_path / "ours")
    assert config == made.config
    found = logits(read, [5, 9, 11], [7, 8, 9])
    monkeypatch.setattr("salient.model.sinusoid", alternating)
    assert torch.allclose(found, logits(model, [5, 9, 11], [7, 8, 9]), atol=1e-5)


def test_ctranslate2_that_does_not_tell_the_sources_end(tmp_path, spm):
    pieces = pieces_of(spm)
    write_opennmt(tmp_path, random_model(len(pieces)), spm, pieces)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | {"decoder_start_token": "</s>"}))
    with pytest.raises(Unsupported, match="convert the Hugging Face model"):
        convert(tmp_path, source="en", target="de")


@pytest.mark.parametrize("stored, scales", [(np.int8(1), True), (np.int8(0), False), (np.float32(32 ** 0.5), True),
                                            (np.float32(1), False)])
def test_ctranslate2_scales_of_embeddings(tmp_path, spm, stored, scales):
    """As a flag, or, from fairseq, as the factor."""
    pieces = pieces_of(spm)
    write_ctranslate2(tmp_path, random_model(len(pieces)), spm, pieces,
                      **{f"{side}/scale_embeddings": stored for side in ("encoder", "decoder")})
    assert convert(tmp_path, source="en", target="de").config.scale_embeddings is scales


def before_version_6(folder, model, spm, pieces, **attributes) -> None:
    """With the attributes that config.json came to replace, and with revision 4's names of others."""
    told = {name: np.frombuffer(token.encode(), np.int8) for name, token in
            (("unk_token", "<unk>"), ("bos_token", "<s>"), ("eos_token", "</s>"))}
    write_ctranslate2(folder, model, spm, pieces, version=5, **told, **attributes)
    (folder / "shared_vocabulary.json").unlink()
    (folder / "shared_vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces))


def test_ctranslate2_before_version_6(tmp_path, spm):
    pieces = pieces_of(spm)
    model = random_model(len(pieces))
    before_version_6(tmp_path, model, spm, pieces, with_source_eos=np.int8(1), with_source_bos=np.int8(0))
    made = convert(tmp_path, source="en", target="de")
    same(made.model(), random_model(len(pieces), positions=made.config.positions))
    assert made.config.tokens.bos == pieces.index("<s>")
    before_version_6(tmp_path, model, spm, pieces, with_source_eos=np.int8(1), with_target_bos=np.int8(0))
    made = convert(tmp_path, source="en", target="de")  # as of fairseq
    assert made.config.tokens == Tokens(pieces.index("<pad>"), 1, pieces.index("</s>"), pieces.index("</s>"), None)
    made.write(tmp_path / "ours")
    for name, said in (("with_source_bos", "add_source_bos"), ("user_decoder_start_tokens", "start_token null")):
        before_version_6(tmp_path, model, spm, pieces, with_source_eos=np.int8(1), **{name: np.int8(1)})
        with pytest.raises(Unsupported, match=said):
            convert(tmp_path, source="en", target="de")
    before_version_6(tmp_path, model, spm, pieces)
    assert not convert(tmp_path, source="en", target="de").config.tokens.source_end


def test_ctranslate2_names_of_earlier_revisions(tmp_path, spm):
    pieces = pieces_of(spm)
    model = random_model(len(pieces), norm="pre", activation="gelu")
    write_ctranslate2(tmp_path, model, spm, pieces, revision=4)
    data = (tmp_path / "model.bin").read_bytes()
    for side in (b"encoder/", b"decoder/"):
        for name in (b"num_heads", b"pre_norm", b"activation"):
            old = struct.pack("<H", len(side + name) + 1) + side + name + b"\0"
            new = struct.pack("<H", len(name) + 1) + name + b"\0" if side == b"encoder/" else b""
            at = data.index(old)
            end = at + len(old) + 6 + (2 if name == b"num_heads" else 1)  # rank, type, bytes of data, the data
            data = data[:at] + (new + data[at + len(old):end] if new else b"") + data[end:]
    header = 4 + 2 + len("TransformerSpec") + 1 + 4
    count, = struct.unpack_from("<I", data, header)
    (tmp_path / "model.bin").write_bytes(data[:header] + struct.pack("<I", count - 3) + data[header + 4:])
    made = convert(tmp_path, source="en", target="de")
    assert (made.config.norm, made.config.activation, made.config.heads) == ("pre", "gelu", model.config.heads)


def test_ctranslate2_languages_of_the_target(tmp_path, spm):
    pieces = [*pieces_of(spm)[:-2], ">>deu<<", ">>pt_br<<"]
    write_ctranslate2(tmp_path, random_model(len(pieces)), spm, pieces)
    languages = convert(tmp_path, source="en", target="mul").config.languages
    assert languages.target == ["de", "deu", "pt-br"] and languages.source_prefix == "target"
    assert languages.tokens["de"] == len(pieces) - 2


@pytest.mark.parametrize("piece", ["__en__", "__ast__", "zho_Hans"])
def test_ctranslate2_multilingual_vocabularies_are_refused(tmp_path, spm, piece):
    """Without the language tokens it would translate into any language."""
    pieces = [*pieces_of(spm)[:-1], piece]
    write_ctranslate2(tmp_path, random_model(len(pieces)), spm, pieces)
    with pytest.raises(Unsupported, match="multilingual vocabulary .* convert the Hugging Face model"):
        convert(tmp_path, source="en", target="de")


def test_ctranslate2_source_vocabularies_of_another_size_are_refused(tmp_path, spm):
    pieces = pieces_of(spm)
    write_ctranslate2(tmp_path, random_model(len(pieces)), spm, pieces)
    (tmp_path / "shared_vocabulary.json").rename(tmp_path / "target_vocabulary.json")
    (tmp_path / "source_vocabulary.json").write_text(json.dumps(pieces[:-1]))
    with pytest.raises(ValueError, match=f"source's vocabulary has {len(pieces) - 1} pieces, its embedding"):
        convert(tmp_path, source="en", target="de")


@pytest.mark.parametrize("kind", ["int8", "int16"])
def test_ctranslate2_integers_without_their_scale_are_refused(tmp_path, spm, kind):
    pieces = pieces_of(spm)
    write_ctranslate2(tmp_path, random_model(len(pieces)), spm, pieces, kind)
    data = (tmp_path / "model.bin").read_bytes()
    (tmp_path / "model.bin").write_bytes(data.replace(b"linear_0/weight_scale", b"linear_0/weight_other"))
    with pytest.raises(Unsupported, match=f"linear_0/weight is stored as {kind} without .*weight_scale"):
        convert(tmp_path, source="en", target="de")


def test_pieces_that_end_in_a_carriage_return(tmp_path):
    (tmp_path / "source_vocabulary.txt").write_bytes("<unk>\n\u2581\r\n\u2581\n".encode())
    assert from_ctranslate2.read_vocabulary(tmp_path, "source_vocabulary") == ["<unk>", "\u2581\r", "\u2581"]
    (tmp_path / "source_vocabulary.txt").write_bytes("<unk>\r\n\u2581\r\n".encode())
    assert from_ctranslate2.read_vocabulary(tmp_path, "source_vocabulary") == ["<unk>", "\u2581"]


def test_ctranslate2_refusals(tmp_path, spm):
    pieces = pieces_of(spm)
    model = random_model(len(pieces))
    with pytest.raises(Unsupported, match="encoder/layer_0/rotary_dim"):
        write_ctranslate2(tmp_path, model, spm, pieces, **{"encoder/layer_0/rotary_dim": np.int32(8)})
        convert(tmp_path, source="en", target="de")
    with pytest.raises(Unsupported, match="learned"):
        table = np.random.default_rng(1).standard_normal((100, 32)).astype(np.float32)
        write_ctranslate2(tmp_path, model, spm, pieces, **{f"{side}/position_encodings/encodings": table
                                                          for side in ("encoder", "decoder")})
        convert(tmp_path, source="en", target="de")
    write_ctranslate2(tmp_path, model, spm, pieces)
    with pytest.raises(ValueError, match="--from"):
        convert(tmp_path)
    whole = (tmp_path / "model.bin").read_bytes()
    for length in (0, 3, 10, 30, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "model.bin").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="model.bin"):
            from_ctranslate2.convert(tmp_path, source="en", target="de")


@pytest.mark.parametrize("write, norm", [(write_ctranslate2, "post"), (write_opennmt, "pre")])
def test_against_ctranslate2(tmp_path, spm, write, norm):
    ctranslate2 = pytest.importorskip("ctranslate2")
    pieces = pieces_of(spm)
    model = random_model(len(pieces), norm=norm, tokens=Tokens(0, 1, 2, 3, None))
    write(tmp_path, model, spm, pieces)
    theirs = ctranslate2.Translator(str(tmp_path), compute_type="float32")
    made = convert(tmp_path, source="en", target="de")
    source, target = [40, 52, 33], [60, 71, 45]
    scored = theirs.score_batch([[pieces[i] for i in source]], [[pieces[i] for i in target]])[0]
    read = [*source, 3] if made.config.tokens.source_end else source
    found = logits(made.model(), read, [2, *target]).log_softmax(-1)
    assert np.allclose(scored.log_probs, [float(found[i, t]) for i, t in enumerate([*target, 3])], atol=1e-4)
