"""BLEU, chrF and document BLEU, by sacrebleu; paired bootstrap tests.

BLEU and chrF are over segments, cased, 13a tokens, against one reference or several. This is how arXiv 2309.01826
scores WMT22 (`case:mixed|tok:13a`); arXiv 1910.10073 prints BLEU of tokenised text, which depends on the tokeniser.
Document BLEU is what arXiv 2309.14174 prints: case-insensitive sacreBLEU on whole documents, a document's segments
joined to one line, so that n-grams cross the bounds of segments and their order counts.

sacrebleu is imported when a score is first made; a Scorer tokenises its references once.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .engine import Result

if TYPE_CHECKING:
    from .sets import Document

SAMPLES = 1000  # of the bootstrap


@dataclass
class Scores:
    bleu: float
    chrf: float
    document_bleu: float


@dataclass
class Difference:
    """The difference of a system from a baseline: BLEU points, and the probability of such a difference by chance."""

    bleu: float
    p: float


def check_sacrebleu() -> None:
    """Raises ValueError if sacrebleu is not installed, before minutes of translations are made in vain."""
    try:
        import sacrebleu  # noqa: F401
    except ImportError:
        raise ValueError("scores need the Python package sacrebleu, which is missing: pip install sacrebleu") from None


def segments(result: Result) -> list[str]:
    return [line for t in result.translated for line in t.lines]


def whole_documents(result: Result) -> list[str]:
    return [" ".join(t.lines) for t in result.translated]


def reference_columns(documents: list[Document], joined: bool) -> list[list[str]]:
    """One list per reference: its segments, or its documents as one line each."""
    counts = {len(d.references) for d in documents}
    if len(counts) != 1:
        raise ValueError(f"documents have {sorted(counts)} references; all of a set need the same number")
    columns = []
    for n in range(counts.pop()):
        lines = [d.references[n] for d in documents]
        columns.append([" ".join(part) for part in lines] if joined else [line for part in lines for line in part])
    return columns


def difference(baseline: float, score: float, p: float) -> Difference:
    """sacrebleu's p counts the samples that differ by more than the scores do. Equal scores may have none, so that p
    would be 0; here it is 1, because nothing speaks against chance."""
    return Difference(score - baseline, p if score != baseline else 1.0)


class Scorer:
    """Scores results over the same documents."""

    def __init__(self, documents: list[Document]):
        self.references = reference_columns(documents, joined=False)
        self.joined = reference_columns(documents, joined=True)

    @functools.cached_property
    def metrics(self) -> dict:
        from sacrebleu.metrics import BLEU, CHRF

        return {"BLEU": BLEU(references=self.references), "chrF": CHRF(references=self.references),
                "document BLEU": BLEU(lowercase=True, references=self.joined)}

    def bleu(self, result: Result) -> float:
        return self.metrics["BLEU"].corpus_score(segments(result), None).score

    def chrf(self, result: Result) -> float:
        return self.metrics["chrF"].corpus_score(segments(result), None).score

    def document_bleu(self, result: Result) -> float:
        return self.metrics["document BLEU"].corpus_score(whole_documents(result), None).score

    def scores(self, result: Result) -> Scores:
        return Scores(self.bleu(result), self.chrf(result), self.document_bleu(result))

    def interval(self, result: Result) -> float:
        """Half of the 95 % confidence interval of BLEU, by bootstrap resampling of segments."""
        from sacrebleu.metrics import BLEU

        return BLEU(references=self.references).corpus_score(segments(result), None, n_bootstrap=SAMPLES)._ci

    def differences(self, baseline: Result, others: list[Result]) -> list[Difference]:
        """Paired bootstrap over segments (Koehn 2004), each of `others` against the baseline."""
        from sacrebleu.metrics import BLEU
        from sacrebleu.significance import PairedTest

        systems = [("baseline", segments(baseline))]
        systems += [(f"system {n}", segments(other)) for n, other in enumerate(others)]
        test = PairedTest(systems, {"BLEU": BLEU(references=self.references)}, None, test_type="bs", n_samples=SAMPLES)
        _, found = test()
        first, *rest = found["BLEU"]
        return [difference(first.score, r.score, r.p_value) for r in rest]

    def signatures(self) -> list[str]:
        """Only after scoring, because a signature contains the number of references."""
        return [f"{name}: `{metric.get_signature()}`" for name, metric in self.metrics.items()]
