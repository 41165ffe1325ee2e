"""Each reader is held against folders written here in its toolkit's layout, and, where the toolkit is installed,
against what the toolkit itself computes."""

import json
import shutil
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from salient.config import FeedForward, ModelConfig, Positions, Stack, Tokens
from salient.convert import Unsupported, converted, from_ctranslate2, from_marian
from salient.convert.__main__ import convert
from salient.convert.from_huggingface import read_weights, unpickled
from salient.convert.lexical import MAGIC, read_shortlist
from salient.convert.reading import licence
from salient.export import load_model
from salient.model import Transformer, sinusoid
from salient.prepare import train_tokenizer
from salient.selection import SelectionRun
from salient.tensor_file import write_file
from salient.tiny import SENTENCES, VOCABULARY

DENSE = SelectionRun()


@pytest.fixture(scope="module")
def spm(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("spm") / "tokenizer.model"
    train_tokenizer([SENTENCES], VOCABULARY, path)
    return path


def pieces_of(spm: Path) -> list[str]:
    return from_marian.pieces_of(spm)


def random_model(vocab: int, **changes) -> Transformer:
    torch.manual_seed(3)
    base = dict(vocab_size=vocab, d_model=32, heads=4, encoder=Stack(2, FeedForward("own", 48)),
                decoder=Stack(2, FeedForward("own", 48)), norm="post", activation="swish", selection=None, exits=None,
                positions=Positions("sinusoidal", "none", "none"), tokens=Tokens(0, 1, 0, 3, None))
    model = Transformer(ModelConfig(**{**base, **changes})).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn(p.shape) * 0.1)
    return model


def logits(model: Transformer, source: list[int], target: list[int]) -> torch.Tensor:
    s, t = torch.tensor([source]), torch.tensor([target])
    with torch.no_grad():
        return model.logits(model.config.decoder.layers - 1, model.decode(t, s, model.encode(s, DENSE), DENSE)[-1])[0]


def same(a: Transformer, b: Transformer, tolerance: float = 1e-5) -> None:
    rows = min(a.config.vocab_size, b.config.vocab_size)
    assert torch.allclose(logits(a, [5, 9, 11, 3], [7, 8, 9])[:, :rows], logits(b, [5, 9, 11, 3], [7, 8, 9])[:, :rows],
                          atol=tolerance)


# CTranslate2


def ctranslate2_tensors(model: Transformer) -> dict[str, np.ndarray]:
    out = {}

    def put(name, module):
        kinds = {"weight": "weight", "bias": "bias"}
        if isinstance(module, torch.nn.LayerNorm):
            kinds = {"weight": "gamma", "bias": "beta"}
        for ours, theirs in kinds.items():
            if getattr(module, ours, None) is not None:
                out[f"{name}/{theirs}"] = getattr(module, ours).detach().numpy()

    for side, layers in (("encoder", model.encoder_layers), ("decoder", model.decoder_layers)):
        for n, layer in enumerate(layers):
            name = f"{side}/layer_{n}"
            put(f"{name}/self_attention/layer_norm", layer.self_attention_norm)
            put(f"{name}/self_attention/linear_0", layer.self_attention.query_key_value)
            put(f"{name}/self_attention/linear_1", layer.self_attention.output)
            if side == "decoder":
                put(f"{name}/attention/layer_norm", layer.cross_attention_norm)
                put(f"{name}/attention/linear_0", layer.cross_attention.query)
                put(f"{name}/attention/linear_1", layer.cross_attention.key_value)
                put(f"{name}/attention/linear_2", layer.cross_attention.output)
            put(f"{name}/ffn/layer_norm", layer.ffn_norm)
            put(f"{name}/ffn/linear_0", layer.ffn.up)
            put(f"{name}/ffn/linear_1", layer.ffn.down)
    if model.config.embedding_norm:
        put("encoder/layernorm_embedding", model.encoder_embedding_norm)
        put("decoder/layernorm_embedding", model.decoder_embedding_norm)
    if model.config.norm == "pre":
        put("encoder/layer_norm", model.encoder_norm)
        put("decoder/layer_norm", model.exit_norms[-1])
    out["decoder/embeddings/weight"] = model.embedding.weight.detach().numpy()
    out["decoder/projection/bias"] = model.output_bias.detach().numpy()
    return out


