"""Reduces a teacher's SentencePiece vocabulary to the unigram pieces that a text uses most.

Special tokens, byte pieces and markers come first, as the other modules expect. Markers are user-defined pieces:
tokenisation never splits them, and the model copies them to the right place in the translation.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from pathlib import Path
from typing import IO, Iterable

import sentencepiece

from .command import refusals
from .config import Tokens
from .data import read_documents
from .vocabulary import tokenizer_of

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
SPECIAL = [("<pad>", CONTROL), ("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), ("<sep>", CONTROL)]
BYTES = [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]


def marker(number: int) -> str:
    """The text of a marker. It uses characters that normal text does not contain (mathematical white square
    brackets)."""
    return f"\u27e6{number}\u27e7"


def markers_in(tokenizer: sentencepiece.SentencePieceProcessor) -> int:
    """The number of markers in the vocabulary."""
    return next(n for n in itertools.count() if tokenizer.piece_to_id(marker(n)) == tokenizer.unk_id())


def train_unigram(texts: Iterable[str], size: int, option: str, writer: IO[bytes], **more: object) -> None:
    """Writes a new SentencePiece model. option: that of the size; ValueError names it. more: SentencePiece's own."""
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=writer, vocab_size=size, model_type="unigram",
            character_coverage=0.9998, normalization_rule_name="identity", input_sentence_size=300_000,
            shuffle_input_sentence=True, num_threads=2, minloglevel=1, **more)
    except RuntimeError as reason:
        raise ValueError(f"{option} {size}: SentencePiece makes no such vocabulary of this text: {reason}") from None


def counted(tokenizer: sentencepiece.SentencePieceProcessor, texts: Iterable[str]) -> Counter:
    """How often each piece of the tokeniser occurs."""
    counts: Counter = Counter()
    for ids in tokenizer.encode(list(texts), num_threads=2):
        counts.update(ids)
    return counts


def kept_pieces(tokenizer: sentencepiece.SentencePieceProcessor, counts: Counter, most: int) -> list[int]:
    """The teacher's ids in order: all single characters that occur, then the most frequent pieces, `most` in all."""
    normal = [i for i in range(tokenizer.get_piece_size())
              if not (tokenizer.is_control(i) or tokenizer.is_unknown(i) or tokenizer.is_unused(i))]
    single = [i for i in normal if len(tokenizer.id_to_piece(i)) == 1]
    longer = sorted((i for i in normal if len(tokenizer.id_to_piece(i)) > 1), key=lambda i: -counts[i])
    return sorted((single + longer)[:most])


def pruned(model: bytes, kept: list[int], markers: int) -> bytes:
    """A SentencePiece model with the special tokens, byte pieces and markers, and the teacher's pieces `kept`."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    old = [(proto.pieces[i].piece, proto.pieces[i].score) for i in kept]
    lowest = min(score for _, score in old)
    del proto.pieces[:]
    for text, kind in SPECIAL + BYTES + [(marker(n), USER_DEFINED) for n in range(markers)]:
        proto.pieces.add(piece=text, score=0.0 if kind != BYTE else lowest, type=kind)
    for text, score in old:
        proto.pieces.add(piece=text, score=score, type=NORMAL)
    tokens, trainer = Tokens(), proto.trainer_spec
    trainer.Clear()
    trainer.model_type, trainer.vocab_size, trainer.byte_fallback = 1, len(proto.pieces), True
    trainer.pad_id, trainer.unk_id, trainer.bos_id, trainer.eos_id = tokens.pad, tokens.unk, tokens.bos, tokens.eos
    return proto.SerializeToString()


def texts_of(path: Path, most: int) -> list[str]:
    texts: list[str] = []
    for _, pairs in read_documents(path):
        texts += [text for pair in pairs for text in pair]
        if len(texts) >= most:
            break
    return texts


def first_marker() -> int:
    return len(SPECIAL) + len(BYTES)


def first_piece(markers: int) -> int:
    """The new id of the first kept piece."""
    return first_marker() + markers


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--teacher", type=Path, required=True, help="the teacher's SentencePiece model")
    p.add_argument("--text", type=Path, required=True, help="parallel text (TSV) whose pieces are counted")
    p.add_argument("--pieces", type=int, nargs="+", default=[8000, 12000, 16000], help="sizes to compare")
    o = p.parse_args()
    with refusals("pieces"):
        compare(o)


def compare(o: argparse.Namespace) -> None:
    if not o.teacher.is_file():
        raise ValueError(f"--teacher: there is no file {o.teacher}")
    teacher, texts = tokenizer_of(o.teacher), texts_of(o.text, 200_000)
    counts = counted(teacher, texts)
    for size in o.pieces:
        kept = kept_pieces(teacher, counts, size)
        student = sentencepiece.SentencePieceProcessor(model_proto=pruned(o.teacher.read_bytes(), kept, 32))
        cut = sum(counted(student, texts[:20_000]).values())
        whole = sum(counted(teacher, texts[:20_000]).values())
        print(f"{size} pieces: {cut / whole:.4f} times the teacher's tokens")


if __name__ == "__main__":
    main()
