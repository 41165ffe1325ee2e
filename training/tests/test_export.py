import json
import shutil
import struct

import pytest
import torch

from salient import tensor_file, tiny
from salient.calibrate import selection_layers
from salient.config import ModelConfig
from salient.export import export, load_checkpoint, load_model, main
from salient.model import Transformer
from salient.selection import SelectionRun
from salient.tensor_file import quantise_rows, read_file, read_folder, write_file
from salient.tiny import variants
from salient.train import build, load, parse


def logits_of(model):
    source, target = torch.tensor([[31, 47, 99, 4, 17, 5, 3]]), torch.tensor([[2, 8, 9, 4, 10]])
    with torch.no_grad():
        run = SelectionRun()
        return model.logits(1, model.decode(target, source, model.encode(source, run), run)[1])


@pytest.mark.parametrize("name", list(variants()))
def test_every_configuration_survives_export(tiny_models, tmp_path, name):
    model, config = load_model(tiny_models / name)
    export(model, tiny_models / "tokenizer.model", tmp_path)
    again, read = load_model(tmp_path)
    assert read == config == ModelConfig.load(tiny_models / name)
    for key, tensor in model.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[key]), key
    assert (tmp_path / "tokenizer.model").read_bytes() == (tiny_models / "tokenizer.model").read_bytes()
    assert config.name in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("dtype, bound", [("bf16", 2 ** -8), ("int8", 0.5 / 127)])
def test_small_types_round_and_no_more(tiny_models, tmp_path, dtype, bound):
    model, _ = load_model(tiny_models / "post")
    export(model, tiny_models / "tokenizer.model", tmp_path, dtype=dtype)
    again, _ = load_model(tmp_path)
    changed = 0
    for key, tensor in model.state_dict().items():
        other = again.state_dict()[key]
        if tensor.dim() != 2:
            assert torch.equal(tensor, other), key
            continue
        assert ((tensor - other).abs() <= 1.001 * bound * tensor.abs().amax(1, keepdim=True)).all(), key
        changed += not torch.equal(tensor, other)
    assert changed > 10
    stored = read_file(tmp_path / "model.safetensors")
    assert stored["embedding.weight"].dtype == {"bf16": torch.bfloat16, "int8": torch.int8}[dtype]
    assert ("embedding.weight.scale" in stored) == (dtype == "int8")
    assert torch.allclose(logits_of(model), logits_of(again), atol=4.0)


def test_shards_hold_the_same_tensors(tiny_models, tmp_path):
    model, _ = load_model(tiny_models / "base")
    export(model, tiny_models / "tokenizer.model", tmp_path, shard_bytes=100_000)
    index = json.loads((tmp_path / tensor_file.INDEX).read_text())
    files = sorted(set(index["weight_map"].values()))
    assert len(files) > 3 and not (tmp_path / tensor_file.SINGLE).exists()
    for file in files:
        tensors = read_file(tmp_path / file)
        assert len(tensors) == 1 or sum(t.numel() * 4 for t in tensors.values()) <= 100_000
    for key, tensor in load_model(tmp_path)[0].state_dict().items():
        assert torch.equal(tensor, model.state_dict()[key])
    export(model, tiny_models / "tokenizer.model", tmp_path)  # again, unsharded: nothing of the shards stays
    assert sorted(p.name for p in tmp_path.glob("model*")) == [tensor_file.SINGLE]


def test_nothing_of_another_model_stays(tiny_models, tmp_path):
    model, _ = load_model(tiny_models / "base")
    out = tmp_path / "out"
    out.mkdir()
    stale = ("target_tokenizer.model", "shortlist.safetensors", "guard.json", "operating_points.json")
    for name in (*stale, "vocabulary.json", "source_vocabulary.json", "notes.txt"):
        (out / name).write_text("of another model")
    export(model, tiny_models / "tokenizer.model", out)
    expected = ["README.md", "config.json", "model.safetensors", "notes.txt", "tokenizer.model"]
    assert sorted(path.name for path in out.iterdir()) == expected


BESIDE = ("target_tokenizer.model", "vocabulary.json", "source_vocabulary.json")


def test_how_text_becomes_tokens_comes_from_the_folder_of_the_tokenizer(tiny_models, tmp_path):
    model, _ = load_model(tiny_models / "base")
    (tmp_path / "tokenizer.model").write_bytes((tiny_models / "tokenizer.model").read_bytes())
    for name in BESIDE:
        (tmp_path / name).write_text(name)
    export(model, tmp_path / "tokenizer.model", tmp_path / "out")
    assert [(tmp_path / "out" / name).read_text() for name in BESIDE] == list(BESIDE)


