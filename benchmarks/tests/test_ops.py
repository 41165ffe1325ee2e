"""The arithmetic of benchmarks/ops, and the page that the commands write."""

import json

import pytest

from harness import ops, page
from harness.roofline import Measured, Roofs, least, read


def measured(name, seconds, **more):
    return Measured(name, seconds, **{"bytes": 0, "operations": 0, "footprint": 0, "arithmetic": "f32", **more})


def roofs():
    return Roofs([measured("roof/peak/f32", 2.0, operations=8e9),
                  measured("roof/read/1", 1.0, bytes=100e9, footprint=1e3),
                  measured("roof/read/2", 1.0, bytes=25e9, footprint=1e5)])


def test_bandwidth_lies_between_the_measured_sizes():
    assert roofs().bandwidth(1) == pytest.approx(100e9)
    assert roofs().bandwidth(1e4) == pytest.approx(50e9)
    assert roofs().bandwidth(1e9) == pytest.approx(25e9)


def test_the_higher_of_both_times_is_the_limit():
    by_memory = roofs().limit(measured("x", 4.0, bytes=50e9, operations=1e9, footprint=1e5))
    assert (by_memory.seconds, by_memory.by, by_memory.share) == (pytest.approx(2.0), "memory", pytest.approx(0.5))
    by_arithmetic = roofs().limit(measured("x", 4.0, bytes=1e9, operations=4e9, footprint=1e5))
    assert (by_arithmetic.seconds, by_arithmetic.by) == (pytest.approx(1.0), "f32")
    assert roofs().limit(measured("x", 1.0, arithmetic="bf16")) is None


def test_the_fastest_round_counts():
    found = least([[measured("a", 3.0), measured("b", 1.0)], [measured("a", 2.0), measured("b", 5.0)]])
    assert [(m.name, m.seconds) for m in found] == [("a", 2.0), ("b", 1.0)]


def test_google_benchmarks_file_is_read_in_seconds(tmp_path):
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"benchmarks": [{"name": "layer norm/rows:1/real_time", "real_time": 120.0,
                                                "time_unit": "ns", "bytes": 8.0, "operations": 4.0, "footprint": 8.0,
                                                "label": "f32"},
                                               {"name": "oneDNN/bf16/4x4/rows:1/real_time", "error_occurred": True,
                                                "error_message": "not here", "real_time": 0.0, "time_unit": "ns"}]}))
    assert read(path) == [Measured("layer norm/rows:1", pytest.approx(1.2e-7), 8.0, 4.0, 8.0, "f32")]


def test_tables_have_the_operations_and_not_the_limits():
    one = [measured("roof/peak/f32", 1.0, operations=1e9), measured("roof/read/1", 1.0, bytes=1e9, footprint=1e3),
           measured("linear/int8/4x4/rows:1", 2e-6, bytes=100, operations=10),
           measured("oneDNN/int8/4x4/rows:1", 1e-6, bytes=100, operations=10)]
    lines = ops.operation_table(one, Roofs(one)).splitlines()
    assert len(lines) == 3 and lines[2].startswith("| linear/int8/4x4/rows:1 | 2 us |")
    assert ops.onednn_table(one).splitlines()[2].endswith("| 2.00 |")
    assert ops.onednn_table(one[:3]) == ""


def test_the_crossover_is_a_ratio_of_both_ways():
    both = [measured(f"crossover/{way}/length:{length}/percent:{percent}", seconds)
            for length in (256, 512) for percent in (2, 20)
            for way, seconds in (("rows", percent * 1e-6), ("tiles", 8e-6))]
    assert ops.crossover_table(both).splitlines() == [
        "| tokens | 2 % | 20 % |", "|---:|---:|---:|", "| 256 | 0.25 | 2.50 |", "| 512 | 0.25 | 2.50 |"]
    assert ops.crossover_table([]) == ""
    assert len(ops.operation_table(both, roofs()).splitlines()) == 2


def test_a_section_of_the_page_is_replaced_and_no_other(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("# A\n<!-- ops: written by benchmarks/ops -->\nold\n<!-- end of ops -->\nrest \\1\n")
    page.put("ops", "new \\2\n", path)
    page.put("ops", "newer", path)
    text = path.read_text()
    assert "newer" in text and "old" not in text and "new \\2" not in text and text.endswith("rest \\1\n")
    with pytest.raises(ValueError, match="0 times"):
        page.put("peers", "x", path)


def test_every_command_has_its_section():
    text = page.PAGE.read_text(encoding="utf-8")
    for name in ("peers", "scale", "ops", "formats"):
        assert text.count(f"<!-- {name}: written by benchmarks/{name} -->") == 1
        assert text.count(f"<!-- end of {name} -->") == 1
