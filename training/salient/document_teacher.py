"""Word-level distillation (arXiv 1606.07947, section 3.1) from a frozen model of documents with the student's own
vocabularies: all exits learn what the teacher's last exit predicts, dense, after the same chunk and reference.

If the teacher is the model that training starts with, full depth stays what it was, and the early exits come nearer to
it. B chunks, S source positions, T target positions, d the teacher's width, V the target vocabulary.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from .config import ModelConfig, Tokens
from .export import load_model
from .loss import Teacher
from .sentence_teacher import SentenceTeacher, last_exit
from .vocabulary import other_tokenizer


class DocumentTeacher:
    """The folder of a model whose tokenisers are those in `data`."""

    def __init__(self, folder: Path, device: torch.device | str = "cpu"):
        model, _ = load_model(folder)
        self.model = model.to(device).requires_grad_(False)

    def encodes_as(self, student: Transformer) -> bool:
        """Whether the student has the teacher's encoder, and does not change it."""
        own, others = ({name: p for name, p in model.named_parameters()
                        if name.startswith(("encoder", "embedding", "source_embedding")) and ".selection." not in name}
                       for model in (self.model, student))
        return own.keys() == others.keys() and all(not p.requires_grad and torch.equal(p, own[name])
                                                   for name, p in others.items())

    @torch.no_grad()
    def __call__(self, source: Tensor, target: Tensor, share: float, memory: Tensor | None = None) -> Teacher:
        """The targets of all positions: source [B, S], target [B, T + 1]; rows are B x T. `share` is that of the
        teacher's distribution in the target. memory [B, S, d]: the encoder's dense output, if it is known."""
        rows = last_exit(self.model, source, target[:, :-1], memory).flatten(0, 1)
        shares = torch.full((len(rows),), share, device=rows.device)
        return Teacher(rows, self.model.classifier(-1), self.model.output_bias, shares)


def load_teacher(folder: Path, data: Path, tokens: Tokens,
                 device: torch.device | str) -> DocumentTeacher | SentenceTeacher:
    """The model in `folder`, for a student with these tokens whose tokenisers are in `data`. Raises ValueError if it
    is a model of documents that divides text in another way."""
    if ModelConfig.load(folder).tokens.separator is None:
        return SentenceTeacher(folder, data, tokens, device)
    other = other_tokenizer(folder, data)
    if other is not None:
        raise ValueError(f"--teacher: {folder / other} is not {data / other}; a teacher of documents must have the "
                         "student's vocabularies")
    return DocumentTeacher(folder, device)
