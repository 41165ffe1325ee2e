"""Small random models, written as folders in the layouts of other toolkits, for the tests of the converter."""

import json
import struct
from pathlib import Path

import numpy as np
import torch

from salient.config import FeedForward, ModelConfig, Positions, Stack, Tokens
from salient.convert.reading import pieces_of
from salient.model import Transformer
from salient.pieces import train_unigram
from salient.selection import SelectionRun
from salient.tensor_file import write_file
from salient.tiny import SENTENCES

DENSE = SelectionRun()


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
    if model.output is not None:
        put("decoder/projection", model.output)
    return out


def write_ctranslate2(folder: Path, model: Transformer, spm: Path, pieces: list[str], kind: str = "float32",
                      version: int = 6, revision: int = 7, **scalars) -> None:
    """version: of the format; before 6 there is no config.json. scalars: more attributes and arrays."""
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
    aliases = {name: other for name, other in aliases.items() if name not in stored}

    def text(x):
        return struct.pack("<H", len(x) + 1) + x.encode() + b"\0"

    types = ["float32", "int8", "int16", "int32", "float16"]
    out = struct.pack("<I", version) + text("TransformerSpec") + struct.pack("<II", revision, len(stored))
    for name, value in stored.items():
        value = np.asarray(value)
        out += text(name) + struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape)
        out += struct.pack("<BI", types.index(str(value.dtype)), value.nbytes) + value.tobytes()
    out += struct.pack("<I", len(aliases)) + b"".join(text(a) + text(b) for a, b in aliases.items())
    (folder / "model.bin").write_bytes(out)
    (folder / "shared_vocabulary.json").write_text(json.dumps(pieces))
    settings = json.dumps(
        {"add_source_bos": False, "add_source_eos": True, "decoder_start_token": "<s>", "bos_token": "<s>",
         "eos_token": "</s>", "unk_token": "<unk>", "layer_norm_epsilon": None})
    if version >= 6:
        (folder / "config.json").write_text(settings)
    (folder / "sentencepiece.model").write_bytes(spm.read_bytes())


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


def nllb_tokenizer(folder: Path, spm: Path) -> None:
    """As many pieces as `spm` has, NLLB's special tokens, and three languages."""
    with open(folder / "sentencepiece.bpe.model", "wb") as file:
        train_unigram((text for pair in SENTENCES for text in pair), len(pieces_of(spm)), "", file, byte_fallback=True,
                      unk_id=0, bos_id=1, eos_id=2)
    (folder / "special_tokens_map.json").write_text(json.dumps(
        {"additional_special_tokens": ["eng_Latn", "deu_Latn", "zho_Hans"]}))


def nllb_folder(folder: Path, spm: Path, model: Transformer) -> None:
    write_huggingface(folder, model, "m2m_100")
    nllb_tokenizer(folder, spm)


def m2m_model(vocab: int) -> Transformer:
    model = random_model(vocab, norm="pre", activation="relu", tokens=Tokens(1, 3, 2, 2, None),
                         positions=Positions("sinusoidal", "none", "none", sinusoid="half_minus_one", offset=2))
    with torch.no_grad():
        model.output_bias.zero_()
    return model
