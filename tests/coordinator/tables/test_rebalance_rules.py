"""How rounds open and close: transitions (1.1), generation, leader, vote, prepare and completion (2.1-2.4, 2.6)."""

from __future__ import annotations

from itertools import product

import pytest

from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.states import TRANSITIONS, State, TransitionCause, can_rebalance, next_state
from groupsim.coordinator.classic.voting import select_protocol
from groupsim.coordinator.testing import GROUP, Bench
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.javahash import JavaHashMap
from groupsim.protocol.messages.group import DeleteGroupsRequest, JoinProtocol
from tests.helpers.tables_kit import (
    BOTH,
    CHANGED,
    COMPLETING,
    EMPTY,
    LIVE,
    PREPARING,
    REBALANCE_MS,
    SESSION_MS,
    STABLE,
    E,
    bench,
    describe,
    is_parked,
    offering,
    scene,
    subscribed,
)

# --- 1.1 transitions ---------------------------------------------------------------------------------------------

LEGAL = {
    State.PREPARING_REBALANCE: {State.EMPTY, State.STABLE, State.AWAITING_SYNC},
    State.AWAITING_SYNC: {State.PREPARING_REBALANCE},
    State.STABLE: {State.AWAITING_SYNC},
    State.EMPTY: {State.PREPARING_REBALANCE},
    State.DEAD: set(State),
}


@pytest.mark.parametrize("to", [pytest.param(s, id=f"1.1-to-{s.printed}") for s in State])
def test_legal_transitions(to: State) -> None:
    """1.1: a state can be reached from exactly the states the reference lists."""
    assert {state for state, ways in TRANSITIONS.items() if to in ways.values()} == LEGAL[to]


def test_a_way_that_is_none_is_an_illegal_state() -> None:
    """1.1: a transition that the table does not have raises, whatever the cause."""
    for state, cause in product(State, TransitionCause):
        if cause not in TRANSITIONS[state]:
            with pytest.raises(IllegalState):
                next_state(state, cause)


def test_can_rebalance() -> None:
    """1.1: a round can be opened in Empty, Stable and CompletingRebalance only."""
    assert {state for state in State if can_rebalance(state)} == {State.EMPTY, State.STABLE, State.AWAITING_SYNC}


def test_names_of_the_states() -> None:
    """1.1: the names that Kafka's tools print."""
    assert {state.printed for state in State} == {EMPTY, *LIVE, "Dead"}


def test_fresh_and_changed_groups_know_their_previous_state() -> None:
    """1.1: a new group's previous state is Dead; each change keeps the state before and the time."""
    assert GroupData("g").previous_state is State.DEAD
    made = bench()
    made.advance_ms(5)
    made.join("a")
    group = made.snapshot()
    assert (group.state, group.previous_state, group.state_us) == (PREPARING, EMPTY, 5_000)


def test_a_new_cause_never_restarts_the_join_timer() -> None:
    """1.1: in PreparingRebalance a further cause leaves the join timer where it is."""
    stage = scene(PREPARING)
    stage.bench.advance_ms(10_000)
    stage.bench.join("d", rebalance_ms=900_000)
    assert stage.bench.timers()[f"join-{GROUP}"] == REBALANCE_MS - 10_000


# --- 2.1 generation ----------------------------------------------------------------------------------------------


def test_generation_counts_completed_join_phases() -> None:
    """2.1: 0 at first, +1 at each completed join phase, with members or without; opening and syncing do not count."""
    made = bench()
    made.join("a")
    assert made.snapshot().generation == 0
    made.finish_round()
    assert made.snapshot().generation == 1
    made.assign()
    assert made.snapshot().generation == 1
    made.join(member_id="a-1")
    assert made.snapshot().generation == 2
    made.assign()
    made.leave("a-1")
    assert (made.state, made.snapshot().generation) == (EMPTY, 3)


