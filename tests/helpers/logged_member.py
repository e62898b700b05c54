"""One story, step by step, as the events of a member whose log is looked at: what the tests of logs share."""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs import files as logs
from tests.helpers.trace_builders import Tape

ORDERS = ["orders-0", "orders-1"]


def begun(profile: str) -> Tape:
    """c1 has started and knows its coordinator, broker 1; brokers 2 and 0 lead the partitions."""
    tape = Tape()
    for number, leader in ((0, "2"), (1, "0")):
        tape.add(Kind.PARTITION_LEADER, topic="orders", partition=number, from_="-1", to=leader)
    payload = {"client_id": "c", "profile": profile, "topics": ["orders"], "instance_id": None}
    tape.client(Kind.PROCESS_STARTED, "c1", payload=payload)
    tape.at(1).client(Kind.REQUEST_SENT, "c1", api="FindCoordinator", payload={"to": 0})
    tape.client(Kind.COORDINATOR_FOUND, "c1", payload={"node": 1})
    return tape


def join(tape: Tape, protocol: str, given: list[str], *, first: bool = False) -> None:
    """c1 joins, leads, and is given partitions; the first time it has to ask for a member id."""
    if first:
        tape.client(Kind.REQUEST_SENT, "c1", api="JoinGroup")
        tape.client(Kind.RESPONSE_RECEIVED, "c1", api="JoinGroup", error="MEMBER_ID_REQUIRED")
        tape.members["c1"] = "c-1"
        tape.client(Kind.REJOIN_REQUESTED, "c1")
    tape.client(Kind.REQUEST_SENT, "c1", api="JoinGroup", payload={"member_id": tape.members.get("c1", "")})
    tape.at(tape.now / 1e6 + 2).complete("c1", protocol=protocol)
    tape.client(Kind.CLIENT_STATE, "c1", to="COMPLETING_REBALANCE", generation=tape.generation)
    tape.client(
        Kind.ASSIGNMENT_COMPUTED,
        "c1",
        payload={"assignor": protocol, "counts": {"c-1": len(given)}, "assignment": {"c-1": given}},
    )
    tape.client(Kind.REQUEST_SENT, "c1", api="SyncGroup")
    tape.client(Kind.RESPONSE_RECEIVED, "c1", api="SyncGroup", generation=tape.generation)


def callback(tape: Tape, reason: str, partitions: list[str]) -> None:
    """The application is told; what is assigned is owned from then on, and what is revoked no more."""
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason=reason, payload={"partitions": partitions})
    tape.client(Kind.CALLBACK_ENDED, "c1", reason=reason)
    kind = Kind.PARTITION_OWNED if reason == "assigned" else Kind.PARTITION_RELEASED
    for one in partitions:
        tape.client(kind, "c1", topic="orders", partition=int(one[-1]))


def called(tape: Tape, error: str = "REBALANCE_IN_PROGRESS") -> None:
    """A heartbeat is answered with an error, and the member has to join again."""
    tape.client(Kind.RESPONSE_RECEIVED, "c1", api="Heartbeat", error=error)
    tape.client(Kind.REJOIN_REQUESTED, "c1")


def eager(profile: str) -> list[TraceEvent]:
    """Joins, is called to a rebalance, gives all back, joins again, and leaves."""
    tape = begun(profile)
    join(tape, "range", ORDERS, first=True)
    callback(tape, "assigned", ORDERS)
    called(tape)
    callback(tape, "revoked", ORDERS)
    join(tape, "range", ORDERS[:1])
    callback(tape, "assigned", ORDERS[:1])
    tape.client(Kind.REQUEST_SENT, "c1", api="LeaveGroup")
    tape.client(Kind.RESPONSE_RECEIVED, "c1", api="LeaveGroup")
    tape.client(Kind.PROCESS_STOPPED, "c1")
    return tape.end()


def shown(events: list[TraceEvent], cut: str) -> list[str]:
    """Return the lines of c1, each from behind the first `cut` on."""
    return [line.partition(cut)[2] for line in logs.render(events)["c1.log"]]
