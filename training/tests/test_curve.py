import json

import pytest

from salient import curve
from salient.train import load
from salient.trainer import Trainer

from test_train import copy_corpus, new_model, options


def log(path, phase, *lines):
    path.write_text("".join(json.dumps({"phase": phase, "target_tokens": tokens, **found}) + "\n"
                            for tokens, found in lines))
    return path


def test_each_phase_goes_on_where_the_one_before_ended(tmp_path):
    logs = [log(tmp_path / "base.jsonl", "base", (100, {"loss": 9.0}), (200, {"dev_nll_by_exit": [4.0, 3.0]}),
                (300, {"dev_nll_by_exit": [3.5, 2.5]})),
            log(tmp_path / "supervision.jsonl", "supervision", (900, {"dev_nll_by_exit": [3.5, 2.5]})),
            log(tmp_path / "depth.jsonl", "depth", (50, {"dev_nll_by_exit": [3.0, None]}))]
    found = curve.courses(logs)
    assert [(c.name, c.start, c.tokens) for c in found] == [("base", 0, [200, 300]), ("depth", 300, [350])]
    assert found[1].nll == [[3.0, None]]


def test_a_line_for_each_exit_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    found = [curve.Course("base", 0, [1_000_000, 2_000_000], [[4.0, None], [3.5, 2.5]]),
             curve.Course("depth", 2_000_000, [3_000_000], [[3.0, 2.0]])]
    curve.draw(found, tmp_path / "curve.svg")
    drawn = (tmp_path / "curve.svg").read_text()
    assert "exit 1" in drawn and "exit 2" in drawn and "depth" in drawn and "million target tokens" in drawn


def test_a_training_writes_what_is_drawn_and_goes_on_counting(tmp_path, capsys):
    corpus, out, tokens = copy_corpus(), tmp_path / "base.pt", []
    for steps in ("2", "4"):
        trainer = Trainer(new_model(), options("base", "--steps", steps, "--batch-tokens", "256", "--cooldown", "1"))
        if out.exists():
            trainer.resume(load(out))
        trainer.run(corpus, corpus, out)
        (tmp_path / "base.jsonl").write_text(capsys.readouterr().out)
        [found] = curve.courses([tmp_path / "base.jsonl"])
        assert len(found.nll[-1]) == 2
        tokens.append(found.tokens[-1])
    assert 0 < tokens[0] < tokens[1]


@pytest.mark.parametrize("line, message", [("7", "no line of a log of salient.train"),
                                           ('{"loss": 1}', "no line of a log of salient.train"),
                                           ('{"phase": "base", "dev_nll_by_exit": [1.0]}', "no target_tokens")])
def test_lines_of_other_logs_are_refused(tmp_path, line, message):
    (tmp_path / "x.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match=f"x.jsonl:1: .*{message}"):
        curve.course(tmp_path / "x.jsonl", 0)
