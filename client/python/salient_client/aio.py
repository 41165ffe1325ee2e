"""The client for asyncio; client.py has the one for programs with threads, with the same methods and arguments."""

from __future__ import annotations

from types import TracebackType
from typing import (TYPE_CHECKING, Any, AsyncIterator, Callable, Iterable, Iterator, List, Optional, Tuple, Type,
                    Union)

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


class AsyncClient:
    """A connection to a server, for the event loop in which it was made. Arguments as those of `Client`."""

    def __init__(self, address: str = "localhost:50051", *, timeout: Optional[float] = None,
                 api_key: Optional[str] = None, tls: bool = False, ca: Optional[StrPath] = None,
                 certificate: Optional[StrPath] = None, key: Optional[StrPath] = None, attempts: int = 5) -> None:
        connection = Connection(address, api_key, tls, ca, certificate, key, attempts)
        credentials, options = connection.credentials(), connection.options()
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(address, options)
        else:
            self._channel = grpc.aio.secure_channel(address, credentials, options)
        self._stub = pb_grpc.TranslationStub(self._channel)
        self._metadata = connection.metadata()
        self._timeout = timeout

    async def translate(self, text: str, *, timeout: Optional[float] = None,
                        **options: Unpack[Options]) -> pb.TranslateDocumentResponse:
        """Translates a text; the reply has `text`, `segments` and the cost in `report`."""
        return await self._translate(pb.Document(text=text), timeout, options)

    async def translate_file(self, path: StrPath, out: Optional[StrPath] = None, *, mime_type: Optional[str] = None,
                             timeout: Optional[float] = None,
                             **options: Unpack[Options]) -> pb.TranslateDocumentResponse:
        """Translates a document; its translation is in the reply's `content`, and in the file `out` if there is one."""
        reply = await self._translate(read_document(path, mime_type), timeout, options)
        if out is not None:
            write_document(reply, out)
        return reply

    def stream(self, text: str, *, timeout: Optional[float] = None,
               on_progress: Optional[Callable[[pb.Progress], None]] = None,
               **options: Unpack[Options]) -> "AsyncSegmentStream":
        """Translates a text and gives its segments, one by one: `async for segment in client.stream(text)`."""
        request = make_request(pb.Document(text=text), options)
        return AsyncSegmentStream(self._stub.StreamTranslateDocument(request, **self._call(timeout)), on_progress)

    async def translate_many(
        self, texts: Iterable[str], *, timeout: Optional[float] = None, **options: Unpack[Options],
    ) -> AsyncIterator[Tuple[int, Union[pb.TranslateDocumentResponse, errors.SalientError]]]:
        """Translates many texts at once over one call; gives (index, reply) in the order in which they are finished."""
        def requests() -> Iterator[pb.TranslateDocumentsRequest]:
            for index, text in enumerate(texts):
                yield pb.TranslateDocumentsRequest(id=str(index), request=make_request(pb.Document(text=text), options))

        make_request(pb.Document(), options)
        try:
            async for reply in self._stub.TranslateDocuments(requests(), **self._call(timeout)):
                failed = reply.WhichOneof("outcome") == "error"
                yield int(reply.id), (errors.from_number(reply.error.code, reply.error.message) if failed
                                      else reply.response)
        except grpc.aio.AioRpcError as error:
            raise errors.from_call(error) from None

    async def models(self, *, timeout: Optional[float] = None) -> List[pb.Model]:
        """The models that the server has, with their languages, policies and operating points."""
        try:
            return list((await self._stub.ListModels(pb.ListModelsRequest(), **self._call(timeout))).models)
        except grpc.aio.AioRpcError as error:
            raise errors.from_call(error) from None

    async def close(self) -> None:
        await self._channel.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        await self.close()

    def _call(self, timeout: Optional[float]) -> dict:
        return {"timeout": self._timeout if timeout is None else timeout, "metadata": self._metadata}

    async def _translate(self, document: pb.Document, timeout: Optional[float],
                         options: "Options") -> pb.TranslateDocumentResponse:
        try:
            return await self._stub.TranslateDocument(make_request(document, options), **self._call(timeout))
        except grpc.aio.AioRpcError as error:
            raise errors.from_call(error) from None


class AsyncSegmentStream:
    """The segments of a translation that goes on. When all were given, `result` is the reply without them."""

    def __init__(self, call: Any, on_progress: Optional[Callable[[pb.Progress], None]]) -> None:
        self._call = call
        self._on_progress = on_progress
        self.result: Optional[pb.TranslateDocumentResponse] = None

    def __aiter__(self) -> "AsyncSegmentStream":
        return self

    async def __anext__(self) -> pb.TranslatedSegment:
        try:
            while (event := await self._call.read()) is not grpc.aio.EOF:
                kind = event.WhichOneof("event")
                if kind == "segment":
                    return event.segment
                if kind == "progress" and self._on_progress is not None:
                    self._on_progress(event.progress)
                elif kind == "result":
                    self.result = event.result
        except grpc.aio.AioRpcError as error:
            raise errors.from_call(error) from None
        raise StopAsyncIteration

    def cancel(self) -> None:
        """Gives the translation up; the server stops working on it."""
        self._call.cancel()
