"""The two registries of a scenario file: steps (`do:`) and expectations (`expect:`).

An action, a fault or an expectation is one frozen attrs class, registered under its name in the file. The
loader, the JSON Schema, the documentation and the executor all read these registries, so each name exists once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.eventloop.trace.events import Kind, TraceEvent
    from groupsim.scenarios.expectations.evidence import Evidence
    from groupsim.scenarios.runtime.stage import Stage


@frozen
class StepAction:
    """An action or a fault as data, and its effect on the stage."""

    NAME: ClassVar[str] = ""
    FAULT: ClassVar[bool] = False

    def perform(self, stage: Stage) -> None:
        """Perform it now. Anything that takes time continues in the background."""
        raise TypeError(f"{type(self).__name__} does nothing")


@frozen
class Finding:
    """The result of a check: whether it holds, what was expected, what was found, and the events that prove it."""

    holds: bool
    expected: str
    found: str
    t_us: int | None = None
    seqs: tuple[int, ...] = ()


class Watch(Protocol):
    """A reader of a run's events for one expectation: those of some kinds, in order."""

    kinds: frozenset[Kind]

    def __call__(self, event: TraceEvent) -> None: ...


@frozen
class Check:
    """An expectation as data, and how it is judged from the trace."""

    NAME: ClassVar[str] = ""

    def watch(self, evidence: Evidence) -> Watch | None:
        """Return a reader of events during the run, or None; `judge` finds it in `evidence.watched`."""
        return None

    def lag_at(self) -> tuple[int, ...]:
        """Return the instants (µs) of the run at which the check reads the lag."""
        return ()

    def invariants(self) -> tuple[str, ...]:
        """Return the names of the invariants that have to be checked while the run goes."""
        return ()

    def judge(self, evidence: Evidence) -> Finding:
        """Judge a finished run."""
        raise TypeError(f"{type(self).__name__} judges nothing")


ACTIONS: dict[str, type[StepAction]] = {}
FAULTS: dict[str, type[StepAction]] = {}
CHECKS: dict[str, type[Check]] = {}

D = TypeVar("D", bound=type[StepAction])
C = TypeVar("C", bound=type[Check])


def action(name: str) -> Callable[[D], D]:
    """Register an action under its name in the file."""
    return _register(ACTIONS, name, fault=False)


def fault(name: str) -> Callable[[D], D]:
    """Register a fault under its name in the file."""
    return _register(FAULTS, name, fault=True)


def check(name: str) -> Callable[[C], C]:
    """Register an expectation under its name in the file."""

    def register(cls: C) -> C:
        cls.NAME = name
        CHECKS[name] = cls
        return cls

    return register


def step_actions() -> dict[str, type[StepAction]]:
    """Return every class that can stand behind `do:`, by name."""
    return {**ACTIONS, **FAULTS}


def _register(registry: dict[str, type[StepAction]], name: str, *, fault: bool) -> Callable[[D], D]:
    def register(cls: D) -> D:
        cls.NAME, cls.FAULT = name, fault
        registry[name] = cls
        return cls

    return register