def test_generation_goes_on_when_members_come_back() -> None:
    """2.1: an Empty group that is joined again counts on."""
    stage = scene(EMPTY)
    sent = stage.bench.join("b")
    stage.bench.finish_round()
    assert sent.joined.generation_id == 3


def test_generation_begins_at_zero_after_a_delete() -> None:
    """2.1: only deleting the group starts the count again."""
    stage = scene(EMPTY)
    stage.bench.send(DeleteGroupsRequest((GROUP,)))
    sent = stage.bench.join("b")
    stage.bench.finish_round()
    assert sent.joined.generation_id == 1


def test_failed_leader_write_does_not_count() -> None:
    """2.1: a failed write of the assignment leaves the generation; the join phase after it counts."""
    stage = scene(COMPLETING)
    stage.bench.auto_commit = False
    stage.bench.sync(stage.leader, 1, {})
    stage.bench.fail_append()
    assert stage.bench.snapshot().generation == 1
    stage.bench.join(member_id=stage.leader)
    stage.bench.join(member_id=stage.follower)
    assert stage.bench.snapshot().generation == 2


def test_completion_computes_protocol_and_subscription() -> None:
    """2.1: at completion the voted protocol and the union of subscribed topics are set, and cleared when Empty."""
    made = bench()
    made.join("a", protocols=subscribed("t", "u"))
    made.join("b", protocols=subscribed("v"))
    made.finish_round()
    group = made.snapshot()
    assert (group.protocol, group.subscribed) == ("range", ("t", "u", "v"))
    made.leave("a-1", "b-2")
    group = made.snapshot()
    assert (group.state, group.protocol, group.protocol_type) == (EMPTY, None, "consumer")
    assert (group.subscribed, group.leader, group.pending_sync) == ((), None, ())


# --- 2.2 leader --------------------------------------------------------------------------------------------------


def crowd(made: Bench, count: int) -> list[str]:
    """A stable group of this many members whose ids look like Kafka's; returned in order of joining."""
    ids = [f"consumer-g-1-{number:04x}9b2c-77aa-4c2e-9d8b-{number * 7919:012x}" for number in range(count)]
    for member_id in ids:
        made.join("consumer-g-1", fresh_id=member_id)
    made.finish_round()
    made.assign()
    return ids


def java_order(ids: list[str]) -> list[str]:
    """Java's `HashMap` order, computed the slow way: buckets of a table that doubled on its way to this size."""
    capacity = 16
    while len(ids) > capacity * 3 // 4:
        capacity *= 2

    def bucket(text: str) -> int:
        h = 0
        for unit in text.encode():
            h = (31 * h + unit) & 0xFFFFFFFF
        return (h ^ (h >> 16)) & (capacity - 1)

    return sorted(ids, key=bucket)


def test_first_member_leads() -> None:
    """2.2: the first member that is added while there is no leader leads."""
    made = bench()
    ids = crowd(made, 5)
    assert made.snapshot().leader == ids[0]


@pytest.mark.parametrize("size", [3, 12, 13, 30])
def test_successor_is_the_first_in_hashmap_order(size: int) -> None:
    """2.2: a leader that leaves is succeeded by the first remaining key in Java's HashMap order."""
    made = bench()
    ids = crowd(made, size)
    made.leave(ids[0])
    assert made.snapshot().leader == next(one for one in java_order(ids) if one != ids[0])


def test_a_succession_is_told_when_there_is_one() -> None:
    """2.2: a leader that leaves is succeeded, and the trace has it; another member that leaves changes no leader."""
    made = bench()
    ids = crowd(made, 4)
    made.leave(ids[2])
    made.leave(ids[0])
    told = [(n.member_id, n.reason, n.payload) for n in made.emitted if n.kind is Kind.LEADER_ELECTED]
    following = next(one for one in java_order(ids) if one not in (ids[0], ids[2]))
    assert told == [(ids[0], "first-member", None), (following, "succession", {"previous": ids[0]})]


