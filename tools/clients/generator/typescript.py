"""The TypeScript of the operations: a method for each, whose types are those that openapi-typescript makes of the same document.
The known generators of methods bring a runtime of their own, with retries and errors that are not this contract's."""
import re

from .operations import Operation

HEAD = "// Made of the OpenAPI document by tools/clients/generate: changes belong there.\n\n"
NEXT = {"next_cursor": "CursorPages", "next_before": "BackwardPages", "next_after": "ChangeFeed"}


def write(document: dict, operations: list[Operation]) -> str:
    schemas = document["components"]["schemas"]
    lines = [HEAD + "import type { CallOptions, ChangeOptions, FeedOptions, ReadOptions, Send } from '../call.js';",
             "import { BackwardPages, ChangeFeed, CursorPages } from '../pages.js';",
             "import type { components, operations } from './schema.js';", ""]
    for name, schema in schemas.items():
        if text := schema.get("description"):
            lines.append(comment([text], ""))
        lines.append(f"export type {name} = components['schemas']['{name}'];")
    lines += ["/** The stable part of a problem, for programs. */", "export type ProblemCode = Problem['code'];", "",
              "type Query<Id extends keyof operations> = NonNullable<operations[Id]['parameters']['query']>;", "",
              "/** One method for each operation, named by its operationId. */", "export class Operations {",
              "  constructor(protected readonly send: Send) {}"]
    for operation in operations:
        lines += ["", *method(operation)]
        if operation.paging:
            lines += ["", *iterator(operation)]
    return "\n".join([*lines, "}", ""])


def comment(paragraphs: list[str], indent: str) -> str:
    lines = [line for text in paragraphs for line in ["", *text.replace("*/", "* /").split("\n")]][1:]
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */"
    return "\n".join([f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"])


def type_of(schema: dict) -> str:
    return "number" if schema.get("type") == "integer" else "string"


def options_of(operation: Operation) -> str:
    return "ReadOptions" if operation.takes_if_none_match else "ChangeOptions" if operation.takes_if_match else "CallOptions"


def arguments_of(operation: Operation) -> list[str]:
    arguments = [f"{each.name}: {type_of(each.schema)}" for each in operation.path_parameters]
    if operation.body:
        arguments.append(f"body: {operation.body}" if operation.is_body_required else f"body: {operation.body} | undefined = undefined")
    if operation.query:
        arguments.append(f"query: Query<'{operation.id}'> = {{}}")
    return arguments


def method(operation: Operation) -> list[str]:
    path = re.sub(r"\{(\w+)\}", r"${encodeURIComponent(\1)}", operation.path)
    quote = "`" if operation.path_parameters else "'"
    members = [f"method: '{operation.method}'", f"path: {quote}{path}{quote}"]
    if operation.query:
        members.append("query")
    if operation.body:
        members.append(f"body, mediaType: '{operation.media_type}'")
    if operation.has_idempotency_key:
        members.append("hasIdempotencyKey: true")
    arguments = ", ".join([*arguments_of(operation), f"options: {options_of(operation)} = {{}}"])
    return [comment([operation.summary, operation.description] if operation.description else [operation.summary], "  "),
            f"  {operation.id}({arguments}): Promise<{operation.result or 'void'}> {{",
            f"    return this.send({{ {', '.join(members)} }}, options);", "  }"]


def iterator(operation: Operation) -> list[str]:
    names = "".join(f"{each.name}, " for each in operation.path_parameters)
    is_feed = operation.paging == "next_after"
    arguments = ", ".join([*arguments_of(operation), f"options: {'FeedOptions' if is_feed else 'CallOptions'} = {{}}"])
    pages = NEXT[operation.paging]
    more = ", options" if is_feed else ""
    return [comment([f"{operation.summary}: one after the other, page by page."], "  "),
            f"  {operation.iterator}({arguments}): {pages}<{operation.item}, {operation.result}> {{",
            f"    return new {pages}((position) => this.{operation.id}({names}{{ ...query, ...position }}, options), query{more});", "  }"]