def write_ctranslate2(folder: Path, model: Transformer, spm: Path, pieces: list[str], kind: str = "float32",
                      **scalars) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    c = model.config
    values = ctranslate2_tensors(model)
    attributes = {"pre_norm": c.norm == "pre", "activation": {"relu": 0, "swish": 2, "gelu": 3}[c.activation],
                  "scale_embeddings": c.scale_embeddings}
    for side in ("encoder", "decoder"):
        values |= {f"{side}/{k}": np.int8(v) for k, v in attributes.items()}
        values[f"{side}/num_heads"] = np.int16(c.heads)
    values |= scalars
    stored = {}
    for name, value in values.items():
        if value.ndim == 2 and kind in ("int8", "int16"):
            top = 127 if kind == "int8" else 1024
            scale = top / np.abs(value).max(1 if kind == "int8" else None, keepdims=kind == "int8")
            stored[name] = np.rint(value * scale).astype(kind)
            stored[f"{name}_scale"] = scale.astype(np.float32).reshape(-1) if kind == "int8" else np.float32(scale)
        elif value.dtype == np.float32 and kind == "float16":
            stored[name] = value.astype(np.float16)
        else:
            stored[name] = value
    aliases = {"encoder/embeddings_0/weight": "decoder/embeddings/weight",
               "decoder/projection/weight": "decoder/embeddings/weight"}

    def text(x):
        return struct.pack("<H", len(x) + 1) + x.encode() + b"\0"

    types = ["float32", "int8", "int16", "int32", "float16"]
    out = struct.pack("<I", 6) + text("TransformerSpec") + struct.pack("<II", 7, len(stored))
    for name, value in stored.items():
        value = np.asarray(value)
        out += text(name) + struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape)
        out += struct.pack("<BI", types.index(str(value.dtype)), value.nbytes) + value.tobytes()
    out += struct.pack("<I", len(aliases)) + b"".join(text(a) + text(b) for a, b in aliases.items())
    (folder / "model.bin").write_bytes(out)
    (folder / "shared_vocabulary.json").write_text(json.dumps(pieces))
    (folder / "config.json").write_text(json.dumps(
        {"add_source_bos": False, "add_source_eos": True, "decoder_start_token": "<s>", "bos_token": "<s>",
         "eos_token": "</s>", "unk_token": "<unk>", "layer_norm_epsilon": None}))
    (folder / "sentencepiece.model").write_bytes(spm.read_bytes())


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


# Marian


