"""Run an async function that never waits, in the middle of an event."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_without_waiting(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, here and now, in the middle of an event; return its result.

    Raises RuntimeError when it does wait.
    """
    try:
        coroutine.send(None)
    except StopIteration as done:
        found: T = done.value
        return found
    coroutine.close()
    name = getattr(coroutine, "__qualname__", repr(coroutine))
    raise RuntimeError(f"{name} was run as an event, and has to wait")
