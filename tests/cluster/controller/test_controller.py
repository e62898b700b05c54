"""Registration, sessions, fencing, shutdown, elections and AlterPartition, as the controller does them."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.config.controller import ControllerConfig, zookeeper_era
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    IsrChange,
)
from tests.helpers.kept_writer import alter_topic

P0 = TopicPartition("t", 0)
SECOND = 1_000_000
NO_ELR = ControllerConfig(eligible_leader_replicas=False)


# --- registration and sessions -------------------------------------------------------------------------------------


async def _waits_for_0_to_lead(rig: Any) -> None:
    """Nobody leads, as broker 0 was the last in sync; it restarts, and does."""
    assert (rig.state().leader, rig.state().isr) == (-1, (0,))
    rig.restart(0)
    await rig.loop.sleep(SECOND)
    assert (rig.state().leader, rig.state().isr) == (0, (0,))


def test_a_registration_is_fenced_until_its_broker_has_read_as_far(play: Any) -> None:
    """A new broker is fenced until a heartbeat has the version of its own registration."""

    async def story(rig: Any) -> None:
        epoch = rig.register(7, 1).epoch
        assert rig.image.brokers[7].fenced
        behind = rig.ask(_beat(7, epoch, epoch - 1))
        assert (behind.is_caught_up, behind.is_fenced) == (False, True)
        there = rig.ask(_beat(7, epoch, epoch))
        assert (there.is_caught_up, there.is_fenced) == (True, False)
        assert rig.image.is_up(7)

    play(story, brokers=0)


def _beat(node: int, epoch: int, version: int) -> Any:
    return BrokerHeartbeatRequest(node, epoch, version)


def test_a_second_incarnation_waits_for_the_session_of_the_first(play: Any) -> None:
    """While the old session lives another incarnation is a duplicate; afterwards it gets an epoch of its own."""

    async def story(rig: Any) -> None:
        first = rig.register(7, 1).epoch
        rig.beat(7, first)
        assert rig.register(7, 2).error == ErrorCode.DUPLICATE_BROKER_REGISTRATION
        await rig.loop.sleep(9 * SECOND)
        assert rig.register(7, 2).error == ErrorCode.DUPLICATE_BROKER_REGISTRATION
        await rig.loop.sleep(1)
        assert rig.register(7, 2).epoch > first

    play(story, brokers=0)


def test_an_incarnation_before_that_led_till_then_is_fenced(play: Any) -> None:
    """Who comes back after the session, before the controller has looked, takes the place of one that is fenced."""

    async def story(rig: Any) -> None:
        first = rig.register(7, 1).epoch
        rig.beat(7, first)
        rig.beat(7, first)
        assert not rig.image.brokers[7].fenced
        await rig.loop.sleep(9 * SECOND + 1)
        rig.register(7, 2)
        assert [(event.reason, event.t_us) for event in rig.events_of("broker.fenced")] == [
            ("a new incarnation registered", rig.loop.now_us)
        ]

    play(story, brokers=0)


def test_who_is_fenced_already_is_not_fenced_again(play: Any) -> None:
    """The session of a broker that registered and never got as far as leading runs out without a word."""

    async def story(rig: Any) -> None:
        rig.beat(7, rig.register(7, 1).epoch, want_fence=True)
        assert rig.image.brokers[7].fenced
        await rig.loop.sleep(30 * SECOND)
        assert rig.events_of("broker.fenced") == []

    play(story, brokers=0)


def test_the_return_of_one_broker_does_not_make_an_absent_one_lead(play: Any) -> None:
    """The last broker in sync leads when it is back itself, whichever broker is back before."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1]])
        rig.crash(1)
        await rig.loop.sleep(11 * SECOND)
        rig.crash(0)
        await rig.loop.sleep(11 * SECOND)
        rig.restart(1)
        await rig.loop.sleep(11 * SECOND)
        await _waits_for_0_to_lead(rig)

    play(story, config=NO_ELR)


