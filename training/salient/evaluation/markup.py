"""Measures whether inline markup is kept, and where it goes, on segments with XML tags. Starts its own server.

    python -m salient.evaluation.markup --bin build/release/bin --model models/en-de --data xml.en-de.tsv

A line of the data is `id TAB source TAB reference`. Segments are sent as paragraphs of HTML, with every element as a
span that has its name: once for each way of keeping markers (`document.markup`), and once without tags. Prints

    accuracy   share of the segments with tags whose translation has every tag of the source once, nested properly
    match      share of them whose tags are in the same order and nesting as the reference's (Hashimoto et al. 2019)
    placement  chrF of the elements' contents against the contents of the reference's elements of the same name
    BLEU       of all segments, without their tags; `untagged`: the translation of the source without tags

`--planted` takes a file without tags. Spans that source and reference share, and clauses, are enclosed in elements as
in training (salient/markers.py), so that the reference shows where an element belongs.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import random
import re
import urllib.error
from dataclasses import dataclass
from pathlib import Path

from ..markers import EDGE, clauses, common_spans, once
from .server import Server
from .sets import read_rows

TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^>]*?(/?)>")
SPAN = re.compile(r'<span class="([\w-]+)">|</span>')
WAYS = ("MARKUP_MARKERS", "MARKUP_ALIGNMENT", "MARKUP_PLACE")
TOGETHER = 20  # segments per request


@dataclass
class Segment:
    source: str  # HTML: text is escaped, elements are spans
    reference: str


def as_spans(xml: str) -> str | None:
    """The elements as HTML spans; None if they are not nested properly."""
    open_names: list[str] = []
    made, done = [], 0
    for tag in TAG.finditer(xml):
        made.append(html.escape(html.unescape(xml[done:tag.start()]), quote=False))
        done = tag.end()
        closes, name, empty = tag.groups()
        if closes:
            if not open_names or open_names.pop() != name:
                return None
            made.append("</span>")
        else:
            made.append(f'<span class="{name}">' + ("</span>" if empty else ""))
            if not empty:
                open_names.append(name)
    made.append(html.escape(html.unescape(xml[done:]), quote=False))
    return None if open_names else "".join(made)


def tags_of(text: str) -> list[str]:
    return [match.group(0) for match in SPAN.finditer(text)]


def without_tags(text: str) -> str:
    return " ".join(html.unescape(SPAN.sub("", text)).split())


def well_formed(text: str) -> bool:
    depth = 0
    for tag in tags_of(text):
        depth += -1 if tag == "</span>" else 1
        if depth < 0:
            return False
    return depth == 0


def elements(text: str) -> list[tuple[str, str]]:
    """(name, content) of the elements, in the order in which they open."""
    found, open_at = [], []
    for match in SPAN.finditer(text):
        if match.group(1):
            open_at.append(len(found))
            found.append((match.group(1), match.end()))
        elif open_at:
            index = open_at.pop()
            name, begin = found[index]
            found[index] = (name, without_tags(text[begin:match.start()]))
    return found


def placement(text: str, reference: str) -> list[float]:
    """chrF of each element of the reference against the text's next element of the same name."""
    import sacrebleu

    left, scores = elements(text), []
    for name, held in elements(reference):
        index = next((i for i, (other, _) in enumerate(left) if other == name), None)
        if held and index is not None:
            scores.append(sacrebleu.sentence_chrf(left.pop(index)[1], [held]).score)
    return scores


def planted(source: str, reference: str, rng: random.Random) -> tuple[str, str]:
    """The pair with up to three spans enclosed in elements."""
    pool = clauses(source, reference) + common_spans(source, reference)
    rng.shuffle(pool)
    taken: list[tuple[str, str]] = []
    for s, t in pool:
        apart = all(s not in a and a not in s and t not in b and b not in t for a, b in taken)
        if len(taken) < 3 and apart and once(s, source) and once(t, reference) and s.strip(EDGE):
            taken.append((s, t))
    source, reference = html.escape(source, quote=False), html.escape(reference, quote=False)
    for i, (s, t) in enumerate(taken):
        s, t = html.escape(s, quote=False), html.escape(t, quote=False)
        if source.count(s) == 1 and reference.count(t) == 1:
            source = source.replace(s, f'<span class="e{i}">{s}</span>')
            reference = reference.replace(t, f'<span class="e{i}">{t}</span>')
    return source, reference


