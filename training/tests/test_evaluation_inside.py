"""What is asked of the PyTorch model: likelihoods of references, similarity, decoding with nothing forbidden."""

from pathlib import Path

import pytest
import torch

from salient import evaluate, teacher_forcing, thresholds
from salient.config import ModelConfig
from salient.evaluation import inside, segments, similarity, tokens
from salient.evaluation.run import Run, Section, Sizes
from salient.evaluation.sets import Document
from salient.evaluation.tokens import Chunk
from salient.export import load_model
from salient.selection import SelectionRun
from salient.teacher_forcing import Forced
from salient.vocabulary import Vocabulary

TARGET = [2, 31, 47, 300, 4, 88, 340, 4, 17, 6, 3]


def as_chunk(source: list[int]) -> Chunk:
    return Chunk(torch.tensor([source]), torch.tensor([TARGET]), 3)


def forced_on(model, source: list[int]) -> Forced:
    return teacher_forcing.force(model, torch.tensor([source]), torch.tensor([TARGET]))


def test_chunks_hold_what_fits():
    assert tokens.packed([3, 3, 3, 9, 1], 8) == [(0, 2), (2, 3), (3, 4), (4, 5)]
    assert tokens.packed([2], 8) == [(0, 1)] and tokens.packed([], 8) == []


DOCUMENT = Document("news", ["Three birds sat on the roof.", "Nobody knew the answer."],
                    [["Drei Vögel saßen auf dem Dach.", "Niemand wusste die Antwort."]])


def chunks_of(folder, limit: int = 256) -> list[tuple[list[int], list[int], int]]:
    made = tokens.chunks([DOCUMENT], Vocabulary(folder, ModelConfig.load(folder)), limit)
    return [(c.source[0].tolist(), c.target[0].tolist(), c.segments) for c in made]


def test_a_chunk_has_separators_between_its_segments(tiny_models):
    [(source, target, segments)] = chunks_of(tiny_models / "base")
    assert segments == 2 and source.count(4) == target.count(4) == 1
    assert target[0] == 2 and source[-1] == target[-1] == 3


def test_a_model_of_single_sentences_has_its_own_tokens_and_a_chunk_a_segment(tiny_models):
    folder = tiny_models / "opus"
    vocabulary, made = Vocabulary(folder, ModelConfig.load(folder)), chunks_of(folder)
    assert [segments for *_, segments in made] == [1, 1]
    for (source, target, _), line, reference in zip(made, DOCUMENT.lines, DOCUMENT.references[0]):
        assert source == [*vocabulary.encode(line), 3]
        assert target == [0, *vocabulary.encode(reference), 3]  # decoding starts from the pad token


def test_a_model_of_several_languages_reads_its_own_pieces_after_the_languages_token(tiny_models):
    folder = tiny_models / "multilingual"
    vocabulary = Vocabulary(folder, ModelConfig.load(folder))
    made = chunks_of(folder)
    for (source, target, _), line, reference in zip(made, DOCUMENT.lines, DOCUMENT.references[0]):
        assert (source[0], source[-1]) == (370, 3)
        pieces = vocabulary.tokenizer.encode(line, out_type=str)
        known = set(vocabulary.source)
        assert [vocabulary.source[t] for t in source[1:-1]] == [p if p in known else "<unk>" for p in pieces]
        assert (target[:2], target[-1]) == ([3, 371], 3)
        assert [vocabulary.target[t] for t in target[2:-1]] == vocabulary.tokenizer.encode(reference, out_type=str)
    assert len(made) == 2


