"""Logs that are replicated, truncated, restarted, recovered and deleted, and changes of their leaders."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.javahash import JavaHashMap
from groupsim.protocol.messages.data import FetchPartition

P0 = TopicPartition("orders", 0)
SECOND = 1_000_000


def truncations(rig: Any) -> list[tuple[str, dict[str, int]]]:
    """The truncations in the trace."""
    return [(event.host, event.payload) for event in rig.sink.events if event.kind is Kind.LOG_TRUNCATED]


def marks(rig: Any, node: int) -> list[tuple[int, int]]:
    """Base offsets and epochs of the batches of a replica."""
    log = rig.log(node, P0)
    return [(one.base_offset, one.leader_epoch) for one in log.batches(0, log.end_offset)]


def test_an_old_leader_cuts_off_what_the_new_one_never_had(simulate: Any, a_batch: Any) -> None:
    """Unreplicated records with acks=1 are lost in a clean failover, and the trace has the truncation."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        rig.stall(0, 1)
        rig.produce(0, P0, a_batch(4), acks=1)
        rig.elect(P0, 1)
        rig.produce(1, P0, a_batch(2), acks=1)
        rig.heal(0, 1)
        await rig.run(5 * SECOND)
        assert truncations(rig) == [("broker-0", {"to": 3, "end": 7})]
        assert marks(rig, 0) == marks(rig, 1) == [(0, 0), (3, 1)]
        assert rig.ends(P0, 0, 1) == [(5, 5), (5, 5)]

    simulate(story)


def test_epochs_that_the_follower_never_heard_of_take_two_rounds(simulate: Any, a_batch: Any) -> None:
    """For an unknown diverging epoch a follower truncates at its own last epoch below, and fetches again."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2))
        rig.produce(0, P0, a_batch(1))
        await rig.run(SECOND)
        rig.stall(0, 1)
        rig.stall(0, 2)
        rig.stall(1, 2)
        rig.elect(P0, 1)
        rig.produce(1, P0, a_batch(2), acks=1)  # epoch 1: broker 1 alone has it
        rig.elect(P0, 2)
        rig.produce(2, P0, a_batch(3), acks=1)  # epoch 2: broker 2 alone
        rig.elect(P0, 0)
        rig.produce(0, P0, a_batch(4), acks=1)  # epoch 3
        for pair in ((0, 1), (0, 2), (1, 2)):
            rig.heal(*pair)
        await rig.run(5 * SECOND)
        assert marks(rig, 0) == marks(rig, 1) == marks(rig, 2) == [(0, 0), (1, 3)]
        assert sorted(truncations(rig)) == [
            ("broker-1", {"to": 1, "end": 3}),
            ("broker-2", {"to": 1, "end": 4}),
        ]

    simulate(story)


def test_a_follower_far_behind_restarts_at_the_leaders_start(simulate: Any, a_batch: Any) -> None:
    """The leader has deleted the follower's next records: the follower restarts its log at the leader's start."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        rig.crash(1)
        rig.fence(1)
        rig.change(P0, isr=(0,))
        rig.produce(0, P0, a_batch(5))
        rig.log(0, P0).advance_start(8)
        rig.produce(0, P0, a_batch(2))
        rig.start(1)
        await rig.run(5 * SECOND)
        assert truncations(rig) == [("broker-1", {"to": 8, "end": 3})]
        assert (rig.log(1, P0).start_offset, rig.ends(P0, 1)) == (8, [(10, 10)])
        assert rig.image.partition(P0).isr == (0, 1)

    simulate(story)


def test_a_follower_without_epochs_beyond_the_leaders_end_is_cut_to_it(simulate: Any, a_batch: Any) -> None:
    """A leader that lost its disk begins at 0: the follower, out of range, takes the leader's end for its own."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        rig.crash(0, machine=True)
        rig.elect(P0, -1)
        rig.start(0)
        rig.elect(P0, 0, (0,))
        await rig.run(5 * SECOND)
        assert rig.ends(P0, 0, 1) == [(0, 0), (0, 0)]
        assert truncations(rig) == [("broker-1", {"to": 0, "end": 3})]

    simulate(story)


def test_a_start_moved_by_the_leader_moves_on_the_followers(simulate: Any, a_batch: Any) -> None:
    """Retention deletes a segment at the leader; the follower gets the new start when its long poll ends."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1), segment_bytes="1048576", retention_bytes="1048576")
        for _ in range(25):
            rig.produce(0, P0, a_batch(1_000))
        await rig.run(2 * SECOND)
        assert rig.log(0, P0).start_offset == 0
        await rig.run(400 * SECOND)
        start = rig.log(0, P0).start_offset
        assert start == rig.log(1, P0).start_offset == 10_000
        assert any(event.kind is Kind.LOG_DELETED for event in rig.sink.events)

    simulate(story)