def read(path: Path, plant: bool, limit: int) -> list[Segment]:
    segments, rng = [], random.Random(1)
    for _, source, reference, *_ in read_rows(path)[:limit or None]:
        pair = planted(source, reference, rng) if plant else (as_spans(source), as_spans(reference))
        if None not in pair:
            segments.append(Segment(*pair))
    return segments


def paragraphs(server: Server, segments: list[str], controls: dict) -> list[str]:
    """Translates segments of HTML as paragraphs."""
    translated: list[str] = []
    for at in range(0, len(segments), TOGETHER):
        part = segments[at:at + TOGETHER]
        page = "".join(f"<p>{segment}</p>\n" for segment in part)
        document = {"content": base64.b64encode(page.encode()).decode(), "mimeType": "text/html",
                    **controls.get("document", {})}
        reply = server.translate({**controls, "document": document})
        got = re.findall(r"<p>(.*?)</p>\n", base64.b64decode(reply["content"]).decode(), re.DOTALL)
        assert len(got) == len(part), f"{len(got)} paragraphs for {len(part)}"
        translated += got
    return translated


def bleu(lines: list[str], references: list[str]) -> float:
    import sacrebleu

    return sacrebleu.corpus_bleu(lines, [references]).score


def report(name: str, segments: list[Segment], translated: list[str], untagged: list[str], compares: bool) -> str:
    tagged = [(s, t) for s, t in zip(segments, translated) if tags_of(s.source)]
    accuracy = sum(well_formed(t) and sorted(tags_of(t)) == sorted(tags_of(s.source)) for s, t in tagged) / len(tagged)
    match = sum(tags_of(t) == tags_of(s.reference) for s, t in tagged) / len(tagged)
    places = [score for s, t in tagged for score in placement(t, s.reference)]
    lines = [without_tags(t) for t in translated]
    row = [name, f"{100 * accuracy:.1f} %", f"{100 * match:.1f} %"]
    references = [without_tags(s.reference) for s in segments]
    row += [f"{sum(places) / max(1, len(places)):.1f}", f"{bleu(lines, references):.1f}"] if compares else ["", ""]
    return "| " + " | ".join([*row, f"{bleu(lines, untagged):.1f}"]) + " |"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", type=Path, required=True, help="the folder of salient-server")
    p.add_argument("--model", type=Path, required=True)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--planted", action="store_true", help="the data has no tags: plant some")
    p.add_argument("--other-language", action="store_true",
                   help="the references are of another language than the model's: only structure is compared")
    p.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS)
    p.add_argument("--controls", type=json.loads, default={}, help="fields of every request, as JSON")
    p.add_argument("--limit", type=int, default=0, help="only so many lines")
    o = p.parse_args()
    segments = read(o.data, o.planted, o.limit)
    if not any(tags_of(s.source) for s in segments):
        p.error(f"{o.data} has no segment with tags; --planted makes some")
    server = Server(o.bin, o.model)
    try:
        plain = paragraphs(server, [html.escape(without_tags(s.source), quote=False) for s in segments], o.controls)
        untagged = [without_tags(t) for t in plain]
        tagged = sum(bool(tags_of(s.source)) for s in segments)
        print(f"{o.model.name}, {o.data.name}: {len(segments)} segments, {tagged} with tags, "
              f"{sum(len(elements(s.source)) for s in segments)} elements\n")
        print("| markup | accuracy | match | placement | BLEU | BLEU against untagged |")
        print("|---|---:|---:|---:|---:|---:|")
        if not o.other_language:
            print(f"| untagged | | | | {bleu(untagged, [without_tags(s.reference) for s in segments]):.1f} | |")
        for way in o.ways:
            try:
                document = {**o.controls.get("document", {}), "markup": way}
                translated = paragraphs(server, [s.source for s in segments], {**o.controls, "document": document})
            except urllib.error.HTTPError as error:  # a model without pieces for markers
                print(f"{way}: {error.read().decode()}")
                continue
            print(report(way.removeprefix("MARKUP_").lower(), segments, translated, untagged, not o.other_language),
                  flush=True)
    finally:
        server.close()


if __name__ == "__main__":
    main()
