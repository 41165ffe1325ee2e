import pytest
import torch

from salient.config import Exits, FeedForward, ModelConfig, Positions, Search, Selection, Stack, Tokens
from salient.data import BOS, EOS, PAD, SEPARATOR
from salient.decode import Oracle, Settings, Tally
from salient.model import FUSED_FROM, Attention, Transformer, attend, segment_of
from salient.selection import SelectionLayer, SelectionRun


def small(**changes) -> ModelConfig:
    base = dict(vocab_size=40, d_model=32, heads=2, encoder=Stack(3, FeedForward("own", 48)),
                decoder=Stack(3, FeedForward("own", 48)), exits=Exits("tied", ["geometric"]),
                selection=Selection(8, 2, {"encoder": 2, "decoder": 2, "cross": 3},
                                    {"encoder": [0.4, 0.5], "decoder": [0.5, 0.4], "cross": [0.5]}))
    return ModelConfig(**{**base, **changes})


def built(config: ModelConfig, seed: int = 1) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(config).eval()


def selecting(config: ModelConfig, **changes) -> SelectionRun:
    return SelectionRun(**{**dict(mode="select", ratio=config.selection.learned_ratio, min_keys=2), **changes})


SOURCE = torch.tensor([[7, 8, 9, SEPARATOR, 10, 11, 12, 13, EOS], [20, 21, SEPARATOR, 22, EOS, PAD, PAD, PAD, PAD]])
TARGET = torch.tensor([[BOS, 30, 31, SEPARATOR, 32, 33, 34], [BOS, 35, SEPARATOR, 36, PAD, PAD, PAD]])


def states_of(model, source, target, run):
    return model.decode(target, source, model.encode(source, run), run)


@pytest.mark.parametrize("mode", ["dense", "supervise", "select"])
def test_padding_changes_nothing(mode):
    config = small()
    model = built(config)
    together = states_of(model, SOURCE, TARGET, selecting(config, mode=mode))
    alone = states_of(model, SOURCE[1:, :5], TARGET[1:, :4], selecting(config, mode=mode))
    for n in range(3):
        assert torch.allclose(together[n][1, :4], alone[n][0], atol=1e-5)


@pytest.mark.parametrize("mode", ["dense", "select"])
@pytest.mark.parametrize("source_size", [60, 30])
def test_the_number_of_the_pad_token_may_be_a_piece_of_the_source(mode, source_size):
    """As the engine has it, which reads a source as it is: in a vocabulary of the source's own the number is a piece
    like any other, or beyond the vocabulary."""
    config = small(source_vocab_size=source_size, tokens=Tokens(39, 1, 39, EOS, None))
    model, piece = built(config), min(39, source_size - 1)
    for layer in model.modules():
        if isinstance(layer, SelectionLayer):
            layer.forward = layer.integer_scores  # ranks as the engine does
    short, long = [7, piece, 9, piece, EOS], [piece, piece, 7, 8, 9, 10, 11, 12, EOS]
    source = torch.tensor([[*short, 39, 39, 39, 39], long])
    target = torch.tensor([[39, 30, 31], [39, 35, 36]])
    memory = model.encode(source, selecting(config, mode=mode))
    settings = Settings(selection="learned" if mode == "select" else "dense")
    for row, tokens in ((0, short), (1, long)):
        engines = Oracle(model).encode(tokens, settings, Tally()).memory
        assert torch.allclose(memory[row, :len(tokens)], engines, atol=1e-4)
    together, alone = (states_of(model, *batch, selecting(config, mode=mode))[-1]
                       for batch in ((source, target), (source[:1, :5], target[:1])))
    assert torch.allclose(together[0], alone[0], atol=1e-5)


