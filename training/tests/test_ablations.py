import json
import math
import subprocess
from dataclasses import asdict

import pytest
import torch

from salient import ablations
from salient.config import ModelConfig, Selection, Stack, FeedForward
from salient.data import Corpus
from salient.evaluation import sets, side_by_side
from salient.evaluation.engine import Result, Translated
from salient.evaluation.score import Difference, Scores
from salient.export import load_model
from salient.model import Transformer
from salient.train import main as train_main

from test_train import copy_corpus, new_model


def base_config():
    return ModelConfig(vocab_size=24, d_model=32, heads=2, encoder=Stack(3, FeedForward("own", 40)),
                       decoder=Stack(2, FeedForward("own", 40)))


def test_every_configuration_of_feed_forward_blocks_is_a_model_of_the_expected_size():
    def size(name):
        return sum(p.numel() for n, p in Transformer(found[name]).named_parameters() if "ffn" in n and "norm" not in n)

    found = ablations.ffn_configurations(base_config())
    block = 2 * 32 * 40 + 40 + 32
    expected = {"Transformer": 5, "SharedEnc": 3, "SharedDec": 4, "SharedEncSharedDec": 2, "SharedEncDec": 1,
                "NoEnc": 2, "NoDec": 3, "NoEncNoDec": 0, "SharedEncNoDec": 1}
    assert {name: size(name) for name in expected} == {name: n * block for name, n in expected.items()}
    assert size("One Wide FFN") == 2 * 32 * 200 + 200 + 32  # one block as wide as all five


def test_attention_cost_is_that_of_the_paper():
    config = ModelConfig(d_model=512, encoder=Stack(6), decoder=Stack(6), selection=Selection(64))
    keys = {"encoder": 0.05, "decoder": 0.05, "cross": 0.05}
    # eq. 10 over eq. 9: ds / (2 r d) + k, the same for every module here
    assert ablations.attention_cost(config, keys, True) == pytest.approx(64 / (2 * 3 * 512) + 0.05)
    assert ablations.attention_cost(config, keys, False) == pytest.approx(0.05)
    uneven = ablations.attention_cost(config, {"encoder": 1.0, "decoder": 0.0, "cross": 0.0}, False)
    assert uneven == pytest.approx(6 / (6 + 3 + 6))


def test_a_suite_trains_measures_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    data, start = tmp_path / "data", tmp_path / "base.pt"
    data.mkdir()
    copy_corpus().save(data / "train.npz")
    copy_corpus(20).save(data / "dev.npz")
    model = new_model()
    torch.save({"config": model.config.to_json(), "model": model.state_dict()}, start)
    calls = []

    def run(command, check, stdout, cwd):  # in this process: starting Python for every phase takes seconds
        calls.append(command)
        monkeypatch.setattr("sys.argv", [*command[2:], "--no-bf16"])
        train_main()

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(ablations, "SELECTION_RUNS",
                        {n: ablations.SELECTION_RUNS[n] for n in ("ds 16", "window of 20", "no straight-through")})
    o = ablations.parser().parse_args(["selection", "--data", str(data), "--start", str(start), "--out", str(tmp_path),
                                       "--steps", "3", "--batch-tokens", "128", "--tokens", "200", "--threads", "1"])
    found = ablations.selection_suite(o, tmp_path, Corpus.load(data / "dev.npz"))
    assert [m.name for m in found] == ["ds 16", "window of 20", "no straight-through"] and len(calls) == 5
    trained = torch.load(tmp_path / "ds-16" / "selection.pt", map_location="cpu")["model"]
    assert "--no-straight-through" in calls[-1] and "--no-straight-through" not in calls[-2]
    for m in found:
        assert math.isfinite(m.nll) and m.nll != m.dense_nll and 0 < m.keys["cross"] < 1
    stored = torch.load(tmp_path / "ds-16" / "selection.pt", map_location="cpu")
    chosen = json.loads(stored["config"])["selection"]
    assert chosen["width"] == 16 and chosen["learned_ratio"]["encoder"] == [pytest.approx(0.1)]
    assert "window of 20" in ablations.table(found)
    assert ablations.selection_suite(o, tmp_path, Corpus.load(data / "dev.npz")) == found
    again = torch.load(tmp_path / "ds-16" / "selection.pt", map_location="cpu")["model"]
    assert all(torch.equal(trained[name], again[name]) for name in trained)


