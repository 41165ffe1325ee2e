import argparse
from collections import Counter

import pytest

from salient.cleaning import LATIN, Duplicates, HeldOut, fault, language_check, writing_of
from salient.data import Corpus
from salient.prepare import cleaned, parser, prepare
from salient.tiny import SENTENCES

LONG = "a window holds as many segments as the model was trained on and no more than that"


@pytest.mark.parametrize("source, target, why", [
    ("A short text.", "Ein kurzer Text.", None),
    ("printf(3)", "printf(3)", None),
    ("", "Leer.", "empty"),
    ("x" * 801, "y" * 700, "too long"),
    ("x" * 100, "y" * 10, "lengths differ"),
    ("The same prose on both sides.", "The same prose on both sides.", "untranslated"),
    ("The same prose on both of the sides.", "Der same prose on both of the sides.", "untranslated"),
    ("Press <b>Enter</b>.", "<b>Eingabe</b> drücken.", None),
    ("Press <b>Enter</b>.", "Drücken Sie die Eingabetaste.", "markup differs"),
    ("Less &lt; more", "Weniger < mehr", "markup differs"),
])
def test_faults_of_a_pair(source, target, why):
    assert fault(source, target) == why


RUSSIAN = [("Старый дом стоит у реки.", "The old house stands at the river."),
           ("Она открыла окно и выглянула.", "She opened the window and looked out."),
           ("Три птицы сидели на крыше.", "Three birds sat on the roof."),
           ("Никто не знал ответа.", "Nobody knew the answer."),
           ("Зимой озеро замерзает.", "In winter the lake freezes."),
           ("Запустите программу salient, чтобы перевести файл.", "Run the program salient to translate the file.")]
CHINESE = [("河边有一座老房子。", "An old house stands at the river."),
           ("她打开窗户，向外看去。", "She opened the window and looked out."),
           ("三只鸟停在屋顶上。", "Three birds sat on the roof."),
           ("孩子们在花园里一直玩到天黑。", "The children played in the garden until it grew dark."),
           ("他多年没有见过他的兄弟了。", "He had not seen his brother for years.")]
JAPANESE = [("古い家が川のそばに建っている。", "The old house stands at the river."),
            ("彼女はカーテンを開けて外を見た。", "She opened the curtain and looked out."),
            ("テーブルの上に手紙があった。", "A letter lay on the table.")]


def test_pairs_across_scripts_are_kept(tmp_path):
    for pairs in (RUSSIAN, CHINESE, JAPANESE, [(t, s) for s, t in RUSSIAN], [(t, s) for s, t in CHINESE],
                  [("Ngôi nhà cũ đứng bên bờ sông, gần cửa.", "The old house stands at the river, near the door.")]):
        dropped: Counter = Counter()
        kept = list(cleaned(iter([("a|1", pairs)]), options(tmp_path), dropped))
        assert kept == [("a|1", pairs)], dropped


def test_letters_of_a_third_script_must_be_copied():
    writing = writing_of(RUSSIAN)
    assert writing.scripts == {"CYRILLIC"}
    assert fault("Угол α равен 90°.", "The angle α is 90°.", writing) is None
    assert fault("Угол α равен 90°.", "The angle is 90°.", writing) == "characters differ"
    assert fault("Дом ☃", "House", writing) == "characters differ"
    assert fault(RUSSIAN[0][0], RUSSIAN[0][0], writing) == "untranslated"


@pytest.mark.parametrize("pairs", [SENTENCES, [(t, s) for s, t in SENTENCES]])
def test_two_languages_in_latin_letters_are_cleaned_as_ever(pairs):
    """A few foreign words, such as names of languages, do not make their script the language's own."""
    writing = writing_of([*pairs, ("русский", "русский")])
    assert writing == LATIN
    assert fault("Say Привет", "Sag Hallo", writing) == "characters differ"
    assert fault("Say 你好", "Sag 你好", writing) is None
    assert writing.words("Sag 你好") == ["sag", "你好"]


def test_chinese_is_compared_by_its_characters():
    writing = writing_of(CHINESE)
    long = "".join(source for source, _ in CHINESE)
    assert writing.words("Python 很好") == ["python", "很", "好"]
    held_out = HeldOut([long], writing)
    assert held_out.fault(long) == "held out" and held_out.fault("昨天" + long) == "near copy of held out"
    assert held_out.fault("今天的天气非常好，我们去公园散步吧。") is None
    assert fault(CHINESE[3][0], CHINESE[3][0], writing) == "untranslated"
    assert fault(long, CHINESE[3][1][:20], writing) == "lengths differ"
    check = language_check("zh", "en", writing, detect=lambda text: (True, "ja" if "的" in text else "en"))
    assert check("他多年没有见过他的兄弟了", "He had not seen his brother for so many years") == "wrong language"


def test_languages_are_told_apart():
    def detect(text):
        return "maybe" not in text, "de" if "der" in LATIN.words(text) else "en"

    check = language_check("en", "de", detect=detect)
    english = "The server starts as soon as the model has been read from the disk."
    german = "Sobald der Server das Modell von der Platte gelesen hat, startet er."
    assert check(english, german) is None
    assert check(english, english) == "wrong language" and check(german, german) == "wrong language"
    assert check(english, "maybe " + english) is None  # where the detector is not sure, the pair stays
    assert check("Start", "Start") is None  # too short to tell


