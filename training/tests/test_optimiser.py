import pytest
import torch
from torch import nn

from salient.optimiser import Muon, optimisers, orthogonalise


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_orthogonalise_brings_singular_values_near_one(dtype):
    torch.manual_seed(1)
    for shape in [(1, 32, 32), (2, 24, 48), (2, 48, 24)]:
        values = torch.linalg.svdvals(orthogonalise(torch.randn(shape), dtype=dtype))
        assert values.min() > 0.5 and values.max() < 1.3


def test_orthogonalise_keeps_the_directions():
    torch.manual_seed(1)
    g = torch.randn(1, 16, 24)
    u, _, v = torch.linalg.svd(g, full_matrices=False)
    nearest = u @ v
    found = orthogonalise(g).float()
    assert float((found * nearest).sum() / (found.norm() * nearest.norm())) > 0.95


def test_fused_matrices_are_orthogonalised_apart():
    torch.manual_seed(1)
    p = nn.Parameter(torch.zeros(48, 16))
    p.grad = torch.cat([torch.randn(16, 16) * scale for scale in (100.0, 1.0, 0.01)])
    Muon([("x.query_key_value.weight", p)], lr=1.0).step()
    for piece in p.detach().chunk(3):
        assert torch.linalg.svdvals(piece).min() > 0.5


def test_muon_takes_the_layers_matrices_and_adam_the_rest():
    model = nn.ModuleDict({"encoder_layers": nn.ModuleList([nn.Linear(4, 4)]), "embedding": nn.Embedding(5, 4)})
    adam, muon = optimisers(model, 0.1, 0.1)
    assert muon.param_groups[0]["params"] == [model["encoder_layers"][0].weight]
    assert len(adam.param_groups[0]["params"]) == 2
