"""librdkafka with `debug=cgrp`: expected lines are those that 2.16 wrote of the same story, at a 4.4.0 broker."""

from __future__ import annotations

import re

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.logs import files as logs
from tests.helpers.logged_member import ORDERS, begun, callback, called, join
from tests.helpers.trace_builders import Tape

LINE = re.compile(r"%(\d)\|\d+\.\d{3}\|([A-Z]+)\|c#consumer-1\| \[thrd:main]: (.*)")
TIMED_OUT = (
    "Consumer group session timed out (in join-state steady) after 6002 ms without a successful response from the "
    "group coordinator (broker -1, last error was Success)"
)
AND = ": revoking assignment and rejoining group"


def message(tape: Tape) -> list[tuple[str, str]]:
    """Facility and words of every line; all have the layout, and what begins with the group is cut there."""
    found = [LINE.fullmatch(line) for line in logs.render(tape.end())["c1.log"]]
    assert all(found)
    return [(match[2], re.sub('^Group "g1":? ', "", match[3])) for match in found if match]


def joined(protocol: str) -> Tape:
    """c1 leads, alone, and has both partitions."""
    tape = begun("librdkafka-2.x")
    join(tape, protocol, ORDERS, first=True)
    callback(tape, "assigned", ORDERS)
    return tape


def since(tape: Tape, before: int) -> list[tuple[str, str]]:
    """Return the lines from `before` on, without the facility of a join state's change and the list of partitions."""
    lines = message(tape)[before:]
    return [line for line in lines if not line[1].startswith(("List with", " orders"))]


def change(old: str, new: str) -> tuple[str, str]:
    """The line of another join state."""
    return "CGRPJOINSTATE", f"changed join state {old} -> {new} (state up)"


def test_librdkafka_joins_through_its_states() -> None:
    """From the coordinator over the member id that it is given to the assignment, as the leader that it is."""
    needs = "Broker: Group member needs a valid member ID"
    joins = ("JOIN", "join with 1 subscribed topic(s)")
    joining = 'broker-1:9092/1: Joining group "g1" with 1 subscribed topic(s) and member id '
    response = (
        "JoinGroup response: GenerationId {}, Protocol {}, LeaderId {}, my MemberId c-1, member metadata count {}: {}"
    )
    assert [line for line in message(joined("range")) if line[0] != "CGRPSTATE"] == [
        ("SUBSCRIBE", "subscribe to new subscription of 1 topics (join-state init)"),
        ("CGRPQUERY", 'broker-0:9092/0: Group "g1": querying for coordinator: intervaled in state query-coord'),
        ("CGRPCOORD", "coordinator is broker-1:9092 id 1"),
        ("CGRPCOORD", "changing coordinator -1 -> 1"),
        ("COORDSET", "coordinator set to broker broker-1:9092/1"),
        *(joins, ("JOIN", joining + '""'), change("init", "wait-join")),
        ("JOINGROUP", response.format(-1, "", "", 0, needs)),
        ("MEMBERID", 'updating member id "" -> "c-1"'),
        ("REJOIN", f"Rejoining group without an assignment: JoinGroup error: {needs}"),
        change("wait-join", "init"),
        *(joins, ("JOIN", joining + '"c-1"'), change("init", "wait-join")),
        ("JOINGROUP", response.format(1, "range", "c-1 (me)", 1, "(no error)")),
        ("JOINGROUP", 'I am elected leader for group "g1" with 1 member(s)'),
        change("wait-join", "wait-metadata"),
        ("ASSIGNOR", '"range" assignor run for 1 member(s)'),
        change("wait-metadata", "wait-sync"),
        ("SYNCGROUP", "SyncGroup response: Success"),
        *(
            ("ASSIGNMENT", text)
            for text in ("List with 2 partition(s):", *(f" orders [{n}] offset INVALID" for n in (0, 1)))
        ),
        change("wait-sync", "wait-assign-call"),
        ("ASSIGN", "delegating assign of 2 partition(s) to application on queue rd_kafka_cgrp_new: new assignment"),
        ("ASSIGN", "new assignment of 2 partition(s) in join-state wait-assign-call"),
        change("wait-assign-call", "steady"),
    ]


HEARTBEAT = (
    "HEARTBEAT",
    "heartbeat error response in state up (join-state steady, 2 partition(s) assigned): Broker: Group rebalance in "
    "progress",
)


