"""A coordinator that dies while it writes an assignment, in the headline's own words."""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.story import tell
from tests.helpers.trace_builders import formed


def test_an_assignment_that_could_not_be_written_is_told_without_member_ids() -> None:
    """The process is named, and the broker's raw sentence with its member id is not repeated."""
    tape = formed("c1", "c2").at(20)
    raw = f"Error COORDINATOR_NOT_AVAILABLE when storing group assignment (member: {tape.members['c1']})."
    tape.coordinator(
        Kind.GROUP_STATE,
        member=tape.members["c1"],
        from_="CompletingRebalance",
        to="PreparingRebalance",
        generation=1,
        reason=raw,
        payload={"cause_code": "STORE_ERROR"},
    )
    told = tell(tape.at(60).end()).headline
    assert "c1 led a sync whose assignment the coordinator could not write" in told
    assert "COORDINATOR_NOT_AVAILABLE" not in told
