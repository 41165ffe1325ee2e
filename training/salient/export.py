"""Converts a checkpoint to a model folder, which the engine reads.

    python -m salient.export --checkpoint halting.pt --tokenizer data/tokenizer.model --calibrate data --out en-de

The folder gets config.json, model.safetensors (tensor names are the module's state_dict names, weights [out, in]),
README.md, the tokenizer, and what lies beside it: target_tokenizer.model, vocabulary.json, source_vocabulary.json. The
files of a model that was in the folder before are removed; other files stay. Untrained parts are left out: selection
layers before phase `selection`, halting heads before phase `halting`. `--calibrate` fits further parameters to text
(calibrate.py).
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys
from pathlib import Path

import torch
from torch import Tensor

from .calibrate import CHUNKS, EXIT_COST, calibrate
from .checkpoint import load_tensors, read_checkpoint
from .command import Help, not_negative, refusals, whole
from .config import ModelConfig
from .model import Transformer
from .model_folder import CONFIG, copy_existing, new_files
from .tensor_file import quantise_rows, read_folder, write_folder
from .vocabulary import SOURCE_VOCABULARY, TARGET_TOKENIZER, TOKENIZER, VOCABULARY, Vocabulary

DTYPES = ("f32", "bf16", "int8")


def load_checkpoint(path: Path) -> Transformer:
    """The model of a checkpoint, without the parts that no phase has trained yet."""
    stored = read_checkpoint(path)
    config = ModelConfig.from_json(stored["config"])
    tensors: dict[str, Tensor] = stored["model"]
    if config.selection is not None and not config.selection.learned_ratio:
        print("selection was never trained: exported without it", file=sys.stderr)
        config.selection = None
        tensors = {name: t for name, t in tensors.items() if ".selection." not in name}
    if config.exits is not None:
        trained = [head for head in config.exits.heads if tensors[f"halting.{head}.bias"].any()]
        untrained = set(config.exits.heads) - set(trained)
        if untrained:
            print(f"halting heads never trained: exported without {', '.join(sorted(untrained))}", file=sys.stderr)
        config.exits = dataclasses.replace(config.exits, heads=trained)
        tensors = {n: t for n, t in tensors.items() if not any(n.startswith(f"halting.{h}.") for h in untrained)}
    model = Transformer(config)
    load_tensors(model, tensors, path)
    return model.eval()


def load_model(folder: str | Path) -> tuple[Transformer, ModelConfig]:
    """An exported folder as a module, with exactly the numbers that the engine uses in fp32."""
    config = ModelConfig.load(folder)
    model = Transformer(config)
    load_tensors(model, read_folder(Path(folder)), folder)
    return model.eval(), config


def stored_tensors(model: Transformer, dtype: str) -> dict[str, Tensor]:
    """Matrices in the file's type. Vectors, halting heads and selection layers are small and sensitive, so they are
    fp32."""
    tensors: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        tensor = tensor.float()
        if dtype == "f32" or tensor.dim() != 2 or name.startswith("halting.") or ".selection." in name:
            tensors[name] = tensor
        elif dtype == "bf16":
            tensors[name] = tensor.to(torch.bfloat16)
        else:
            tensors[name], tensors[name + ".scale"] = quantise_rows(tensor)
    return tensors


def card(config: ModelConfig, parameters: int) -> str:
    """The README of a model whose author has not written one."""
    sparse = "with selection layers" if config.selection else "dense attention"
    heads = ", ".join(config.exits.heads) if config.exits and config.exits.heads else "none"
    return (f"# {config.name}\n\nTranslates {config.source_language} to {config.target_language}: "
            f"{config.encoder.layers} + {config.decoder.layers} layers of width {config.d_model}, {sparse}, "
            f"{parameters / 1e6:.1f} M parameters.\n\nHalting heads: {heads}. "
            f"Chunks of at most {config.chunk_tokens} source tokens.\n")


def export(model: Transformer, tokenizer: Path, out: Path, *, dtype: str = "f32", readme: Path | None = None,
           shard_bytes: int = 90 << 20) -> None:
    """Writes the model folder `out`, which may be there. All that tells how text becomes tokens comes from the folder
    of `tokenizer`: target_tokenizer.model, vocabulary.json and source_vocabulary.json, if they are there. Nothing comes
    from `out`, and no file of an earlier model stays in it."""
    with new_files(out) as made:
        (made / CONFIG).write_text(model.config.to_json() + "\n")
        write_folder(made, stored_tensors(model, dtype), shard_bytes)
        shutil.copyfile(tokenizer, made / TOKENIZER)
        copy_existing(tokenizer.parent, made, TARGET_TOKENIZER, VOCABULARY, SOURCE_VOCABULARY)
        parameters = sum(p.numel() for p in model.parameters())
        (made / "README.md").write_text(readme.read_text() if readme else card(model.config, parameters))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    parser.add_argument("--checkpoint", type=Path, required=True, help="a file that `salient.train` wrote")
    parser.add_argument("--tokenizer", type=Path, required=True,
                        help="tokenizer.model; the target's, and vocabularies, are taken from its folder")
    parser.add_argument("--out", type=Path, required=True, help="model folder to write")
    parser.add_argument("--dtype", choices=DTYPES, default="f32", help="type of the stored matrices")
    parser.add_argument("--readme", type=Path, help="the model card; a short one is written when left out")
    parser.add_argument("--name", help="the model's name; that of the checkpoint when left out")
    parser.add_argument("--chunk-tokens", type=int,
                        help="the most source tokens in one pass; those of the checkpoint when left out")
    parser.add_argument("--calibrate", type=Path,
                        help="folder that `salient.prepare` wrote, to whose text parameters are fitted; none are when "
                             "left out")
    parser.add_argument("--calibrate-chunks", type=whole(1), default=CHUNKS,
                        help="chunks of its training text that are read")
    parser.add_argument("--exit-cost", type=not_negative, default=EXIT_COST,
                        help="probability of the last exit's token that a layer less may cost where the geometric "
                             "heads' threshold is 0.5")
    parser.add_argument("--shard-mb", type=whole(1), default=90, help="the most megabytes a file")
    o = parser.parse_args()
    with refusals("export"):
        run(o)


def run(o: argparse.Namespace) -> None:
    model = load_checkpoint(o.checkpoint)
    model.config = dataclasses.replace(model.config, name=o.name or model.config.name,
                                       chunk_tokens=o.chunk_tokens or model.config.chunk_tokens)
    model.config.check_settable()
    if o.calibrate:
        vocabulary = Vocabulary(o.tokenizer.parent, model.config, o.tokenizer.name)
        calibrate(model, o.calibrate, vocabulary, o.calibrate_chunks, o.exit_cost)
    else:
        print("no --calibrate: steps of selection keys, biases of halting heads, thresholds of the confidence and the "
              "layer that aligns stay as they are", file=sys.stderr)
    export(model, o.tokenizer, o.out, dtype=o.dtype, readme=o.readme, shard_bytes=o.shard_mb << 20)
    print(f"wrote {o.out}: {', '.join(sorted(p.name for p in o.out.iterdir()))}", file=sys.stderr)


if __name__ == "__main__":
    main()
