"""Settings, versions, placement."""

from __future__ import annotations

import pytest

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.coordinator.base.config import BROKER_KEYS, CoordinatorConfig
from groupsim.coordinator.base.placement import partition_for
from groupsim.coordinator.base.versions import HISTORY, differences, parse_version
from groupsim.coordinator.testing import Bench, offsets_of
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import TopicPartition


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [("", 0), ("group-id", 13), ("my-group", 12), ("test", 48), ("foo", 24), ("polygenelubricants", 0)],
)
def test_groups_are_placed_as_kafka_places_them(group_id: str, partition: int) -> None:
    """Java's string hash, made positive, modulo fifty."""
    assert partition_for(group_id) == partition


def test_settings_are_read_under_kafkas_names() -> None:
    """Numbers may be text; defaults follow the broker's version."""
    config = CoordinatorConfig.from_properties({"group.initial.rebalance.delay.ms": "0", "broker.version": "2.2"})
    assert config == CoordinatorConfig("2.2", initial_rebalance_delay_ms=0)
    assert (config.max_session_timeout_ms, CoordinatorConfig().max_session_timeout_ms) == (300_000, 1_800_000)
    assert CoordinatorConfig("1.1").offsets_retention_minutes == 1_440
    names = {key.attribute for key in BROKER_KEYS.values()}
    assert names | {"broker_version", "defects"} == {
        field for field in CoordinatorConfig.__slots__ if not field.startswith("__")
    }


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"group.max.sise": 3}, "did you mean group.max.size"),
        ({"group.max.size": "many"}, "whole number"),
        ({"group.max.size": 0}, "at least 1"),
        ({"group.max.size": 2**31}, "at most 2147483647"),
        ({"group.max.size": True}, "whole number"),
        ({"broker.version": "new"}, "not a Kafka version"),
        ({"broker.version": "0.8.2"}, "write 0.9 or newer"),
    ],
)
def test_a_bad_setting_is_refused_with_the_remedy(properties: dict[str, object], message: str) -> None:
    """Unknown names, wrong types and impossible values raise ValueError."""
    with pytest.raises(ValueError, match=message):
        CoordinatorConfig.from_properties(properties)


@pytest.mark.parametrize("config", [CoordinatorConfig, ClusterConfig])
def test_a_setting_that_is_not_modelled_is_refused_with_what_holds(
    config: type[CoordinatorConfig] | type[ClusterConfig],
) -> None:
    """A setting of old coordinators without effect here is known, and the error says what holds in its place."""
    with pytest.raises(ValueError, match=r"required\.acks is not modelled: .* append with its default, -1"):
        config.from_properties({"offsets.commit.required.acks": 1})


def test_every_difference_has_a_history_that_ends_at_the_baseline() -> None:
    """The table names every difference, in order, and its last value is the baseline's."""
    baseline = differences()
    assert set(HISTORY) == {name for name in type(baseline).__slots__ if not name.startswith("__")}
    for name, steps in HISTORY.items():
        assert steps[-1][1] == getattr(baseline, name)
        versions = [parse_version(begin) for begin, _ in steps]
        assert versions == sorted(versions)


def test_old_brokers_add_members_without_the_handshake() -> None:
    """Before 2.2 nobody is sent away to come back with an id."""
    bench = Bench(CoordinatorConfig("2.1"))
    bench.join("a", version=4)
    assert len(bench.snapshot().members) == 1


def test_heartbeat_while_the_leader_assigns_depends_on_the_broker() -> None:
    """NONE since 2.7, REBALANCE_IN_PROGRESS before."""
    for version, error in (("2.6", ErrorCode.REBALANCE_IN_PROGRESS), ("2.7", ErrorCode.NONE), ("4.1", ErrorCode.NONE)):
        bench = Bench(CoordinatorConfig(version))
        sent = bench.join("a")
        bench.finish_round()
        assert bench.heartbeat(sent.joined.member_id, 1).error is error


def test_old_brokers_answer_heartbeats_whatever_is_being_written() -> None:
    """The Scala coordinator answered heartbeats at once and fetched committed offsets only."""
    bench = Bench(CoordinatorConfig("2.4"))
    (member,) = bench.stable("a")
    bench.auto_commit = False
    bench.commit_offset(7, member_id=member, generation=1)
    assert bench.heartbeat(member, 1).error is ErrorCode.NONE
    assert offsets_of(bench.fetch_offsets(TopicPartition("t", 0))) == {TopicPartition("t", 0): -1}


def test_very_old_brokers_never_give_up_a_new_member() -> None:
    """Before 2.2 a new member's parked JoinGroup waits as long as the round is open."""
    for version, members in (("2.1", 2), ("2.2", 1)):
        bench = Bench(CoordinatorConfig(version))
        (old,) = bench.stable("a", rebalance_ms=1_000_000)
        bench.join("b")
        for _ in range(31):
            bench.advance_ms(10_000)
            bench.heartbeat(old, 1)
        assert len(bench.snapshot().members) == members


def test_leader_that_never_syncs_stalls_brokers_before_2_8_1() -> None:
    """Without the pending-sync timer a leader that heartbeats but never assigns holds the group up for ever."""
    for version, state in (("2.8", "CompletingRebalance"), ("2.8.1", "Empty")):
        bench = Bench(CoordinatorConfig(version))
        sent = bench.join("a", rebalance_ms=60_000)
        bench.finish_round()
        for _ in range(30):
            bench.heartbeat(sent.joined.member_id, 1)
            bench.advance_ms(5_000)
        assert bench.state == state
