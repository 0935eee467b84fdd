"""The client: it adds the key, retries what is safe to retry, and turns problem documents into errors."""
from __future__ import annotations

import json
import re
import ssl
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from .call import Call, Headers, Record, ResponseInfo, Tag
from .errors import ApiError, NetworkError, class_of
from .operations import Operations
from .retry import RetryPolicy, is_retryable, parse_retry_after
from .transport import Answer, Transport
from .version import __version__

USER_AGENT = f"latchkey-client-python/{__version__}"


class Latchkey(Operations):
    """A client with one key. Its methods are the operations; threads may call them at the same time.

    `base_url` is the origin (https://latchkey.example.com). `key` is the API key, or a function that is asked before each
    request, so that a rotated key is used at once. `timeout` in seconds is for each attempt: for connecting, and then for the
    answer. `on_response` is told about every answer, those before a retry too. `allow_http` sends the key without TLS to a host
    that is not this one. `ssl_context` knows other authorities than those of the system.
    """

    def __init__(
        self, base_url: str, key: str | Callable[[], str], *, timeout: float = 30.0, retry: RetryPolicy = RetryPolicy(),
        headers: Headers | None = None, ssl_context: ssl.SSLContext | None = None, allow_http: bool = False,
        on_response: Callable[[ResponseInfo, Call], None] | None = None,
    ):
        origin = urllib.parse.urlsplit(base_url)
        host = origin.hostname or ""
        is_loopback = host in ("localhost", "::1") or re.fullmatch(r"127\.[0-9.]+", host) is not None
        if origin.scheme != "https" and not (origin.scheme == "http" and (allow_http or is_loopback)):
            raise ValueError(f"the key would be sent in clear to {origin.netloc}: use https, or allow_http")
        self._base = origin.path.rstrip("/")
        self._key, self._timeout, self._retry, self._on_response = key, timeout, retry, on_response
        self._headers = dict(headers or {})
        self._transport = Transport(origin, ssl_context)
        self._lock = threading.Lock()
        # Of a cluster: the position of the last write that this client knows of. It goes with every request, so that any node
        # answers with that write seen. Set it to what another process has written.
        self.consistency_token: str | None = None

    def close(self) -> None:
        """Closes the connections that are idle. A later call opens new ones."""
        self._transport.close()

    def __enter__(self) -> Latchkey:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def send(self, call: Call) -> Any:
        """One call with its retries: the content of the answer, or an error."""
        fields = self._fields(call)
        target = self._base + call.path + _query_text(call.query)
        has_body = call.media_type is not None and call.body is not None
        body = json.dumps(call.body, ensure_ascii=False, separators=(",", ":")).encode() if has_body else None
        # After an answer that was lost, the service's tag is no longer the one that was read: a repeat of such a PUT is 412.
        is_conditional_put = call.method == "PUT" and call.if_match is not None
        is_repeatable = "Idempotency-Key" in fields if call.method in ("POST", "PATCH") else not is_conditional_put
        may_be_done = False  # by an attempt without an answer
        attempt = 0
        while True:
            attempt += 1
            try:
                changing = self._changing_fields()
                answer = self._transport.exchange(call.method, target, {**fields, **changing}, body, call.timeout or self._timeout)
                content = _content(answer)
            except NetworkError as error:
                if attempt >= self._retry.attempts or not (is_repeatable or not error.was_sent):
                    raise
                may_be_done = may_be_done or error.was_sent
                time.sleep(self._retry.wait(attempt, None))
                continue
            info = self._note(call, answer, attempt)
            if answer.status == 304 and isinstance(call.if_none_match, Mapping):
                return call.if_none_match
            if 200 <= answer.status < 300:
                return _record(content, info)
            if answer.status == 404 and call.method == "DELETE" and may_be_done:
                return None  # deleted by the attempt whose answer was lost
            failure = _error(answer, content, info)
            is_too_long = failure.retry_after is not None and failure.retry_after > self._retry.retry_after_cap
            is_last = attempt >= self._retry.attempts
            if is_last or is_too_long or not is_retryable(failure.status, failure.code, is_repeatable):
                raise failure
            may_be_done = may_be_done or failure.code is None
            time.sleep(self._retry.wait(attempt, failure.retry_after))

    def _fields(self, call: Call) -> dict[str, str]:
        """What is the same in every attempt."""
        fields = {"Accept": "application/json", "User-Agent": USER_AGENT, **self._headers, **(call.headers or {})}
        if call.media_type is not None and call.body is not None:
            fields["Content-Type"] = call.media_type
        if call.has_idempotency_key:
            fields["Idempotency-Key"] = call.idempotency_key or str(uuid.uuid4())
        if call.if_match is not None:
            fields["If-Match"] = _tag(call.if_match)
        if call.if_none_match is not None:
            fields["If-None-Match"] = _tag(call.if_none_match)
        return fields

    def _changing_fields(self) -> dict[str, str]:
        fields = {"Authorization": f"Bearer {self._key() if callable(self._key) else self._key}"}
        if self.consistency_token is not None:
            fields["Consistency-Token"] = self.consistency_token
        return fields

    def _note(self, call: Call, answer: Answer, attempts: int) -> ResponseInfo:
        token = answer.headers.get("consistency-token", "")
        if re.fullmatch("[0-9]{1,20}", token):
            with self._lock:
                if int(token) > int(self.consistency_token or 0):
                    self.consistency_token = token
        info = ResponseInfo(answer.status, answer.headers, attempts)
        if self._on_response is not None:
            self._on_response(info, call)
        return info


def _tag(value: Tag) -> str:
    if isinstance(value, str):
        return value
    tag = value.info.etag if isinstance(value, Record) else None
    if tag is None:
        raise TypeError("this record has no entity tag: read it again with GET")
    return tag


def _query_text(query: Mapping[str, object]) -> str:
    pairs = {name: str(value) for name, value in query.items() if value is not None}
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def _content(answer: Answer) -> Any:
    """An object, or None where there is none: what a gateway says in its own words is no content of the service."""
    content: Any = None
    if re.match(r"application/(?:[\w.+-]+\+)?json\b", answer.headers.get("content-type", ""), re.I):
        try:
            content = json.loads(answer.content)
        except (ValueError, RecursionError):
            pass
    if isinstance(content, dict):
        return content
    if 200 <= answer.status < 300 and answer.content:
        raise NetworkError("the answer is cut off, or not the service's")
    return None


def _record(content: Any, info: ResponseInfo) -> Any:
    if not isinstance(content, dict):
        return content
    record = Record(content)
    record.info = info
    return record


def _is_problem(content: Any) -> bool:
    """Gateways have a code and a detail too, of any form."""
    if not isinstance(content, dict) or not all(isinstance(content.get(name), str) for name in ("code", "detail", "request_id")):
        return False
    errors = content.get("errors", [])
    return isinstance(errors, list) and all(isinstance(each, dict) for each in errors)


def _error(answer: Answer, content: Any, info: ResponseInfo) -> ApiError:
    problem: Any = content if _is_problem(content) else None
    retry_after = parse_retry_after(answer.headers.get("retry-after"))
    return class_of(answer.status)(answer.status, problem, info.request_id, retry_after)
