"""Sessions over the simulated network: renewal, expiry at a tick, ephemeral nodes, events before responses."""

from __future__ import annotations

from typing import Any

from groupsim.cluster.network import faults
from groupsim.cluster.zookeeper.kafka import register_brokers, write_topics
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.messages.zookeeper import (
    CloseSession,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Ping,
    SetData,
    WatchEvent,
    ZkError,
)

SECOND = 1_000_000
TICK = 2 * SECOND


def test_a_timeout_is_held_between_two_and_twenty_ticks(on_bench: Any) -> None:
    """1 s becomes 4 s, an hour becomes 40 s, 6 s stay."""

    async def story(bench: Any) -> None:
        given = [(await bench.connect(f"c{asked}").open(asked)).timeout_ms for asked in (1_000, 6_000, 3_600_000)]
        assert given == [4_000, 6_000, 40_000]

    on_bench(story)


def test_a_silent_session_ends_at_the_next_tick_after_its_timeout(on_bench: Any) -> None:
    """With its last request at about 3 s, a session of 6 s expires at 10 s: at a tick, and not before 9 s."""

    async def story(bench: Any) -> None:
        client = await bench.client()
        await client.ask(Create("/e", ephemeral=True))
        await bench.loop.sleep(3 * SECOND - bench.loop.now_us)
        await client.ask(Ping())
        await bench.loop.sleep(10 * SECOND - 1 - bench.loop.now_us)
        assert bench.server.tree.find("/e") is not None
        await bench.loop.sleep(1)
        assert bench.server.tree.find("/e") is None

    on_bench(story)


def test_sessions_that_fell_silent_apart_end_together(on_bench: Any) -> None:
    """Two sessions begun a second apart, within one bucket, end at one instant."""

    async def story(bench: Any) -> None:
        first = await bench.client("one")
        await bench.loop.sleep(SECOND)
        second = await bench.client("two")
        for client, path in ((first, "/1"), (second, "/2")):
            await client.ask(Create(path, ephemeral=True))
        await bench.loop.sleep(8 * SECOND - 1 - bench.loop.now_us)
        assert bench.server.tree.children("/")[:2] == ("1", "2")
        await bench.loop.sleep(1)
        assert bench.server.tree.find("/1") is bench.server.tree.find("/2") is None

    on_bench(story)


def test_any_request_keeps_a_session_alive(on_bench: Any) -> None:
    """Reads every five seconds are enough for a session of six."""

    async def story(bench: Any) -> None:
        client = await bench.client()
        for _ in range(10):
            await bench.loop.sleep(5 * SECOND)
            assert (await client.ask(Exists("/brokers"))).error is ZkError.OK

    on_bench(story)


def test_closing_a_session_removes_its_nodes_at_once(on_bench: Any) -> None:
    """Ephemeral nodes go, others stay."""

    async def story(bench: Any) -> None:
        client = await bench.client()
        await client.ask(Create("/e", ephemeral=True))
        await client.ask(Create("/p"))
        await client.ask(CloseSession())
        assert (bench.server.tree.find("/e"), bench.server.tree.get("/p").owner) == (None, 0)

    on_bench(story)


def test_a_session_goes_on_over_another_connection(on_bench: Any) -> None:
    """The nodes stay, and the old connection is closed."""

    async def story(bench: Any) -> None:
        client = bench.connect()
        session = (await client.open()).session
        await client.ask(Create("/e", ephemeral=True))
        again = bench.connect()
        assert (await again.open(session=session)).session == session
        await bench.loop.sleep(20 * 1_000)
        assert len(client.losses) == 1
        assert bench.server.tree.get("/e").owner == session

    on_bench(story)


def test_an_expired_session_is_refused(on_bench: Any) -> None:
    """Its connection is closed when it expires, and a reconnect is answered with SESSION_EXPIRED."""

    async def story(bench: Any) -> None:
        client = bench.connect()
        session = (await client.open()).session
        await bench.loop.sleep(9 * SECOND)
        assert isinstance(client.losses[0], Disconnected)
        assert (await bench.connect().open(session=session)).error is ZkError.SESSION_EXPIRED

    on_bench(story)


def test_a_paused_client_loses_its_session_and_learns_of_it_when_it_is_back(on_bench: Any) -> None:
    """While its host is paused, all other clients get the end of its session."""

    async def story(bench: Any) -> None:
        client = await bench.client("c")
        await client.ask(Create("/e", ephemeral=True))
        bench.loop.host("c").pause()
        await bench.loop.sleep(9 * SECOND)
        assert bench.server.tree.find("/e") is None
        assert client.losses == []
        bench.loop.host("c").resume()
        await bench.loop.sleep(1)
        assert len(client.losses) == 1

    on_bench(story)


