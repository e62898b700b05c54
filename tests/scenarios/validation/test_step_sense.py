"""A warning before a run for expectations that cannot fail."""

from __future__ import annotations

from groupsim.scenarios.loading.load import load_text

TEXT = """\
run-for: 30s
topics: {orders: 4}
groups: {g1: {members: {c: 2}}}
expect:
- event: {kind: request.sent, api: Heartbeat, count: 0}
- time-between:
    from: {kind: member.added}
    to: {kind: request.received, api: Heartbeat}
    is: <= 9s
- event: {kind: response.sent, api: Heartbeat, error: REBALANCE_IN_PROGRESS, count: 0..9}
- event: {kind: request.sent, api: JoinGroup}
"""


def test_an_expectation_of_quiet_heartbeats_is_warned_of() -> None:
    """No trace of a run lists them, so such an expectation cannot fail or hold; responses with an error are."""
    noted = [note for note in load_text(TEXT).notes if "Heartbeat" in note.message]
    assert [(note.place.line, note.message.partition(": ")[0]) for note in noted] == [
        (5, "request.sent of Heartbeat"),
        (8, "request.received of Heartbeat"),
    ]
    assert {note.message.partition(": ")[2] for note in noted} == {
        "heartbeats without an error are counted, not traced"
    }
