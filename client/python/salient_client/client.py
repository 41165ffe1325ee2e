"""The client for programs with threads; aio.py has the one for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Callable, Iterable, Iterator, List, Optional, Tuple, Type, Union

import grpc

from . import errors
from .channel import Connection
from .files import StrPath, read_document, write_document
from .options import make_request
from .proto import translation_pb2 as pb
from .proto import translation_pb2_grpc as pb_grpc

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import Options


class Client:
    """A connection to a server. Any number of threads may share one; it is closed by `close` or at the end of `with`.

    `timeout` is the number of seconds that a call may take unless the call says otherwise; None: as long as it takes.
    The other arguments are those of `salient_client.channel.Connection`: api_key, tls, ca, certificate, key, attempts.
    """

    def __init__(self, address: str = "localhost:50051", *, timeout: Optional[float] = None,
                 api_key: Optional[str] = None, tls: bool = False, ca: Optional[StrPath] = None,
                 certificate: Optional[StrPath] = None, key: Optional[StrPath] = None, attempts: int = 5) -> None:
        connection = Connection(address, api_key, tls, ca, certificate, key, attempts)
        credentials, options = connection.credentials(), connection.options()
        if credentials is None:
            self._channel = grpc.insecure_channel(address, options)
        else:
            self._channel = grpc.secure_channel(address, credentials, options)
        self._stub = pb_grpc.TranslationStub(self._channel)
        self._metadata = connection.metadata()
        self._timeout = timeout

    def translate(self, text: str, *, timeout: Optional[float] = None,
                  **options: Unpack[Options]) -> pb.TranslateDocumentResponse:
        """Translates a text; the reply has `text`, `segments` and the cost in `report`."""
        return self._translate(pb.Document(text=text), timeout, options)

    def translate_file(self, path: StrPath, out: Optional[StrPath] = None, *, mime_type: Optional[str] = None,
                       timeout: Optional[float] = None, **options: Unpack[Options]) -> pb.TranslateDocumentResponse:
        """Translates a document of any format that the server knows; its translation is in the reply's `content`.

        With `out` it is written there, too.
        """
        reply = self._translate(read_document(path, mime_type), timeout, options)
        if out is not None:
            write_document(reply, out)
        return reply

    def stream(self, text: str, *, timeout: Optional[float] = None,
               on_progress: Optional[Callable[[pb.Progress], None]] = None,
               **options: Unpack[Options]) -> "SegmentStream":
        """Translates a text and gives its segments, one by one, as soon as each and all before it are finished."""
        request = make_request(pb.Document(text=text), options)
        return SegmentStream(self._stub.StreamTranslateDocument(request, **self._call(timeout)), on_progress)

    def translate_many(
        self, texts: Iterable[str], *, timeout: Optional[float] = None, **options: Unpack[Options],
    ) -> Iterator[Tuple[int, Union[pb.TranslateDocumentResponse, errors.SalientError]]]:
        """Translates many texts at once over one call; gives (index, reply) in the order in which they are finished.

        A text that fails gives its error in place of the reply, and the others go on. `texts` is read only as fast as
        the server admits, from another thread.
        """
        def requests() -> Iterator[pb.TranslateDocumentsRequest]:
            for index, text in enumerate(texts):
                yield pb.TranslateDocumentsRequest(id=str(index), request=make_request(pb.Document(text=text), options))

        make_request(pb.Document(), options)  # what is wrong with the options is told here, not from another thread
        try:
            for reply in self._stub.TranslateDocuments(requests(), **self._call(timeout)):
                failed = reply.WhichOneof("outcome") == "error"
                yield int(reply.id), (errors.from_number(reply.error.code, reply.error.message) if failed
                                      else reply.response)
        except grpc.RpcError as error:
            raise errors.from_call(error) from None

    def models(self, *, timeout: Optional[float] = None) -> List[pb.Model]:
        """The models that the server has, with their languages, policies and operating points."""
        try:
            return list(self._stub.ListModels(pb.ListModelsRequest(), **self._call(timeout)).models)
        except grpc.RpcError as error:
            raise errors.from_call(error) from None

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def _call(self, timeout: Optional[float]) -> dict:
        return {"timeout": self._timeout if timeout is None else timeout, "metadata": self._metadata}

    def _translate(self, document: pb.Document, timeout: Optional[float],
                   options: "Options") -> pb.TranslateDocumentResponse:
        try:
            return self._stub.TranslateDocument(make_request(document, options), **self._call(timeout))
        except grpc.RpcError as error:
            raise errors.from_call(error) from None


class SegmentStream(Iterator[pb.TranslatedSegment]):
    """The segments of a translation that goes on. When all were given, `result` is the reply without them."""

    def __init__(self, call: grpc.Call, on_progress: Optional[Callable[[pb.Progress], None]]) -> None:
        self._call = call
        self._on_progress = on_progress
        self.result: Optional[pb.TranslateDocumentResponse] = None

    def __next__(self) -> pb.TranslatedSegment:
        try:
            for event in self._call:
                kind = event.WhichOneof("event")
                if kind == "segment":
                    return event.segment
                if kind == "progress" and self._on_progress is not None:
                    self._on_progress(event.progress)
                elif kind == "result":
                    self.result = event.result
        except grpc.RpcError as error:
            raise errors.from_call(error) from None
        raise StopIteration

    def cancel(self) -> None:
        """Gives the translation up; the server stops working on it."""
        self._call.cancel()
