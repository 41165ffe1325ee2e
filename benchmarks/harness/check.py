"""Checks the engines against PyTorch before they are timed: the same model must give the same results in all of them.

A short document is translated greedily in fp32. CTranslate2's logits of every step, and the log probabilities of the
tokens that Salient chose, must equal PyTorch's for the same preceding tokens.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import torch

from .cases import document
from .models import FIRST_WORD, piece
from .protocol import Peer, WorkerError
from salient.export import load_model
from salient.selection import SelectionRun

TOKENS = 40
TOLERANCE = 2e-3  # for a logit; logits are about 1 to 5


@torch.no_grad()
def pytorch_logits(model, source: list[int], target: list[int]) -> torch.Tensor:
    """[T, vocabulary]: the model's logits for each target token, given the tokens before it."""
    config, run = model.config, SelectionRun()
    inputs = torch.tensor([[config.tokens.bos, *target[:-1]]])
    states = model.decode(inputs, torch.tensor([source]), model.encode(torch.tensor([source]), run), run)
    return model.logits(config.decoder.layers - 1, states[-1])[0]


def ctranslate2_difference(model, folder: Path, source: list[int]) -> float:
    import ctranslate2

    ids = {piece(token, model.config): token for token in range(model.config.vocab_size)}
    translator = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    result = translator.translate_batch([[piece(token, model.config) for token in source]], beam_size=1,
                                        max_input_length=0, min_decoding_length=TOKENS, max_decoding_length=TOKENS,
                                        return_logits_vocab=True)[0]
    target = [ids[word] for word in result.hypotheses[0]]
    theirs = torch.stack([torch.from_numpy(np.array(row)).flatten() for row in result.logits[0]])
    ours = pytorch_logits(model, source, target)
    # CTranslate2 may return logits or their log softmax; either way their differences are the same.
    theirs, ours = (torch.log_softmax(x[:, FIRST_WORD:], -1) for x in (theirs, ours))
    return float((theirs - ours).abs().max())


def salient_difference(model, driver: Path, folder: Path, source: list[int]) -> float:
    peer = Peer([str(driver)], {"model": str(folder), "compute": "f32", "threads": 1, "kv_bytes": 64 << 20})
    text = " ".join(piece(token, model.config)[1:] for token in source[:-1])
    told = peer.ask({"documents": [{"text": text, "length": TOKENS}], "trace": True})["documents"][0]
    peer.close()
    ids = {piece(token, model.config): token for token in range(model.config.vocab_size)}
    target = [ids[word] for word in told["pieces"]]
    logits = torch.log_softmax(pytorch_logits(model, source, target), -1)
    expected = logits[torch.arange(len(target)), target]
    best = logits[:, FIRST_WORD:].amax(-1)
    if float((best - expected).max()) > TOLERANCE:
        raise WorkerError("Salient chose tokens that are not PyTorch's best")
    return float((torch.tensor(told["log_probabilities"]) - expected).abs().max())


def check(model_folder: Path, ctranslate2_folder: Path, driver: Path) -> dict[str, float]:
    """The greatest difference of each engine from PyTorch. Raises WorkerError if an engine does not compute the same
    model."""
    torch.set_num_threads(1)
    model, config = load_model(model_folder)
    source = document(random.Random(3), TOKENS, config.vocab_size, config.tokens.eos)
    found = {"CTranslate2": ctranslate2_difference(model, ctranslate2_folder, source),
             "Salient": salient_difference(model, driver, model_folder, source)}
    for engine, difference in found.items():
        if not difference <= TOLERANCE:
            raise WorkerError(f"{engine} differs from PyTorch by {difference:.2g} in fp32; at most {TOLERANCE} is "
                              "rounding: the conversion is wrong, and times would compare different models")
    return found
