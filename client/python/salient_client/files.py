"""Documents in files: the MIME type of a file name, and writing the translation."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Optional, Union

from .proto import translation_pb2 as pb

_OFFICE = "application/vnd.openxmlformats-officedocument."
_WORD, _POWERPOINT = "application/vnd.ms-word.", "application/vnd.ms-powerpoint."
_EXCEL = "application/vnd.ms-excel."
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
# docs/formats.md says what is translated in each format.
MIME_TYPES = {
    "txt": "text/plain", "text": "text/plain",
    "md": "text/markdown", "markdown": "text/markdown", "mkd": "text/markdown",
    "html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml",
    "docx": _OFFICE + "wordprocessingml.document", "dotx": _OFFICE + "wordprocessingml.template",
    "docm": _WORD + "document.macroEnabled.12", "dotm": _WORD + "template.macroEnabled.12",
    "pptx": _OFFICE + "presentationml.presentation", "potx": _OFFICE + "presentationml.template",
    "ppsx": _OFFICE + "presentationml.slideshow", "pptm": _POWERPOINT + "presentation.macroEnabled.12",
    "potm": _POWERPOINT + "template.macroEnabled.12", "ppsm": _POWERPOINT + "slideshow.macroEnabled.12",
    "xlsx": _OFFICE + "spreadsheetml.sheet", "xltx": _OFFICE + "spreadsheetml.template",
    "xlsm": _EXCEL + "sheet.macroEnabled.12", "xltm": _EXCEL + "template.macroEnabled.12",
    "odt": _OPEN_DOCUMENT + "text", "odp": _OPEN_DOCUMENT + "presentation", "ods": _OPEN_DOCUMENT + "spreadsheet",
    "epub": "application/epub+zip",
    "xlf": "application/xliff+xml", "xliff": "application/xliff+xml",
    "po": "text/x-gettext-translation", "pot": "text/x-gettext-translation",
    "srt": "application/x-subrip", "vtt": "text/vtt",
    "json": "application/json", "arb": "application/json",
    "yaml": "application/yaml", "yml": "application/yaml",
    "xml": "application/xml",
}

StrPath = Union[str, Path]


def read_document(path: StrPath, mime_type: Optional[str] = None) -> pb.Document:
    """The file as a document. The type follows from the name, unless `mime_type` is given. ValueError: unknown name."""
    path = Path(path)
    if mime_type is None:
        mime_type = MIME_TYPES.get(path.suffix[1:].lower())
    if mime_type is None:
        raise ValueError(f"{path}: the name tells no format; give mime_type, or one of the endings "
                         f"{', '.join(MIME_TYPES)}")
    return pb.Document(content=path.read_bytes(), mime_type=mime_type)


def write_document(reply: pb.TranslateDocumentResponse, out: StrPath) -> None:
    """Writes the translated document. A file that is there keeps its content until the new one is complete."""
    out = Path(out)
    if out.exists() and not out.is_file():  # such as /dev/stdout
        out.write_bytes(reply.content)
        return
    out = out.resolve()  # a link stays one
    part = out.with_name(f".salient-{secrets.token_hex(8)}.part")
    replaces = out.exists()
    # Whoever may not read the old file may not read the new one for a moment either.
    mode = stat.S_IMODE(out.stat().st_mode) if replaces else 0o666
    try:
        with open(part, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
            file.write(reply.content)
        if replaces:
            part.chmod(mode)
        os.replace(part, out)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