def test_what_no_translation_may_contain_has_no_probability(tiny_models):
    """As in the engine: such a token is no exit's best, and the others share its probability."""
    model, _ = load_model(tiny_models / "base")
    source = [31, 47, 215, 4, 88, 3]
    plain = forced_on(model, source)
    with torch.no_grad():
        run, given = SelectionRun(), torch.tensor([source])
        states = model.decode(torch.tensor([TARGET[:-1]]), given, model.encode(given, run), run)
        best = sorted({int(t) for n, h in enumerate(states) for t in model.logits(n, h)[0].argmax(-1)} - {*TARGET})
    model.config.search.suppressed = best
    forced = forced_on(model, source)
    assert (forced.likelihood > plain.likelihood).any(0).all() and (forced.likelihood >= plain.likelihood - 1e-5).all()
    assert segments.decode_freely(model, [source])[0] and not {*segments.decode_freely(model, [source])[0]} & {*best}


def test_the_token_of_the_language_is_not_measured(tiny_models):
    folder = tiny_models / "multilingual"
    model, config = load_model(folder)
    [chunk, _] = tokens.chunks([DOCUMENT], Vocabulary(folder, config), 256)
    forced = teacher_forcing.force(model, chunk.source, chunk.target, given=chunk.given)
    whole = teacher_forcing.force(model, chunk.source, chunk.target)
    assert chunk.given == 1 and len(forced.likelihood) == chunk.target.shape[1] - 2
    for name in ("likelihood", "correct", "same", "loss", "confidence"):
        assert torch.equal(getattr(forced, name), getattr(whole, name)[1:])


@pytest.mark.parametrize("variant", ["base", "opus", "student", "multilingual"])
def test_the_sections_take_any_model(tiny_models, tmp_path, monkeypatch, variant):
    monkeypatch.setattr(inside.figures, "similarity", lambda title, *_: tmp_path / f"{title}.svg")  # no matplotlib
    (tmp_path / "dev.tsv").write_text("".join(f"news|{n // 2}\t{line}\t{reference}\n" for n, (line, reference) in
                                              enumerate(zip(DOCUMENT.lines * 4, DOCUMENT.references[0] * 4))))
    run = Run(None, tiny_models / variant, tmp_path / "dev.tsv", tmp_path, Sizes())
    assert "oracle, likelihood" in inside.oracles(run).body
    assert "8 segments" in inside.likeness(run).body
    counts = inside.segment_counts(run).body
    assert ("have as many segments" if variant == "base" else "has no separator") in counts


# Teacher forcing: a chunk of two tokens and three exits.

HAND = Forced(likelihood=torch.tensor([[-2.0, -1.5, -0.5], [-1.0, -0.9, -0.95]]),
              correct=torch.tensor([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]),
              same=torch.tensor([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]),
              loss=torch.tensor([[0.3, 0.0, 0.0], [0.1, 0.1, 0.0]]),
              confidence=torch.tensor([[0.2, 0.6, 0.7], [0.9, 0.9, 0.9]]),
              halting=torch.tensor([[0.1, 0.6, 0.2], [0.6, 0.1, 0.1]]), multinomial=torch.tensor([2, 0]), sequence=1)


def test_oracles_by_hand():
    assert teacher_forcing.oracle_exits(HAND, "likelihood", 0.0).tolist() == [2, 1]
    assert teacher_forcing.oracle_exits(HAND, "likelihood", 0.2).tolist() == [2, 0]
    assert teacher_forcing.oracle_exits(HAND, "correctness", 0.1).tolist() == [2, 0]
    assert teacher_forcing.oracle_exits(HAND, "correctness", 0.6).tolist() == [0, 0]
    assert teacher_forcing.oracle_exits(HAND, "agreement", 0.1).tolist() == [1, 2]


def test_a_rule_is_measured_by_what_its_exits_say():
    point = teacher_forcing.measure([HAND], [torch.tensor([2, 0])])
    assert (point.mean_exit, point.nll, point.accuracy) == (2.0, 0.75, 1.0)
    assert teacher_forcing.first_above(HAND.halting.clone(), 0.5).tolist() == [1, 0]
    assert teacher_forcing.first_above(HAND.confidence.clone(), 0.8).tolist() == [2, 0]


