"""A frozen model of documents teaches a student with the same vocabularies."""

import shutil

import pytest
import torch
import torch.nn.functional as F

from salient.data import OURS, batches
from salient.document_teacher import DocumentTeacher, load_teacher
from salient.export import load_model
from salient.selection import SelectionRun
from salient.sentence_teacher import SentenceTeacher
from salient.trainer import Trainer
from salient.vocabulary import TOKENIZER
from test_train import copy_corpus, new_model, options


@pytest.fixture
def data(tiny_models, tmp_path):
    shutil.copy(tiny_models / TOKENIZER, tmp_path)
    return tmp_path


@pytest.mark.parametrize("variant", ["base", "by-segment", "each-layer", "post"])
def test_the_targets_are_the_last_exits_predictions(tiny_models, data, variant):
    teacher = load_teacher(tiny_models / variant, data, OURS, "cpu")
    source, target = next(batches(copy_corpus(), 64, seed=1, mixture={24: 1.0}))
    taught = teacher(source, target, 0.7)
    model, run = load_model(tiny_models / variant)[0], SelectionRun()
    states = model.decode(target[:, :-1], source, model.encode(source, run), run)
    found = (taught.states @ taught.weight.t() + taught.bias).view(*target[:, 1:].shape, -1)
    assert torch.allclose(found, model.logits(model.config.decoder.layers - 1, states[-1]), atol=1e-4)
    assert taught.share.eq(0.7).all()
    assert not any(p.requires_grad for p in teacher.model.parameters())


def test_other_vocabularies_are_refused(tiny_models, data):
    (data / TOKENIZER).write_bytes(b"another")
    with pytest.raises(ValueError, match="a teacher of documents must have the student's vocabularies"):
        load_teacher(tiny_models / "base", data, OURS, "cpu")


def test_a_model_of_sentences_teaches_by_segment(tiny_models, data):
    assert isinstance(load_teacher(tiny_models / "student", data, OURS, "cpu"), SentenceTeacher)


@pytest.mark.parametrize("frozen", [["encoder", "embedding", "source_embedding"], ["embedding"]])
def test_a_frozen_encoder_is_read_once(monkeypatch, frozen):
    teacher = DocumentTeacher.__new__(DocumentTeacher)
    teacher.model = new_model(2).eval().requires_grad_(False)
    trainer = Trainer(new_model(2), options("base", "--hand-up", "0", "--frozen", *frozen))
    trainer.model.load_state_dict(teacher.model.state_dict())
    trainer.objective.teacher = teacher
    encoded, encode = [], teacher.model.encode
    monkeypatch.setattr(teacher.model, "encode", lambda *of: encoded.append(1) or encode(*of))
    trainer.train_step(*next(batches(copy_corpus(), 256, seed=1, mixture={24: 1.0})))
    assert bool(encoded) == ("encoder" not in frozen)


def test_an_encoder_with_fewer_layers_is_another_one():
    teacher, student = DocumentTeacher.__new__(DocumentTeacher), new_model(2).requires_grad_(False)
    teacher.model = new_model(2)
    assert teacher.encodes_as(student)
    student.encoder_layers = student.encoder_layers[:1]
    assert not teacher.encodes_as(student)


def test_the_student_keeps_the_teachers_translations():
    """Text that contradicts the teacher does not change full depth if the teacher has the whole target."""
    teacher = DocumentTeacher.__new__(DocumentTeacher)
    teacher.model = new_model(3).eval().requires_grad_(False)
    learned = {}
    for share in (0.0, 1.0):
        trainer = Trainer(new_model(3), options("base", "--teacher-share", str(share), "--lr", "0.003",
                                                "--hand-up", "0"))
        trainer.objective.teacher = teacher
        stream = batches(copy_corpus(), 256, seed=1, mixture={24: 1.0})
        for _ in range(30):
            trainer.train_step(*next(stream))
        source, target = next(stream)
        run = SelectionRun()
        with torch.no_grad():
            taught, learns = (m.decode(target[:, :-1], source, m.encode(source, run), run)
                              for m in (teacher.model, trainer.model))
            theirs = teacher.model.logits(2, taught[2]).log_softmax(-1)
            ours = [trainer.model.logits(n, h).log_softmax(-1) for n, h in enumerate(learns)]
            learned[share] = [float(F.kl_div(x, theirs, reduction="sum", log_target=True)) for x in ours]
    assert learned[1.0][-1] < 0.1 * learned[0.0][-1]
    assert all(kept < 0.3 * lost for kept, lost in zip(learned[1.0], learned[0.0]))
