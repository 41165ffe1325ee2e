import contextlib
import json
import math
import subprocess
from dataclasses import asdict

import pytest
import torch

from salient.ablations import __main__ as command
from salient.ablations import exits, likeness, measured, scratch, selection
from salient.config import ModelConfig, Selection, Stack, FeedForward
from salient.data import Corpus
from salient.evaluation import sets, side_by_side
from salient.evaluation.engine import Result, Translated
from salient.evaluation.score import Difference, Scores
from salient.evaluation.tokens import Chunk
from salient.export import load_model
from salient.model import Transformer
from salient.train import main as train_main

from test_train import copy_corpus, new_model


def base_config():
    return ModelConfig(vocab_size=24, d_model=32, heads=2, encoder=Stack(3, FeedForward("own", 40)),
                       decoder=Stack(2, FeedForward("own", 40)),
                       selection=Selection(group={"encoder": 3, "decoder": 2, "cross": 2}))


def test_every_configuration_of_feed_forward_blocks_is_a_model_of_the_expected_size():
    def size(name):
        return sum(p.numel() for n, p in Transformer(found[name]).named_parameters() if "ffn" in n and "norm" not in n)

    found = scratch.ffn_configurations(base_config())
    block = 2 * 32 * 40 + 40 + 32
    expected = {"Transformer": 5, "SharedEnc": 3, "SharedDec": 4, "SharedEncSharedDec": 2, "SharedEncDec": 1,
                "NoEnc": 2, "NoDec": 3, "NoEncNoDec": 0, "SharedEncNoDec": 1}
    assert {name: size(name) for name in expected} == {name: n * block for name, n in expected.items()}
    assert size("One Wide FFN") == 2 * 32 * 200 + 200 + 32  # one block as wide as all five


def test_attention_cost_is_that_of_the_paper():
    config = ModelConfig(d_model=512, encoder=Stack(6), decoder=Stack(6), selection=Selection(64))
    keys = {"encoder": 0.05, "decoder": 0.05, "cross": 0.05}
    # eq. 10 over eq. 9: ds / (2 r d) + k, the same for every module here
    assert measured.attention_cost(config, keys, True) == pytest.approx(64 / (2 * 3 * 512) + 0.05)
    assert measured.attention_cost(config, keys, False) == pytest.approx(0.05)
    uneven = measured.attention_cost(config, {"encoder": 1.0, "decoder": 0.0, "cross": 0.0}, False)
    assert uneven == pytest.approx(6 / (6 + 3 + 6))


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    copy_corpus().save(folder / "train.npz")
    copy_corpus(20).save(folder / "dev.npz")
    (folder / "tokenizer.model").write_bytes(b"any")
    return folder


@pytest.fixture
def start(tmp_path):
    """A dense model."""
    model = new_model()
    torch.save({"config": model.config.to_json(), "model": model.state_dict()}, tmp_path / "base.pt")
    return tmp_path / "base.pt"


@pytest.fixture
def commands(monkeypatch):
    """The trainings that were started. They run in this process: starting Python for every phase takes seconds."""
    calls = []

    def run(command_line, check, stdout, env):
        calls.append(command_line)
        monkeypatch.setattr("sys.argv", [*command_line[2:], "--no-bf16"])
        with contextlib.redirect_stdout(stdout):
            train_main()

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def options(suite, data, out, *flags):
    return command.parser().parse_args([suite, "--data", str(data), "--out", str(out), "--steps", "3",
                                        "--batch-tokens", "128", "--tokens", "200", "--threads", "1", *flags])


