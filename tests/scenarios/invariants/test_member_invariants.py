"""Invariants of what members report, commit, give up and get: each finds its violation in a crafted trace.

The rows of the reference's table of false alarms that concern them stand beside the violations.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from tests.scenarios.invariants.test_client_invariants import Watched

HEARTBEAT = "ConsumerGroupHeartbeat"


class Timed(Watched):
    """A trace with a clock."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.now_us = 0
        self.trace.attach(self)

    def after(self, seconds: float) -> None:
        """Let time pass."""
        self.now_us += int(seconds * 1_000_000)

    def last(self) -> int:
        """Return the number of the last event."""
        return self.trace.total


def beat(watched: Watched, correlation: int, **payload: Any) -> None:
    """Send a heartbeat of c1."""
    watched.emit(Kind.REQUEST_SENT, api=HEARTBEAT, correlation=correlation, payload={"epoch": 3, **payload})


# --- heartbeats --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("between", [None, Kind.RESPONSE_RECEIVED, Kind.REQUEST_FAILED, Kind.COORDINATOR_LOST])
def test_one_heartbeat_in_flight(between: Kind | None) -> None:
    """A second heartbeat is a violation unless the first was answered, failed, or lost its coordinator."""
    watched = Watched("C3")
    beat(watched, 1)
    if between is not None:
        watched.emit(between, api=HEARTBEAT, correlation=1)
    beat(watched, 2)
    assert watched.found() == (["one-heartbeat-in-flight"] if between is None else [])


def test_a_leave_overtakes() -> None:
    """A heartbeat that leaves follows another one at once, and the one that joins again follows it."""
    watched = Watched("C3")
    beat(watched, 1)
    beat(watched, 2, epoch=-1)
    beat(watched, 3, epoch=0)
    assert watched.found() == []


@pytest.mark.parametrize("released", [True, False])
def test_a_report_after_the_callback(released: bool) -> None:
    """A report without a partition that the application still has is a violation; after its release it is none."""
    watched = Watched("C5")
    for number in (0, 1):
        watched.partition(Kind.PARTITION_OWNED, number=number)
    beat(watched, 1, owned={"orders": [0, 1]})
    if released:
        watched.partition(Kind.PARTITION_RELEASED, number=1, reason="revoked")
    beat(watched, 2, owned={"orders": [0]})
    assert watched.found() == ([] if released else ["acknowledges-after-callback"])
    if not released:
        violation = watched.invariants.first("acknowledges-after-callback")
        assert violation is not None
        assert violation.partitions == ("orders-1",)


def test_a_leave_at_the_poll_limit_goes_before_the_callback() -> None:
    """A leave reports nothing, and what its client loses afterwards is no violation."""
    watched = Watched("C5")
    watched.partition(Kind.PARTITION_OWNED)
    beat(watched, 1, owned={"orders": [0]})
    beat(watched, 2, epoch=-1, owned={})
    watched.partition(Kind.PARTITION_RELEASED, reason="lost")
    beat(watched, 3, epoch=0, owned={})
    assert watched.found() == []


# --- processing --------------------------------------------------------------------------------------------------


def read(watched: Watched, base: int, count: int, *, host: str = "c1", processed: int | None = None) -> None:
    """Deliver records, and process all of them or so many."""
    watched.partition(Kind.RECORDS_DELIVERED, host, payload={"base": base, "count": count})
    done = count if processed is None else processed
    if done:
        watched.partition(Kind.RECORDS_PROCESSED, host, payload={"base": base, "count": done})


def commit(watched: Watched, offset: int, *, host: str = "c1", auto: bool = True, cause: int = 0) -> None:
    """Commit an offset."""
    watched.trace.emit(
        Kind.OFFSETS_COMMITTED, host, "g1", "m1", cause=cause, payload={"offsets": {"orders-0": offset}, "auto": auto}
    )


@pytest.mark.parametrize(("processed", "wrong"), [(5, False), (3, True)])
def test_what_is_committed_is_processed(processed: int, wrong: bool) -> None:
    """A committed offset beyond what was processed is a violation."""
    watched = Watched("D1")
    watched.partition(Kind.POSITION_SET, payload={"offset": 2}, reason="reset")
    read(watched, 2, 5, processed=processed)
    commit(watched, 7)
    assert watched.found() == (["committed-means-processed"] if wrong else [])