def test_a_model_is_exported_over_itself(tiny_models, tmp_path):
    model, _ = load_model(tiny_models / "base")
    (tmp_path / "tokenizer.model").write_bytes((tiny_models / "tokenizer.model").read_bytes())
    (tmp_path / "vocabulary.json").write_text("[]")
    export(model, tmp_path / "tokenizer.model", tmp_path)
    export(model, tmp_path / "tokenizer.model", tmp_path, readme=tmp_path / "README.md")
    assert (tmp_path / "tokenizer.model").read_bytes() == (tiny_models / "tokenizer.model").read_bytes()
    assert (tmp_path / "vocabulary.json").read_text() == "[]"


def test_what_a_killed_export_left_is_removed(tiny_models, tmp_path):
    model, _ = load_model(tiny_models / "base")
    left = tmp_path / "out" / ".unfinished-x"
    left.mkdir(parents=True)
    (left / "model.safetensors").write_text("half")
    export(model, tiny_models / "tokenizer.model", tmp_path / "out")
    assert not left.exists() and (tmp_path / "out" / "config.json").exists()


def test_a_tiny_model_is_no_mixture_with_the_one_before(tiny_models, tmp_path):
    config, folder = ModelConfig.load(tiny_models / "opus"), tmp_path / "opus"
    folder.mkdir()
    for name in (*BESIDE, "guard.json"):
        (folder / name).write_text("of another model")
    tiny.write("opus", config, tiny_models / "tokenizer.model", tmp_path, seed=1)
    assert {path.name for path in folder.iterdir()} == {path.name for path in (tiny_models / "opus").iterdir()}
    assert (folder / "model.safetensors").read_bytes() == (tiny_models / "opus" / "model.safetensors").read_bytes()


def test_an_export_that_fails_leaves_the_folder_as_it_was(tiny_models, tmp_path):
    model, _ = load_model(tiny_models / "base")
    export(model, tiny_models / "tokenizer.model", tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    for out in ("out", "new"):
        with pytest.raises(FileNotFoundError):
            export(load_model(tiny_models / "post")[0], tmp_path / "typo.model", tmp_path / out)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert not (tmp_path / "new").exists()


def test_the_file_is_safetensors(tmp_path):
    path = tmp_path / "x.safetensors"
    write_file(path, {"a": torch.tensor([[1.0, -2.0]]), "b": torch.tensor([3], dtype=torch.int8)})
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    assert length % 8 == 0
    assert json.loads(data[8:8 + length]) == {
        "a": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
        "b": {"dtype": "I8", "shape": [1], "data_offsets": [8, 9]}}
    assert data[8 + length:] == struct.pack("<ff", 1.0, -2.0) + b"\x03"


@pytest.mark.parametrize("damage, message", [
    (lambda d: d[:4], "too short"),
    (lambda d: struct.pack("<Q", 1 << 40) + d[8:], "header says"),
    (lambda d: d[:-4], "does not fit"),
    (lambda d: d.replace(b"F32", b"F99"), "has type F99"),
])
def test_damaged_files_are_refused(tmp_path, damage, message):
    path = tmp_path / "x.safetensors"
    write_file(path, {"a": torch.ones(4, 4)})
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=message):
        read_file(path)


def stored(header) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(64)


@pytest.mark.parametrize("header, message", [
    (b"{", "JSONDecodeError"), (b"[1]", "AttributeError"), (b"\xff", "UnicodeDecodeError"),
    (b"[" * 100_000, "RecursionError"), ({"a": 7}, "TypeError"),
    ({"a": {"dtype": "F32", "shape": [1]}}, "data_offsets"),
    ({"a": {"dtype": "F32", "shape": [-1, -4], "data_offsets": [0, 16]}}, "tensor a has a size or an offset"),
    ({"a": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}}, "tensor a has a size"),
    ({"a": {"dtype": "F32", "shape": ["1"], "data_offsets": [0, 4]}}, "tensor a has a size"),
    ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, "ValueError"),
    ({"a": {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}}, "has type")])
def test_a_header_that_makes_no_sense_is_refused(tmp_path, header, message):
    (tmp_path / "x.safetensors").write_bytes(stored(header))
    with pytest.raises(ValueError, match=rf"x.safetensors: .*{message}"):
        read_file(tmp_path / "x.safetensors")


def test_a_file_is_in_memory_once_and_tensors_at_odd_places_are_read(tmp_path):
    header = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]},
              "b": {"dtype": "F32", "shape": [3], "data_offsets": [9, 21]},
              "c": {"dtype": "F32", "shape": [0], "data_offsets": [21, 21]}}
    for padding in range(8):
        text = json.dumps(header).encode() + b" " * padding
        (tmp_path / "x").write_bytes(struct.pack("<Q", len(text)) + text + b"\0" + struct.pack("<5f", *range(5)))
        read = read_file(tmp_path / "x")
        assert [t.tolist() for t in read.values()] == [[0, 1], [2, 3, 4], []]
        assert all(t.data_ptr() % 4 == 0 for t in read.values())
    write_file(tmp_path / "y", {name: torch.ones(8) for name in "ab"})
    parts = [data for _, _, data in tensor_file.read_stored(tmp_path / "y").values()]
    assert parts[0].obj is parts[1].obj


