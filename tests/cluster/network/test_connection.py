"""Connections behave like TCP."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.eventloop.distributions import constant, uniform
from groupsim.eventloop.trace.trace import Level
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.messages.group import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    MetadataRequest,
)


def test_first_request_waits_for_the_handshake(play: Any) -> None:
    """The first answer takes two round trips, one of them the handshake; the next takes one."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        rig.beat(connection, "first")
        await rig.loop.sleep(10_000)
        rig.beat(connection, "second")
        await rig.loop.sleep(10_000)
        assert [at for at, _, _ in rig.got] == [4_000, 12_000]

    play(story)


def test_requests_arrive_in_order_whatever_their_latencies(play: Any) -> None:
    """Segments of one direction never overtake each other, though each draws its own latency."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        for number in range(60):
            rig.send(connection, HeartbeatRequest("g", number, "m"), str(number))
            await rig.loop.sleep(100)
        await rig.loop.sleep(1_000_000)
        assert [request.generation_id for _, request in rig.coordinators[0].handled] == list(range(60))
        assert rig.labels() == [str(number) for number in range(60)]

    play(story, latency=uniform(1, 20_000))


def test_connections_do_not_wait_for_each_other(play: Any) -> None:
    """Different connections do overtake each other: each has latencies of its own."""

    async def story(rig: Any) -> None:
        for number in range(20):
            rig.beat(rig.connect(f"member-{number}"), str(number))
        await rig.loop.sleep(1_000_000)
        assert len(rig.got) == 20
        assert rig.labels() != [str(number) for number in range(20)]

    play(story, latency=uniform(1, 20_000))


def test_parked_request_holds_up_what_is_behind_it(play: Any) -> None:
    """The broker reads a heartbeat only after it has answered the JoinGroup before it on the same connection."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        rig.join(connection)
        rig.beat(connection)
        other = rig.connect(purpose="data")
        rig.beat(other, "other")
        await rig.loop.sleep(1_000_000)
        assert rig.labels() == ["other"]
        rig.coordinators[0].parked[0].answer(JoinGroupResponse())
        await rig.loop.sleep(10_000)
        assert rig.got[1:] == [
            (1_001_000, "join", JoinGroupResponse()),
            (1_001_500, "beat", HeartbeatResponse()),
        ]

    play(story, processing=constant(500))


def test_processing_time_rides_on_the_request(play: Any) -> None:
    """A request is handled after its latency and the broker's processing time."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        await rig.loop.sleep(10_000)
        rig.beat(connection)
        await rig.loop.sleep(10_000)
        assert [at for at, _ in rig.coordinators[0].handled] == [11_300]

    play(story, processing=constant(300))


def test_drawn_processing_times_do_not_reorder_requests(play: Any) -> None:
    """Requests of one connection are handled in order though each takes the broker a time of its own."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        for number in range(40):
            rig.send(connection, HeartbeatRequest("g", number, "m"), str(number))
        await rig.loop.sleep(1_000_000)
        handled = rig.coordinators[0].handled
        assert [request.generation_id for _, request in handled] == list(range(40))
        assert len({at for at, _ in handled}) > 1
        assert rig.labels() == [str(number) for number in range(40)]

    play(story, processing=uniform(1, 5_000))


def test_requests_behind_a_parked_one_are_handled_one_by_one(play: Any) -> None:
    """When the parked request is answered, each of those behind it takes its own processing time."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        rig.join(connection)
        for _ in range(3):
            rig.beat(connection)
        await rig.loop.sleep(1_000_000)
        rig.coordinators[0].parked[0].answer(JoinGroupResponse())
        await rig.loop.sleep(10_000)
        assert [at for at, _ in rig.coordinators[0].handled[1:]] == [1_000_500, 1_001_000, 1_001_500]

    play(story, processing=constant(500))


def test_answering_twice_is_an_error(play: Any) -> None:
    """A coordinator that answers the same request twice is caught at once."""

    async def story(rig: Any) -> None:
        rig.join(rig.connect())
        await rig.loop.sleep(10_000)
        call = rig.coordinators[0].parked[0]
        call.answer(JoinGroupResponse())
        with pytest.raises(RuntimeError, match="answered twice"):
            call.answer(JoinGroupResponse())

    play(story)


def test_timeout_breaks_the_connection(play: Any) -> None:
    """When one request times out everything in flight ends as Disconnected, in order, and the connection is closed."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        rig.join(connection, timeout_us=5_000_000)
        rig.beat(connection, timeout_us=60_000_000)
        await rig.loop.sleep(10_000_000)
        outcome = Disconnected("a request timed out", timed_out=True)
        assert rig.got == [(5_000_000, "join", outcome), (5_000_000, "beat", outcome)]
        assert not connection.open

    play(story)


