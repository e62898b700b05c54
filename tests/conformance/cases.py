"""Which scripts there are: each is entered by `@script`, once for each version it is repeated at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from attrs import frozen

from tests.conformance.basics import SCALA
from tests.conformance.consumer.pending import PENDING_SCRIPTS, PENDING_SECTIONS

if TYPE_CHECKING:
    from tests.conformance.script import Script


ALONE = ("alone", "consumer-alone")
"""Kinds of one node that its scripts handle."""


@frozen
class Case:
    """One script at one version."""

    table: str
    name: str
    version: int | None
    play: Callable[[Script], Awaitable[None]]
    rows: tuple[str, ...]
    nodes: int = 1
    long: bool = False
    hash_order: bool = False
    only_real: str = ""
    short: bool = False
    kind: str = ""
    facts: tuple[str, ...] = ()
    of_release: str = ""

    @property
    def release(self) -> str:
        """The release that it is played on; "" is the newest one."""
        return SCALA if self.kind == "scala" else self.of_release

    @property
    def handled(self) -> bool:
        """Whether it handles its peer's nodes: then no other is played on them meanwhile."""
        return self.nodes > 1 or self.kind in ALONE

    @property
    def members_in_order(self) -> bool:
        """Whether members stand as in Java's hash map; Scala's orders those of one bucket otherwise."""
        return self.kind != "scala"

    @property
    def id(self) -> str:
        """The name in the data and in the reports."""
        return self.name if self.version is None else f"{self.name}-v{self.version}"


CASES: dict[str, Case] = {}


def script(
    rows: Iterable[str],
    versions: Iterable[int] = (),
    *,
    long: bool = False,
    nodes: int = 1,
    hash_order: bool = False,
    only_real: str = "",
    short: bool = False,
    kind: str = "",
    facts: Iterable[str] = (),
    name: str = "",
) -> Callable[[Callable[[Script], Awaitable[None]]], Callable[[Script], Awaitable[None]]]:
    """Enter a script, once for each version.

    `long`: takes more than 30 s, nightly only. `hash_order`: answers depend on the ids, so only the core, which can be
    given the broker's ids, is compared. `only_real`: why it is recorded but not compared (a known difference). `short`:
    one of the `nodes` is stopped, so that two replicas are left. `kind`: which of `player.KINDS` it is played on.
    `facts`: the rows of `consumer/facts.py` that it asks about. `name`: that of the case, if not the function's.
    """

    def enter(play: Callable[[Script], Awaitable[None]]) -> Callable[[Script], Awaitable[None]]:
        table = play.__module__.partition(".scripts.")[2].replace(".", "_")
        known = name or play.__name__.replace("_", "-")
        why = only_real or PENDING_SECTIONS.get(table, "") or PENDING_SCRIPTS.get(known, "")
        asked = tuple(facts)
        for version in tuple(versions) or (None,):
            case = Case(table, known, version, play, tuple(rows), nodes, long, hash_order, why, short, kind, asked)
            if case.id in CASES:
                raise ValueError(f"two scripts are called {case.id}")
            CASES[case.id] = case
        return play

    return enter
