import dataclasses
import json
import shutil

import pytest
import sentencepiece

from salient.config import ModelConfig
from salient.tiny import SENTENCES
from salient.vocabulary import Vocabulary, language_prefixes


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


def test_a_target_with_a_tokenizer_of_its_own_has_its_numbers(tiny_models, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny_models / "base", folder)
    with open(folder / "target_tokenizer.model", "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(target for _, target in SENTENCES), model_writer=file, vocab_size=320,
            byte_fallback=True, control_symbols=["<sep>"], pad_id=0, unk_id=1, bos_id=2, eos_id=3, minloglevel=2)
    vocabulary = Vocabulary(folder, ModelConfig.load(folder))
    own = sentencepiece.SentencePieceProcessor(model_file=str(folder / "target_tokenizer.model"))
    source, text = SENTENCES[1]
    assert vocabulary.target == [own.id_to_piece(i) for i in range(320)]
    assert vocabulary.encode_target(text) == own.encode(text) != vocabulary.encode(text)
    assert vocabulary.decode([2, *vocabulary.encode_target(text), 3]) == text
    assert vocabulary.encode(source) == vocabulary.tokenizer.encode(source)


def test_both_tokenizers_share_a_list_of_pieces(tiny_models, tmp_path):
    """As in an OPUS-MT model: source.spm and target.spm, and one vocabulary."""
    folder = tmp_path / "model"
    shutil.copytree(tiny_models / "base", folder)
    shutil.copy(folder / "tokenizer.model", folder / "target_tokenizer.model")
    config = ModelConfig.load(folder)
    pieces = Vocabulary(folder, config).source[::-1]
    (folder / "vocabulary.json").write_text(json.dumps(pieces))
    config.tokens = dataclasses.replace(config.tokens, unk=pieces.index("<unk>"), eos=pieces.index("</s>"))
    vocabulary = Vocabulary(folder, config)
    text = SENTENCES[0][0]
    assert [pieces[t] for t in vocabulary.encode_target(text)] == vocabulary.tokenizer.encode(text, out_type=str)
    assert vocabulary.encode(text) == vocabulary.encode_target(text)


def test_text_never_has_special_tokens(tiny_models, tmp_path):
    """A character that the tokenizer does not know may be spelt like a piece that is none of text."""
    folder = tmp_path / "model"
    folder.mkdir()
    with open(folder / "tokenizer.model", "wb") as file:
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["abc abc"]), model_writer=file, vocab_size=8,
                                                 model_type="char", hard_vocab_limit=False, minloglevel=2)
    config = ModelConfig.load(tiny_models / "multilingual")
    config.tokens.unk, config.tokens.eos, config.tokens.pad = 0, 1, 3
    config.languages.tokens = {"en": 2}
    (folder / "vocabulary.json").write_text(json.dumps(["<unk>", "x", "y", "z", "w"]))
    assert Vocabulary(folder, config).encode("xyzw")[-1:] == [0]  # one unknown run
    for letter, token in (("x", 0), ("y", 0), ("z", 0), ("w", 4)):
        assert Vocabulary(folder, config).encode(letter)[-1] == token
    (folder / "source_vocabulary.json").write_text(json.dumps(["<unk>", "x", "y", "z", "w"]))
    assert Vocabulary(folder, config).encode("z")[-1] == 3  # the pad token is the target's alone
    assert Vocabulary(folder, config).encode_target("z")[-1] == 0
    config.source_vocab_size = 5
    assert Vocabulary(folder, config).encode("y")[-1] == 0  # the source begins with the token of a language
    config.languages.source_prefix = "none"
    assert Vocabulary(folder, config).encode("y")[-1] == 2
    assert Vocabulary(folder, config).encode_target("y")[-1] == 0


def test_the_languages_of_the_model_begin_its_chunks(tiny_models):
    config = ModelConfig.load(tiny_models / "multilingual")
    tokens = config.languages.tokens
    assert language_prefixes(config) == ([tokens["en"]], [tokens["de"]])
    config.languages.source_prefix, config.languages.target_prefix = "target", "none"
    assert language_prefixes(config) == ([tokens["de"]], [])
    config.languages.tokens = {name: tokens[name] for name in ("de", "fr")}  # OPUS-MT names the targets alone
    assert language_prefixes(config) == ([tokens["de"]], [])
    config.languages.target, config.target_language = ["fr"], "mul"
    assert language_prefixes(config) == ([tokens["fr"]], [])
    config.languages.target = ["de", "fr"]
    with pytest.raises(ValueError, match="several languages"):
        language_prefixes(config)
    assert language_prefixes(ModelConfig.load(tiny_models / "base")) == ([], [])


@pytest.mark.parametrize("name, content, message", [
    ("tokenizer.model", b"damaged", "not a readable SentencePiece model"),
    ("vocabulary.json", b"[", "it is not JSON"), ("vocabulary.json", b"\xff", "it is not JSON"),
    ("vocabulary.json", b'{"a": 1}', "it must be a list of pieces"),
    ("source_vocabulary.json", b"[1]", "it must be a list of pieces")])
def test_a_damaged_file_is_named(tiny_models, tmp_path, name, content, message):
    shutil.copytree(tiny_models / "multilingual", tmp_path / "model")
    (tmp_path / "model" / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}: {message}"):
        Vocabulary(tmp_path / "model", ModelConfig.load(tmp_path / "model"))
