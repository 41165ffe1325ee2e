"""A model for a new target language: what it keeps of its parent, and how new pieces begin."""

from __future__ import annotations

import lzma
import random
import shutil

import numpy as np
import pytest
import sentencepiece
import torch

from corpora import corpus_of
from salient import transfer
from salient.config import ModelConfig
from salient.data import PAD, Corpus
from salient.model import Transformer
from salient.pieces import pruned
from salient.prepare import parser as prepare_parser, prepare
from salient.shortlist import Shortlist
from salient.tensor_file import read_folder
from salient.tiny import SENTENCES
from salient.vocabulary import Vocabulary

MARKERS = 4
# Every English word of the parent's vocabulary, its translation by the parent, and the new language's word.
WORDS = [("house", "casa", "Haus"), ("river", "rio", "Fluss"), ("old", "velho", "alt"), ("tree", "tree", "Baum")]


def spm(words: list[str]) -> sentencepiece.SentencePieceProcessor:
    """A model with a piece for each word, and no others but bytes and markers."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    for word in words:
        proto.pieces.add(piece="\u2581" + word, score=-1.0, type=1)
    return sentencepiece.SentencePieceProcessor(
        model_proto=pruned(proto.SerializeToString(), list(range(len(words))), MARKERS))


def test_a_new_piece_begins_as_the_parents_translation_of_what_it_translates():
    of_parent = spm([w for source, word, _ in WORDS for w in dict.fromkeys((source, word))])
    source, target = spm([w[0] for w in WORDS]), spm([*(w[2] for w in WORDS), "tree", "nie"])
    torch.manual_seed(1)
    parent = Transformer(ModelConfig(vocab_size=of_parent.get_piece_size()))
    torch.nn.init.normal_(parent.output_bias)
    tokens = np.full((of_parent.get_piece_size(), 4), PAD, np.uint32)
    tokens[:, 0] = np.arange(len(tokens))
    for word, translation, _ in WORDS:
        if word != translation:
            tokens[of_parent.piece_to_id("\u2581" + word), 1] = of_parent.piece_to_id("\u2581" + translation)
    pairs, rng = [], random.Random(1)
    for _ in range(200):
        words = rng.sample(WORDS, 2)
        pairs.append((source.encode(" ".join(w[0] for w in words)), target.encode(" ".join(w[2] for w in words[::-1]))))
    e, b, translated = transfer.embeddings(parent, of_parent, source, target, Shortlist(tokens, np.array([1])),
                                           corpus_of(pairs), 10_000)
    assert translated == len(WORDS)
    table = parent.embedding.weight.detach()
    for _, translation, word in WORDS:
        made, origin = target.piece_to_id("\u2581" + word), of_parent.piece_to_id("\u2581" + translation)
        near = torch.nn.functional.cosine_similarity(e[made].unsqueeze(0), table)
        assert near.argmax() == origin and near[origin] > 0.9
        assert b[made] == pytest.approx(float(parent.output_bias[origin].detach()), abs=0.3)
    for same in ("<pad>", "<s>", "</s>", "<sep>", "<0x41>", "\u2581tree"):
        assert torch.equal(e[target.piece_to_id(same)], table[of_parent.piece_to_id(same)])
    assert e[target.piece_to_id("\u2581nie")].isfinite().all()  # in no segment: begins as the bytes of its text


@pytest.fixture
def text(tmp_path):
    """Parallel text into an invented language: the words are reversed."""
    path = tmp_path / "train.tsv.xz"
    with lzma.open(path, "wt", encoding="utf-8") as out:
        for number in range(60):
            for source, _ in SENTENCES[:20]:
                out.write(f"x|{number}\t{source}\t{' '.join(w[::-1] for w in source.split())} {number}\n")
    return path


def test_the_commands_make_a_model_to_start_from(tiny_models, tmp_path, text):
    parent, data, out = tiny_models / "markers", tmp_path / "data", tmp_path / "start"
    count = ModelConfig.load(parent).tokens.markers.count
    common = ["--parent", str(parent), "--markers", str(count)]

    def run(*arguments):
        o = transfer.parser().parse_args(arguments)
        o.run(o)

    run("vocabulary", *common, "--text", str(text), "--pieces", "110", "--least", "2", "--out", str(data))
    prepare(prepare_parser().parse_args(["--train", str(text), "--no-language-check", "--out", str(data)]))
    with pytest.raises(ValueError, match=f"--markers 2: .*tokenizer.model has {count}; give the number"):
        run("model", "--parent", str(parent), "--markers", "2", "--data", str(data), "--out", str(out))
    out.mkdir()
    (out / "vocabulary.json").write_text("of another model")
    run("model", *common, "--data", str(data), "--target-language", "xx", "--name", "x", "--out", str(out))
    assert not (out / "vocabulary.json").exists()

    config = ModelConfig.load(out)
    of_parent, source, target = (sentencepiece.SentencePieceProcessor(model_file=str(path)) for path in (
        parent / "tokenizer.model", out / "tokenizer.model", out / "target_tokenizer.model"))
    assert (config.name, config.target_language) == ("x", "xx")
    assert (config.source_vocab_size, config.vocab_size) == (source.get_piece_size(), target.get_piece_size())
    english = [sentence for sentence, _ in SENTENCES[:20]]
    assert source.encode(english, out_type=str) == of_parent.encode(english, out_type=str)
    corpus = Corpus.load(data / "train.npz")
    assert target.decode(corpus.pieces(0)[1].tolist()).endswith(" 0")

    vocabulary = Vocabulary(out, config)
    for sentence in english:
        assert vocabulary.encode(sentence) == source.encode(sentence)
        assert vocabulary.encode_target(sentence) == target.encode(sentence)
    assert vocabulary.decode(target.encode("0 1")) == target.decode(target.encode("0 1"))

    kept, made = read_folder(parent), read_folder(out)
    Transformer(config).load_state_dict(made)
    for name in (n for n in made if n.startswith(("encoder_layers", "decoder_layers"))):
        assert torch.equal(kept[name], made[name]), name
    for piece in ("<sep>", "<0x41>", source.id_to_piece(source.get_piece_size() - 1)):
        assert torch.equal(made["source_embedding.weight"][source.piece_to_id(piece)],
                           kept["embedding.weight"][of_parent.piece_to_id(piece)])
    assert config.exits is None and not any(name.startswith("halting.") for name in made)


def test_the_new_model_may_have_another_number_of_markers_than_its_parent(tiny_models, tmp_path, text):
    o = transfer.parser().parse_args(["vocabulary", "--parent", str(tiny_models / "markers"), "--markers", "30",
                                      "--text", str(text), "--pieces", "110", "--out", str(tmp_path)])
    o.run(o)
    source = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "tokenizer.model"))
    assert [source.piece_to_id(f"\u27e6{n}\u27e7") for n in (0, 29, 30)] == [261, 290, 1]
    assert source.encode(SENTENCES[0][0], out_type=str) == sentencepiece.SentencePieceProcessor(
        model_file=str(tiny_models / "markers" / "tokenizer.model")).encode(SENTENCES[0][0], out_type=str)


def test_a_parent_with_other_first_pieces_is_refused(tiny_models, tmp_path, text):
    parent = tmp_path / "parent"
    shutil.copytree(tiny_models / "base", parent)
    with open(parent / "tokenizer.model", "wb") as file:
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=(s for s, _ in SENTENCES), model_writer=file,
                                                 vocab_size=40, model_type="char", hard_vocab_limit=False, minloglevel=2)
    o = transfer.parser().parse_args(["vocabulary", "--parent", str(parent), "--text", str(text), "--out", str(tmp_path)])
    with pytest.raises(ValueError, match="--parent: .*tokenizer.model has not the special tokens and bytes first"):
        o.run(o)
