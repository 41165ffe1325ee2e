"""Small corpora for tests."""

import numpy as np

from salient.data import Corpus


def corpus_of(pairs: list[tuple[list[int], list[int]]], segments_a_document: int = 10) -> Corpus:
    """Pairs of source and target tokens, in documents of so many segments."""

    def flat(side):
        return (np.array([t for pair in pairs for t in pair[side]], np.uint16),
                np.cumsum([0] + [len(pair[side]) for pair in pairs]).astype(np.int64))

    (source, source_bounds), (target, target_bounds) = flat(0), flat(1)
    documents = np.array([*range(0, len(pairs), segments_a_document), len(pairs)], np.int64)
    return Corpus(source, target, source_bounds, target_bounds, documents, np.array(["x"]),
                  np.zeros(len(documents) - 1, np.uint8))
