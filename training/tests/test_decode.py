"""The oracle against the batched model, against recomputation, and against what searching promises."""

import math

import pytest
import torch

from salient.decode import SLACK, Oracle, Settings, mass_weights
from salient.export import load_model
from salient.fixture import settings_for, values
from salient.model import segment_of
from salient.selection import MODULES, SelectionLayer, SelectionRun
from salient.tiny import variants

VARIANTS = variants()
SELECTING = [name for name, config in VARIANTS.items() if config.selection]
EXITING = [name for name, config in VARIANTS.items() if config.exits]


@pytest.fixture(scope="module")
def oracle_of(tiny_models):
    made = {}

    def oracle(name):
        if name not in made:
            made[name] = Oracle(load_model(tiny_models / name)[0])
        return made[name]

    return oracle


def teacher_forced(model, source, tokens, run):
    with torch.no_grad():
        source, target = torch.tensor([source]), torch.tensor([[model.config.tokens.bos, *tokens[:-1]]])
        memory = model.encode(source, run)
        return memory[0], [x[0] for x in model.decode(target, source, memory, run)]


def close(a, b):
    return torch.allclose(a, b, rtol=2e-3, atol=2e-4 * float(b.abs().max()))


def assert_states_equal(result, memory, states):
    assert close(result.encoded.memory, memory)
    for t, step in enumerate(result.finished[0].steps):
        for n, state in enumerate(step.states):
            assert close(state, states[n][t]), f"token {t}, layer {n}"


@pytest.mark.parametrize("name", list(VARIANTS))
def test_dense_states_are_the_batched_models(oracle_of, chunk, name):
    oracle = oracle_of(name)
    result = oracle.translate(chunk, Settings(max_length_ratio=0.5))
    assert_states_equal(result, *teacher_forced(oracle.model, chunk, result.finished[0].tokens, SelectionRun()))
    last = torch.stack([step.states[-1] for step in result.finished[0].steps])
    logits = oracle.model.logits(oracle.config.decoder.layers - 1, last).detach()
    logits[:, oracle.config.search.suppressed] = -math.inf
    logits = logits.log_softmax(-1)
    tokens = oracle.config.tokens
    for t, step in enumerate(result.finished[0].steps):
        own = float(logits[t, step.token])
        if oracle.numbers([step.token]) and step.log_probability > own + 1e-3:  # it stands in for what would close
            own = float(logits[t, [tokens.separator, tokens.eos]].max())
        assert step.log_probability == pytest.approx(own, abs=1e-3)


@pytest.mark.parametrize("name", SELECTING)
@pytest.mark.parametrize("settings", [
    Settings(selection="learned", max_length_ratio=0.5),
    Settings(selection="ratio", values=values(0.3, 0.4, 0.2), min_keys=2, max_length_ratio=0.5),
    Settings(selection="window", values=values(4, 4, 4), max_length_ratio=0.5)])
def test_selected_states_are_the_batched_models(tiny_models, chunk, name, settings):
    model, config = load_model(tiny_models / name)
    oracle = Oracle(model)
    result = oracle.translate(chunk, settings)
    for layer in model.modules():
        if isinstance(layer, SelectionLayer):
            layer.forward = layer.integer_scores  # ranks as the engine does
    run = SelectionRun(mode="select", straight_through=False, window=4 if settings.selection == "window" else None,
                       ratio={m: [oracle.rule(settings, m, g)[1] for g in range(len(config.selection_layers(m)))]
                              for m in MODULES}, min_keys=oracle.rule(settings, "cross", 0)[2])
    assert_states_equal(result, *teacher_forced(model, chunk, result.finished[0].tokens, run))


def with_copied_states(model, source, tokens, exits):
    """States after every layer, computed layer by layer for all tokens at once: one that has left keeps its state."""
    config, run = model.config, SelectionRun()
    source, target = torch.tensor([source]), torch.tensor([[config.tokens.bos, *tokens[:-1]]])
    with torch.no_grad():
        memory = model.encode(source, run)
        at, length = torch.arange(target.shape[1])[None], target.shape[1]
        causal = torch.ones(1, length, length, dtype=torch.bool).tril()
        target_segment, offsets = segment_of(target, config.tokens.separator, inclusive=True)
        source_segment, _ = segment_of(source, config.tokens.separator, inclusive=False)
        seen = torch.ones(1, length, source.shape[1], dtype=torch.bool)
        x, states = model.embed(target, offsets, True), []
        for n, layer in enumerate(model.decoder_layers):
            y = layer.residual(x, layer.self_attention_norm, layer.ssru or (
                lambda z: layer.self_attention(z, z, at, at, causal, True, run, {})))
            y = layer.residual(y, layer.cross_attention_norm, lambda z: layer.cross_attention(
                z, memory, target_segment, source_segment, seen, False, run, {}))
            y = model.feed_forward(layer, y, True)
            x = torch.where((torch.tensor(exits) > n)[None, :, None], y, x)
            states.append(x[0])
    return states