def test_thresholds_leave_what_was_measured_alone():
    before = HAND.confidence.clone()
    teacher_forcing.first_above(HAND.confidence, 0.95)
    assert torch.equal(HAND.confidence, before)


def test_a_threshold_a_layer_is_better_than_one_for_all():
    # layer 1 is right only when it is very sure, layer 2 when it is a little so
    signal = torch.tensor([[0.7, 0.4, 0.0], [0.9, 0.9, 0.0], [0.6, 0.3, 0.0], [0.8, 0.1, 0.0]])
    loss = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    found = thresholds.tuned(signal, loss, 0.05)
    assert 0.8 <= found[0] < 0.9 and 0.1 <= found[1] < 0.3
    assert thresholds.cost(signal, loss, found, 0.05) == pytest.approx(0.05 * (2 + 1 + 2 + 3) / 4)
    assert thresholds.cost(signal, loss, [0.85, 0.85], 0.05) == pytest.approx(0.05 * (3 + 1 + 3 + 3) / 4)


def test_a_change_between_words_as_good_costs_nothing():
    # both tokens would be another word at layer 1; for the second the last layer hardly cares which
    signal = torch.tensor([[0.5, 0.9, 0.0], [0.7, 0.9, 0.0]])
    loss = torch.tensor([[0.4, 0.0, 0.0], [0.01, 0.0, 0.0]])
    exits = teacher_forcing.first_above(signal, torch.tensor([*thresholds.tuned(signal, loss, 0.05), 0.0]))
    assert exits.tolist() == [1, 0]


def test_an_exit_loses_what_the_last_one_thinks_its_token_worse(tiny_models, chunk):
    model, _ = load_model(tiny_models / "base")
    read = as_chunk(chunk)
    for learned in (False, True):
        forced = teacher_forcing.force(model, read.source, read.target, learned)
        run = teacher_forcing.own_selection(model) if learned else SelectionRun()
        with torch.no_grad():
            states = model.decode(read.target[:, :-1], read.source, model.encode(read.source, run), run)
            choices = torch.stack([model.logits(n, h)[0].argmax(-1) for n, h in enumerate(states)], -1)
            last = model.logits(len(states) - 1, states[-1])[0].softmax(-1)
        for t, row in enumerate(forced.loss):
            expected = [float(last[t].max() - last[t, token]) for token in choices[t]]
            assert row.tolist() == pytest.approx(expected, abs=1e-5)
        assert forced.loss[:, :-1].max() > 0 and torch.all(forced.loss[forced.same.bool()] == 0)


def test_eager_weights_leave_earlier(tiny_models, chunk):
    model, _ = load_model(tiny_models / "base")
    forced = [forced_on(model, chunk)]
    found = thresholds.by_layer(forced, "confidence", (1e-6, 10.0))
    chosen = [teacher_forcing.first_above(forced[0].confidence, torch.tensor([*ts, 0.0])) for ts in found]
    exits = [teacher_forcing.measure(forced, [at]) for at in chosen]
    assert exits[0].mean_exit == 1 and all(a.mean_exit < b.mean_exit for a, b in zip(exits, exits[1:]))


def test_every_rule_has_its_curve(tiny_models, chunk):
    model, config = load_model(tiny_models / "base")
    forced = [forced_on(model, chunk)]
    found = teacher_forcing.curves(forced)
    assert set(found) == {"fixed", "oracle, likelihood", "oracle, correctness", "oracle, agreement", "confidence",
                          "geometric", "multinomial", "sequence"}
    assert [p.mean_exit for p in found["fixed"]] == [1, 2, 3]
    assert found["oracle, likelihood"][0].nll <= min(p.nll for p in found["fixed"]) + 1e-6
    assert found["oracle, correctness"][0].accuracy >= max(p.accuracy for p in found["fixed"])
    exits = [p.mean_exit for p in found["oracle, likelihood"]]
    assert exits == sorted(exits, reverse=True)
    # the earliest exit that agrees says what the last one says
    assert found["oracle, agreement"][0].accuracy == found["fixed"][-1].accuracy
    assert torch.equal(forced[0].same[:, -1], torch.ones(len(TARGET) - 1))