def test_another_member_processes_what_is_left() -> None:
    """What one member has not processed and the next one has is accounted for, and so are offsets without records."""
    watched = Watched("D1")
    watched.partition(Kind.POSITION_SET, payload={"offset": 0}, reason="reset")
    read(watched, 0, 5, processed=2)
    watched.partition(Kind.POSITION_SET, "c2", payload={"offset": 0}, reason="committed")
    read(watched, 0, 5, host="c2")
    read(watched, 8, 2, host="c2")
    commit(watched, 10, host="c2")
    assert watched.found() == []


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        (Kind.POSITION_SET, {"payload": {"offset": 9}, "reason": "reset"}),
        (Kind.LOG_TRUNCATED, {"payload": {"to": 4, "end": 9}}),
        (Kind.RECORDS_APPENDED, {"payload": {"base": 3, "count": 1, "transaction": 7}}),
    ],
)
def test_offsets_that_are_not_read(kind: Kind, columns: dict[str, Any]) -> None:
    """Offsets that a reset skips, or that a log lost or has for markers, are no violation."""
    watched = Watched("D1")
    watched.partition(Kind.POSITION_SET, payload={"offset": 0}, reason="reset")
    read(watched, 0, 3)
    watched.partition(kind, **columns)
    commit(watched, 9)
    assert watched.found() == []


@pytest.mark.parametrize("then", [None, Kind.COMMIT_FAILED, Kind.REQUEST_SENT, Kind.PROCESS_CRASHED])
def test_a_refused_commit_is_reported(then: Kind | None) -> None:
    """A refused commit after which nothing follows is a violation; an error, another try or the end is none."""
    watched = Timed("D6")
    watched.emit(Kind.RESPONSE_RECEIVED, api="OffsetCommit", error="STALE_MEMBER_EPOCH")
    if then is not None:
        watched.emit(then, api="OffsetCommit")
    watched.after(30)
    watched.emit(Kind.PROCESS_STARTED, "c2")
    assert watched.found() == (["refused-commit-is-seen"] if then is None else [])


def test_a_refused_commit_is_not_taken_as_done() -> None:
    """A commit that was answered an error and counts as committed is a violation."""
    watched = Watched("D6")
    watched.emit(Kind.RESPONSE_RECEIVED, api="OffsetCommit", error="STALE_MEMBER_EPOCH")
    commit(watched, 5, cause=watched.trace.total)
    assert watched.found() == ["refused-commit-is-seen"]


def test_a_refused_commit_of_a_step_is_right() -> None:
    """A commit that is a step of the scenario has no application that could hear of its error."""
    watched = Timed("D6")
    watched.emit(Kind.REQUEST_SENT, api="OffsetCommit", payload={"by_hand": True})
    watched.emit(Kind.RESPONSE_RECEIVED, api="OffsetCommit", error="REBALANCE_IN_PROGRESS")
    watched.after(30)
    assert watched.found() == []


# --- hand-over ---------------------------------------------------------------------------------------------------


def gives_up(watched: Watched, committed: int, reason: str = "revoked") -> None:
    """Let c1 read offsets 0 to 9, commit, and give the partition up."""
    watched.partition(Kind.POSITION_SET, payload={"offset": 0}, reason="reset")
    read(watched, 0, 10)
    commit(watched, committed)
    watched.partition(Kind.PARTITION_RELEASED, reason=reason)


def takes_over(watched: Watched, offset: int) -> None:
    """Let c2 begin to read."""
    watched.partition(Kind.POSITION_SET, "c2", payload={"offset": offset}, reason="committed")


@pytest.mark.parametrize(
    ("committed", "begins", "wrong"), [(10, 10, False), (10, 8, True), (10, 12, True), (8, 8, False), (8, 5, False)]
)
def test_a_clean_hand_over(committed: int, begins: int, wrong: bool) -> None:
    """The next owner begins where the former one ended, if that was committed."""
    watched = Watched("D4")
    gives_up(watched, committed)
    takes_over(watched, begins)
    assert watched.found() == (["hand-over-keeps-position"] if wrong else [])


@pytest.mark.parametrize("kind", [Kind.OFFSET_EXPIRED, Kind.LOG_TRUNCATED, Kind.OFFSETS_COMMITTED])
def test_offsets_that_change_between_owners(kind: Kind) -> None:
    """An offset that expires, a log that is truncated and a later commit are no violation."""
    watched = Watched("D4")
    gives_up(watched, 10)
    if kind is Kind.OFFSETS_COMMITTED:
        commit(watched, 4, auto=False)
    else:
        watched.partition(kind, "broker-0")
    takes_over(watched, 4)
    assert watched.found() == []


