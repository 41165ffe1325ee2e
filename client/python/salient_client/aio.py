"""The client for asyncio; client.py has the one for programs with threads, with the same methods and arguments."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, AsyncIterator, Callable, Iterable, List, Optional, Tuple, Type, Union

import grpc

from . import errors
from .base import BaseClient, BaseSegmentStream, Requests, outcome_of
from .files import StrPath, read_document, write_document
from .proto import translation_pb2 as pb

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import Options


class AsyncClient(BaseClient):
    """A connection to a server, for the event loop in which it was made. The arguments are those of `Client`."""

    _grpc = grpc.aio

    async def translate(self, text: str, *, timeout: Optional[float] = None,
                        **options: Unpack[Options]) -> pb.TranslateDocumentResponse:
        """Translates a text. The reply has `text`, `segments` and the cost in `report`."""
        return await self._translate(pb.Document(text=text), timeout, options)

    async def translate_file(self, path: StrPath, out: Optional[StrPath] = None, *, mime_type: Optional[str] = None,
                             timeout: Optional[float] = None,
                             **options: Unpack[Options]) -> pb.TranslateDocumentResponse:
        """Translates a document. Its translation is in the reply's `content`, and in the file `out` if it is given."""
        reply = await self._translate(read_document(path, mime_type), timeout, options)
        if out is not None:
            write_document(reply, out)
        return reply

    def stream(self, text: str, *, timeout: Optional[float] = None,
               on_progress: Optional[Callable[[pb.Progress], None]] = None,
               **options: Unpack[Options]) -> "AsyncSegmentStream":
        """Translates a text. Gives its segments in order: `async for segment in client.stream(text)`."""
        return AsyncSegmentStream(self._start_stream(text, timeout, options), on_progress)

    async def translate_many(
        self, texts: Iterable[str], *, timeout: Optional[float] = None, **options: Unpack[Options],
    ) -> AsyncIterator[Tuple[int, Union[pb.TranslateDocumentResponse, errors.SalientError]]]:
        """Translates many texts at once over one call. Gives (index, reply) in the order in which they are finished.

        What reading `texts` raises comes after the earlier texts' replies.
        """
        requests = Requests(texts, options)
        try:
            async for reply in self._start_many(requests, timeout):
                yield outcome_of(reply)
        except grpc.aio.AioRpcError as error:
            raise errors.from_call(error) from None
        if requests.error is not None:
            raise requests.error

    async def models(self, *, timeout: Optional[float] = None) -> List[pb.Model]:
        """The models of the server, with their languages, policies and operating points."""
        try:
            return list((await self._start_models(timeout)).models)
        except grpc.aio.AioRpcError as error:
            raise errors.from_call(error) from None

    async def close(self) -> None:
        await self._channel.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        await self.close()

    async def _translate(self, document: pb.Document, timeout: Optional[float],
                         options: "Options") -> pb.TranslateDocumentResponse:
        try:
            return await self._start_translation(document, timeout, options)
        except grpc.aio.AioRpcError as error:
            raise errors.from_call(error) from None


class AsyncSegmentStream(BaseSegmentStream):
    """The segments of a translation in progress. After the last one, `result` is the reply without the segments."""

    _cancelled = False  # by `cancel`

    def cancel(self) -> None:
        self._cancelled = True
        super().cancel()

    def __aiter__(self) -> "AsyncSegmentStream":
        return self

    async def __anext__(self) -> pb.TranslatedSegment:
        try:
            while (event := await self._call.read()) is not grpc.aio.EOF:
                segment = self._segment_of(event)
                if segment is not None:
                    return segment
        except grpc.aio.AioRpcError as error:
            raise errors.from_call(error) from None
        except asyncio.CancelledError:
            # grpc.aio raises it both for a cancelled call and for a cancelled task, which must end.
            if not self._cancelled or _task_is_cancelled():
                raise
            raise errors.CancelledError("the translation was cancelled", grpc.StatusCode.CANCELLED) from None
        raise StopAsyncIteration


def _task_is_cancelled() -> bool:
    """Whether the running task was asked to end; before Python 3.11 a task does not say so."""
    cancelling = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is not None and cancelling() > 0
