"""The sections of the report that need only the engine: test sets, selection, depth, operating points."""

from __future__ import annotations

from . import cost, depth, figures, pareto, sets
from .depth import Measured
from .engine import Result
from .run import Run, Section
from .score import Scorer
from .settings import Setting, depth_settings, pareto_settings, selection_settings
from .sets import DocumentSet, halves
from .tables import percent, probability, signed, table

LONG_TOKENS = 1500
NO_EXITS = "The model has no early exits: every token runs all layers."


def quality(scorer: Scorer, result: Result) -> list[str]:
    found = scorer.scores(result)
    return [f"{found.bleu:.1f}", f"{found.chrf:.1f}", f"{found.document_bleu:.1f}"]


def compared(run: Run, name: str, test_set: DocumentSet, results: list[Result]) -> list[str]:
    scorer = Scorer(test_set.documents)
    scores = [quality(scorer, r) for r in results]
    run.signatures = scorer.signatures() if test_set.reference_count == 1 else run.signatures
    return [name, str(len(test_set.documents)), str(test_set.segments), *sum(scores, []),
            percent(cost.attention_cost(results[-1])), f"{cost.mean_exit(results[-1]):.2f}"]


HEAD = ["documents", "segments", "dense: BLEU", "chrF", "doc. BLEU", "sparse, early: BLEU", "chrF", "doc. BLEU",
        "attention", "mean exit"]


def by_source(run: Run) -> Section:
    whole = run.dev
    results = [run.engine.translate(whole, s) for s in (Setting(), run.usual)]
    rows = [["source", *HEAD], compared(run, "all", whole, results)]
    for source in sorted({d.source for d in whole.documents}):
        indices = [i for i, d in enumerate(whole.documents) if d.source == source]
        part = DocumentSet(source, [whole.documents[i] for i in indices])
        rows.append(compared(run, source, part, [r.part(indices) for r in results]))
    return Section("Held-out documents by source", f"Sparse and early: `{run.usual.flags}`.\n\n{table(rows)}")


def test_sets(run: Run) -> Section:
    rows = [["set", *HEAD]]
    for name in run.paths:
        if name in ("dev", "dev-long"):
            continue
        test_set = run.read(name, run.sizes.test_segments, run.sizes.test_documents)
        results = [run.engine.translate(test_set, s) for s in (Setting(), run.usual)]
        if test_set.reference_count > 1:
            rows.append(compared(run, f"{name}, {test_set.reference_count} references", test_set, results))
            test_set = test_set.first_reference()
            for result in results:
                for translated, document in zip(result.translated, test_set.documents):
                    translated.document = document
        rows.append(compared(run, name, test_set, results))
    return Section("Test sets", f"The model was not trained on text of any of these kinds.\n\n{table(rows)}")


def selection_rows(scorer: Scorer, settings: list[Setting], results: list[Result]) -> list[list[str]]:
    rows = [["selection", "k: encoder", "decoder", "cross", "keys: encoder", "decoder", "cross", "attention cost",
             "BLEU", "against dense", "p", "chrF"]]
    differences = [None, *scorer.differences(results[0], results[1:])]
    for setting, result, difference in zip(settings, results, differences):
        rows.append([setting.name, *[percent(cost.keys_ratio(result, m)) for m in cost.MODULES],
                     *[f"{cost.keys_read(result, m):.0f}" for m in cost.MODULES], percent(cost.attention_cost(result)),
                     f"{scorer.bleu(result):.1f}", signed(difference.bleu) if difference else "",
                     probability(difference.p) if difference else "", f"{scorer.chrf(result):.1f}"])
    return rows