def marian_tensors(model: Transformer) -> dict[str, np.ndarray]:
    """Of a model whose decoder's last token is the one that it starts from, with an embedding of zeros."""
    out = {"Wemb": model.embedding.weight[:-1], "decoder_ff_logit_out_b": model.output_bias[None, :-1]}
    d = model.config.d_model

    def linear(name, weight, bias, part):
        out[f"{name}_W{part}"], out[f"{name}_b{part}"] = weight.T, bias[None]

    def norm(name, module):
        out[f"{name}_ln_scale"], out[f"{name}_ln_bias"] = module.weight[None], module.bias[None]

    for side, layers in (("encoder", model.encoder_layers), ("decoder", model.decoder_layers)):
        for n, layer in enumerate(layers):
            name = f"{side}_l{n + 1}"
            if layer.ssru is not None:
                out[f"{name}_rnn_W"] = layer.ssru.input.weight.T
                linear(f"{name}_rnn", layer.ssru.forget.weight, layer.ssru.forget.bias, "f")
                norm(f"{name}_rnn_ffn", layer.self_attention_norm)
            else:
                fused = layer.self_attention.query_key_value
                for i, part in enumerate("qkv"):
                    linear(f"{name}_self", fused.weight[i * d:(i + 1) * d], fused.bias[i * d:(i + 1) * d], part)
                linear(f"{name}_self", layer.self_attention.output.weight, layer.self_attention.output.bias, "o")
                norm(f"{name}_self_Wo", layer.self_attention_norm)
            if side == "decoder":
                cross = layer.cross_attention
                linear(f"{name}_context", cross.query.weight, cross.query.bias, "q")
                for i, part in enumerate("kv"):
                    linear(f"{name}_context", cross.key_value.weight[i * d:(i + 1) * d],
                           cross.key_value.bias[i * d:(i + 1) * d], part)
                linear(f"{name}_context", cross.output.weight, cross.output.bias, "o")
                norm(f"{name}_context_Wo", layer.cross_attention_norm)
            linear(f"{name}_ffn", layer.ffn.up.weight, layer.ffn.up.bias, "1")
            linear(f"{name}_ffn", layer.ffn.down.weight, layer.ffn.down.bias, "2")
            norm(f"{name}_ffn_ffn", layer.ffn_norm)
    return {name: t.detach().contiguous().numpy() for name, t in out.items()}


def write_marian(folder: Path, model: Transformer, spm: Path, **options) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    c = model.config
    told = {"type": "transformer", "enc-depth": c.encoder.layers, "dec-depth": c.decoder.layers,
            "transformer-heads": c.heads, "transformer-ffn-activation": c.activation, "transformer-preprocess": "",
            "transformer-postprocess": "dan", "transformer-postprocess-emb": "d", "tied-embeddings-all": True,
            "transformer-decoder-autoreg": "rnn" if c.autoregression == "ssru" else "self-attention",
            "dec-cell": "ssru", **options}
    text = json.dumps(told).encode() + b"\0"  # which is YAML, too
    np.savez(folder / "model.npz", **marian_tensors(model), **{"special:model.yml": np.frombuffer(text, np.int8)})
    (folder / "vocab.spm").write_bytes(spm.read_bytes())
    (folder / "config.yml").write_text(json.dumps({"models": ["model.npz"], "vocabs": ["vocab.spm", "vocab.spm"],
                                                   "normalize": 0.6}))


def marian_model(spm: Path, **changes) -> Transformer:
    model = random_model(len(pieces_of(spm)) + 1, layer_norm_epsilon=1e-6,
                         positions=Positions("sinusoidal", "none", "none", sinusoid="half_minus_one"), **changes)
    with torch.no_grad():
        model.embedding.weight[-1] = 0
    return model


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


def test_nothing_of_another_model_stays_in_the_folder(tmp_path, spm):
    write_marian(tmp_path / "theirs", marian_model(spm), spm)
    out = tmp_path / "ours"
    out.mkdir()
    for name in ("operating_points.json", "guard.json", "shortlist.safetensors", "target_tokenizer.model"):
        (out / name).write_text("of another model")
    (out / "tokenizer.model").write_bytes(spm.read_bytes())
    made = convert(tmp_path / "theirs", source="en", target="pt")
    made.tokenizer = out / "tokenizer.model"  # as with --tokenizer
    made.write(out)
    assert not any((out / name).exists() for name in ("operating_points.json", "guard.json", "shortlist.safetensors"))
    assert (out / "tokenizer.model").read_bytes() == spm.read_bytes()


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_conversion_that_stops_leaves_the_folder_as_it_was(tmp_path, spm, monkeypatch, error):
    write_marian(tmp_path / "theirs", marian_model(spm), spm)
    made, out = convert(tmp_path / "theirs", source="en", target="pt"), tmp_path / "ours"
    made.write(out)
    before = files_of(out)

    def stop(folder, *_):
        (folder / "model.safetensors").write_text("half of it")
        raise error

    monkeypatch.setattr(converted, "write_folder", stop)
    for folder in (out, tmp_path / "new"):
        with pytest.raises(type(error) if isinstance(error, OSError) else error):
            made.write(folder)
    assert files_of(out) == before and not (tmp_path / "new").exists()


