"""The Python of the schemas and operations: a TypedDict for each object, since an answer is JSON and stays it, and a method for
each operation with its parameters as keywords. Debian has no generator for OpenAPI 3.1, and those of the package index need
libraries at run time."""
import json
import keyword
import re
import textwrap

from .operations import Operation, Parameter

HEAD = '"""Made of the OpenAPI document by tools/clients/generate: changes belong there."""\nfrom __future__ import annotations\n\n'
NEXT = {"next_cursor": "CursorPages", "next_before": "BackwardPages", "next_after": "ChangeFeed"}
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


class Models:
    """TypedDicts for the schemas; an object within another gets a name of both."""

    def __init__(self, document: dict):
        self.schemas = document["components"]["schemas"]
        self.parts: list[str] = []

    def write(self) -> str:
        for name, schema in self.schemas.items():
            if "properties" in schema:
                self.write_object(name, schema)
            else:
                self.write_alias(name, self.type_of(schema, name))
        codes = self.schemas["Problem"]["properties"]["code"]
        self.write_alias("ProblemCode", self.type_of(codes, "ProblemCode"))
        imports = "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union\n"
        return HEAD + imports + "\n\n" + "\n\n".join(self.parts)

    def write_alias(self, name: str, hint: str) -> None:
        self.parts.append(f"{name}: TypeAlias = {json.dumps(hint)}\n")  # as text, which may name what comes later

    def write_object(self, name: str, schema: dict) -> None:
        required = schema.get("required", [])
        rows = []
        for member, part in schema["properties"].items():
            hint = self.type_of(part, f"{name}{''.join(word.title() for word in re.split('[_-]', member))}")
            rows.append((member, hint if member in required else f"NotRequired[{hint}]"))
        if all(member.isidentifier() and not keyword.iskeyword(member) for member, _ in rows):
            text = schema.get("description", "")
            body = [f'    """{text}"""'] if text else []
            body += [f"    {member}: {hint}" for member, hint in rows]
            self.parts.append(f"class {name}(TypedDict):\n" + "\n".join(body or ["    pass"]) + "\n")
        else:  # `2xx` and `from` are no names of attributes
            members = ", ".join(f'"{member}": {json.dumps(hint)}' for member, hint in rows)
            self.parts.append(f"{name} = TypedDict(\"{name}\", {{{members}}})\n")

    def type_of(self, schema: dict, name: str) -> str:
        if "$ref" in schema:
            return schema["$ref"].rsplit("/", 1)[1]
        if "anyOf" in schema:
            return f"Union[{', '.join(self.type_of(part, name) for part in schema['anyOf'])}]"
        if "enum" in schema:
            return f"Literal[{', '.join('None' if value is None else json.dumps(value) for value in schema['enum'])}]"
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return " | ".join(self.type_of_kind(kind, schema, name) for kind in kinds)

    def type_of_kind(self, kind: str, schema: dict, name: str) -> str:
        if kind == "array":
            return f"list[{self.type_of(schema['items'], name)}]"
        if kind != "object":
            return PLAIN[kind]
        if schema.get("properties"):
            self.write_object(name, schema)
            return name
        values = schema.get("additionalProperties")
        return f"dict[str, {self.type_of(values, name)}]" if isinstance(values, dict) else "dict[str, Any]"


def docstring(paragraphs: list[str], indent: str) -> str:
    text = "\n\n".join(each for each in paragraphs if each).replace("\\", "\\\\").replace('"""', "'''")
    lines = [wrapped for line in text.split("\n") for wrapped in (textwrap.wrap(line, 110) or [""])]
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""'
    return "\n".join(f"{indent}{line}".rstrip() for line in [f'"""{lines[0]}', *lines[1:], '"""'])


def wrapped(head: str, words: list[str], tail: str, indent: str) -> str:
    """A call or signature on one line, or filled into several."""
    line = f"{indent}{head}({', '.join(words)}){tail}"
    if len(line) <= 120:
        return line
    lines = [""]
    for word in words:
        if lines[-1] and len(indent) + 5 + len(lines[-1]) + len(word) > 119:
            lines.append("")
        lines[-1] += f" {word}," if lines[-1] else f"{word},"
    inner = "\n".join(f"{indent}    {each}" for each in lines)
    return f"{indent}{head}(\n{inner}\n{indent}){tail}"


