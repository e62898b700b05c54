"""Fetches from counted logs: one planned event for each."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from groupsim.cluster.counted import feed as counted_data
from groupsim.cluster.counted.feed import Data
from groupsim.cluster.network.faults import Isolate, Latency, Match
from groupsim.cluster.network.latency import Draws
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.errors import DeadlockError
from groupsim.eventloop.randomness import Stream
from groupsim.members.interfaces import Fetched, FetchFailed
from groupsim.members.producer.traffic import as_rate
from groupsim.protocol.messages.group import TopicPartition

T0, T1, T2 = (TopicPartition("t", p) for p in range(3))


class Reader:
    """A topic of three partitions and the records that a client gets."""

    def __init__(self, rig: Any, rate: float = 0, partitions: int = 3) -> None:
        self.rig = rig
        rig.controller.create_topic("t", partitions)
        self.data = Data(rig.network, rig.controller)
        self.data.open("t", [1] * partitions, as_rate(rate))
        self.got: list[tuple[int, Any]] = []

    def fetch(self, positions: dict[TopicPartition, int], most: int = 500) -> Any:
        reader = self.data.reader("member-1", most, lambda got: self.got.append((self.rig.loop.now_us, got)))
        reader.fetch(positions)
        return reader


def test_records_that_are_there_come_after_one_round_trip(play: Any) -> None:
    """A fetch finds the records that were there when it reached the broker."""

    async def story(rig: Any) -> None:
        reader = Reader(rig, rate=300)
        await rig.loop.sleep(1_000_000)
        reader.fetch({T0: 0, T1: 40})
        await rig.loop.sleep(10_000)
        assert reader.got == [(1_002_000, (Fetched(T0, 0, 100), Fetched(T1, 40, 60)))]

    play(story)


def test_fetch_waits_for_the_first_record(play: Any) -> None:
    """One record a second on three partitions: partition 2's first is due after 3 s, and comes a latency later."""

    async def story(rig: Any) -> None:
        reader = Reader(rig, rate=1)
        reader.fetch({T2: 0})
        await rig.loop.sleep(10_000_000)
        assert reader.got == [(3_001_000, (Fetched(T2, 0, 1),))]

    play(story)


def test_endless_fetch_costs_no_event(play: Any) -> None:
    """A fetch for records that never come schedules nothing at all: with nothing else to do the run is deadlocked."""

    async def story(rig: Any) -> None:
        Reader(rig).fetch({T0: 0})
        await rig.loop.event().wait()

    with pytest.raises(DeadlockError):
        play(story)


def test_waiting_fetch_learns_of_a_burst_and_a_new_rate(play: Any) -> None:
    """Traffic that begins while a fetch waits ends its wait."""

    async def story(rig: Any) -> None:
        reader = Reader(rig)
        reader.fetch({T0: 0})
        await rig.loop.sleep(5_000_000)
        reader.data.burst("t", 30)
        await rig.loop.sleep(1_000_000)
        reader.fetch({T0: 10})
        await rig.loop.sleep(1_000_000)
        reader.data.set_rate("t", as_rate(3))
        await rig.loop.sleep(5_000_000)
        assert [(at, got[0].base) for at, got in reader.got] == [(5_001_000, 0), (7_334_334, 10)]

    play(story)


def test_slower_traffic_postpones_a_planned_answer(play: Any) -> None:
    """A plan made for one rate is not executed at another."""

    async def story(rig: Any) -> None:
        reader = Reader(rig, rate=1, partitions=1)
        reader.fetch({T0: 0})
        await rig.loop.sleep(500_000)
        reader.data.set_rate("t", 0)
        await rig.loop.sleep(5_000_000)
        assert reader.got == []

    play(story)


def test_records_are_shared_out_in_turn(play: Any) -> None:
    """A full fetch ends with one partition, the next begins with the one after it."""

    async def story(rig: Any) -> None:
        reader = Reader(rig)
        reader.data.burst("t", 300)
        positions = {T0: 0, T1: 0, T2: 0}
        seen = []
        for _ in range(4):
            reader.fetch(positions, most=60)
            await rig.loop.sleep(10_000)
            for part in reader.got[-1][1]:
                positions[part.partition] = part.base + part.count
            seen.append([(part.partition.partition, part.count) for part in reader.got[-1][1]])
        assert seen == [[(0, 60)], [(1, 60)], [(2, 60)], [(0, 40), (1, 20)]]

    play(story)


def test_a_fetch_given_up_is_never_answered(play: Any) -> None:
    """A fetch that was given up stays cancelled after changes of the traffic."""

    async def story(rig: Any) -> None:
        reader = Reader(rig, rate=300)
        await rig.loop.sleep(1_000_000)
        reader.fetch({T0: 0}).give_up()
        reader.data.burst("t", 30)
        await rig.loop.sleep(1_000_000)
        assert reader.got == []

    play(story)


def test_isolated_host_fetches_nothing_until_it_is_back(play: Any) -> None:
    """A fetch of a host that is cut off waits, and goes on when the fault ends."""

    async def story(rig: Any) -> None:
        reader = Reader(rig, rate=300)
        await rig.loop.sleep(1_000_000)
        rig.network.inject(Isolate(Match(host="member-1"), for_us=5_000_000))
        reader.fetch({T0: 0})
        await rig.loop.sleep(4_000_000)
        assert reader.got == []
        await rig.loop.sleep(4_000_000)
        assert reader.got == [(6_001_000, (Fetched(T0, 0, 500),))]

    play(story)