@pytest.mark.parametrize(("begins", "wrong"), [(6, False), (8, False), (5, True)])
def test_repeats_after_a_crash(begins: int, wrong: bool) -> None:
    """What is read again was not committed, however much that is."""
    watched = Watched("D5")
    watched.partition(Kind.POSITION_SET, payload={"offset": 0}, reason="reset")
    read(watched, 0, 10)
    commit(watched, 6)
    watched.emit(Kind.PROCESS_CRASHED)
    takes_over(watched, begins)
    assert watched.found() == (["repeats-only-uncommitted"] if wrong else [])
    if wrong:
        violation = watched.invariants.first("repeats-only-uncommitted")
        assert violation is not None
        assert "gets 5 records again after a crash, 4 were not committed" in violation.what


@pytest.mark.parametrize("crashed_first", [True, False])
def test_commits_that_an_unclean_election_loses(crashed_first: bool) -> None:
    """A leader that lacks acknowledged commits makes the next owner read more again: no violation."""
    watched = Watched("D5")
    watched.partition(Kind.POSITION_SET, payload={"offset": 0}, reason="reset")
    read(watched, 0, 10)
    commit(watched, 6)
    ends = [Kind.PROCESS_CRASHED, Kind.PARTITION_LEADER]
    for kind in ends if crashed_first else reversed(ends):
        watched.emit(kind, reason="unclean" if kind is Kind.PARTITION_LEADER else None)
    takes_over(watched, 2)
    assert watched.found() == []


@pytest.mark.parametrize(("committed", "failed", "wrong"), [(10, False, False), (7, False, True), (7, True, False)])
def test_a_process_that_closes(committed: int, failed: bool, wrong: bool) -> None:
    """All that was processed is committed, unless the last commit failed."""
    watched = Watched("D7")
    gives_up(watched, committed)
    if failed:
        watched.emit(Kind.COMMIT_FAILED, error="STALE_MEMBER_EPOCH")
    watched.emit(Kind.PROCESS_STOPPED, reason="closed")
    assert watched.found() == (["close-commits-positions"] if wrong else [])


def test_an_application_that_commits_itself_may_close_without() -> None:
    """A process without automatic commits closes as it is."""
    watched = Watched("D7")
    watched.partition(Kind.POSITION_SET, payload={"offset": 0}, reason="reset")
    read(watched, 0, 10)
    commit(watched, 4, auto=False)
    watched.partition(Kind.PARTITION_RELEASED, reason="revoked")
    watched.emit(Kind.PROCESS_STOPPED, reason="closed")
    assert watched.found() == []


# --- rebalances --------------------------------------------------------------------------------------------------


def bump(watched: Watched, epoch: int) -> None:
    """Bump the group epoch."""
    watched.emit(Kind.EPOCH_BUMPED, "broker-0", payload={"epoch": epoch, "triggers": ["joined"]})


def reconcile(watched: Watched, epoch: int, *revoked: str) -> None:
    """Revoke partitions, if any, and call back that nothing is assigned."""
    for reason, partitions in (("revoked", revoked), ("assigned", ())):
        if partitions or reason == "assigned":
            watched.emit(Kind.CALLBACK_BEGUN, generation=epoch, reason=reason, payload={"partitions": list(partitions)})


@pytest.mark.parametrize("bumped", [True, False])
def test_revocations_follow_bumps(bumped: bool) -> None:
    """A member at the group epoch that revokes is a violation; one that is behind is none."""
    watched = Watched("L10")
    bump(watched, 2)
    reconcile(watched, 2)
    if bumped:
        bump(watched, 3)
    watched.emit(Kind.MEMBER_REPLACED, "broker-0", "m9", payload={"old": "m8", "instance_id": "i", "rebalance": False})
    reconcile(watched, 2, "orders-0")
    assert watched.found() == ([] if bumped else ["revokes-in-rebalances"])


def test_revocations_follow_barriers() -> None:
    """A classic member revokes after PreparingRebalance, and not after another one's static return."""
    watched = Watched("L10")
    reconcile(watched, 1)
    watched.emit(Kind.GROUP_STATE, "broker-0", from_="Stable", to="PreparingRebalance")
    reconcile(watched, 2, "orders-0")
    assert watched.found() == []
    watched = Watched("L10")
    reconcile(watched, 1)
    reconcile(watched, 1, "orders-0")
    assert watched.found() == ["revokes-in-rebalances"]


