"""The headline after a coordinator dies while it writes an assignment."""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.story import tell
from tests.helpers.trace_builders import formed


def test_an_assignment_that_was_not_written_is_named_without_member_ids() -> None:
    """The headline names the process, and does not repeat the broker's message with the member id."""
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
    headline = tell(tape.at(60).end()).headline
    assert "c1 sent an assignment that the coordinator could not write" in headline
    assert "COORDINATOR_NOT_AVAILABLE" not in headline
