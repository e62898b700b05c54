"""The brokers' agents: registering, beating, being cut off, asking for in-sync sets."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from groupsim.cluster.config.controller import kraft
from groupsim.cluster.controller.agent import BrokerLife
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    IsrChange,
    MetadataLogRequest,
)

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
SECOND = 1_000_000


def sent(rig: Any, node: int, kind: type) -> list[Any]:
    """What a broker sent of one kind."""
    return [request for request in rig.links[node].sent if isinstance(request, kind)]


def test_a_broker_runs_a_few_round_trips_after_its_start(play: Any) -> None:
    """It registers, catches up, is let out of fencing, and knows the image."""

    async def story(rig: Any) -> None:
        assert [agent.life for agent in rig.agents.values()] == [BrokerLife.RUNNING] * 3
        assert all(agent.image is rig.image for agent in rig.agents.values())
        assert all(rig.image.is_up(node) for node in range(3))

    play(story, settle_us=50_000)


def test_a_quiet_broker_sends_one_heartbeat_per_interval_and_nothing_else(play: Any) -> None:
    """A minute without a change: 30 heartbeats, less their round trips, and not one question."""

    async def story(rig: Any) -> None:
        before = len(rig.links[0].sent)
        await rig.loop.sleep(60 * SECOND)
        more = rig.links[0].sent[before:]
        assert len(more) in (29, 30)
        assert {type(request) for request in more} == {BrokerHeartbeatRequest}

    play(story)


def test_a_broker_that_is_cut_off_believes_what_it_last_heard(play: Any) -> None:
    """Fenced, its partition led by another, it knows nothing of it; healed, it comes back in its old epoch."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1]])
        await rig.loop.sleep(SECOND)
        epoch = rig.agents[0].epoch
        rig.links[0].up = False
        await rig.loop.sleep(15 * SECOND)
        assert rig.state().leader == 1
        believed = rig.agents[0].image.partition(P0)
        assert (believed.leader, rig.agents[0].image.is_up(0)) == (0, True)
        rig.links[0].up = True
        await rig.loop.sleep(15 * SECOND)
        assert rig.agents[0].image is rig.image
        assert rig.image.is_up(0)
        assert rig.agents[0].epoch == epoch
        assert len(sent(rig, 0, BrokerRegistrationRequest)) == 1

    play(story)


@pytest.mark.parametrize(("release", "at_least", "at_most"), [((4, 1), 15, 16), ((4, 0), 9, 13)])
def test_a_broker_out_of_reach_tries_again(play: Any, release: tuple[int, int], at_least: int, at_most: int) -> None:
    """Since 4.1 an attempt is given up after 2 s and repeated 2 s later; before, later in the end (KAFKA-19294)."""

    async def story(rig: Any) -> None:
        rig.links[0].up = False
        before = len(sent(rig, 0, BrokerHeartbeatRequest))
        await rig.loop.sleep(60 * SECOND)
        assert at_least <= len(sent(rig, 0, BrokerHeartbeatRequest)) - before <= at_most

    play(story, config=kraft(release))


@pytest.mark.parametrize(
    ("release", "waits_ms"),
    [((4, 4), [2_000, 2_000, 2_000, 2_000]), ((3, 9), [100, 200, 400, 800, 1_600, 3_200, 6_400])],
)
def test_a_refused_registration_is_repeated(play: Any, release: tuple[int, int], waits_ms: list[int]) -> None:
    """Since 4.1 every heartbeat interval; before, after waits that double from 100 ms, each 2 % more or less."""

    async def story(rig: Any) -> None:
        rig.crash(0)
        link = rig.links[0]
        link.sent.clear()
        link.sent_us.clear()
        rig.restart(0)
        await rig.loop.sleep(20 * SECOND)
        of = zip(link.sent, link.sent_us, strict=True)
        times = [sent_us for request, sent_us in of if isinstance(request, BrokerRegistrationRequest)]
        waited = [(after - first) / 1_000 for first, after in pairwise(times)]
        assert waited == pytest.approx(waits_ms, rel=0.03, abs=2)

    play(story, config=kraft(release))


