"""Each phase learns on a toy corpus whose target is its source."""

import copy
import random
import time
from collections import Counter

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from salient.config import Exits, FeedForward, ModelConfig, Selection, Stack
from salient.data import Corpus, batches
from salient.loss import sampled
from salient.model import Transformer
from salient.selection import MODULES, adapt_ratio
from salient.train import build, load, parser
from salient.trainer import Trainer


def copy_corpus(documents=60):
    rng = random.Random(1)
    segments = [[rng.randrange(5, 24) for _ in range(rng.randint(2, 6))] for _ in range(documents * 4)]
    flat = np.asarray([t for s in segments for t in s], np.uint16)
    bounds = np.concatenate([[0], np.cumsum([len(s) for s in segments])]).astype(np.int64)
    ends = np.arange(0, len(segments) + 1, 4, dtype=np.int64)
    return Corpus(flat, flat, bounds, bounds, ends, np.asarray(["one"]), np.zeros(len(ends) - 1, np.uint8))


def new_model(decoder_layers=2):
    torch.manual_seed(1)
    config = ModelConfig(vocab_size=24, d_model=32, heads=2, encoder=Stack(2, FeedForward("own", 48)),
                         decoder=Stack(decoder_layers, FeedForward("own", 48)),
                         exits=Exits("tied", ["sequence", "multinomial", "geometric"]),
                         selection=Selection(8, 2, {"encoder": 2, "decoder": 2, "cross": 2}))
    return Transformer(config)


def options(phase, *extra):
    return parser().parse_args(["--phase", phase, "--data", "x", "--out", "x", "--minutes", "60", "--no-bf16",
                                "--warmup", "1", *extra])


def train(trainer, steps, tokens=256):
    stream = batches(copy_corpus(), tokens, seed=1, mixture={24: 1.0})
    return [trainer.train_step(*next(stream)) for _ in range(steps)]


def mean(notes, key):
    return sum(n[key] for n in notes) / len(notes)


@pytest.fixture(scope="module")
def copier():
    """The toy model after the base phase, and what that phase noted."""
    model = new_model()
    notes = train(Trainer(model, options("base")), 80)
    return model, notes


def test_base_phase_learns_at_every_exit(copier):
    model, notes = copier
    assert mean(notes[-5:], "loss") < 0.75 * notes[0]["loss"]
    trainer = Trainer(model, options("base"))
    fresh = Trainer(new_model(), options("base"))
    for before, after in zip(fresh.dev_loss(copy_corpus(), 500), trainer.dev_loss(copy_corpus(), 500)):
        assert after < 0.75 * before


def test_what_leaves_early_counts_at_no_later_exit(copier):
    model, _ = copier
    trainer = Trainer(model, options("base", "--hand-up", "1", "--distil", "0.5"))
    source, target = next(batches(copy_corpus(), 256, seed=1, mixture={24: 1.0}))
    states, _, _ = trainer.forward(source, target)
    objective = trainer.objective
    assert objective.translation(states, source, target, None, torch.zeros_like(target[:, 1:]))[1] == 0.0
    counted = objective.translation(states, source, target, None, torch.ones_like(target[:, 1:]))[1]
    assert counted == objective.translation(states, source, target, None)[1] > 0
    exits = objective.early_exits(target)
    assert exits.shape == target[:, 1:].shape and set(exits.unique().tolist()) == {0, 1}
    assert Trainer(model, options("base")).objective.early_exits(target) is None


def test_early_exits_learn_from_the_last_one(copier):
    model, _ = copier
    source, target = next(batches(copy_corpus(), 256, seed=1, mixture={24: 1.0}))

    def gradient(*flags):
        trainer = Trainer(model, options("base", *flags))
        trainer.objective.rng.seed(3)
        model.zero_grad(set_to_none=True)
        trainer.objective.translation(trainer.forward(source, target)[0], source, target, None)[0].backward()
        return model.exit_norms[0].weight.grad.clone(), model.exit_norms[1].weight.grad.clone()

    alone, taught = gradient(), gradient("--distil", "0.5")
    assert torch.equal(alone[1], taught[1]) and not torch.allclose(alone[0], taught[0])


