"""The errors of a call: one exception for each of the API's status codes."""

from __future__ import annotations

from typing import Any, Optional

import grpc

from .proto import translation_pb2 as pb


class SalientError(Exception):
    """A call failed. `message` comes from the server, and names the field and the remedy."""

    def __init__(self, message: str, code: grpc.StatusCode = grpc.StatusCode.UNKNOWN,
                 retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        # Seconds to wait before the next attempt, if the server says so; otherwise None.
        self.retry_after = retry_after


class InvalidArgumentError(SalientError):
    """The request is wrong, and would fail again."""


class NotFoundError(SalientError):
    """There is no such model."""


class UnauthenticatedError(SalientError):
    """The API key is missing or not known."""


class PermissionDeniedError(SalientError):
    """The client's certificate is missing or not accepted."""


class ResourceExhaustedError(SalientError):
    """The server's queue is full, or the client's quota is used up; see `retry_after`."""


class DeadlineExceededError(SalientError):
    """The translation was not finished within `timeout`."""


class UnavailableError(SalientError):
    """No server answered, or it was shutting down."""


class CancelledError(SalientError):
    """The call was cancelled by this client."""


_BY_CODE = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgumentError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.UNAUTHENTICATED: UnauthenticatedError,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDeniedError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhaustedError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceededError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.CANCELLED: CancelledError,
}
_BY_NUMBER = {code.value[0]: code for code in grpc.StatusCode}


def from_call(error: Any) -> SalientError:
    """The exception for a failed gRPC call, which has code(), details() and trailing_metadata()."""
    retry_after = None
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-retry-pushback-ms":
            retry_after = max(int(value), 0) / 1000
    code = error.code()
    return _BY_CODE.get(code, SalientError)(error.details() or code.name, code, retry_after)


def from_reply(error: pb.Error) -> SalientError:
    """The exception for a document's error within a stream."""
    code = _BY_NUMBER.get(error.code, grpc.StatusCode.UNKNOWN)
    retry_after = error.retry_after_seconds if error.HasField("retry_after_seconds") else None
    return _BY_CODE.get(code, SalientError)(error.message, code, retry_after)