def test_the_same_incarnation_keeps_its_epoch(play: Any) -> None:
    """A registration that is repeated is no new one: same epoch, not fenced again."""

    async def story(rig: Any) -> None:
        epoch = rig.register(7, 1).epoch
        rig.beat(7, epoch)
        assert rig.register(7, 1).epoch == epoch
        assert rig.image.is_up(7)

    play(story, brokers=0)


def test_a_heartbeat_of_another_time_is_refused(play: Any) -> None:
    """An epoch that is not the present registration's, or none at all: STALE_BROKER_EPOCH."""

    async def story(rig: Any) -> None:
        epoch = rig.register(7, 1).epoch
        assert rig.beat(7, epoch - 1).error == ErrorCode.STALE_BROKER_EPOCH
        assert rig.beat(8, 1).error == ErrorCode.STALE_BROKER_EPOCH

    play(story, brokers=0)


def test_a_dead_leader_is_fenced_and_the_next_in_sync_replica_leads(play: Any) -> None:
    """A broker that falls silent is fenced when its session is over, and the next replica in sync leads."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1, 2]])
        rig.crash(0)
        await rig.loop.sleep(8 * SECOND)
        assert rig.state().leader == 0
        await rig.loop.sleep(2_500_000)
        assert (rig.state().leader, rig.state().isr, rig.state().leader_epoch) == (1, (1, 2), 1)
        assert all(rig.agents[node].image is rig.image for node in (1, 2))

    events = play(story)
    (fenced,) = [event for event in events if event.kind == "broker.fenced"]
    assert (fenced.payload, fenced.reason) == ({"node": 0}, "session expired")
    moved = [event for event in events if event.kind == "partition.leader" and event.reason == "clean"]
    assert [(e.from_, e.to, e.payload["epoch"], e.cause) for e in moved] == [("0", "1", 1, fenced.seq)]
    (isr,) = [event for event in events if event.kind == "isr.changed"]
    assert isr.payload == {"isr": [1, 2], "before": [0, 1, 2], "epoch": 1}


@pytest.mark.parametrize(
    ("config", "early_us", "late_us"),
    [
        (ControllerConfig(), 9 * SECOND, 10_125_000),
        (zookeeper_era((2, 4)), 6 * SECOND, 6_000_001),
        (zookeeper_era((2, 5)), 18 * SECOND, 18_000_001),
    ],
)
def test_a_session_lasts_as_long_as_the_release_says(
    play: Any, config: ControllerConfig, early_us: int, late_us: int
) -> None:
    """KRaft: 9 s, looked at every eighth of that; ZooKeeper: 6 s before 2.5, 18 s since, and at once."""

    async def story(rig: Any) -> None:
        rig.beat(7, rig.register(7, 1).epoch)
        started = rig.loop.now_us
        await rig.loop.sleep(early_us)
        assert rig.image.is_up(7)
        assert await rig.loop.until(lambda: not rig.image.is_up(7), 3 * SECOND)
        assert rig.loop.now_us - started <= late_us

    play(story, brokers=0, config=config)


def test_the_last_in_sync_replica_comes_back_to_lead(play: Any) -> None:
    """With every broker down there is no leader; of returning brokers only the last one in sync is elected."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1]])
        assert rig.alter((0,)) == ErrorCode.NONE
        rig.crash(0)
        await rig.loop.sleep(11 * SECOND)
        await _waits_for_0_to_lead(rig)

    play(story, config=NO_ELR)


