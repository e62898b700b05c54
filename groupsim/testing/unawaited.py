"""Detection of simulation steps that a test did not await, with their lines.

Python only warns of a coroutine that was not awaited, when it is collected, and the test passes: `sim.stable("g1")`
without `await` would be a test that cannot fail.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Generator
from pathlib import PurePath
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class Awaited(Generic[Result]):
    """The work of one call, which starts when it is awaited; until then it is listed in `book`."""

    __slots__ = ("_book", "_work", "where", "words")

    def __init__(
        self, book: dict[Awaited[Any], None], words: str, work: Callable[[], Coroutine[Any, Any, Result]]
    ) -> None:
        self._book = book
        self._work = work
        self.words = words
        self.where = _caller()
        book[self] = None

    def __await__(self) -> Generator[Any, Any, Result]:
        self._book.pop(self, None)
        return self._work().__await__()

    def __repr__(self) -> str:
        return f"<{self.words} at {self.where}, to be awaited>"


def _caller() -> str:
    """Return the line of the test: the first frame outside this package."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("groupsim."):
        frame = frame.f_back
    return f"{PurePath(frame.f_code.co_filename).name}:{frame.f_lineno}"


def complain(book: dict[Awaited[Any], None]) -> None:
    """Raise AssertionError if a call was not awaited; the book is empty afterwards."""
    forgotten = list(book)
    book.clear()
    if forgotten:
        calls = "; ".join(f"{one.words} at {one.where}" for one in forgotten[:5])
        raise AssertionError(f"not awaited, so it had no effect: {calls}. Write `await` before the call")
