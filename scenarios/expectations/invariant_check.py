"""The expectation that an invariant holds at every instant of the run (`scenarios/invariants`)."""

from __future__ import annotations

from typing import NewType

from groupsim.protocol.values import frozen
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.invariants.table import ALL, INVARIANTS, NAMES, chosen, find
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.registry import Check, Finding, check
from groupsim.scenarios.language.values import VALUE_TYPES, ValueType

InvariantName = NewType("InvariantName", str)
"""The name of an invariant, its code in the reference, or `all`."""


def _read(found: object) -> InvariantName:
    try:
        return InvariantName(ALL if found == ALL else find(str(found)).name)
    except ValueError as unknown:
        raise ValueError(f"{unknown}; {suggest(str(found), [ALL, *NAMES], 'invariants')}") from None


VALUE_TYPES[InvariantName] = ValueType(_read, {"enum": [ALL, *NAMES, *(one.code for one in INVARIANTS)]})


@check("invariant")
@frozen
class InvariantHolds(Check):
    """An invariant holds at every instant of the run: what a coordinator, a client or a group never does."""

    is_: InvariantName = key("Its name, or `all`; [the invariants](invariants.md).", short=True)

    def invariants(self) -> tuple[str, ...]:
        """Ask for the invariant to be checked."""
        return (self.is_,)

    def judge(self, evidence: Evidence) -> Finding:
        """Report the first violation."""
        expected = "every invariant holds" if self.is_ == ALL else f"the invariant {self.is_} holds"
        watched = evidence.invariants
        if watched is None:
            return Finding(False, expected, "none was checked: a trace alone does not show the groups")
        wrong = [one for one in watched.found() if self.is_ in (ALL, one.invariant)]
        if not wrong:
            return Finding(
                True,
                expected,
                f"{len(chosen([self.is_]))} checked, no violation" if self.is_ == ALL else "no violation",
            )
        more = f" (and {len(wrong) - 1} others are violated)" if len(wrong) > 1 else ""
        return Finding(False, expected, f"{wrong[0]}{more}", wrong[0].t_us, (wrong[0].seq,))
