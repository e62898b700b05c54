"""Expectations on a constructed trace: one case that holds and one that fails for each."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.registry import CHECKS, Finding
from groupsim.scenarios.loading.converters import structure_check

SECOND = 1_000_000
#: Tested on runs: invariants, and (`test_consumer_checks.py`) what goes by the records of a consumer group.
APART = {"invariant", "group-epoch", "assignment-epoch", "member-state"}
PREPARING, COMPLETING, STABLE = "PreparingRebalance", "CompletingRebalance", "Stable"


class RecordContext:
    """A constructed trace: `at` sets the time, `add` appends an event."""

    def __init__(self) -> None:
        self.events: list[TraceEvent] = []
        self.now_us = 0

    def at(self, seconds: float) -> RecordContext:
        """Later events happen then."""
        self.now_us = int(seconds * SECOND)
        return self

    def add(self, kind: Kind, **columns: Any) -> RecordContext:
        """Append an event."""
        self.events.append(TraceEvent(len(self.events) + 1, self.now_us, kind, **columns))
        return self

    def state(self, from_: str, to: str, generation: int) -> RecordContext:
        """The group changes its state."""
        return self.add(Kind.GROUP_STATE, host="broker-0", group="g", from_=from_, to=to, generation=generation)

    def owns(self, host: str, *partitions: int) -> RecordContext:
        """A member takes partitions of t."""
        for number in partitions:
            self.add(Kind.PARTITION_OWNED, host=host, group="g", member=f"{host}-id", topic="t", partition=number)
        return self

    def gives(self, host: str, *partitions: int) -> RecordContext:
        """A member releases partitions of t."""
        for number in partitions:
            self.add(
                Kind.PARTITION_RELEASED,
                host=host,
                group="g",
                member=f"{host}-id",
                topic="t",
                partition=number,
                reason="revoked",
            )
        return self

    def positioned(self, host: str, partition: int) -> RecordContext:
        """A member sets its position."""
        return self.add(
            Kind.POSITION_SET,
            host=host,
            group="g",
            member=f"{host}-id",
            topic="t",
            partition=partition,
            payload={"offset": 0},
        )

    def delivers(self, host: str, partition: int, base: int, count: int) -> RecordContext:
        """A member gets records of t."""
        payload = {"base": base, "count": count}
        return self.add(
            Kind.RECORDS_DELIVERED,
            host=host,
            group="g",
            member=f"{host}-id",
            topic="t",
            partition=partition,
            payload=payload,
        )


def story() -> RecordContext:
    """Two members; a forms the group at 3 s, b joins at 10 s and takes t-1 over; a stale commit at 20 s."""
    context = RecordContext()
    context.add(Kind.RUN_STARTED, payload={"scenario": "s", "seed": 0, "topics": {"t": 2}, "groups": {"g": ["t"]}})
    for host in ("a", "b"):
        context.add(Kind.PROCESS_STARTED, host=host, group="g", payload={"client_id": host, "profile": "java-3.9"})
    context.at(0.1).add(Kind.MEMBER_ADDED, host="broker-0", group="g", member="a-id", payload={"client_host": "/a"})
    context.state("Empty", PREPARING, 0)
    context.at(3).state(PREPARING, COMPLETING, 1).at(3.1).state(COMPLETING, STABLE, 1).owns("a", 0, 1)
    context.positioned("a", 0).positioned("a", 1)
    context.at(5).delivers("a", 0, 0, 10).delivers("a", 1, 0, 10)
    context.at(10).add(Kind.MEMBER_ADDED, host="broker-0", group="g", member="b-id", payload={"client_host": "/b"})
    context.state(STABLE, PREPARING, 1).at(11).gives("a", 0, 1)
    context.at(12).state(PREPARING, COMPLETING, 2).at(12.5).state(COMPLETING, STABLE, 2).owns("a", 0).owns("b", 1)
    context.at(13).positioned("a", 0).positioned("b", 1)
    context.at(14).delivers("a", 0, 10, 5).delivers("b", 1, 8, 4).delivers("b", 1, 20, 2)
    context.at(20).add(
        Kind.RESPONSE_SENT, host="broker-0", group="g", member="a-id", api="OffsetCommit", error="ILLEGAL_GENERATION"
    )
    context.at(30).add(Kind.LOG_ENDS, payload={"ends": {"t-0": [0, 20, 20], "t-1": [0, 25, 25]}})
    fetched = {"a": {"sent": 9, "empty": 4, "waited_us": 2 * SECOND}, "b": {"sent": 3, "empty": 0, "waited_us": 0}}
    return context.add(Kind.RUN_ENDED, payload={"heartbeats": {}, "fetches": fetched})


def judge(name: str, value: Any, context: RecordContext | None = None) -> Finding:
    """Return the finding of a check."""
    return structure_check(name, value).judge(Evidence((context or story()).events))


HOLD = [
    ("generations", 2),
    ("generations", {"is": 1, "at": "11s"}),
    ("generations", {"is": 0, "at": "0s"}),
    ("rebalances", 1),
    ("state", "Stable"),
    ("state", {"is": PREPARING, "at": "10s"}),
    ("state", {"is": "Dead", "at": "0s"}),
    ("members", 2),
    ("members", {"is": 1, "at": "9s"}),
    ("owner", {"partition": "t-1", "is": "b"}),
    ("owner", {"partition": "t-1", "is": "a", "at": "5s"}),
    ("owner", {"partition": "t-1", "is": "nobody", "at": "11.5s"}),
    ("every-partition-owned", "end"),
    ("no-two-owners", True),
    ("owned-twice", "<= 0s"),
    ("assignment", {"is": {"a": ["t-0"], "b": ["t-1"]}}),
    ("assignment", {"is": {"b": []}, "at": "5s"}),
    ("load", {"is": {"a": 1, "b": "<= 1"}}),
    ("moved", 1),
    ("moved", {"is": 0, "before": "9s"}),
    ("stopped", ">= 1s"),
    ("duplicates", 2),
    ("lost", 8),
    ("not-produced", 0),
    ("order", None),
    ("order", {"partition": "t-1", "group": "g"}),
    ("records", {"written": 45, "delivered-once": 27, "delivered-again": 2, "never-delivered": 8, "waiting": "<= 8"}),
    ("records", {"never-delivered": 0, "older": 0, "waiting": 5, "lost": 0, "partition": "t-0"}),
    ("lag", 45),
    ("lag", {"is": 25, "at": "max", "partition": "t-1"}),
    ("lag", {"is": "40..45", "at": "5s", "topic": "t"}),
    ("fetches", {"sent": 12, "empty": 4, "waited": "2s", "group": "g"}),
    ("fetches", {"sent": ">= 3", "empty": 0, "waited": 0, "member": "b"}),
    ("gap", "2s"),
    ("gap", {"is": "<= 2s", "partition": "t-0"}),
    ("converges", "13s"),
    ("error", {"is": "ILLEGAL_GENERATION", "count": 1}),
    ("error", {"is": "ILLEGAL_GENERATION", "api": "OffsetCommit", "member": "a"}),
    ("error", {"is": "ILLEGAL_GENERATION", "member": "b", "count": 0}),
    ("rebalance", {"to": 2, "took": "2.5s", "by": "b"}),
    ("event", {"kind": "group.state", "to": STABLE, "count": 2}),
    ("event", {"kind": "partition.owned", "member": "b", "partition": 1}),
    ("event", {"kind": "run.started", "payload": {"seed": 0}}),
    ("time-between", {"from": {"to": PREPARING, "nth": 2}, "to": {"to": STABLE}, "is": "2.5s ± 1ms"}),
    ("period", {"of": {"kind": "records.delivered", "host": "a", "partition": 0}, "is": "9s", "count": 2}),
    ("spread", {"of": {"kind": "partition.owned", "after": "4s"}, "is": "0", "count": 2}),
]

# (check, value, what the finding shows)
FAIL = [
    ("generations", 3, "2"),
    ("rebalances", 0, "1"),
    ("state", PREPARING, "Stable since 12.500 s"),
    ("state", {"is": STABLE, "at": "0s"}, "no such group yet"),
    ("members", 1, "2"),
    ("owner", {"partition": "t-1", "is": "a"}, "b"),
    ("owned-twice", ">= 1s", "0"),
    ("every-partition-owned", "11.5s", "t-0: no owner; t-1: no owner"),
    ("assignment", {"is": {"a": ["t-0", "t-1"]}}, "a: t-0"),
    ("load", {"is": {"b": 2}}, "b 1"),
    ("moved", 0, "1 (t-1 a→b)"),
    ("stopped", "<= 1s", " s"),
    ("duplicates", 0, "2"),
    ("lost", 0, "8 (t-1: offsets 12 to 19)"),
    ("not-produced", 1, "0"),
    ("order", {"topic": "u"}, "no record was delivered"),
    ("records", {"delivered-again": 0, "waiting": 8}, "delivered again 2, waiting 8; most of delivered again in t-1"),
    ("records", {"skipped": 0, "partition": "t-9"}, "there are no such records"),
    ("lag", {"is": 0, "at": "max"}, "45"),
    ("lag", {"is": 0, "topic": "u"}, "there is no such log"),
    ("fetches", {"empty": "<= 3", "member": "a"}, "9 sent, 4 empty, waited 2.000 s"),
    ("fetches", {"sent": 0, "member": "x"}, "no such process sent any"),
    ("gap", "<= 1s", "t-0 without a consumer for 2.000 s, until 13.000 s"),
    ("gap", {"is": 0, "partition": "t-9"}, "no such partition"),
    ("converges", "5s", "PreparingRebalance at 10.000 s"),
    ("converges", "0s", "PreparingRebalance at 0.100 s"),
    ("error", {"is": "UNKNOWN_MEMBER_ID"}, "0"),
    ("rebalance", {"to": 2, "by": "a"}, "by b"),
    ("rebalance", {"to": 7, "by": "a"}, "there was none"),
    ("event", {"kind": "member.removed"}, "0"),
    ("time-between", {"from": {"to": PREPARING}, "to": {"to": STABLE}, "is": "1s"}, "3.000 s"),
    ("time-between", {"from": {"to": "Dead"}, "to": {"to": STABLE}, "is": "1s"}, "there is no any event (to Dead)"),
    ("time-between", {"from": {"to": STABLE}, "to": {"to": "Dead"}, "is": "1s"}, "after that"),
    ("period", {"of": {"kind": "records.delivered", "host": "a"}, "is": "9s"}, "0.000 s once"),
    ("period", {"of": {"kind": "member.removed"}, "is": "9s"}, "0 times"),
    ("spread", {"of": {"kind": "records.delivered"}, "is": "<= 1s"}, "5 within 9.000 s"),
    ("spread", {"of": {"kind": "member.removed"}, "is": "<= 1s"}, "0 of them"),
]


@pytest.mark.parametrize(("name", "value"), HOLD, ids=str)
def test_a_check_that_holds(name: str, value: Any) -> None:
    """Each check holds in its first case."""
    finding = judge(name, value)
    assert finding.holds, finding


@pytest.mark.parametrize(("name", "value", "found"), FAIL, ids=str)
def test_a_check_that_fails_says_what_was_found(name: str, value: Any, found: str) -> None:
    """Each check fails in its other cases, and shows the expected and the found value."""
    finding = judge(name, value)
    assert not finding.holds
    assert found in finding.found
    assert finding.expected


def test_every_check_is_tested_both_ways() -> None:
    """Every expectation has a case that holds and one that fails; those of APART have tests of their own."""
    assert {name for name, _ in HOLD} | APART == set(CHECKS)
    assert {name for name, *_ in FAIL} | {"no-two-owners"} | APART == set(CHECKS)


def test_two_owners_are_found_with_partition_and_time() -> None:
    """An old owner that does not know of its removal is named beside the new one."""
    context = story().at(26).owns("b", 0).at(30)
    finding = judge("no-two-owners", True, context.add(Kind.RUN_ENDED, payload={}))
    assert not finding.holds
    assert (finding.t_us, "t-0: b while a held it") == (26 * SECOND, finding.found[:22])


def test_time_with_two_owners_is_added_up() -> None:
    """The time counts from the second owner's begin to the first one's end, or the run's, for each partition."""
    context = (
        story().at(24).owns("b", 0).at(26).gives("a", 0).at(27).owns("a", 1).at(30).add(Kind.RUN_ENDED, payload={})
    )
    assert judge("owned-twice", "5s", context).found == "5.000 s"


