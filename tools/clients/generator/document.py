"""The OpenAPI document of a service, and of it what a client library has: no pages for people, nothing that is a browser's or
a gateway's, and no key in bodies, since a library sends it in a header field."""
import json
import pathlib
import re
import select
import subprocess
import tempfile
import time
import urllib.request

METHODS = ("get", "put", "post", "patch", "delete")
# Sessions are cookies of the console; /auth is asked by a gateway's own module with the client's method and fields.
LEFT_OUT = ("Sessions", "Gateway")
START_SECONDS = 20


def document_of(binary: pathlib.Path) -> dict:
    """Asks a service that runs on a free port of the loopback interface with an empty store, for as long as that takes."""
    with tempfile.TemporaryDirectory() as folder:
        words = [str(binary), "serve", "--data", f"{folder}/data", "--listen", "http://127.0.0.1:0", "--management", "off",
                 "--workers", "1", "--access-log", f"{folder}/access.log"]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as service:
            try:
                with urllib.request.urlopen(f"{address_of(service)}/openapi.json", timeout=START_SECONDS) as answer:
                    return json.load(answer)
            finally:
                service.terminate()


def address_of(service: subprocess.Popen) -> str:
    text, limit = "", time.monotonic() + START_SECONDS
    while time.monotonic() < limit:
        if select.select([service.stderr], [], [], 0.1)[0]:
            part = service.stderr.read1(4096).decode()
            text += part
            if match := re.search(r"listening on (http://\S+)\n", text):
                return match[1]
            if not part:
                break
    raise SystemExit(f"the service did not start:\n{text}")


def of_clients(document: dict) -> dict:
    """What a client library has of a document, without examples. The input is not changed."""
    trimmed = without(json.loads(json.dumps(document)))
    for path, item in list(trimmed["paths"].items()):
        for method in [each for each in item if each in (*METHODS, "head", "options")]:
            if method not in METHODS or not has_call(item[method]):
                del item[method]
        if not any(method in item for method in METHODS):
            del trimmed["paths"][path]
    trimmed.pop("webhooks", None)
    return trimmed


def has_call(operation: dict) -> bool:
    content = [media for status, answer in operation["responses"].items() if status.startswith("2") for media in answer.get("content", {})]
    return operation["tags"][0] not in LEFT_OUT and "text/html" not in content


def without(value: object) -> object:
    if isinstance(value, list):
        return [without(each) for each in value]
    if not isinstance(value, dict):
        return value
    is_object = isinstance(value.get("properties"), dict)
    if is_object and value["properties"].get("api_key", {}).get("writeOnly"):
        del value["properties"]["api_key"]
    return {name: without(each) for name, each in value.items() if name not in ("example", "examples")}
