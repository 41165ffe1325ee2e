"""A student that begins as its teacher: what is copied, what is fitted, and that segments stay apart."""

from __future__ import annotations

import random

import pytest
import sentencepiece
import torch
import torch.nn.functional as F

pytest.importorskip("salient.convert.marian")

from salient import heads, inherit  # noqa: E402
from salient.config import FeedForward, ModelConfig, Positions, Selection, Stack  # noqa: E402
from salient.convert.marian import MarianModel  # noqa: E402
from salient.export import load_model  # noqa: E402
from salient.selection import SelectionRun  # noqa: E402

D, HEADS, FFN, PIECES = 64, 2, 96, 40


@pytest.fixture
def marian():
    return marian_model()


def marian_model():
    """A small random teacher: two encoder layers and one decoder layer."""
    torch.manual_seed(3)
    t = {"Wemb": torch.randn(PIECES, D) * 0.1, "decoder_ff_logit_out_b": torch.randn(1, PIECES)}

    def norm(name):
        t[f"{name}_ln_scale"], t[f"{name}_ln_bias"] = torch.rand(1, D) + 0.5, torch.randn(1, D) * 0.1

    def attention(name):
        for c in "qkvo":
            t[f"{name}_W{c}"], t[f"{name}_b{c}"] = torch.randn(D, D) * D ** -0.5, torch.randn(1, D) * 0.1
        norm(f"{name}_Wo")

    for layer, block in (("encoder_l1", "self"), ("encoder_l2", "self"), ("decoder_l1", "context")):
        attention(f"{layer}_{block}")
        t[f"{layer}_ffn_W1"], t[f"{layer}_ffn_b1"] = torch.randn(D, FFN) * 0.1, torch.randn(1, FFN)
        t[f"{layer}_ffn_W2"], t[f"{layer}_ffn_b2"] = torch.randn(FFN, D) * 0.1, torch.randn(1, D)
        norm(f"{layer}_ffn_ffn")
    t["decoder_l1_rnn_W"], t["decoder_l1_rnn_Wf"] = torch.randn(D, D) * 0.1, torch.randn(D, D) * 0.1
    t["decoder_l1_rnn_bf"] = torch.randn(1, D)
    norm("decoder_l1_rnn_ffn")
    return MarianModel(t, {}, {"dec-depth": 1})


@pytest.fixture
def student(marian):
    ffn = FeedForward("own", FFN)
    config = ModelConfig(vocab_size=inherit.first_piece(4) + PIECES - 2, d_model=D, heads=HEADS, norm="post",
                         encoder=Stack(2, ffn), decoder=Stack(3, ffn), layer_norm_epsilon=1e-6,
                         selection=Selection(width=8), positions=Positions(encoder_self_attention="segment_rotary"))
    return inherit.inherit(marian, config, list(range(2, PIECES)), 4, 0)


def test_the_unit_is_the_recurrence(marian):
    unit, x = inherit.Unit(marian, "decoder_l1"), torch.randn(2, 5, D)
    c = torch.zeros(2, D)
    for t in range(5):
        f = torch.sigmoid(x[:, t] @ marian.tensors["decoder_l1_rnn_Wf"] + marian.tensors["decoder_l1_rnn_bf"])
        c = f * c + (1 - f) * (x[:, t] @ marian.tensors["decoder_l1_rnn_W"])
        assert torch.allclose(unit(x)[:, t], c.relu(), atol=1e-5)


