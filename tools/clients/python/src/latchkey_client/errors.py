"""Every error of this library is a LatchkeyError, but for wrong arguments (TypeError, ValueError)."""
from __future__ import annotations

from .models import FieldError, Problem, ProblemCode


class LatchkeyError(Exception):
    pass


class NetworkError(LatchkeyError):
    """No answer came, or not all of it. Unless `was_sent` is false, whether the request was carried out is not known."""

    def __init__(self, message: str, was_sent: bool = True):
        super().__init__(message)
        self.was_sent = was_sent


class RequestTimeoutError(NetworkError):
    """No answer came in time."""


class ApiError(LatchkeyError):
    """The service answered that it did not do what was asked."""

    def __init__(self, status: int, problem: Problem | None, request_id: str | None, retry_after: float | None):
        text = f"{status} {problem['code']}: {problem['detail']}" if problem else f"{status}: the answer is no problem document"
        super().__init__(text)
        self.status = status
        # The stable part, for programs; None where the answer is not the service's, such as one of a proxy.
        self.code: ProblemCode | None = problem["code"] if problem else None
        self.problem = problem  # RFC 9457
        self.request_id = problem["request_id"] if problem else request_id
        # Of 422 and 400: what is wrong with which member, parameter or field.
        self.fields: list[FieldError] = problem.get("errors", []) if problem else []
        self.retry_after = retry_after  # in seconds


class BadRequestError(ApiError):
    """400: the request was not understood."""


class AuthenticationError(ApiError):
    """401: there is no valid key."""


class PermissionDeniedError(ApiError):
    """403: the key is turned off, or may not do this."""


class NotFoundError(ApiError):
    """404."""


class ConflictError(ApiError):
    """409: the state of a record forbids it."""


class GoneError(ApiError):
    """410: what was asked for is no longer kept."""


class PreconditionFailedError(ApiError):
    """412 and 428: somebody else has changed the record, or the request must say which version it means."""


class ValidationError(ApiError):
    """422: members of the body are wrong; `fields` says which."""


class RateLimitError(ApiError):
    """429: beyond the limits of the key, and the wait is longer than this client waits."""


class ServerError(ApiError):
    """5xx."""


CLASSES: dict[int, type[ApiError]] = {
    400: BadRequestError, 401: AuthenticationError, 403: PermissionDeniedError, 404: NotFoundError, 409: ConflictError,
    410: GoneError, 412: PreconditionFailedError, 422: ValidationError, 428: PreconditionFailedError, 429: RateLimitError,
}


def class_of(status: int) -> type[ApiError]:
    return CLASSES.get(status, ServerError if status >= 500 else ApiError)