@pytest.mark.parametrize("kind", ["all", "mixed"])
def test_the_losses_of_the_paper_are_those_of_equations_4_and_5(copier, kind):
    model, _ = copier
    source, target = next(batches(copy_corpus(), 256, seed=1, mixture={24: 1.0}))
    trainer = Trainer(model, options("base", "--exit-loss", kind, "--label-smoothing", "0", "--hand-up", "0"))
    exits = trainer.objective.early_exits(target)
    assert (exits is None) == (kind == "all")
    states, _, _ = trainer.forward(source, target, exits)
    found, _ = trainer.objective.translation(states, source, target, None, exits)
    gold = target[:, 1:]
    real = gold.ne(0)
    by_exit = torch.stack([F.cross_entropy(model.logits(n, h).transpose(1, 2), gold, reduction="none")
                           for n, h in enumerate(states)], -1)
    expected = by_exit.mean(-1) if exits is None else by_exit.gather(-1, exits.unsqueeze(-1)).squeeze(-1)
    assert float(found.detach()) == pytest.approx(float(expected[real].mean().detach()), rel=1e-5)
    if exits is not None:
        assert exits[real].float().mean() == pytest.approx(0.5, abs=0.1)  # uniform over two layers


@pytest.mark.parametrize("kind", ["all", "sampled"])
def test_early_exits_have_the_weights_that_are_asked_for(kind):
    model = new_model(decoder_layers=4)
    objective = Trainer(model, options("base", "--exit-loss", kind, "--exit-shares", "1=0,2=3")).objective
    found = Counter()
    for _ in range(2000):
        found.update({n: weight / 2000 for n, weight in objective.chosen_exits()})
    assert {n: found[n] for n in range(4)} == pytest.approx({0: 0, 1: 0.75 * 3 / 4, 2: 0.75 / 4, 3: 0.25}, abs=0.03)


@pytest.mark.parametrize("shares, more, message", [
    ("4=1", [], "early exits are 1 to 3; not 4"), ("0=1", [], "early exits are 1 to 3; not 0"),
    ("1=0,2=0,3=0", [], "none would learn"), ("1=0,2=1", ["--exit-loss", "mixed"], "no effect with --exit-loss mixed")])
def test_shares_by_which_no_early_exit_would_learn_are_refused(shares, more, message):
    with pytest.raises(ValueError, match=f"--exit-shares.*{message}"):
        Trainer(new_model(decoder_layers=4), options("base", "--exit-shares", shares, *more))


def test_shares_of_exits_need_exits():
    config = new_model().config
    config.exits = None
    with pytest.raises(ValueError, match="--exit-shares: this model has no early exits; .*--early-exits adds them"):
        Trainer(Transformer(config), options("base", "--exit-shares", "1=1"))


def test_dropout_is_of_training_only():
    model = new_model()
    trainer = Trainer(model, options("base", "--dropout", "0.3", "--word-dropout", "0.2"))
    source, target = next(batches(copy_corpus(), 256, seed=1, mixture={24: 1.0}))
    one, other = (trainer.forward(source, target)[0][-1] for _ in range(2))
    assert not torch.allclose(one, other)
    assert trainer.dev_loss(copy_corpus(), 500) == trainer.dev_loss(copy_corpus(), 500)
    assert model.training
    Trainer(model, options("base"))
    assert torch.equal(*(trainer.forward(source, target)[0][-1] for _ in range(2)))
    model.set_dropout(0.0, 1.0)
    assert not model.embed(source, torch.zeros_like(source), False)[0].diff(dim=0).any()  # no words, one position


