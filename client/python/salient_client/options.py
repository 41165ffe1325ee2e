"""The keyword arguments of a translation, and the request that they make.

Names and values are those of the API (proto/salient/v1/translation.proto): a message is a dictionary here, and a value
of an enumeration is its name.

    client.translate(text, selection={"policy": "RATIO", "value": 0.1}, depth={"policy": "GEOMETRIC"})
"""

from __future__ import annotations

from typing import Any, List, Mapping, TypedDict

from google.protobuf import json_format

from .proto import translation_pb2 as pb


class Selection(TypedDict, total=False):
    """Which keys each query reads. `policy`: DENSE, LEARNED, RATIO, MASS or WINDOW."""

    policy: str
    value: float
    encoder_value: float
    decoder_value: float
    cross_value: float
    min_keys: int


class Depth(TypedDict, total=False):
    """After which decoder layer a token is predicted. `policy`: FULL, FIXED, SEQUENCE, MULTINOMIAL, GEOMETRIC, ..."""

    policy: str
    fixed_exit: int
    thresholds: List[float]
    min_exit: int
    max_exit: int
    draft_exit: int
    draft_tokens: int


class Search(TypedDict, total=False):
    """How the best translation is searched for."""

    beam: int
    length_penalty: float
    max_length_ratio: float
    n_best: int
    prefix: str
    shortlist: bool
    no_repeat: int


class Term(TypedDict, total=False):
    """A term and how it must be translated."""

    source: str
    target: str
    match_case: bool
    inflects: bool


class Glossary(TypedDict, total=False):
    """Terms, and the name of a glossary that the server has. `content`: the bytes of a file of terms in base64."""

    name: str
    terms: List[Term]
    content: str


class MemoryEntry(TypedDict):
    """A segment and its translation."""

    source: str
    translation: str


class MemoryFile(TypedDict):
    """A file of translations. `content`: its bytes in base64."""

    content: str
    mime_type: str


class Memory(TypedDict, total=False):
    """Translations that are there already. `server`: use the server's, too."""

    server: bool
    entries: List[MemoryEntry]
    suggestions_from: float
    repeats: bool
    files: List[MemoryFile]


class Elements(TypedDict, total=False):
    """Rules for the elements of HTML and XML."""

    keep: List[str]
    block: List[str]
    in_text: List[str]
    listed_only: bool
    keep_line_breaks: bool


class Options(TypedDict, total=False):
    """All keyword arguments. The server decides about those that are left out."""

    model: str
    source_language: str
    target_language: str
    selection: Selection
    depth: Depth
    search: Search
    operating_point: str
    latency_target_seconds: float
    trace: bool
    alignment: bool
    glossary: Glossary
    memory: Memory
    guard: str  # OFF, REPORT or RETRY: what happens to translations that look faulty
    priority: str  # INTERACTIVE or BULK
    segmentation: str  # of a text: SENTENCES or LINES
    keep_terms: List[str]  # names that are not translated
    elements: Elements  # of a file
    markup: str  # of a file, or with keep_terms: MARKERS, ALIGNMENT or PLACE: how they get into the translation


_OF_DOCUMENT = ("segmentation", "keep_terms", "elements", "markup")
_PREFIXES = {"guard": "GUARD_", "priority": "PRIORITY_", "segmentation": "SEGMENTATION_", "markup": "MARKUP_"}


def _full_name(name: str, value: Any) -> Any:
    prefix = _PREFIXES.get(name)
    return prefix + value if prefix and isinstance(value, str) and not value.startswith(prefix) else value


def make_request(document: pb.Document, options: Mapping[str, Any]) -> pb.TranslateDocumentRequest:
    """The request for a document. ValueError names an option or a value that the API does not have."""
    if "document" in options:
        raise ValueError(f"options: document is the text or the file; of its fields there are {', '.join(_OF_DOCUMENT)}")
    given = {name: _full_name(name, value) for name, value in options.items() if value is not None}
    fields = {name: value for name, value in given.items() if name not in _OF_DOCUMENT}
    fields["document"] = {name: value for name, value in given.items() if name in _OF_DOCUMENT}
    try:
        request = json_format.ParseDict(fields, pb.TranslateDocumentRequest())
    except json_format.ParseError as error:
        raise ValueError(f"options: {error}") from None
    request.document.MergeFrom(document)
    return request