def test_a_model_that_does_not_fit_changes_nothing(tmp_path, spm):
    write_marian(tmp_path / "theirs", marian_model(spm), spm)
    made, out = convert(tmp_path / "theirs", source="en", target="pt"), tmp_path / "ours"
    for name in ("", "my model/1", ".hidden", "x" * 65, "en-pt\n"):
        made.config.name = name
        with pytest.raises(ValueError, match="--name"):
            made.write(out)
    made.config.name = "nllb-200_600M+1.2"
    del made.tensors["embedding.weight"]
    with pytest.raises(Unsupported, match="embedding.weight is missing"):
        made.write(out)
    assert not out.exists()


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


@pytest.mark.parametrize("token, what", [(0, "unknown"), (3, "end")])
def test_special_tokens_with_two_numbers_are_refused(tmp_path, spm, token, what):
    """The engine has one number for both sides."""
    pieces = pieces_of(spm)
    model = random_model(len(pieces), source_vocab_size=len(pieces), tokens=Tokens(4, 0, 4, 3, None))
    turned = list(pieces)
    turned[token], turned[9] = turned[9], turned[token]
    made = converted.Converted(model.config, model.state_dict(), spm, None, turned, pieces)
    with pytest.raises(Unsupported, match=f"the {what} token has another number in the source's vocabulary"):
        made.write(tmp_path / "out")
    converted.Converted(model.config, model.state_dict(), spm, None, pieces, pieces).write(tmp_path / "out")


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


@pytest.mark.parametrize("flag", ["tokenizer", "target_tokenizer"])
def test_a_tokenizer_that_is_missing_is_refused_by_its_flag(tmp_path, spm, flag):
    pieces = pieces_of(spm)
    write_ctranslate2(tmp_path / "ctranslate2", random_model(len(pieces)), spm, pieces)
    write_marian(tmp_path / "marian", marian_model(spm), spm)
    opus_mt(tmp_path / "opus", spm, random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None)), pieces)
    for folder in ("ctranslate2", "marian", "opus"):
        with pytest.raises(ValueError, match=f"--{flag.replace('_', '-')}: there is no file .*typo.model"):
            convert(tmp_path / folder, source="en", target="de", **{flag: tmp_path / "typo.model"})


@pytest.mark.parametrize("option, value", [("transformer-postprocess", "dhn"), ("dec-cell", "gru"),
                                           ("transformer-ffn-depth", 3), ("type", "s2s"),
                                           ("transformer-decoder-autoreg", "average-attention")])
def test_marian_refuses_by_the_options_name(tmp_path, spm, option, value):
    write_marian(tmp_path, marian_model(spm, autoregression="ssru"), spm, **{option: value})
    with pytest.raises(Unsupported, match=option.removesuffix("-postprocess")):
        convert(tmp_path, source="en", target="pt")


def test_lexical_shortlist(tmp_path):
    lists = [[5, 70000], [], [1, 2, 3]]
    offsets = np.cumsum([0] + [len(row) for row in lists]).astype("<u8")
    values = np.array(sum(lists, []), "<u4")
    path = tmp_path / "lex.s2t.bin"
    path.write_bytes(struct.pack("<6Q", MAGIC, 0, 4, 50, 4, len(values)) + offsets.tobytes() + values.tobytes())
    made = read_shortlist(path, 3, 80000, shared=True)
    assert made.tokens.tolist() == [[0, 5, 70000, 0], [1, 0, 0, 0], [2, 1, 2, 3]]
    assert made.common.tolist() == [0, 1, 2, 3]
    made.save(tmp_path / "shortlist.safetensors")
    assert made.load(tmp_path / "shortlist.safetensors").tokens.tolist() == made.tokens.tolist()
    assert made.tokens_for(np.array([0])).tolist() == [1, 2, 3, 5, 70000]
    for bad, message in ((path.read_bytes()[:-1], "needs"), (b"x" * 100, "not a binary"),
                         (path.read_bytes()[:48] + np.array([0, 9, 2, 5], "<u8").tobytes() + values.tobytes(),
                          "ascend")):
        (tmp_path / "bad.bin").write_bytes(bad)
        with pytest.raises(ValueError, match=message):
            read_shortlist(tmp_path / "bad.bin", 3, 80000, shared=True)
    with pytest.raises(ValueError, match="lists token 70000"):
        read_shortlist(path, 3, 60000, shared=False)


