"""In-sync replicas, the high watermark, and the cost of a quiet cluster."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from groupsim.cluster.config.replica import ReplicaConfig
from groupsim.eventloop.trace.trace import Level
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import PartitionState
from groupsim.protocol.messages.data import FetchPartition, FetchRequest

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
SECOND = 1_000_000


def isr_of(rig: Any) -> tuple[int, ...]:
    """The in-sync replicas in the controller's image."""
    isr: tuple[int, ...] = rig.image.partition(P0).isr
    return isr


def test_a_quiet_cluster_costs_no_events(simulate: Any, a_batch: Any) -> None:
    """After the last append is on all replicas, an hour passes without one request between brokers."""

    async def story(rig: Any) -> None:
        rig.topic("orders", *[(0, 1, 2), (1, 2, 0), (2, 0, 1)] * 30)
        rig.produce(0, P0, a_batch())
        await rig.run(60 * SECOND)
        before, ticket = len(rig.requests), rig.loop.ticket()
        await rig.run(3_600 * SECOND)
        assert len(rig.requests) == before
        assert rig.loop.ticket() - ticket < 10
        assert rig.ends(P0, 0, 1, 2) == [(1, 1)] * 3

    simulate(story)


def test_a_fetch_names_only_what_moved(simulate: Any, a_batch: Any) -> None:
    """Of a hundred partitions one grows: the follower's next request names that one, in the session's next epoch."""

    async def story(rig: Any) -> None:
        rig.topic("orders", *[(0, 1)] * 100)
        await rig.run(10 * SECOND)
        before = len(rig.requests)
        rig.produce(0, P0, a_batch())
        await rig.run(10_000)
        ((_, client, server, request),) = rig.requests[before:]
        assert (client, server) == (1, 0)
        assert [asked.partition for asked in request.partitions] == [P0]
        assert request.session_epoch > 0

    simulate(story)


def test_followers_learn_of_the_high_watermark_with_the_next_answer(simulate: Any, a_batch: Any) -> None:
    """A second append's response carries the first one's high watermark; else the long poll's end, after 500 ms."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(10 * SECOND)
        rig.produce(0, P0, a_batch())
        await rig.run(10_000)
        assert rig.ends(P0, 1) == [(1, 0)]
        rig.produce(0, P0, a_batch())
        await rig.run(10_000)
        assert rig.ends(P0, 1) == [(2, 1)]
        await rig.run(480_000)
        assert rig.ends(P0, 1) == [(2, 1)]
        await rig.run(20_000)
        assert rig.ends(P0, 1) == [(2, 2)]

    simulate(story)


def test_the_high_watermark_is_emitted_in_full_traces(simulate: Any, a_batch: Any) -> None:
    """A full trace has each rise of the leader's high watermark."""

    async def story(rig: Any) -> list[Any]:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        return [(e.host, e.payload["offset"]) for e in rig.sink.events if e.kind == "high-watermark"]

    assert simulate(story, level=Level.FULL) == [("broker-0", 3)]
    assert simulate(story) == []


def test_a_stalled_follower_leaves_after_the_lag_time(simulate: Any, a_batch: Any) -> None:
    """It lags from its last fetch, not from the append: it leaves at the first 15 s tick after 30 s."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2))
        await rig.run(9 * SECOND)
        rig.stall(0, 2)
        await rig.run(25 * SECOND)
        asked = rig.produce(0, P0, a_batch())  # at 34 s
        await rig.run(10_900_000)
        assert isr_of(rig) == (0, 1, 2)
        assert asked.answers == []
        await rig.run(200_000)
        assert isr_of(rig) == (0, 1)  # on the tick at 45 s: it asked last at 9 s
        assert asked.answer.results[0].error is ErrorCode.NONE

    simulate(story)


def test_a_long_poll_counts_until_it_was_answered(simulate: Any, a_batch: Any) -> None:
    """Its answer brings one partition; of another that grows before it asks again, the lag counts from that answer."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2), (0, 1, 2))
        await rig.run(100 * SECOND)
        rig.produce(0, P0, a_batch())  # the long poll since 0 s is answered
        rig.stall(0, 2)
        rig.produce(0, P1, a_batch())
        await rig.run(34 * SECOND)
        assert rig.image.partition(P1).isr == (0, 1, 2)
        await rig.run(2 * SECOND)
        assert rig.image.partition(P1).isr == (0, 1)  # on the tick at 135 s

    simulate(story)


