"""Converts a model of another toolkit to a Salient model folder.

    training/salient-convert FOLDER --out models/zh-en [--from zh --to en]

FOLDER is one of:
    Hugging Face       MarianMTModel (OPUS-MT), M2M100ForConditionalGeneration (M2M-100, NLLB)
    CTranslate2        a Transformer's folder; an Argos package (.argosmodel, or its folder)
    Marian             a .npz or .bin model beside its SentencePiece vocabularies; Bergamot's students
T5, MADLAD, BART and other unsupported models are refused with the reason. See docs/models.md.
"""

from __future__ import annotations

import argparse
import sys
import time
import zipfile
from pathlib import Path

from ..export import DTYPES
from ..model_folder import unpacking
from . import Unsupported, from_ctranslate2, from_huggingface, from_marian
from .converted import Converted
from .reading import read_json, reading, refusals, wrong_kinds

MOST_PACKAGE_BYTES = 16 << 30


def reader_of(folder: Path):
    """The module that can read the folder."""
    if from_ctranslate2.find_model(folder) is not None:
        return from_ctranslate2
    if "model_type" in read_json(folder / "config.json"):
        return from_huggingface
    if from_marian.find_model(folder) is not None:
        return from_marian
    if list(folder.glob("*.pt")) and list(folder.glob("dict*.txt")):
        raise Unsupported("fairseq's own checkpoints (.pt): they are pickled Python objects, which run code when they "
                          "are read; transformers' convert_m2m100_original_checkpoint_to_pytorch.py makes a folder "
                          "of them that is read here")
    raise ValueError(f"{folder}: it holds no model that is known (a model.bin of CTranslate2 with its vocabulary, a "
                     "config.json of Hugging Face, or a .npz or .bin model of Marian)")


def unpacked(package: Path, into: Path) -> Path:
    """The folder of an Argos package."""
    with reading(package, "zip archive"), zipfile.ZipFile(package) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_PACKAGE_BYTES:
            raise ValueError(f"it unpacks to more than {MOST_PACKAGE_BYTES >> 30} GB")
        archive.extractall(into)  # keeps all files within the folder
    inside = [path for path in into.iterdir() if path.is_dir()]
    return inside[0] if len(inside) == 1 else into


def convert(path: Path, work: Path | None = None, **options) -> Converted:
    """An Argos package is unpacked into `work`, which must exist as long as the result, which names its files."""
    path = path.absolute()  # the folder `.` has a name, too
    for name in ("tokenizer", "target_tokenizer"):
        given = options.get(name)
        if given is not None and not given.is_file():
            raise ValueError(f"--{name.replace('_', '-')}: there is no file {given}")
    if path.is_file() and path.suffix in (".argosmodel", ".zip"):
        assert work is not None, "there is no folder to unpack a package into"
        path = unpacked(path, work)
    if not path.exists():
        raise ValueError(f"{path}: there is no such folder")
    with wrong_kinds(path):
        if path.is_dir():
            return reader_of(path).convert(path, **options)
        if path.suffix in (".npz", ".bin"):
            return from_marian.convert(path.parent, model=path, **options)
    raise ValueError(f"{path}: it is neither a folder, nor an Argos package, nor a model of Marian (.npz, .bin)")


def main() -> None:
    parser = argparse.ArgumentParser(prog="salient-convert", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the model to convert")
    parser.add_argument("--out", type=Path, required=True, help="the model folder to write")
    parser.add_argument("--from", dest="source", help="source language, where the folder does not say")
    parser.add_argument("--to", dest="target", help="target language, where the folder does not say")
    parser.add_argument("--name", help="the model's name; when left out SOURCE-TARGET, or the folder's name (M2M-100, "
                        "NLLB)")
    parser.add_argument("--tokenizer", type=Path, help="SentencePiece model of the source, where it lies elsewhere")
    parser.add_argument("--target-tokenizer", type=Path,
                        help="that of the target, if it is another; target.spm beside source.spm is found")
    parser.add_argument("--dtype", choices=DTYPES, help="type of the stored matrices; what loses nothing when left out")
    o = parser.parse_args()
    started = time.monotonic()

    def say(what: str) -> None:
        print(f"[{time.monotonic() - started:4.0f}s] {what}", file=sys.stderr)

    if o.out.exists() and o.folder.exists() and (o.out.samefile(o.folder) or o.out.samefile(o.folder.parent)):
        parser.error("--out is the folder of the model itself, whose files would be overwritten; name another")
    with refusals("salient-convert"), unpacking(o.out) as work:
        say(f"reading {o.folder}")
        made = convert(o.folder, work, source=o.source, target=o.target, name=o.name, tokenizer=o.tokenizer,
                       target_tokenizer=o.target_tokenizer)
        c = made.config
        say(f"{made.origin}: {c.source_language} to {c.target_language}, {c.encoder.layers} + {c.decoder.layers} "
            f"layers of width {c.d_model}, {c.vocab_size} target tokens; writing")
        made.write(o.out, o.dtype)
    size = sum(path.stat().st_size for path in o.out.iterdir())
    say(f"wrote {o.out}, {size / 1e6:.1f} MB: {', '.join(sorted(path.name for path in o.out.iterdir()))}")


if __name__ == "__main__":
    main()
