"""When a request is sent again, and after how long."""
from __future__ import annotations

import dataclasses
import email.utils
import random
import re
import time
from collections.abc import Callable

# With these codes the service refused before it did anything (docs/api.md §10), so any request may be sent again.
REFUSALS = ("rate_limited", "overloaded", "store_busy", "behind", "draining", "request_timeout")
# A gateway that gives up says these, after the service may have carried the request out.
AMBIGUOUS = (408, 502, 503, 504)


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """Times are in seconds."""

    attempts: int = 4  # requests in all, the first one included; 1: no retries
    base: float = 0.2  # the first wait is at most so long, each further one twice that
    cap: float = 10.0  # no wait of our own is longer
    retry_after_cap: float = 60.0  # a longer Retry-After is not waited for: the error is raised, and has it

    def wait(self, attempt: int, retry_after: float | None, chance: Callable[[], float] = random.random) -> float:
        """Exponential back-off with full jitter: uniform up to the exponential bound, so that clients that failed together do
        not return together. A Retry-After is a lower bound, to which up to a tenth is added for the same reason."""
        wait = chance() * min(self.cap, self.base * 2.0 ** (attempt - 1))
        return wait if retry_after is None else max(wait, retry_after * (1 + chance() / 10))


def parse_retry_after(text: str | None, now: float | None = None) -> float | None:
    """Retry-After (RFC 9110 §10.2.3): seconds or a date; None where it is neither."""
    if text is None:
        return None
    if re.fullmatch("[0-9]+", text):
        return float(text)
    try:
        date = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, date.timestamp() - (time.time() if now is None else now))


def is_retryable(status: int, code: str | None, is_repeatable: bool) -> bool:
    """Whether an answer may be followed by the same request; `is_repeatable`: twice has the effect of once."""
    if status == 429:
        return code in ("rate_limited", None)
    # idempotency_in_progress: the attempt before, whose connection broke, is still being carried out.
    if code in REFUSALS or code == "idempotency_in_progress":
        return True
    return is_repeatable and status in AMBIGUOUS