@pytest.mark.parametrize(("release", "early"), [((4, 4), True), ((3, 5), True), ((3, 4), False)])
def test_when_a_starting_broker_acts_on_metadata(play: Any, release: tuple[int, int], early: bool) -> None:
    """Since 3.5 as soon as it has read them, registered or not; before, when it has caught up with its registration."""

    async def story(rig: Any) -> None:
        rig.crash(0)
        rig.images[0].clear()
        rig.restart(0)
        await rig.loop.sleep(SECOND)
        assert rig.agents[0].life is BrokerLife.STARTING
        assert rig.agents[0].image.version > 0
        assert bool(rig.images[0]) is early
        await rig.loop.sleep(20 * SECOND)
        first, changed = rig.images[0][0]
        assert changed.brokers == tuple(first.brokers)
        assert (first.brokers[0].epoch == rig.agents[0].epoch) is not early
        assert rig.images[0][-1][0] is rig.image

    play(story, config=kraft(release))


def test_a_crashed_broker_comes_back_as_another_incarnation(play: Any) -> None:
    """Restarted at once it is a duplicate until its old session is over; then it has a new epoch and runs."""

    async def story(rig: Any) -> None:
        epoch = rig.agents[0].epoch
        rig.crash(0)
        rig.restart(0)
        assert rig.agents[0].image.version == 0
        await rig.loop.sleep(5 * SECOND)
        assert rig.agents[0].life is BrokerLife.STARTING
        await rig.loop.sleep(15 * SECOND)
        assert rig.agents[0].life is BrokerLife.RUNNING
        assert rig.agents[0].epoch > epoch
        assert rig.image.is_up(0)

    play(story)


def test_an_epoch_that_is_stale_leads_to_a_new_registration(play: Any) -> None:
    """Another incarnation took the node's place: the first one's heartbeat is refused, and it registers again."""

    async def story(rig: Any) -> None:
        rig.links[0].up = False
        await rig.loop.sleep(12 * SECOND)
        rig.register(0, 99)
        rig.links[0].up = True
        await rig.loop.sleep(25 * SECOND)
        assert rig.agents[0].life is BrokerLife.RUNNING
        assert rig.agents[0].epoch == rig.image.brokers[0].epoch
        assert len(sent(rig, 0, BrokerRegistrationRequest)) > 1

    play(story)