def test_models_without_exits_have_fewer_curves(tiny_models, chunk):
    model, _ = load_model(tiny_models / "no-exits")
    found = teacher_forcing.curves([forced_on(model, chunk)])
    assert "geometric" not in found and "sequence" not in found and "confidence" in found


# Similarity.


def test_cka_ignores_rotation_and_scale_and_notices_noise():
    torch.manual_seed(1)
    a = torch.randn(400, 8)
    turn = torch.linalg.qr(torch.randn(8, 8))[0]
    assert similarity.linear_cka(a, a) == pytest.approx(1)
    assert similarity.linear_cka(a, 3 * a @ turn + 5) == pytest.approx(1, abs=1e-5)
    assert similarity.linear_cka(a, torch.randn(400, 8)) < 0.1


def test_neighbourhoods_survive_rotation_and_not_noise():
    torch.manual_seed(1)
    a = torch.randn(400, 8)
    turn = torch.linalg.qr(torch.randn(8, 8))[0]
    near = similarity.neighbours(a)
    assert near.sum(-1).unique().tolist() == [20] and not near.diagonal().any()
    assert similarity.local_similarity(near, similarity.neighbours(3 * a @ turn)) > 0.99
    assert similarity.local_similarity(near, similarity.neighbours(torch.randn(400, 8))) < 0.1


def test_neighbourhood_similarity_by_hand():
    a = torch.tensor([[True, True, False, False], [False, True, True, False]])
    b = torch.tensor([[True, False, True, False], [False, True, True, False]])
    assert similarity.local_similarity(a, b) == pytest.approx((1 / 3 + 1) / 2)


def test_segment_means():
    states = torch.tensor([[1.0], [3.0], [10.0]])
    assert similarity.segment_means(states, torch.tensor([0, 0, 1])).tolist() == [[2.0], [10.0]]


@pytest.mark.parametrize("variant", ["base", "wide", "post"])
def test_every_block_is_recorded_and_nothing_stays_behind(tiny_models, chunk, variant):
    model, config = load_model(tiny_models / variant)
    encoder, decoder = similarity.representations(model, [as_chunk(chunk)])
    names = similarity.module_names(model)
    assert [len(encoder), len(decoder)] == [len(n) for n in names]
    assert all(b.shape == (3, config.d_model) for b in [*encoder, *decoder])
    with torch.no_grad():  # the last block's states are the stack's output, before its norm
        memory = model.encode(torch.tensor([chunk]), SelectionRun())[0]
    spans = torch.tensor([sum(t == config.tokens.separator for t in chunk[:i]) for i in range(len(chunk))])
    if variant == "post":
        assert torch.allclose(encoder[-1], similarity.segment_means(memory, spans), atol=1e-5)
    assert "residual" not in vars(model.encoder_layers[0])
    matrix = similarity.cka_matrix(encoder)
    assert matrix[0][0] == pytest.approx(1) and matrix[0][-1] == pytest.approx(matrix[-1][0])


