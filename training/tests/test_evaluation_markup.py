"""Segments with tags, as the measurement of markup reads them."""

import pytest

from salient.evaluation import markup


def test_only_a_line_feed_ends_a_line(tmp_path):
    (tmp_path / "xml.tsv").write_text("1\tPress <b>A</b>\u2028now.\t<b>A</b> dr\u00fccken.\n", encoding="utf-8")
    [segment] = markup.read(tmp_path / "xml.tsv", plant=False, limit=0)
    assert segment.source == 'Press <span class="b">A</span>\u2028now.'


def test_data_without_tags_is_refused_with_the_remedy(tmp_path, monkeypatch, capsys):
    (tmp_path / "plain.tsv").write_text("1\tPress A now.\tA dr\u00fccken.\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["markup", "--bin", "x", "--model", "x", "--data", str(tmp_path / "plain.tsv")])
    with pytest.raises(SystemExit):
        markup.main()
    assert "has no segment with tags; --planted makes some" in capsys.readouterr().err
