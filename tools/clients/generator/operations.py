"""The operations of an OpenAPI document in the order in which it has them, as both generators need them."""
import dataclasses
import re

from .document import METHODS


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    schema: dict
    description: str


@dataclasses.dataclass(frozen=True)
class Operation:
    id: str                        # createUser
    method: str                    # POST
    path: str                      # from the origin: /api/v1/users/{id}
    summary: str
    description: str
    tag: str
    path_parameters: list[Parameter]
    query: list[Parameter]
    body: str | None               # the name of a schema
    is_body_required: bool
    media_type: str | None         # of the body
    result: str | None             # the name of a schema, None: no content
    has_idempotency_key: bool
    has_conditions: bool           # If-Match, If-None-Match
    paging: str | None             # the member of `pagination` that leads to the next page
    item: str | None               # the name of the schema of what a list has

    @property
    def is_read(self) -> bool:
        return self.method == "GET"

    @property
    def takes_if_match(self) -> bool:
        """Where a record that was read before is changed."""
        return self.has_conditions and not self.is_read and bool(self.path_parameters)

    @property
    def takes_if_none_match(self) -> bool:
        return self.has_conditions and self.is_read and self.result is not None

    @property
    def iterator(self) -> str:
        """iterateUsers of listUsers."""
        return "iterate" + self.id.removeprefix("list")


def resolve(document: dict, part: dict) -> dict:
    while "$ref" in part:
        target = document
        for name in part["$ref"].removeprefix("#/").split("/"):
            target = target[name.replace("~1", "/").replace("~0", "~")]
        part = target
    return part


def schema_name(part: dict | None) -> str | None:
    return None if part is None else part["$ref"].rsplit("/", 1)[1]


def paging_of(document: dict, result: str | None) -> tuple[str | None, str | None]:
    if result is None:
        return None, None
    members = document["components"]["schemas"][result].get("properties", {})
    pagination = resolve(document, members.get("pagination", {})).get("properties", {})
    following = [name for name in ("next_cursor", "next_after", "next_before") if name in pagination]
    if not following:
        return None, None
    return following[0], schema_name(members["data"]["items"])


def operations_of(document: dict) -> list[Operation]:
    found = []
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                found.append(operation_of(document, path, item, method))
    names = [each.id for each in found]
    assert len(set(names)) == len(names), "operationIds are unique"
    return found


def operation_of(document: dict, path: str, item: dict, method: str) -> Operation:
    part = item[method]
    parameters = [resolve(document, each) for each in [*item.get("parameters", []), *part.get("parameters", [])]]
    by_place = lambda place: [Parameter(each["name"], each["schema"], each.get("description", "")) for each in parameters if each["in"] == place]
    fields = {each.name for each in by_place("header")}
    content = part.get("requestBody", {}).get("content", {})
    merge = "application/merge-patch+json"
    media_type = merge if merge in content else "application/json" if content else None
    answers = [resolve(document, answer) for status, answer in part["responses"].items() if status.startswith("2")]
    result = schema_name(answers[0].get("content", {}).get("application/json", {}).get("schema"))
    paging, element = paging_of(document, result)
    server = item.get("servers", [{"url": "/"}])[0]["url"].rstrip("/")
    in_path = {each.name: each for each in by_place("path")}
    return Operation(
        id=part["operationId"], method=method.upper(), path=re.sub(r"^https?://[^/]+", "", server) + path,
        summary=part["summary"], description=part.get("description", ""), tag=part["tags"][0],
        path_parameters=[in_path[name] for name in re.findall(r"\{(\w+)\}", path)], query=by_place("query"),
        body=schema_name(content[media_type]["schema"]) if media_type else None,
        is_body_required=part.get("requestBody", {}).get("required", False), media_type=media_type, result=result,
        has_idempotency_key="Idempotency-Key" in fields, has_conditions="If-Match" in fields, paging=paging, item=element)
