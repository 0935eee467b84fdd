"""Carries out calls that a test gives it as lines of JSON, as agent.ts says, whose names it translates."""
import dataclasses
import json
import re
import sys
from typing import Any

from latchkey_client import ApiError, Latchkey, RetryPolicy, WebhookVerificationError, response_of, verify_webhook
from latchkey_client.call import Call, ResponseInfo

SECONDS = {"timeoutMs": "timeout", "baseMs": "base", "capMs": "cap", "retryAfterCapMs": "retry_after_cap", "pollMs": "poll_seconds"}
records: list[Any] = []
attempts: list[dict[str, Any]] = []
client = Latchkey("https://127.0.0.1", "")


def snake(name: str) -> str:
    return str(re.sub("(?<=[a-z])(?=[A-Z])", "_", name)).lower()


def translated(options: dict[str, Any]) -> dict[str, Any]:
    words = {}
    for name, value in options.items():
        value = records[value["record"]] if isinstance(value, dict) and "record" in value else value
        words[SECONDS.get(name, snake(name))] = value / 1000 if name in SECONDS else value
    return words


def note(info: ResponseInfo, call: Call) -> None:
    attempts.append({"status": info.status, "retryAfter": info.headers.get("retry-after")})


def connect(given: dict[str, Any]) -> None:
    global client
    keys = given.pop("keys", None)
    url, key = given.pop("baseUrl"), given.pop("key")
    retry = RetryPolicy(**translated(given.pop("retry", {})))
    client = Latchkey(url, (lambda: str(keys.pop(0))) if keys else key, retry=retry, on_response=note, **translated(given))
    records.clear()


def carry_out(command: dict[str, Any]) -> Any:
    if "client" in command:
        return connect(command["client"])
    if "verify" in command:
        secrets, headers, body, *options = command["verify"]
        more = options[0] if options else {}
        now = {"now": more["nowMs"] / 1000} if "nowMs" in more else {}
        verified = verify_webhook(secrets, headers, body.encode(), **now)
        return dataclasses.asdict(verified)
    words = [*command.get("path", []), *([command["body"]] if "body" in command else [])]
    options = {**command.get("query", {}), **translated(command.get("options", {}))}
    returned = getattr(client, snake(command["op"]))(*words, **options)
    return returned.first(command["max"]) if "max" in command else returned


def error_of(error: Exception) -> dict[str, Any]:
    name = type(error).__name__
    described: dict[str, Any] = {"name": "TimeoutError" if name == "RequestTimeoutError" else name, "message": str(error)}
    if isinstance(error, ApiError):
        wait = None if error.retry_after is None else error.retry_after * 1000
        described |= {"status": error.status, "code": error.code, "retryAfterMs": wait}
    if isinstance(error, WebhookVerificationError):
        described["reason"] = error.reason
    return described


def answer_to(line: str) -> dict[str, Any]:
    attempts.clear()
    try:
        result = carry_out(json.loads(line))
    except Exception as error:
        return {"error": error_of(error), "attempts": attempts}
    if result is not None:
        records.append(result)
    info = response_of(result) if isinstance(result, dict) else None
    described = info and {"status": info.status, "etag": info.etag, "isReplayed": info.is_replayed, "attempts": info.attempts}
    return {"result": result, "info": described, "attempts": attempts, "token": client.consistency_token}


for line in sys.stdin:
    print(json.dumps(answer_to(line)), flush=True)