@pytest.mark.parametrize("size", [2, 12, 13, 30])
def test_member_lists_are_in_hashmap_order(size: int) -> None:
    """2.2: the leader's member list, DescribeGroups and the record list members in HashMap order."""
    made = bench()
    ids = crowd(made, size)
    expected = java_order(ids)
    assert [m.member_id for m in describe(made).members] == expected
    assert [m.member_id for m in made.log[-1].value.members] == expected  # type: ignore[union-attr]
    sent = [made.join(member_id=one) for one in ids]
    assert [m.member_id for m in sent[0].joined.members] == expected


def test_absent_leader_is_replaced_by_the_first_joined() -> None:
    """2.2: at completion a static leader that did not join gives way to the first awaiting member in HashMap order."""
    made = bench()
    ids = ["lead", *[f"m{number}" for number in range(6)]]
    for number, one in enumerate(ids):
        made.join("x", instance=f"i{number}", fresh_id=one)
    made.finish_round()
    made.assign()
    joining = ids[2:]
    for one in joining:
        made.join(member_id=one, protocols=CHANGED)
    made.advance_ms(SESSION_MS - 1_000)
    for one in ids[:2]:
        made.heartbeat(one, 1)
    for _ in range(7):
        made.advance_ms(40_000)
        for one in ids[:2]:
            made.heartbeat(one, 1)
    assert made.snapshot().generation == 2
    assert made.snapshot().leader == next(one for one in java_order(ids) if one in joining)


# --- 2.3 protocol selection --------------------------------------------------------------------------------------

VOTES = [
    pytest.param([("range", "roundrobin")], "range", id="2.3-first-of-its-list"),
    pytest.param(
        [("roundrobin", "range"), ("roundrobin", "range"), ("range", "roundrobin")], "roundrobin", id="2.3-most-votes"
    ),
    pytest.param([("roundrobin", "range"), ("range",)], "range", id="2.3-only-candidates"),
    pytest.param([("roundrobin", "range"), ("range", "roundrobin")], "range", id="2.3-tie-range-over-roundrobin"),
    pytest.param(
        [("cooperative-sticky", "roundrobin"), ("roundrobin", "cooperative-sticky")],
        "roundrobin",
        id="2.3-tie-roundrobin-over-cooperative",
    ),
    pytest.param([("range", "sticky"), ("sticky", "range")], "sticky", id="2.3-tie-sticky-over-range"),
    pytest.param([("compatible", "default"), ("default", "compatible")], "compatible", id="2.3-tie-same-bucket-first"),
    pytest.param([("default", "compatible"), ("compatible", "default")], "default", id="2.3-tie-same-bucket-second"),
]


@pytest.mark.parametrize(("lists", "winner"), VOTES)
def test_vote(lists: list[tuple[str, ...]], winner: str) -> None:
    """2.3: each votes for its first candidate; most votes win; a tie goes by the HashMap order of the vote map."""
    made = bench()
    for number, names in enumerate(lists):
        made.join("m", protocols=offering(*names), fresh_id=f"m{number}")
    made.finish_round()
    assert made.snapshot().protocol == winner


@pytest.mark.parametrize(
    ("name", "bucket"),
    [
        pytest.param(name, bucket, id=f"2.3-bucket-{name}")
        for name, bucket in {
            "sticky": 8,
            "range": 9,
            "roundrobin": 10,
            "cooperative-sticky": 15,
            "default": 2,
            "compatible": 2,
            "sessioned": 15,
            "stream": 5,
        }.items()
    ],
)
def test_bucket(name: str, bucket: int) -> None:
    """2.3: the usual names lie in these buckets of a table of 16."""
    probes = {chr(number): number & 15 for number in range(64, 80)}  # one-letter keys hash to their code
    order = list(JavaHashMap([(probe, None) for probe in list(probes)[:11]] + [(name, None)]))
    before = [probes[key] for key in order[: order.index(name)]]
    after = [probes[key] for key in order[order.index(name) + 1 :]]
    assert all(number <= bucket for number in before)
    assert all(number > bucket for number in after)