def test_a_suite_trains_measures_and_goes_on_where_it_stopped(tmp_path, data, start, commands):
    only = ["ds 16", "window of 20", "no straight-through"]
    o = options("selection", data, tmp_path, "--start", str(start), "--only", *only)
    dev = Corpus.load(data / "dev.npz")
    found = selection.budget(o, tmp_path, dev)
    assert {m["name"] for m in found} == set(only) and len(commands) == 5
    trained = torch.load(tmp_path / "ds-16" / "selection.pt", map_location="cpu")
    assert ["--no-straight-through" in line for line in commands].count(True) == 1
    for m in found:
        assert math.isfinite(m["nll"]) and m["nll"] != m["dense_nll"] and 0 < m["keys"]["cross"] < 1
    chosen = json.loads(trained["config"])["selection"]
    assert chosen["width"] == 16 and chosen["learned_ratio"]["encoder"] == [pytest.approx(0.1)]
    assert "window of 20" in measured.table(found)
    assert selection.budget(o, tmp_path, dev) == found
    again = torch.load(tmp_path / "ds-16" / "selection.pt", map_location="cpu")["model"]
    assert all(torch.equal(tensor, again[name]) for name, tensor in trained["model"].items())


class StandIn:
    """In the place of the engine; a derived class translates."""

    def __init__(self, programs, model, work):
        self.model = model

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Programs(StandIn):
    """Each setting has a quality and a cost of its own."""

    def translate(self, test_set, setting, take=0):
        depth = float(setting.exit.removeprefix("fixed:")) if setting.exit.startswith("fixed") else 2.0
        lines = [["same words here"] if depth == 2 and setting.selection == "dense" else ["other words"]
                 for _ in test_set.documents]
        report = {"attention_cost_ratio": 0.1, "keys_selected_ratio": {"encoder": 0.1, "decoder": 0.2, "cross": 0.3},
                  "exit_histogram": [5, 5] if depth == 2 else [10, 0], "decoder_flops": depth,
                  "decoder_flops_full_depth": 2.0}
        return Result([Translated(d, line, report) for d, line in zip(test_set.documents, lines)], 1.0)


class Scorer:
    """In the place of sacrebleu: the words that are right."""

    def __init__(self, documents):
        pass

    def bleu(self, result):
        return 30.0 if result.translated[0].lines == ["same words here"] else 20.0

    def differences(self, baseline, others):
        return [Difference(self.bleu(other) - self.bleu(baseline), 0.02) for other in others]


@pytest.fixture
def long_test(tmp_path, monkeypatch):
    for module in (selection, exits):
        monkeypatch.setattr(module, "Engine", Programs)
        monkeypatch.setattr(module, "Scorer", Scorer)
    path = tmp_path / "dev-long.tsv"
    path.write_text("".join(f"a|1\t{'word ' * 600}\tsame words here\n" for _ in range(2)))
    return ["--bin", str(tmp_path), "--test", str(path)]


def test_the_papers_selection_has_no_budget_and_k_adapts(tmp_path, data, start, commands, long_test):
    o = options("paper", data, tmp_path, "--start", str(start), "--k-step", "0.1", "--only", "t 0.9", "ds 16",
                *long_test)
    command.check(o)
    loose, narrow = selection.paper(o, tmp_path, Corpus.load(data / "dev.npz"))
    assert [loose["name"], narrow["name"]] == ["t 0.9", "ds 16"]
    for name, captured, width in (("t-09", 0.9, 32), ("ds-16", 0.95, 16)):
        stored = torch.load(tmp_path / name / "selection.pt", map_location="cpu")
        assert json.loads(stored["config"])["selection"]["width"] == width
        line = next(" ".join(c) for c in commands if f"/{name}/" in " ".join(c))
        assert f"--captured {captured}" in line and "--alpha 0.01" in line and "--dropout 0.0" in line
    assert loose["k"]["encoder"] < 1 and loose["bleu"] == 20 and loose["dense_bleu"] == 30
    table = selection.paper_table([loose, narrow]).splitlines()
    assert table[2].startswith("| t 0.9 |") and table[2].endswith("| 10.0 % | 30.0 | 20.0 | -10.0 | 0.020 |")
    assert "1 long documents (2 segments)" in selection.paper_conditions(o)
    start_config = torch.load(tmp_path / "start" / "start.pt", map_location="cpu")["config"]
    assert ModelConfig.from_json(start_config).selection is None


