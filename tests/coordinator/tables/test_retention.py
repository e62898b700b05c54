"""Offset expiry, empty groups and group tombstones (2.12, KIP-211)."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.records import GroupRecord, OffsetRecord
from groupsim.coordinator.testing import Bench, offsets_of
from groupsim.protocol.messages.group import TopicPartition
from tests.helpers.tables_kit import EMPTY, PREPARING, STABLE, E, bench, broker, listed, scene, subscribed

T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)
CHECK_MS = 600_000
RETENTION_MS = 7 * 24 * 3_600_000
SHORT = {"offsets.retention.minutes": 30}
SHORT_MS = 30 * 60_000
LONG_LIVED = {"session_ms": 1_800_000}


def alive(made: Bench, duration_ms: int, member: str, generation: int = 1) -> None:
    """Let time pass while the member heartbeats."""
    for _ in range(duration_ms // CHECK_MS):
        made.advance_ms(CHECK_MS)
        assert made.heartbeat(member, generation).error is E.NONE


def offset(made: Bench, partition: TopicPartition = T0) -> int:
    """The committed offset, -1 for none."""
    return offsets_of(made.fetch_offsets(partition))[partition]


def test_defaults() -> None:
    """2.12: a look every 10 minutes, 7 days of retention."""
    config = bench().config
    assert config.offsets_retention_check_interval_ms == CHECK_MS
    assert 60_000 * config.offsets_retention_minutes == RETENTION_MS


def test_empty_group_counts_from_when_it_became_empty() -> None:
    """2.12: protocolType set, Empty: the retention runs from the change to Empty, not from the commit."""
    made = bench(SHORT)
    (member,) = made.stable("a", **LONG_LIVED)
    made.commit_offset(5, member_id=member, generation=1)
    alive(made, 6 * CHECK_MS, member)
    made.leave(member)
    emptied_ms = made.now_us // 1_000
    made.advance_to(1_000 * (emptied_ms + SHORT_MS - 1))
    assert offset(made) == 5
    made.advance_ms(CHECK_MS + 1)
    assert offset(made) == -1


def test_comparison_is_at_least() -> None:
    """2.12: an offset is due when now - base >= retention, to the millisecond of the look."""
    made = bench({"offsets.retention.minutes": 10})
    made.commit_offset(5)
    made.advance_ms(CHECK_MS)
    assert offset(made) == -1
    later = bench({"offsets.retention.minutes": 10})
    later.join("keeps", group="h")
    later.advance_ms(1)
    later.commit_offset(5)
    later.advance_ms(CHECK_MS - 1)
    assert offset(later) == 5


def test_stable_consumers_lose_topics_nobody_subscribes() -> None:
    """2.12: consumer type, Stable, subscription known: unsubscribed topics count from their commit; others stay."""
    made = bench(SHORT)
    (member,) = made.stable("a", protocols=subscribed("t"), **LONG_LIVED)
    made.commit_offset(5, member_id=member, generation=1)
    made.commit_offset(6, member_id=member, generation=1, topic="u")
    alive(made, SHORT_MS + CHECK_MS, member)
    assert (offset(made), offset(made, U0)) == (5, -1)
    assert made.state == STABLE


@pytest.mark.parametrize(
    "join",
    [
        pytest.param({}, id="2.12-Stable-subscription-unknown"),
        pytest.param({"protocol_type": "connect"}, id="2.12-Stable-other-type"),
    ],
)
def test_stable_groups_that_cannot_be_read_keep_everything(join: dict[str, object]) -> None:
    """2.12: Stable with unknown subscription, or not of the consumer type: nothing expires."""
    made = bench(SHORT)
    (member,) = made.stable("a", **LONG_LIVED, **join)
    made.commit_offset(5, member_id=member, generation=1)
    alive(made, SHORT_MS + CHECK_MS, member)
    assert offset(made) == 5


def test_nothing_expires_during_a_rebalance() -> None:
    """2.12: in PreparingRebalance nothing expires, not even unsubscribed topics."""
    made = bench(SHORT)
    (member,) = made.stable("a", protocols=subscribed("t"), rebalance_ms=10_000_000, **LONG_LIVED)
    made.commit_offset(6, member_id=member, generation=1, topic="u")
    made.join("x", version=4, protocols=subscribed("t"), session_ms=1_800_000)
    made.join(member_id=member, protocols=subscribed("t"), rebalance_ms=10_000_000, **LONG_LIVED)  # type: ignore[arg-type]
    made.advance_ms(1_799_000)
    for _ in range(3):
        made.join("y", version=4, protocols=subscribed("t"), session_ms=1_800_000)
        made.advance_ms(CHECK_MS)
    assert made.state == PREPARING
    assert offset(made, U0) == 6


def test_simple_group_counts_from_the_commit() -> None:
    """2.12: without a protocol type (never joined) each offset counts from its own commit."""
    made = bench(SHORT)
    made.commit_offset(5)
    made.advance_ms(2 * CHECK_MS)
    made.commit_offset(6, topic="u")
    made.advance_ms(CHECK_MS)
    assert (offset(made), offset(made, U0)) == (-1, 6)


def test_created_but_never_joined_counts_from_the_commit() -> None:
    """2.12: a group that only handed out ids has no protocol type either."""
    made = bench(SHORT)
    made.join("a", version=4, session_ms=1_000_000)
    made.advance_ms(1_000)
    made.commit_offset(5)
    made.advance_ms(3 * CHECK_MS - 1_000)
    assert offset(made) == 5
    made.advance_ms(CHECK_MS)
    assert offset(made) == -1


def test_explicit_expiry_wins() -> None:
    """2.12: a commit of v2-4 with a retention expires at its own time, now >= it, whatever the broker's retention."""
    made = bench()
    made.commit_offset(5, version=2, retention_ms=CHECK_MS)
    made.commit_offset(6, version=2, retention_ms=CHECK_MS + 1, topic="u")
    made.advance_ms(CHECK_MS)
    assert (offset(made), offset(made, U0)) == (-1, 6)


