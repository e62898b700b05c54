"""Defects of single broker releases: each shows in the releases that had it, by name in any, and in no other.

The scenes are written from the issues; the releases are those whose tags lack the fixing commit.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import frozen
from defects_table import affected_releases

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.defects import BROKER_DEFECTS, broker_defect
from groupsim.coordinator.base.versions import BASELINE, HISTORY, differences
from groupsim.coordinator.testing import Bench, offsets_of, unstable
from groupsim.protocol.messages.group import (
    HeartbeatRequest,
    HeartbeatResponse,
    OffsetCommitRequest,
    OffsetToCommit,
    TopicPartition,
)
from tests.helpers.tables_kit import COMPLETING, NEW_MEMBER_MS, STABLE, Broker, E, on_broker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
MINUTE_MS = 60_000


def _with(made: Bench, **settings: int) -> Bench:
    """The same broker with other settings."""
    return Bench(CoordinatorConfig(made.config.broker_version, made.config.defects, **settings))


def offsets_of_a_live_group_expire(made: Bench) -> bool:
    """KAFKA-4682: a member is alive, and has nothing to commit for longer than the retention."""
    made = _with(made, offsets_retention_minutes=15)
    made.stable("a", session_ms=300_000)
    made.commit_offset(5, member_id="a-1", generation=1)
    for _ in range(9):
        made.advance_ms(149_000)
        made.heartbeat("a-1", 1)
    return offsets_of(made.fetch_offsets(T0)) == {T0: -1}


def first_member_has_no_protocol(made: Bench) -> bool:
    """KAFKA-6005: a client without assignors is the first to join; an ordinary one comes after it."""
    made.join("odd", protocols=(), version=1)
    return made.join("a", version=1).responses != [] and made.sent[-1].error is E.INCONSISTENT_GROUP_PROTOCOL


def parked_newcomers_stay(made: Bench) -> bool:
    """KAFKA-7610: a newcomer waits in a round that a slow member holds open for longer than five minutes."""
    made.stable("a", rebalance_ms=900_000)
    sent = made.join("b", rebalance_ms=900_000)
    for _ in range(11):
        made.advance_ms(NEW_MEMBER_MS // 10)
        made.heartbeat("a-1", 1)
    return not sent.answered


def version_0_has_no_time(made: Bench) -> bool:
    """KAFKA-8653: a second member joins with JoinGroup v0; the first has had no time to join again."""
    made.join("a", version=0)
    made.finish_round()
    made.assign()
    made.join("b", version=0)
    made.advance_ms(1)
    return "a-1" not in [member.member_id for member in made.snapshot().members]


def two_restarts_have_one_id(made: Bench) -> bool:
    """KAFKA-8715: an instance restarts twice while its group is Stable."""
    made.join("a", instance="i")
    made.finish_round()
    made.assign()
    assert made.state == STABLE
    made.advance_ms(5_000)
    first = made.join("a", instance="i").joined.member_id
    made.advance_ms(5_000)
    return made.join("a", instance="i").joined.member_id == first


def dead_newcomer_stays(made: Bench) -> bool:
    """KAFKA-9752: a new member's client is dead before the answer to its JoinGroup."""
    made.join("a", session_ms=10_000, rebalance_ms=20_000)
    made.finish_round()
    assert made.state == COMPLETING
    return "heartbeat-g-a-1" not in made.timers()


def handed_out_ids_are_not_counted(made: Bench) -> bool:
    """KAFKA-9885: three clients are given ids in a group of two, and come back with them."""
    made = _with(made, group_max_size=2)
    given = [made.join(name, version=4) for name in ("a", "b", "c")]
    back = [made.rejoin(one) for one in given if one.error is E.MEMBER_ID_REQUIRED]
    made.finish_round()
    return [one.error for one in back].count(E.NONE) == 3


def old_id_comes_back(made: Bench) -> bool:
    """KAFKA-10284: a static member restarts in a Stable group, and then the coordinator moves."""
    made.join("a", instance="i")
    made.finish_round()
    made.assign()
    new_id = made.join("a", instance="i", fresh_id="i-99").joined.member_id
    return made.fail_over().heartbeat(new_id, 1, instance="i").error is E.FENCED_INSTANCE_ID