def test_what_the_decoder_reads_has_mistakes_in_it(copier):
    model, _ = copier
    target = torch.randint(5, 24, (40, 61))
    target[:, 0], target[:, 20], target[:, 40], target[20:, 50:] = 2, 4, 4, 0  # BOS, separators, padding
    inputs = target[:, :-1]
    read = Trainer(model, options("depth", "--mistakes", "0.1")).objective.inputs(target)
    wrong = read.ne(inputs)
    assert 0.05 < wrong[:, 1:50].float().mean() < 0.13  # a word in twenty-one stands where one like it did
    assert torch.equal(read.le(4), inputs.le(4)) and not wrong[inputs.le(4)].any()
    assert all(set(row.tolist()) <= set(of.tolist()) for row, of in zip(read, inputs))
    by_row = wrong.float().mean(1)
    assert by_row.max() > 2 * by_row.median()  # some rows have many, some few
    for untouched in (options("depth"), options("halting", "--mistakes", "0.1")):
        assert torch.equal(Trainer(model, untouched).objective.inputs(target), inputs)


def test_base_phase_leaves_selection_and_heads_alone(copier):
    model, _ = copier
    for (name, trained), (_, fresh) in zip(model.named_parameters(), new_model().named_parameters()):
        untouched = ".selection." in name or name.startswith("halting.")
        assert torch.equal(trained, fresh) == untouched, name


@pytest.mark.parametrize("selected, modes", [(0, ["dense"] * 4), (0.5, ["select", "dense"] * 2), (1, ["select"] * 4)])
def test_base_phase_selects_in_the_share_of_batches_that_is_asked_for(copier, selected, modes):
    model = copy.deepcopy(copier[0])
    model.config.selection.learned_ratio = {m: [0.5] for m in MODULES}
    trainer = Trainer(model, options("base", "--selected", str(selected)))
    before = {n: p.clone() for n, p in model.named_parameters() if ".selection." in n}
    runs = []
    monitored = trainer.selection_run
    trainer.selection_run = lambda: runs.append(monitored()) or runs[-1]
    train(trainer, 4)
    assert [run.mode for run in runs] == modes and not any(run.learns for run in runs if run.mode == "select")
    assert all(torch.equal(p, before[n]) for n, p in model.named_parameters() if n in before)
    assert model.config.selection.learned_ratio == {m: [0.5] for m in MODULES}


def test_selection_phase_moves_k_and_imitates_attention(copier):
    model, _ = copier
    config = model.config
    config.selection.learned_ratio = {m: [1.0] for m in MODULES}
    trainer, captured = Trainer(model, options("selection", "--k-step", "0.01", "--alpha", "1.0")), []
    adapt = trainer.adapt
    trainer.adapt = lambda run: (captured.append(run.captured), adapt(run))
    notes = train(trainer, 40)
    assert mean(notes[-5:], "kl") < mean(notes[:5], "kl")
    for module in MODULES:
        k = 1.0
        for held in captured:  # eq. 7, step by step; growing only below a half
            k = adapt_ratio(k, held[module][0], 0.95, 0.01, growing=k < 0.5)
        assert config.selection.learned_ratio[module] == [pytest.approx(k)]
        assert k < 0.95  # all of the attention was held at first, so k fell


def test_supervision_phase_trains_selection_alone(copier):
    model = new_model()
    model.load_state_dict(copier[0].state_dict())
    model.config.selection.learned_ratio = {m: [0.4] for m in MODULES}
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    notes = train(Trainer(model, options("supervision", "--alpha", "1.0", "--k-step", "0.01")), 32)
    assert mean(notes[-8:], "kl") < 0.9 * mean(notes[:4], "kl")
    for name, p in model.named_parameters():
        assert torch.equal(p, before[name]) == (".selection." not in name), name
    # measured every fourth step: k moves by one step at each
    moved = {m: model.config.selection.learned_ratio[m][0] - 0.4 for m in MODULES}
    assert all(0 < abs(x) < 0.081 for x in moved.values())


@pytest.mark.parametrize("phase, matrix_groups, other_groups", [
    ("base", 1, 1), ("supervision", 1, 0), ("selection", 1, 1), ("halting", 0, 1)])
