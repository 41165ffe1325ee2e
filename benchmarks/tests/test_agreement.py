"""What benchmarks/agreement keeps, without any engine."""

import io
import os
import tarfile
import zipfile

import pytest

from harness import agreement, real


def test_translations_of_an_earlier_conversion_are_not_taken(tmp_path, monkeypatch):
    folder, driver, asked = tmp_path / "model", tmp_path / "driver", []
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    driver.write_text("a program")
    monkeypatch.setattr(agreement.Salient, "ask", lambda self, lines, run: asked.append(lines) or [{"text": "x"}])

    def translate():
        model = real.RealModel("model", folder, folder)
        return agreement.Salient(driver, model, "f32", 1, tmp_path).lines(["a"])

    assert translate() == translate() and len(asked) == 1
    (folder / "config.json").write_text('{"layers": 1}')
    translate()
    assert len(asked) == 2
    driver.write_text("another program")
    translate()
    assert len(asked) == 3


def test_a_changed_converter_converts_anew(tmp_path, monkeypatch):
    made = []

    def get(name, out, cache):
        made.append(name)
        out.mkdir(parents=True, exist_ok=True)
        (out / "config.json").write_text("{}")

    monkeypatch.setattr(real.get, "catalogue", lambda: {"xx-yy": {"path": "theirs"}})
    monkeypatch.setattr(real.get, "get", get)
    (tmp_path / "xx-yy-original" / "theirs").mkdir(parents=True)
    for _ in range(2):
        real.fetch("xx-yy", tmp_path / "cache", tmp_path)
    assert len(made) == 1
    os.utime(tmp_path / "xx-yy" / "config.json", (1, 1))  # older than the converter
    real.fetch("xx-yy", tmp_path / "cache", tmp_path)
    assert len(made) == 2


def test_a_run_that_was_stopped_while_it_unpacked_is_not_taken_for_whole(tmp_path, monkeypatch):
    entry = {"path": "x/en_de.argosmodel"}
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as package:
        package.writestr("en_de/model/model.bin", "weights")
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo(entry["path"])
        member.size = len(whole.getvalue())
        archive.addfile(member, io.BytesIO(whole.getvalue()))

    def stopped(package, into):
        (into / "en_de").mkdir(parents=True)
        raise KeyboardInterrupt

    monkeypatch.setattr(real.get, "catalogue", lambda: {"en-de": entry})
    monkeypatch.setattr(real.get, "archive_of", lambda entry, cache: tmp_path / "x.tar.gz")
    monkeypatch.setattr(real.get, "get", lambda name, out, cache: None)
    with monkeypatch.context() as context, pytest.raises(KeyboardInterrupt):
        context.setattr(real, "unpacked", stopped)
        real.fetch("en-de", tmp_path, tmp_path)
    for _ in range(2):
        assert (real.fetch("en-de", tmp_path, tmp_path).peer / "model" / "model.bin").read_text() == "weights"
