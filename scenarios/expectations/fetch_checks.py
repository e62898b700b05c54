"""Expectations about fetches: how many were sent, how many had no record, how long they waited at brokers.

The figures are those of `run.ended`, by process, for the whole run.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from groupsim.eventloop.units import show_us
from groupsim.protocol.values import frozen
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import Check, Finding, check
from groupsim.scenarios.language.targets import GroupName, OneMember
from groupsim.scenarios.language.values import CountIs, SpanIs
from groupsim.scenarios.story import Fetches


@check("fetches")
@frozen
class FetchesCheck(Check):
    """The number of fetches of members in the run, and their waiting time; an empty one has no record."""

    sent: CountIs | None = key("All that were sent, long polls one by one.", None)
    empty: CountIs | None = key("Answered with neither records nor an error.", None)
    waited: SpanIs | None = key("How long they had waited at brokers, together.", None)
    member: OneMember | None = key("Only those of this process.", None)
    group: GroupName | None = key("Only those of this group.", None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare each given figure."""
        of = f" of {self.member or self.group}" if self.member or self.group else ""
        given = [
            (name, bounds)
            for name, bounds in (("sent", self.sent), ("empty", self.empty), ("waited", self.waited))
            if bounds is not None
        ]
        expected = f"fetches{of}: " + (", ".join(f"{name} {bounds}" for name, bounds in given) or "counted")
        counted = [
            lane.fetches
            for lane in evidence.story.lanes
            if self.member in (None, lane.host) and self.group in (None, lane.group) and lane.fetches is not None
        ]
        if not counted:
            return Finding(False, expected, "no such process sent any")
        total = reduce(add, counted)
        figures = {"sent": total.sent, "empty": total.empty, "waited": total.waited_us}
        holds = all(bounds.holds(figures[name]) for name, bounds in given)
        return Finding(holds, expected, _shown(total))


def _shown(found: Fetches) -> str:
    return f"{found.sent:,} sent, {found.empty:,} empty, waited {show_us(found.waited_us)}"
