"""What a configuration may say: the engine would refuse the rest after hours of training."""

import json

import pytest

from salient.config import FeedForward, ModelConfig, Stack


def changed(field, value):
    raw = json.loads(ModelConfig(source_vocab_size=100).to_json())
    part = raw
    *parts, last = field.split(".")
    for name in parts:
        part = part[name]
    part[last] = value
    return json.dumps(raw)


@pytest.mark.parametrize("field, value, message", [
    ("norm", "prenorm", 'norm is "prenorm"; it must be one of pre, post'),
    ("norm", None, "norm is null; it must be one of"),
    ("activation", "silu", "relu, gelu, swish"),
    ("output", "untied", "tied, own"),
    ("autoregression", "rnn", "attention, ssru"),
    ("exits.classifier", "own", "tied, untied"),
    ("exits.heads", ["geometrical"], "exits.heads is .*one of sequence, multinomial, geometric"),
    ("exits.heads", ["geometric", "geometric"], "stand there once"),
    ("encoder.ffn.kind", "encoder", "own, shared, none"),
    ("decoder.ffn.kind", "encoder", 'needs encoder.ffn.kind "shared", and the same width'),
    ("positions.embedding", "segment-sinusoidal", "none, sinusoidal, segment_sinusoidal"),
    ("positions.self_attention", "relative", "none, rotary"),
    ("positions.cross_attention", "rotary", "none, segment_rotary"),
    ("positions.encoder_self_attention", "segment", "none, rotary, segment_rotary"),
    ("positions.sinusoid", "quarter", "half, half_minus_one"),
    ("scale_embeddings", "false", 'scale_embeddings is "false"; it must be true or false'),
    ("embedding_norm", 1, "it must be true or false"),
    ("vocab_size", "8000", 'vocab_size is "8000"; it must be a whole number from 8 to 1000000'),
    ("source_vocab_size", 0, "source_vocab_size is 0"),
    ("d_model", 500, "from 8 to 8192, a multiple of 8"),
    ("heads", 7, "it must divide d_model, 512, into even widths"),
    ("heads", 1, "of at most 256"),
    ("alignment_layer", 7, "alignment_layer is 7; it must be a whole number from 1 to the decoder's layers, 6"),
    ("encoder.layers", 0, "from 1 to 64"),
    ("decoder.ffn.width", 2047, "decoder.ffn.width is 2047; .* a multiple of 8"),
    ("selection.width", 4, "selection.width is 4; .*from 8 to 1024, a multiple of 8"),
    ("selection.group", {"encoder": 3, "decoder": 3}, "it must have encoder, decoder, cross, and nothing else"),
    ("tokens.markers", {"first": 261, "count": 64}, "tokens.markers.count is 64; .* from 0 to 32"),
    ("selection.group.cross", 7, "cross must be a whole number from 1 to its layers, 6"),
])
def test_what_the_engine_refuses_is_refused_before_training(field, value, message):
    with pytest.raises(ValueError, match=message) as told:
        ModelConfig.from_json(changed(field, value))
    assert str(told.value).startswith(f"config.json: {field.removesuffix('.cross')}")


def test_what_is_left_out_is_not_checked():
    for field in ("selection", "exits", "source_vocab_size"):
        assert getattr(ModelConfig.from_json(changed(field, None)), field) is None
    config = ModelConfig(encoder=Stack(6, FeedForward("shared", 4096)), decoder=Stack(6, FeedForward("none", 0)))
    assert ModelConfig.from_json(config.to_json()) == config
    config.decoder.ffn = FeedForward("encoder", 4096)
    assert ModelConfig.from_json(config.to_json()) == config


def test_a_file_that_is_no_json_is_named():
    with pytest.raises(ValueError, match="^config.json: it is not JSON"):
        ModelConfig.from_json("{'name': 1}")


@pytest.mark.parametrize("field, value", [("name", "my model"), ("name", ".en-de"), ("name", None), ("name", "x" * 65),
                                          ("chunk_tokens", 20_000), ("chunk_tokens", 8), ("chunk_tokens", "512")])
def test_what_export_can_set_is_refused_where_it_is_set(field, value):
    config = ModelConfig.from_json(changed(field, value))  # a model that was trained with it can still be exported
    with pytest.raises(ValueError, match=f"^config.json: {field} is .* of salient.export"):
        config.check_settable()
    ModelConfig().check_settable()
