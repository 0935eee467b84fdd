"""What the generated operations hand to the client."""
from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Mapping
from typing import Any

Headers = Mapping[str, str]
# A record that a call returned, of which the entity tag is taken, or the tag itself.
Tag = Mapping[str, object] | str


@dataclasses.dataclass(frozen=True)
class Call:
    """One operation with its arguments."""

    method: str
    path: str
    query: Mapping[str, object] = dataclasses.field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    media_type: str | None = None
    # Whether the service records the outcome under an Idempotency-Key (docs/api.md §9).
    has_idempotency_key: bool = False
    idempotency_key: str | None = None
    if_match: Tag | None = None
    if_none_match: Tag | None = None
    timeout: float | None = None
    headers: Headers | None = None


@dataclasses.dataclass(frozen=True)
class ResponseInfo:
    """What came with the content of an answer."""

    status: int
    headers: Headers  # names in lower case
    attempts: int  # how many requests it took, from 1

    @property
    def request_id(self) -> str | None:
        """For support, and in the service's access log."""
        return self.headers.get("x-request-id")

    @property
    def etag(self) -> str | None:
        return self.headers.get("etag")

    @property
    def is_replayed(self) -> bool:
        """The outcome is that of an earlier attempt under the same Idempotency-Key."""
        return self.headers.get("idempotency-replayed") == "true"


class Record(dict[str, Any]):
    """The content of an answer, a dictionary like any other, that knows what came with it."""

    __slots__ = ("info",)
    info: ResponseInfo


def response_of(record: Mapping[str, Any]) -> ResponseInfo | None:
    """What came with the answer that a call returned: its entity tag, request id, number of attempts. None for others."""
    return record.info if isinstance(record, Record) else None


class Sender:
    """What the generated operations are built on."""

    def send(self, call: Call) -> Any:
        raise NotImplementedError

    @staticmethod
    def quote(value: object) -> str:
        return urllib.parse.quote(str(value), safe="")