def test_an_answer_that_got_lost_is_asked_for_again(play: Any) -> None:
    """After a lost answer a broker lags until two heartbeats announce it; then it requests the changes again."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 2, assignment=[[0, 1], [1, 0]])
        await rig.loop.sleep(10_000)
        rig.links[2].up = False
        rig.alter((0,))
        await rig.loop.sleep(100_000)
        rig.links[2].up = True
        await rig.loop.sleep(100_000)
        assert rig.agents[2].image is not rig.image
        await rig.loop.sleep(5 * SECOND)
        assert rig.agents[2].image is rig.image
        assert rig.images[2][-1][1].partitions == (P0,)

    play(story)


# --- AlterPartition ------------------------------------------------------------------------------------------------


class Done(list[Any]):
    """What `on_done` was called with."""

    def __call__(self, error: ErrorCode, state: Any) -> None:
        self.append((error, None if state is None else state.isr))


def topic(rig: Any) -> None:
    """Two partitions led by broker 0."""
    rig.controller.create_topic("t", 2, assignment=[[0, 1], [0, 2]])


def test_changes_wait_for_the_one_in_flight_and_go_together(play: Any) -> None:
    """One request is in flight; changes submitted meanwhile go with the next one."""

    async def story(rig: Any) -> None:
        topic(rig)
        first, second, third = Done(), Done(), Done()
        agent = rig.agents[0]
        rig.controller.create_topic("u", 1, assignment=[[0, 1]])
        agent.alter(IsrChange(P0, 0, (0,), 0), first)
        agent.alter(IsrChange(P1, 0, (0,), 0), second)
        agent.alter(IsrChange(TopicPartition("u", 0), 0, (0,), 0), third)
        assert not first
        await rig.loop.sleep(10_000)
        assert first == second == third == [(ErrorCode.NONE, (0,))]
        assert [len(request.changes) for request in sent(rig, 0, AlterPartitionRequest)] == [1, 2]

    play(story)


def test_a_second_change_of_a_partition_is_not_attempted(play: Any) -> None:
    """While one waits for its answer another of the same partition is refused on the spot."""

    async def story(rig: Any) -> None:
        topic(rig)
        first, second = Done(), Done()
        rig.agents[0].alter(IsrChange(P0, 0, (0,), 0), first)
        rig.agents[0].alter(IsrChange(P0, 0, (0,), 0), second)
        assert not second
        await rig.loop.sleep(10_000)
        assert second == [(ErrorCode.OPERATION_NOT_ATTEMPTED, None)]
        assert first == [(ErrorCode.NONE, (0,))]

    play(story)


def test_a_change_whose_answer_got_lost_is_asked_again_and_found_done(play: Any) -> None:
    """The request times out, is sent again on a new connection, and the partition epoch shows that it took effect."""

    async def story(rig: Any) -> None:
        topic(rig)
        done = Done()
        rig.links[0].lose_next = AlterPartitionResponse
        rig.agents[0].alter(IsrChange(P0, 0, (0,), 0), done)
        await rig.loop.sleep(10_000)
        assert (rig.state().isr, done) == ((0,), [])
        await rig.loop.sleep(31 * SECOND)
        assert done == [(ErrorCode.INVALID_UPDATE_VERSION, (0,))]

    play(story)


def test_a_change_asked_for_while_cut_off_is_refused_when_the_link_heals(play: Any) -> None:
    """The stale leader's change outlives the cut, and meets a leader epoch that has moved on."""

    async def story(rig: Any) -> None:
        topic(rig)
        done = Done()
        rig.links[0].up = False
        rig.agents[0].alter(IsrChange(P0, 0, (0,), 0), done)
        await rig.loop.sleep(20 * SECOND)
        assert rig.state().leader == 1
        assert not done
        rig.links[0].up = True
        await rig.loop.sleep(30 * SECOND)
        assert done == [(ErrorCode.FENCED_LEADER_EPOCH, rig.state().isr)]

    play(story)


def test_an_agent_that_runs_is_not_started_twice(play: Any) -> None:
    """Only after a crash of its host or an orderly stop is there anything to start."""

    async def story(rig: Any) -> None:
        with pytest.raises(RuntimeError, match="broker 0 is running already"):
            rig.agents[0].start()

    play(story)


# --- stopping ------------------------------------------------------------------------------------------------------


def test_a_broker_that_stopped_says_so_when_it_comes_back(play: Any) -> None:
    """Its next registration names the epoch of the one before: it stopped in order, nothing was lost."""

    async def story(rig: Any) -> None:
        epoch = rig.agents[0].epoch
        rig.agents[0].shut_down(lambda: None)
        with pytest.raises(RuntimeError, match="shutting down already"):
            rig.agents[0].shut_down(lambda: None)
        await rig.loop.sleep(SECOND)
        assert rig.agents[0].life is BrokerLife.SHUTTING_DOWN
        quiet = len(rig.links[0].sent)
        await rig.loop.sleep(20 * SECOND)
        assert len(rig.links[0].sent) == quiet
        rig.agents[0].start()
        await rig.loop.sleep(SECOND)
        assert rig.agents[0].life is BrokerLife.RUNNING
        assert sent(rig, 0, BrokerRegistrationRequest)[-1].previous_epoch == epoch
        assert sent(rig, 0, MetadataLogRequest)[-1].after_version == rig.image.version

    play(story)


def test_a_broker_that_never_ran_stops_at_once(play: Any) -> None:
    """Without a word from the controller there is nothing to hand over."""

    async def story(rig: Any) -> None:
        gone: list[int] = []
        rig.links[0].up = False
        rig.crash(0)
        rig.restart(0)
        rig.agents[0].shut_down(lambda: gone.append(1))
        await rig.loop.sleep(1)
        assert gone == [1]

    play(story)
