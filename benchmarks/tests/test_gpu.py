"""Reading a GPU's report."""

import pytest

from harness import gpu

REPORT = """# GPU report

| step | result | time |
|---|---|---|
| measurements cuda | passed | 9 s |

# cuda bf16 (a GPU)

## Decoding

| case | dense | selection of 5 % | and geometric exits | dense over its floor |
|---|---|---|---|---|
| 1 x 2048, beam 1 | 120 us, 8333 tokens/s | 100 us, 10000 tokens/s | 60 us, 16667 tokens/s | 3.1x |
| 64 x 2048, beam 1 | 900.5 us, 71072 tokens/s | 225 us, 284444 tokens/s | 180 us, 355556 tokens/s | 1.5x |

## Encoding beside decoding

| | alone | together |
|---|---|---|
| encoding | 1 ms | 2 ms |
"""


def test_the_tables_of_decoding_are_found():
    rows = gpu.decoding(REPORT)
    assert [row["case"] for row in rows] == ["1 x 2048, beam 1", "64 x 2048, beam 1"]
    assert rows[0]["device"] == "cuda bf16 (a GPU)" and rows[1]["dense"] == 900.5
    assert "dense over its floor" not in rows[0]


def test_gains_are_over_the_dense_path():
    assert gpu.gains(gpu.decoding(REPORT)[0]) == [pytest.approx(1.2), pytest.approx(2.0)]


def test_a_report_without_measurements_has_none():
    assert gpu.decoding("# GPU report\n\nNo GPU: what needs one was left out.\n") == []