def selection(run: Run) -> Section:
    settings = selection_settings(run.config.selection is not None)
    results = [run.engine.translate(run.dev, s) for s in settings]
    parts = [f"k is the share of the visible keys that are read, `keys` their mean number a query; attention cost is "
             f"counted multiply-adds, selection included, over dense attention's. p: paired bootstrap against dense."
             f"\n\nThe development set:\n\n{table(selection_rows(run.scorer, settings, results))}"]
    if "dev-long" in run.paths:
        whole = sets.long_documents(sets.read_set(run.paths["dev-long"]), run.sizes.long_documents)
        dense, *others = [cost.at_least(r, LONG_TOKENS) for r in (run.engine.translate(whole, s) for s in settings)]
        if dense.translated:
            rows = selection_rows(Scorer(dense.documents), settings, [dense, *others])
            parts.append(f"{len(dense.translated)} documents of {LONG_TOKENS:,} source tokens and more, in chunks of "
                         f"at most {run.config.chunk_tokens:,}:\n\n{table(rows)}")
    return Section("Selection", "\n\n".join(parts))


def key_formats(run: Run) -> Section:
    """Keys and values stored as int8 against the default, each with a server of its own."""
    rows = [["setting", "keys and values", "BLEU", "chrF", "against the default", "p", "equal segments"]]
    for setting in (Setting(), run.usual):
        with run.engine.with_flags("--kv-type int8") as other:
            usual, smaller = run.engine.translate(run.dev, setting), other.translate(run.dev, setting)
        [difference] = run.scorer.differences(usual, [smaller])
        pairs = [pair for a, b in zip(usual.translated, smaller.translated) for pair in zip(a.lines, b.lines)]
        equal = percent(sum(a == b for a, b in pairs) / len(pairs))
        for name, result, more in (("default", usual, ["", "", ""]),
                                   ("int8", smaller, [signed(difference.bleu), probability(difference.p), equal])):
            rows.append([setting.name, name, f"{run.scorer.bleu(result):.2f}", f"{run.scorer.chrf(result):.1f}", *more])
    return Section("Keys and values as int8", f"`salient-server --kv-type int8`, the development set.\n\n{table(rows)}")


def measured(run: Run, setting: Setting, scorers: list[Scorer], parts: tuple[list[int], list[int]]) -> Measured:
    result = run.engine.translate(run.dev, setting)
    points = []
    for scorer, indices in zip(scorers, parts):
        half = result.part(indices)
        points.append((cost.mean_exit(half), scorer.bleu(half)))
    return Measured(setting, *points)


def tuned_rows(sweeps: dict[str, list[Measured]], full: Measured, layers: int) -> list[list[str]]:
    rows = [["policy", "allowed loss", "setting", "tuning: mean exit", "BLEU", "reporting: mean exit", "of the layers",
             "BLEU", "against full"]]
    for name, found in sweeps.items():
        for allowed in depth.ALLOWED:
            best = depth.tuned(found, full, allowed)
            if best is None:
                rows.append([name, f"{allowed}", "none", *[""] * 6])
                continue
            rows.append([name, f"{allowed}", best.setting.name, f"{best.tuning[0]:.2f}", f"{best.tuning[1]:.1f}",
                         f"{best.report[0]:.2f}", percent(best.report[0] / layers, 0), f"{best.report[1]:.1f}",
                         signed(best.report[1] - full.report[1])])
    return rows


def layer_settings(run: Run) -> dict[str, list[Setting]]:
    """Settings with a threshold for every layer, for the policies that have thresholds."""
    from .. import thresholds

    weights, found = thresholds.WEIGHTS if run.sizes.fine else thresholds.WEIGHTS[1::2], {}
    for policy, signal in (("geometric", "halting"), ("confidence", "confidence")):
        if policy == "confidence" or policy in run.heads:
            tuned = thresholds.by_layer(run.forced_for_tuning, signal, weights)
            # All remaining tokens exit at the last layer, but the engine expects a threshold for it, too.
            found[f"{policy}, by layer"] = [
                Setting(run.sparse, f"{policy}:" + ",".join(f"{t:g}" for t in [*ts, 0])) for ts in tuned]
    return found


def depth_sweeps(run: Run) -> dict[str, list[Measured]]:
    parts = halves(run.dev.documents)
    scorers = [Scorer([run.dev.documents[i] for i in part]) for part in parts]
    sweeps = {**depth_settings(run.sparse, run.layers, run.heads, run.sizes.fine), **layer_settings(run)}
    return {name: [measured(run, s, scorers, parts) for s in settings] for name, settings in sweeps.items()}


