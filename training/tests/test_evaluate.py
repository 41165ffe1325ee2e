"""The command, with programs in the place of `salient` and its server that give back the references, or worse."""

import json
import stat
import sys
import time

import pytest

from salient import evaluate
from salient.evaluation import cost, engine, sections, sets
from salient.evaluation.engine import Engine, Result, Translated
from salient.evaluation.report import Report
from salient.evaluation.run import QUICK, Run, Section, Sizes, some_documents
from salient.evaluation.score import Difference
from salient.evaluation.settings import Setting
from salient.evaluation.sets import Document, DocumentSet

SERVER = """#!{python}
import json, pathlib, sys, time
arguments = sys.argv[1:]
ready = pathlib.Path(arguments[arguments.index("--ready-file") + 1])
ready.write_text(json.dumps({{"grpc": "host:1"}}))
while True:
    time.sleep(1)
"""
CLIENT = """#!{python}
import json, pathlib, sys
arguments = sys.argv[2:]
files = [a for a in arguments if a.endswith(".txt")]
out = pathlib.Path(arguments[arguments.index("--out") + 1])
out.mkdir(parents=True)
assert "--lines" in arguments and arguments[arguments.index("--server") + 1] == "host:1"
with open(pathlib.Path(__file__).parent / "calls", "a") as calls:
    calls.write("call\\n")
for file in map(pathlib.Path, files):
    lines = file.read_text().splitlines()
    if "--drop" in arguments:
        lines = lines[1:]
    if "--fail" in arguments:
        print(json.dumps({{"file": str(file), "error": {{"code": "UNAVAILABLE", "message": "gone"}}}}))
        continue
    (out / file.name).write_text("".join(line.upper() + "\\n" for line in lines))
    report = {{"file": str(file), "attention_cost_ratio": 0.5, "exit_histogram": [len(lines), 0, 1], "target_tokens": 4,
              "source_tokens": 1000 * len(lines), "chunks": 1, "total_seconds": 2.0,
              "length_limited_segments": [0] if len(lines) > 1 else [],
              "flags": arguments[arguments.index("--out") + 2:],
              "keys_selected_ratio": {{"encoder": 0.1, "decoder": 0.2, "cross": 0.3}}}}
    if "--trace" in arguments:
        report["trace"] = [{{"trace": [{{"piece": "a", "exit_layer": 2, "probability": 0.5, "selected": [1, 2]}}]}}]
    print(json.dumps(report))
"""
DOCUMENTS = DocumentSet("dev", [Document("a", ["one", "two", "three"], [["ONE", "TWO", "THREE"]]),
                            Document("b", ["four"], [["FOUR"]])])


@pytest.fixture
def programs(tmp_path):
    for name, text in (("salient", CLIENT), ("salient-server", SERVER)):
        path = tmp_path / name
        path.write_text(text.format(python=sys.executable))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return tmp_path


@pytest.fixture
def run_engine(programs, tiny_models):
    with Engine(programs, tiny_models / "base", programs / "work") as made:
        yield made


def calls(programs) -> int:
    return len((programs / "calls").read_text().splitlines())


def test_documents_go_through_the_programs(run_engine):
    result = run_engine.translate(DOCUMENTS, Setting())
    assert [t.lines for t in result.translated] == [["ONE", "TWO", "THREE"], ["FOUR"]]
    assert cost.attention_cost(result) == 0.5
    assert cost.mean_exit(result) == pytest.approx((3 * 1 + 3 + 1 * 1 + 3) / 6)
    assert cost.exit_counts(result) == [4, 0, 2]
    assert cost.closed_by_bound(result) == 1 / 4
    assert cost.keys_ratio(result, "cross") == pytest.approx(0.3)
    assert cost.keys_read(result, "encoder") == pytest.approx(0.1 * 2000)
    assert cost.keys_read(result, "decoder") == pytest.approx(0.2 * 2.5)
    assert cost.seconds_per_1000([result]) == pytest.approx(1.0)
    assert len(cost.at_least(result, 1500).translated) == 1


