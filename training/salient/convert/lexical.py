"""Reads Bergamot's lexical shortlists (`lex.s2t.bin`) into ours.

A file, little-endian uint64: magic number, checksum, how many of the vocabulary's first tokens every list has, how many
a source token has at most, n + 1 for n source tokens, and m; then n + 1 offsets (uint64) into the m target tokens
(uint32) that follow: source token s has those from offset s to offset s + 1.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..data import PAD
from ..shortlist import Shortlist
from .marian import Cursor

MOST_LISTED = 4096  # target tokens for a source token: the table has as many for each
MAGIC = 0xF11A48D5013417F5


def read_shortlist(path: Path, source_tokens: int, target_tokens: int, *, shared: bool) -> Shortlist:
    """shared: source and target share one vocabulary, so a source token may be copied."""
    file = Cursor(path.read_bytes())
    try:
        magic, _, first, _, offsets_count, count = file.unpack("<6Q", "the header")
        if magic != MAGIC:
            raise ValueError("it is not a binary one, as marian-conv makes of a text; without the file the model is "
                             "converted without a shortlist")
        if offsets_count != source_tokens + 1:
            raise ValueError(f"it is made for {int(offsets_count) - 1} source tokens, the model has {source_tokens}")
        offsets = np.frombuffer(file.take(8 * offsets_count, "the offsets"), "<u8").astype(np.int64)
        listed = np.frombuffer(file.take(4 * count, "the lists"), "<u4")
        if offsets[0] != 0 or offsets[-1] != count or (np.diff(offsets) < 0).any():
            raise ValueError("its offsets do not ascend from 0 to its length")
        if source_tokens and np.diff(offsets).max() > MOST_LISTED:
            raise ValueError(f"it lists more than {MOST_LISTED} tokens for one source token")
        if count and listed.max() >= target_tokens:
            raise ValueError(f"it lists token {listed.max()}, the model has {target_tokens}")
    except ValueError as reason:
        raise ValueError(f"{path}: not a readable shortlist: {reason}") from None
    lengths = np.diff(offsets)
    table = np.full((source_tokens, int(lengths.max(initial=0)) + shared), PAD, np.uint32)
    row = np.repeat(np.arange(source_tokens), lengths)
    table[row, np.arange(count) - offsets[row] + shared] = listed
    if shared:
        table[:, 0] = np.arange(source_tokens)
    return Shortlist(table, np.arange(min(int(first), target_tokens), dtype=np.uint32))
