"""The requests of the clients: documents of many lengths under every policy. Also the fingerprint of a translation."""

import hashlib
import json
import random
import re

from google.protobuf import json_format

SETTINGS = [
    {"selection": {"policy": "DENSE"}, "depth": {"policy": "FULL"}},
    {"selection": {"policy": "LEARNED"}, "depth": {"policy": "FIXED", "fixed_exit": 2}},
    {"selection": {"policy": "RATIO", "value": 0.1}, "depth": {"policy": "SEQUENCE"}},
    {"selection": {"policy": "MASS", "value": 0.9}, "depth": {"policy": "MULTINOMIAL"}},
    {"selection": {"policy": "WINDOW", "value": 20}, "depth": {"policy": "GEOMETRIC", "thresholds": [0.5]}},
    {"selection": {"policy": "LEARNED"}, "depth": {"policy": "CONFIDENCE", "thresholds": [0.6]}},
    {"selection": {"policy": "LEARNED"}, "depth": {"policy": "VERIFY", "draft_exit": 1}},
    {"selection": {"policy": "DENSE"}, "search": {"beam": 4, "n_best": 2}},
    {"selection": {"policy": "LEARNED"}, "search": {"shortlist": True}},
    {"selection": {"policy": "LEARNED"}, "search": {"prefix": "Das"}},
    {"operating_point": "fast"},
    {"selection": {"policy": "LEARNED"}, "depth": {"policy": "GEOMETRIC"}, "priority": "PRIORITY_BULK"},
    {"selection": {"policy": "RATIO", "value": 0.3}, "trace": True},
]
SENTENCES = (1, 1, 1, 2, 2, 3, 5, 13)  # per document


def sentences_of(text):
    return [s.strip() for s in re.split(r"(?<=[.!?])\s+", text) if any(c.isalpha() for c in s)]


def make(api, texts, count, seed):
    """`count` requests, always the same for a seed."""
    choose = random.Random(seed)
    pool = [s for text in texts for s in sentences_of(text)]
    requests = []
    for i in range(count):
        chosen = [choose.choice(pool) for _ in range(choose.choice(SENTENCES))]
        document = {"text": "".join(s + choose.choice((" ", " ", "\n\n")) for s in chosen)}
        if i % 13 == 12:  # a document of another format
            document = {"mime_type": "text/html", "content": to_html(chosen)}
        requests.append(request(api, document, SETTINGS[i % len(SETTINGS)]))
    return requests


def to_html(sentences):
    return "".join(f"<p>{s}</p>\n" for s in sentences).encode()


def request(api, document, setting):
    content = document.pop("content", None)
    made = json_format.ParseDict({"document": document, **setting}, api.TranslateDocumentRequest())
    if content:
        made.document.content = content
    return made


def long_request(api, texts):
    """A request whose reply has some hundred kilobytes."""
    controls = {"depth": {"policy": "FIXED", "fixed_exit": 1}, "selection": {"policy": "RATIO", "value": 0.3}}
    return request(api, {"text": "\n\n".join(texts)}, {**controls, "trace": True})


def fingerprint(reply):
    """Everything in a reply that must not depend on other documents: not times, nor the number of rows in its steps."""
    report = reply.report
    counted = [report.source_tokens, report.target_tokens, report.segments, report.chunks, list(report.exit_histogram),
               report.attention_cost_ratio, report.decoder_flops]
    same = type(reply)()
    same.CopyFrom(reply)
    same.ClearField("report")
    return hashlib.sha256(same.SerializeToString(deterministic=True) + json.dumps(counted).encode()).hexdigest()
