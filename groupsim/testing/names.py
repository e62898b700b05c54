"""Checks of the names in a test: an unknown name raises an error with the nearest known one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from groupsim.scenarios.language.problems import suggest

if TYPE_CHECKING:
    from groupsim.cluster.network.faults import Fault

__tracebackhide__ = True  # an error is reported at the line of the test


def known(name: str, names: Iterable[str], what: str) -> str:
    """Return the name if it is one of `names`. Raises ValueError with the nearest one otherwise."""
    every = list(names)
    if name not in every:
        raise ValueError(f"no {what} {name!r}; {suggest(str(name), every)}")
    return name


def only_known(keys: Mapping[str, Any], names: Iterable[str], what: str) -> None:
    """Raise ValueError with the nearest name for the first unknown key."""
    every = list(names)
    for name in keys:
        known(name, every, what)


def hosts_exist(fault: Fault, hosts: Iterable[str]) -> None:
    """Raise ValueError for a fault whose host does not exist, or whose pattern matches no host."""
    every = list(dict.fromkeys(hosts))
    for end in ("host", "peer"):
        name = getattr(fault.match, end)
        if name is not None and not any(fnmatchcase(one, name) for one in every):
            raise ValueError(
                f"no host {name!r}; {suggest(name, every, 'hosts')} "
                "(sim.member(…) makes a member's host: call it before the fault)"
            )
