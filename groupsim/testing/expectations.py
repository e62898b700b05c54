"""Expectations of scenario files as assertions of a test: the same words, the same judgement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.eventloop.units import show_us
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.keys import key_of
from groupsim.scenarios.language.mistakes import problems_of
from groupsim.scenarios.language.registry import CHECKS, Check
from groupsim.scenarios.loading.converters import structure_check
from groupsim.testing.names import known


def judge(name: str, value: object, said: Mapping[str, object], events: Callable[[], Sequence[TraceEvent]]) -> None:
    """Judge one expectation; `said` are its keys, or `value` stands for the first of them.

    Raises AssertionError with what was expected and found, ValueError for a check or a key that there is not.
    """
    __tracebackhide__ = True
    check = _check(name.replace("_", "-"), value, said)
    finding = check.judge(Evidence(events()))
    if not finding.holds:
        at = f" at {show_us(finding.t_us)}" if finding.t_us is not None else ""
        seqs = f" (event {', '.join(map(str, finding.seqs))})" if finding.seqs else ""
        raise AssertionError(f"expected {finding.expected}; found {finding.found}{at}{seqs}")


def _check(name: str, value: object, said: Mapping[str, object]) -> Check:
    known(name, CHECKS, "expectation")
    keys = {key_of(key): one for key, one in said.items()}
    try:
        return structure_check(name, keys or value)
    except ValueError as error:
        problems = problems_of(error, Document("<python>", {}, {}, {}))
        told = "; ".join(f"{problem.message}; {problem.remedy}" for problem in problems)
        raise ValueError(f"{name}: {told}") from None