def test_a_shortlist_whose_table_would_be_huge_is_refused(tmp_path):
    offsets, values = np.array([0, 5000] + [5000] * 9, "<u8"), np.zeros(5000, "<u4")
    path = tmp_path / "lex.s2t.bin"
    path.write_bytes(struct.pack("<6Q", MAGIC, 0, 4, 50, 11, 5000) + offsets.tobytes() + values.tobytes())
    with pytest.raises(ValueError, match="more than 4096 tokens"):
        read_shortlist(path, 10, 80000, shared=True)


# Hugging Face


def huggingface_tensors(model: Transformer) -> dict[str, torch.Tensor]:
    out, d = {"model.shared.weight": model.embedding.weight}, model.config.d_model

    def put(name, weight, bias):
        out[f"{name}.weight"], out[f"{name}.bias"] = weight, bias

    for side, layers in (("encoder", model.encoder_layers), ("decoder", model.decoder_layers)):
        for n, layer in enumerate(layers):
            name = f"model.{side}.layers.{n}"
            fused = layer.self_attention.query_key_value
            for i, part in enumerate("qkv"):
                put(f"{name}.self_attn.{part}_proj", fused.weight[i * d:(i + 1) * d], fused.bias[i * d:(i + 1) * d])
            put(f"{name}.self_attn.out_proj", layer.self_attention.output.weight, layer.self_attention.output.bias)
            put(f"{name}.self_attn_layer_norm", layer.self_attention_norm.weight, layer.self_attention_norm.bias)
            if side == "decoder":
                cross = layer.cross_attention
                put(f"{name}.encoder_attn.q_proj", cross.query.weight, cross.query.bias)
                for i, part in enumerate("kv"):
                    put(f"{name}.encoder_attn.{part}_proj", cross.key_value.weight[i * d:(i + 1) * d],
                        cross.key_value.bias[i * d:(i + 1) * d])
                put(f"{name}.encoder_attn.out_proj", cross.output.weight, cross.output.bias)
                put(f"{name}.encoder_attn_layer_norm", layer.cross_attention_norm.weight,
                    layer.cross_attention_norm.bias)
            put(f"{name}.fc1", layer.ffn.up.weight, layer.ffn.up.bias)
            put(f"{name}.fc2", layer.ffn.down.weight, layer.ffn.down.bias)
            put(f"{name}.final_layer_norm", layer.ffn_norm.weight, layer.ffn_norm.bias)
    if model.config.norm == "pre":
        put("model.encoder.layer_norm", model.encoder_norm.weight, model.encoder_norm.bias)
        put("model.decoder.layer_norm", model.exit_norms[-1].weight, model.exit_norms[-1].bias)
    else:
        out["final_logits_bias"] = model.output_bias[None]
    return {name: t.detach().contiguous() for name, t in out.items()}


def settings_of(config: ModelConfig, kind: str) -> dict:
    found = {"model_type": kind, "d_model": config.d_model, "activation_function": config.activation,
             "scale_embedding": config.scale_embeddings, "pad_token_id": config.tokens.pad,
             "eos_token_id": config.tokens.eos, "decoder_start_token_id": config.tokens.bos,
             "vocab_size": config.vocab_size, "max_position_embeddings": 256}
    for side, stack in (("encoder", config.encoder), ("decoder", config.decoder)):
        found |= {f"{side}_layers": stack.layers, f"{side}_ffn_dim": stack.ffn.width,
                  f"{side}_attention_heads": config.heads}
    return found


