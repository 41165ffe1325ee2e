"""The harness's own logic, without any engine.   PYTHONPATH=benchmarks python3 -m pytest benchmarks/tests"""

import json
import random
import struct
import sys

import pytest

from harness import cases, environment, formats, measure, peers, report, scale, variants
from harness.models import FIRST_WORD, LIKELY, likely_words, make, piece, shapes, tokenizer_bytes
from harness.variants import CTRANSLATE2, SALIENT, Engine, Variant, batchings, scaled


def timing(family, name, seconds, exact=True):
    variant = Variant(name, family, Engine(family, [], {}), exact=exact)
    return measure.Timing(variant, seconds, [2 * s for s in seconds])


def row():
    return report.Row("one", "one document", [64], [
        timing(CTRANSLATE2, "slow", [9.0, 9.0, 9.0]), timing(CTRANSLATE2, "fast", [5.0, 4.0, 100.0]),
        timing(CTRANSLATE2, "map", [2.0, 2.0, 2.0], exact=False), timing(SALIENT, "dense", [2.5, 2.5, 2.5])],
        goals=(1.5, 2.5))


def test_ratios_are_against_the_best_median():
    assert row().rival(True).variant.name == "fast"
    assert row().ratio("dense") == pytest.approx(2.0)
    assert row().ratio("dense", exact=False) == pytest.approx(0.8)
    assert row().ratio("selection and exits") is None


def test_rows_survive_being_stored():
    again = report.Row.from_json(json.loads(json.dumps(row().to_json())))
    assert again.to_json() == json.loads(json.dumps(row().to_json())) and again.ratio("dense") == row().ratio("dense")


class Instant(Variant):
    """Replies at once that it took `run["seconds"]`."""

    asked = 0

    def ask(self, documents):
        self.asked += 1
        return {"seconds": self.run["seconds"], "cpu_seconds": 0.0, "documents": [{"seconds": self.run["seconds"]}]}


def test_only_contenders_go_on_after_the_first_round(monkeypatch):
    monkeypatch.setattr(measure, "SETTLE", 0)
    made = [Instant(name, family, None, {"seconds": seconds}, exact, rounds)
            for name, family, seconds, exact, rounds in (
                ("best", CTRANSLATE2, 1.0, True, 9), ("close", CTRANSLATE2, 1.05, True, 9),
                ("hopeless", CTRANSLATE2, 1.2, True, 9), ("map", CTRANSLATE2, 3.0, False, 2),
                ("ours", SALIENT, 7.0, True, 9))]
    measure.interleave(made, [], cases.Case("x", "", [1]), 5, 1e9)
    assert [variant.asked for variant in made] == [5, 5, 1, 2, 5]
    assert measure.interleave([], [], cases.Case("x", "", [1]), 5, 1e9) == []


def test_short_runs_foretell_long_ones():
    least, most = peers.SCREEN_OUTPUTS
    assert peers.estimate(2.0, 3.0, least) == pytest.approx(2.0)
    assert peers.estimate(2.0, 3.0, most + (most - least)) == pytest.approx(4.0)
    assert peers.estimate(3.0, 2.0, 1000) == pytest.approx(3.0)


def test_those_kept_batch_in_different_ways():
    ordered = [Variant(name, CTRANSLATE2, None, {"max_batch_size": size})
               for name, size in (("a", 0), ("b", 0), ("c", 64), ("d", 0))]
    assert [v.name for v in peers.spread_over(ordered, 2)] == ["a", "c"]
    assert [v.name for v in peers.spread_over(ordered, 3)] == ["a", "c", "b"]


def test_batches_grow_with_the_documents():
    variant = Variant("int8, batches of 1024 tokens", CTRANSLATE2, None,
                      {"max_batch_size": 1024, "batch_type": "tokens"})
    grown = scaled(variant, 4)
    assert grown.name == "int8, batches of 4096 tokens" and grown.run["max_batch_size"] == 4096
    assert variant.run["max_batch_size"] == 1024
    assert scaled(Variant("one batch", CTRANSLATE2, None, {"max_batch_size": 0}), 4).name == "one batch"


