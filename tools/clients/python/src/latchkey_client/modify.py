"""Changes without lost updates."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from .call import Tag
from .errors import PreconditionFailedError

Item = TypeVar("Item", bound=Mapping[str, object])
Patch = TypeVar("Patch")
Result = TypeVar("Result")
Body = TypeVar("Body", contravariant=True)
Answer = TypeVar("Answer", covariant=True)


# Protocols, since type checkers infer from these before they look at a lambda.
class Read(Protocol[Answer]):
    def __call__(self, id: int) -> Answer: ...


class Update(Protocol[Body, Answer]):
    def __call__(self, id: int, body: Body, *, if_match: Tag | None = None) -> Answer: ...


def modify(
    read: Read[Item], update: Update[Patch, Result], id: int, change: Callable[[Item], Patch], *, attempts: int = 5,
) -> Result:
    """Reads a record, updates it with what `change` makes of it and `if_match`, and begins again where somebody else was faster:

        modify(client.get_user, client.update_user, 1, lambda user: {"name": user["name"] + "!"})
    """
    for attempt in range(1, attempts + 1):
        record = read(id)
        try:
            return update(id, change(record), if_match=record)
        except PreconditionFailedError:
            if attempt == attempts:
                raise
    raise ValueError("attempts are at least 1")