def write_huggingface(folder: Path, model: Transformer, kind: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "model.safetensors", huggingface_tensors(model))
    (folder / "config.json").write_text(json.dumps(settings_of(model.config, kind)))


def opus_mt(folder: Path, spm: Path, model: Transformer, pieces: list[str]) -> None:
    write_huggingface(folder, model, "marian")
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(spm.read_bytes())


def test_opus_mt(tmp_path, spm):
    pieces = [*pieces_of(spm), ">>deu<<", ">>fra<<"]
    model = random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None))
    opus_mt(tmp_path, spm, model, pieces)
    made = convert(tmp_path, source="en", target="mul")
    same(made.model(), model)
    assert made.config.positions == Positions("sinusoidal", "none", "none")
    assert made.config.languages.tokens["de"] == made.config.languages.tokens["deu"] == len(pieces) - 2
    assert made.config.languages.source_prefix == "target" and made.config.languages.target_prefix == "none"


def nllb_folder(folder: Path, spm: Path, model: Transformer) -> None:
    write_huggingface(folder, model, "m2m_100")
    (folder / "sentencepiece.bpe.model").write_bytes(spm.read_bytes())
    (folder / "special_tokens_map.json").write_text(json.dumps(
        {"additional_special_tokens": ["eng_Latn", "deu_Latn", "zho_Hans"]}))


def m2m_model(vocab: int) -> Transformer:
    model = random_model(vocab, norm="pre", activation="relu", tokens=Tokens(1, 3, 2, 2, None),
                         positions=Positions("sinusoidal", "none", "none", sinusoid="half_minus_one", offset=2))
    with torch.no_grad():
        model.output_bias.zero_()
    return model


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


def test_nllb_is_named_after_its_folder(tmp_path, spm, monkeypatch):
    nllb_folder(tmp_path / "nllb-200", spm, m2m_model(len(pieces_of(spm)) + 1 + 3))
    monkeypatch.chdir(tmp_path / "nllb-200")
    made = convert(Path("."))
    assert made.config.name == "nllb-200" and made.origin.endswith("nllb-200")
    made.write(tmp_path / "out")
    with pytest.raises(ValueError, match="--target-tokenizer: M2M-100 and NLLB"):
        convert(Path("."), target_tokenizer=spm)


@pytest.mark.parametrize("text, said", [
    ("---\ntags:\n- translation\nlicense: apache-2.0\n---\n# A model\n", "apache-2.0"),
    ("# License\n\nNothing is said of it.\n", ""), ("license:\n- mit\n", ""),
    ("- **Licence:** CC BY 4.0.\n", "CC BY 4.0"), ("It is licensed under MIT.\n", "It is licensed under MIT"),
])
def test_a_licence_is_found(tmp_path, spm, text, said):
    (tmp_path / "README.md").write_text(text)
    assert licence(tmp_path) == said


