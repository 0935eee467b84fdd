"""Client for latchkey: typed operations, safe retries, paging, webhook verification."""
from . import models
from .call import ResponseInfo, response_of
from .client import Latchkey
from .errors import (
    ApiError, AuthenticationError, BadRequestError, ConflictError, GoneError, LatchkeyError, NetworkError, NotFoundError,
    PermissionDeniedError, PreconditionFailedError, RateLimitError, RequestTimeoutError, ServerError, ValidationError,
)
from .modify import modify
from .pages import BackwardPages, ChangeFeed, CursorPages
from .retry import RetryPolicy
from .version import __version__
from .webhooks import VerifiedWebhook, WebhookVerificationError, verify_webhook

__all__ = [
    "ApiError", "AuthenticationError", "BackwardPages", "BadRequestError", "ChangeFeed", "ConflictError", "CursorPages", "GoneError",
    "Latchkey", "LatchkeyError", "NetworkError", "NotFoundError", "PermissionDeniedError", "PreconditionFailedError",
    "RateLimitError", "RequestTimeoutError", "ResponseInfo", "RetryPolicy", "ServerError", "ValidationError", "VerifiedWebhook",
    "WebhookVerificationError", "__version__", "models", "modify", "response_of", "verify_webhook",
]