# Decoding with nothing forbidden.


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("variant", ["base", "post", "wide", "borrowed", "no-exits"])
def test_free_decoding_follows_the_best_token(tiny_models, chunk, variant, bounded):
    """Every token is the best one by the model that reads the translation as a target, in a batch of two lengths."""
    model, config = load_model(tiny_models / variant)
    separator, eos = config.tokens.separator, config.tokens.eos
    sources = [chunk, chunk[12:]]
    for source, output in zip(sources, segments.decode_freely(model, sources, bounded)):
        tokens_in = torch.tensor([[config.tokens.bos, *output[:-1]]])
        with torch.no_grad():
            run, given = SelectionRun(), torch.tensor([source])
            state = model.decode(tokens_in, given, model.encode(given, run), run)[-1]
            logits = model.logits(config.decoder.layers - 1, state)[0]
        behind = logits.max(-1).values - logits.gather(-1, torch.tensor(output)[:, None])[:, 0]
        bounds, closed = segments.bounds(source, separator, eos), []
        ends = [n for n, token in enumerate(output) if token in (separator, eos)]
        for ordinal, (before, at) in enumerate(zip([-1, *ends], ends)):  # of these the bound may have put some
            most = bounds[ordinal] if ordinal < len(bounds) else segments.SLACK
            assert not bounded or at - before - 1 <= most
            closed += [at] if bounded and at - before - 1 == most else []
        kept = [n for n in range(len(output)) if n not in closed]
        assert float(behind[kept].max()) < 1e-3
        assert output[-1] == eos or len(output) == (sum(bounds) + len(bounds) if bounded else 3 * len(source) + 16)


def test_segments_are_counted_of_translations_that_end():
    assert segments.closed_segments([7, 4, 8, 4, 9, 3], 4, 3) == 3
    assert segments.closed_segments([7, 4, 8], 4, 3) == 0 and segments.closed_segments([], 4, 3) == 0


def test_segments_have_the_engines_bounds():
    assert segments.bounds([7, 8, 4, 9, 3], 4, 3) == [3 * 2 + 16, 3 * 1 + 16]
    assert segments.within([*[7] * 22, 4, *[7] * 19, 3], [7, 8, 4, 9, 3], 4, 3)
    assert not segments.within([*[7] * 22, 4, *[7] * 20, 3], [7, 8, 4, 9, 3], 4, 3)


def test_chunks_whose_segments_are_not_equal_are_listed(tiny_models, chunk, monkeypatch):
    made = [[7, 4, 8, 4, 9, 3], [7] * 70, [7, 8, 4, 3]]
    monkeypatch.setattr(segments, "decode_freely",
                        lambda model, sources, bounded=False: [made[0]] * len(sources) if bounded else made)

    class Run:
        sizes, pytorch, config = Sizes(), None, load_model(tiny_models / "base")[1]

        def chunks(self, count):
            return [Chunk(torch.tensor([chunk]), torch.tensor([TARGET]), 3, origin) for origin in "abc"]

    lines = inside.segment_counts(Run()).body.splitlines()
    assert "1 of 3 (33.3 %) chunks" in lines[0] and "2 of 3 (66.7 %) have" in lines[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[4:]]
    assert rows == [["b", str(len(chunk)), "3", "no end", "3"], ["c", str(len(chunk)), "3", "2", "2"]]


def test_a_numpy_that_pytorch_cannot_use_is_told_before_any_work(monkeypatch):
    inside.check_numpy()

    def numpy(self):
        raise RuntimeError("Numpy is not available")

    monkeypatch.setattr(torch.Tensor, "numpy", numpy)
    with pytest.raises(ValueError, match="cannot use NumPy .* install both from one place"):
        inside.check_numpy()


@pytest.mark.parametrize("name", evaluate.SECTIONS)
def test_numpy_is_checked_only_for_sections_that_use_pytorch(monkeypatch, name):
    class Page:
        def __init__(self, *_):
            pass

        def add(self, name, section):
            made.append(name)

    class Place:
        out = Path("out")

    def refuse():
        raise ValueError("cannot use NumPy")

    made = []
    monkeypatch.setattr(inside, "check_numpy", refuse)
    monkeypatch.setattr(evaluate, "Report", Page)
    monkeypatch.setitem(evaluate.SECTIONS, name, lambda run: Section(name, ""))
    options = type("Options", (), {"only": [name]})
    if name in ("depth", "counts", "similarity", "oracles"):
        with pytest.raises(ValueError, match="cannot use NumPy"):
            evaluate.write_report(Place, options, "command")
        assert not made
    else:
        evaluate.write_report(Place, options, "command")
        assert made == [name]