def test_a_follower_without_partitions_of_a_leader_closes_the_connection(simulate: Any) -> None:
    """The only partition of a leader moves: the follower does not wait for a response that a link holds."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        (wire,) = [wire for wire in rig.wires if (wire.client, wire.server) == (1, 0)]
        assert wire.open
        rig.stall(0, 1)
        rig.elect(P0, 1)
        assert not wire.open

    simulate(story)


def test_a_follower_that_has_everything_is_in_sync_however_silent(simulate: Any) -> None:
    """Nothing is appended, a follower stands still for ten minutes: it stays in the in-sync replicas."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.trouble(True)
        rig.host(1).pause()
        await rig.run(600 * SECOND)
        assert isr_of(rig) == (0, 1)

    simulate(story)


def test_a_pause_shorter_than_the_lag_time_changes_nothing(simulate: Any, a_batch: Any) -> None:
    """A follower that pauses for 20 s and comes back holds up acks=all, and stays in sync."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.trouble(True)
        rig.host(1).pause()
        asked = rig.produce(0, P0, a_batch())
        await rig.run(20 * SECOND)
        assert asked.answers == []
        rig.host(1).resume()
        rig.trouble(False)
        await rig.run(SECOND)
        assert asked.answer.results[0].error is ErrorCode.NONE
        assert rig.proposals == []

    simulate(story)


def test_a_follower_comes_back_when_it_has_caught_up(simulate: Any, a_batch: Any) -> None:
    """Out of the in-sync replicas, it copies what it missed, and is proposed at the fetch that shows it."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.stall(0, 1)
        rig.produce(0, P0, a_batch(10))
        await rig.run(60 * SECOND)
        assert isr_of(rig) == (0,)
        assert rig.ends(P0, 0, 1) == [(10, 10), (0, 0)]
        rig.heal(0, 1)
        await rig.run(3 * SECOND)
        assert isr_of(rig) == (0, 1)
        assert rig.ends(P0, 0, 1) == [(10, 10), (10, 10)]

    simulate(story)


def test_a_replica_being_added_counts_at_once(simulate: Any, a_batch: Any) -> None:
    """While a proposal to add a replica is under way the high watermark waits for it (KIP-497)."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.change(P0, isr=(0,))
        rig.obey = False
        rig.produce(0, P0, a_batch(), acks=1)
        await rig.run(SECOND)
        (_, proposal, _) = rig.proposals[0]
        assert proposal.isr == (0, 1)
        rig.stall(0, 1)
        rig.produce(0, P0, a_batch(), acks=1)
        await rig.run(100 * SECOND)
        rig.produce(0, P0, a_batch(), acks=1)
        assert rig.ends(P0, 0) == [(3, 1)]
        assert len(rig.proposals) == 1  # one at a time

    simulate(story)


def test_a_replica_being_removed_counts_still(simulate: Any, a_batch: Any) -> None:
    """Until the controller has confirmed that a replica is out, nothing is committed without it."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.obey = False
        rig.stall(0, 1)
        rig.produce(0, P0, a_batch())
        await rig.run(100 * SECOND)
        ((_, proposal, on_done),) = rig.proposals
        assert proposal.isr == (0,)
        assert rig.ends(P0, 0) == [(1, 0)]
        on_done(ErrorCode.NONE, PartitionState((0, 1), (0,), 0, 0, proposal.partition_epoch + 1))
        assert rig.ends(P0, 0) == [(1, 1)]

    simulate(story)


