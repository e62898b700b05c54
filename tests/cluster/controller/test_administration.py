"""Topics, moves and elections on request, and the metadata's way to the brokers."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.config.controller import ControllerConfig, kraft, zookeeper_era
from groupsim.cluster.controller.elections import Election
from groupsim.cluster.controller.placement import Refused
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import (
    MetadataLogRequest,
)
from tests.helpers.kept_writer import alter_topic

P0 = TopicPartition("t", 0)
SECOND = 1_000_000
NO_ELR = ControllerConfig(eligible_leader_replicas=False)


# --- administration ------------------------------------------------------------------------------------------------


def test_a_topic_is_made_told_and_known_to_every_broker(play: Any) -> None:
    """Partitions, settings and an id of 22 characters are in every broker's image; the trace has one event."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 4, replication=2, config={"min.insync.replicas": "2"})
        topic = rig.image.topics["t"]
        assert len(topic.topic_id) == 22
        assert topic.config == {"min.insync.replicas": "2"}
        assert [(len(state.replicas), state.isr, state.leader) for state in topic.partitions] == [
            (2, state.replicas, state.replicas[0]) for state in topic.partitions
        ]
        await rig.loop.sleep(10_000)
        assert all(agent.image is rig.image for agent in rig.agents.values())

    events = play(story)
    (made,) = [event for event in events if event.kind == "metadata.changed"]
    assert (made.topic, made.payload) == ("t", {"partitions": 4, "before": 0})
    created = [event for event in events if event.kind == "partition.leader"]
    assert [(event.reason, event.cause) for event in created] == [("created", made.seq)] * 4