def test_after_a_crash_the_high_watermark_is_the_one_checkpointed_last(simulate: Any, a_batch: Any) -> None:
    """It is checkpointed every 5 s; a crash loses its rise since then, but no records."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,))
        await rig.run(SECOND)
        rig.produce(0, P0, a_batch(3))
        await rig.run(6 * SECOND)
        rig.produce(0, P0, a_batch(2))
        rig.crash(0)
        rig.image = evolve(rig.image)
        partition = rig.image.partition(P0)
        rig.change(P0, leader=-1, leader_epoch=partition.leader_epoch + 1)
        rig.start(0)
        assert rig.ends(P0, 0) == [(5, 3)]
        await rig.run(20 * SECOND)
        rig.crash(0)
        rig.start(0)
        assert rig.ends(P0, 0) == [(5, 3)]
        rig.elect(P0, 0)
        assert rig.ends(P0, 0) == [(5, 5)]
        rig.managers[0].shut_down()
        rig.managers[0].start()
        rig.change(P0, leader=-1, leader_epoch=9)
        assert rig.ends(P0, 0) == [(5, 5)]

    simulate(story)


def test_a_crash_of_the_process_loses_nothing_of_the_log(simulate: Any, a_batch: Any) -> None:
    """The page cache survives; a crash of the machine loses unflushed records, and replication restores them."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        for machine, end in ((False, 3), (True, 0)):
            rig.crash(1, machine=machine)
            rig.change(P0, isr=(0,))
            rig.stall(0, 1)
            rig.start(1)
            assert rig.ends(P0, 1)[0][0] == end
            rig.heal(0, 1)
            await rig.run(3 * SECOND)
            assert rig.ends(P0, 0, 1) == [(3, 3), (3, 3)]
            assert rig.image.partition(P0).isr == (0, 1)

    simulate(story)


def test_listeners_are_called_for_every_change_of_leadership(simulate: Any) -> None:
    """They are called for each new epoch and for each end of a leadership, and not without a change."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.elect(P0, 1)
        rig.change(P0, isr=(1,))
        rig.elect(P0, 1)
        assert rig.leading == [(0, P0, 0), (1, P0, 1), (1, P0, 2)]
        assert rig.not_leading == [(0, P0, 1)]
        assert [rig.managers[node].leads(P0) for node in (0, 1)] == [None, 2]
        rig.publish({}, [P0])
        assert rig.not_leading[1:] == [(1, P0, 2)]

    simulate(story)


def test_an_older_partition_epoch_changes_nothing(simulate: Any) -> None:
    """A state with a lower partition epoch than the current one is ignored."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        old = rig.image
        rig.elect(P0, 1)
        for node in (0, 1):
            rig.managers[node].apply(old, [P0])
        assert [rig.managers[node].leads(P0) for node in (0, 1)] == [None, 1]

    simulate(story)


def test_very_many_partitions_are_applied_in_steps(simulate: Any) -> None:
    """600 new partitions take three steps, and a newer image waits; each image ends with calls of the listeners."""

    async def story(rig: Any) -> None:
        manager, loop = rig.managers[0], rig.loop
        rig.topic("orders", *[(0,)] * 600)
        many = [TopicPartition("orders", number) for number in range(600)]

        def there() -> int:
            return sum(manager.leads(name) is not None for name in many)

        rig.topic("later", (0,))
        later = TopicPartition("later", 0)
        assert (there(), rig.leading) == (250, [])
        await loop.sleep(1_000)
        assert (there(), manager.log(later), rig.leading) == (500, None, [])
        await loop.sleep(1_000)
        assert (there(), manager.leads(later)) == (600, 0)
        in_order = JavaHashMap((name, None) for name in many)  # as Kafka goes through `LocalReplicaChanges`
        assert [name for _, name, _ in rig.leading] == [*in_order, later]
        rig.publish({}, [*many, later])
        assert (there(), manager.leads(later)) == (350, 0)
        await loop.sleep(2_000)
        assert (there(), manager.leads(later), len(rig.not_leading)) == (0, None, 601)

    simulate(story)