@pytest.mark.parametrize("error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_an_ineligible_replica_may_be_proposed_again(simulate: Any, a_batch: Any, error: ErrorCode) -> None:
    """After an error without a change the leader keeps the old ISR, and proposes at the next fetch, not at once."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.change(P0, isr=(0,))
        rig.obey = False
        await rig.run(SECOND)
        rig.proposals[0][2](error, None)
        assert len(rig.proposals) == 1
        await rig.run(SECOND)
        assert [entry[1].isr for entry in rig.proposals] == [(0, 1), (0, 1)]

    simulate(story)


def test_a_stale_proposal_waits_for_the_next_image(simulate: Any, a_batch: Any) -> None:
    """After INVALID_UPDATE_VERSION the leader proposes nothing until the next image."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.change(P0, isr=(0,))
        rig.obey = False
        await rig.run(SECOND)
        rig.proposals[0][2](ErrorCode.INVALID_UPDATE_VERSION, None)
        await rig.run(60 * SECOND)
        assert len(rig.proposals) == 1
        rig.change(P0, isr=(0,))
        await rig.run(SECOND)
        assert len(rig.proposals) == 2

    simulate(story)


def test_other_errors_are_proposed_again_at_once(simulate: Any) -> None:
    """After any other error the same proposal is sent again."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.change(P0, isr=(0,))
        rig.obey = False
        await rig.run(SECOND)
        rig.proposals[0][2](ErrorCode.UNKNOWN_SERVER_ERROR, None)
        assert len(rig.proposals) == 2
        assert rig.proposals[0][1] is rig.proposals[1][1]

    simulate(story)


def test_a_fenced_broker_is_not_proposed(simulate: Any) -> None:
    """A follower that copies but is fenced in the leader's image stays out until it is not."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        fenced = evolve(rig.image.brokers[1], fenced=True)
        rig.image = evolve(rig.image, brokers={**rig.image.brokers, 1: fenced})
        rig.change(P0, isr=(0,))
        await rig.run(5 * SECOND)
        assert rig.proposals == []
        rig.image = evolve(rig.image, brokers={**rig.image.brokers, 1: evolve(fenced, fenced=False)})
        rig.send_image([])
        await rig.run(5 * SECOND)
        assert isr_of(rig) == (0, 1)

    simulate(story)


def test_a_follower_joins_only_with_the_start_of_the_leaders_epoch(simulate: Any, a_batch: Any) -> None:
    """A replica that has the high watermark, but not all that the leader had when it began to lead, stays out."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1), min_insync_replicas="2")
        rig.stall(0, 1)
        rig.produce(0, P0, *[a_batch() for _ in range(5)], acks=1)
        rig.elect(P0, 0, (0,))
        await rig.run(SECOND)
        rig.obey = False
        rig.heal(0, 1)
        while rig.log(1, P0).end_offset < 5:
            assert rig.ends(P0, 0) == [(5, 0)]
            assert rig.proposals == []
            await rig.run(100)
        await rig.run(600)
        assert rig.proposals[0][1].isr == (0, 1)

    simulate(story, config=ReplicaConfig(replica_fetch_response_max_bytes=1))


def test_a_session_that_lost_count_begins_anew(simulate: Any, a_batch: Any) -> None:
    """A request out of turn is INVALID_FETCH_SESSION_EPOCH; the follower begins a new session with all partitions."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        answers: list[Any] = []
        stray = FetchRequest(500, 1, (), replica_id=1, replica_epoch=11, session_epoch=77)
        rig.managers[0].fetch(stray, answers.append)
        assert answers[0].error is ErrorCode.INVALID_FETCH_SESSION_EPOCH
        rig.wires[0].cut()
        await rig.run(3 * SECOND)
        rig.produce(0, P0, a_batch())
        await rig.run(SECOND)
        assert rig.ends(P0, 0, 1) == [(1, 1), (1, 1)]

    simulate(story)


def test_a_lost_answer_is_missed_while_there_is_trouble(simulate: Any, a_batch: Any) -> None:
    """A fetch without a response is given up after replica.socket.timeout.ms, and replication goes on."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.trouble(True)
        rig.wires[0].on_done = None  # the response is lost
        await rig.run(SECOND)
        rig.trouble(False)
        rig.produce(0, P0, a_batch())
        await rig.run(28 * SECOND)
        assert rig.ends(P0, 1) == [(0, 0)]
        await rig.run(3 * SECOND)
        assert rig.ends(P0, 1) == [(1, 1)]

    simulate(story)


def test_a_parked_poll_counts_as_renewed_until_there_is_trouble(simulate: Any, a_batch: Any) -> None:
    """A follower whose poll was parked long ago, and whose link stalls at 20 s, is out at 60 s and not at 45 s."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(20 * SECOND)
        rig.stall(0, 1)
        await rig.run(14 * SECOND)
        rig.produce(0, P0, a_batch())
        await rig.run(25 * SECOND)
        assert isr_of(rig) == (0, 1)
        await rig.run(2 * SECOND)
        assert isr_of(rig) == (0,)

    simulate(story)


def test_an_answer_to_a_proposal_that_was_overtaken_is_dropped(simulate: Any) -> None:
    """An image ends a proposal; the later response to it does not change the next proposal."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.change(P0, isr=(0,))
        rig.obey = False
        await rig.run(SECOND)
        rig.change(P0, isr=(0,))
        await rig.run(SECOND)
        assert len(rig.proposals) == 2
        rig.proposals[0][2](ErrorCode.INELIGIBLE_REPLICA, None)
        await rig.run(2 * SECOND)
        assert len(rig.proposals) == 2

    simulate(story)


def test_a_broker_epoch_that_the_image_lacks_is_not_proposed(simulate: Any, a_batch: Any) -> None:
    """A restarted follower fetches with its new broker epoch; it joins when the leader's image has that epoch too."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.crash(1)
        rig.change(P0, isr=(0,))
        rig.cut_off.add(0)
        rig.start(1)
        await rig.run(5 * SECOND)
        assert rig.proposals == []
        rig.cut_off.clear()
        rig.send_image([])
        await rig.run(5 * SECOND)
        assert isr_of(rig) == (0, 1)

    simulate(story)


def test_a_fetch_with_an_old_broker_epoch_is_refused(simulate: Any) -> None:
    """A Fetch with an older broker epoch than the image's must not count for the restarted follower (KIP-903)."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        answers: list[Any] = []
        asked = (FetchPartition(P0, 0, current_leader_epoch=0),)
        rig.managers[0].fetch(
            FetchRequest(500, 1, asked, replica_id=1, replica_epoch=10, session_epoch=0), answers.append
        )
        assert answers[0].partitions[0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER

    simulate(story)


def test_a_parked_fetch_is_answered_when_another_broker_leads(simulate: Any) -> None:
    """The old leader answers parked fetches, as the follower may not have the new image yet."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2))
        await rig.run(SECOND)
        rig.cut_off.add(1)
        before = len(rig.answered)
        rig.elect(P0, 2)
        await rig.run(10_000)
        errors = [data.error for answer in rig.answered[before:] for data in answer.partitions]
        assert ErrorCode.FENCED_LEADER_EPOCH in errors  # the fetch had the old epoch

    simulate(story)


def test_a_fault_during_a_backoff_does_not_break_the_connection(simulate: Any) -> None:
    """A follower that backs off has no request in flight; its later fetch is answered over the same connection."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.wires[0].cut()
        await rig.run(100_000)
        rig.trouble(True)
        await rig.run(60 * SECOND)
        assert [wire.open for wire in rig.wires] == [False, True]

    simulate(story)


def test_a_parked_fetch_is_answered_when_its_epoch_is_over(simulate: Any) -> None:
    """The same broker leads at a new epoch: a fetch with the old one is answered with FENCED_LEADER_EPOCH."""

    async def story(rig: Any) -> None:
        rig.cut_off.add(1)
        rig.topic("orders", (0, 1))
        answers: list[Any] = []
        asked = (FetchPartition(P0, 0, current_leader_epoch=0),)
        rig.managers[0].fetch(
            FetchRequest(500, 1, asked, replica_id=1, replica_epoch=11, session_epoch=0), answers.append
        )
        assert answers == []
        rig.elect(P0, 0)
        assert [data.error for data in answers[0].partitions] == [ErrorCode.FENCED_LEADER_EPOCH]

    simulate(story)


def test_a_partition_is_removed_from_the_session_of_a_stale_leader(simulate: Any, a_batch: Any) -> None:
    """The next fetch to a leader without the new image removes the partition from the session."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2), (0, 1, 2))
        await rig.run(5 * SECOND)
        rig.cut_off.add(0)
        rig.elect(P0, 1)
        rig.produce(0, TopicPartition("orders", 1), a_batch(), acks=1)
        await rig.run(SECOND)
        forgotten = [request.forgotten for _, client, server, request in rig.requests if (client, server) == (2, 0)]
        assert (P0,) in forgotten

    simulate(story)