def test_matrices_learn_at_their_rate_and_the_rest_at_theirs(phase, matrix_groups, other_groups):
    model = new_model()
    model.config.selection.learned_ratio = {m: [0.5] for m in MODULES}
    trainer = Trainer(model, options(phase, "--lr", "0.001", "--matrix-lr", "0.01"))
    train(trainer, 1)
    rates = [o.param_groups[0]["lr"] for o in trainer.optimisers]
    assert rates == pytest.approx([0.001] * other_groups + [0.01] * matrix_groups, rel=1e-2)


def test_halting_phase_trains_the_heads_alone(copier):
    model, _ = copier
    model.config.selection.learned_ratio = {m: [0.8] for m in MODULES}
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    notes = train(Trainer(model, options("halting", "--lr", "0.02")), 40)
    assert mean(notes[-8:], "halting") < mean(notes[:4], "halting")
    assert 1.0 <= notes[-1]["oracle_exit"] <= 2.0
    for name, p in model.named_parameters():
        assert torch.equal(p, before[name]) == (not name.startswith("halting.")), name


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_depth_phase_trains_heads_and_model_together_and_keeps_the_selection_unless_told(copier, alpha):
    model = new_model()
    model.load_state_dict(copier[0].state_dict())
    model.config.selection.learned_ratio = {m: [0.8] for m in MODULES}
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    trainer = Trainer(model, options("depth", "--lr", "0.01", "--matrix-lr", "0.002", "--no-straight-through",
                                     "--alpha", str(alpha)))
    notes = train(trainer, 40)
    assert mean(notes[-8:], "halting") < mean(notes[:4], "halting")
    assert mean(notes[-8:], "loss") < 1.1 * mean(notes[:4], "loss")
    for name, p in model.named_parameters():
        assert torch.equal(p, before[name]) == (".selection." in name and alpha == 0), name
    assert model.config.selection.learned_ratio == {m: [0.8] for m in MODULES}


def test_the_halting_loss_reaches_the_states_in_the_depth_phase_alone(copier):
    source, target = next(batches(copy_corpus(), 128, seed=1))
    for phase, reached in (("depth", True), ("halting", False)):
        trainer = Trainer(copier[0], options(phase))
        copier[0].config.selection.learned_ratio = {m: [0.8] for m in MODULES}
        states, memory, _ = trainer.forward(source, target)
        assert all(h.requires_grad == reached for h in states)
        if reached:
            gradient = torch.autograd.grad(trainer.objective.halting(states, memory, source, target, None)[0], states)
            assert all(g.abs().sum() > 0 for g in gradient[:-1])


def test_oracles_score_exits_by_likelihood_by_the_reference_or_by_the_last_exit(copier):
    trainer = Trainer(copier[0], options("halting"))
    source, target = next(batches(copy_corpus(), 128, seed=1))
    states, _, _ = trainer.forward(source, target)
    normed, gold = [norm(h) for norm, h in zip(copier[0].exit_norms, states)], target[:, 1:]
    logits = [F.linear(h, copier[0].classifier(n), copier[0].output_bias) for n, h in enumerate(normed)]
    best = [x.argmax(-1) for x in logits]
    likelihood = [-F.cross_entropy(x.transpose(1, 2), gold, reduction="none") for x in logits]
    for oracle, expected in (("likelihood", likelihood), ("correctness", [b.eq(gold).float() for b in best]),
                             ("agreement", [b.eq(best[-1]).float() for b in best])):
        trainer.options.oracle = oracle
        assert torch.allclose(trainer.objective.exit_scores(normed, gold), torch.stack(expected, -1), atol=1e-5), oracle
        everything = sampled(gold.flatten(), copier[0].config.vocab_size, copier[0].config.vocab_size, torch.Generator())
        assert torch.allclose(trainer.objective.exit_scores(normed, gold, everything), torch.stack(expected, -1),
                              atol=1e-5), oracle


