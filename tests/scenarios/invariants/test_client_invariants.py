"""Invariants of clients and of what members get: each finds its violation in a crafted trace, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import Trace
from groupsim.scenarios.invariants.watch import Invariants


class Watched:
    """A trace with invariants, and its events in short."""

    def __init__(self, *names: str) -> None:
        self.trace = Trace()
        self.invariants = Invariants(names, self.trace, seed=3)

    def emit(self, kind: Kind, host: str = "c1", member: str = "m1", **columns: Any) -> None:
        """Emit an event of a process of the group g1."""
        self.trace.emit(kind, host, "g1", member, **columns)

    def partition(self, kind: Kind, host: str = "c1", member: str = "m1", number: int = 0, **columns: Any) -> None:
        """Emit an event about a partition of orders."""
        self.emit(kind, host, member, topic="orders", partition=number, **columns)

    def found(self) -> list[str]:
        """Return the violated invariants."""
        return [one.invariant for one in self.invariants.end()]


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        ("UNSUBSCRIBED", "JOINING", False),
        ("STABLE", "STABLE", False),
        ("RECONCILING", "ACKNOWLEDGING", False),
        ("LEAVING", "STALE", False),
        ("STABLE", "ACKNOWLEDGING", True),
        ("FATAL", "JOINING", True),
        ("PREPARING_REBALANCE", "COMPLETING_REBALANCE", False),
    ],
)
def test_states_of_clients(before: str, after: str, wrong: bool) -> None:
    """A state follows one of those of the table; clients of the classic protocol have others."""
    watched = Watched("client-states-follow")
    watched.emit(Kind.CLIENT_STATE, from_=before, to=after)
    assert watched.found() == (["client-states-follow"] if wrong else [])


@pytest.mark.parametrize(("epochs", "wrong"), [((2, 3, 0, 1), False), ((3, -1), False), ((3, 2), True)])
def test_epochs_of_clients(epochs: tuple[int, ...], wrong: bool) -> None:
    """An epoch falls to 0 for a join and below for a leave, and nowhere else."""
    watched = Watched("C2")
    for epoch in epochs:
        watched.emit(Kind.REQUEST_SENT, api="ConsumerGroupHeartbeat", payload={"epoch": epoch})
    assert watched.found() == (["client-epoch-never-falls"] if wrong else [])


def call(watched: Watched, reason: str, *partitions: str, error: str | None = None) -> None:
    """Begin and end a callback."""
    watched.emit(Kind.CALLBACK_BEGUN, reason=reason, span=1, payload={"partitions": list(partitions)})
    watched.emit(Kind.CALLBACK_ENDED, reason=reason, span=1, error=error)


def test_callbacks_in_turns() -> None:
    """A callback that raises is called again, and a process that was killed begins with nothing."""
    watched = Watched("C4")
    call(watched, "assigned", "orders-0", "orders-1")
    call(watched, "revoked", "orders-0", error="RuntimeError")
    call(watched, "revoked", "orders-0")
    call(watched, "assigned", "orders-0")
    call(watched, "lost", "orders-0", "orders-1")
    call(watched, "assigned", "orders-1")
    watched.emit(Kind.PROCESS_CRASHED)
    call(watched, "assigned", "orders-1")
    assert watched.found() == []


@pytest.mark.parametrize(
    "reasons",
    [("assigned", "assigned"), ("assigned", "revoked", "lost"), ("lost",)],
    ids="-".join,
)
def test_callbacks_out_of_turn(reasons: tuple[str, ...]) -> None:
    """A partition is neither assigned twice nor taken twice."""
    watched = Watched("C4")
    for reason in reasons:
        call(watched, reason, "orders-0")
    assert watched.found() == ["callbacks-alternate"]


def test_a_client_that_leaves_while_it_revokes() -> None:
    """What it was giving up when it left is lost too; it is so once."""
    watched = Watched("C4")
    call(watched, "assigned", "orders-0")
    watched.emit(Kind.CALLBACK_BEGUN, reason="revoked", span=1, payload={"partitions": ["orders-0"]})
    watched.emit(Kind.CLIENT_STATE, from_="LEAVING", to="STALE")
    watched.emit(Kind.CALLBACK_ENDED, reason="revoked", span=1)
    call(watched, "lost", "orders-0")
    assert watched.invariants.found() == ()
    call(watched, "lost", "orders-0")
    assert watched.invariants.counts == {"callbacks-alternate": 1}


def test_deliveries_to_owners() -> None:
    """Records of a partition that was released are a violation."""
    watched = Watched("C6")
    watched.partition(Kind.PARTITION_OWNED)
    watched.partition(Kind.RECORDS_DELIVERED, payload={"base": 0, "count": 1})
    assert watched.found() == []
    watched = Watched("C6")
    watched.partition(Kind.PARTITION_OWNED)
    watched.partition(Kind.PARTITION_RELEASED)
    watched.partition(Kind.RECORDS_DELIVERED, payload={"base": 0, "count": 1})
    assert watched.found() == ["delivers-only-owned"]


def test_two_clients_that_are_members() -> None:
    """Two members that own a partition are a violation; the owners are named."""
    watched = Watched("C7")
    for number in (1, 2):
        watched.emit(Kind.MEMBER_ADDED, "broker-0", f"m{number}")
        watched.partition(Kind.PARTITION_OWNED, f"c{number}", f"m{number}", generation=4)
    assert watched.found() == ["one-client-per-partition"]
    violation = watched.invariants.first("one-client-per-partition")
    assert violation is not None
    assert (violation.members, violation.partitions) == (("m2", "m1"), ("orders-0",))
    assert violation.epochs == {"generation": 4}


@pytest.mark.parametrize("end", [Kind.MEMBER_REMOVED, Kind.MEMBER_REPLACED, Kind.GROUP_LOADED, Kind.PROCESS_CRASHED])
def test_a_client_that_is_no_member_goes_on(end: Kind) -> None:
    """A client that was removed, replaced or killed, or whose group was loaded again, is no second owner."""
    watched = Watched("C7")
    watched.emit(Kind.MEMBER_ADDED, "broker-0", "m1")
    watched.partition(Kind.PARTITION_OWNED)
    if end is Kind.MEMBER_REPLACED:
        watched.emit(end, "broker-0", "m2", payload={"old": "m1"})
    else:
        watched.emit(end, "c1" if end is Kind.PROCESS_CRASHED else "broker-0", "m1")
        watched.emit(Kind.MEMBER_ADDED, "broker-0", "m2")
    watched.partition(Kind.PARTITION_OWNED, "c2", "m2")
    assert watched.found() == []


def test_offsets_in_order() -> None:
    """An offset before the position is a violation; one after a position that was set again is none."""
    watched = Watched("D2")
    watched.partition(Kind.PARTITION_OWNED)
    watched.partition(Kind.POSITION_SET, payload={"offset": 5})
    watched.partition(Kind.RECORDS_DELIVERED, payload={"base": 5, "count": 3})
    watched.partition(Kind.POSITION_SET, payload={"offset": 2})
    watched.partition(Kind.RECORDS_DELIVERED, payload={"base": 2, "count": 3})
    assert watched.found() == []
    watched = Watched("D2")
    watched.partition(Kind.POSITION_SET, payload={"offset": 5})
    watched.partition(Kind.RECORDS_DELIVERED, payload={"base": 4, "count": 1})
    assert watched.found() == ["delivered-in-order"]


@pytest.mark.parametrize(("offset", "wrong"), [(5, False), (8, False), (9, True)])
def test_commits_of_what_was_delivered(offset: int, wrong: bool) -> None:
    """A commit beyond all positions of the group is a violation."""
    watched = Watched("D3")
    watched.partition(Kind.POSITION_SET, payload={"offset": 5})
    watched.partition(Kind.RECORDS_DELIVERED, payload={"base": 5, "count": 3})
    watched.emit(Kind.OFFSETS_COMMITTED, payload={"offsets": {"orders-0": offset}})
    assert watched.found() == (["commits-only-delivered"] if wrong else [])


def test_commits_beside_markers() -> None:
    """A position passes the markers of transactions, which are not delivered."""
    watched = Watched("D3")
    watched.partition(Kind.RECORDS_APPENDED, "broker-0", payload={"base": 3, "count": 1, "transaction": 7})
    watched.partition(Kind.RECORDS_DELIVERED, payload={"base": 0, "count": 3})
    watched.emit(Kind.OFFSETS_COMMITTED, payload={"offsets": {"orders-0": 4}})
    assert watched.found() == []


CODES = ("C1", "C2", "C4", "C6", "C7", "D2", "D3")
"""The invariants of which this module shows a violation."""