def test_plain_is_a_transformer_without_any_of_the_methods():
    found = ablations.plain_configurations(base_config())
    names = {n for n, _ in Transformer(found["plain Transformer"]).named_parameters()}
    assert not any(".selection." in n or n.startswith("halting.") for n in names)
    assert any(".selection." in n for n, _ in Transformer(found["Salient"]).named_parameters())
    positions = found["plain Transformer"].positions
    assert (positions.embedding, positions.self_attention, positions.cross_attention) == ("sinusoidal", "none", "none")


def test_suites_from_scratch_share_a_page_and_leave_models(tmp_path, monkeypatch):
    data = tmp_path / "data"
    data.mkdir()
    copy_corpus().save(data / "train.npz")
    copy_corpus(20).save(data / "dev.npz")
    (data / "tokenizer.model").write_bytes(b"any")
    config = ModelConfig.from_json(new_model().config.to_json())
    (tmp_path / "config.json").write_text(config.to_json())

    def run(command, check, stdout, cwd):
        monkeypatch.setattr("sys.argv", [*command[2:], "--no-bf16"])
        train_main()

    monkeypatch.setattr(subprocess, "run", run)
    only = ablations.ffn_configurations(config)["NoDec"]
    monkeypatch.setattr(ablations, "ffn_configurations", lambda base: {"NoDec": only})
    for suite, length in (("ffn", ["--steps", "2"]), ("plain", ["--minutes", "0.001"])):
        monkeypatch.setattr("sys.argv", ["ablations", suite, "--data", str(data), "--config",
                                         str(tmp_path / "config.json"), "--out", str(tmp_path / "out"),
                                         "--batch-tokens", "128", "--tokens", "200", "--threads", "1", *length])
        ablations.main()
    model, exported = load_model(tmp_path / "out" / "plain" / "plain-transformer")
    assert exported.exits is None and model.halting is None
    assert load_model(tmp_path / "out" / "ffn" / "nodec")[1].decoder.ffn.kind == "none"
    page = (tmp_path / "out" / "ablations.md").read_text()
    assert "| NoDec |" in page and "| plain Transformer |" in page and "2 steps each" in page


def test_models_of_the_same_data_translate_the_same_documents(tiny_models, tmp_path, monkeypatch):
    test = tmp_path / "dev.tsv"
    test.write_text("a|1\tone\tONE\na|1\ttwo\tTWO\nb|1\tfour\tFOUR\n")
    asked = []

    class Programs:  # in the place of the engine: translates by the model's name
        def __init__(self, programs, model, work):
            self.model = model

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

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
    runs = [ablations.Measured(n, 10, 3.0, 3.0, {}, 1.0, steps, asdict(s))
            for n, steps, s in zip(("plain Transformer", "Salient"), (90, 80), found)]
    lines = ablations.table(runs).splitlines()
    assert lines[0].split(" | ")[3:] == ["steps", "BLEU", "against the first", "p", "chrF", "document BLEU", "tokens/s",
                                        "of the first |"]
    assert lines[2].split(" | ")[3:] == ["90", "20.0 ± 0.7", "", "", "50.0", "22.0", "100", "1.00 |"]
    assert lines[3].split(" | ")[3:] == ["80", "21.5 ± 0.7", "+1.5", "0.020", "50.0", "22.0", "50", "0.50 |"]


def test_a_trained_model_converts_to_every_configuration():
    base = base_config()
    trained = Transformer(base).state_dict()
    for name, config in ablations.ffn_configurations(base).items():
        tensors = ablations.converted(trained, base, config)
        model = Transformer(config)
        model.load_state_dict(tensors)  # nothing is missing
        assert all(torch.equal(t, trained[n]) for n, t in tensors.items() if n in trained), name
    shared = ablations.converted(trained, base, ablations.ffn_configurations(base)["SharedEncSharedDec"])
    assert torch.equal(shared["decoder_ffn.up.weight"], trained["decoder_layers.0.ffn.up.weight"])


def test_a_wide_block_starts_as_the_mean_of_all():
    base = base_config()
    layers = Transformer(base)
    wide = Transformer(ablations.ffn_configurations(base)["One Wide FFN"])
    wide.load_state_dict(ablations.converted(layers.state_dict(), base, wide.config))
    x, blocks = torch.randn(4, 32), [layer.ffn for layer in [*layers.encoder_layers, *layers.decoder_layers]]
    assert torch.allclose(wide.encoder_ffn(x), sum(block(x) for block in blocks) / 5, atol=1e-6)