def test_our_recipe_spends_a_third_of_the_same_steps_on_supervision(tmp_path, data, start, commands, long_test):
    o = options("paper", data, tmp_path, "--start", str(start), "--only", "our recipe", "dropout of 0.1", *long_test)
    command.check(o)
    selection.paper(o, tmp_path, Corpus.load(data / "dev.npz"))
    steps = [(line[line.index("--phase") + 1], line[line.index("--steps") + 1]) for line in commands]
    assert steps == [("supervision", "1"), ("selection", "2"), ("selection", "3")]
    assert "--alpha" not in commands[1] and "--dropout 0.1 --word-dropout 0.1" in " ".join(commands[2])


def test_k_has_settled_if_the_last_quarter_does_not_move_it(tmp_path):
    log = tmp_path / "log"
    ks = [0.9, 0.5, 0.3, 0.2, 0.1, 0.1, 0.11, 0.1]
    log.write_text("".join(json.dumps({"k": {m: [k, k] for m in ("encoder", "decoder", "cross")}}) + "\n" for k in ks)
                   + '{"loss": 1}\n')
    course = selection.ratios(log)
    assert [round(c["cross"], 2) for c in course] == ks
    assert selection.moved(course) == pytest.approx(0) and selection.moved(course[:4]) == pytest.approx(0.1)
    assert selection.moved(course[:1]) == 0


def test_exits_are_compared_by_loss_oracle_and_head(tmp_path, data, start, commands, long_test, monkeypatch):
    drawn = []
    monkeypatch.setattr(exits, "draw", lambda found, out: drawn.append(len(found)))
    o = options("exits", data, tmp_path, "--start", str(start), *long_test)
    command.check(o)
    found = exits.suite(o, tmp_path / "exits", Corpus.load(data / "dev.npz"))
    losses = [line[line.index("--exit-loss") + 1] for line in commands if "--exit-loss" in line]
    assert losses == ["all", "mixed"]
    assert [line[line.index("--oracle") + 1] for line in commands if "--oracle" in line] == list(exits.ORACLES)
    runs = {(m["run"], m["policy"]) for m in found}
    assert {(name, policy) for name in exits.LOSSES for policy in ("full", "fixed")} <= runs
    heads = {(f"learned by {oracle}", head) for oracle in exits.ORACLES
             for head in ("sequence", "multinomial", "geometric")}
    assert heads <= runs
    early = next(m for m in found if m["setting"] == "fixed:1")
    assert (early["mean_exit"], early["flops"], early["bleu"], early["difference"]) == (1.0, 0.5, 20.0, -10.0)
    assert "| ours | fixed:1 | 1.00 | 50.0 % | 20.0 | -10.0 | 0.020 |" in exits.table(found)
    assert drawn == [len(found)]


def test_exits_are_drawn_with_a_line_for_each_oracle_and_head(tmp_path):
    pytest.importorskip("matplotlib")
    found = [exits.Point(run, policy, "", mean_exit, mean_exit / 4, 30 + mean_exit, mean_exit - 4, 0.1)
             for run in (exits.ALIGNED, "learned by agreement", "mixed, eq. 5") for policy in ("fixed", "geometric")
             for mean_exit in (1.5, 2.5)]
    exits.draw(found, tmp_path)
    drawn = (tmp_path / "figures" / "exits-by-oracle.svg").read_text()
    assert "geometric, learned by agreement" in drawn and "mixed" not in drawn


def test_a_suite_says_what_it_needs_and_what_it_does_not_take(tmp_path):
    cases = {("paper", "--start", "a"): "paper needs --bin, --test", ("ffn",): "ffn needs --config",
             ("plain", "--config", "a", "--start", "b"): "plain takes no --start",
             ("ffn", "--config", "a", "--start", "b"): "ffn takes no --start",
             ("converted", "--config", "a"): "converted needs --start",
             ("ffn", "--config", "a", "--bin", "b"): "--bin needs --test"}
    for flags, message in cases.items():
        with pytest.raises(ValueError, match=message):
            command.check(options(flags[0], tmp_path, tmp_path, *flags[1:]))
    with pytest.raises(ValueError, match="--only: no run r 9; there are: .*r 6"):
        selection.chosen(options("selection", tmp_path, tmp_path, "--only", "r 9"), selection.BUDGET_RUNS)