def test_with_a_sample_of_the_vocabulary_exits_predict_its_tokens_alone(copier):
    trainer = Trainer(copier[0], options("halting", "--oracle", "correctness"))
    source, target = next(batches(copy_corpus(), 128, seed=1))
    states, _, _ = trainer.forward(source, target)
    normed, gold = [norm(h) for norm, h in zip(copier[0].exit_norms, states)], target[:, 1:]
    few = sampled(gold.flatten(), copier[0].config.vocab_size, 1, torch.Generator())  # the batch's own and one other
    assert len(few.tokens) < copier[0].config.vocab_size
    logits = [F.linear(h, copier[0].classifier(n), copier[0].output_bias)[..., few.tokens] for n, h in enumerate(normed)]
    expected = torch.stack([few.tokens[x.argmax(-1)].eq(gold).float() for x in logits], -1)
    assert torch.equal(trainer.objective.exit_scores(normed, gold, few), expected)


def test_a_budget_of_processor_time_counts_no_waiting(tmp_path, monkeypatch):
    clock = {"wall": 0.0, "processor": 0.0}
    monkeypatch.setattr(time, "monotonic", lambda: clock["wall"])
    monkeypatch.setattr(time, "process_time", lambda: clock["processor"])
    trainer = Trainer(new_model(), options("base", "--processor-time", "--batch-tokens", "128"))
    step = trainer.train_step

    def slow_step(*batch):  # a minute of work, and nine of waiting for the processor
        clock["wall"] += 600.0
        clock["processor"] += 60.0
        return step(*batch)

    trainer.train_step, trainer.options.minutes = slow_step, 3
    trainer.run(copy_corpus(), None, tmp_path / "x.pt")
    assert (trainer.step, trainer.worked, trainer.elapsed) == (3, 180.0, 1800.0)
    again = Trainer(new_model(), trainer.options)
    again.resume(torch.load(tmp_path / "x.pt", map_location="cpu"))
    assert again.progress() == 1
    again.options.processor_time = False
    assert again.progress() == 10


def test_a_run_resumes_where_it_stopped(tmp_path):
    corpus, out = copy_corpus(), tmp_path / "x.pt"
    o = options("base", "--batch-tokens", "128")
    o.minutes = 1e-9  # one step, then done
    trainer = Trainer(new_model(), o)
    trainer.run(corpus, None, out)
    stored = torch.load(out, map_location="cpu")
    again = Trainer(new_model(), o)
    again.model.load_state_dict(stored["model"])
    again.resume(stored)
    assert again.step == trainer.step == 1
    batch = next(batches(corpus, 128, seed=2))
    o.minutes = 60.0
    trainer.elapsed = again.elapsed = 0.0
    trainer.objective.rng, again.objective.rng = random.Random(5), random.Random(5)
    trainer.train_step(*batch), again.train_step(*batch)
    for (name, a), (_, b) in zip(trainer.model.named_parameters(), again.model.named_parameters()):
        assert torch.equal(a, b), name


@pytest.mark.parametrize("flags", [["--frozen", "encoder_layers.1."], ["--frozen"], ["--matrix-lr", "0"]])
def test_a_run_goes_on_with_the_parameters_that_learned(tmp_path, flags):
    frozen = ["--frozen", "encoder_layers.0."]  # as many as of the other layer, and of the same shapes
    trainer = Trainer(new_model(), options("base", *frozen))
    train(trainer, 1)
    trainer.save(tmp_path / "x.pt")
    Trainer(new_model(), options("base", *frozen)).resume(load(tmp_path / "x.pt"))
    other = Trainer(new_model(), options("base", *frozen, *flags))
    with pytest.raises(ValueError, match="was trained with another --frozen or --matrix-lr; give the same to go on"):
        other.resume(load(tmp_path / "x.pt"))


def test_what_is_drawn_after_a_stop_is_new(tmp_path):
    trainer = Trainer(new_model(), options("base", "--seed", "3"))
    trainer.step = 4
    trainer.save(tmp_path / "x.pt")

    def drawn(seed, resumes=True):
        again = Trainer(new_model(), options("base", "--seed", str(seed)))
        if resumes:
            again.resume(load(tmp_path / "x.pt"))
        return [again.seed, again.objective.rng.random(), float(torch.rand(1))]

    one, same, others = drawn(3), drawn(3), [drawn(3, False), drawn(2), drawn(7, False)]
    assert one == same
    for other in others:  # the beginning of the run, and runs whose seed and step have the same sum
        assert all(a != b for a, b in zip(one[:2], other))