def test_nothing_held_out_passes():
    held_out = HeldOut([LONG, "Three birds sat on the roof."])
    assert held_out.fault(LONG) == held_out.fault(LONG.upper() + "!") == "held out"
    assert held_out.fault("Yesterday " + LONG) == "near copy of held out"
    assert held_out.fault("A window holds as many segments as it can, which depends on their length.") is None
    assert held_out.fault("Three birds") is None


def test_duplicates_go_but_four_of_a_pair_stay():
    duplicates, pair = Duplicates(), ("Note", "Hinweis")
    assert [len(duplicates.fresh([pair])) for _ in range(6)] == [1, 1, 1, 1, 0, 0]
    document = [(str(i), str(i)) for i in range(10)]
    assert duplicates.fresh(document) == document
    assert duplicates.fresh(document[:9] + [("new", "neu")]) == []  # nine in ten were seen
    assert len(duplicates.fresh(document[:5] + [(f"new {i}", "neu") for i in range(5)])) == 10


def options(tmp_path, **changes) -> argparse.Namespace:
    found = parser().parse_args(["--train", str(tmp_path / "train.tsv"), "--out", str(tmp_path / "out"),
                                 "--no-language-check"])
    return argparse.Namespace(**{**vars(found), **changes})


def test_cleaning_keeps_the_order_of_documents_and_counts_what_it_drops(tmp_path):
    (tmp_path / "held.tsv").write_text("t|1\tThree birds sat on the roof.\tDrei Vögel.\n", encoding="utf-8")
    documents = [("a|1", SENTENCES[:4] + [("", "leer")]), ("b|1", SENTENCES[4:6]), ("a|2", SENTENCES[6:8])]
    dropped: Counter = Counter()
    kept = list(cleaned(iter(documents), options(tmp_path, sources=["a"], held_out=[tmp_path / "held.tsv"]), dropped))
    assert kept == [("a|1", [SENTENCES[0], SENTENCES[1], SENTENCES[3]]), ("a|2", SENTENCES[6:8])]
    assert dropped["held out"] == 1 and dropped["empty"] == 1


def test_the_development_set_is_held_out_too(tmp_path):
    (tmp_path / "dev.tsv").write_text("t|1\tThree birds sat on the roof.\tDrei Vögel.\n", encoding="utf-8")
    dropped: Counter = Counter()
    kept = list(cleaned(iter([("a|1", SENTENCES[:4])]), options(tmp_path, dev=tmp_path / "dev.tsv"), dropped))
    assert kept == [("a|1", [SENTENCES[0], SENTENCES[1], SENTENCES[3]])] and dropped["held out"] == 1


def test_that_no_text_is_left_is_said(tmp_path):
    (tmp_path / "train.tsv").write_text("a|1\tThe same words on both sides.\tThe same words on both sides.\n")
    with pytest.raises(ValueError, match="no training text is left; name its languages with --source-language"):
        prepare(options(tmp_path, train=[tmp_path / "train.tsv"]))


def test_a_tokeniser_that_could_not_be_trained_is_not_left(tmp_path):
    """A later run would take it as it is."""
    (tmp_path / "train.tsv").write_text("".join(f"a|1\t{s}\t{t}\n" for s, t in SENTENCES), encoding="utf-8")
    with pytest.raises(ValueError, match="Vocabulary size too high"):
        prepare(options(tmp_path, train=[tmp_path / "train.tsv"], vocab_size=9000))
    assert list((tmp_path / "out").iterdir()) == []


def test_prepare_writes_what_training_reads(tmp_path):
    import sentencepiece

    lines = [f"src{i % 2}|{i // 4}\t{s}\t{t}" for i, (s, t) in enumerate(SENTENCES)]
    (tmp_path / "train.tsv").write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
    prepare(options(tmp_path, train=[tmp_path / "train.tsv"], vocab_size=384))
    corpus = Corpus.load(tmp_path / "out" / "train.npz")
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "out" / "tokenizer.model"))
    read = {tokenizer.decode(corpus.pieces(i)[0].tolist()) for i in range(len(corpus.source_bounds) - 1)}
    assert read == {s for s, _ in SENTENCES}
    assert sorted(corpus.origins) == ["src0", "src1"] and len(corpus.origin) == len(corpus.documents) - 1


def test_words_are_what_comparisons_see():
    assert LATIN.words("Don't  PANIC, 42!") == ["don", "t", "panic", "42"]


@pytest.mark.parametrize("tokenizer, message", [(b"damaged", "tokenizer.model: not a readable SentencePiece model"),
                                                (None, "--markers: the tokenizer.model has no marker pieces")])
def test_the_tokeniser_is_looked_at_before_the_text(tmp_path, tokenizer, message):
    if tokenizer:
        (tmp_path / "tokenizer.model").write_bytes(tokenizer)
    o = parser().parse_args(["--train", "none.tsv", "--no-language-check", "--markers", "0.1", "--out", str(tmp_path)])
    with pytest.raises(ValueError, match=message):
        prepare(o)
