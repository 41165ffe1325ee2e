"""Classifiers of early exits, made without training: the last exit's classifier, applied to mapped states.

For a model that was trained at its last layer only, states after layer n are mapped to those after the last layer by
least squares over text: M_n = argmin sum |M h^n - h^N|^2. A ridge keeps M_n small where the text says nothing. The
classifier of exit n is then W M_n, where W is the model's own. This takes one pass over the text and nothing new in the
engine, because an exit may have a classifier of its own. A phase `exits` of salient.train may train it further.
"""

from __future__ import annotations

import sys

import torch

from .config import Exits
from .data import Corpus, batches, within
from .model import Transformer
from .selection import SelectionRun

RIDGE = 1e-3  # relative to the mean square of the states


@torch.no_grad()
def fitted_maps(model: Transformer, corpus: Corpus, tokens: int, batch_tokens: int = 2048) -> list[torch.Tensor]:
    """M_n [d, d] for every exit before the last, fitted to about `tokens` target tokens, on the model's device."""
    d, layers, device = model.config.d_model, model.config.decoder.layers, model.output_bias.device
    own = [torch.zeros(d, d, dtype=torch.float64, device=device) for _ in range(layers - 1)]
    both = [torch.zeros(d, d, dtype=torch.float64, device=device) for _ in range(layers - 1)]
    seen = 0
    for source, target in batches(corpus, batch_tokens, 1, within(model.config.chunk_tokens), endless=False):
        source, target = source.to(device), target.to(device)
        run, real = SelectionRun(), target[:, 1:].ne(model.config.tokens.pad)
        states = model.decode(target[:, :-1], source, model.encode(source, run), run)
        normed = [norm(h)[real] for norm, h in zip(model.exit_norms, states)]
        for n, h in enumerate(normed[:-1]):
            own[n] += (h.t() @ h).double()
            both[n] += (h.t() @ normed[-1]).double()
        seen += int(real.sum())
        print(f"\rmaps of exits: {seen} of {tokens} tokens at most", end="", file=sys.stderr, flush=True)
        if seen >= tokens:
            break
    print(file=sys.stderr)
    ridge = [RIDGE * a.diagonal().mean() * torch.eye(d, dtype=torch.float64, device=device) for a in own]
    return [torch.linalg.solve(a + r, b).t().float() for a, r, b in zip(own, ridge, both)]


@torch.no_grad()
def with_mapped_exits(model: Transformer, corpus: Corpus, tokens: int) -> Transformer:
    """The model with a classifier for every exit, on the CPU. The last exit's is the model's own."""
    maps = fitted_maps(model, corpus, tokens)
    classifier = model.classifier(model.config.decoder.layers - 1)
    heads = list(model.config.exits.heads) if model.config.exits else []
    model.config.exits = Exits("untied", heads)
    grown = Transformer(model.config)
    missing, unexpected = grown.load_state_dict(model.state_dict(), strict=False)
    lost = [n for n in missing if not n.startswith(("exit_classifiers.", "halting."))]
    if lost or unexpected:
        raise ValueError(f"the model has parts that do not fit: {', '.join([*lost, *unexpected][:5])}")
    for n, made in enumerate(grown.exit_classifiers):
        made.weight.copy_(classifier @ maps[n] if n < len(maps) else classifier)
    return grown.eval()
