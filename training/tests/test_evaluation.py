"""Sets, tuning, fronts and tables: worked examples, without sacrebleu and matplotlib."""

import json

import pytest

from salient.evaluation import depth, pareto, sets, tables
from salient.evaluation.depth import Measured
from salient.evaluation.engine import read_translation
from salient.evaluation.pareto import Candidate
from salient.evaluation.score import Difference, difference, reference_columns
from salient.evaluation.settings import Setting, depth_settings, pareto_settings, selection_settings
from salient.evaluation.sets import Document, DocumentSet

# Sets.


@pytest.mark.parametrize("text, lines", [("eins\nzwei\n", ["eins", "zwei"]), ("eins\n\n", ["eins", ""]),
                                         ("\n\n", ["", ""])])
def test_an_empty_segment_is_a_segment(tmp_path, text, lines):
    path, document = tmp_path / "x.txt", Document("x", ["one", "two"], [["", ""]])
    path.write_text(text)
    assert read_translation(path, document) == lines
    path.write_text("eins\n")
    with pytest.raises(ValueError, match="1 lines for 2 segments"):
        read_translation(path, document)


def test_documents_are_neighbouring_lines_of_one_key(tmp_path):
    path = tmp_path / "news-test.en-de.tsv"
    path.write_text("mdn|x\tone\teins\nmdn|x\ttwo\tzwei\nnews-001\tthree\tdrei\nmdn|x\tfour\tvier\n")
    found = sets.read_set(path)
    assert [d.source for d in found.documents] == ["mdn", "news-test", "mdn"]
    assert found.documents[0].lines == ["one", "two"] and found.documents[0].references == [["eins", "zwei"]]
    assert found.segments == 4 and found.reference_count == 1


def test_further_columns_are_further_references(tmp_path):
    path = tmp_path / "wmt.tsv"
    path.write_text("d\tone\teins\tein\nd\ttwo\tzwei\tzwo\n")
    found = sets.read_set(path)
    assert found.documents[0].references == [["eins", "zwei"], ["ein", "zwo"]]
    assert found.first_reference().documents[0].references == [["eins", "zwei"]]
    assert reference_columns(found.documents, joined=False) == [["eins", "zwei"], ["ein", "zwo"]]
    assert reference_columns(found.documents, joined=True) == [["eins zwei"], ["ein zwo"]]


def test_unrelated_sentences_are_documents_of_their_own(tmp_path):
    path = tmp_path / "eurlex-dev.en-de.tsv"
    path.write_text("dev-eurlex\tone\teins\ndev-eurlex\t\t\ndev-eurlex\ttwo\tzwei\n")
    assert [d.lines for d in sets.read_set(path).documents] == [["one"], ["two"]]