def test_the_same_seed_gives_the_same_ids_and_places(play: Any) -> None:
    """Ids and placement are drawn from the seed and the topic's name; a topic made again gets another id."""

    def run(seed: int) -> list[Any]:
        seen: list[Any] = []

        async def story(rig: Any) -> None:
            rig.controller.create_topic("t", 9, replication=2)
            seen.append(rig.image.topics["t"])
            rig.controller.delete_topic("t")
            rig.controller.create_topic("t", 9, replication=2)
            seen.append(rig.image.topics["t"])

        play(story, seed=seed)
        assert seen[0].topic_id != seen[1].topic_id
        return seen

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_replicas_go_round_when_the_configuration_says_so(play: Any) -> None:
    """ "round-robin": partition i has its j-th replica on broker (i + j) mod n."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 3, replication=2)
        assert [state.replicas for state in rig.image.topics["t"].partitions] == [(0, 1), (1, 2), (2, 0)]
        rig.controller.add_partitions("t", 5)
        assert [state.replicas for state in rig.image.topics["t"].partitions[3:]] == [(0, 2), (1, 0)]

    play(story, config=ControllerConfig(placement="round-robin"))


def test_a_topic_grows_and_goes(play: Any) -> None:
    """Each change has an event with the numbers before and after; brokers get deleted partitions as changes."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, replication=2)
        rig.controller.add_partitions("t", 3)
        assert [len(state.replicas) for state in rig.image.topics["t"].partitions] == [2, 2, 2]
        await rig.loop.sleep(10_000)
        rig.controller.delete_topic("t")
        await rig.loop.sleep(10_000)
        assert rig.images[1][-1][1].partitions == tuple(TopicPartition("t", number) for number in range(3))
        assert rig.images[1][-1][0].topics == {}

    events = play(story)
    assert [e.payload for e in events if e.kind == "metadata.changed"] == [
        {"partitions": 1, "before": 0},
        {"partitions": 3, "before": 1},
        {"partitions": 0, "before": 3},
    ]


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda c: c.create_topic("t"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (lambda c: c.create_topic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (lambda c: c.create_topic("x", 0), ErrorCode.INVALID_PARTITIONS),
        (lambda c: c.create_topic("x", 1, replication=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (lambda c: c.create_topic("x", 1, replication=4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (lambda c: c.create_topic("x", assignment=[[0], [9]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (lambda c: c.create_topic("x", config={"min.insync.replicas": "no"}), ErrorCode.INVALID_CONFIG),
        (lambda c: c.add_partitions("t", 1), ErrorCode.INVALID_PARTITIONS),
        (lambda c: c.add_partitions("x", 2), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda c: c.add_partitions("t", 3, assignment=[[0, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (lambda c: c.delete_topic("x"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda c: alter_topic(c, "t", {"unclean.leader.election.enable": "maybe"}), ErrorCode.INVALID_CONFIG),
        (lambda c: c.move_leader(TopicPartition("t", 7), 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda c: c.move_leader(P0, 9), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (lambda c: c.move_leader(P0, 1), ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(play: Any, ask: Any, error: ErrorCode) -> None:
    """Kafka's error, and the image as it was."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", assignment=[[0, 1]])
        rig.alter((0,))
        before = rig.image
        with pytest.raises(Refused) as refused:
            ask(rig.controller)
        assert refused.value.error == error
        assert rig.image is before

    play(story)


def test_a_leader_is_moved_to_a_replica_in_sync(play: Any) -> None:
    """The replica becomes the first of the list and leads, in a new leader epoch."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1, 2]])
        rig.controller.move_leader(P0, 2)
        assert (rig.state().replicas, rig.state().leader, rig.state().leader_epoch) == ((2, 0, 1), 2, 1)

    events = play(story)
    assert [(e.from_, e.to) for e in events if e.kind == "partition.leader" and e.reason == "preferred"] == [("0", "2")]


def test_preferred_leaders_are_elected_on_request(play: Any) -> None:
    """Of all partitions those that needed it; a preferred replica that is out of sync is not available."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 2, assignment=[[0, 1], [1, 0]])
        rig.crash(0)
        await rig.loop.sleep(11 * SECOND)
        assert rig.state().leader == 1
        assert rig.controller.elect_leaders(Election.PREFERRED) == {P0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
        rig.restart(0)
        await rig.loop.sleep(SECOND)
        rig.alter((1, 0))
        assert rig.controller.elect_leaders(Election.PREFERRED, [P0]) == {P0: ErrorCode.NONE}
        assert rig.state().leader == 0
        assert rig.controller.elect_leaders(Election.UNCLEAN, [P0]) == {P0: ErrorCode.ELECTION_NOT_NEEDED}

    play(story)


@pytest.mark.parametrize(
    ("config", "moves"),
    [
        (ControllerConfig(), 300.0),
        (ControllerConfig(leader_imbalance_check_interval_seconds=60), 60.0),
        (kraft((3, 9)), 311.5),
        (zookeeper_era((2, 8)), 305.0),
        (ControllerConfig(auto_leader_rebalance_enable=False), None),
    ],
)
def test_the_first_replica_leads_again_at_the_next_look(
    play: Any, config: ControllerConfig, moves: float | None
) -> None:
    """The look is periodic from 4.0 on, one interval after the change of leader in 3.9, 5 s after it with ZooKeeper."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1]])
        await rig.loop.sleep(int(1.5 * SECOND))
        rig.agents[0].shut_down(lambda: rig.crash(0))
        await rig.loop.sleep(10 * SECOND)
        assert rig.state().leader == 1
        rig.restart(0)
        await rig.loop.sleep(20 * SECOND)
        rig.alter((1, 0))
        await rig.loop.sleep(600 * SECOND)

    events = play(story, config=config, settle_us=10 * SECOND)
    back = [event.t_us / SECOND for event in events if event.kind == "partition.leader" and event.reason == "preferred"]
    assert back == ([] if moves is None else [pytest.approx(moves, abs=0.1)])


def test_a_look_that_finds_the_first_replica_away_is_followed_by_another(play: Any) -> None:
    """A broker that stays away for longer than the interval leads again at the first look after its return."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1]])
        rig.crash(0)
        await rig.loop.sleep(700 * SECOND)
        rig.restart(0)
        await rig.loop.sleep(SECOND)
        rig.alter((1, 0))
        await rig.loop.sleep(300 * SECOND)

    for config, at in ((ControllerConfig(), 900), (kraft((3, 9)), 910)):
        events = play(story, config=config)
        moved = [event for event in events if event.kind == "partition.leader" and event.reason == "preferred"]
        assert [event.t_us / SECOND for event in moved] == [pytest.approx(at, abs=1)]


def test_a_request_for_somebody_else_is_a_mistake(play: Any) -> None:
    """A request that no broker sends to a controller is named, not swallowed."""

    async def story(rig: Any) -> None:
        with pytest.raises(TypeError, match="no broker sends"):
            rig.ask("hello")

    play(story)


def test_a_question_waits_until_something_changes(play: Any) -> None:
    """A request with the current version is answered at the next change, with the changes."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1]])
        await rig.loop.sleep(10_000)
        agent = rig.agents[2]
        seen = len(rig.images[2])
        await rig.loop.sleep(60 * SECOND)
        assert len(rig.images[2]) == seen
        rig.alter((0,))
        await rig.loop.sleep(2_000)
        image, response = rig.images[2][-1]
        assert agent.image is image is rig.image
        assert (response.partitions, response.topics, response.brokers) == ((P0,), ("t",), ())

    play(story)


def test_one_answer_covers_everything_since_the_version_asked_about(play: Any) -> None:
    """A broker whose answers are delayed gets several changes in one answer, each changed part once."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 2, assignment=[[0, 1], [1, 0]])
        await rig.loop.sleep(3 * SECOND)
        seen = len(rig.images[2])
        rig.alter((0,))
        rig.alter((1,), partition=1)
        rig.alter((0, 1))
        await rig.loop.sleep(500_000)
        assert len(rig.images[1]) > seen
        assert len(rig.images[2]) == seen
        await rig.loop.sleep(600_000)
        assert len(rig.images[2]) == seen + 1
        assert rig.images[2][-1][1].partitions == (P0, TopicPartition("t", 1))

    play(story, config=ControllerConfig(stale_metadata_us={2: SECOND}), settle_us=5 * SECOND)


def test_a_broker_that_asks_from_the_beginning_is_told_everything(play: Any) -> None:
    """A version that the controller did not give this broker, as after a restart: all there is."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 2, assignment=[[0, 1], [1, 0]])
        answer = rig.ask(MetadataLogRequest(9, 0))
        assert answer.image is rig.image
        assert (len(answer.partitions), answer.topics, answer.brokers) == (2, ("t",), (0, 1, 2))

    play(story)