def test_an_event_comes_before_the_answer_that_shows_the_change(on_bench: Any) -> None:
    """For a hundred changes by another client, the watcher gets each event before it can read the change."""

    async def story(bench: Any) -> None:
        writer, reader = await bench.client("w"), await bench.client("r")
        await writer.ask(Create("/a"))
        for number in range(100):
            await reader.ask(GetData("/a", watch=True))
            bench.loop.host("w").start_soon(writer.ask, SetData("/a", str(number)), name="write")
            while (await reader.ask(GetData("/a"))).data != str(number):
                pass
            assert isinstance(reader.received[-2], WatchEvent) or isinstance(reader.received[-3], WatchEvent)
            assert len(reader.events) == number + 1

    on_bench(story)


def test_a_refused_write_says_why(on_bench: Any) -> None:
    """NO_NODE, NODE_EXISTS, BAD_VERSION, NOT_EMPTY over the wire."""

    async def story(bench: Any) -> None:
        client = await bench.client()
        await client.ask(Create("/a"))
        await client.ask(Create("/a/b"))
        asked = [Create("/x/y"), Create("/a"), SetData("/a", "", 5), Delete("/a"), GetChildren("/x")]
        errors = [(await client.ask(one)).error.name for one in asked]
        assert errors == ["NO_NODE", "NODE_EXISTS", "BAD_VERSION", "NOT_EMPTY", "NO_NODE"]

    on_bench(story)


def test_a_frozen_server_finds_what_came_meanwhile_before_it_ends_sessions(on_bench: Any) -> None:
    """Pings in its buffers count: the server's own pause expires no session."""

    async def story(bench: Any) -> None:
        client = await bench.client()
        await client.ask(Create("/e", ephemeral=True))
        bench.server.host.pause()
        bench.loop.call_at(4 * SECOND, lambda _: client.link.send(Ping(), lambda outcome: None, 3_600 * SECOND))
        await bench.loop.sleep(20 * SECOND)
        bench.server.host.resume()
        await bench.loop.sleep(SECOND)
        assert bench.server.tree.find("/e") is not None

    on_bench(story)


def test_a_host_can_be_cut_off_from_zookeeper_alone(on_bench: Any) -> None:
    """Faults take connections to it by their purpose."""

    async def story(bench: Any) -> None:
        client = await bench.client("c")
        await client.ask(Create("/e", ephemeral=True))
        bench.cluster.network.inject(faults.Isolate(faults.Match(host="c", purpose="zookeeper"), 9 * SECOND))
        client.link.send(Ping(), lambda outcome: None, 3_600 * SECOND)
        await bench.loop.sleep(8 * SECOND)
        assert bench.server.tree.find("/e") is None

    on_bench(story)


def test_members_are_emitted_in_the_trace(on_bench: Any) -> None:
    """A node under a group's ids is a member from its creation to its deletion."""

    async def story(bench: Any) -> None:
        client = await bench.client("c")
        for path in ("/consumers/g", "/consumers/g/ids"):
            await client.ask(Create(path))
        await client.ask(Create("/consumers/g/ids/g_c-0-1", ephemeral=True))
        await bench.loop.sleep(9 * SECOND)
        emitted = [
            (e.kind.value, e.group, e.member, e.reason) for e in bench.events if e.kind.value.startswith("member.")
        ]
        assert emitted == [
            ("member.added", "g", "g_c-0-1", None),
            ("member.removed", "g", "g_c-0-1", "session-expired"),
        ]

    on_bench(story)


def test_topics_that_did_not_change_wake_nobody(on_bench: Any) -> None:
    """Only the topic that grew fires its watch."""

    async def story(bench: Any) -> None:
        for name in ("a", "b"):
            bench.cluster.create_topic(name, 2)
        write_topics(bench.server, bench.cluster.brokers[0].metadata)
        register_brokers(bench.server, [0, 1])
        client = await bench.client()
        for name in ("a", "b"):
            await client.ask(GetData(f"/brokers/topics/{name}", watch=True))
        bench.cluster.add_partitions("b", 3)
        write_topics(bench.server, bench.cluster.brokers[0].metadata)
        await bench.loop.sleep(SECOND)
        assert [event.path for event in client.events] == ["/brokers/topics/b"]
        assert bench.server.tree.children("/brokers/ids") == ("0", "1")

    on_bench(story)
