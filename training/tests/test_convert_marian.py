import struct

import numpy as np
import pytest
import torch

from salient.convert import Unsupported
from salient.convert.marian import read_model

OPTIONS = b"type: transformer\nenc-depth: 6\ndim-vocabs:\n  - 8\n  - 8\n\0"
F32, I8, INTGEMM8 = 0x404, 0x101, 0x4101


def write_bin(path, items, version=1):
    """items: name, type, shape, data."""
    out = struct.pack("<QQ", version, len(items))
    for name, kind, shape, data in items:
        out += struct.pack("<QQQQ", len(name) + 1, kind, len(shape), len(data))
    out += b"".join(name.encode() + b"\0" for name, _, _, _ in items)
    out += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in items)
    padding = -(len(out) + 8) % 256
    out += struct.pack("<Q", padding) + bytes(padding) + b"".join(data for _, _, _, data in items)
    path.write_bytes(out)
    return path


def options():
    return "special:model.yml", I8, (len(OPTIONS),), OPTIONS


def quantised(values, multiplier, kind=np.int8):
    data = np.round(values * multiplier).astype(kind).tobytes() + struct.pack("<f", multiplier)
    return data + bytes(-len(data) % 256)


@pytest.mark.parametrize("int8, int16", [(0x4101, 0x4102), (0x10001, 0x10002)])
def test_integer_matrices_are_untransposed_and_scaled(tmp_path, int8, int16):
    """As Bergamot numbers their types, and as Marian does."""
    weight = np.arange(24, dtype=np.float32).reshape(3, 8) / 4  # [in, out]
    embedding = -np.arange(16, dtype=np.float32).reshape(8, 2) / 2
    model = read_model(write_bin(tmp_path / "model.bin", [
        ("encoder_l1_ffn_W1", int8, (3, 8), quantised(weight.T, 4.0)),
        ("encoder_l1_ffn_W2", int16, (3, 8), quantised(weight.T, 1024.0, np.int16)),
        ("Wemb", int8, (8, 2), quantised(embedding, 2.0)),
        ("decoder_ff_logit_out_b", F32, (1, 8), np.arange(8, dtype="<f4").tobytes()),
        ("encoder_l1_ffn_W1_QuantMultA", F32, (1, 1), struct.pack("<f", 12.5) + bytes(252)),
        ("Wemb_QuantMultA", int8, (1, 1), quantised(np.array([[3.5]]), 2.0)),
        ("none_QuantMultA", F32, (1, 1), struct.pack("<f", 7.0)), options()]))
    assert torch.equal(model.tensors["encoder_l1_ffn_W1"], torch.from_numpy(weight))
    assert torch.equal(model.tensors["encoder_l1_ffn_W2"], torch.from_numpy(weight))
    assert torch.equal(model.tensors["Wemb"], torch.from_numpy(embedding))
    assert model.tensors["decoder_ff_logit_out_b"].tolist() == [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert model.alphas == {"encoder_l1_ffn_W1": 12.5, "Wemb": 3.5, "none": 7.0}
    assert set(model.tensors) == {"encoder_l1_ffn_W1", "encoder_l1_ffn_W2", "Wemb", "decoder_ff_logit_out_b"}
    assert model.options["enc-depth"] == 6 and model.options["dim-vocabs"] == [8, 8]


def test_npz(tmp_path):
    weight = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    np.savez(tmp_path / "model.npz", **{"encoder_l1_ffn_W1": weight,
                                        "special:model.yml": np.frombuffer(OPTIONS, np.int8)})
    model = read_model(tmp_path / "model.npz")
    assert torch.equal(model.tensors["encoder_l1_ffn_W1"], torch.from_numpy(weight))
    assert model.options["type"] == "transformer" and model.alphas == {}


def test_what_cannot_be_read_is_refused(tmp_path):
    weight = ("W", F32, (2, 4), bytes(32))
    path = tmp_path / "model.bin"
    for items, message in [
            ([weight], "special:model.yml"),
            ([("W", F32, (2, 5), bytes(32)), options()], "needs 40 bytes"),
            ([("W", F32, (2, -4), bytes(32)), options()], "shape"),
            ([("W", F32, (1 << 30, 1 << 30, 1 << 30), bytes(32)), options()], "needs"),
            ([("W", INTGEMM8, (2, 4), bytes(12)), options()], "multiplier"),
            ([weight, ("special:model.yml", I8, (3,), b"a: [")], "special:model.yml"),
            ([weight, ("special:model.yml", I8, (3,), b"abc")], "mapping")]:
        with pytest.raises(ValueError, match=message):
            read_model(write_bin(path, items))
    with pytest.raises(ValueError, match="version 2"):
        read_model(write_bin(path, [weight, options()], version=2))
    for kind in (0x1801, 0x11001):  # of FBGEMM, and of intgemm
        with pytest.raises(Unsupported, match="packed for one kind of processor"):
            read_model(write_bin(path, [("W", kind, (2, 4), bytes(32)), options()]))
    whole = write_bin(path, [weight, options()]).read_bytes()
    for length in (0, 7, 15, 40, 80, 100, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="model.bin"):
            read_model(path)
    (tmp_path / "model.npz").write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(ValueError, match="model.npz"):
        read_model(tmp_path / "model.npz")