def test_slow_link_slows_fetches(play: Any) -> None:
    """Latency added to a host is added both ways."""

    async def story(rig: Any) -> None:
        reader = Reader(rig, rate=300)
        await rig.loop.sleep(1_000_000)
        rig.network.inject(Latency(Match(host="member-1"), add_us=10_000))
        reader.fetch({T0: 0})
        await rig.loop.sleep(1_000_000)
        assert [at for at, _ in reader.got] == [1_022_000]

    play(story)


def test_paused_host_gets_its_records_when_it_goes_on(play: Any) -> None:
    """Records for a paused process are delivered when it resumes."""

    async def story(rig: Any) -> None:
        reader = Reader(rig, rate=300)
        await rig.loop.sleep(1_000_000)
        reader.fetch({T0: 0})
        rig.loop.host("member-1").pause()
        await rig.loop.sleep(1_000_000)
        assert reader.got == []
        rig.loop.host("member-1").resume()
        await rig.loop.sleep(1)
        assert [got[0].count for _, got in reader.got] == [100]

    play(story)


def test_partitions_without_a_leader_are_left_out(play: Any) -> None:
    """A partition whose only replica is down has no records; a fetch of such partitions alone fails."""

    async def story(rig: Any) -> None:
        reader = Reader(rig)
        reader.data.burst("t", 30)
        rig.controller.broker_down(1)
        reader.data.replan()
        reader.fetch({T0: 0, T1: 0})
        reader.fetch({T1: 0})
        await rig.loop.sleep(10_000)
        (_, some), (_, failed) = reader.got
        assert some == (Fetched(T0, 0, 10),)
        assert isinstance(failed, FetchFailed)

    play(story)


def test_offsets_are_log_start_and_end(play: Any) -> None:
    """ListOffsets returns start and end at the time of the response; 0 for an unknown partition."""

    async def story(rig: Any) -> None:
        reader = Reader(rig)
        reader.data.burst("t", 30)
        got: list[Any] = []
        reader.data.offsets("member-1", (T0, TopicPartition("none", 0)), got.append)
        await rig.loop.sleep(10_000)
        assert got == [{T0: (0, 10), TopicPartition("none", 0): (0, 0)}]

    play(story)


def test_unknown_topic_is_named(play: Any) -> None:
    """A change of rate of an unknown topic raises an error that lists the known topics."""

    async def story(rig: Any) -> None:
        with pytest.raises(ValueError, match="no topic 'u'; there are: t"):
            Reader(rig).data.set_rate("u", 1)

    play(story)


def test_a_burst_while_the_answer_is_on_its_way_is_in_it(play: Any) -> None:
    """Times before a change of traffic are not known: a response that left before it has the change's records too."""

    async def story(rig: Any) -> None:
        reader = Reader(rig, rate=1)
        reader.fetch({T0: 0, T1: 0, T2: 0})
        await rig.loop.sleep(1_000_500)
        reader.data.burst("t", 3)
        await rig.loop.sleep(10_000)
        assert reader.got == [(1_001_000, (Fetched(T0, 0, 2), Fetched(T1, 0, 1), Fetched(T2, 0, 1)))]

    play(story)


def test_a_reader_without_a_fetch_is_gone(play: Any) -> None:
    """A reader whose fetch is answered is freed at once, without the garbage collector."""

    async def story(rig: Any) -> None:
        reader = Reader(rig, rate=3)
        gc.collect()
        gc.disable()
        try:
            reader.fetch({T0: 0, T1: 0, T2: 0})
            await rig.loop.sleep(2_000_000)
            assert len(reader.got) == 1
            assert not [found for found in gc.get_objects() if isinstance(found, counted_data.Reader)]
        finally:
            gc.enable()

    play(story)


def test_one_reader_goes_on_from_what_it_got(play: Any) -> None:
    """Fetch after fetch of one reader brings every record once, in order, also across a change of the rate."""

    async def story(rig: Any) -> None:
        positions = {T0: 0, T1: 0, T2: 0}

        def take(found: Any) -> None:
            for part in found:
                assert part.base == positions[part.partition]
                positions[part.partition] += part.count
            reader.fetch(positions)

        source = Reader(rig, rate=30)
        reader = source.data.reader("member-1", 500, take)
        reader.fetch(positions)
        await rig.loop.sleep(2_000_000)
        source.data.set_rate("t", as_rate(3))
        source.data.burst("t", 7)
        await rig.loop.sleep(3_002_000)
        assert sum(positions.values()) == sum(source.data.end(tp) for tp in positions) == 60 + 7 + 9

    play(story)


def test_latencies_come_in_pairs_as_they_come_singly() -> None:
    """There and back are the next two draws, also where a block of them ends between the two."""
    distribution = parse_distribution("uniform(1ms, 9ms)")
    singly, paired = (Draws(distribution, Stream(1, "latency")) for _ in range(2))
    expected = [singly.next() for _ in range(81)]
    found = [paired.next()]
    for _ in range(40):
        found += paired.pair()
    assert found == expected
