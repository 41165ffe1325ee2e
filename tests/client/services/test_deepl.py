"""DeepL's own Python client."""

from __future__ import annotations

import deepl
import pytest
from conftest import KEY


@pytest.fixture
def client(url):
    deepl.http_client.max_network_retries = 1
    return deepl.DeepLClient(KEY, server_url=url)


def test_texts(client):
    results = client.translate_text(["Good morning.", "The server is running."], source_lang="EN", target_lang="DE")
    assert [result.text for result in results] != ["Good morning.", "The server is running."]
    assert "Server" in results[1].text and results[0].detected_source_lang == "EN"
    assert results[0].billed_characters == len("Good morning.")


def test_the_source_language_is_detected(client):
    result = client.translate_text("This sentence is written in the English language.", target_lang="DE")
    assert result.detected_source_lang == "EN"
    with pytest.raises(deepl.DeepLException, match="fr"):
        client.translate_text("Cette phrase est écrite en français, et elle est assez longue.", target_lang="DE")


def test_tags(client):
    result = client.translate_text('Press <x id="0"/> to <b>save</b> the file.', source_lang="EN", target_lang="DE",
                                   tag_handling="xml", ignore_tags=["x"], formality="prefer_more")
    assert result.text.count('<x id="0"/>') == 1 and result.text.count("<b>") == result.text.count("</b>") == 1
    result = client.translate_text("<p>Good <i>morning</i>.</p>", target_lang="DE", tag_handling="html")
    assert result.text.startswith("<p>") and "<i>" in result.text and result.text.endswith("</p>")


def test_controls_in_an_extra_field(client):
    controls = {"salient": {"selection": {"policy": "RATIO", "value": 0.1}}}
    assert client.translate_text("Good morning.", target_lang="DE", extra_body_parameters=controls).text
    with pytest.raises(deepl.DeepLException, match="selction"):
        client.translate_text("Good morning.", target_lang="DE", extra_body_parameters={"salient": {"selction": {}}})


def test_documents(client, tmp_path):
    source, target = tmp_path / "page.html", tmp_path / "page.de.html"
    source.write_text('<html lang="en"><p>The <b>server</b> is running.</p></html>')
    status = client.translate_document_from_filepath(source, target, target_lang="DE")
    assert status.done and status.billed_characters > 0
    page = target.read_text()
    assert 'lang="de"' in page and "<b>" in page and "running" not in page
    with pytest.raises(deepl.DeepLException, match="tells no format"):
        client.translate_document_upload(b"?", filename="page.xyz", target_lang="DE")


def test_lists(client):
    assert [language.code for language in client.get_source_languages()] == ["EN"]
    assert [language.code for language in client.get_target_languages()] == ["DE"]
    before = client.get_usage().character.count
    client.translate_text("Good morning.", target_lang="DE")
    assert client.get_usage().character.count == before + len("Good morning.")
    assert not client.get_usage().any_limit_reached
    pairs = [(pair.source_lang, pair.target_lang) for pair in client.get_glossary_languages()]
    assert ("en", "de") in pairs


def test_glossaries(client):
    assert [glossary.name for glossary in client.list_glossaries()] == ["operator"]
    made = client.create_glossary("terms", "EN", "DE", {"server": "Dienstrechner", "river": "Strom"})
    assert made.ready and made.entry_count == 2
    assert client.get_glossary_entries(made) == {"server": "Dienstrechner", "river": "Strom"}
    assert {glossary.name for glossary in client.list_glossaries()} == {"operator", "terms"}
    for text in ("The server is running.", ["The server is running."]):
        result = client.translate_text(text, source_lang="EN", target_lang="DE", glossary=made)
        assert "Dienstrechner" in (result[0] if isinstance(result, list) else result).text
    named = client.translate_text("The house is old.", source_lang="EN", target_lang="DE", glossary="operator")
    assert "Gebäude" in named.text
    client.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(made.glossary_id)


def test_what_there_is_not(client, url):
    with pytest.raises(deepl.DeepLException, match="'FR' is not supported"):
        client.translate_text("Good morning.", target_lang="FR")
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("another key", server_url=url).get_usage()
