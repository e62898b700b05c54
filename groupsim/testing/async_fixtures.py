"""Async fixtures of tests with `sim`: they need virtual time, which starts with the test itself.

When pytest sets up such a fixture, it gets a placeholder (`Later`). The fixtures run in virtual time before the test,
in pytest's order; the code after their `yield` runs in the opposite order. Other plugins run an async fixture that
does not depend on `sim`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any


class Later:
    """The placeholder of an async fixture, which computes its value when it is awaited."""

    def __init__(self, make: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        self._make = make
        self._arguments = arguments
        self._value: Any = None
        self._computed = False

    def __repr__(self) -> str:
        name = getattr(self._make, "__name__", "fixture")
        return f"<{name}: an async fixture of `sim`; only the test and other async fixtures have its value>"

    async def value(self, ends: AsyncExitStack) -> Any:
        """Run the fixture at the first call; the code after its `yield` runs when `ends` is closed."""
        if not self._computed:
            self._computed = True
            made: Any = self._make(**{name: await value_of(one, ends) for name, one in self._arguments.items()})
            if inspect.isasyncgen(made):
                self._value = await anext(made)
                ends.push_async_callback(self._end, made)
            else:
                self._value = await made
        return self._value

    async def _end(self, rest: AsyncIterator[Any]) -> None:
        """Run the code after the fixture's `yield`. Raises AssertionError for a second `yield`."""
        try:
            await anext(rest)
        except StopAsyncIteration:
            return
        raise AssertionError(f"{self!r} yields more than once")


async def value_of(one: Any, ends: AsyncExitStack) -> Any:
    """Return the value of an argument of a test or fixture."""
    return await one.value(ends) if isinstance(one, Later) else one


async def with_fixtures(
    test: Callable[..., Awaitable[None]], arguments: Mapping[str, Any], fixtures: Mapping[str, Any]
) -> None:
    """Run a test between its async fixtures; `fixtures` are all fixtures that pytest has set up for it."""
    async with AsyncExitStack() as ends:  # each fixture runs to its end, also if another one raises
        for one in fixtures.values():
            await value_of(one, ends)
        await test(**{name: await value_of(one, ends) for name, one in arguments.items()})


def is_async(make: object) -> bool:
    """Whether a fixture's function is async, with or without a `yield`."""
    return inspect.iscoroutinefunction(make) or inspect.isasyncgenfunction(make)
