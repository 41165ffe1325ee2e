"""LibreTranslate's Python client; and files, which this client does not support."""

from __future__ import annotations

import urllib.error

import pytest
import requests
from conftest import KEY
from libretranslatepy import LibreTranslateAPI


def test_the_client(url):
    client = LibreTranslateAPI(url, KEY)
    text = client.translate("The server is running.", "en", "de")
    assert "Server" in text and "running" not in text
    assert client.translate("The server is running.", "auto", "de") == text
    found = client.detect("Dies ist ein ganz normaler Satz in deutscher Sprache.")
    assert found[0]["language"] == "de" and found[0]["confidence"] > 80
    languages = {language["code"]: language for language in client.languages()}
    assert languages["en"]["targets"] == ["de"] and languages["de"]["name"] == "German"


def test_errors(url):
    with pytest.raises(urllib.error.HTTPError) as caught:
        LibreTranslateAPI(url, "another key").translate("text", "en", "de")
    assert caught.value.code == 403
    with pytest.raises(urllib.error.HTTPError) as caught:
        LibreTranslateAPI(url, KEY).translate("text", "en", "fr")
    assert caught.value.code == 400


def test_files(url):
    reply = requests.post(f"{url}/translate_file", params={"api_key": KEY}, data={"source": "en", "target": "de"},
                          files={"file": ("notes.md", "# Notes\n\nThe *server* is running.\n")}, timeout=60)
    assert reply.status_code == 200, reply.text
    file = requests.get(reply.json()["translatedFileUrl"], timeout=60)
    assert file.text.startswith("# ") and file.text.count("*") == 2 and "running" not in file.text


def test_html_with_controls(url):
    reply = requests.post(f"{url}/translate", timeout=60, json={
        "q": ["<p>Good <b>morning</b>.</p>"], "source": "en", "target": "de", "format": "html", "api_key": KEY,
        "salient": {"depth": {"policy": "FIXED", "fixed_exit": 2}}})
    assert reply.json()["translatedText"][0].count("<b>") == 1
    assert reply.json()["salient"][0]["report"]["mean_exit"] == 2