def test_a_client_that_leaves_revokes_without_a_rebalance() -> None:
    """A callback before a leave is no violation."""
    watched = Watched("L10")
    bump(watched, 2)
    reconcile(watched, 2)
    watched.emit(Kind.CALLBACK_BEGUN, reason="revoked", generation=2, payload={"partitions": ["orders-0"]})
    watched.emit(Kind.CLIENT_STATE, from_="PREPARE_LEAVING", to="LEAVING")
    watched.emit(Kind.CLIENT_STATE, from_="UNSUBSCRIBED", to="JOINING")
    reconcile(watched, 2)
    assert watched.found() == []


@pytest.mark.parametrize(("seconds", "wrong"), [(299, False), (302, True)])
@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_barriers_end(state: str, seconds: int, wrong: bool) -> None:
    """A barrier that is open longer than the rebalance timeout is a violation, also when it is open at the end."""
    for closes in (True, False):
        watched = Timed("L3")
        watched.emit(Kind.MEMBER_ADDED, "broker-0", payload={"rebalance_timeout_ms": 300_000})
        watched.emit(Kind.GROUP_STATE, "broker-0", from_="Stable", to=state, generation=4)
        watched.after(seconds)
        if closes:
            watched.emit(Kind.GROUP_STATE, "broker-0", from_=state, to="Stable", generation=5)
        assert watched.found() == (["barriers-end"] if wrong else [])


def test_a_barrier_that_is_loaded_begins_again() -> None:
    """A new coordinator begins the time again."""
    watched = Timed("L3")
    watched.emit(Kind.MEMBER_ADDED, "broker-0", payload={"rebalance_timeout_ms": 60_000})
    watched.emit(Kind.GROUP_STATE, "broker-0", from_="Stable", to="PreparingRebalance")
    watched.after(50)
    watched.emit(Kind.GROUP_LOADED, "broker-1", payload={"members": 1})
    watched.emit(Kind.GROUP_STATE, "broker-1", from_="Stable", to="PreparingRebalance")
    watched.after(50)
    assert watched.found() == []


@pytest.mark.parametrize(("seconds", "reason", "wrong"), [(44, "session-expired", True), (44, "left", False)])
def test_sessions_after_a_load(seconds: int, reason: str, wrong: bool) -> None:
    """A member is removed for its silence no earlier than a session after the load."""
    watched = Timed("L9")
    watched.emit(Kind.MEMBER_ADDED, "broker-0", payload={"session_timeout_ms": 45_000})
    watched.after(40)
    watched.emit(Kind.GROUP_LOADED, "broker-1", payload={"members": 1})
    watched.after(seconds)
    watched.emit(Kind.MEMBER_REMOVED, "broker-1", reason=reason)
    assert watched.found() == (["loads-remove-no-member"] if wrong else [])


def test_a_session_that_ends_after_a_load() -> None:
    """A whole session after the load is right."""
    watched = Timed("L9")
    watched.emit(Kind.MEMBER_ADDED, "broker-0", payload={"session_timeout_ms": 45_000})
    watched.emit(Kind.GROUP_LOADED, "broker-1", payload={"members": 1})
    watched.after(45)
    watched.emit(Kind.MEMBER_REMOVED, "broker-1", reason="session-expired")
    assert watched.found() == []


@pytest.mark.parametrize("profile", ["java-4.4", "librdkafka-2.10"])
@pytest.mark.parametrize(("api", "error"), [(HEARTBEAT, "UNRELEASED_INSTANCE_ID"), ("JoinGroup", "FENCED_INSTANCE_ID")])
def test_a_duplicate_ends(api: str, error: str, profile: str) -> None:
    """A Java process that goes on after it was refused for its instance id is a violation; a restart is none."""
    watched = Watched("L11")
    watched.emit(Kind.PROCESS_STARTED, payload={"profile": profile})
    watched.emit(Kind.RESPONSE_RECEIVED, api=api, error=error)
    watched.emit(Kind.PROCESS_FAILED, error=error)
    watched.emit(Kind.PROCESS_STARTED, payload={"profile": profile})
    watched.emit(Kind.REQUEST_SENT, api=api, payload={"epoch": 0})
    assert watched.invariants.found() == ()
    watched.emit(Kind.RESPONSE_RECEIVED, api=api, error=error)
    watched.emit(Kind.REQUEST_SENT, api=api, payload={"epoch": 0})
    assert watched.found() == (["duplicate-instance-ends"] if profile.startswith("java") else [])


CODES = ("C3", "C5", "D1", "D4", "D5", "D6", "D7", "L3", "L9", "L10", "L11")
"""The invariants of which this module shows a violation."""