def test_states_are_averaged_where_the_layers_learn():
    for phase, averaged in (("base", 1), ("halting", 0), ("supervision", 0)):
        model = new_model()
        model.config.selection.learned_ratio = {m: [1.0] for m in MODULES}
        trainer = Trainer(model, options(phase, "--steps", "10", "--average", "1"))
        train(trainer, 10)
        assert trainer.averaged == averaged and bool(trainer.average) == bool(averaged), phase


def test_keys_are_selected_only_by_what_was_trained():
    with pytest.raises(ValueError, match="--selected: this model has no learned selection yet"):
        Trainer(new_model(), options("base", "--selected", "0.5"))


def test_the_average_goes_on_where_the_model_is(tmp_path):
    """A checkpoint is read to the CPU, whatever the device."""
    trainer = Trainer(new_model(), options("base"))
    trainer.add_to_average()
    trainer.save(tmp_path / "x.pt")
    o = options("base", "--no-bf16")
    o.device = "meta"  # stands in for a GPU
    again = Trainer(new_model(), o)
    again.resume(load(tmp_path / "x.pt"))
    assert again.averaged == 1 and {total.device.type for total in again.average.values()} == {"meta"}


def test_the_average_of_the_last_states_is_kept_only_if_it_is_better(copier):
    trainer, corpus = Trainer(new_model(), options("base")), copy_corpus()
    trainer.model.load_state_dict(copier[0].state_dict())
    before = {n: p.detach().clone() for n, p in trainer.model.named_parameters() if p.requires_grad}
    trainer.add_to_average()
    with torch.no_grad():
        for p in trainer.model.parameters():
            p.add_(torch.randn_like(p) * 0.5)  # a last state that is much worse than the average
    spoilt = trainer.dev_loss(corpus, 20_000)
    found = trainer.keep_the_better(corpus)
    assert found["dev_nll_last"] == spoilt and found["averaged"] == 1
    for name, p in trainer.model.named_parameters():
        if p.requires_grad:
            assert torch.allclose(p, before[name]), name
    trainer.keep_the_better(corpus)  # now it is the average that is worse
    for name, p in trainer.model.named_parameters():
        if p.requires_grad:
            assert torch.allclose(p, before[name], atol=1e-6), name


def test_exits_that_are_not_trained_do_not_decide_which_state_is_kept(copier, monkeypatch):
    model = build(dense_checkpoint(copier[0]), options("base"))
    model.config.exits = None
    trainer = Trainer(model, options("base"))
    measured = iter([[9.0, 2.0], [1.0, 3.0]])  # of the last state, and of the average
    monkeypatch.setattr(trainer, "dev_loss", lambda *_: next(measured))
    trainer.add_to_average()
    assert trainer.keep_the_better(copy_corpus())["dev_nll_by_exit"] == [9.0, 2.0]


@pytest.mark.parametrize("phase", ["base", "depth", "halting"])
def test_a_step_draws_one_sample_of_the_vocabulary(phase, copier):
    model = Transformer(ModelConfig.from_json(copier[0].config.to_json()))
    trainer = Trainer(model, options(phase, "--vocabulary-sample", "12", "--hand-up", "0"))
    drawn, draw = [], trainer.objective.candidates
    trainer.objective.candidates = lambda target: drawn.append(draw(target)) or drawn[-1]
    train(trainer, 2, 96)
    assert len(drawn) == 2 and drawn[0] is not None


def test_without_warmup_and_cooldown_the_rate_is_constant():
    trainer = Trainer(new_model(), options("selection", "--warmup", "0", "--cooldown", "0", "--k-most-share", "0"))
    assert trainer.rate() == 1.0
    trainer.options.k_most = {"encoder": 0.2}
    assert trainer.most("encoder") == pytest.approx(0.2)