def test_an_eager_librdkafka_gives_all_back_and_closes() -> None:
    """For a rebalance it rejoins; when it closes it goes through the same states, leaves, and does not."""
    tape = joined("range")
    before = len(message(tape))
    called(tape)
    callback(tape, "revoked", ORDERS)
    assert since(tape, before) == [
        HEARTBEAT,
        (
            "REBALANCE",
            "is rebalancing (EAGER) in state up (join-state steady) with 2 assigned partition(s): rebalance in "
            "progress",
        ),
        change("steady", "wait-unassign-call"),
        (
            "ASSIGN",
            "delegating revoke of 2 partition(s) to application on queue rd_kafka_cgrp_new: rebalance in progress",
        ),
        change("wait-unassign-call", "wait-unassign-to-complete"),
        ("UNASSIGN", "unassign done in state up (join-state wait-unassign-to-complete)"),
        ("REJOIN", "Rejoining group without an assignment: Unassignment done"),
        change("wait-unassign-to-complete", "init"),
    ]
    join(tape, "range", ORDERS[:1])
    callback(tape, "assigned", ORDERS[:1])
    before = len(message(tape))
    callback(tape, "revoked", ORDERS[:1])
    tape.client(Kind.REQUEST_SENT, "c1", api="LeaveGroup")
    tape.client(Kind.RESPONSE_RECEIVED, "c1", api="LeaveGroup")
    assert since(tape, before) == [
        (
            "REBALANCE",
            "initiating rebalance (EAGER) in state up (join-state steady) with 1 assigned partition(s): unsubscribe",
        ),
        change("steady", "wait-unassign-call"),
        ("ASSIGN", "delegating revoke of 1 partition(s) to application on queue rd_kafka_consumer_close0: unsubscribe"),
        change("wait-unassign-call", "wait-unassign-to-complete"),
        ("UNASSIGN", "unassign done in state up (join-state wait-unassign-to-complete)"),
        ("MEMBERID", 'updating member id "c-1" -> ""'),
        ("LEAVE", "leave (in state up)"),
        ("NOREJOIN", "Not rejoining group without an assignment: Unassignment done: no subscribed topics"),
        change("wait-unassign-to-complete", "init"),
        ("LEAVEGROUP", "LeaveGroup response received in state up"),
    ]


def test_a_cooperative_librdkafka_keeps_what_it_has_while_it_rejoins() -> None:
    """It compares, gives back what others are to have, is assigned nothing more, and joins once more for them."""
    tape = joined("cooperative-sticky")
    before = len(message(tape))
    called(tape)
    join(tape, "cooperative-sticky", ORDERS[:1])
    callback(tape, "revoked", ORDERS[1:])
    tape.client(Kind.REJOIN_REQUESTED, "c1")
    callback(tape, "assigned", [])
    lines = since(tape, before)
    assert lines[:3] == [
        HEARTBEAT,
        ("REJOIN", "Rejoining group with 2 owned partition(s): Group is rebalancing"),
        change("steady", "init"),
    ]
    assert lines[lines.index(("SYNCGROUP", "SyncGroup response: Success")) + 1 :] == [
        (
            "COOPASSIGN",
            "incremental assignment: 0 newly added, 1 revoked partitions based on assignment of 1 partitions",
        ),
        change("wait-sync", "wait-unassign-call"),
        (
            "ASSIGN",
            "delegating incremental revoke of 1 partition(s) to application on queue rd_kafka_cgrp_new: sync group "
            "revoke",
        ),
        ("ASSIGNMENT", "1 partition(s) being removed from group assignment of 2 partition(s)"),
        change("wait-unassign-call", "wait-incr-unassign-to-complete"),
        change("wait-incr-unassign-to-complete", "wait-assign-call"),
        (
            "ASSIGN",
            "delegating incremental assign of 0 partition(s) to application on queue rd_kafka_cgrp_new: cooperative "
            "assign after revoke",
        ),
        ("ASSIGNMENT", "0 partition(s) being added to group assignment of 1 partition(s)"),
        change("wait-assign-call", "steady"),
        (
            "REJOIN",
            "Rejoining group with 1 owned partition(s): rejoining group to redistribute previously owned partitions to "
            "other group members",
        ),
        change("steady", "init"),
    ]


@pytest.mark.parametrize(
    ("protocol", "kind", "how", "middle"),
    [
        ("range", "EAGER", "revoking assignment and rejoining", "wait-unassign-to-complete"),
        (
            "cooperative-sticky",
            "COOPERATIVE",
            "revoking incremental assignment and rejoining",
            "wait-incr-unassign-to-complete",
        ),
    ],
)
def test_librdkafka_warns_that_its_session_timed_out(protocol: str, kind: str, how: str, middle: str) -> None:
    """Without any `debug`, too; what follows at debug quotes the warning each time."""
    tape = joined(protocol)
    before = len(message(tape))
    silent = {"silent_us": 6_002_400, "coordinator": -1, "last_error": None}
    tape.client(Kind.SESSION_EXPIRED, "c1", payload=silent)
    callback(tape, "lost", ORDERS)
    lines = since(tape, before)
    whole = "\n".join(logs.render(tape.end())["c1.log"])
    assert re.search(r"%4\|[\d.]+\|SESSTMOUT\|c#consumer-1\| \[thrd:main]: " + re.escape(TIMED_OUT + AND), whole)
    state = "in state up (join-state steady) with 2 assigned partition(s) (lost)"
    assert lines[1:4] == [
        ("MEMBERID", 'updating member id "c-1" -> ""'),
        ("REBALANCE", f"initiating rebalance ({kind}) {state}: {TIMED_OUT}"),
        ("LOST", f"current assignment of 2 partition(s) lost: {TIMED_OUT}: {how}"),
    ]
    assert change("wait-unassign-call", middle) in lines
    assert lines[-1] == change(middle, "init")
    assert ("LOST", "current assignment no longer considered lost: ") in [(a, b[:46]) for a, b in lines]