def depth_section(run: Run) -> Section:
    from .. import teacher_forcing

    if not run.leaves_early:
        return Section("Depth", NO_EXITS)
    if len(run.dev.documents) < 2:
        return Section("Depth", "The development set has one document; settings are tuned on one half of the documents "
                       "and reported on the other.")
    sweeps = depth_sweeps(run)
    full = next(m for m in sweeps["fixed"] if m.setting.exit == "full")
    drawn = {name: depth.front(found) for name, found in sweeps.items()}
    path = figures.depth_curve(drawn, teacher_forcing.curves(run.forced), run.layers, run.figure("depth"))
    rows = table(tuned_rows(sweeps, full, run.layers), text_columns=3)
    return Section("Depth", f"With {run.sparse} selection. The development documents are split into two halves. On "
                   "the first half (tuning), each policy gets the parameter with the lowest mean exit that loses "
                   "at most the allowed BLEU. The second half (reporting) shows what that parameter costs. Policies "
                   "without a threshold are tuned by their least exit. Full depth: "
                   f"{full.tuning[1]:.1f} and {full.report[1]:.1f} BLEU.\n\n{rows}\n\n"
                   f"{run.link(path, 'BLEU against mean exit')}")


def exits(run: Run) -> Section:
    if not run.heads:
        return Section("Exits", "The model has no halting heads.")
    traced = run.engine.translate(run.read("dev", run.sizes.traced_segments), run.usual, trace=True)
    segments = depth.traced_segments(traced)
    paths = [figures.position(depth.exits_by_position(segments, run.layers), run.figure("exits-by-position")),
             figures.confidence(depth.exits_by_probability(segments, run.layers), run.figure("exits-by-probability")),
             figures.sentence(depth.example(segments), run.layers, run.figure("exits-of-a-segment"))]
    titles = ("Exits by position", "Exit against probability", "Exits of one segment")
    links = "\n\n".join(run.link(path, title) for path, title in zip(paths, titles))
    return Section("Exits", f"`{run.usual.flags}`, {len(segments)} segments, mean exit "
                   f"{cost.mean_exit(traced):.2f}.\n\n{links}")


def candidates(run: Run) -> list[pareto.Candidate]:
    alone = DocumentSet("dev, alone", run.dev.documents[:: max(1, len(run.dev.documents) // run.sizes.alone_documents)])
    settings = pareto_settings(run.config.selection is not None, run.layers, run.heads, run.sizes.fine)
    settings = [s for s in settings if run.takes(s)]
    # Takes are interleaved, so that a slow minute of the machine is shared by all settings.
    takes = [[run.engine.translate(alone, s, parallel=1, take=n) for s in settings] for n in range(run.sizes.takes)]
    found = []
    for setting, times in zip(settings, zip(*takes)):
        result = run.engine.translate(run.dev, setting)
        found.append(pareto.Candidate(setting, run.scorer.bleu(result), cost.seconds_per_1000(list(times)),
                                      cost.attention_cost(result), cost.mean_exit(result)))
    return found


def points(run: Run) -> Section:
    found = candidates(run)
    best, names = pareto.front(found), pareto.named(found)
    (run.out / "operating_points.json").write_text(pareto.operating_points(found), encoding="utf-8")
    path = figures.pareto(found, best, names, run.figure("operating-points"))
    rows = [["setting", "name", "BLEU", "seconds per 1,000 tokens", "attention cost", "mean exit"]]
    dense = next(c for c in found if c.setting == Setting())
    for c in best if dense in best else [*best, dense]:
        rows.append([c.setting.name, ", ".join(n for n, other in names.items() if other is c), f"{c.bleu:.1f}",
                     f"{c.seconds:.3f}", percent(c.attention_cost), f"{c.mean_exit:.2f}"])
    return Section("Operating points", f"The Pareto front of {len(found)} settings, and dense greedy decoding. "
                   f"{pareto.RULE}.\n\n"
                   f"{table(rows, text_columns=2)}\n\n{run.link(path, 'Quality against cost')}")
