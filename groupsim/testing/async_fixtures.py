"""Async fixtures of tests with `sim`: they need virtual time, and that begins with the test itself.

So when pytest sets one up it gets a promise (`Later`), and the test's story keeps it before the test's own first line:
fixtures in the order in which pytest asked for them, what comes after their `yield` in the opposite order. An async
fixture that has nothing to do with `sim` is left to whoever else would run it.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any


class Later:
    """An async fixture's value, once somebody has awaited it."""

    def __init__(self, make: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        self._make = make
        self._arguments = arguments
        self._value: Any = None
        self._kept = False

    def __repr__(self) -> str:
        name = getattr(self._make, "__name__", "fixture")
        return f"<{name}: an async fixture of `sim`; only the test and other async fixtures have its value>"

    async def value(self, ends: AsyncExitStack) -> Any:
        """Run the fixture, the first time; what follows its `yield` is run when `ends` is closed."""
        if not self._kept:
            self._kept = True
            made: Any = self._make(**{name: await value_of(one, ends) for name, one in self._arguments.items()})
            if inspect.isasyncgen(made):
                self._value = await anext(made)
                ends.push_async_callback(self._end, made)
            else:
                self._value = await made
        return self._value

    async def _end(self, rest: AsyncIterator[Any]) -> None:
        """Run what follows the fixture's `yield`. Raises AssertionError for a second one."""
        try:
            await anext(rest)
        except StopAsyncIteration:
            return
        raise AssertionError(f"{self!r} yields more than once")


async def value_of(one: Any, ends: AsyncExitStack) -> Any:
    """What a test or fixture gets as an argument."""
    return await one.value(ends) if isinstance(one, Later) else one


async def with_fixtures(
    test: Callable[..., Awaitable[None]], arguments: Mapping[str, Any], fixtures: Mapping[str, Any]
) -> None:
    """A test between its async fixtures: `fixtures` are all that pytest has set up for it."""
    async with AsyncExitStack() as ends:  # each comes to its end, whatever the others raise
        for one in fixtures.values():
            await value_of(one, ends)
        await test(**{name: await value_of(one, ends) for name, one in arguments.items()})


def is_async(make: object) -> bool:
    """Whether a fixture's function is an async one, with a `yield` or without."""
    return inspect.iscoroutinefunction(make) or inspect.isasyncgenfunction(make)