def test_an_unclean_restart_costs_eligibility(play: Any) -> None:
    """A broker that crashed is eligible no more when its next incarnation comes, yet may lead as the last known."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0]])
        rig.crash(0)
        await rig.loop.sleep(11 * SECOND)
        assert (rig.state().isr, rig.state().elr, rig.state().last_known_elr) == ((), (0,), (0,))
        rig.restart(0)
        await rig.loop.sleep(SECOND)
        assert (rig.state().leader, rig.state().isr, rig.state().recovering) == (0, (0,), True)

    events = play(story)
    assert [e.reason for e in events if e.kind == "partition.leader"] == ["created", "offline", "unclean"]


def test_who_is_eligible_is_counted_anew_when_the_minimum_changes(play: Any) -> None:
    """With `min.insync.replicas` 1 a set of one has all that is acknowledged from now on (KIP-966)."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1]], config={"min.insync.replicas": "2"})
        rig.crash(1)
        await rig.loop.sleep(11 * SECOND)
        alter_topic(rig.controller, "t", {"retention.ms": "1000"})
        assert (rig.state().isr, rig.state().elr) == ((0,), (1,))
        alter_topic(rig.controller, "t", {"min.insync.replicas": "1"})
        assert (rig.state().isr, rig.state().elr) == ((0,), ())

    play(story)


def test_a_leader_goes_on_recovering_alone(play: Any) -> None:
    """A leader after an unclean election may repeat `recovering`; no other replica is in sync before it recovers."""

    async def story(rig: Any) -> None:
        config = {"unclean.leader.election.enable": "true"}
        rig.controller.create_topic("t", 1, assignment=[[0, 1, 2]], config=config)
        rig.alter((0,))
        rig.crash(0)
        await rig.loop.sleep(11 * SECOND)
        assert rig.state().recovering
        assert rig.alter((1, 2), recovering=True) == ErrorCode.INVALID_REQUEST
        assert rig.alter((1,), recovering=True) == ErrorCode.NONE
        assert rig.state().recovering
        assert rig.alter((1,), recovering=False) == ErrorCode.NONE
        assert rig.alter((1,), recovering=True) == ErrorCode.INVALID_REQUEST

    play(story)


def test_an_unclean_election_where_the_topic_allows_it(play: Any) -> None:
    """With `unclean.leader.election.enable` a replica that is up leads, though it had fallen out of sync."""

    async def story(rig: Any) -> None:
        config = {"unclean.leader.election.enable": "true"}
        rig.controller.create_topic("t", 1, assignment=[[0, 1]], config=config)
        rig.alter((0,))
        rig.crash(0)
        await rig.loop.sleep(11 * SECOND)
        assert (rig.state().leader, rig.state().isr, rig.state().recovering) == (1, (1,), True)
        assert rig.alter((1,), recovering=False) == ErrorCode.NONE
        assert not rig.state().recovering

    play(story)


@pytest.mark.parametrize(("config", "wait_us"), [(NO_ELR, 300 * SECOND), (zookeeper_era(), 0)])
def test_a_topic_allowed_to_elect_uncleanly_does_so_when_next_looked_at(
    play: Any, config: ControllerConfig, wait_us: int
) -> None:
    """KRaft looks every five minutes; the ZooKeeper era elected at once."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1]])
        rig.alter((0,))
        rig.crash(0)
        await rig.loop.sleep(25 * SECOND)
        assert rig.state().leader == -1
        alter_topic(rig.controller, "t", {"unclean.leader.election.enable": "true"})
        await rig.loop.sleep(wait_us)
        assert rig.state().leader == 1

    play(story, config=config)


def test_controlled_shutdown_hands_over_before_the_broker_goes(play: Any) -> None:
    """The leader leaves the in-sync set at once, may stop when the others have the metadata, and returns cleanly."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1, 2]])
        await rig.loop.sleep(100_000)
        gone: list[int] = []
        rig.agents[0].shut_down(lambda: gone.append(rig.loop.now_us))
        started = rig.loop.now_us
        await rig.loop.sleep(10_000)
        assert (rig.state().leader, rig.state().isr) == (1, (1, 2))
        assert not gone
        await rig.loop.sleep(5 * SECOND)
        assert started < gone[0] <= started + 4_100_000
        assert not rig.image.is_up(0)
        rig.agents[0].start()
        await rig.loop.sleep(12 * SECOND)
        assert rig.image.is_up(0)
        assert rig.alter((1, 2, 0)) == ErrorCode.NONE

    play(story)


