"""A converted model, which is the result of every reader, and its export to a model folder."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ..config import CHUNKS, PLAIN_NAME, ModelConfig, is_number
from ..export import stored_tensors
from ..model import Transformer
from ..model_folder import CONFIG, SHORTLIST, new_files
from ..shortlist import Shortlist
from ..tensor_file import write_folder
from ..vocabulary import SOURCE_VOCABULARY, TARGET_TOKENIZER, TOKENIZER, VOCABULARY
from . import Unsupported
from .reading import pieces_of

SHARD_BYTES = 1 << 30
CHUNK_TOKENS = 512  # the greatest number of source tokens in a sentence
MOST_PENALTY, MOST_EPSILON = 5, 0.1  # the greatest length penalty and epsilon of norms (engine/model/config.cc)
LANGUAGE = re.compile(r"[A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8})*")
NEVER = -1e9  # the output bias of a token that only starts decoding


@dataclass
class Converted:
    """tensors: by their names in the Transformer's state_dict. tokenizer: the source's. target_tokenizer: None if it is
    the same, or if only the target's pieces are known. vocabulary: the target's pieces by token, also the source's if
    source_vocabulary is None. Without a vocabulary, tokens are the tokenizer's own ids."""

    config: ModelConfig
    tensors: dict[str, Tensor]
    tokenizer: Path
    target_tokenizer: Path | None = None
    vocabulary: list[str] | None = None
    source_vocabulary: list[str] | None = None
    shortlist: Shortlist | None = None
    origin: str = ""  # what it was converted from, for the model card
    licence: str = ""
    dtype: str = "f32"  # the smallest type without loss

    def model(self) -> Transformer:
        """The model in fp32. Raises Unsupported, which names the tensors that do not fit."""
        model = Transformer(self.config)
        wanted = {name: tuple(t.shape) for name, t in model.state_dict().items()}
        missing = [name for name in wanted if name not in self.tensors]
        wrong = [f"{name} has shape {list(self.tensors[name].shape)}, not {list(shape)}"
                 for name, shape in wanted.items() if name in self.tensors and self.tensors[name].shape != shape]
        if missing or wrong:
            raise Unsupported("the model's parts do not fit each other: "
                              + "; ".join(wrong + [f"{name} is missing" for name in missing])[:1000])
        model.load_state_dict({name: self.tensors[name] for name in wanted})
        return model.eval()

    def refuse_other_numbers(self) -> None:
        """The engine has one number of the end token, and one of the unknown token, for both sides."""
        for token, what in ((self.config.tokens.eos, "end"), (self.config.tokens.unk, "unknown")):
            of_source = (self.source_vocabulary or self.vocabulary or [])[token:token + 1]
            if of_source != (self.vocabulary or [])[token:token + 1]:
                raise Unsupported(f"the {what} token has another number in the source's vocabulary than in the "
                                  "target's")

    def refuse_what_the_engine_refuses(self) -> None:
        """Raises ValueError for values by which no folder could be served, and which the tensors' shapes do not show
        (engine/model/config.cc)."""
        c = self.config
        if c.d_model % c.heads or c.d_model // c.heads % 2:
            raise Unsupported(f"{c.heads} heads of a model of width {c.d_model}; each needs an even number of it")
        self.refuse_tokens()
        if not 0 <= c.search.length_penalty <= MOST_PENALTY:
            raise Unsupported(f"the length penalty {c.search.length_penalty}; supported are 0 to {MOST_PENALTY}")
        epsilon = c.layer_norm_epsilon
        if not isinstance(epsilon, float) or not 0 < epsilon <= MOST_EPSILON:
            raise Unsupported(f"layer_norm_epsilon {epsilon!r}; supported is more than 0, {MOST_EPSILON} at most")
        if not is_number(c.chunk_tokens, *CHUNKS):
            raise Unsupported(f"{c.chunk_tokens} positions; {CHUNKS[0]} are needed")
        for side, tag in (("from", c.source_language), ("to", c.target_language)):
            if not LANGUAGE.fullmatch(tag) or not 2 <= len(tag) <= 35:
                raise ValueError(f"the language {tag!r} is no BCP 47 tag, such as en or pt-BR; name another with "
                                 f"--{side}")
        c.check()
        for name, tensor in self.tensors.items():
            if not bool(torch.isfinite(tensor).all()):
                raise ValueError(f"{name} has a value that is not finite: the weights are damaged; get the model again")
        for path in filter(None, (self.tokenizer, self.target_tokenizer)):
            pieces_of(path)

    def refuse_tokens(self) -> None:
        c, t = self.config, self.config.tokens
        numbers = {"pad": t.pad, "unk": t.unk, "bos": t.bos, "eos": t.eos}
        for name, number in numbers.items():
            if not 0 <= number < c.vocab_size:
                raise Unsupported(f"the {name} token is {number}; the embedding has {c.vocab_size} rows")
        if t.unk in (t.pad, t.bos, t.eos) or t.eos == t.pad:
            raise Unsupported(f"special tokens with one number: {numbers}; only bos may be pad or eos")
        if t.eos in c.search.suppressed:
            raise Unsupported(f"the end token is {t.eos}, which the vocabulary has no piece for, or a language")

    def write(self, out: Path, dtype: str | None = None) -> None:
        """Writes the model folder `out`, which may be there. Nothing of another model stays in it."""
        if not PLAIN_NAME.fullmatch(self.config.name):
            raise ValueError(f"the model's name {self.config.name!r} must be 1 to 64 letters, digits, '-', '_', '.' or "
                             "'+', and not begin with '.'; set another with --name")
        self.refuse_other_numbers()
        self.refuse_what_the_engine_refuses()
        model = self.model()
        with new_files(out) as made:
            (made / CONFIG).write_text(self.config.to_json() + "\n")
            write_folder(made, stored_tensors(model, dtype or self.dtype), SHARD_BYTES)
            for name, given in {TOKENIZER: self.tokenizer, TARGET_TOKENIZER: self.target_tokenizer}.items():
                if given is not None:
                    shutil.copyfile(given, made / name)
            for name, pieces in {VOCABULARY: self.vocabulary, SOURCE_VOCABULARY: self.source_vocabulary}.items():
                if pieces is not None:
                    (made / name).write_text(json.dumps(pieces, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
            if self.shortlist is not None:
                self.shortlist.save(made / SHORTLIST)
            (made / "README.md").write_text(self.card(sum(p.numel() for p in model.parameters())))

    def card(self, parameters: int) -> str:
        c = self.config
        return (f"# {c.name}\n\nTranslates {c.source_language} to {c.target_language}: {c.encoder.layers} + "
                f"{c.decoder.layers} layers of width {c.d_model}, {parameters / 1e6:.1f} M parameters. Sentence by "
                f"sentence, dense attention, full depth.\n\nConverted by `salient-convert` from {self.origin}.\n\n"
                f"Licence: {self.licence or 'as the original model says; it was not found in its folder'}.\n")


def with_start(pieces: list[str], *tables: Tensor) -> tuple[list[str], list[Tensor]]:
    """For a decoder that starts from an embedding of zeros: appends a start token to the vocabulary, and a row of zeros
    to the tables."""
    name = next(n for n in ("<s>", "<start>", "<salient-start>") if n not in set(pieces))
    return [*pieces, name], [torch.cat((t, torch.zeros(1, *t.shape[1:]))) for t in tables]
