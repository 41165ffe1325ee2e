"""Which characters a model has learned in bytes: those that have no piece, but of which its training text has many.

The engine keeps other characters without a piece from the model (engine/text/copier.h).
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from .data import Corpus
from .pieces import BYTES, SPECIAL

LEAST = 1000  # occurrences in the source; those that en-de had met 400 to 600 times were better copied


def byte_characters(corpus: Corpus, least: int = LEAST) -> str:
    """The characters that the source spells in bytes at least that often, the most frequent first."""
    byte = corpus.source.astype(np.int64) - len(SPECIAL)
    spelled = byte[(byte >= 0) & (byte < len(BYTES))].astype(np.uint8).tobytes().decode(errors="ignore")
    return "".join(c for c, n in Counter(spelled).most_common() if n >= least)
