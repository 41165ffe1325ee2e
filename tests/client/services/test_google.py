"""Google's own Python client, over REST, with its endpoint overridden."""

from __future__ import annotations

import pytest
from conftest import KEY
from google.api_core import exceptions
from google.auth.api_key import Credentials
from google.cloud import translate_v3
from google.cloud.translate_v3.services.translation_service.transports import TranslationServiceRestTransport

PARENT = "projects/any/locations/global"


def make_client(url, key):
    transport = TranslationServiceRestTransport(host=url, credentials=Credentials(key))
    return translate_v3.TranslationServiceClient(transport=transport)


def test_texts(url):
    client = make_client(url, KEY)
    reply = client.translate_text(parent=PARENT, contents=["The server is running.", "Good morning."],
                                  mime_type="text/plain", source_language_code="en-US", target_language_code="de")
    assert "Server" in reply.translations[0].translated_text and reply.translations[0].model == "en-de"
    reply = client.translate_text(parent=PARENT, contents=["This is a <b>sentence</b> in English."],
                                  target_language_code="de")
    assert reply.translations[0].translated_text.count("<b>") == 1
    assert reply.translations[0].detected_language_code == "en"


def test_documents(url):
    client = make_client(url, KEY)
    reply = client.translate_document(request={
        "parent": PARENT, "target_language_code": "de", "source_language_code": "en",
        "document_input_config": {"content": b"<p>The <i>server</i> is running.</p>", "mime_type": "text/html"},
    })
    page = reply.document_translation.byte_stream_outputs[0].decode()
    assert page.startswith("<p>") and "<i>" in page and "running" not in page
    assert reply.document_translation.mime_type == "text/html"


def test_languages(url):
    client = make_client(url, KEY)
    reply = client.get_supported_languages(parent=PARENT, display_language_code="fr")
    assert {language.language_code: language.display_name for language in reply.languages} == {
        "de": "allemand", "en": "anglais"}
    reply = client.detect_language(parent=PARENT, content="Dies ist ein ganz normaler Satz.", mime_type="text/plain")
    assert reply.languages[0].language_code == "de" and reply.languages[0].confidence > 0.8


def test_errors(url):
    client = make_client(url, "another key")
    with pytest.raises(exceptions.Unauthorized, match="not one that this server knows"):
        client.get_supported_languages(parent=PARENT)
    client = make_client(url, KEY)
    with pytest.raises(exceptions.BadRequest, match="'fr' is not supported"):
        client.translate_text(parent=PARENT, contents=["text"], target_language_code="fr")
