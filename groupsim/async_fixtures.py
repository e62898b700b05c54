"""Async fixtures of tests with `sim`: they need virtual time, and that begins with the test itself.

So when pytest sets one up it gets a promise (`Later`), and the test's story keeps it before the test's own first line:
fixtures in the order in which pytest asked for them, what comes after their `yield` in the opposite order. An async
fixture that has nothing to do with `sim` is left to whoever else would run it.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any


class Later:
    """An async fixture's value, once somebody has awaited it."""

    def __init__(self, make: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        self._make = make
        self._arguments = arguments
        self._value: Any = None
        self._kept = False
        self._rest: Any = None  # an async generator

    def __repr__(self) -> str:
        name = getattr(self._make, "__name__", "fixture")
        return f"<{name}: an async fixture of `sim`; only the test and other async fixtures have its value>"

    async def value(self) -> Any:
        """Run the fixture, the first time."""
        if not self._kept:
            self._kept = True
            made: Any = self._make(**{name: await value_of(one) for name, one in self._arguments.items()})
            if inspect.isasyncgen(made):
                self._rest = made
                self._value = await anext(made)
            else:
                self._value = await made
        return self._value

    async def end(self) -> None:
        """Run what follows the fixture's `yield`. Raises AssertionError for a second one."""
        rest, self._rest = self._rest, None
        if rest is None:
            return
        try:
            await anext(rest)
        except StopAsyncIteration:
            return
        raise AssertionError(f"{self!r} yields more than once")


async def value_of(one: Any) -> Any:
    """What a test or fixture gets as an argument."""
    return await one.value() if isinstance(one, Later) else one


async def with_fixtures(
    test: Callable[..., Awaitable[None]], arguments: Mapping[str, Any], fixtures: Mapping[str, Any]
) -> None:
    """A test between its async fixtures: `fixtures` are all that pytest has set up for it, in that order."""
    promised = [one for one in fixtures.values() if isinstance(one, Later)]
    try:
        for one in promised:
            await one.value()
        await test(**{name: await value_of(one) for name, one in arguments.items()})
    finally:
        for one in reversed(promised):
            await one.end()


def is_async(make: object) -> bool:
    """Whether a fixture's function is an async one, with a `yield` or without."""
    return inspect.iscoroutinefunction(make) or inspect.isasyncgenfunction(make)