@pytest.mark.parametrize("weight_map", [None, 7, {"embedding.weight": "../model.safetensors"},
                                        {"embedding.weight": ["model.safetensors"]}])
def test_an_index_names_files_of_its_folder(tmp_path, weight_map):
    (tmp_path / tensor_file.INDEX).write_text(json.dumps({"weight_map": weight_map} if weight_map else {}))
    with pytest.raises(ValueError, match="model.safetensors.index.json: "):
        read_folder(tmp_path)


@pytest.mark.parametrize("scale", [{}, {"a.scale": torch.ones(3)}, {"a.scale": torch.ones(2, 1)}])
def test_integers_need_a_step_for_each_row(tmp_path, scale):
    write_file(tmp_path / tensor_file.SINGLE, {"a": torch.ones(2, 4, dtype=torch.int8), **scale})
    with pytest.raises(ValueError, match="the int8 tensor a needs a.scale, one value for each of its rows"):
        read_folder(tmp_path)


@pytest.mark.parametrize("field, value, message", [("vocab_size", 400, "size mismatch for embedding.weight"),
                                                   ("norm", "post", "Unexpected key")])
def test_tensors_of_another_configuration_are_refused(tiny_models, tmp_path, field, value, message):
    shutil.copytree(tiny_models / "base", tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps({**config, field: value}))
    with pytest.raises(ValueError, match=f"model: its tensors are not those of its config.json: .*{message}"):
        load_model(tmp_path / "model")
    if field == "vocab_size":
        with pytest.raises(ValueError, match="the checkpoint: its tensors are not those of its config.json"):
            build(load(tmp_path / "model"), parse(["--phase", "halting", "--data", "x", "--out", "x"]))


def test_an_index_must_be_complete(tiny_models, tmp_path):
    model, _ = load_model(tiny_models / "plain")
    export(model, tiny_models / "tokenizer.model", tmp_path, shard_bytes=100_000)
    index = json.loads((tmp_path / tensor_file.INDEX).read_text())
    index["weight_map"]["nowhere"] = index["weight_map"]["embedding.weight"]
    (tmp_path / tensor_file.INDEX).write_text(json.dumps(index))
    with pytest.raises(ValueError, match="nowhere"):
        read_folder(tmp_path)


def test_earlier_names_of_fields_are_read(tiny_models):
    config = ModelConfig.load(tiny_models / "base")
    old = config.to_json().replace('"chunk_tokens"', '"window"').replace('"learned_ratio"', '"key_fraction"')
    assert '"window"' in old and '"key_fraction"' in old and ModelConfig.from_json(old) == config


def test_quantised_rows_use_their_whole_range():
    integers, scale = quantise_rows(torch.tensor([[1.0, -0.5, 0.0], [0.0, 0.0, 0.0], [1e-3, 2e-3, -4e-3]]))
    assert integers.tolist() == [[127, -64, 0], [0, 0, 0], [32, 64, -127]]
    assert scale[0].item() == pytest.approx(1 / 127)


def checkpoint(path, config):
    model = Transformer(config)
    torch.save({"config": config.to_json(), "model": model.state_dict(), "step": 0, "elapsed": 0.0}, path)
    return model


def test_what_was_never_trained_stays_out(tmp_path):
    config = variants()["base"]
    model = checkpoint(tmp_path / "base.pt", config)
    read = load_checkpoint(tmp_path / "base.pt")
    assert read.config.selection is None and read.config.exits.heads == []
    assert not [n for n in read.state_dict() if "selection" in n or "halting" in n]
    assert torch.equal(read.embedding.weight, model.embedding.weight)


def test_what_was_trained_stays_in(tmp_path):
    config = variants()["base"]
    config.selection.learned_ratio = {"encoder": [0.5, 0.5], "decoder": [0.5, 0.5], "cross": [0.5, 0.5]}
    config.exits.confidence = [0.5] * (config.decoder.layers - 1) + [0.0]  # which only --calibrate fits anew
    model = Transformer(config)
    model.halting.geometric.bias.data += 0.1
    torch.save({"config": config.to_json(), "model": model.state_dict()}, tmp_path / "x.pt")
    read = load_checkpoint(tmp_path / "x.pt")
    assert read.config.exits.heads == ["geometric"] and len(selection_layers(read)) == 6
    assert read.config.exits.confidence == config.exits.confidence


@pytest.mark.parametrize("flags, message", [(["--name", "a/b"], 'name is "a/b"'),
                                            (["--chunk-tokens", "8"], "chunk_tokens is 8")])
def test_a_name_that_no_engine_takes_is_refused(tmp_path, monkeypatch, flags, message):
    checkpoint(tmp_path / "x.pt", variants()["base"])
    monkeypatch.setattr("sys.argv", ["export", "--checkpoint", str(tmp_path / "x.pt"), "--tokenizer", "none", "--out",
                                     str(tmp_path / "out"), *flags])
    with pytest.raises(SystemExit, match=message):
        main()
    assert not (tmp_path / "out").exists()