def test_every_case_is_screened_by_a_smaller_one():
    for case in [*cases.full_cases(), *cases.quick_cases()]:
        small = cases.screening(case)
        assert sum(small.lengths) <= max(sum(case.lengths), 2048)
        assert (len(small.lengths) == 1) == (len(case.lengths) == 1)
    assert sum(case.budget for case in cases.full_cases()) <= 720


def test_arriving_documents_count_by_their_latency():
    noted = timing(SALIENT, "dense", [])
    noted.note({"seconds": 10.0, "cpu_seconds": 1.0, "documents": [{"seconds": 1.0}, {"seconds": 3.0}]}, True)
    assert noted.seconds == [2.0]


def test_documents_are_the_same_in_every_form_and_every_time():
    config = shapes()["small"]
    case = cases.Case("x", "", [40, 7], cap=30)
    first, again = cases.documents(case, config), cases.documents(case, config)
    assert first == again
    assert [d["length"] for d in first] == [30, cases.SHORTEST]
    for document, length in zip(first, case.lengths):
        assert len(document["ids"]) == length and document["ids"][-1] == config.tokens.eos
        assert document["tokens"] == [piece(token, config) for token in document["ids"]]
        assert document["text"].split() == [word[1:] for word in document["tokens"][:-1]]


def test_words_follow_zipf_and_are_never_special():
    rng = random.Random(1)
    words = [cases.zipf(rng, 32000) for _ in range(2000)]
    assert min(words) >= FIRST_WORD and max(words) < 32000
    assert len(set(words)) < 1500


def test_likely_words_are_the_same_every_time_and_never_special():
    config = shapes()["small"]
    tokens, common = likely_words(config)
    assert tokens.shape == (config.vocab_size, LIKELY) and common.shape == (LIKELY,)
    assert min(tokens.min(), common.min()) >= FIRST_WORD and max(tokens.max(), common.max()) < config.vocab_size
    assert (tokens == likely_words(config)[0]).all()


def test_the_tokeniser_has_a_piece_for_every_token():
    config = shapes()["small"]
    data = tokenizer_bytes(config)
    assert data.count(struct.pack("<f", -1.0)) == config.vocab_size
    assert piece(config.tokens.eos, config).encode() in data and piece(7999, config).encode() in data


def test_only_settings_are_tried_that_the_processor_supports(monkeypatch, tmp_path):
    """As on a processor where oneDNN has no int16, and MKL has."""
    monkeypatch.setattr(variants, "supported_types", lambda environment:
                        {"int8", "float32"} | ({"int16"} if environment["CT2_USE_MKL"] == "1" else set()))
    names = [engine.name for engine in variants.ctranslate2_engines(tmp_path, 2, few=False)]
    assert "int16 MKL" in names and "int8_float32 MKL" not in names and "int8 oneDNN, 2 workers" in names
    few = [engine.name for engine in variants.ctranslate2_engines(tmp_path, 1, few=True)]
    assert few == ["int8 oneDNN", "float32 MKL"]
    alone = [engine.name for engine in variants.ctranslate2_engines(tmp_path, 1, few=False)]
    assert not any("workers" in name for name in alone)


def test_models_can_be_made():
    """Tests even the calls into the training code, whose names may change."""
    config = shapes()["small"]
    config.encoder.layers = config.decoder.layers = 2
    config.selection.group = {"encoder": 2, "decoder": 2, "cross": 2}
    config.d_model, config.vocab_size, config.chunk_tokens = 128, 64, 600
    assert make(config).halting is not None


def test_one_document_is_one_batch_and_arrivals_have_two_ways():
    assert batchings([512], False) == {"": {}}
    assert set(batchings([512] * 16, False)) == {"one batch", "batches of 512 tokens", "batches of 1024 tokens",
                                                 "batches of 4096 tokens"}
    assert set(batchings([4096] + [64] * 7, False)) == {"one batch", "batches of 4096 tokens"}
    assert {run["arrivals"] for run in batchings([64, 64], True).values()} == {"each", "gather"}


