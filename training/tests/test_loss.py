import pytest
import torch
import torch.nn.functional as F

from salient.loss import IGNORED, Teacher, sampled, smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [7, 1100])  # within a chunk, and over several
def test_value_and_gradients_are_those_of_pytorch(smoothing, rows):
    torch.manual_seed(1)
    leaves = [torch.randn(rows, 12), torch.randn(30, 12), torch.randn(30)]
    targets = torch.randint(0, 30, (rows,))
    results = []
    for ours in (True, False):
        h, w, b = (x.clone().requires_grad_() for x in leaves)
        if ours:
            loss = smoothed_cross_entropy(h, w, b, targets, smoothing)
        else:
            loss = F.cross_entropy(h @ w.t() + b, targets, ignore_index=0, label_smoothing=smoothing, reduction="sum")
        (0.5 * loss).backward()
        results.append((loss.detach(), h.grad, w.grad, b.grad))
    for mine, theirs in zip(*results):
        assert torch.allclose(mine, theirs, rtol=1e-4, atol=1e-3)


def test_ignored_rows_count_for_nothing():
    h, w, b = torch.randn(4, 6, requires_grad=True), torch.randn(9, 6), torch.zeros(9)
    targets = torch.tensor([3, 0, 5, 0])
    smoothed_cross_entropy(h, w, b, targets, 0.1).backward()
    assert h.grad[[1, 3]].abs().sum() == 0
    assert (h.grad[[0, 2]].abs().sum(-1) > 0).all()


def test_a_teacher_takes_a_share_of_the_target():
    torch.manual_seed(2)
    targets = torch.randint(1, 30, (9,))
    taught_by, weight, bias, share = torch.randn(9, 7), torch.randn(30, 7), torch.randn(30), torch.rand(9)
    leaves = [torch.randn(9, 12), torch.randn(30, 12), torch.randn(30)]
    results = []
    for ours in (True, False):
        h, w, b = (x.clone().requires_grad_() for x in leaves)
        if ours:
            loss = smoothed_cross_entropy(h, w, b, targets, 0.1, teacher=Teacher(taught_by, weight, bias, share))
        else:
            logits, q = h @ w.t() + b, F.softmax(taught_by @ weight.t() + bias, -1)
            loss = (share * F.cross_entropy(logits, q, reduction="none")).sum()
            of_reference = F.cross_entropy(logits, targets, label_smoothing=0.1, reduction="none")
            loss = loss + ((1 - share) * of_reference).sum()
        loss.backward()
        results.append((loss.detach(), h.grad, w.grad, b.grad))
    for mine, theirs in zip(*results):
        assert torch.allclose(mine, theirs, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("smoothing, taught", [(0.0, False), (0.3, False), (0.1, True)])
def test_a_part_of_the_vocabulary_estimates_the_loss_without_bias(smoothing, taught):
    torch.manual_seed(0)
    states, weight, bias = torch.randn(12, 8), torch.randn(200, 8) * 0.3, torch.randn(200) * 0.1
    states.requires_grad_()
    targets = torch.randint(0, 200, (12,))
    teaches = torch.randn(12, 8), torch.randn(200, 8) * 0.3, torch.zeros(200), torch.rand(12)
    teacher = Teacher(*teaches) if taught else None
    whole = smoothed_cross_entropy(states, weight, bias, targets, smoothing, IGNORED, teacher)
    gradient, = torch.autograd.grad(whole, states)
    generator, found, gradients = torch.Generator().manual_seed(0), [], torch.zeros_like(gradient)
    for _ in range(200):
        part = sampled(targets, 200, 80, generator)
        assert len(part.tokens) == 80 and torch.equal(part.tokens[part.place[targets]], targets)
        estimate = None
        if taught:
            of_weight, of_bias = part.of(teacher.weight, teacher.bias)
            estimate = teacher._replace(weight=of_weight, bias=of_bias)
        loss = smoothed_cross_entropy(states, *part.of(weight, bias), part.place[targets], smoothing, IGNORED, estimate,
                                      part.weight_log)
        found.append(float(loss.detach()))
        gradients += torch.autograd.grad(loss, states)[0] / 200
    assert abs(sum(found) / len(found) - float(whole)) < 0.01 * float(whole)
    assert float((gradients - gradient).norm()) < 0.05 * float(gradient.norm())


@pytest.mark.parametrize("rows", [7, 1100])
def test_without_gradients_the_loss_is_the_same(rows):
    torch.manual_seed(3)
    leaves = [x.requires_grad_() for x in (torch.randn(rows, 12), torch.randn(30, 12), torch.randn(30))]
    targets = torch.randint(0, 30, (rows,))
    with torch.no_grad():
        measured = smoothed_cross_entropy(*leaves, targets)
    assert not measured.requires_grad and torch.equal(measured, smoothed_cross_entropy(*leaves, targets).detach())


def test_a_frozen_classifier_has_no_gradient():
    states, weight = torch.randn(5, 8, requires_grad=True), torch.randn(30, 8)
    smoothed_cross_entropy(states, weight, torch.zeros(30), torch.arange(5), 0.1, IGNORED).backward()
    assert states.grad.abs().sum() > 0 and weight.grad is None


def test_a_batch_may_have_the_whole_vocabulary():
    found = sampled(torch.arange(30), 30, 4, torch.Generator())
    assert found.tokens.tolist() == list(range(30)) and not found.weight_log.any()
