"""How scripts of the consumer protocol are entered: `@claims`, with the rows of `facts.py` that they ask about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from tests.conformance.script import Script, script

Play: TypeAlias = Callable[[Script], Awaitable[None]]


def claims(
    *facts: str,
    kind: str = "consumer",
    versions: Iterable[int] = (),
    nodes: int = 1,
    hash_order: bool = False,
    long: bool = False,
    only_real: str = "",
    name: str = "",
) -> Callable[[Play], Play]:
    """Enter a script that asks about these rows; the rest as for `script`."""
    return script(
        (),
        versions,
        facts=facts,
        kind=kind,
        nodes=nodes,
        hash_order=hash_order,
        long=long,
        only_real=only_real,
        name=name,
    )