@pytest.mark.parametrize("name", EXITING)
def test_copied_states_are_what_upper_layers_attend_to(oracle_of, chunk, name):
    oracle, n = oracle_of(name), VARIANTS[name].decoder.layers
    full = oracle.translate(chunk, Settings(max_length_ratio=0.5)).finished[0]
    medians = [float(oracle.model.logits(k, torch.stack([step.states[k] for step in full.steps])).softmax(-1).amax(-1)
                     .median()) for k in range(n)]  # so that some tokens leave at every layer and some go on
    settings = Settings(depth="confidence", thresholds=medians, max_length_ratio=0.5)
    best = oracle.translate(chunk, settings).finished[0]
    exits = [step.exit for step in best.steps]
    assert len(set(exits)) > 1
    states = with_copied_states(oracle.model, chunk, best.tokens, exits)
    for t, step in enumerate(best.steps):
        assert len(step.states) == step.exit
        for layer, state in enumerate(step.states):
            assert close(state, states[layer][t])


@pytest.mark.parametrize("name", EXITING)
def test_a_fixed_exit_is_a_shallower_model(oracle_of, chunk, name):
    oracle = oracle_of(name)
    result = oracle.translate(chunk, Settings(depth="fixed", fixed_exit=2, max_length_ratio=0.5))
    best, markers = result.finished[0], oracle.config.tokens.markers
    markers = range(markers.first, markers.first + markers.count) if markers else range(0)
    assert {step.exit for step in best.steps} == {2}
    _, states = teacher_forced(oracle.model, chunk, best.tokens, SelectionRun())
    for t, step in enumerate(best.steps):
        assert close(step.states[1], states[1][t])
        logits = oracle.model.logits(1, states[1][t]).detach()
        logits[:3] = -math.inf
        logits[3 if best.tokens[:t].count(4) < 2 else 4] = -math.inf
        logits[markers] = -math.inf  # those that the source has not; the others are left out of the comparison
        if step.gap > 1e-3 and best.tokens[t] not in (3, 4, *markers):
            assert int(logits.argmax()) == step.token


def test_exit_policies_do_what_their_equations_say(oracle_of, chunk):
    oracle = oracle_of("base")
    model, n = oracle.model, 3
    s = Settings(max_length_ratio=0.5)
    memory = oracle.translate(chunk, s).encoded.memory
    sequence = oracle.translate(chunk, Settings(depth="sequence", max_length_ratio=0.5)).finished[0]
    expected = int(model.halting.sequence(memory.mean(0)).argmax()) + 1
    assert {step.exit for step in sequence.steps} == {expected}

    for step in oracle.translate(chunk, Settings(depth="multinomial", max_length_ratio=0.5)).finished[0].steps:
        assert step.exit == int(model.halting.multinomial(model.exit_norms[0](step.states[0])).argmax()) + 1

    thresholds = [0.6, 0.4, 0.5]
    geometric = Settings(depth="geometric", thresholds=thresholds, max_length_ratio=0.5)
    for step in oracle.translate(chunk, geometric).finished[0].steps:
        halts = [float(torch.sigmoid(model.halting.geometric_logit(k, model.exit_norms[k](x)))) > thresholds[k]
                 for k, x in enumerate(step.states[:n - 1])]
        assert step.exit == (halts.index(True) + 1 if True in halts else n)

    for settings in (geometric, Settings(depth="multinomial"), Settings(depth="sequence"), Settings()):
        settings.min_exit = settings.max_exit = 2
        assert {step.exit for step in oracle.translate(chunk, settings).finished[0].steps} == {2}


def segments_of(tokens):
    assert tokens[-1] == 3 and 3 not in tokens[:-1]
    segments = [[]]
    for token in tokens[:-1]:
        if token == 4:
            segments.append([])
        else:
            segments[-1].append(token)
    return segments


@pytest.mark.parametrize("name", ["base", "post", "no-exits"])
def test_every_setting_keeps_the_segments_and_their_bounds(oracle_of, chunk, name):
    oracle = oracle_of(name)
    for label, s in settings_for(oracle.config).items():
        s.max_length_ratio = min(s.max_length_ratio, 0.5)
        result = oracle.translate(chunk, s)
        assert 1 <= len(result.finished)
        for h in result.finished:
            segments = segments_of(h.tokens)
            assert len(segments) == 3, label
            for segment, source_tokens in zip(segments, (7, 3, 5)):
                assert len(segment) <= math.floor(s.max_length_ratio * source_tokens) + SLACK
                assert not {0, 1, 2, 3, 4} & set(segment)
            assert h.tokens[:len(s.prefix)] == s.prefix


