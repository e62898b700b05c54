"""Connections: the waits before a reconnect (reconnect.backoff.ms), and the requests meanwhile."""

from __future__ import annotations

from itertools import pairwise

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.links import SHARED
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from tests.helpers.members_fakes import DROP, HOLD, LATENCY_US, SECOND, parts

QUIET = {"enable.auto.commit": "false"}


def test_reconnecting_waits_longer_and_longer(on_bench):
    """A broker that refuses is tried after 50 ms, doubling up to 1 s, each ± 20 %."""

    async def body(bench):
        bench.net.bootstrap = (0,)
        bench.net.refuses = bench.net.unreachable = True
        bench.consumer.start()
        await bench.run_for(20)
        tried = list(dict.fromkeys(event.t_us for event in bench.emitted(Kind.REQUEST_FAILED)))
        waits = [round((b - a) / 1_000) for a, b in pairwise(tried)]
        assert min(waits[-8:]) >= 750
        assert len(tried) < 40

    on_bench(body, properties=QUIET | {"retry.backoff.ms": 1, "retry.backoff.max.ms": 1})


NODES = (0, 1, 2, 3, 4)


def _asked(on_bench, seed, *, refuses):
    """Return the brokers that a starting consumer connects to without a coordinator, in order."""
    nodes = []

    async def body(bench):
        bench.net.bootstrap = NODES
        bench.net.refuses = bench.net.unreachable = refuses
        bench.consumer.start()
        await bench.run_for(20)
        nodes.extend(link.node for link in bench.net.connections if link.purpose == SHARED)

    on_bench(body, seed=seed, properties=QUIET | {"reconnect.backoff.ms": 10_000, "reconnect.backoff.max.ms": 10_000})
    return nodes


def test_the_coordinator_is_asked_for_at_a_broker_drawn_by_lot(on_bench):
    """One connection is enough while it is open; each process draws its own broker."""
    asked = [_asked(on_bench, seed, refuses=False) for seed in range(12)]
    assert {len(nodes) for nodes in asked} == {1}
    assert len({nodes[0] for nodes in asked}) >= 3


def test_a_broker_that_cannot_be_reached_is_followed_by_the_next(on_bench):
    """After the first broker the others are tried once each, before the first is tried again."""
    for seed in range(4):
        first, *_ = nodes = _asked(on_bench, seed, refuses=True)
        assert nodes[: len(NODES)] == [(first + step) % len(NODES) for step in range(len(NODES))]


def test_an_answer_ends_the_waiting(on_bench):
    """After an answer the next loss has the shortest wait again."""

    async def body(bench):
        await bench.stable()
        for _ in range(3):
            before = len(bench.emitted(Kind.COORDINATOR_LOST))
            bench.broker.reply(Api.HEARTBEAT, DROP)
            await bench.loop.until(lambda seen=before: len(bench.emitted(Kind.COORDINATOR_LOST)) > seen, 5 * SECOND)
            lost, beats = bench.loop.now_us, len(bench.broker.all(Api.HEARTBEAT))
            await bench.loop.until(lambda seen=beats: len(bench.broker.all(Api.HEARTBEAT)) > seen, 5 * SECOND)
            assert 39_000 <= bench.loop.now_us - lost <= 75_000
            bench.data.append(parts(0)[0], 1)
            await bench.run_for(4)

    often = {"retry.backoff.ms": 10, "retry.backoff.max.ms": 10}
    on_bench(body, properties={"auto.commit.interval.ms": 1_000, **often})


def test_a_coordinator_not_to_be_connected_to_yet_is_looked_up_again(on_bench):
    """A coordinator whose reconnect backoff is longer than retry.backoff.ms counts as unavailable."""

    async def body(bench):
        await bench.stable()
        bench.net.refuses = True

        def gone(request):
            bench.net.break_all()
            return DROP

        bench.broker.reply(Api.HEARTBEAT, *[gone] * 6)
        await bench.run_for(30)
        assert bench.consumer.state == "STABLE"
        reasons = bench.reasons(Kind.COORDINATOR_LOST)
        assert "coordinator unavailable" in reasons

    on_bench(body, properties=QUIET)


def test_a_lost_connection_makes_metadata_old(on_bench):
    """A broker that disappears makes the client refresh metadata: a leader then sees new partitions at once."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(1)
        bench.broker.topics["t"] = 6
        bench.net.break_all()
        await bench.run_for(4)
        assert len(bench.consumer.assignment) == 6

    on_bench(body, properties=QUIET)


def test_not_coordinator_does_not_make_metadata_old(on_bench):
    """A disconnect by the client itself sends no Metadata request."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(1)
        asked = len(bench.broker.all(Api.METADATA))
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.NOT_COORDINATOR)
        await bench.run_for(6)
        assert len(bench.emitted(Kind.COORDINATOR_FOUND)) == 3
        assert len(bench.broker.all(Api.METADATA)) == asked

    on_bench(body, properties=QUIET)


@pytest.mark.parametrize(("profile", "metadata_first"), [("java", True), ("kafka-python-2.3", False)])
def test_a_look_up_that_came_to_nothing_waits_for_metadata_before_the_next(on_bench, profile, metadata_first):
    """In `poll` Java refreshes metadata after the backoff, and looks the coordinator up afterwards."""

    async def body(bench):
        bench.broker.reply(Api.FIND_COORDINATOR, *[ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2)
        await bench.stable()
        looked = bench.broker.times(Api.FIND_COORDINATOR)
        asked = bench.broker.times(Api.METADATA)
        assert len(looked) == 3
        answered = [at + 2 * LATENCY_US for at in asked[1:]]
        assert (answered == looked[1:]) is metadata_first

    on_bench(body, profile=profile, properties={"retry.backoff.ms": 200})


def test_a_look_up_for_an_application_that_is_away_waits_for_no_metadata(on_bench):
    """The heartbeat thread repeats the look-up after the backoff, with or without metadata."""

    async def body(bench):
        await bench.stable()
        bench.consumer.block_poll("9s")
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.NOT_COORDINATOR)
        bench.broker.reply(Api.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        bench.broker.reply(Api.METADATA, HOLD, HOLD)
        await bench.run_for(6)
        assert len(bench.broker.times(Api.FIND_COORDINATOR)) == 3

    on_bench(body)