def test_voting_without_members_is_illegal() -> None:
    """2.3: a vote in a group without members is an IllegalStateException."""
    with pytest.raises(IllegalState):
        select_protocol(GroupData("g"))


def test_malformed_subscription_makes_the_topics_unknown() -> None:
    """2.3: one member with unreadable metadata of the chosen protocol makes the group's topics unknown."""
    made = bench()
    made.join("a", protocols=subscribed("t"))
    made.join("b", protocols=(JoinProtocol("range", b"\x00"),))
    made.finish_round()
    assert made.snapshot().subscribed is None


def test_other_protocol_types_have_no_topics() -> None:
    """2.3: subscribed topics are read for the consumer protocol alone."""
    made = bench()
    made.join("a", protocol_type="connect", protocols=subscribed("t"))
    made.finish_round()
    assert made.snapshot().subscribed is None


# --- 2.4 prepare -------------------------------------------------------------------------------------------------


def test_prepare_takes_assignments_back() -> None:
    """2.4: from CompletingRebalance all assignments are emptied, parked syncs sent back, their sessions refreshed."""
    stage = scene(STABLE)
    stage.bench.join(member_id=stage.leader)
    stage.bench.join(member_id=stage.follower)
    assert stage.bench.state == COMPLETING
    waiting = stage.bench.sync(stage.follower, 2)
    stage.bench.advance_ms(10_000)
    stage.bench.join("c")
    assert waiting.synced.error is E.REBALANCE_IN_PROGRESS
    assert {m.assignment for m in stage.bench.snapshot().members} == {b""}
    assert stage.deadline_ms(stage.follower) == SESSION_MS
    assert stage.deadline_ms(stage.leader) == SESSION_MS - 10_000


def test_prepare_keeps_assignments_of_a_stable_group() -> None:
    """2.4: from Stable the assignments stay as they are until the next leader's are stored."""
    stage = scene(PREPARING)
    assert stage.member(stage.leader).assignment == stage.leader.encode()


def test_prepare_completes_at_once_when_all_have_joined() -> None:
    """2.4: a round that nobody is missing from closes in the same moment."""
    made = bench()
    (only,) = made.stable("a")
    assert made.join(member_id=only).joined.generation_id == 2


def test_join_timer_is_the_longest_rebalance_timeout_at_that_moment() -> None:
    """2.4: the join timer takes the largest rebalance timeout when the round opens; later changes do not count."""
    made = bench()
    made.stable("a", rebalance_ms=20_000)
    made.join("b", rebalance_ms=70_000)
    assert made.timers()[f"join-{GROUP}"] == 70_000
    made.join("c", rebalance_ms=90_000)
    assert made.timers()[f"join-{GROUP}"] == 70_000


def test_a_rebalance_timeout_below_zero_counts_as_none() -> None:
    """2.4: the largest rebalance timeout is looked for from 0 upwards, so no timer is set into the past."""
    made = bench()
    (leader,) = made.stable("a")
    made.join(member_id=leader, rebalance_ms=-5)
    assert made.timers()[f"sync-{GROUP}"] == 0


@pytest.mark.parametrize(
    ("version", "timeout_ms"),
    [pytest.param(0, 11_000, id="2.4-rebalance-timeout-v0"), pytest.param(1, 60_000, id="2.4-rebalance-timeout-v1")],
)
def test_rebalance_timeout_by_version(version: int, timeout_ms: int) -> None:
    """2.4: JoinGroup v0 has the session timeout for its rebalance timeout, v1+ its own."""
    made = bench()
    made.join("a", session_ms=11_000, rebalance_ms=60_000, version=version)
    assert made.snapshot().members[0].rebalance_timeout_ms == timeout_ms


# --- 2.6 completion ----------------------------------------------------------------------------------------------


