import json
import random
import shutil
import subprocess

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from salient import monolingual as mono
from salient import retrofit
from salient.config import Exits, FeedForward, ModelConfig, Positions, Stack, Tokens
from salient.data import Corpus, batches
from salient.evaluation.engine import Result, Translated
from salient.exit_maps import with_mapped_exits
from salient.export import export, load_model
from salient.joined import with_separator
from salient.model import Transformer
from salient.prepare import parser as prepare_parser
from salient.prepare import prepare
from salient.selection import SelectionRun
from salient.shortlist import Shortlist
from salient.tiny import SENTENCES
from salient.train import main as train_main


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """A dense model's folder, and training data cut by its tokeniser."""
    folder = tmp_path_factory.mktemp("dense")
    lines = [f"src|{i // 4}\t{s}\t{t}\n" for i, (s, t) in enumerate(SENTENCES)]
    (folder / "train.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / "dev.tsv").write_text("dev|1\tA bird sat here.\tEin Vogel.\n", encoding="utf-8")
    prepare(prepare_parser().parse_args(["--train", str(folder / "train.tsv"), "--dev", str(folder / "dev.tsv"),
                                         "--no-language-check", "--vocab-size", "384", "--out", str(folder / "data")]))
    torch.manual_seed(1)
    config = ModelConfig(vocab_size=384, d_model=32, heads=2, encoder=Stack(3, FeedForward("own", 40)),
                         decoder=Stack(3, FeedForward("own", 40)), selection=None, exits=Exits("tied", []),
                         chunk_tokens=256)
    export(Transformer(config), folder / "data" / "tokenizer.model", folder / "model")
    return folder


@pytest.fixture
def phases_here(monkeypatch):
    """Phases of training run in this process: starting Python for each takes seconds."""
    def run(command, check, stdout, env):
        monkeypatch.setattr("sys.argv", [*command[2:], "--no-bf16"])
        train_main()

    monkeypatch.setattr(subprocess, "run", run)


@pytest.fixture
def translated(monkeypatch):
    """Text is translated without an engine, and cut into sentences without PyICU, which may be missing."""
    monkeypatch.setattr(mono, "translate", lambda model, sentences, programs, work: [
        [f"p{3 + (len(s) + i) % 40}" for i in range(6)] for s in sentences])
    monkeypatch.setattr(mono, "splitter", lambda language: lambda text: text.split(". "))


def options(dense, out, *flags):
    return retrofit.parser().parse_args(["--model", str(dense / "model"), "--data", str(dense / "data"), "--out",
                                         str(out), "--minutes", "0.04", "--batch-tokens", "256", "--selection-width",
                                         "8", *flags])


@pytest.mark.parametrize("flags", [[], ["--adapt"]])
def test_a_dense_model_gets_selection_and_exits(dense, tmp_path, phases_here, flags):
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


@pytest.fixture(scope="module")
def sentence_model(tmp_path_factory, dense):
    """A model of single sentences with a list of pieces of its own, as converted ones are; and text."""
    folder = tmp_path_factory.mktemp("sentences")
    pieces = [f"p{i}" for i in range(300)] + ["\u2581the", "t", "h", "e"]
    torch.manual_seed(2)
    config = ModelConfig(vocab_size=len(pieces), d_model=32, heads=2, norm="post",
                         encoder=Stack(2, FeedForward("own", 40)), decoder=Stack(3, FeedForward("own", 40)),
                         selection=None, exits=None, chunk_tokens=128,
                         positions=Positions("sinusoidal", "none", "none"), tokens=Tokens(0, 1, 0, 2, None))
    export(Transformer(config), dense / "data" / "tokenizer.model", folder / "model")
    (folder / "model" / "vocabulary.json").write_text(json.dumps(pieces))
    (folder / "text.txt").write_text("".join(f"Sentence number {i} is here. The next is {i}.\n" for i in range(400)))
    return folder


@pytest.mark.parametrize("flags", [[], ["--adapt"], ["--adapt", "--tied-exits"],
                                   ["--adapt", "--lr", "4e-4", "--matrix-lr", "0.006", "--exit-shares", "1=0.2,2=1"]])
def test_text_of_one_language_is_enough(sentence_model, tmp_path, phases_here, translated, flags):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("shortlist.safetensors", "source_vocabulary.json", "guard.json"):
        (out / name).write_text("of another model")
    retrofit.retrofit(retrofit.parser().parse_args(
        ["--model", str(sentence_model / "model"), "--monolingual", str(sentence_model / "text.txt"), "--out", str(out),
         "--minutes", "0.03", "--batch-tokens", "256", "--keep-work", *flags]))
    train = Corpus.load(out / "work" / "data" / "train.npz")
    assert train.tokens == Tokens(0, 1, 0, 2, None) and len(train.documents) - 1 == 800 - mono.DEV
    source, target = next(batches(train, 256, seed=1))
    assert target[:, 0].eq(0).all() and (target == 2).sum(1).eq(1).all()  # each row one sentence, with one end
    before, _ = load_model(sentence_model / "model")
    after, config = load_model(out)
    assert config.selection is None and len(config.exits.heads) == 3
    assert config.exits.classifier == ("tied" if "--tied-exits" in flags else "untied")
    run = SelectionRun()
    memories = [m.encode(source, run) for m in (before, after)]
    assert torch.equal(*memories)
    states = [m.decode(target[:, :-1], source, memory, run) for m, memory in zip((before, after), memories)]
    losses = [[F.cross_entropy(m.logits(n, h).flatten(0, 1), target[:, 1:].flatten(), ignore_index=0).item()
               for n, h in enumerate(of)] for m, of in zip((before, after), states)]
    if flags:
        learned = ModelConfig.from_json(torch.load(out / "work" / "adapt.pt")["config"])
        assert learned.exits is not None, "the last exit alone was trained"
        assert all(now < was for was, now in zip(*losses)), losses
    else:
        assert losses[0][2] == losses[1][2]
    assert {p.name for p in out.iterdir()} == {"README.md", "config.json", "model.safetensors", "shortlist.safetensors",
                                               "tokenizer.model", "vocabulary.json", "work"}
    assert len(Shortlist.load(out / "shortlist.safetensors").tokens) == config.vocab_size


def arguments(model, text, out, *flags):
    return retrofit.parser().parse_args(["--model", str(model), "--monolingual", str(text), "--out", str(out), *flags])


def test_the_work_of_another_run_is_refused(dense, sentence_model, tmp_path):
    model, text, work = sentence_model / "model", sentence_model / "text.txt", tmp_path / "work"
    retrofit.claim(work, arguments(model, text, tmp_path, "--documents"))
    retrofit.claim(work, arguments(model, text, tmp_path))  # nothing is made yet
    (work / "mapped.pt").write_text("of this run")
    retrofit.claim(work, arguments(model, text, tmp_path, "--minutes", "90", "--dtype", "int8", "--keep-work"))
    (tmp_path / "text.txt").write_text("Another text.\n")
    for o, others in ((arguments(dense / "model", text, tmp_path), "model"),
                      (arguments(model, tmp_path / "text.txt", tmp_path), "text"),
                      (arguments(model, text, tmp_path, "--adapt", "--lr", "1e-3"), "adapt, lr")):
        with pytest.raises(ValueError, match=f"work: it is of a run with other values of {others}; remove it"):
            retrofit.retrofit(o)
    (work / retrofit.RUN).unlink()
    with pytest.raises(ValueError, match="remove it"):
        retrofit.retrofit(arguments(model, text, tmp_path))
    with pytest.raises(ValueError, match="--monolingual: there is no file"):
        retrofit.retrofit(arguments(model, tmp_path / "typo.txt", tmp_path))


LINE_BREAKS = "\n\v\f\r\x85\u2028\u2029"  # of the engine (IsLineBreak in engine/text/document.cc)


def test_sentences_have_no_line_breaks(tmp_path, translated):
    text = tmp_path / "text.txt"
    text.write_text("".join(f"One{c}and\u00a0two. Three{c}{c}four\n" for c in LINE_BREAKS if c not in "\n\r"),
                    encoding="utf-8")
    found = [s for document in mono.documents_of([text], "en", 100, whole=False) for s in document]
    assert found == ["One and\u00a0two", "Three  four"] or found == ["Three  four", "One and\u00a0two"]
    assert all(mono.one_line(f"a{c}b") == "a b" for c in LINE_BREAKS)


def test_segments_that_are_no_sentences_are_refused(tmp_path, monkeypatch):
    class Engine:
        def __init__(self, *_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def translate(self, documents, flags, trace):
            traces = [[[["x", 1, 1.0]]] * (len(one.lines) + (one.lines[0] == "64")) for one in documents.documents]
            return Result([Translated(one, one.lines, {"trace": trace})
                           for one, trace in zip(documents.documents, traces)], 1.0)

    monkeypatch.setattr(mono, "Engine", Engine)
    assert mono.translate(tmp_path, [str(i) for i in range(64)], tmp_path, tmp_path) == [["x"]] * 64
    with pytest.raises(ValueError, match="made 37 segments of the 36 sentences from '64' on"):
        mono.translate(tmp_path, [str(i) for i in range(100)], tmp_path, tmp_path)


def test_an_engine_that_does_not_start_is_told(sentence_model, tmp_path, monkeypatch):
    monkeypatch.setattr(mono, "splitter", lambda language: lambda text: text.split(". "))
    for name in ("salient", "salient-server"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr("sys.argv", ["retrofit", "--model", str(sentence_model / "model"), "--monolingual",
                                     str(sentence_model / "text.txt"), "--bin", str(tmp_path), "--out",
                                     str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="^retrofit: .*salient-server did not start with .*; run it by hand"):
        retrofit.main()


def test_a_model_of_sentences_learns_documents(sentence_model, tmp_path, phases_here, translated):
    text, out = tmp_path / "text.txt", tmp_path / "out"
    text.write_text("".join(f"# text|{d}\n" + "".join(f"Sentence {i} of {d}.\n" for i in range(8)) + "\n"
                            for d in range(60)))
    retrofit.retrofit(retrofit.parser().parse_args(
        ["--model", str(sentence_model / "model"), "--monolingual", str(text), "--documents", "--out", str(out),
         "--minutes", "0.05", "--batch-tokens", "256", "--selection-width", "8", "--keep-work"]))
    before, _ = load_model(sentence_model / "model")
    after, config = load_model(out)
    size = before.config.vocab_size
    assert (config.vocab_size, config.tokens.separator, config.exits.classifier) == (size + 1, size, "untied")
    assert config.selection.width == 8 and len(config.exits.heads) == 3
    assert json.loads((out / "vocabulary.json").read_text())[size] == "<sep>"
    assert torch.equal(before.embedding.weight, after.embedding.weight[:size])  # words keep what they are
    learned = {name: not torch.equal(was, after.state_dict()[name]) for name, was in before.named_parameters()
               if "_layers." in name}
    assert learned == {name: ".ffn." not in name for name in learned}
    joined, taught = (torch.load(out / "work" / f"{name}.pt")["model"] for name in ("joined", "documents"))
    for name, tensor in taught.items():  # a fifth of the original is in what was learned
        if name in after.state_dict():
            torch.testing.assert_close(after.state_dict()[name], 0.2 * joined[name] + 0.8 * tensor)
    train = Corpus.load(out / "work" / "data" / "train.npz")
    segments = np.diff(train.documents)
    assert train.tokens.separator == size and 8 <= segments[:-1].min() < segments.max() < 16
    source, target = max(batches(train, 256, seed=1, endless=False), key=lambda pair: pair[0].eq(size).sum())
    assert source.eq(size).any() and torch.equal(source.eq(size).sum(1), target.eq(size).sum(1))
    grown, run, end = with_separator(before), SelectionRun(), before.config.tokens.eos
    source, target = source[:1], target[:1, :-1]
    as_end = [x.where(x != size, torch.tensor(end)) for x in (source, target)]  # the separator begins as the end does
    states = [m.decode(t, s, m.encode(s, run), run)[-1] for m, s, t in ((before, *as_end), (grown, source, target))]
    assert torch.equal(*states)
    logits = [m.logits(2, h) for m, h in zip((before, grown), states)]
    assert torch.equal(logits[0], logits[1][..., :-1]) and torch.equal(logits[1][..., -1], logits[0][..., end])


def test_segments_have_one_to_three_sentences():
    document = [(f"s{i}", ["\u2581", f"p{i}"]) for i in range(900)]
    for source, target, between, pieces_of_two in (("zh", "en", "", 4), ("en", "zh-Hant", " ", 3)):
        config = ModelConfig(source_language=source, target_language=target)
        found = mono.joined_segments(document, config, random.Random(3))
        assert between.join(sentence for sentence, _ in found) == between.join(sentence for sentence, _ in document)
        assert [p for _, of in found for p in of if p != "\u2581"] == [f"p{i}" for i in range(900)]
        sizes = np.bincount([sum(p != "\u2581" for p in of) for _, of in found])
        assert len(sizes) == 4 and sizes[1] > sizes[2] > sizes[3] > 0
        by_text = dict(found)
        two = next(f"s{i}{between}s{i + 1}" for i in range(900) if f"s{i}{between}s{i + 1}" in by_text)
        assert len(by_text[two]) == pieces_of_two


def test_a_sentence_without_a_translation_joins_none():
    [document] = mono.with_translations([[(f"s{i}", ["p"] * (i % 2)) for i in range(100)], [("s", [])]])
    found = mono.joined_segments(document, ModelConfig(), random.Random(3))
    assert " ".join(sentence for sentence, _ in found) == " ".join(f"s{i}" for i in range(1, 100, 2))


def test_a_translation_that_repeats_itself_is_left_out():
    kept = ("Tom ha ha.", ["Tom", "ha", "ha", "."]), ("hahahaha!", ["ha"] * 9)
    [document] = mono.with_translations([[kept[0], ("is this it?", ["is", *["shi", "sh"] * 4]), kept[1]]])
    assert document == list(kept)


def test_some_segments_have_no_full_stop():
    def lost(source, *pieces):
        document = [(f"{i}{source}", ["p", *pieces]) for i in range(900)]
        found = mono.joined_segments(document, ModelConfig(source_language="zh"), random.Random(3))
        assert {pieces[-1] for pieces in dict(found).values()} <= {"p", *pieces[-1:]}
        assert all(s.endswith(source) == (of[-1:] == list(pieces[-1:])) for s, of in found)
        return sum(not s.endswith(source) for s, _ in found) / len(found)

    assert 0.2 < lost("\u3002", ".") < 0.4 and 0.2 < lost(".", "\u2581.") < 0.4
    assert lost("\u3002", "!") == lost("?", ".") == lost("\u3002", "...") == 0
    assert mono.without_stop(".", ["p", "."]) == (".", ["p", "."])
    assert mono.without_stop("s.", ["."]) == ("s.", ["."])


def test_short_documents_follow_each_other_in_one():
    documents = [[(f"{d}.{s}", ["p"]) for s in range(size)] for d, size in enumerate((1, 3, 9, 0, 20, 8, 2, 1))]
    found = mono.joined_documents(documents)
    assert [len(document) for document in found] == [13, 20, 8, 3]
    assert sum(found, []) == sum(documents, [])
    assert [len(document) for document in documents] == [1, 3, 9, 0, 20, 8, 2, 1]  # they stay as they are


def test_joined_sentences_stay_short():
    document = [("s" * 250, ["p"])] * 100
    found = mono.joined_segments(document, ModelConfig(), random.Random(3))
    assert max(len(sentence) for sentence, _ in found) == 501


def test_text_in_one_document_is_refused(sentence_model, tmp_path, phases_here, translated):
    with pytest.raises(ValueError, match="one document"):
        retrofit.retrofit(retrofit.parser().parse_args(
            ["--model", str(sentence_model / "model"), "--monolingual", str(sentence_model / "text.txt"), "--documents",
             "--out", str(tmp_path / "out")]))


def test_documents_are_not_learned_by_all_weights(sentence_model, tmp_path):
    with pytest.raises(ValueError, match="--adapt cannot go with --documents"):
        retrofit.retrofit(retrofit.parser().parse_args(
            ["--model", str(sentence_model / "model"), "--monolingual", str(sentence_model / "text.txt"), "--documents",
             "--adapt", "--out", str(tmp_path / "out")]))
    assert not (tmp_path / "out").exists()


def test_what_cannot_learn_documents_is_refused(dense, sentence_model, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for path in (sentence_model / "model").iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    pieces = json.loads((other / "vocabulary.json").read_text())
    (other / "vocabulary.json").write_text(json.dumps([*pieces[:-1], "<sep>"]))
    for model, reason in ((dense / "model", "documents already"), (other, "a piece <sep>")):
        with pytest.raises(ValueError, match=f"--documents: .*{reason}"):
            retrofit.retrofit(retrofit.parser().parse_args(
                ["--model", str(model), "--monolingual", str(sentence_model / "text.txt"), "--documents", "--out",
                 str(tmp_path / f"out-{reason[:2]}")]))


def test_mapped_exits_are_nearer_to_the_last(sentence_model):
    """On states that a map explains: the exit then says what the last one says."""
    model, _ = load_model(sentence_model / "model")
    with torch.no_grad():  # an upper half that hardly does anything but turn its states
        for layer in model.decoder_layers[1:]:
            for p in (layer.self_attention.output, layer.cross_attention.output, layer.ffn.down):
                p.weight.mul_(0.02), p.bias.zero_()
            layer.ffn_norm.weight.copy_(torch.linspace(0.5, 2, 32))
    rng, count = np.random.default_rng(1), 400
    bounds = np.arange(count + 1) * 8
    tokens = rng.integers(3, 300, (2, 8 * count)).astype(np.uint16)
    corpus = Corpus(*tokens, bounds, bounds, np.arange(count + 1), np.asarray(["x"]), np.zeros(count, np.uint8),
                    np.asarray([0, 0, 2, -1]))
    grown = with_mapped_exits(model, corpus, 2000)
    source, target = next(batches(corpus, 512, seed=9))
    states = grown.decode(target[:, :-1], source, grown.encode(source, SelectionRun()), SelectionRun())
    best = [grown.logits(n, h).argmax(-1) for n, h in enumerate(states)]
    plain = (states[0] @ grown.embedding.weight.t()).argmax(-1)
    assert best[0].eq(best[2]).float().mean() > plain.eq(best[2]).float().mean() + 0.1


def test_a_recurrent_decoder_is_refused(sentence_model, tmp_path):
    config = json.loads((sentence_model / "model" / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "autoregression": "ssru"}))
    with pytest.raises(ValueError, match="SSRU"):
        retrofit.retrofit(retrofit.parser().parse_args(["--model", str(tmp_path), "--monolingual", "x", "--out",
                                                        str(tmp_path / "out")]))


def test_several_languages_are_refused(sentence_model, tmp_path):
    for path in (sentence_model / "model").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    config["languages"] = {"tokens": {"de": 7}, "source": ["en"], "target": ["de"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    for flags in ([], ["--documents"]):
        with pytest.raises(ValueError, match="config.json has `languages`.*not supported, even with one pair"):
            retrofit.retrofit(arguments(tmp_path, sentence_model / "text.txt", tmp_path / "out", *flags))
    assert not (tmp_path / "out").exists()


def test_another_tokeniser_is_refused(dense, tmp_path):
    o = options(dense, tmp_path)
    o.data = tmp_path / "data"
    o.data.mkdir()
    (o.data / "tokenizer.model").write_bytes(b"another")
    with pytest.raises(ValueError, match="data/tokenizer.model is not the model's tokeniser"):
        retrofit.retrofit(o)


@pytest.mark.parametrize("model, flags, message", [
    ("dense", ["--adapt", "--lr", "1e-4"], "--lr has an effect only with --documents, or --adapt without selection"),
    ("dense", ["--k-most", "encoder=0.1"], "--k-most has an effect only with --adapt, and selection layers"),
    ("dense", ["--adapt", "--exit-shares", "1=1"], "--exit-shares has an effect only with --adapt without selection"),
    ("dense", ["--no-selection", "--captured", "0.9"], "--captured has an effect only with selection layers"),
    ("dense", ["--sentences", "9"], "--sentences has an effect only with --monolingual"),
    ("sentences", ["--exit-shares", "1=1"], "--exit-shares has an effect only with --adapt"),
    ("sentences", ["--selection-width", "16"], "--selection-width has an effect only with selection layers")])
def test_options_without_an_effect_are_refused(dense, sentence_model, tmp_path, monkeypatch, model, flags, message):
    folder = (dense if model == "dense" else sentence_model) / "model"
    monkeypatch.setattr("sys.argv", ["retrofit", "--model", str(folder), "--data", "none", "--out",
                                     str(tmp_path / "out"), *flags])
    with pytest.raises(SystemExit, match=message):
        retrofit.main()
    assert not (tmp_path / "out").exists()


def test_options_with_an_effect_are_taken(dense, sentence_model):
    for model, flags in ((dense, ["--adapt", "--k-most", "encoder=1", "--captured", "0.9", "--selection-width", "16"]),
                         (sentence_model, ["--adapt", "--lr", "1e-4", "--matrix-lr", "0", "--exit-shares", "1=1"]),
                         (sentence_model, ["--documents", "--lr", "1e-4", "--captured", "0.9", "--sentences", "9"])):
        o = retrofit.parser().parse_args(["--model", "x", "--monolingual", "x", "--out", "x", *flags])
        named = [flag[2:].replace("-", "_") for flag in flags if flag.startswith("--")]
        retrofit.refuse_without_effect(o, ModelConfig.load(model / "model"), named)


@pytest.mark.parametrize("flags", [["--k-most", "encodr=0.1"], ["--exit-shares", "1"], ["--selection-width", "12"]])
def test_lists_are_read_before_the_work_begins(flags):
    with pytest.raises(SystemExit):
        retrofit.parser().parse_args(["--model", "x", "--data", "x", "--out", "x", *flags])


def test_a_tokeniser_of_the_target_is_compared_too(dense, tmp_path):
    o = options(dense, tmp_path / "out")
    o.model = tmp_path / "model"
    shutil.copytree(dense / "model", o.model)
    shutil.copy(o.model / "tokenizer.model", o.model / "target_tokenizer.model")
    with pytest.raises(ValueError, match="data/target_tokenizer.model is not the model's tokeniser: copy all of"):
        retrofit.retrofit(o)


def test_data_in_other_tokens_than_the_models_is_refused(dense, sentence_model, tmp_path):
    o = options(dense, tmp_path)
    o.model = sentence_model / "model"
    with pytest.raises(ValueError, match="use --monolingual"):
        retrofit.retrofit(o)


def test_tied_exits_behind_post_norm_have_no_phase(sentence_model, dense):
    def phases(model, *flags):
        o = retrofit.parser().parse_args(["--model", "x", "--data", "x", "--out", "x", *flags])
        return [step.phase for step in retrofit.steps(o, ModelConfig.load(model / "model"))]

    assert phases(sentence_model, "--tied-exits") == ["halting"]
    assert phases(sentence_model) == ["mapped", "exits", "halting"]
    assert phases(dense, "--tied-exits") == ["supervision", "exits", "halting"]
    assert phases(sentence_model, "--documents", "--tied-exits") == ["base", "mean", "supervision", "halting"]


@pytest.mark.parametrize("flags, captured", [([], "0.95"), (["--documents"], "0.99"), (["--captured", "0"], "0.0")])
def test_chunks_keep_more_of_the_attention(dense, flags, captured):
    o = retrofit.parser().parse_args(["--model", "x", "--monolingual", "x", "--out", "x", *flags])
    of = {step.phase: step.flags for step in retrofit.steps(o, ModelConfig.load(dense / "model"))}["supervision"]
    assert of[of.index("--captured") + 1] == captured
    assert ("--mixture" in of) == ("--documents" in flags)  # no phase may see longer chunks than the model translates
