"""The sections that need the PyTorch model."""

from __future__ import annotations

import torch

from . import figures, segments, similarity
from .run import Run, Section
from .tables import percent, table


def check_numpy() -> None:
    """Raises ValueError if PyTorch was made for another NumPy, before minutes of translations are made in vain."""
    try:
        torch.zeros(1).numpy()
    except RuntimeError as error:
        import numpy

        raise ValueError(f"PyTorch {torch.__version__} cannot use NumPy {numpy.__version__} ({error}): install both "
                         "from one place, such as PyPI") from error


def oracles(run: Run) -> Section:
    from ..teacher_forcing import curves

    rows = [["rule", "mean exit", "nats a token", "tokens right"]]
    for name, points in curves(run.forced).items():
        distinct = {(p.mean_exit, p.nll): p for p in points}  # correctness has only a few different exits
        rows += [[name, f"{p.mean_exit:.2f}", f"{p.nll:.3f}", percent(p.accuracy)]
                 for p in list(distinct.values())[::3 if name in ("confidence", "geometric") else 1]]
    return Section("Oracles", "References read by the PyTorch model, dense attention; rows follow the layer, the "
                   f"oracle's penalty a layer, or the threshold. The figure under Depth has all.\n\n{table(rows)}")


def likeness(run: Run) -> Section:
    model, found = run.pytorch, run.chunks(run.sizes.inside_segments)
    names, blocks = similarity.module_names(model), similarity.representations(model, found)
    pictures = []
    for short, title, drawn, matrix in (("cka", "Linear CKA", "Linear CKA", similarity.cka_matrix),
                                        ("lns", "Local neighbourhood similarity", "LNS", similarity.lns_matrix)):
        path = figures.similarity(drawn, *[(n, matrix(b)) for n, b in zip(names, blocks)], run.figure(short))
        pictures.append(run.link(path, title))
    return Section("Similarity of the layers", "Linear CKA, and the overlap of the nearest 5 % of segments (LNS), of "
                   "the states after every block; a row a segment (the mean of its tokens), "
                   f"{sum(c.segments for c in found)} segments. CKA (centred kernel alignment) says how alike the "
                   "similarities between rows are in two blocks: it is 1 if the states differ only by a rotation, a "
                   "scale and a shift. LNS (local neighbourhood similarity) looks only at the rows nearest to each "
                   "row: it is the number of neighbours that both blocks share over the number that either has, mean "
                   "over rows.\n\n" + "\n\n".join(pictures))


def segment_counts(run: Run) -> Section:
    separator, eos = run.config.tokens.separator, run.config.tokens.eos
    if separator is None:
        return Section("Segment counts", "The model has no separator: each segment is a chunk of its own.")
    whole = [c for c in run.chunks(run.sizes.free_segments) if c.segments > 1]
    sources = [c.source[0].tolist() for c in whole]
    free = segments.decode_freely(run.pytorch, sources)
    long = [i for i, source in enumerate(sources) if not segments.within(free[i], source, separator, eos)]
    bounded = dict(zip(long, segments.decode_freely(run.pytorch, [sources[i] for i in long], bounded=True)))
    rows, equal = [["source", "source tokens", "segments", "made", "with the bound"]], [0, 0]
    for index, chunk in enumerate(whole):
        made = [segments.closed_segments(o, separator, eos) for o in (free[index], bounded.get(index, free[index]))]
        equal = [count + (m == chunk.segments) for count, m in zip(equal, made)]
        if made != [chunk.segments] * 2:
            rows.append([chunk.origin, str(chunk.source.shape[1]), str(chunk.segments),
                         *[str(m) if m else "no end" for m in made]])
    shares = [f"{count} of {len(whole)} ({percent(count / max(1, len(whole)))})" for count in equal]
    others = f" The chunks that fail without constraints:\n\n{table(rows)}" if len(rows) > 1 else ""
    return Section("Segment counts", "Greedy decoding by the PyTorch model, dense attention, without constraints: "
                   f"{shares[0]} chunks of several segments have as many segments as their source. With the engine's "
                   f"bound on lengths (a segment is closed at {segments.MAX_RATIO:g} times its source's tokens plus "
                   f"{segments.SLACK}), {shares[1]} have. With the engine's constraint on separators, all have."
                   f"{others}")
