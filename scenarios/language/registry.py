"""The two registries of a scenario file: what can be done (`do:`), and what can be expected.

An action, a fault or an expectation is one frozen attrs class, registered under the name that stands in the file. The
loader, the JSON Schema, the documentation and the executor all read these registries, so each name exists once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from attrs import frozen

if TYPE_CHECKING:
    from groupsim.eventloop.trace.events import Kind, TraceEvent
    from groupsim.scenarios.expectations.evidence import Evidence
    from groupsim.scenarios.runtime.stage import Stage


@frozen
class Deed:
    """An action or a fault: data, and what it does to the stage."""

    NAME: ClassVar[str] = ""
    FAULT: ClassVar[bool] = False

    def perform(self, stage: Stage) -> None:
        """Do it now. What takes time goes on in the background."""
        raise TypeError(f"{type(self).__name__} does nothing")


@frozen
class Finding:
    """What a check found: whether it holds, what was expected, what was found, and which events say so."""

    holds: bool
    expected: str
    found: str
    t_us: int | None = None
    seqs: tuple[int, ...] = ()


class Watch(Protocol):
    """What one expectation reads of a run: the events of some kinds, in order."""

    kinds: frozenset[Kind]

    def __call__(self, event: TraceEvent) -> None: ...


@frozen
class Check:
    """An expectation: data, and how it is judged from the trace."""

    NAME: ClassVar[str] = ""

    def watch(self, evidence: Evidence) -> Watch | None:
        """What is to be read event by event while the run goes; `evidence.watched` has it for `judge`."""
        return None

    def lag_at(self) -> tuple[int, ...]:
        """The instants (µs) within the run whose lag is asked for."""
        return ()

    def judge(self, evidence: Evidence) -> Finding:
        """Judge a finished run."""
        raise TypeError(f"{type(self).__name__} judges nothing")


ACTIONS: dict[str, type[Deed]] = {}
FAULTS: dict[str, type[Deed]] = {}
CHECKS: dict[str, type[Check]] = {}

D = TypeVar("D", bound=type[Deed])
C = TypeVar("C", bound=type[Check])


def action(name: str) -> Callable[[D], D]:
    """Register an action under its name in the file."""
    return _register(ACTIONS, name, fault=False)


def fault(name: str) -> Callable[[D], D]:
    """Register a fault under its name in the file."""
    return _register(FAULTS, name, fault=True)


def check(name: str) -> Callable[[C], C]:
    """Register an expectation under its name in the file."""

    def keep(cls: C) -> C:
        cls.NAME = name
        CHECKS[name] = cls
        return cls

    return keep


def deeds() -> dict[str, type[Deed]]:
    """Everything that can stand behind `do:`."""
    return {**ACTIONS, **FAULTS}


def _register(registry: dict[str, type[Deed]], name: str, *, fault: bool) -> Callable[[D], D]:
    def keep(cls: D) -> D:
        cls.NAME, cls.FAULT = name, fault
        registry[name] = cls
        return cls

    return keep
