"""The harness's own logic, without any engine.   PYTHONPATH=benchmarks python3 -m pytest benchmarks/tests"""

import random
import struct

import pytest

from harness import cases, measure, report, scale
from harness.models import FIRST_WORD, piece, shapes, tokenizer_bytes
from harness.variants import CTRANSLATE2, SALIENT, Engine, Variant, batchings


def timing(family, name, seconds, exact=True):
    variant = Variant(name, family, Engine(family, [], {}), exact=exact)
    return measure.Timing(variant, seconds, [2 * s for s in seconds])


def row():
    return report.Row("one", "one document", [64], [
        timing(CTRANSLATE2, "slow", [9.0, 9.0, 9.0]), timing(CTRANSLATE2, "fast", [5.0, 4.0, 100.0]),
        timing(CTRANSLATE2, "map", [2.0, 2.0, 2.0], exact=False), timing(SALIENT, "dense", [2.5, 2.5, 2.5])])


def test_ratios_are_against_the_best_median():
    assert row().rival(True).variant.name == "fast"
    assert row().ratio("dense") == pytest.approx(2.0)
    assert row().ratio("dense", exact=False) == pytest.approx(0.8)
    assert row().ratio("selection") is None


def test_a_table_has_a_line_a_case():
    lines = report.table([row(), row()]).splitlines()
    assert len(lines) == 4 and len({line.count("|") for line in lines}) == 1
    assert "2.00x" in lines[2]


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


def test_the_tokeniser_has_a_piece_for_every_token():
    config = shapes()["small"]
    data = tokenizer_bytes(config)
    assert data.count(struct.pack("<f", -1.0)) == config.vocab_size
    assert piece(config.tokens.eos, config).encode() in data and piece(7999, config).encode() in data


def test_one_document_is_one_batch_and_arrivals_have_two_ways():
    assert batchings([512], False) == {"": {}}
    assert set(batchings([512] * 16, False)) == {"one batch", "batches of 1024 tokens", "batches of 4096 tokens"}
    assert {run["arrivals"] for run in batchings([64, 64], True).values()} == {"each", "gather"}


def test_time_a_token_is_a_slope_around_the_position():
    timeline = [[n, 0.001 * n if n <= 1000 else 1 + 0.003 * (n - 1000)] for n in range(32, 2200, 32)]
    assert scale.milliseconds_at(timeline, 100) == pytest.approx(1)
    assert scale.milliseconds_at(timeline, 2000) == pytest.approx(3)
    assert scale.milliseconds_at(timeline, 9000) is None
