"""Async functions that have nothing to wait for, run in the middle of an event."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def at_once(story: Coroutine[Any, Any, T]) -> T:
    """Run a story that has nothing to wait for, here and now, in the middle of an event; returns what it returns.

    Raises RuntimeError when it waits all the same.
    """
    try:
        story.send(None)
    except StopIteration as done:
        found: T = done.value
        return found
    story.close()
    name = getattr(story, "__qualname__", repr(story))
    raise RuntimeError(f"{name} was run as an event, and has to wait")
