"""Tests reading a GPU's report."""

import pytest

from harness import gpu

REPORT = gpu.SAMPLE.read_text(encoding="utf-8")


def test_the_tables_of_decoding_are_found():
    rows = gpu.decoding(REPORT)
    assert [row["case"] for row in rows] == ["1 x 2048, beam 1", "64 x 2048, beam 1"]
    assert rows[0]["device"] == "cuda bf16 (a GPU)" and rows[1]["dense"] == 900.5
    assert "dense over its floor" not in rows[0]


def test_gains_are_over_the_dense_path():
    assert gpu.gains(gpu.decoding(REPORT)[0]) == [pytest.approx(1.2), pytest.approx(2.0)]


def test_a_report_without_measurements_has_none():
    assert gpu.decoding("# GPU report\n\nNo GPU: what needs one was left out.\n") == []