def test_a_full_segment_is_closed(oracle_of, chunk):
    oracle = oracle_of("base")
    bias = oracle.model.output_bias.data.clone()
    oracle.model.output_bias.data[[3, 4]] = -1e4  # it would never stop by itself
    best = oracle.translate(chunk, Settings(max_length_ratio=0.5)).finished[0]
    oracle.model.output_bias.data.copy_(bias)
    assert [len(s) for s in segments_of(best.tokens)] == [SLACK + 3, SLACK + 1, SLACK + 2]


def test_a_forced_token_that_the_model_suppresses_counts_nothing(oracle_of, chunk, monkeypatch):
    oracle = oracle_of("base")
    monkeypatch.setattr(oracle.config.search, "suppressed", [9])
    best = oracle.translate(chunk, Settings(prefix=[9, 11], max_length_ratio=0.3)).finished[0]
    assert best.tokens[:2] == [9, 11] and 9 not in best.tokens[1:]
    assert best.steps[0].log_probability == 0.0 and math.isfinite(best.total)


@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.0])
def test_beams_add_up(oracle_of, chunk, penalty):
    oracle = oracle_of("base")
    result = oracle.translate(chunk, Settings(beam=4, length_penalty=penalty, max_length_ratio=0.3))
    scores = [h.score for h in result.finished]
    assert len(scores) >= 4 and scores == sorted(scores, reverse=True)
    assert len({tuple(h.tokens) for h in result.finished}) == len(scores)
    for h in result.finished[:2]:
        _, states = teacher_forced(oracle.model, chunk, h.tokens, SelectionRun())
        log_probabilities = oracle.model.logits(2, states[2]).detach().log_softmax(-1)
        total = sum(float(log_probabilities[t, token]) for t, token in enumerate(h.tokens))
        assert h.total == pytest.approx(total, abs=2e-2)
        assert h.score == pytest.approx(h.total / len(h.tokens) ** penalty)


def test_a_wider_beam_finds_what_greedy_search_finds_or_better(oracle_of):
    oracle = oracle_of("no-selection")
    source = [31, 47, 3]
    greedy = oracle.translate(source, Settings(length_penalty=0.0, max_length_ratio=0.3)).finished
    wide = oracle.translate(source, Settings(beam=8, length_penalty=0.0, max_length_ratio=0.3)).finished
    assert len(greedy) == 1
    assert wide[0].total >= greedy[0].total - 1e-6


def test_tallies_count_keys(oracle_of, chunk):
    oracle, length = oracle_of("base"), len(chunk)
    dense = oracle.translate(chunk, Settings(max_length_ratio=0.5))
    steps = len(dense.finished[0].tokens)
    assert dense.tallies["encoder"].visible == dense.tallies["encoder"].attended == 4 * length ** 2
    assert dense.tallies["decoder"].visible == 3 * steps * (steps + 1) // 2
    assert dense.tallies["cross"].visible == 3 * steps * length
    assert all(tally.scored == 0 for tally in dense.tallies.values())

    s = Settings(selection="ratio", values=values(0.25, 0.5, 0.25), min_keys=1, depth="fixed", fixed_exit=2,
                 max_length_ratio=0.5)
    sparse = oracle.translate(chunk, s)
    steps, kept = len(sparse.finished[0].tokens), math.ceil(0.25 * length)
    encoder, decoder, cross = (sparse.tallies[m] for m in MODULES)
    assert encoder.attended == 4 * length * kept and encoder.scored == 2 * length ** 2  # layers 0 and 3 choose
    assert cross.attended == 2 * steps * kept and cross.scored == steps * length  # layers 0, 1 run; 0 chooses
    assert decoder.attended == 2 * sum(math.ceil(0.5 * t) for t in range(1, steps + 1))
    assert decoder.scored == sum(t for t in range(2, steps + 1))  # one key of one needs no score


def test_mass_holds_the_share_it_names():
    import numpy as np

    scores = np.asarray([900, 400, 1000, -300], np.int64)
    width, largest, inverse_step = 16, 2.0, 10.0
    real = scores * (largest / 127 / inverse_step / math.sqrt(width))
    expected = np.exp(real - real.max())
    weights = np.asarray(mass_weights(scores, largest, inverse_step, width)) / 2 ** 31
    assert np.allclose(weights, expected, rtol=1e-3)


def test_mass_keeps_the_fewest_keys(oracle_of, chunk):
    oracle = oracle_of("base")
    selection = oracle.model.encoder_layers[0].self_attention.selection
    s = Settings(selection="mass", values=values(0.7, 0.7, 0.7), min_keys=1)
    with torch.no_grad():
        query = torch.randn(16)
        keys = [torch.round(torch.randn(16) * 40).clamp(-127, 127) for _ in range(30)]
        choice = oracle.choose(s, "encoder", 0, selection, query, keys, 30, 0)
        real = torch.stack(keys) @ query / selection.key_inverse_step / 4
        weights = real.softmax(-1)
    held = float(weights[choice.keys].sum())
    assert held >= 0.69
    assert held - float(weights[choice.keys].min()) < 0.71
    assert choice.scored == 30
