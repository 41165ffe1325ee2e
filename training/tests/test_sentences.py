"""Sentences as the engine cuts them."""

from __future__ import annotations

import pytest

pytest.importorskip("icu")

from salient.sentences import splitter  # noqa: E402


def test_abbreviations_and_quotations_do_not_end_sentences():
    split = splitter()
    assert split('Dr. Smith came in 1990. He said "Hello there." Then he left. See fig. 3 and No. 5.') == [
        "Dr. Smith came in 1990.", 'He said "Hello there."', "Then he left.", "See fig. 3 and No. 5."]
    assert split("A. B. Smith came! Did she? Yes.") == ["A. B. Smith came!", "Did she?", "Yes."]


def test_characters_beyond_the_basic_plane_and_stretches_without_letters():
    assert splitter()("Well \U0001F600 done. 42. So be it.") == ["Well \U0001F600 done.", "So be it."]