def test_timeouts_count_from_each_request(play: Any) -> None:
    """A later request with the shorter timeout is the one that breaks the connection."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        rig.join(connection, timeout_us=60_000_000)
        await rig.loop.sleep(1_000_000)
        rig.beat(connection, timeout_us=2_000_000)
        await rig.loop.sleep(10_000_000)
        assert [(at, label) for at, label, _ in rig.got] == [(3_000_000, "join"), (3_000_000, "beat")]

    play(story)


def test_answered_requests_do_not_time_out(play: Any) -> None:
    """A connection whose heartbeats are answered in time stays open."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        for _ in range(40):
            rig.beat(connection, timeout_us=30_000_000)
            await rig.loop.sleep(3_000_000)
        assert connection.open
        assert [outcome for _, _, outcome in rig.got] == [HeartbeatResponse()] * 40

    play(story)


def test_request_given_up_is_still_carried_out(play: Any) -> None:
    """A request that timed out while the broker was paused is handled when it resumes; the answer reaches no client."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        await rig.loop.sleep(10_000)
        broker = rig.brokers[0].host
        broker.pause()
        rig.beat(connection, timeout_us=1_000_000)
        await rig.loop.sleep(5_000_000)
        assert [label for _, label, _ in rig.got] == ["beat"]
        broker.resume()
        await rig.loop.sleep(10_000)
        assert len(rig.coordinators[0].handled) == 1
        assert len(rig.got) == 1
        assert rig.kinds()[-1] == "request.dropped"

    play(story)


def test_cut_connection_ends_what_is_in_flight(play: Any) -> None:
    """The client notices a cut after a latency; an answer in between reaches no client, as the trace says."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        rig.join(connection)
        await rig.loop.sleep(10_000)
        connection.cut("connection reset")
        rig.coordinators[0].parked[0].answer(JoinGroupResponse())
        assert connection.open
        await rig.loop.sleep(10_000)
        assert rig.got == [(11_000, "join", Disconnected("connection reset"))]
        assert not connection.open
        assert rig.kinds()[-1] == "request.dropped"

    play(story)


def test_cut_loses_what_is_on_the_wire(play: Any) -> None:
    """A request on its way when the connection is cut never arrives."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        await rig.loop.sleep(10_000)
        rig.beat(connection)
        await rig.loop.sleep(500)
        connection.cut("connection reset")
        await rig.loop.sleep(10_000)
        assert rig.coordinators[0].handled == []
        assert [(at, label) for at, label, _ in rig.got] == [(11_500, "beat")]

    play(story)


def test_sending_on_a_closed_connection_fails_later(play: Any) -> None:
    """`on_done` is never called from within `send`, not even when there is nothing to send on."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        connection.close()
        rig.beat(connection)
        assert rig.got == []
        await rig.loop.sleep(1)
        assert [type(outcome) for _, _, outcome in rig.got] == [Disconnected]

    play(story)


def test_close_is_silent_and_what_was_sent_arrives(play: Any) -> None:
    """Closing calls no callback, and a request sent just before still reaches the broker."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        rig.beat(connection)
        connection.close()
        await rig.loop.sleep(40_000_000)
        assert len(rig.coordinators[0].handled) == 1
        assert rig.got == []
        assert rig.network.connections == ()

    play(story)


def test_paused_client_gets_its_answers_late(play: Any) -> None:
    """Answers to a process that stands still wait in its socket buffer, in order."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        await rig.loop.sleep(10_000)
        rig.beat(connection, "first")
        rig.beat(connection, "second")
        rig.loop.host("member-1").pause()
        await rig.loop.sleep(20_000_000)
        assert rig.got == []
        rig.loop.host("member-1").resume()
        await rig.loop.sleep(10)
        assert rig.labels() == ["first", "second"]

    play(story)


