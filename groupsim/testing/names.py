"""Names that a test author writes, checked: the nearest one is told instead of an AttributeError from deep within."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from groupsim.scenarios.language.problems import suggest

if TYPE_CHECKING:
    from groupsim.cluster.network.faults import Fault

__tracebackhide__ = True  # mistakes are told at the line of the test that made them


def known(name: str, names: Iterable[str], what: str) -> str:
    """The name, if it is one of these. Raises ValueError with the nearest otherwise."""
    every = list(names)
    if name not in every:
        raise ValueError(f"no {what} {name!r}; {suggest(str(name), every)}")
    return name


def only_known(said: Mapping[str, Any], names: Iterable[str], what: str) -> None:
    """Raises ValueError with the nearest name for the first key that is none of these."""
    every = list(names)
    for name in said:
        known(name, every, what)


def hosts_exist(fault: Fault, hosts: Iterable[str]) -> None:
    """Raises ValueError for a fault that names a host which is not there (patterns: which none matches)."""
    every = list(dict.fromkeys(hosts))
    for end in ("host", "peer"):
        name = getattr(fault.match, end)
        if name is not None and not any(fnmatchcase(one, name) for one in every):
            raise ValueError(
                f"no host {name!r}; {suggest(name, every, 'hosts')} "
                "(a member is one from sim.member(…) on; nothing happens between two awaits, so make it first)"
            )