def test_where_decoding_starts_from_the_pad_token_it_reads_no_later_token():
    config = small(tokens=Tokens(PAD, 1, PAD, EOS, SEPARATOR))
    model, changed = built(config), TARGET.clone()
    changed[0, 5] = 39
    for mode, learns in (("supervise", True), ("select", True), ("select", False)):
        a, b = (states_of(model, SOURCE, t.masked_fill(t.eq(BOS), PAD), selecting(config, mode=mode, learns=learns))
                for t in (TARGET, changed))
        assert torch.equal(a[-1][0, :5], b[-1][0, :5])


def test_logits_of_decoding_leave_out_what_no_translation_may_contain():
    model = built(small(search=Search(suppressed=[4, 9])))
    state = torch.randn(2, 3, 32)
    plain, decoding = model.logits(1, state), model.decoding_logits(1, state)
    assert decoding[..., [4, 9]].eq(-float("inf")).all()
    kept = [v for v in range(40) if v not in (4, 9)]
    assert torch.equal(decoding[..., kept], plain[..., kept])
    model.config.search.suppressed = []
    assert torch.equal(model.decoding_logits(1, state), plain)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_later_target_tokens_do_not_reach_earlier_states(norm):
    config = small(norm=norm)
    model = built(config)
    changed = TARGET.clone()
    changed[0, 5] = 39
    for mode in ("dense", "select"):
        a, b = (states_of(model, SOURCE, t, selecting(config, mode=mode))[-1] for t in (TARGET, changed))
        assert torch.equal(a[0, :5], b[0, :5]) and not torch.allclose(a[0, 5:], b[0, 5:])


def test_a_token_that_leaves_hands_its_state_up():
    model, run = built(small()), SelectionRun()
    memory, read = model.encode(SOURCE, run), []
    for layer in model.decoder_layers:
        layer.self_attention.register_forward_pre_hook(lambda _, inputs: read.append(inputs[1]))
    exits = torch.tensor([[0, 2, 1, 0, 2, 1, 2], [2] * 7])
    states, keys_from = model.decode(TARGET, SOURCE, memory, run, exits), read[:3]
    full = model.decode(TARGET, SOURCE, memory, run)
    for n, layer in enumerate(model.decoder_layers):
        left = exits < n
        for row, t in left.nonzero().tolist():
            assert torch.equal(states[n][row, t], states[exits[row, t]][row, t])
        if n:
            assert torch.equal(keys_from[n], layer.self_attention_norm(states[n - 1]))
    assert torch.equal(states[0], full[0]) and torch.equal(states[2][1], full[2][1])
    assert torch.equal(states[1][0, 1], full[1][0, 1])  # the first layer's states are what they were, as keys too
    assert not torch.allclose(states[2][0, 4], full[2][0, 4])  # the third layer reads a key of another state


@pytest.mark.parametrize("length", [9, FUSED_FROM + 9])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_its_formula_however_many_keys_there_are(length, causal):
    torch.manual_seed(4)
    queries, keys, values = (torch.randn(2, 2, length, 16, requires_grad=True) for _ in range(3))
    mask = torch.ones(length, length, dtype=torch.bool).tril() if causal else torch.arange(length) % 3 > 0
    scores = (queries @ keys.transpose(-1, -2) / 4).masked_fill(~mask, float("-inf"))
    weights = torch.randn(2, 2, length, 16)
    given = None if causal else mask.expand(2, 1, length, length)
    found = []
    for output in (scores.softmax(-1) @ values, attend(queries, keys, values, given, causal)):
        found.append([output, *torch.autograd.grad((output * weights).sum(), (queries, keys, values))])
    for expected, actual in zip(*found):
        assert torch.allclose(actual, expected, atol=1e-5)


def test_supervised_attention_stays_dense():
    config = small()
    model = built(config)
    dense = states_of(model, SOURCE, TARGET, SelectionRun())[-1]
    supervised = states_of(model, SOURCE, TARGET, selecting(config, mode="supervise"))[-1]
    assert torch.allclose(dense[0], supervised[0], atol=1e-5)


