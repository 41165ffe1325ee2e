"""What is kept of each processor, and the page that shows all of them."""

from dataclasses import replace

import pytest

from harness import measure, peers, processors, report
from harness.processors import Outcome, Processor
from harness.variants import CTRANSLATE2, SALIENT, Engine, Variant


def timing(family, name, seconds, exact=True):
    return measure.Timing(Variant(name, family, Engine(family, [], {}), exact=exact), seconds, seconds)


def row(name="one", theirs=4.0, ours=2.0):
    return report.Row(name, "one document", [64], [
        timing(CTRANSLATE2, "fast", [theirs, theirs, 100.0]),
        timing(CTRANSLATE2, "map", [2.0, 2.0, 2.0], exact=False), timing(SALIENT, "dense", [ours, ours, ours])],
        goals=(1.5, 2.5))


def processor(name, *cases):
    about = {"shape": "base", "threads": 2, "layers": 6, "ctranslate2": "4.8.5", "clock": "seconds"}
    return Processor(name, about, [replace(c, conditions=c.conditions or f"Measured on {name}.") for c in cases])


def test_an_outcome_is_what_the_rows_ratios_say():
    case = row().outcome()
    assert case.setting == "fast" and case.runs == 3 and case.goals == [1.5, 2.5] and case.mean_exit is None
    assert case.seconds == {CTRANSLATE2: 4.0, processors.MAP: 2.0, "dense": 2.0} and case.ratios == {"dense": 2.0}


def test_a_table_has_a_line_a_case():
    lines = processors.table([row().outcome(), row().outcome()]).splitlines()
    assert len(lines) == 4 and len({line.count("|") for line in lines}) == 1
    assert "2.00x | 1.5x" in lines[2]


def test_a_map_is_held_against_a_shortlist_only():
    both = row()
    assert processors.map_table([both.outcome()]) == ""
    both.timings += [timing(SALIENT, "dense, shortlist", [0.5], exact=False),
                     timing(SALIENT, "selection and exits, shortlist", [0.25], exact=False)]
    table = processors.map_table([both.outcome()])
    assert "4.00x" in table and "8.00x" in table


def test_together_is_held_against_the_parts():
    cases = [row(name, theirs, ours).outcome() for name, theirs, ours in (
        ("mixed", 9.0, 2.2), ("mixed-long-part", 2.0, 1.5), ("mixed-short-part", 1.0, 0.5))]
    lines = processors.sum_of_parts(cases).splitlines()
    assert "1.10" in lines[2] and "3.00" in lines[3]
    assert processors.sum_of_parts(cases[:2]) == ""


def test_processors_survive_being_stored(tmp_path):
    first, second = processor("B, AMX", row().outcome(), row("three").outcome()), processor("A", row("two").outcome())
    assert first.save(tmp_path).name == "b-amx.json"
    second.save(tmp_path)
    assert processors.stored(tmp_path) == [first, second]
    assert first.case("one") == first.cases[0] and first.case("two") is None


def test_cases_that_were_measured_in_another_way_are_not_kept_beside_the_others(tmp_path):
    stored = processor("A", row().outcome())
    peers.check_comparable(stored, tmp_path)
    stored.save(tmp_path)
    peers.check_comparable(stored, tmp_path)
    for change in ({"threads": 64}, {"clock": "cpu_seconds"}, {"ctranslate2": "1"}):
        with pytest.raises(SystemExit, match="A were measured with " + next(iter(change))):
            peers.check_comparable(replace(stored, about={**stored.about, **change}), tmp_path)


def test_the_page_has_a_section_a_processor():
    text = processors.markdown([processor("A", row().outcome()), processor("B", row(ours=1.0).outcome())])
    assert text.index("### A\n\nMeasured on A.") < text.index("2.00x") < text.index("### B") < text.index("4.00x")


def test_cases_that_were_measured_at_another_time_have_their_own_conditions():
    cases = [replace(row().outcome(), conditions=f"In {month}.", about=f"case {n}")
             for n, month in enumerate(("May", "June", "May"))]
    text = processors.section(processor("A", *cases))
    assert "In May. It measured: case 0; case 2.\n\nIn June. It measured: case 1." in text
    assert "In May.\n\n" in processors.section(processor("A", cases[0], cases[2]))


def test_the_picture_has_room_for_cases_that_one_processor_lacks(tmp_path):
    processors_ = [processor("A", row().outcome(), row("two").outcome()), processor("B", row().outcome())]
    try:
        processors.picture(processors_, tmp_path / "x.svg")
    except ImportError:
        return  # matplotlib is in the benchmarks' own environment only
    assert "<svg" in (tmp_path / "x.svg").read_text()


def test_a_processor_is_called_by_its_name_and_its_widest_instructions():
    assert processors.name_of({"cpu": "Intel(R) Xeon(R) Processor", "features": ["avx512f", "amx_int8"]}) == \
        "Intel Xeon, AMX"
    assert processors.name_of({"cpu": "AMD EPYC", "features": ["avx2", "avx512f", "avx512_vnni"]}) == \
        "AMD EPYC, AVX-512 with VNNI"
    assert Outcome("x", "", [1], 1, "", {}, {}).goals is None