def test_likeness_is_one_to_itself_and_less_to_another_seed():
    config = base_config()
    torch.manual_seed(1)
    one, other = Transformer(config).eval(), Transformer(config).eval()
    shared = Transformer(scratch.ffn_configurations(config)["NoDec"]).eval()
    generator = torch.Generator().manual_seed(1)
    chunks = [Chunk(torch.randint(5, 24, (1, 12), generator=generator),
                    torch.randint(5, 24, (1, 12), generator=generator), 1) for _ in range(40)]
    states = [likeness.layer_states(model, chunks) for model in (one, other, shared)]
    assert [len(side) for side in states[0]] == [len(side) for side in states[2]] == [3, 2]
    assert states[0][0][0].shape == (40, 32)
    same = likeness.likeness(states[0], states[0])
    assert list(same) == ["encoder CKA", "encoder LNS", "decoder CKA", "decoder LNS"]
    assert all(value == pytest.approx(1) for value in same.values())
    seeds = likeness.likeness(states[0], states[1])
    assert all(0 < value < 1 for value in seeds.values())
    assert set(likeness.normalised(seeds, seeds).values()) == {1.0}


def test_plain_is_a_transformer_without_any_of_the_methods():
    found = scratch.plain_configurations(base_config())
    names = {n for n, _ in Transformer(found["plain Transformer"]).named_parameters()}
    assert not any(".selection." in n or n.startswith("halting.") for n in names)
    assert any(".selection." in n for n, _ in Transformer(found["Salient"]).named_parameters())
    positions = found["plain Transformer"].positions
    assert (positions.embedding, positions.self_attention, positions.cross_attention) == ("sinusoidal", "none", "none")


def test_suites_from_scratch_share_a_page_and_leave_models(tmp_path, data, commands, monkeypatch):
    config = ModelConfig.from_json(new_model().config.to_json())
    (tmp_path / "config.json").write_text(config.to_json())
    for suite, flags in (("ffn", ["--only", "NoDec"]), ("plain", ["--minutes", "0.001"])):
        monkeypatch.setattr("sys.argv", ["ablations", suite, "--data", str(data), "--config",
                                         str(tmp_path / "config.json"), "--out", str(tmp_path / "out"), "--steps", "2",
                                         "--batch-tokens", "128", "--tokens", "200", "--threads", "1", *flags])
        command.main()
    model, exported = load_model(tmp_path / "out" / "plain" / "plain-transformer")
    assert exported.exits is None and model.halting is None
    assert load_model(tmp_path / "out" / "ffn" / "nodec")[1].decoder.ffn.kind == "none"
    page = (tmp_path / "out" / "ablations.md").read_text()
    assert "| NoDec |" in page and "| plain Transformer |" in page and "2 steps each" in page


def test_a_suite_replaces_its_own_section_of_the_page_and_keeps_the_others(tmp_path):
    page = tmp_path / "ablations.md"
    command.write_page(page, "ffn", "old blocks\n\n| a |")
    command.write_page(page, "plain", "plain")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "ablations-ffn.md").write_text("By hand.\n")
    command.write_page(page, "ffn", "new blocks")
    assert command.sections(page) == {"Against a plain Transformer": "plain",
                                      "Feed-forward configurations, from scratch": "new blocks\n\nBy hand."}
    assert page.read_text().startswith("# Ablations\n") and "old" not in page.read_text()


def test_configurations_are_compared_with_a_second_seed_of_the_first(tmp_path, data, commands, monkeypatch):
    config = ModelConfig.from_json(new_model().config.to_json())
    (tmp_path / "config.json").write_text(config.to_json())
    (tmp_path / "dev.tsv").write_text("a|1\tone\tONE\n")
    generator = torch.Generator().manual_seed(1)
    text = [Chunk(torch.randint(5, 24, (1, 8), generator=generator), torch.randint(5, 24, (1, 8), generator=generator),
                  1) for _ in range(40)]
    monkeypatch.setattr(scratch, "chunks", lambda *_: text)
    monkeypatch.setattr(scratch, "Vocabulary", lambda folder, config: None)
    o = options("ffn", data, tmp_path, "--config", str(tmp_path / "config.json"), "--test", str(tmp_path / "dev.tsv"),
                "--only", "Transformer", "NoDec")
    first, other, seed = command.SUITES["ffn"].run(o, tmp_path / "ffn", Corpus.load(data / "dev.npz"))
    assert not first["likeness"] and set(seed["likeness"].values()) == {1.0}
    assert all(value > 0 for value in other["likeness"].values()) and other["likeness"] != seed["likeness"]
    assert ["--seed" in line for line in commands] == [False, False, True]
    assert measured.table([first, other, seed]).splitlines()[-1].endswith("| 100 % | 100 % | 100 % | 100 % |")


