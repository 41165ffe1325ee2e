import subprocess

import pytest
import torch

from salient import retrofit
from salient.config import Exits, FeedForward, ModelConfig, Stack
from salient.export import export, load_model
from salient.model import Transformer
from salient.prepare import parser as prepare_parser
from salient.prepare import prepare
from salient.selection import SelectionRun
from salient.tiny import SENTENCES
from salient.train import main as train_main


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """A dense model's folder, and training data cut by its tokeniser."""
    folder = tmp_path_factory.mktemp("dense")
    lines = [f"src|{i // 4}\t{s}\t{t}\n" for i, (s, t) in enumerate(SENTENCES)]
    (folder / "train.tsv").write_text("".join(lines), encoding="utf-8")
    prepare(prepare_parser().parse_args(["--train", str(folder / "train.tsv"), "--dev", str(folder / "train.tsv"),
                                         "--no-language-check", "--vocab-size", "384", "--out", str(folder / "data")]))
    torch.manual_seed(1)
    config = ModelConfig(vocab_size=384, d_model=32, heads=2, encoder=Stack(3, FeedForward("own", 40)),
                         decoder=Stack(3, FeedForward("own", 40)), selection=None, exits=Exits("tied", []),
                         chunk_tokens=256)
    export(Transformer(config), folder / "data" / "tokenizer.model", folder / "model")
    return folder


def options(dense, out, *flags):
    return retrofit.parser().parse_args(["--model", str(dense / "model"), "--data", str(dense / "data"), "--out",
                                         str(out), "--minutes", "0.04", "--batch-tokens", "256", "--selection-width",
                                         "8", *flags])


@pytest.mark.parametrize("flags", [[], ["--adapt"]])
def test_a_dense_model_gets_selection_and_exits(dense, tmp_path, monkeypatch, flags):
    def run(command, check, stdout, cwd):  # in this process: starting Python for every phase takes seconds
        monkeypatch.setattr("sys.argv", [*command[2:], "--no-bf16"])
        train_main()

    monkeypatch.setattr(subprocess, "run", run)
    retrofit.retrofit(options(dense, tmp_path / "out", *flags))
    before, _ = load_model(dense / "model")
    after, config = load_model(tmp_path / "out")
    assert config.selection.width == 8 and config.exits.classifier == "untied" and len(config.exits.heads) == 3
    assert min(k for module in config.selection.learned_ratio.values() for k in module) < 1
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["README.md", "config.json", "model.safetensors",
                                                                    "tokenizer.model"]
    source, target = torch.tensor([[40, 41, 4, 42, 3]]), torch.tensor([[2, 50, 4, 51]])
    logits = []
    for model in (before, after):
        states = model.decode(target, source, model.encode(source, SelectionRun()), SelectionRun())
        logits.append([model.logits(n, h) for n, h in enumerate(states)])
    same = torch.equal(logits[0][-1], logits[1][-1])
    assert same == (not flags)  # untouched at full depth with dense attention, unless it was to adapt
    assert not torch.allclose(logits[0][0], logits[1][0])


def test_another_tokeniser_is_refused(dense, tmp_path):
    o = options(dense, tmp_path)
    o.data = tmp_path / "data"
    o.data.mkdir()
    (o.data / "tokenizer.model").write_bytes(b"another")
    with pytest.raises(ValueError, match="tokeniser"):
        retrofit.retrofit(o)
