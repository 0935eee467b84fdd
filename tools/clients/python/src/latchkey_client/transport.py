"""HTTP/1.1 over connections that are kept: those of http.client, in a pool that threads share."""
from __future__ import annotations

import dataclasses
import http.client
import ssl
import threading
import time
import urllib.parse
from collections.abc import Mapping

from .errors import NetworkError, RequestTimeoutError

# The service closes an idle connection after 75 s, and others earlier: one that is used at that moment would break.
IDLE_SECONDS = 30.0
KEPT_CONNECTIONS = 16


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    content: bytes


class Transport:
    def __init__(self, origin: urllib.parse.SplitResult, context: ssl.SSLContext | None):
        self._host, self._port = origin.hostname or "", origin.port
        self._context = context or ssl.create_default_context() if origin.scheme == "https" else None
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []  # with the time of the last use, the latest at the end
        self._lock = threading.Lock()

    def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> Answer:
        """One request and all of its answer. `timeout` is for connecting, and then for the answer as a whole."""
        connection = self._take() or self._new()
        was_sent = False
        try:
            connection.timeout = timeout
            if connection.sock is None:
                connection.connect()
            else:
                connection.sock.settimeout(timeout)
            deadline = time.monotonic() + timeout
            was_sent = True
            connection.request(method, target, body=body, headers=dict(headers))
            response = connection.getresponse()
            content = self._content(connection, response, deadline)
            response.close()  # or the connection takes it for one that is still read
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            message = f"{method} {target.partition('?')[0]}: {error or type(error).__name__}"
            if isinstance(error, TimeoutError):
                raise RequestTimeoutError(f"{message} after {timeout} s", was_sent) from error
            raise NetworkError(message, was_sent) from error
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._keep(connection)
        return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, content)

    @staticmethod
    def _content(connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float) -> bytes:
        parts: list[bytes] = []
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("the answer is not complete")
            if connection.sock is not None:
                connection.sock.settimeout(left)
            part = response.read1(65536)
            if not part:
                if response.length:
                    raise http.client.IncompleteRead(b"".join(parts), response.length)
                return b"".join(parts)
            parts.append(part)

    def _new(self) -> http.client.HTTPConnection:
        if self._context is not None:
            return http.client.HTTPSConnection(self._host, self._port, context=self._context)
        return http.client.HTTPConnection(self._host, self._port)

    def _take(self) -> http.client.HTTPConnection | None:
        with self._lock:
            if not self._idle:
                return None
            connection, last_use = self._idle.pop()
            if time.monotonic() - last_use <= IDLE_SECONDS:
                return connection
            old = [connection, *(each for each, _ in self._idle)]
            self._idle.clear()
        for each in old:
            each.close()
        return None

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < KEPT_CONNECTIONS:
                self._idle.append((connection, time.monotonic()))
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            idle = [each for each, _ in self._idle]
            self._idle.clear()
        for each in idle:
            each.close()
