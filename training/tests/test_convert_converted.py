"""How a converted model is written."""

from pathlib import Path

import pytest

from salient.config import Tokens
from salient.convert import Unsupported, converted
from salient.convert.__main__ import convert
from salient.convert.reading import pieces_of
from toolkit_folders import marian_model, random_model, write_marian


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
