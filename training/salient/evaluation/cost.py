"""The cost of translations, summed over the engine's reports (CostReport in the API)."""

from __future__ import annotations

from .engine import Result, Translated

MODULES = ("encoder", "decoder", "cross")


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def attention_cost(result: Result) -> float:
    """Counted multiply-adds divided by those of dense attention (eq. 9, 10 of arXiv 2309.14174); mean over
    documents."""
    return mean([t.report["attention_cost_ratio"] for t in result.translated])


def keys_ratio(result: Result, module: str) -> float:
    """k: keys read divided by keys visible; mean over documents."""
    return mean([t.report["keys_selected_ratio"][module] for t in result.translated])


def keys_read(result: Result, module: str) -> float:
    """Number of keys that a query reads, mean over documents: k times the keys that a query sees on average."""

    def visible(t: Translated) -> float:
        length = t.report["target_tokens" if module == "decoder" else "source_tokens"] / max(1, t.report["chunks"])
        return (length + 1) / 2 if module == "decoder" else length

    return mean([t.report["keys_selected_ratio"][module] * visible(t) for t in result.translated])


def exit_counts(result: Result) -> list[int]:
    """The number of tokens that exit after layer 1, 2, ..."""
    histograms = [[int(count) for count in t.report["exit_histogram"]] for t in result.translated]
    return [sum(column) for column in zip(*histograms)]


def mean_exit(result: Result) -> float:
    """Mean over tokens, so that a document counts in proportion to its length. Layers count from 1."""
    counts = exit_counts(result)
    return sum(layer * count for layer, count in enumerate(counts, 1)) / max(1, sum(counts))


def closed_by_bound(result: Result) -> float:
    """The share of segments that ended at the bound on their length, as loops do."""
    segments = sum(len(t.lines) for t in result.translated)
    return sum(len(t.report["length_limited_segments"]) for t in result.translated) / max(1, segments)


def decoder_flops(result: Result) -> float:
    """FLOPs per target token (appendix B of arXiv 1910.10073), divided by those of dense attention at full depth."""
    full = sum(t.report["decoder_flops_full_depth"] for t in result.translated)
    return sum(t.report["decoder_flops"] for t in result.translated) / full if full else 1.0


def target_tokens(result: Result) -> int:
    return sum(int(t.report["target_tokens"]) for t in result.translated)


def source_tokens(result: Result) -> int:
    return sum(int(t.report["source_tokens"]) for t in result.translated)


def tokens_per_second(result: Result) -> float:
    return target_tokens(result) / max(1e-9, result.seconds)


def seconds_per_1000(results: list[Result]) -> float:
    """Seconds per 1,000 source tokens, one document at a time: the least of several takes, which other work on the
    machine delays the least."""
    return min(1000 * sum(t.report["total_seconds"] for t in r.translated) / source_tokens(r) for r in results)


def at_least(result: Result, tokens: int) -> Result:
    """The documents with at least so many source tokens."""
    return result.part([i for i, t in enumerate(result.translated) if t.report["source_tokens"] >= tokens])