def test_a_checkpoint_of_another_phase_is_not_taken_for_a_finished_one(tmp_path):
    trainer = Trainer(new_model(), options("base"))
    trainer.save(tmp_path / "x.pt")
    assert [path.name for path in tmp_path.iterdir()] == ["x.pt"]
    stored = load(tmp_path / "x.pt")
    other = Trainer(new_model(), options("selection"))
    with pytest.raises(ValueError, match="is a checkpoint of phase base, not of selection; name another file"):
        other.resume(stored)
    with pytest.raises(ValueError, match="of phase none, not of base"):  # a mean of weights, or a model folder
        trainer.resume({"config": stored["config"], "model": stored["model"]})
    del stored["phase"]  # older checkpoints lack it
    trainer.resume(stored)


def test_the_bound_on_k_comes_down_in_a_straight_line():
    model = new_model()
    model.config.selection.learned_ratio = {m: [1.0] for m in MODULES}
    trainer = Trainer(model, options("selection", "--k-most", "encoder=0.2", "--k-most-share", "0.5"))
    for elapsed, bound in ((0, 1.0), (900, 0.6), (1800, 0.2), (3500, 0.2)):
        trainer.elapsed = elapsed
        assert trainer.most("encoder") == pytest.approx(bound) and trainer.most("cross") == 1.0
    train(trainer, 1)
    assert model.config.selection.learned_ratio["encoder"] == [pytest.approx(0.2)]
    assert model.config.selection.learned_ratio["cross"][0] > 0.9


def dense_checkpoint(model):
    """What a model trained elsewhere looks like: neither selection layers nor halting heads."""
    config = ModelConfig.from_json(model.config.to_json())
    config.selection, config.exits = None, Exits()
    tensors = {n: t for n, t in model.state_dict().items() if ".selection." not in n and not n.startswith("halting.")}
    return {"config": config.to_json(), "model": tensors}


def test_a_dense_model_grows_selection_layers_and_exits(copier):
    start = dense_checkpoint(copier[0])
    grown = build(start, options("supervision", "--selection-width", "16", "--selection-group",
                                 "encoder=1,decoder=2,cross=2"))
    assert grown.config.selection.width == 16 and grown.config.selection.group["encoder"] == 1
    assert all(k == [1.0] * len(k) for k in grown.config.selection.learned_ratio.values())
    assert len(grown.config.selection.learned_ratio["encoder"]) == grown.config.encoder.layers
    few = build(start, options("supervision"))  # the default is three layers a group, and the engine's bound are all
    assert few.config.selection.group == {"encoder": 2, "decoder": 2, "cross": 2}
    assert ModelConfig.from_json(few.config.to_json()) == few.config
    halting = build(start, options("halting"))
    assert set(halting.config.exits.heads) == {"sequence", "multinomial", "geometric"}
    for name, tensor in start["model"].items():
        assert torch.equal(grown.state_dict()[name], tensor) and torch.equal(halting.state_dict()[name], tensor)


def test_a_checkpoint_that_lacks_a_weight_is_refused(copier):
    start = dense_checkpoint(copier[0])
    del start["model"]["embedding.weight"]
    with pytest.raises(ValueError, match="embedding.weight"):
        build(start, options("supervision"))


def test_early_exits_learn_from_the_frozen_last_one(copier):
    model = build(dense_checkpoint(copier[0]), options("exits", "--untied-exits"))
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    notes = train(Trainer(model, options("exits", "--lr", "0.01")), 30)
    assert mean(notes[-5:], "loss") < 0.8 * mean(notes[:3], "loss")
    for name, p in model.named_parameters():
        early = name.startswith(("exit_norms.0.", "exit_classifiers.0."))
        assert torch.equal(p, before[name]) != early, name
    assert torch.equal(model.classifier(1), model.embedding.weight)  # the last exit is what it was


