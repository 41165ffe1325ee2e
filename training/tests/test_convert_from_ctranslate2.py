"""The reader of CTranslate2's folders, held against folders written here and, where it is installed, against
CTranslate2 itself."""

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


def test_against_ctranslate2(tmp_path, spm):
    ctranslate2 = pytest.importorskip("ctranslate2")
    pieces = pieces_of(spm)
    model = random_model(len(pieces), positions=Positions("sinusoidal", "none", "none", sinusoid="half_minus_one",
                                                          offset=1), tokens=Tokens(0, 1, 2, 3, None))
    write_ctranslate2(tmp_path, model, spm, pieces)
    theirs = ctranslate2.Translator(str(tmp_path), compute_type="float32")
    ours = convert(tmp_path, source="en", target="de").model()
    source, target = [40, 52, 33], [60, 71, 45]
    scored = theirs.score_batch([[pieces[i] for i in source]], [[pieces[i] for i in target]])[0]
    found = logits(ours, [*source, 3], [2, *target]).log_softmax(-1)
    assert np.allclose(scored.log_probs, [float(found[i, t]) for i, t in enumerate([*target, 3])], atol=1e-4)