def test_a_broker_that_crashes_within_a_large_image_applies_it_again(simulate: Any) -> None:
    """The rest of the image is dropped by the crash; after the start the whole image is applied."""

    async def story(rig: Any) -> None:
        rig.topic("orders", *[(0,)] * 600)
        rig.crash(0)
        await rig.loop.sleep(5_000)
        rig.start(0)
        await rig.loop.sleep(5_000)
        assert len(rig.leading) == 600
        assert rig.managers[0].leads(TopicPartition("orders", 599)) is not None

    simulate(story)


def test_a_deleted_topic_takes_its_logs_along(simulate: Any, a_batch: Any) -> None:
    """Parked requests get UNKNOWN_TOPIC_OR_PARTITION; a new topic of the same name has an empty log."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        waiting = rig.fetch(0, FetchPartition(P0, 3), renewed=True)
        rig.publish({}, [P0])
        assert waiting.answer.partitions[0].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert [rig.managers[node].log(P0) for node in (0, 1)] == [None, None]
        rig.topic("orders", (0, 1))
        assert rig.ends(P0, 0, 1) == [(0, 0), (0, 0)]
        asked = rig.produce(0, P0, a_batch(1))
        await rig.run(SECOND)
        assert asked.answer.results[0].error is ErrorCode.NONE
        assert rig.ends(P0, 0, 1) == [(1, 1), (1, 1)]

    simulate(story)


def test_a_topic_recreated_while_a_broker_was_down_has_a_new_log_there(simulate: Any, a_batch: Any) -> None:
    """By the topic id the broker finds that the log on its disk belongs to another topic of that name."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        rig.log(0, P0).advance_start(2)
        await rig.run(SECOND)
        rig.crash(1)
        rig.publish({}, [P0])
        rig.topic("orders", (0, 1))
        rig.start(1)
        await rig.run(3 * SECOND)
        assert rig.ends(P0, 0, 1) == [(0, 0), (0, 0)]
        assert truncations(rig) == []

    simulate(story)


def test_a_topic_recreated_while_a_broker_got_no_image_has_a_new_log_there(simulate: Any, a_batch: Any) -> None:
    """A running broker that missed the deletion does not continue the other topic's log."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(5))
        await rig.run(SECOND)
        rig.cut_off.add(1)
        rig.publish({}, [P0])
        rig.topic("orders", (0, 1))
        rig.cut_off.clear()
        rig.send_image([P0])
        rig.produce(0, P0, a_batch(2))
        await rig.run(2 * SECOND)
        assert rig.ends(P0, 0, 1) == [(2, 2), (2, 2)]
        assert truncations(rig) == []

    simulate(story)


def test_a_replica_added_later_copies_everything(simulate: Any, a_batch: Any) -> None:
    """A broker that becomes a replica copies the log from its start and joins; one that is none any more drops it."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        rig.change(P0, replicas=(0, 1, 2))
        await rig.run(2 * SECOND)
        assert rig.image.partition(P0).isr == (0, 1, 2)
        rig.change(P0, replicas=(0, 2), isr=(0, 2))
        assert rig.managers[1].log(P0) is None
        asked = rig.produce(0, P0, a_batch(1))
        await rig.run(2 * SECOND)
        assert asked.answer.results[0].error is ErrorCode.NONE
        assert rig.ends(P0, 0, 2) == [(4, 4), (4, 4)]

    simulate(story)


def test_changed_settings_of_a_topic_hold_from_then_on(simulate: Any, a_batch: Any) -> None:
    """max.message.bytes and min.insync.replicas of a topic can be changed while it is led."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        assert rig.produce(0, P0, a_batch(20), acks=1).answer.results[0].error is ErrorCode.NONE
        topic = rig.image.topics["orders"]
        rig.publish({"orders": evolve(topic, config={"max.message.bytes": "1000"})}, [])
        assert rig.produce(0, P0, a_batch(20), acks=1).answer.results[0].error is ErrorCode.MESSAGE_TOO_LARGE

    simulate(story)


def test_a_dead_leader_is_asked_again_until_there_is_another(simulate: Any, a_batch: Any) -> None:
    """After a broken connection the follower retries every second, and then replicates from the elected leader."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2))
        await rig.run(10 * SECOND)
        rig.crash(0)
        before = len(rig.requests)
        await rig.run(5 * SECOND)
        assert len([entry for entry in rig.requests[before:] if entry[1] == 1]) == 4
        rig.elect(P0, 1, (1, 2))
        asked = rig.produce(1, P0, a_batch(2))
        await rig.run(SECOND)
        assert asked.answer.results[0].error is ErrorCode.NONE
        assert rig.ends(P0, 1, 2)[0] == (2, 2)

    simulate(story)