def test_two_owners_before_a_time_can_be_left_out() -> None:
    """`after` ignores overlaps that were over by then."""
    context = story().at(26).owns("b", 0).gives("a", 0).at(30).add(Kind.RUN_ENDED, payload={})
    assert judge("no-two-owners", {"after": "27s"}, context).holds


def test_a_finding_points_at_events() -> None:
    """The finding has the time and seq of the event that decides."""
    finding = judge("error", {"is": "ILLEGAL_GENERATION", "count": 0})
    event = story().events[finding.seqs[0] - 1]
    assert (finding.t_us, event.error) == (20 * SECOND, "ILLEGAL_GENERATION")


def test_records_that_differ_point_at_the_deliveries_that_repeated_them() -> None:
    """The events are those of the partition with the largest wrong figure."""
    finding = judge("records", {"delivered-again": 0})
    found_events = [story().events[seq - 1] for seq in finding.seqs]
    assert [(e.kind, e.partition, (e.payload or {})["base"]) for e in found_events] == [(Kind.RECORDS_DELIVERED, 1, 8)]


@pytest.mark.parametrize(("name", "value"), [("records", {"lost": 0}), ("lag", 0)])
def test_a_trace_without_log_ends_cannot_say_what_became_of_records(name: str, value: Any) -> None:
    """A trace without log ends fails the expectation; it does not count as without loss."""
    context = RecordContext()
    context.events = [event for event in story().events if event.kind is not Kind.LOG_ENDS]
    finding = judge(name, value, context)
    assert (finding.holds, finding.found) == (False, "the trace does not say where the logs end")


