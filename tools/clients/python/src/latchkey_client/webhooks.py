"""Verification of webhooks in the form of Standard Webhooks (docs/api.md §17), version v1: HMAC-SHA-256."""
from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Literal, cast

from .errors import LatchkeyError
from .models import Change


class WebhookVerificationError(LatchkeyError):
    """Not from the service, changed on the way, or too old: answer 401 and do nothing."""

    def __init__(self, reason: Literal["missing_header", "time", "signature"], message: str):
        super().__init__(message)
        self.reason = reason


@dataclasses.dataclass(frozen=True)
class VerifiedWebhook:
    id: str  # the same in every attempt: ignore one that was seen
    timestamp: int  # of the attempt, in seconds since 1970
    change: Change


def verify_webhook(
    secrets: str | Iterable[str], headers: Mapping[str, str], body: bytes, *, tolerance: float = 300.0, now: float | None = None,
) -> VerifiedWebhook:
    """Verifies a webhook and returns its change, or raises WebhookVerificationError.

    `secrets`: its secret (`whsec_…`), or several while they overlap. `body`: the bytes that came, not JSON that was parsed and
    written again. `tolerance`: how many seconds the time of the attempt may be off, in both directions.
    """
    fields = {name.lower(): value for name, value in headers.items()}
    id, timestamp, signatures = (_field(fields, f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    is_time = re.fullmatch("[0-9]{1,12}", timestamp) is not None
    if not is_time or abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise WebhookVerificationError("time", "its time is too far from that of this machine")
    content = f"{id}.{timestamp}.".encode() + body
    entries = [entry.partition(",") for entry in signatures.split(" ")]
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        expected = base64.b64encode(hmac.new(_key(secret), content, hashlib.sha256).digest())
        if any(version == "v1" and hmac.compare_digest(text.encode(), expected) for version, _, text in entries):
            return VerifiedWebhook(id, int(timestamp), cast(Change, json.loads(body)))
    raise WebhookVerificationError("signature", "no signature is valid for the body that came")


def _field(fields: Mapping[str, str], name: str) -> str:
    value = fields.get(name)
    if not value:
        raise WebhookVerificationError("missing_header", f"there is no {name}")
    return value


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("this is no secret of a webhook (whsec_…)")
    return key