def test_models_of_the_same_data_translate_the_same_documents(tiny_models, tmp_path, monkeypatch):
    test = tmp_path / "dev.tsv"
    test.write_text("a|1\tone\tONE\na|1\ttwo\tTWO\nb|1\tfour\tFOUR\n")
    asked = []

    class Programs(StandIn):  # translates by the model's name
        def translate(self, test_set, setting, take=0):
            asked.append((self.model.name, setting.flags, test_set.segments, take))
            if take == 0:
                return self.model.name
            seconds = {"base": 1.0, "wide": 2.0}[self.model.name] * (9 if take == 3 else 1)  # one take is disturbed
            return Result([Translated(test_set.documents[0], [], {"target_tokens": 100})], seconds)

    class Scorer:
        def __init__(self, documents):
            self.bleu = {"base": 20.0, "wide": 21.5}

        def scores(self, result):
            return Scores(self.bleu[result], 50.0, 22.0)

        def interval(self, result):
            return 0.7

        def differences(self, baseline, others):
            return [Difference(self.bleu[other] - self.bleu[baseline], 0.02) for other in others]

    monkeypatch.setattr(side_by_side, "Engine", Programs)
    monkeypatch.setattr(side_by_side, "Scorer", Scorer)
    models = [tiny_models / "base", tiny_models / "wide"]
    found = side_by_side.scored(tmp_path, models, sets.read_set(test), tmp_path)
    assert asked == [(name, "--selection dense --exit full", 3, take)
                     for take in range(side_by_side.TAKES + 1) for name in ("base", "wide")]
    runs = [asdict(measured.Measured(n, 10, 3.0, 3.0, {}, 1.0, steps, asdict(s)))
            for n, steps, s in zip(("plain Transformer", "Salient"), (90, 80), found)]
    lines = measured.table(runs).splitlines()
    assert lines[0].split(" | ")[3:] == ["steps", "BLEU", "against the first", "p", "chrF", "document BLEU", "tokens/s",
                                        "of the first |"]
    assert lines[2].split(" | ")[3:] == ["90", "20.0 ± 0.7", "", "", "50.0", "22.0", "100", "1.00 |"]
    assert lines[3].split(" | ")[3:] == ["80", "21.5 ± 0.7", "+1.5", "0.020", "50.0", "22.0", "50", "0.50 |"]


def test_a_trained_model_converts_to_every_configuration():
    base = base_config()
    trained = Transformer(base).state_dict()
    for name, config in scratch.ffn_configurations(base).items():
        tensors = scratch.converted(trained, base, config)
        model = Transformer(config)
        model.load_state_dict(tensors)  # nothing is missing
        assert all(torch.equal(t, trained[n]) for n, t in tensors.items() if n in trained), name
    shared = scratch.converted(trained, base, scratch.ffn_configurations(base)["SharedEncSharedDec"])
    assert torch.equal(shared["decoder_ffn.up.weight"], trained["decoder_layers.0.ffn.up.weight"])


def test_a_wide_block_starts_as_the_mean_of_all():
    base = base_config()
    layers = Transformer(base)
    wide = Transformer(scratch.ffn_configurations(base)["One Wide FFN"])
    wide.load_state_dict(scratch.converted(layers.state_dict(), base, wide.config))
    x, blocks = torch.randn(4, 32), [layer.ffn for layer in [*layers.encoder_layers, *layers.decoder_layers]]
    assert torch.allclose(wide.encoder_ffn(x), sum(block(x) for block in blocks) / 5, atol=1e-6)
