"""The client for programs with threads; aio.py has the one for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Callable, Iterable, Iterator, List, Optional, Tuple, Type, Union

import grpc

from . import errors
from .base import BaseClient, BaseSegmentStream, Requests, outcome_of
from .files import StrPath, read_document, write_document
from .proto import translation_pb2 as pb

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import Options


class Client(BaseClient):
    """A connection to a server. Any number of threads may share one; it is closed by `close` or at the end of `with`.

    `timeout`: the number of seconds that a call may take, unless the call sets its own; None: no limit.
    The other arguments are those of `salient_client.channel.Connection`: api_key, tls, ca, certificate, key, attempts.
    """

    _grpc = grpc

    def translate(self, text: str, *, timeout: Optional[float] = None,
                  **options: Unpack[Options]) -> pb.TranslateDocumentResponse:
        """Translates a text. The reply has `text`, `segments` and the cost in `report`."""
        return self._translate(pb.Document(text=text), timeout, options)

    def translate_file(self, path: StrPath, out: Optional[StrPath] = None, *, mime_type: Optional[str] = None,
                       timeout: Optional[float] = None, **options: Unpack[Options]) -> pb.TranslateDocumentResponse:
        """Translates a document of any format that the server supports. Its translation is in the reply's `content`.

        If `out` is given, the translation is also written to that file.
        """
        reply = self._translate(read_document(path, mime_type), timeout, options)
        if out is not None:
            write_document(reply, out)
        return reply

    def stream(self, text: str, *, timeout: Optional[float] = None,
               on_progress: Optional[Callable[[pb.Progress], None]] = None,
               **options: Unpack[Options]) -> "SegmentStream":
        """Translates a text. Gives its segments in order, each one as soon as it and all before it are finished."""
        return SegmentStream(self._start_stream(text, timeout, options), on_progress)

    def translate_many(
        self, texts: Iterable[str], *, timeout: Optional[float] = None, **options: Unpack[Options],
    ) -> Iterator[Tuple[int, Union[pb.TranslateDocumentResponse, errors.SalientError]]]:
        """Translates many texts at once over one call. Gives (index, reply) in the order in which they are finished.

        A text that fails gives its error instead of a reply, and the others continue. `texts` is read from another
        thread, only as fast as the server admits requests. What reading it raises comes after the earlier texts' replies.
        """
        requests = Requests(texts, options)
        try:
            for reply in self._start_many(requests, timeout):
                yield outcome_of(reply)
        except grpc.RpcError as error:
            raise errors.from_call(error) from None
        if requests.error is not None:
            raise requests.error

    def models(self, *, timeout: Optional[float] = None) -> List[pb.Model]:
        """The models of the server, with their languages, policies and operating points."""
        try:
            return list(self._start_models(timeout).models)
        except grpc.RpcError as error:
            raise errors.from_call(error) from None

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def _translate(self, document: pb.Document, timeout: Optional[float],
                   options: "Options") -> pb.TranslateDocumentResponse:
        try:
            return self._start_translation(document, timeout, options)
        except grpc.RpcError as error:
            raise errors.from_call(error) from None


class SegmentStream(BaseSegmentStream, Iterator[pb.TranslatedSegment]):
    """The segments of a translation in progress. After the last one, `result` is the reply without the segments."""

    def __next__(self) -> pb.TranslatedSegment:
        try:
            for event in self._call:
                segment = self._segment_of(event)
                if segment is not None:
                    return segment
        except grpc.RpcError as error:
            raise errors.from_call(error) from None
        raise StopIteration