def test_time_a_token_is_a_slope_around_the_position():
    timeline = [[n, 0.001 * n if n <= 1000 else 1 + 0.003 * (n - 1000)] for n in range(32, 2200, 32)]
    assert scale.milliseconds_at(timeline, 100) == pytest.approx(1)
    assert scale.milliseconds_at(timeline, 2000) == pytest.approx(3)
    assert scale.milliseconds_at(timeline, 9000) is None


def test_what_was_measured_before_a_stop_counts_only_under_the_same_conditions(tmp_path):
    about = {"machine": {"salient": "a"}, "threads": 2, "repeats": 3, "model": "base", "command": "benchmarks/scale",
             "driver": "a hash", "finished": False}
    path = tmp_path / "scale.json"
    assert scale.stored(path, about) is about
    path.write_text(json.dumps({**about, "lengths": []}))
    assert "lengths" in scale.stored(path, about)
    assert "lengths" not in scale.stored(path, {**about, "threads": 1})
    assert "lengths" not in scale.stored(path, {**about, "driver": "of other code"})
    path.write_text(json.dumps({**about, "lengths": [], "finished": True}))
    assert scale.stored(path, about) is about


def test_the_page_of_scale_tells_what_was_measured():
    one = {"seconds": 2.0, "encode_seconds": 0.5, "bytes": 1e8}
    machine = {"date": "today", "salient": "a", "cores": 2, "cpu": "x", "features": [], "load": 0.0}
    text = scale.markdown({
        "machine": machine, "command": "benchmarks/scale", "threads": 2, "repeats": 3, "model": "base",
        "lengths": [{"length": 8192, "dense": one, "selection and exits": one}],
        "concurrency": [{"documents": 4, "dense": one, "selection and exits": one}],
        "positions": {"dense": {"100": 1.0, "2000": 2.5}, "selection": {"100": 1.0, "2000": 1.1}},
        "sparsity": [{"ratio": 0.05, "full depth": one}], "depth": [{"exit": 1, "dense": one}]})
    assert "| 8,192 | 0.5 | 0.5 | 2 | 2 | 100 | 100 |" in text and "| 4 | 0.5 | 0.5 |" in text
    assert "| dense | 1.00 | 2.50 | 2.50 |  |" in text and "| selection | 1.00 | 1.10 | 1.10 | 1.2 |" in text


def test_a_sample_is_spread_over_the_documents():
    assert formats.evenly(list(range(10)), 5) == [0, 2, 4, 6, 8]
    assert formats.evenly([1, 2], 5) == [1, 2]
    assert formats.same_share(["a", "b"], ["a", "c"]) == 0.5


def test_formats_are_told_beside_fp32():
    machine = {"date": "today", "salient": "a", "cores": 2, "cpu": "x", "features": [], "load": 0.0}
    text = formats.markdown(
        {"machine": machine, "command": "benchmarks/formats", "documents": 3, "segments": 9, "model": "en-de"},
        [formats.Scored("fp32", "--x", 30.0, 0.0, 1.0, 1.0), formats.Scored("int8", "--x", 29.9, -0.1, 0.4, 0.9)],
        [["full depth", "2.00", "1.00x", "100.0%"]],
        [["8 of 2,048 tokens", "dense", "900", "1000", "1.11x", "40", "20"]])
    assert "| 8 of 2,048 tokens | dense | 900 | 1000 | 1.11x | 40 | 20 |" in text
    assert "| int8 | `--x` | 29.90 | -0.10 | -0.2 | 0.40 | 90.0% |" in text and "| fp32 | `--x` | 30.00 |  |" in text


def test_help_makes_no_environment(monkeypatch, tmp_path):
    def start(python, command, variables):
        raise SystemExit(f"{python} {' '.join(command[1:])}")

    monkeypatch.setattr(environment, "has_torch", lambda python: True)
    monkeypatch.setattr("os.execve", start)
    monkeypatch.setattr("sys.argv", ["peers", "--help"])
    with pytest.raises(SystemExit, match=f"{sys.executable} -m harness.peers --help"):
        environment.enter("harness.peers", tmp_path / "venv")
    assert not any(tmp_path.iterdir())