def test_every_reader_looks_for_the_licence(tmp_path, spm):
    pieces = pieces_of(spm)
    write_ctranslate2(tmp_path / "ctranslate2", random_model(len(pieces)), spm, pieces)
    write_marian(tmp_path / "marian", marian_model(spm), spm)
    opus_mt(tmp_path / "opus", spm, random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None)), pieces)
    nllb_folder(tmp_path / "nllb", spm, m2m_model(len(pieces) + 1 + 3))
    for folder in ("ctranslate2", "marian", "opus", "nllb"):
        (tmp_path / folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
        made = convert(tmp_path / folder, source="en", target="de")
        assert "Licence: apache-2.0." in made.card(1)


# Damage


def test_damaged_archives_are_refused_by_name(tmp_path):
    for data in (b"", b"PK\x03\x04 no archive"):
        (tmp_path / "x.argosmodel").write_bytes(data)
        with pytest.raises(ValueError, match="x.argosmodel: not a readable zip archive"):
            convert(tmp_path / "x.argosmodel")


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


def test_parts_that_do_not_fit_are_named(tmp_path, spm):
    pieces = pieces_of(spm)
    model = random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None))
    opus_mt(tmp_path / "opus", spm, model, pieces)
    name = "model.encoder.layers.0.self_attn.k_proj.weight"
    write_file(tmp_path / "opus" / "model.safetensors", huggingface_tensors(model) | {name: torch.ones(32, 31)})
    with pytest.raises(Unsupported, match=f"{name} has shape \\[32, 31\\]"):
        convert(tmp_path / "opus", source="en", target="de")
    write_marian(tmp_path / "marian", marian_model(spm), spm)
    for name, shape in (("encoder_l1_self_Wk", (31, 32)), ("Wemb", (32,)), ("decoder_ff_logit_out_b", (1, 7))):
        with np.load(tmp_path / "marian" / "model.npz") as stored:
            np.savez(tmp_path / "marian" / "other.npz", **{**stored, name: np.ones(shape, np.float32)})
        with pytest.raises(Unsupported, match="shape"):
            convert(tmp_path / "marian" / "other.npz", source="en", target="de").model()


def test_damaged_settings_are_refused_by_name(tmp_path, spm):
    write_marian(tmp_path, marian_model(spm), spm)
    (tmp_path / "config.yml").write_text("vocabs: [")
    with pytest.raises(ValueError, match="config.yml: not a readable YAML"):
        convert(tmp_path, source="en", target="de")
    (tmp_path / "config.yml").write_text("vocabs: [vocab.spm]")
    (tmp_path / "vocab.spm").write_text("no model")
    with pytest.raises(ValueError, match="vocab.spm: not a readable SentencePiece model"):
        convert(tmp_path, source="en", target="de")
    for text in ("{", "[1]"):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match="config.json: not a readable JSON"):
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
        nllb = tmp_path / "special_tokens_map.json"
        nllb.write_text(json.dumps({"additional_special_tokens": ["eng_Latn", "deu_Latn", "zho_Hans"]}))
        (tmp_path / "sentencepiece.bpe.model").write_bytes(spm.read_bytes())
    ours = convert(tmp_path, source="en", target="de").model()
    source, target = [5, 9, 11, 30, made.config.eos_token_id], [made.config.decoder_start_token_id, 8, 9, 7]
    with torch.no_grad():
        theirs = made(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])).logits[0]
    assert torch.allclose(logits(ours, source, target), theirs, atol=1e-4)


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


def test_a_model_is_not_written_over_itself(tmp_path, spm):
    write_marian(tmp_path / "theirs", marian_model(spm), spm)
    before = sorted((path.name, path.stat().st_size) for path in (tmp_path / "theirs").iterdir())
    command = [sys.executable, "-m", "salient.convert", str(tmp_path / "theirs"), "--out", str(tmp_path / "theirs"),
               "--from", "en", "--to", "pt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "overwritten" in done.stderr
    assert sorted((path.name, path.stat().st_size) for path in (tmp_path / "theirs").iterdir()) == before


def test_the_command(tmp_path, spm):
    write_marian(tmp_path / "theirs", marian_model(spm), spm)
    command = [sys.executable, "-m", "salient.convert", str(tmp_path / "theirs"), "--out", str(tmp_path / "ours")]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 1 and "--from" in refused.stderr
    done = subprocess.run([*command, "--from", "en", "--to", "pt"], capture_output=True, text=True)
    assert done.returncode == 0 and "wrote" in done.stderr, done.stderr
    model, config = load_model(tmp_path / "ours")
    assert config.name == "en-pt" and json.loads((tmp_path / "ours" / "vocabulary.json").read_text())[-1] == "<start>"


def test_a_missing_shard_is_named(tmp_path):
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    write_file(tmp_path / "model-00001-of-00002.safetensors", {"a": torch.zeros(1)})
    with pytest.raises(ValueError, match="neither model-00002-of-00002.safetensors nor pytorch_model.bin is there"):
        read_weights(tmp_path)