def retention_begins_with_the_commit(made: Bench) -> bool:
    """KAFKA-10401: a group is emptied long after its last commit, and then the coordinator moves."""
    made = _with(made, offsets_retention_minutes=15)
    made.stable("a", session_ms=300_000)
    made.commit_offset(5, member_id="a-1", generation=1)
    for _ in range(8):
        made.advance_ms(149_000)
        made.heartbeat("a-1", 1)
    made.leave("a-1")
    assert offsets_of(made.fetch_offsets(T0)) == {T0: 5}
    moved = made.fail_over()
    moved.advance_ms(601_000)
    return offsets_of(moved.fetch_offsets(T0)) == {T0: -1}


def nobody_waits_for_syncs(made: Bench) -> bool:
    """KAFKA-12890: the leader heartbeats and sends no assignment."""
    made.join("a")
    made.finish_round()
    return "sync-g" not in made.timers()


def offsets_expire_in_a_rebalance(made: Bench) -> bool:
    """KAFKA-13636: a group that was empty for some minutes is in its first round when old offsets are looked at."""
    made = _with(made, offsets_retention_minutes=15)
    made.stable("a", session_ms=300_000)
    made.commit_offset(5, member_id="a-1", generation=1)
    for _ in range(7):
        made.advance_ms(149_000)
        made.heartbeat("a-1", 1)
    made.leave("a-1")
    timer = made.shard.op.timers.get("expire-group-metadata-0")
    assert timer is not None
    made.advance_to(timer.due_us - 1_000_000)
    assert offsets_of(made.fetch_offsets(T0)) == {T0: 5}
    made.join("b")
    made.advance_ms(2_000)
    return offsets_of(made.fetch_offsets(T0)) == {T0: -1}


def first_timeouts_stay(made: Bench) -> bool:
    """KAFKA-14009: a member joins again with a rebalance timeout of its own, and a static one after a restart."""
    made.stable("a", rebalance_ms=30_000)
    made.join(member_id="a-1", rebalance_ms=300_000)
    made.finish_round()
    kept = made.snapshot().member("a-1").rebalance_timeout_ms == 30_000
    other = Bench(made.config)
    if differences(made.config.broker_version).static_members:
        other.join("a", instance="i", rebalance_ms=30_000)
        other.finish_round()
        other.assign()
        other.join("a", instance="i", rebalance_ms=300_000)
        assert (other.snapshot().members[0].rebalance_timeout_ms == 30_000) is kept
    return kept


def refused_offset_is_unstable(made: Bench) -> bool:
    """KAFKA-16371: of two offsets of a commit one has too much metadata; a stable fetch asks for that partition."""
    offsets = (OffsetToCommit(T0, 5), OffsetToCommit(T1, 5, metadata="x" * 5_000))
    made.send(OffsetCommitRequest("g", offsets, -1, "", None, -1, 7))
    left = unstable(made.fetch_offsets(T1)) == [T1]
    made.commit_offset(6, partition=1)
    assert unstable(made.fetch_offsets(T1)) == []
    return left


def load_is_not_told(made: Bench) -> bool:
    """8662a022: a member's heartbeat arrives while its group is loaded."""
    found: list[E] = []

    async def story(around: Broker) -> None:
        around.lead_all(load_us=50_000)
        response = around.ask(HeartbeatRequest("g", 1, "m"))
        assert isinstance(response, HeartbeatResponse)
        found.append(response.error)

    config = made.config
    properties = {"broker.version": config.broker_version, "broker.defects": list(config.defects)}
    on_broker(story, lead=False, properties=properties)
    assert found[0] in (E.NONE, E.NOT_COORDINATOR)
    return found[0] is E.NOT_COORDINATOR


@frozen
class Row:
    """A defect's scene, releases that had it, and releases that did not."""

    shows: Callable[[Bench], bool]
    bad: tuple[str, ...]
    good: tuple[str, ...]


