"""Language tokens of other toolkits' vocabularies."""

from salient.convert.languages import languages_of, target_languages


def test_nllb_has_its_own_tags_and_short_ones():
    codes = "srp_Cyrl zsm_Latn als_Latn zho_Hans zho_Hant pbt_Arab ydd_Hebr ace_Arab ace_Latn".split()
    languages = languages_of({code: i for i, code in enumerate(codes, 10)})
    assert {tag: token for tag, token in languages.tokens.items() if len(tag) == 2} == {
        "sr": 10, "ms": 11, "sq": 12, "zh": 13, "ps": 15, "yi": 16}
    assert languages.tokens["zho-Hans"] == 13 and languages.tokens["ace-Latn"] == 18 and "ace" not in languages.tokens
    # The engine takes zh for zh-Hant, unless that is there.
    assert (languages.tokens["zh-Hans"], languages.tokens["zh-Hant"]) == (13, 14) and "sr-Cyrl" not in languages.tokens
    assert languages.source == languages.target == sorted(languages.tokens)


def test_pieces_of_text_are_no_languages():
    pieces = {"______": 5, "_______": 6, "__init": 7, "____a__": 8, "__en__": 9, "__ast__": 10, "eng_Latn\u2581": 11}
    assert languages_of(pieces).tokens == {"en": 9, "ast": 10}
    assert target_languages({">><<": 1, ">>": 2, ">> <<": 3}, "en") is None


def test_opus_mt_has_languages_of_the_target():
    languages = target_languages({"a": 1, ">>fra<<": 2, ">>srp_Latn<<": 3, ">>ara<<": 4, ">>es_419<<": 5}, "en")
    assert languages.tokens == {"fr": 2, "fra": 2, "sr-Latn": 3, "srp-Latn": 3, "ar": 4, "ara": 4, "es-419": 5}
    assert (languages.source, languages.source_prefix, languages.target_prefix) == (["en"], "target", "none")