def test_new_exits_begin_with_the_models_own_output(copier):
    start = dense_checkpoint(copier[0])
    config = ModelConfig.from_json(start["config"])
    config.output = "own"
    start = {"config": config.to_json(), "model": {**start["model"], "output.weight": torch.randn(24, 32)}}
    model = build(start, options("exits", "--untied-exits"))
    for n in range(2):
        assert torch.equal(model.classifier(n), start["model"]["output.weight"])


def test_a_model_folder_is_a_start_too(copier, tmp_path):
    from salient.tensor_file import write_folder

    (tmp_path / "config.json").write_text(dense_checkpoint(copier[0])["config"])
    write_folder(tmp_path, dense_checkpoint(copier[0])["model"], 1 << 20)
    model = build(load(tmp_path), options("supervision"))
    assert torch.equal(model.embedding.weight, copier[0].embedding.weight)


def test_a_phase_in_which_nothing_learns_is_refused():
    model = new_model()
    model.config.norm = "post"
    model = Transformer(model.config)
    with pytest.raises(ValueError, match="phase exits: no part of this model learns in it; with --untied-exits"):
        Trainer(model, options("exits"))
    with pytest.raises(ValueError, match="phase halting: .*; name less with --frozen"):
        Trainer(model, options("halting", "--frozen", "halting"))


def test_a_frozen_part_must_have_its_name():
    model = new_model()
    with pytest.raises(ValueError, match="no part of a model is named encoder_layer_0...; there are .*encoder_layers"):
        Trainer(model, options("base", "--frozen", "encoder_layers.0.", "encoder_layer_0"))
    Trainer(model, options("base", "--frozen", "encoder", "encoder_layers.1.ffn", "source_embedding", "output"))


def test_a_star_of_frozen_stands_for_any_characters():
    def learned(*flags):
        model = new_model()
        Trainer(model, options("base", *flags))
        return {name for name, p in model.named_parameters() if p.requires_grad}

    blocks = [f"{side}_layers.{i}.ffn." for side in ("encoder", "decoder") for i in (0, 1)]
    frozen = {name for name in learned() if name.startswith((*blocks, "decoder_layers.0.cross"))}
    assert learned() - learned("--frozen", "*ffn.", "*coder_layers.0.cross") == frozen
    assert len(frozen) > 8 and not any("ffn_norm" in name for name in frozen)


@pytest.mark.parametrize("count, learned", [("3", range(3)), ("-2", range(22, 24)), ("0", range(24))])
def test_only_the_first_or_the_last_tokens_learn(count, learned):
    model = new_model()
    before = model.embedding.weight.detach().clone(), model.output_bias.detach().clone()
    train(Trainer(model, options("base", "--learned-tokens", count)), 2)
    for was, now in zip(before, (model.embedding.weight, model.output_bias)):
        assert now.ne(was).reshape(24, -1).any(1).nonzero().flatten().tolist() == list(learned)


def test_a_phase_that_is_over_is_not_run_again(tmp_path, capsys):
    trainer = Trainer(new_model(), options("base", "--steps", "5"))
    trainer.step = 5
    trainer.run(copy_corpus(), None, tmp_path / "x.pt")
    assert trainer.step == 5 and not (tmp_path / "x.pt").exists()
    assert "x.pt: phase base is over; give it more time" in capsys.readouterr().err


def test_a_step_whose_gradient_is_not_finite_is_left_out(tmp_path):
    trainer = Trainer(new_model(), options("base"))
    before = copy.deepcopy(trainer.model.state_dict())
    right = trainer.loss

    def broken(source, target):
        loss, run, notes = right(source, target)
        return loss * float("nan"), run, notes

    trainer.loss = broken
    assert train(trainer, 2)[-1]["left_out"] == 2
    trainer.save(tmp_path / "x.pt")
    again = Trainer(new_model(), trainer.options)
    again.resume(torch.load(tmp_path / "x.pt", map_location="cpu"))
    assert again.left_out == 2
    after = trainer.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    trainer.loss = right
    assert "loss" in train(trainer, 1)[0]
    assert any(not torch.equal(before[name], tensor) for name, tensor in trainer.model.state_dict().items())
