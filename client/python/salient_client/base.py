"""What the clients for threads (client.py) and for asyncio (aio.py) share: the channel, requests and replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, ClassVar, Iterable, Iterator, Optional, Tuple, Union

from . import errors
from .channel import Connection
from .files import StrPath
from .options import make_request
from .proto import translation_pb2 as pb
from .proto import translation_pb2_grpc as pb_grpc

if TYPE_CHECKING:
    from .options import Options


class BaseClient:
    """A channel, and the calls that are made over it."""

    _grpc: ClassVar[Any]  # the module whose channels a client uses: grpc or grpc.aio

    def __init__(self, address: str = "localhost:50051", *, timeout: Optional[float] = None,
                 api_key: Optional[str] = None, tls: bool = False, ca: Optional[StrPath] = None,
                 certificate: Optional[StrPath] = None, key: Optional[StrPath] = None, attempts: int = 5) -> None:
        connection = Connection(address, api_key, tls, ca, certificate, key, attempts)
        credentials, options = connection.credentials(), connection.options()
        if credentials is None:
            self._channel = self._grpc.insecure_channel(address, options)
        else:
            self._channel = self._grpc.secure_channel(address, credentials, options)
        self._stub = pb_grpc.TranslationStub(self._channel)
        self._metadata = connection.metadata()
        self._timeout = timeout

    def _settings(self, timeout: Optional[float]) -> dict:
        """The keyword arguments of every call. `timeout`: None for the client's."""
        return {"timeout": self._timeout if timeout is None else timeout, "metadata": self._metadata}

    def _start_translation(self, document: pb.Document, timeout: Optional[float], options: "Options") -> Any:
        return self._stub.TranslateDocument(make_request(document, options), **self._settings(timeout))

    def _start_stream(self, text: str, timeout: Optional[float], options: "Options") -> Any:
        request = make_request(pb.Document(text=text), options)
        return self._stub.StreamTranslateDocument(request, **self._settings(timeout))

    def _start_many(self, requests: "Requests", timeout: Optional[float]) -> Any:
        return self._stub.TranslateDocuments(iter(requests), **self._settings(timeout))

    def _start_models(self, timeout: Optional[float]) -> Any:
        return self._stub.ListModels(pb.ListModelsRequest(), **self._settings(timeout))


class Requests:
    """The requests for many texts, whose ids are their indices. ValueError: the options are wrong.

    gRPC reads them, and would hide what reading a text raises. So they end there, and `error` is what was raised.
    """

    def __init__(self, texts: Iterable[str], options: "Options") -> None:
        make_request(pb.Document(), options)  # raises what is wrong with the options
        self._texts, self._options = texts, options
        self.error: Optional[Exception] = None

    def __iter__(self) -> Iterator[pb.TranslateDocumentsRequest]:
        try:
            for index, text in enumerate(self._texts):
                request = make_request(pb.Document(text=text), self._options)
                yield pb.TranslateDocumentsRequest(id=str(index), request=request)
        except Exception as error:
            self.error = error


def outcome_of(
    reply: pb.TranslateDocumentsResponse,
) -> Tuple[int, Union[pb.TranslateDocumentResponse, errors.SalientError]]:
    """(index of the text, its translation or its error)."""
    if reply.WhichOneof("outcome") == "error":
        return int(reply.id), errors.from_reply(reply.error)
    return int(reply.id), reply.response


class BaseSegmentStream:
    """The segments of a translation in progress. After the last one, `result` is the reply without the segments."""

    def __init__(self, call: Any, on_progress: Optional[Callable[[pb.Progress], None]]) -> None:
        self._call = call
        self._on_progress = on_progress
        self.result: Optional[pb.TranslateDocumentResponse] = None

    def cancel(self) -> None:
        """Cancels the translation; the server stops working on it. Who reads on gets `errors.CancelledError`."""
        self._call.cancel()

    def _segment_of(self, event: pb.StreamTranslateDocumentResponse) -> Optional[pb.TranslatedSegment]:
        """The event's segment. None for other events, which are handled here."""
        kind = event.WhichOneof("event")
        if kind == "segment":
            return event.segment
        if kind == "progress" and self._on_progress is not None:
            self._on_progress(event.progress)
        elif kind == "result":
            self.result = event.result
        return None
