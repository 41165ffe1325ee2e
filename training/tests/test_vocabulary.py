import json

from salient.config import ModelConfig
from salient.vocabulary import Vocabulary


def test_tokens_are_the_tokenizers_own_numbers_where_there_is_no_vocabulary(tiny_models):
    folder = tiny_models / "base"
    vocabulary = Vocabulary(folder, ModelConfig.load(folder))
    text = "The old house stands at the river."
    assert vocabulary.encode(text) == vocabulary.tokenizer.encode(text)
    assert vocabulary.decode([2, *vocabulary.encode(text), 3]) == text


def test_source_and_target_have_vocabularies_of_their_own(tiny_models):
    folder = tiny_models / "multilingual"
    config = ModelConfig.load(folder)
    vocabulary = Vocabulary(folder, config)
    source, target = (json.loads((folder / name).read_text()) for name in ("source_vocabulary.json", "vocabulary.json"))
    assert (len(source), len(target)) == (config.source_vocab_size, config.vocab_size)
    text = "Nobody knew the answer."
    pieces = vocabulary.tokenizer.encode(text, out_type=str)
    assert [source[t] for t in vocabulary.encode(text)] == [p if p in source else "<unk>" for p in pieces]
    assert vocabulary.decode([target.index(piece) for piece in pieces]) == text
    assert vocabulary.decode([target.index(p) for p in ("<0xC3>", "<0xA4>", "\u2581more3")]) == "ä more3"