def test_librdkafka_warns_that_it_was_not_polled() -> None:
    """And leaves before the application gives anything back."""
    tape = joined("range")
    before = len(message(tape))
    tape.client(Kind.POLL_EXPIRED, "c1", payload={"limit_us": 10_000_000})
    tape.client(Kind.REQUEST_SENT, "c1", api="LeaveGroup")
    callback(tape, "lost", ORDERS)
    warned, member, left, rebalance, *_ = since(tape, before)
    assert warned[0] == "MAXPOLL"
    assert warned[1].startswith("Application maximum poll interval (10000ms) exceeded by ")
    assert (member[0], left) == ("MEMBERID", ("LEAVE", "leave (in state up)"))
    assert rebalance[1].endswith("with 2 assigned partition(s) (lost): max.poll.interval.ms exceeded")


def test_librdkafka_looks_for_its_coordinator() -> None:
    """One that says it is none is asked who is, in state up; one that is gone is looked for through other states."""
    tape = joined("range")
    before = len(message(tape))
    tape.client(Kind.RESPONSE_RECEIVED, "c1", api="Heartbeat", error="NOT_COORDINATOR")
    tape.client(Kind.REQUEST_SENT, "c1", api="FindCoordinator", payload={"to": 1})
    tape.client(Kind.COORDINATOR_LOST, "c1", reason="another coordinator")
    tape.client(Kind.COORDINATOR_FOUND, "c1", payload={"node": 2})
    tape.client(Kind.COORDINATOR_LOST, "c1", reason="coordinator unavailable")
    for node in (2, 0):
        tape.client(Kind.REQUEST_SENT, "c1", api="FindCoordinator", payload={"to": 0})
        tape.client(Kind.COORDINATOR_FOUND, "c1", payload={"node": node})

    def state(old: str, new: str) -> tuple[str, str]:
        return "CGRPSTATE", f"changed state {old} -> {new} (join-state steady)"

    def query(node: int, why: str) -> tuple[str, str]:
        return "CGRPQUERY", f'broker-{node}:9092/{node}: Group "g1": querying for coordinator: {why}'

    def changed(old: int, new: int) -> list[tuple[str, str]]:
        return [
            ("CGRPCOORD", f"coordinator is broker-{new}:9092 id {new}"),
            ("CGRPCOORD", f"changing coordinator {old} -> {new}"),
            ("COORDCLEAR", f"broker broker-{old}:9092/{old} is no longer coordinator"),
            ("COORDSET", f"coordinator set to broker broker-{new}:9092/{new}"),
        ]

    assert since(tape, before)[1:] == [
        query(1, "Broker: Not coordinator"),
        *changed(1, 2),
        state("up", "wait-broker-transport"),
        state("wait-broker-transport", "up"),
        state("up", "query-coord"),
        query(0, "intervaled in state query-coord"),
        state("query-coord", "wait-coord"),
        ("CGRPCOORD", "coordinator is broker-2:9092 id 2"),
        state("wait-coord", "wait-broker-transport"),
        query(0, "intervaled in state wait-broker-transport"),
        *changed(2, 0),
        state("wait-broker-transport", "up"),
    ]


@pytest.mark.parametrize("api", ["Heartbeat", "JoinGroup"])
def test_a_fenced_librdkafka_says_that_its_error_is_fatal(api: str) -> None:
    """A fatal error is logged at the highest level with its text twice; the end of the process has no line."""
    tape = joined("range")
    tape.client(Kind.RESPONSE_RECEIVED, "c1", api=api, error="FENCED_INSTANCE_ID")
    tape.client(Kind.PROCESS_FAILED, "c1", error="FencedInstanceIdException")
    fenced = "Broker: Static consumer fenced by other consumer with same group.instance.id"
    whole = "\n".join(logs.render(tape.end())["c1.log"])
    words = f"[thrd:main]: Fatal error: {fenced}: Fatal consumer error: {fenced}"
    assert re.findall(r"%(\d)\|[\d.]+\|FATAL\|c#consumer-1\| (.*)", whole) == [("0", words)]