def test_an_encoder_layer_is_the_teachers(marian, student):
    x, t = torch.randn(1, 6, D), marian.tensors
    at, allowed = torch.zeros(1, 6, dtype=torch.long), torch.ones(1, 6, 6, dtype=torch.bool)
    made = student.encoder_layers[0].self_attention(x, x, at, at, allowed, False, SelectionRun(), {})
    q, k, v = ((x @ t[f"encoder_l1_self_W{c}"] + t[f"encoder_l1_self_b{c}"]).unflatten(-1, (HEADS, -1)).transpose(1, 2)
               for c in "qkv")
    expected = F.softmax(q @ k.transpose(-1, -2) * (D // HEADS) ** -0.5, -1) @ v
    expected = expected.transpose(1, 2).flatten(-2) @ t["encoder_l1_self_Wo"] + t["encoder_l1_self_bo"]
    assert torch.allclose(made, expected, atol=1e-5)


def test_the_embedding_keeps_pieces_and_ends_segments_as_sentences(marian, student):
    e, tokens, first = student.embedding.weight, student.config.tokens, inherit.first_piece(4)
    assert torch.equal(e[first:], marian.tensors["Wemb"][2:])
    assert torch.equal(e[tokens.separator], marian.tensors["Wemb"][0])
    assert torch.equal(e[tokens.eos], e[tokens.separator])
    assert not e[tokens.bos].any()


@torch.no_grad()
def test_heads_with_room_attend_as_before_within_a_segment_and_hardly_beyond(student):
    attention = student.encoder_layers[0].self_attention
    basis = torch.randn(10, D)  # states that vary in ten directions only, so that heads of 32 - 8 lose nothing
    x = torch.randn(400, 10) @ basis + torch.randn(D)
    moments = heads.Moments.none(D)
    moments.add(x, x)

    def weights(module, segments):
        at = torch.tensor([segments])
        q, k, _ = module.project(x[None, :12], x[None, :12], at, at)
        return F.softmax(q @ k.transpose(-1, -2) * (D // HEADS) ** -0.5, -1)

    before = weights(attention, [0] * 12)
    heads.set_apart(attention, moments, HEADS)
    assert torch.allclose(weights(attention, [0] * 12), before, atol=0.02)
    query_key = attention.query_key_value
    query_key.weight[:2 * D] = 0  # what is left are the constants
    for distance in range(1, 129):
        apart = weights(attention, [0] * 6 + [distance] * 6)
        assert float(apart[0, :, 0, 6:].sum()) < 0.015


@torch.no_grad()
def test_deeper_layers_begin_as_the_identity(student):
    states = torch.randn(50, D) * 0.7
    inherit.begin_as_identity(student, 1, states)
    x = F.layer_norm(torch.randn(1, 4, D), (D,)) * float(states.std(-1).mean()) + float(states.mean())
    layer = student.decoder_layers[2]
    assert torch.allclose(student.feed_forward(layer, x, True), x, atol=0.05)
    assert not layer.self_attention.output.weight.any() and not layer.cross_attention.output.weight.any()


def test_self_attention_learns_the_unit(marian, student, capsys):
    class Tokenizer:
        def encode(self, text):
            return [inherit.first_piece(4) + int(w) for w in text.split()]

    pairs = [(" ".join(str((7 * i + j * j) % 30) for j in range(8)), " ".join(str((3 * i + j) % 30) for j in range(9)))
             for i in range(60)]
    inherit.separate(student, [inherit.Unit(marian, "decoder_l1")], Tokenizer(), pairs)
    inherit.fit_self_attention(student, [inherit.Unit(marian, "decoder_l1")], Tokenizer(), pairs, 80)
    shown = [float(line.split(": ")[1].split()[0]) for line in capsys.readouterr().err.split("\r") if ": " in line]
    assert shown[-1] < 0.3 and shown[-1] < shown[0]


TEACHER = {"type": "transformer", "transformer-postprocess": "dan", "transformer-preprocess": "", "dec-cell": "ssru",
           "transformer-decoder-autoreg": "rnn", "transformer-ffn-depth": 2, "tied-embeddings-all": True, "dim-emb": D,
           "transformer-heads": HEADS, "transformer-dim-ffn": FFN, "transformer-ffn-activation": "relu", "enc-depth": 2}


@pytest.mark.parametrize("options, flags, message", [
    ({"transformer-ffn-activation": "gelu"}, [], "transformer-ffn-activation: 'gelu'"),
    ({"transformer-dim-ffn": None}, [], "transformer-dim-ffn is missing"),
    ({"dec-depth": 3}, ["--decoder-layers", "2"], "--decoder-layers 2: the teacher has 3"),
    ({}, ["--name", "my model"], "name is .my model.; it must be"),
    ({}, ["--chunk-tokens", "20000"], "chunk_tokens is 20000; it must be")])
def test_what_cannot_begin_is_refused(marian, options, flags, message):
    marian.options.update(TEACHER | options)
    o = inherit.parser().parse_args(["--marian", "x", "--vocabulary", "x", "--text", "x", "--out", "x", *flags])
    with pytest.raises(ValueError, match=message):
        inherit.configuration(marian, 400, o.decoder_layers, o)


@pytest.mark.parametrize("flags", [["--selection-width", "8"], ["--selection-width", "20"], ["--markers", "33"],
                                   ["--markers", "34"], ["--decoder-layers", "0"]])
def test_widths_and_markers_are_those_of_the_engine(flags):
    with pytest.raises(SystemExit):
        inherit.parser().parse_args(["--marian", "x", "--vocabulary", "x", "--text", "x", "--out", "x", *flags])


def test_the_fit_needs_sentences(student):
    class Tokenizer:
        def encode(self, text):
            return [inherit.first_piece(4)] * 50

    with pytest.raises(ValueError, match="--text: no pair has at most 40 tokens on each side"):
        next(inherit.batches_of(student, Tokenizer(), [("long", "long")], 0))


def test_the_command_makes_a_folder_without_files_of_another_model(tmp_path, monkeypatch):
    letters, rng = "abcdefghijklmnopqrstuvwxyz", random.Random(1)
    lines = ["".join(rng.choice(letters) for _ in range(6)) + " " + "".join(rng.sample(letters, 5)) for _ in range(80)]
    (tmp_path / "text.tsv").write_text("".join(f"x|1\t{line}\t{line[::-1]}\n" for line in lines))
    with open(tmp_path / "vocab.spm", "wb") as file:
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=file, vocab_size=PIECES,
                                                 unk_id=1, eos_id=0, bos_id=-1, pad_id=-1, minloglevel=2)
    teacher = marian_model()
    teacher.options.update(TEACHER)
    out = tmp_path / "out"
    out.mkdir()
    for name in ("vocabulary.json", "target_tokenizer.model", "shortlist.safetensors"):
        (out / name).write_text("of another model")
    before = {path.name for path in out.iterdir()}
    monkeypatch.setattr(inherit, "read_model", lambda path: teacher)
    monkeypatch.setattr(inherit, "SEEN_BATCHES", 2)
    monkeypatch.setattr(inherit, "has_bf16", lambda device: False)
    monkeypatch.setattr("sys.argv", ["inherit", "--marian", "x", "--vocabulary", str(tmp_path / "vocab.spm"), "--text",
                                     str(tmp_path / "text.tsv"), "--markers", "2", "--decoder-layers", "2", "--steps",
                                     "2", "--selection-width", "16", "--out", str(out)])
    fit = inherit.fit_self_attention
    monkeypatch.setattr(inherit, "fit_self_attention", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        inherit.main()
    assert {path.name for path in out.iterdir()} == before
    monkeypatch.setattr(inherit, "fit_self_attention", fit)
    inherit.main()
    assert {path.name for path in out.iterdir()} == {"README.md", "config.json", "model.safetensors", "tokenizer.model"}
    assert load_model(out)[1].tokens.markers.count == 2