@pytest.mark.parametrize("setting, flags", [
    ("--exit full", ["--guard", "off", "--exit", "full"]),
    ("--guard retry", ["--guard", "retry"]),
    ("--guard=retry", ["--guard=retry"]),
])
def test_the_guard_is_off_unless_a_setting_names_one(run_engine, setting, flags):
    assert run_engine.translate(DOCUMENTS, setting).translated[0].report["flags"] == flags


def test_what_is_translated_is_kept(run_engine, programs):
    first = run_engine.translate(DOCUMENTS, Setting())
    again = run_engine.translate(DOCUMENTS, Setting())
    assert calls(programs) == 1
    assert again.seconds == first.seconds and [t.lines for t in again.translated] == [t.lines for t in first.translated]
    run_engine.translate(DOCUMENTS, Setting("window:20"))
    run_engine.translate(DocumentSet("dev", DOCUMENTS.documents[:1]), Setting())
    run_engine.translate(DOCUMENTS, Setting(), take=1)
    assert calls(programs) == 4


def test_the_card_and_the_points_do_not_change_a_models_hash(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    before = engine.model_hash(tmp_path)
    (tmp_path / "README.md").write_text("card")
    (tmp_path / "operating_points.json").write_text("{}")
    assert engine.model_hash(tmp_path) == before


@pytest.mark.parametrize("name", ["config.json", "tokenizer.model", "target_tokenizer.model", "vocabulary.json",
                                  "source_vocabulary.json", "shortlist.safetensors", "model.safetensors.index.json"])
def test_every_file_that_the_engine_reads_changes_a_models_hash(tmp_path, name):
    without = engine.model_hash(tmp_path)
    (tmp_path / name).write_text("{}")
    before = engine.model_hash(tmp_path)
    assert before != without
    (tmp_path / name).write_text("{ }")
    assert engine.model_hash(tmp_path) != before


def test_traces_keep_what_is_drawn(run_engine):
    result = run_engine.translate(DOCUMENTS, Setting(), trace=True)
    assert result.translated[0].report["trace"] == [[["a", 2, 0.5]]]


def test_lost_segments_are_noticed(run_engine):
    with pytest.raises(ValueError, match="2 lines for 3 segments"):
        run_engine.translate(DOCUMENTS, "--drop")


def test_failures_are_told(run_engine):
    with pytest.raises(ValueError, match="--fail, dev: gone"):
        run_engine.translate(DOCUMENTS, "--fail")


def test_programs_and_models_must_be_there(programs, tmp_path, tiny_models):
    with pytest.raises(ValueError, match="build salient"):
        Engine(tmp_path / "none", tiny_models / "base", tmp_path)
    with pytest.raises(ValueError, match="no config.json"):
        Engine(programs, tmp_path / "none", tmp_path)


class Agreement:
    """In the place of BLEU: the share of the segments that are the reference."""

    def __init__(self, documents):
        self.references = [line for d in documents for line in d.references[0]]

    def scores(self, result):
        lines = [line for t in result.translated for line in t.lines]
        share = 100 * sum(a == b for a, b in zip(lines, self.references)) / len(lines)
        return type("Scores", (), {"bleu": share, "chrf": share, "document_bleu": share})

    def differences(self, baseline, others):
        return [Difference(self.scores(other).bleu - self.scores(baseline).bleu, 0.25) for other in others]


@pytest.fixture
def table_of(programs, tiny_models, monkeypatch, capsys):
    """The cells below a table's head, under two settings and further flags."""
    data = programs / "dev.tsv"
    data.write_text("a|1\tone\tONE\na|1\ttwo\tTWO\nb|1\tfour\tFIVE\n")
    monkeypatch.setattr(evaluate, "Scorer", Agreement)
    arguments = ["--bin", str(programs), "--model", str(tiny_models / "base"), "--data", str(data), "--work",
                 str(programs / "kept"), "--setting", "dense=--selection dense", "--setting",
                 "sparse=--selection ratio:0.1"]

    def made(*flags):
        evaluate.evaluate(evaluate.parser().parse_args([*arguments, *flags]), "command")
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
        return [[c.strip() for c in line.strip("|").split("|")] for line in lines][2:]

    return made


def test_the_table_has_a_row_a_setting_and_source(table_of):
    cells = table_of("--by-source")
    assert [c[:9] for c in cells] == [["dense", "all", "2", "3", "66.7", "", "", "66.7", "66.7"],
                                      ["dense", "a", "1", "2", "100.0", "", "", "100.0", "100.0"],
                                      ["dense", "b", "1", "1", "0.0", "", "", "0.0", "0.0"],
                                      ["sparse", "all", "2", "3", "66.7", "+0.0", "0.250", "66.7", "66.7"],
                                      ["sparse", "a", "1", "2", "100.0", "", "", "100.0", "100.0"],
                                      ["sparse", "b", "1", "1", "0.0", "", "", "0.0", "0.0"]]
    assert [bool(c[-1]) for c in cells] == [True, False, False] * 2  # seconds are those of the whole


def test_sources_can_be_left_out_of_the_table(table_of):
    cells = table_of("--without", "b", "c")
    assert [[*c[:5], c[-1]] for c in cells] == [[name, "all", "1", "2", "100.0", ""] for name in ("dense", "sparse")]


def test_a_folder_of_data_needs_a_place_for_the_report(programs, tiny_models):
    arguments = ["--bin", str(programs), "--model", str(tiny_models / "base"), "--data", str(programs)]
    with pytest.raises(ValueError, match="--out is needed"):
        evaluate.evaluate(evaluate.parser().parse_args(arguments), "command")


def test_the_command_is_shown_without_the_machines_folders():
    assert evaluate.shown(["--bin", "build/bin", "--data", "/secret/place/data/"]) == (
        "training/evaluate --bin build/bin --data data")


def report(run_engine, sizes, command="first", text="k\ta\tb\n") -> Report:
    run_engine.work.mkdir(exist_ok=True)
    data = run_engine.work / "dev.tsv"
    data.write_text(text)
    return Report(Run(run_engine, run_engine.model, data, run_engine.work, sizes), command, ["sources", "points"])


@pytest.mark.parametrize("fine", [True, False])
@pytest.mark.parametrize("variant, exits, selections", [
    ("no-exits", {"full"}, {"dense", "window", "learned", "ratio", "mass"}), ("student", {"full"}, {"dense", "window"}),
    ("no-selection", {"full", "fixed", "confidence", "geometric"}, {"dense", "window"})])
def test_a_model_is_measured_by_what_it_can(programs, tiny_models, monkeypatch, variant, exits, selections, fine):
    """An engine refuses the rest, and so a report of a converted model ended in the middle."""
    asked = []

    def translate(self, test_set, setting, **_):
        asked.append(setting)
        return Result([Translated(d, d.lines, {"total_seconds": 1.0, "source_tokens": 9, "attention_cost_ratio": 1.0,
                                               "exit_histogram": ["1"]}) for d in test_set.documents], 1.0)

    monkeypatch.setattr(Engine, "translate", translate)
    monkeypatch.setattr("salient.evaluation.run.Scorer", lambda documents: type("S", (), {"bleu": lambda *_: 1.0})())
    (programs / "dev.tsv").write_text("k\ta\tb\n" * 3)
    with Engine(programs, tiny_models / variant, programs / "work") as engine_of:
        run = Run(engine_of, tiny_models / variant, programs / "dev.tsv", programs, QUICK if not fine else Sizes())
        found = sections.candidates(run)
        assert {s.exit.split(":")[0] for s in asked} <= exits
        assert {s.selection.split(":")[0] for s in asked} <= selections
        assert len({c.setting for c in found}) == len(found) > 2
        if exits == {"full"}:
            assert sections.depth_section(run).body == sections.NO_EXITS
            assert all(s.exit == "full" for s in evaluate.SETTINGS if run.takes(s))


def test_one_document_has_no_halves(run_engine, programs, tiny_models):
    (programs / "dev.tsv").write_text("k\ta\tb\n")
    run = Run(run_engine, tiny_models / "base", programs / "dev.tsv", programs, QUICK)
    assert "has one document" in sections.depth_section(run).body


def test_a_later_run_renews_its_sections_and_keeps_the_others(run_engine, monkeypatch):
    first = report(run_engine, QUICK)
    first.run.signatures = ["BLEU: `x`"]
    first.add("points", Section("Operating points", "slow"))
    first.add("sources", Section("Held-out documents", "scores"))
    monkeypatch.setattr(time, "strftime", lambda pattern: "2030-01-01 12:00")
    report(run_engine, QUICK, "second").add("points", Section("Operating points", "fast"))
    page = (run_engine.work / "quality.md").read_text()
    assert page.index("## Held-out documents\n\nscores") < page.index("## Operating points\n\nfast")
    assert "slow" not in page and "- BLEU: `x`" in page
    runs = [line for line in page.splitlines() if "salient-server" in line]
    assert "`first`: Held-out documents" in runs[0]
    assert runs[1].startswith("- 2030-01-01 12:00") and "`second`: Operating points" in runs[1]


def test_a_run_of_another_size_starts_a_page_of_its_own(run_engine):
    report(run_engine, QUICK).add("sources", Section("Held-out documents", "scores"))
    report(run_engine, some_documents(3)).add("points", Section("Operating points", "fast"))
    page = (run_engine.work / "quality.md").read_text()
    assert "scores" not in page and "at most 3 documents" in page


def test_a_run_on_other_data_starts_a_page_of_its_own(run_engine):
    report(run_engine, QUICK).add("sources", Section("Held-out documents", "scores"))
    report(run_engine, QUICK, text="k\tc\td\n").add("points", Section("Operating points", "fast"))
    assert "scores" not in (run_engine.work / "quality.md").read_text()


def test_what_is_written_by_hand_closes_its_section(run_engine):
    made = report(run_engine, QUICK)
    (run_engine.work / "notes").mkdir()
    (run_engine.work / "notes" / "sources.md").write_text("By hand.\n")
    made.add("sources", Section("Held-out documents", "scores"))
    made.add("points", Section("Operating points", "fast"))
    page = (run_engine.work / "quality.md").read_text()
    assert "scores\n\nBy hand.\n\n## Operating points\n\nfast\n" in page


def test_sets_are_found_by_name_and_languages(tmp_path):
    (tmp_path / "eval").mkdir()
    for name in ("dev.en-de.tsv", "dev-long.en-de.tsv", "eval/wmt21.en-de.tsv", "train.tsv", "eval/flores.en-de.tsv",
                 "eval/flores.en-pt.tsv", "eval/ours.tsv", "eval/prose.v2.tsv"):
        (tmp_path / name).write_text("k\ta\tb\n")
    found = sets.find_sets(tmp_path, "en-de")
    assert list(found) == ["dev-long", "dev", "flores", "ours", "prose", "wmt21"]
    assert found["flores"].name == "flores.en-de.tsv"
    for folder, pair in ((tmp_path / "eval", "en-de"), (tmp_path, "en-pt")):
        with pytest.raises(ValueError, match=rf"no dev.tsv or dev.{pair}.tsv"):
            sets.find_sets(folder, pair)
    drafted = Setting("dense", "verify:1,4").controls()["depth"]
    assert drafted == {"policy": "verify", "draft_exit": 1, "draft_tokens": 4}
    assert json.dumps(Setting("window:20", "fixed:2", beam=2).controls()) == json.dumps(
        {"selection": {"policy": "window", "value": 20.0}, "depth": {"policy": "fixed", "fixed_exit": 2},
         "search": {"beam": 2}})


def test_a_setting_without_a_name_is_refused(tmp_path):
    o = evaluate.parser().parse_args(["--bin", "x", "--model", "x", "--data", "x", "--setting", "--selection dense"[2:]])
    with pytest.raises(ValueError, match="--setting 'selection dense': NAME=FLAGS is needed"):
        evaluate.evaluate(o, "command")