def test_completion_removes_absent_dynamic_members() -> None:
    """2.6: when the join timer fires dynamic members that did not join are out, with their session timers."""
    made = bench()
    made.stable("a", "b", session_ms=60_000, rebalance_ms=50_000)
    sent = made.join(member_id="b-2", protocols=CHANGED, session_ms=60_000, rebalance_ms=50_000)
    made.advance_ms(50_000)
    assert sent.joined.generation_id == 2
    assert sent.joined.leader == "b-2"
    assert [m.member_id for m in made.snapshot().members] == ["b-2"]
    assert "heartbeat-g-a-1" not in made.timers()


def test_completion_with_absent_static_members_only_waits_on() -> None:
    """2.6: if only absent static members remain the join timer starts again, until their sessions remove them."""
    made = bench()
    made.join("a", instance="a", rebalance_ms=10_000)
    made.join("d", rebalance_ms=10_000)
    made.finish_round()
    made.assign()
    made.leave("d-2")
    assert made.state == PREPARING
    made.advance_ms(10_000)
    assert (made.state, made.snapshot().generation) == (PREPARING, 1)
    assert made.timers()[f"join-{GROUP}"] == 10_000
    made.advance_ms(SESSION_MS - 10_000)
    assert (made.state, made.snapshot().generation) == (EMPTY, 2)


@pytest.mark.parametrize("rebalance_ms", [0, -1])
def test_a_round_without_a_timeout_is_looked_at_again_and_again(rebalance_ms: int) -> None:
    """2.6: with a rebalance timeout of 0, or below, a round that absent static members hold up is looked at each ms."""
    made = bench()
    made.join("a", instance="a", rebalance_ms=rebalance_ms)
    made.join("d")
    made.finish_round()
    made.assign()
    made.leave("d-2")
    looks = len(made.timer_events)
    made.advance_ms(10)
    assert made.state == PREPARING
    assert len(made.timer_events) == looks + 11


def test_completion_without_members() -> None:
    """2.6: no members: Empty, generation + 1, one record without members; a failed write is only noted."""
    made = bench()
    made.stable("a")
    made.auto_commit = False
    made.leave("a-1")
    (append,) = made.in_flight
    (record,) = append.records
    assert (record.value.generation, record.value.members) == (2, ())  # type: ignore[union-attr]
    made.fail_append()
    assert (made.state, made.snapshot().generation) == (EMPTY, 2)


def test_completion_with_members() -> None:
    """2.6: the parked are answered, the leader alone with members; sessions, pending sync, sync timer are set."""
    stage = scene(PREPARING)
    stage.bench.advance_ms(10_000)
    sent = [stage.bench.join(member_id=one) for one in (stage.follower, stage.leader)]
    assert [one.joined.error for one in sent] == [E.NONE, E.NONE]
    assert [len(one.joined.members) for one in sent] == [0, 3]
    group = stage.bench.snapshot()
    assert {m.member_id for m in group.members} == set(group.pending_sync)
    assert not any(m.is_new for m in group.members)
    assert {stage.deadline_ms(m.member_id) for m in group.members} == {SESSION_MS}
    assert stage.bench.timers()[f"sync-{GROUP}"] == REBALANCE_MS
    assert f"join-{GROUP}" not in stage.bench.timers()


def test_pending_ids_outlive_the_completion() -> None:
    """2.6: completion leaves pending ids alone; they block the early end of the next round as well."""
    made = bench()
    made.stable("a", "b", rebalance_ms=20_000, protocols=BOTH)
    pending = made.join("x", version=4, protocols=BOTH).joined.member_id
    for _ in range(2):
        sent = [made.join(member_id=one, protocols=BOTH, rebalance_ms=20_000) for one in ("a-1", "b-2")]
        assert is_parked(sent[0])
        made.advance_ms(20_000)
        assert sent[0].answered
        assert made.snapshot().pending_join == (pending,)
        made.assign()
