"""Expectations of scenario files as assertions of a test, with the same keys and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.eventloop.units import show_us
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.keys import key_of
from groupsim.scenarios.language.mistakes import problems_of
from groupsim.scenarios.language.registry import CHECKS, Check
from groupsim.scenarios.loading.converters import structure_check
from groupsim.testing.names import known

if TYPE_CHECKING:
    from groupsim.scenarios.invariants.watch import Invariants


def judge(
    name: str,
    value: object,
    keys: Mapping[str, object],
    events: Callable[[], Sequence[TraceEvent]],
    invariants: Invariants | None = None,
) -> None:
    """Check one expectation; `keys` are its keys, or `value` is the value of the first key.

    Raises AssertionError with the expected and the found value, ValueError for an unknown check or key.
    """
    __tracebackhide__ = True
    check = _check(name.replace("_", "-"), value, keys)
    evidence = Evidence(events())
    evidence.invariants = invariants
    finding = check.judge(evidence)
    if not finding.holds:
        at = f" at {show_us(finding.t_us)}" if finding.t_us is not None else ""
        seqs = f" (event {', '.join(map(str, finding.seqs))})" if finding.seqs else ""
        raise AssertionError(f"expected {finding.expected}; found {finding.found}{at}{seqs}")


def _check(name: str, value: object, keys: Mapping[str, object]) -> Check:
    known(name, CHECKS, "expectation")
    named = {key_of(key): one for key, one in keys.items()}
    try:
        return structure_check(name, named or value)
    except ValueError as error:
        problems = problems_of(error, Document("<python>", {}, {}, {}))
        messages = "; ".join(f"{problem.message}; {problem.remedy}" for problem in problems)
        raise ValueError(f"{name}: {messages}") from None