def test_selecting_everything_is_dense_attention():
    config = small()
    model = built(config)
    run = selecting(config, ratio={m: [1.0, 1.0] for m in ("encoder", "decoder", "cross")})
    dense = states_of(model, SOURCE, TARGET, SelectionRun())[-1]
    assert torch.allclose(states_of(model, SOURCE, TARGET, run)[-1][0], dense[0], atol=1e-5)
    assert run.kept == {"encoder": [1.0, 1.0], "decoder": [1.0, 1.0], "cross": [1.0]}
    assert all(held == pytest.approx(1.0) for m in run.captured.values() for held in m)


def test_a_window_reads_its_keys_and_no_others():
    config = small()
    model = built(config)
    changed = SOURCE.clone()
    changed[0, 8] = 39  # out of reach of the first position: 3 keys a layer, 3 layers
    a, b = (model.encode(s, selecting(config, window=3)) for s in (SOURCE, changed))
    assert torch.allclose(a[0, 0], b[0, 0], atol=1e-6) and not torch.allclose(a[0, 7], b[0, 7])
    dense = [model.encode(s, SelectionRun()) for s in (SOURCE, changed)]
    assert not torch.allclose(dense[0][0, 0], dense[1][0, 0])


def test_sets_that_are_only_applied_are_those_that_are_learnt():
    config = small()
    model = built(config).train()
    learnt, applied = (selecting(config, learns=learns, straight_through=False) for learns in (True, False))
    expected, found = (states_of(model, SOURCE, TARGET, run) for run in (learnt, applied))
    for n in range(3):
        assert torch.allclose(expected[n][0], found[n][0], atol=1e-5)
        assert torch.allclose(expected[n][1, :4], found[n][1, :4], atol=1e-5)
    assert applied.kept == learnt.kept and applied.loss == 0.0 and not applied.captured
    model.logits(2, found[2]).square().mean().backward()
    for name, p in model.named_parameters():
        assert ".selection." not in name or p.grad is None, name


@pytest.mark.parametrize("straight_through, alpha, reached", [
    (True, 0.0, True), (False, 0.0, False), (False, 0.01, True), (True, 0.01, True)])
def test_gradients_reach_selection_through_equation_3_or_5(straight_through, alpha, reached):
    config = small()
    model = built(config).train()
    run = selecting(config, straight_through=straight_through)
    states = states_of(model, SOURCE, TARGET, run)
    (model.logits(2, states[2]).square().mean() + alpha * run.loss).backward()
    for name, p in model.named_parameters():
        if ".selection." in name:
            assert (p.grad is not None and bool(p.grad.abs().sum() > 0)) == reached, name


def test_equation_3_is_the_derivative_by_a_variable_mask():
    """The gradient by As is that of attention weighted by a mask that could vary, times what the mask holds."""
    torch.manual_seed(1)
    scores, values = torch.randn(1, 1, 3, 6, requires_grad=True), torch.randn(6)
    mask, soft = torch.rand(1, 3, 6) > 0.4, torch.randn(1, 3, 6).softmax(-1).requires_grad_()
    attention = scores.softmax(-1)
    weights = Attention.sparse(scores, attention, {"mask": mask, "soft": soft}, SelectionRun())
    by_scores, by_soft = torch.autograd.grad((weights @ values).sum(), [scores, soft])
    variable = mask.float().requires_grad_()
    weighted = attention * variable.unsqueeze(1)
    held = weighted.sum(-1, keepdim=True)
    expected = torch.autograd.grad((weighted / held @ values).sum(), [scores, variable])
    assert torch.allclose(weights, weighted / held, atol=1e-6)
    assert torch.allclose(by_scores, expected[0], atol=1e-6)
    assert torch.allclose(by_soft, expected[1] * held.squeeze(1), atol=1e-6)