def test_crashed_client_hears_nothing_even_when_it_is_back(play: Any) -> None:
    """The answer to a process that crashed is dropped, also when a new process runs under its name."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        rig.join(connection)
        await rig.loop.sleep(10_000)
        host = rig.loop.host("member-1")
        host.crash()
        host.start()
        rig.coordinators[0].parked[0].answer(JoinGroupResponse())
        await rig.loop.sleep(10_000)
        assert rig.got == []
        assert rig.kinds()[-1] == "request.dropped"

    play(story)


def test_dead_broker_refuses_after_one_round_trip(play: Any) -> None:
    """A connection to a broker that is down breaks after one round trip, with all that was sent on it."""

    async def story(rig: Any) -> None:
        rig.brokers[1].host.crash()
        connection = rig.connect(node=1)
        rig.beat(connection)
        await rig.loop.sleep(10_000)
        assert rig.got == [(2_000, "beat", Disconnected("connection refused"))]

    play(story)


def test_unknown_node_is_an_error(play: Any) -> None:
    """Connecting to a broker that does not exist names those that do."""

    async def story(rig: Any) -> None:
        with pytest.raises(LookupError, match=r"broker 7; there are \[0, 1, 2\]"):
            rig.connect(node=7)

    play(story)


def test_correlation_ids_name_one_request_of_a_host(play: Any) -> None:
    """`next_correlation` is the id that `send` will return, and connections of one host share the sequence."""

    async def story(rig: Any) -> None:
        one, two = rig.connect(), rig.connect(purpose="data")
        expected = one.next_correlation
        assert rig.beat(one) == expected
        assert rig.beat(two) == expected + 1 == one.next_correlation - 1

    play(story)


def test_events_of_an_ordinary_request(play: Any) -> None:
    """The broker emits request and response, each the cause of the next event, with the time of waiting."""

    async def story(rig: Any) -> None:
        rig.join(rig.connect())
        await rig.loop.sleep(10_000)
        rig.coordinators[0].parked[0].answer(JoinGroupResponse(generation_id=3, member_id="m-1"))

    received, sent = play(story)
    assert (received.kind, received.t_us, received.host, received.api) == (
        "request.received",
        3_000,
        "broker-0",
        "JoinGroup",
    )
    assert (sent.kind, sent.member, sent.generation, sent.payload["waited_us"]) == ("response.sent", "m-1", 3, 7_000)
    assert sent.correlation == received.correlation


@pytest.mark.parametrize(("level", "count"), [(Level.NORMAL, 0), (Level.FULL, 2)])
def test_quiet_heartbeats_are_told_only_on_request(play: Any, level: Level, count: int) -> None:
    """A heartbeat answered well is in the trace only when heartbeats are asked for."""

    async def story(rig: Any) -> None:
        rig.beat(rig.connect())
        await rig.loop.sleep(10_000)

    assert len(play(story, level=level)) == count


def test_broker_answers_metadata_and_find_coordinator(play: Any) -> None:
    """Metadata and FindCoordinator never reach the coordinator; `my-group` hashes to partition 12, led by 12 mod 3."""

    async def story(rig: Any) -> None:
        cluster = Cluster(rig.loop, ClusterConfig.with_counted_logs())
        cluster.create_topic("orders", 2)
        handled: list[Any] = []
        cluster.brokers[0].groups.handle = handled.append
        connection = cluster.network.connect("member-1", "member-1", 0, "coordinator")
        rig.send(connection, MetadataRequest(("orders", "none")))
        rig.send(connection, FindCoordinatorRequest("my-group"))
        await rig.loop.sleep(10_000)
        (_, _, metadata), (_, _, found) = rig.got
        assert [(t.name, t.error.name, len(t.partitions)) for t in metadata.topics] == [
            ("none", "UNKNOWN_TOPIC_OR_PARTITION", 0),
            ("orders", "NONE", 2),
        ]
        assert (found.node, found.host) == (0, "broker-0")
        assert handled == []

    play(story)


def test_latencies_of_a_connection_do_not_depend_on_others(play: Any) -> None:
    """Another member's requests shift no draw of this one: both runs have the same times."""

    def times(others: int) -> list[int]:
        found: list[int] = []

        async def story(rig: Any) -> None:
            for number in range(others):
                rig.beat(rig.connect(f"other-{number}"), "other")
            connection = rig.connect()
            for _ in range(5):
                rig.beat(connection, "mine")
                await rig.loop.sleep(1_000_000)
            found.extend(at for at, label, _ in rig.got if label == "mine")

        play(story, latency=uniform(1, 20_000))
        return found

    assert times(0) == times(7)