class Calls:
    """The class of the operations. `models` knows the types of parameters, which are plain or enumerations."""

    def __init__(self, models: Models):
        self.models = models

    def write(self, operations: list[Operation]) -> str:
        methods = []
        for operation in operations:
            methods.append(self.method(operation))
            if operation.paging:
                methods.append(self.iterator(operation))
        imports = ("from typing import Literal, cast\n\nfrom . import models\nfrom .call import Call, Headers, Sender, Tag\n"
                   "from .pages import BackwardPages, ChangeFeed, CursorPages, Parameters\n\n\n")
        return (HEAD + imports + 'class Operations(Sender):\n    """One method for each operation, named by its operationId."""\n\n'
                + "\n\n".join(methods) + "\n")

    def hint(self, parameter: Parameter) -> str:
        hint = self.models.type_of(parameter.schema, parameter.name)
        return f"models.{hint}" if hint in self.models.schemas else hint

    def leading(self, operation: Operation) -> list[str]:
        words = ["self", *(f"{safe(each.name)}: {self.hint(each)}" for each in operation.path_parameters)]
        if operation.body:
            words.append(f"body: models.{operation.body}" + ("" if operation.is_body_required else " | None = None"))
        return [*words, "*", *(f"{safe(each.name)}: {self.hint(each)} | None = None" for each in operation.query)]

    def query_words(self, operation: Operation) -> list[str]:
        """A dictionary in pieces, between which a line may end."""
        words = [f'"{each.name}": {safe(each.name)}' for each in operation.query]
        return ["{" + words[0], *words[1:-1], words[-1] + "}"] if len(words) > 1 else ["{" + "".join(words) + "}"]

    def method(self, operation: Operation) -> str:
        words = self.leading(operation)
        names = re.findall(r"\{(\w+)\}", operation.path)
        path = re.sub(r"\{(\w+)\}", lambda match: "{self.quote(" + safe(match[1]) + ")}", operation.path)
        call = [f'"{operation.method}"', f'f"{path}"' if names else f'"{path}"']
        if operation.query:
            first, *others = self.query_words(operation)
            call += [f"query={first}", *others]
        if operation.body:
            call += ["body=body", f'media_type="{operation.media_type}"']
        if operation.has_idempotency_key:
            words.append("idempotency_key: str | None = None")
            call += ["has_idempotency_key=True", "idempotency_key=idempotency_key"]
        for name, holds in (("if_match", operation.takes_if_match), ("if_none_match", operation.takes_if_none_match)):
            if holds:
                words.append(f"{name}: Tag | None = None")
                call.append(f"{name}={name}")
        words += ["timeout: float | None = None", "headers: Headers | None = None"]
        call += ["timeout=timeout", "headers=headers"]
        result = f"models.{operation.result}" if operation.result else "None"
        return "\n".join([wrapped(f"def {snake(operation.id)}", words, f" -> {result}:", "    "),
                          docstring([operation.summary, operation.description], "        "),
                          wrapped("call = Call", call, "", "        "),
                          f"        return cast({result}, self.send(call))" if operation.result else "        self.send(call)"])

    def iterator(self, operation: Operation) -> str:
        is_feed = operation.paging == "next_after"
        words = self.leading(operation)
        words += ["follow: bool = False", "poll_seconds: float = 1.0"] if is_feed else []
        words += ["timeout: float | None = None", "headers: Headers | None = None"]
        path = re.sub(r"\{(\w+)\}", lambda match: "{self.quote(" + safe(match[1]) + ")}", operation.path)
        target = f'f"{path}"' if operation.path_parameters else f'"{path}"'
        pages = f"{NEXT[operation.paging]}[models.{operation.item}, models.{operation.result}]"
        more = ["follow=follow", "poll_seconds=poll_seconds"] if is_feed else []
        return "\n".join([
            wrapped(f"def {snake(operation.iterator)}", words, f" -> {pages}:", "    "),
            docstring([f"{operation.summary}: one after the other, page by page."], "        "),
            f"        def read(query: Parameters) -> models.{operation.result}:",
            f'            call = Call("GET", {target}, query=query, timeout=timeout, headers=headers)',
            f"            return cast(models.{operation.result}, self.send(call))",
            "",
            wrapped(f"return {NEXT[operation.paging]}", ["read", *self.query_words(operation), *more], "", "        ")])