def test_line_breaks_within_text_end_no_line(tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_bytes("d\tone\x85more\teins\rmehr\n".encode())
    assert sets.read_set(path).documents[0].references == [["eins\rmehr"]]


def test_rows_of_too_few_or_changing_columns_are_refused(tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_text("d\tone\n")
    with pytest.raises(ValueError, match="dev.tsv:1: 2 columns"):
        sets.read_set(path)
    path.write_text("d\tone\teins\nd\ttwo\tzwei\tzwo\n")
    with pytest.raises(ValueError, match="dev.tsv:2: 2 references"):
        sets.read_set(path)


def documents(*sources: str) -> list[Document]:
    return [Document(s, [f"{s}{n}"], [["x"]]) for n, s in enumerate(sources)]


def test_a_sample_takes_from_every_part():
    whole = DocumentSet("dev", documents(*"abababab"))
    assert [d.source for d in sets.sample(whole, 4).documents] == ["a", "a", "b", "b"]
    assert sets.sample(whole, 0) is whole and sets.sample(whole, 8) is whole
    assert [d.source for d in sets.sample(whole, 0, 3).documents] == ["a", "a", "b"]  # at most three, evenly
    assert len(sets.sample(whole, 2, 4).documents) == 2 and sets.sample(whole, 0, 8) is whole


def test_halves_share_every_source():
    first, second = sets.halves(documents(*"aabbab"))
    assert first == [0, 3, 4] and second == [1, 2, 5]


# Depth.


def measured(name: str, mean_exit: float, bleu: float, reported: float = 0.0) -> Measured:
    return Measured(Setting("dense", name), (mean_exit, bleu), (mean_exit, reported))


def test_the_earliest_exit_within_the_loss_is_chosen():
    full = measured("full", 4, 30.0)
    found = [measured("geometric:0.3", 1.5, 29.0), measured("geometric:0.5", 2.0, 29.6),
             measured("geometric:0.7", 3.0, 29.9)]
    assert depth.tuned(found, full, 0.5).setting.exit == "geometric:0.5"
    assert depth.tuned(found, full, 0.2).setting.exit == "geometric:0.7"
    assert depth.tuned(found[:2], full, 0.2) is None


def test_a_front_drops_what_is_beaten():
    found = [measured("a", 3, 29.0), measured("b", 1, 28.0), measured("c", 2, 27.0), measured("d", 4, 30.0)]
    assert [m.setting.exit for m in depth.front(found)] == ["b", "a", "d"]


SEGMENTS = [[["x", 2, 0.95], ["y", 1, 0.05]], [["x", 2, 0.55], ["y", 2, 1.0]]]


def test_exits_by_position_are_shares_of_a_tenth():
    assert depth.exits_by_position(SEGMENTS, layers=2, parts=2) == [[0.0, 1.0], [0.5, 0.5]]


def test_exits_by_probability_add_to_one():
    joint = depth.exits_by_probability(SEGMENTS, layers=2, parts=10)
    assert joint[0] == [0.25, 0.0] and joint[5] == [0.0, 0.25] and joint[9] == [0.0, 0.5]
    assert sum(map(sum, joint)) == pytest.approx(1)


def test_the_example_uses_many_exits():
    plain, varied = [["x", 1, 0.5]] * 4, [["x", n, 0.5] for n in (1, 2, 3, 4)]
    assert depth.example([plain, varied], least=2, most=6) is varied
    assert depth.example([plain], least=20, most=30) is plain


# Operating points.

DENSE = Candidate(Setting(), 30.0, 1.0, 1.0, 4.0)
CANDIDATES = [DENSE, Candidate(Setting("learned"), 29.8, 0.5, 0.1, 4.0),
              Candidate(Setting("window:20"), 29.9, 0.6, 0.1, 4.0),
              Candidate(Setting("learned", "geometric:0.5"), 29.1, 0.2, 0.08, 2.0),
              Candidate(Setting("learned", "fixed:1"), 27.0, 0.1, 0.08, 1.0),
              Candidate(Setting(beam=4), 31.0, 3.0, 1.0, 4.0),
              Candidate(Setting("learned", beam=2), 29.5, 0.7, 0.1, 4.0)]


def test_the_front_gets_better_with_cost():
    front = pareto.front(CANDIDATES)
    assert [c.seconds for c in front] == [0.1, 0.2, 0.5, 0.6, 1.0, 3.0]
    assert all(a.bleu < b.bleu for a, b in zip(front, front[1:]))


def test_names_follow_the_rule():
    named = pareto.named(CANDIDATES)
    assert named["best"].setting == Setting(beam=4)
    assert named["balanced"].setting == Setting("learned")
    assert named["fast"].setting == Setting("learned", "geometric:0.5")
    points = json.loads(pareto.operating_points(CANDIDATES))["points"]
    assert [p["name"] for p in points] == ["best", "balanced", "fast"]
    assert points[2] == {"name": "fast", "selection": {"policy": "learned"},
                         "depth": {"policy": "geometric", "thresholds": [0.5]}, "bleu": 29.1,
                         "attention_cost_ratio": 0.08, "mean_exit": 2.0, "seconds_per_1000_tokens": 0.2}


def test_grids_ask_for_what_the_model_has():
    assert [s.selection for s in selection_settings(False)] == ["dense", "window:20"]
    sweeps = depth_settings("dense", 3, ["multinomial"], fine=False)
    assert list(sweeps) == ["fixed", "confidence", "multinomial"]
    assert [s.flags for s in sweeps["multinomial"]] == ["--selection dense --exit multinomial",
                                                        "--selection dense --exit multinomial --min-exit 2"]
    plain = pareto_settings(False, 4, [], fine=True)
    assert Setting() in plain and len(set(plain)) == len(plain)
    assert not [s for s in plain if s.exit.startswith("geometric") or s.selection == "learned"]
    assert Setting("ratio:0.1,0.02,0.05").controls()["selection"] == {
        "policy": "ratio", "encoder_value": 0.1, "decoder_value": 0.02, "cross_value": 0.05}


def test_equal_scores_differ_by_chance():
    assert difference(30.0, 30.5, 0.01) == Difference(0.5, 0.01)
    assert difference(30.0, 30.0, 0.001) == Difference(0.0, 1.0)


# Tables.


def test_tables_are_aligned():
    assert tables.table([["name", "x"], ["a", "1.25"]]).splitlines() == ["| name |    x |", "|------|-----:|",
                                                                          "| a    | 1.25 |"]
    assert tables.percent(0.1234) == "12.3 %" and tables.signed(0.25, 2) == "+0.25"
    assert [tables.probability(p) for p in (None, 0.0001, 0.25)] == ["", "< 0.001", "0.250"]