def test_equation_3_has_a_bound_where_the_set_holds_nothing():
    scores = torch.tensor([[[[60.0, 0.0, 0.5]]]])
    mask, soft = torch.tensor([[[False, True, True]]]), torch.full((1, 1, 3), 1 / 3, requires_grad=True)
    weights = Attention.sparse(scores, scores.softmax(-1), {"mask": mask, "soft": soft}, SelectionRun())
    (weights @ torch.tensor([1.0, -1.0, 0.0])).sum().backward()
    assert soft.grad.abs().max() <= 2  # A_j |v_j - output|


def test_attention_over_a_set_sums_to_one_however_little_it_held():
    scores = torch.tensor([[[[60.0, 0.0, 0.5]]]])
    mask = torch.tensor([[[False, True, True]]])
    weights = Attention.sparse(scores, scores.softmax(-1), {"mask": mask}, SelectionRun(straight_through=False))
    assert torch.allclose(weights[0, 0, 0], torch.tensor([0.0, *torch.tensor([0.0, 0.5]).softmax(-1).tolist()]))


def blocks(model) -> set:
    return {id(m) for m in model.modules() if type(m).__name__ == "FeedForwardBlock"}


@pytest.mark.parametrize("encoder, decoder, count, decoder_reads", [
    (FeedForward("own", 48), FeedForward("own", 48), 6, "own"),
    (FeedForward("shared", 48), FeedForward("own", 48), 4, "own"),
    (FeedForward("own", 48), FeedForward("shared", 48), 4, "decoder"),
    (FeedForward("shared", 48), FeedForward("shared", 48), 2, "decoder"),
    (FeedForward("shared", 48), FeedForward("encoder", 48), 1, "encoder"),
    (FeedForward("none", 0), FeedForward("own", 48), 3, "own"),
    (FeedForward("own", 48), FeedForward("none", 0), 3, None),
    (FeedForward("none", 0), FeedForward("none", 0), 0, None),
    (FeedForward("shared", 48), FeedForward("none", 0), 1, None),
    (FeedForward("shared", 6 * 48), FeedForward("none", 0), 1, None),  # One Wide FFN
])
def test_feed_forward_kinds_share_what_they_say(encoder, decoder, count, decoder_reads):
    model = built(small(encoder=Stack(3, encoder), decoder=Stack(3, decoder)))
    assert len(blocks(model)) == count
    before = states_of(model, SOURCE, TARGET, SelectionRun())[-1]
    memory = model.encode(SOURCE, SelectionRun())
    for name, block in (("decoder", model.decoder_ffn), ("encoder", model.encoder_ffn)):
        if block is None:
            continue
        stored = block.down.weight.data.clone()
        block.down.weight.data += 1.0
        after = model.decode(TARGET, SOURCE, memory, SelectionRun())[-1]
        assert torch.equal(after, before) == (decoder_reads != name)
        block.down.weight.data.copy_(stored)


def test_classifiers_are_tied_or_one_a_layer():
    tied, untied = built(small()), built(small(exits=Exits("untied", [])))
    assert all(tied.classifier(n) is tied.embedding.weight for n in range(3))
    assert len({id(untied.classifier(n)) for n in range(3)} | {id(untied.embedding.weight)}) == 4


def test_segment_positions_make_segments_comparable():
    """With positions counted within segments, a segment's embedding does not depend on what came before it."""
    config = small(positions=Positions("segment_sinusoidal", "none", "none"))
    model = built(config)
    tokens = torch.tensor([[7, 8, SEPARATOR, 7, 8, EOS]])
    x = model.embed(tokens, segment_of(tokens, SEPARATOR, inclusive=False)[1], False)
    assert torch.equal(x[0, :2], x[0, 3:5])


def test_config_survives_its_file():
    without_ffn = small(norm="post", encoder=Stack(2, FeedForward("none", 0)))
    for config in (small(), small(selection=None, exits=None), without_ffn):
        assert ModelConfig.from_json(config.to_json()) == config
    with pytest.raises(ValueError, match="format"):
        ModelConfig.from_json('{"format": "other"}')
