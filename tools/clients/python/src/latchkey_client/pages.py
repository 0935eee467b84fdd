"""Lists as iterators, which ask for the next page when the one before is used up."""
from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from .errors import NetworkError

Item = TypeVar("Item")
Result = TypeVar("Result")
Parameters = Mapping[str, object]
PAGE_LIMIT = 100
FEED_LIMIT = 1000


class Pages(Generic[Item, Result]):
    """Iterates over what a list has. `pages()` iterates page by page."""

    limit = PAGE_LIMIT

    def __init__(self, read: Callable[[Parameters], Result], query: Parameters):
        self._read = read
        self._query: dict[str, object] = {"limit": self.limit}
        self._query.update({name: value for name, value in query.items() if value is not None})

    def pages(self) -> Iterator[Result]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            yield from _content(page)["data"]

    def first(self, count: int) -> list[Item]:
        return list(itertools.islice(self, count))


def _content(page: object, *members: str) -> Mapping[str, Any]:
    """A page with these members of `pagination`: a gateway may answer 200 in its own words."""
    pagination = page.get("pagination") if isinstance(page, Mapping) and isinstance(page.get("data"), list) else None
    if not isinstance(pagination, Mapping) or not all(name in pagination for name in members):
        raise NetworkError("the answer is no page of a list: it is not the service's")
    return cast(Mapping[str, Any], page)


class CursorPages(Pages[Item, Result]):
    """A list by cursor: what is inserted or deleted meanwhile neither repeats nor hides another."""

    def pages(self) -> Iterator[Result]:
        query = dict(self._query)
        while True:
            page = self._read(query)
            pagination = _content(page, "next_cursor")["pagination"]
            yield page
            cursor = pagination["next_cursor"]
            if cursor is None:
                return
            query.pop("page", None)
            query["cursor"] = cursor


class BackwardPages(Pages[Item, Result]):
    """A list from the newest to the oldest."""

    def pages(self) -> Iterator[Result]:
        query = dict(self._query)
        while True:
            page = self._read(query)
            pagination = _content(page, "has_more", "next_before")["pagination"]
            yield page
            if not pagination["has_more"] or pagination["next_before"] is None:
                return
            query["before"] = pagination["next_before"]


class ChangeFeed(Pages[Item, Result]):
    """The feed of changes. Store `position` with the work that was done, and begin there after a stop.

    With `follow` it does not end: at the end it asks again every `poll_seconds`.
    """

    limit = FEED_LIMIT

    def __init__(self, read: Callable[[Parameters], Result], query: Parameters, follow: bool = False, poll_seconds: float = 1.0):
        super().__init__(read, query)
        self._follow, self._poll_seconds = follow, poll_seconds
        # For `after`: all changes up to it were taken out of the iterator, and the next one was asked for; None before that.
        self.position = cast(str | None, self._query.get("after"))

    def pages(self) -> Iterator[Result]:
        while True:
            page = self._read({**self._query, "after": self.position})
            pagination = _content(page, "next_after", "has_more")["pagination"]
            yield page
            self.position = str(pagination["next_after"])
            if pagination["has_more"]:
                continue
            if not self._follow:
                return
            time.sleep(self._poll_seconds)

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            for change in _content(page)["data"]:
                yield change
                self.position = str(change["sequence"])