def test_group_goes_with_its_last_offset() -> None:
    """2.12: all offsets gone and the group Empty: one look writes both tombstones."""
    made = bench({"offsets.retention.minutes": 10})
    made.commit_offset(5)
    written = len(made.log)
    made.advance_ms(CHECK_MS)
    assert made.log[written:] == [OffsetRecord("g", T0, None), GroupRecord("g", None)]
    assert made.shard.snapshot("g") is None


def test_empty_group_without_offsets_vanishes_at_the_next_look() -> None:
    """2.12: an offset-less Empty group is deleted within ten minutes, and its generation begins at 0 again."""
    made = scene(EMPTY).bench
    assert made.snapshot().generation == 2
    made.advance_ms(CHECK_MS)
    assert made.shard.snapshot("g") is None
    sent = made.join("b")
    made.finish_round()
    assert sent.joined.generation_id == 1


def test_pending_ids_go_with_the_group() -> None:
    """2.12: pending ids do not keep an Empty group; their second JoinGroup is answered UNKNOWN_MEMBER_ID."""
    made = bench()
    fresh = made.join("a", version=4, session_ms=1_800_000).joined.member_id
    made.advance_ms(CHECK_MS)
    assert made.shard.snapshot("g") is None
    assert made.join("a", member_id=fresh, version=4).error is E.UNKNOWN_MEMBER_ID
    assert not [name for name in made.timers() if name.startswith("heartbeat")]


def test_live_groups_are_never_deleted() -> None:
    """2.12: Stable and PreparingRebalance groups without offsets stay."""
    made = bench()
    (member,) = made.stable("a", **LONG_LIVED)
    alive(made, 2 * CHECK_MS, member)
    assert listed(made) == [("g", "consumer", STABLE)]


def test_time_of_becoming_empty_survives_a_fail_over() -> None:
    """2.12: the record carries the time of the state, so a fail-over does not prolong the retention."""
    made = bench(SHORT)
    (member,) = made.stable("a")
    made.commit_offset(5, member_id=member, generation=1)
    made.leave(member)
    emptied_us = made.now_us
    made.advance_ms(2 * CHECK_MS)
    after = made.fail_over()
    assert after.snapshot().state_us == emptied_us
    after.advance_ms(CHECK_MS)
    assert offset(after) == -1


def test_first_look_is_one_interval_after_the_load() -> None:
    """2.12: the first look comes one interval after the load, the next ones at whole intervals."""
    made = bench({"offsets.retention.minutes": 1}, now_us=7_000_000)
    made.advance_ms(1_000)
    made.commit_offset(5)
    made.advance_ms(CHECK_MS - 1_001)
    assert offset(made) == 5
    made.advance_ms(1)
    assert offset(made) == -1


def test_failed_tombstones_are_tried_again() -> None:
    """2.11: an expiry whose write fails is taken back and tried at the next look."""
    made = bench({"offsets.retention.minutes": 10})
    made.commit_offset(5)
    made.auto_commit = False
    made.advance_ms(CHECK_MS)
    made.fail_append()
    assert made.state == EMPTY
    made.auto_commit = True
    made.advance_ms(CHECK_MS)
    assert made.shard.snapshot("g") is None


@pytest.mark.parametrize("state", [pytest.param(s, id=f"2.12-topic-deleted-{s}") for s in (EMPTY, STABLE)])
def test_deleted_topics_take_their_offsets(state: str) -> None:
    """2.12: deleting a topic removes its committed offsets, whatever the group's state."""
    stage = scene(state)
    who = {"member_id": stage.leader, "generation": 1} if state == STABLE else {}
    for topic in ("t", "u"):
        stage.bench.commit_offset(5, topic=topic, **who)  # type: ignore[arg-type]
    stage.bench.carry_out(stage.bench.shard.topic_deleted("t", stage.bench.now_us))
    assert (offset(stage.bench), offset(stage.bench, U0)) == (-1, 5)


def test_before_kip_211_the_commit_counts() -> None:
    """2.12 before 2.1: an Empty group's offsets count from their commit, so an idle group loses them early."""
    made = Bench(broker("2.0").config)
    (member,) = made.stable("a", session_ms=300_000)
    made.commit_offset(5, member_id=member, generation=1)
    for _ in range(7 * 24 * 12 + 3):
        made.advance_ms(300_000 - 1)
        made.heartbeat(member, 1)
    made.advance_ms(CHECK_MS)
    assert offset(made) == -1
