import json

import pytest
import torch

from salient.fixture import fixture, settings_for
from salient.export import load_model


@pytest.fixture(scope="module")
def written(tiny_models):
    return json.loads(json.dumps(fixture(tiny_models / "no-exits", seed=3, documents=2), allow_nan=False))


def test_documents_are_chunks(written):
    text, random_tokens = written["documents"]
    for document in written["documents"]:
        assert document["tokens"][-1] == 3
        assert document["tokens"].count(4) == len(document["pieces"]) - 1
        assert len(document["tokens"]) == sum(document["pieces"]) + len(document["pieces"])
    assert len(text["lines"]) == len(text["pieces"]) and random_tokens["lines"] is None


def test_every_setting_has_a_case_a_document(written, tiny_models):
    _, config = load_model(tiny_models / "no-exits")
    assert len(written["cases"]) == 2 * len(settings_for(config))
    assert len({case["id"] for case in written["cases"]}) == len(written["cases"])


def test_records_are_as_long_as_the_translation(written):
    for case in written["cases"]:
        tokens = case["translations"][0]["tokens"]
        for key in ("exits", "exit_margins", "gaps", "steps"):
            assert len(case[key]) == len(tokens)
        assert len(case["translations"][0]["log_probabilities"]) == len(tokens)
        for step, exit_at in zip(case["steps"], case["exits"]):
            assert len(step["states"]) == exit_at


def test_selected_positions_are_listed_where_fewer_than_all(written):
    case = next(c for c in written["cases"] if c["id"] == "document-1 ratio")
    length = len(written["documents"][1]["tokens"])
    for position, step in enumerate(case["steps"]):
        for chosen, visible in [(step["decoder"], position + 1), (step["cross"], length)]:
            for keys in chosen:
                assert keys is None or (keys == sorted(set(keys)) and 0 <= keys[0] and keys[-1] < visible)
    assert any(keys is not None for step in case["steps"] for keys in step["cross"])


def test_the_same_seed_writes_the_same(tiny_models, written):
    torch.manual_seed(99)  # nothing may depend on the global generator
    again = fixture(tiny_models / "no-exits", seed=3, documents=2)
    assert again["documents"] == written["documents"]
    assert again["cases"][0]["translations"] == written["cases"][0]["translations"]