def test_a_group_that_was_loaded_is_stable_again() -> None:
    """The state Dead at the old coordinator is not the group's state once the new one has loaded it."""
    context = story().at(22).state(STABLE, "Dead", 2)
    context.at(23).add(
        Kind.GROUP_LOADED, host="broker-1", group="g", generation=2, payload={"members": 2, "generation": 2}
    )
    context.at(30).add(Kind.RUN_ENDED, payload={})
    assert judge("state", {"is": "Dead", "at": "22s"}, context).holds
    assert judge("state", STABLE, context).holds


def test_records_that_no_log_took_are_counted_by_topic() -> None:
    """The records that producers gave up are summed over all topics or one; the finding names the largest producer."""
    context = story().at(29)
    for host, topic, records in (("p1", "t", 3), ("p2", "t", 4), ("p2", "other", 20)):
        context.add(
            Kind.PRODUCE_FAILED, host=host, topic=topic, error="NOT_ENOUGH_REPLICAS", payload={"count": records}
        )
    context.at(30).add(Kind.RUN_ENDED, payload={})
    assert judge("not-produced", 0).holds
    assert judge("not-produced", 27, context).holds
    finding = judge("not-produced", {"is": "<= 6", "topic": "t"}, context)
    assert (finding.holds, finding.t_us) == (False, 29 * SECOND)
    assert finding.found == "7; most by p2 in t (NOT_ENOUGH_REPLICAS)"