def test_a_broker_that_leads_nothing_may_stop_at_once(play: Any) -> None:
    """A broker without leaderships may stop with the first heartbeat that requests it."""

    async def story(rig: Any) -> None:
        gone: list[int] = []
        rig.agents[0].shut_down(lambda: gone.append(rig.loop.now_us))
        await rig.loop.sleep(10_000)
        assert len(gone) == 1
        assert not rig.image.is_up(0)

    events = play(story)
    assert [e.reason for e in events if e.kind == "broker.fenced"] == ["shut down"]


# --- AlterPartition ------------------------------------------------------------------------------------------------


def test_a_leader_changes_its_in_sync_set(play: Any) -> None:
    """A shrink and an expansion take effect, have trace events, and keep the leader epoch."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1, 2]])
        assert rig.alter((0, 2)) == ErrorCode.NONE
        assert rig.alter((0, 2, 1)) == ErrorCode.NONE
        assert (rig.state().isr, rig.state().leader_epoch, rig.state().partition_epoch) == ((0, 2, 1), 0, 2)

    events = play(story)
    assert [e.reason for e in events if e.kind == "isr.changed"] == ["shrunk", "expanded"]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"isr": (0,), "leader_epoch": 1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"isr": (0,), "leader_epoch": 3}, ErrorCode.NOT_CONTROLLER),
        ({"isr": (0,), "partition_epoch": 3}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"isr": (0,), "partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ({"isr": (1,), "node": 1}, ErrorCode.INVALID_REQUEST),
        ({"isr": ()}, ErrorCode.INVALID_REQUEST),
        ({"isr": (1,)}, ErrorCode.INVALID_REQUEST),
        ({"isr": (0, 0)}, ErrorCode.INVALID_REQUEST),
        ({"isr": (0, 3)}, ErrorCode.INVALID_REQUEST),
        ({"isr": (0,), "recovering": True}, ErrorCode.INVALID_REQUEST),
        ({"isr": (0, 2)}, ErrorCode.INELIGIBLE_REPLICA),
        ({"isr": (0,), "epoch": 99}, ErrorCode.STALE_BROKER_EPOCH),
        ({"isr": (0,)}, ErrorCode.NONE),
    ],
)
def test_what_a_leader_may_not_ask(play: Any, wrong: dict[str, Any], error: ErrorCode) -> None:
    """Old and newer epochs, another leader's partition, an invalid set and a fenced broker are refused."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1, 2]])
        rig.controller.move_leader(P0, 1)
        rig.controller.move_leader(P0, 0)
        rig.crash(2)
        await rig.loop.sleep(11 * SECOND)
        assert (rig.state().leader_epoch, rig.state().isr) == (2, (0, 1))
        before = rig.state()
        assert rig.alter(**wrong) == error
        assert (rig.state() is before) == bool(error)

    play(story)


def test_a_change_that_completes_a_reassignment_may_cost_the_leader_its_place(play: Any) -> None:
    """The requesting leader is no replica any more: NEW_LEADER_ELECTED, and the first of the new list leads."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1]])
        rig.controller.move_leader(P0, 2)
        assert (rig.state().replicas, rig.state().leader) == ((2, 1, 0), 0)
        assert rig.controller.reassignments
        assert rig.alter((0, 1, 2)) == ErrorCode.NEW_LEADER_ELECTED
        assert (rig.state().replicas, rig.state().isr, rig.state().leader) == ((2, 1), (1, 2), 2)
        assert not rig.controller.reassignments

    play(story)


def test_a_change_of_an_unknown_partition_is_refused_alone(play: Any) -> None:
    """UNKNOWN_TOPIC_ID for no such topic, UNKNOWN_TOPIC_OR_PARTITION for no such partition; the rest is done."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1]])
        partitions = (TopicPartition("x", 0), TopicPartition("t", 5), P0)
        changes = tuple(IsrChange(partition, 0, (0,), 0) for partition in partitions)
        response = rig.ask(AlterPartitionRequest(0, rig.agents[0].epoch, changes))
        assert [error for _, error, _ in response.results] == [
            ErrorCode.UNKNOWN_TOPIC_ID,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.NONE,
        ]

    play(story)