ROWS = {
    "KAFKA-4682": Row(offsets_of_a_live_group_expire, ("0.9", "2.0.1"), ("2.1",)),
    "KAFKA-6005": Row(first_member_has_no_protocol, ("0.9", "0.11.0.3"), ("1.0",)),
    "KAFKA-7610": Row(parked_newcomers_stay, ("0.9", "2.1.0"), ("2.1.1", "2.2")),
    "KAFKA-8653": Row(version_0_has_no_time, ("2.3.0",), ("2.2", "2.3.1")),
    "KAFKA-8715": Row(two_restarts_have_one_id, ("2.3.0",), ("2.3.1",)),
    "KAFKA-9752": Row(dead_newcomer_stays, ("2.4.1",), ("2.4.0", "2.5")),
    "KAFKA-9885": Row(handed_out_ids_are_not_counted, ("2.2", "2.5.1"), ("2.6",)),
    "KAFKA-10284": Row(old_id_comes_back, ("2.3", "2.6.0"), ("2.6.1", "2.7")),
    "KAFKA-10401": Row(retention_begins_with_the_commit, ("2.3", "2.6.0"), ("2.2", "2.6.1")),
    "KAFKA-12890": Row(nobody_waits_for_syncs, ("0.9", "2.8.0"), ("2.8.1", "3.0")),
    "KAFKA-13636": Row(
        offsets_expire_in_a_rebalance, ("2.4", "2.8.1", "3.0.0", "3.1.0"), ("2.3", "2.8.2", "3.0.1", "3.1.1", "3.2")
    ),
    "KAFKA-14009": Row(first_timeouts_stay, ("0.9", "3.3.1"), ("3.3.2", "3.4")),
    "KAFKA-16371": Row(refused_offset_is_unstable, ("2.5", "3.7.0"), ("2.4", "3.7.1", "3.8")),
    "kafka-8662a022": Row(load_is_not_told, ("0.9", "1.1.1"), ("2.0",)),
}


@pytest.mark.parametrize("name", [pytest.param(name, id=f"old-{name}") for name in BROKER_DEFECTS])
def test_release_defect(name: str) -> None:
    """A defect shows in its releases and by name in the newest, and in no release that has its fix."""
    row = ROWS[name]

    def shown(version: str, *defects: str) -> bool:
        return row.shows(Bench(CoordinatorConfig(version, defects)))

    assert [(version, shown(version)) for version in row.bad] == [(version, True) for version in row.bad]
    good = (*row.good, BASELINE)
    assert [(version, shown(version)) for version in good] == [(version, False) for version in good]
    assert shown(BASELINE, name)


def test_affected_releases_follow_from_the_differences() -> None:
    """The ranges of a defect are those in which its differences have its values."""
    assert affected_releases(broker_defect("KAFKA-10284")) == (("2.3", "2.6.1"),)
    assert affected_releases(broker_defect("KAFKA-13636")) == (("2.4", "2.8.2"), ("3.0", "3.0.1"), ("3.1", "3.1.1"))
    assert affected_releases(broker_defect("KAFKA-4682")) == (("0.9", "2.1"),)


def test_no_defect_is_in_the_newest_release() -> None:
    """What the newest release does is no defect of a release: each changes a difference that there is."""
    newest = differences()
    for defect in BROKER_DEFECTS.values():
        assert defect.changes
        assert set(defect.changes) <= set(HISTORY)
        assert all(getattr(newest, field) is not value for field, value in defect.changes.items())


@pytest.mark.parametrize(
    ("name", "hint"), [("KAFKA-10248", "KAFKA-10284"), ("kafka-9752", "KAFKA-9752"), ("nonsense", "known are")]
)
def test_an_unknown_defect_names_the_nearest(name: str, hint: str) -> None:
    """A name that is no broker's defect is refused with the nearest one."""
    with pytest.raises(ValueError, match=f"unknown broker defect '{name}'; .*{hint}"):
        CoordinatorConfig.from_properties({"broker.defects": [name]})


def test_defects_may_be_named_in_a_properties_file() -> None:
    """`broker.defects` takes names with commas between them."""
    config = CoordinatorConfig.from_properties({"broker.defects": "KAFKA-9752, KAFKA-10284"})
    assert config.defects == ("KAFKA-9752", "KAFKA-10284")
    assert not config.differences.replacement_is_stored