def test_what_is_read_again_keeps_the_order() -> None:
    """A reader whose position is set back begins there; the group had received these records."""
    context = story().at(21).positioned("b", 1).delivers("b", 1, 0, 12).delivers("b", 1, 20, 5)
    assert judge("order", None, context).holds


def test_a_reader_that_goes_back_by_itself_breaks_the_order() -> None:
    """Without a set position, a reader continues after its last record."""
    context = story().at(21).delivers("b", 1, 5, 4)
    finding = judge("order", None, context)
    assert (finding.holds, finding.t_us) == (False, 21 * SECOND)
    assert finding.found == "t-1: b got offset 5 after 21, at 21.000 s"
    assert judge("order", {"partition": "t-0"}, context).holds


def test_a_record_that_comes_first_after_a_later_one_breaks_the_order() -> None:
    """Another reader receives records that the group had passed: they come too late for the group."""
    context = story().at(21).positioned("a", 1).delivers("a", 1, 10, 6)
    finding = judge("order", {"topic": "t"}, context)
    assert not finding.holds
    assert finding.found == "t-1: a got offset 12 after 21, at 21.000 s"


def test_groups_have_an_order_each() -> None:
    """The deliveries to one group do not count for another."""
    context = RecordContext()
    for group, base in (("g", 10), ("h", 0)):
        columns = {"host": "a", "group": group, "topic": "t", "partition": 0}
        context.add(Kind.RECORDS_DELIVERED, payload={"base": base, "count": 5}, **columns)
    assert judge("order", None, context.add(Kind.RUN_ENDED, payload={})).holds
