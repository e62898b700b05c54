"""Links of limited bandwidth: which messages wait, for how long, and which do not."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.network.bandwidth import Bandwidth, LinkDirection
from groupsim.cluster.network.faults import Limit, Match
from groupsim.eventloop.units import parse_bandwidth, show_bandwidth
from groupsim.protocol.messages.group import HeartbeatRequest, HeartbeatResponse
from groupsim.protocol.messages.sizes import request_bytes, response_bytes

ASKED = request_bytes(HeartbeatRequest("g", 1, "m"), "member-1")  # what `rig.beat` sends
ANSWERED = response_bytes(HeartbeatResponse())
MS = 1_000


def test_a_message_occupies_its_lane_for_its_bytes() -> None:
    """At 1,000 bytes a second 10 bytes take 10 ms, and what follows at once waits for them."""
    lane = LinkDirection(1_000)
    assert [lane.send(0, 10), lane.send(0, 5), lane.waits_us(0)] == [10 * MS, 15 * MS, 15 * MS]
    assert lane.waits_us(40 * MS) == 0
    assert lane.send(40 * MS, 10) == 10 * MS


def test_parts_of_a_microsecond_add_up() -> None:
    """Three bytes at 3,000,000 bytes a second take one microsecond together, not one each."""
    lane = LinkDirection(3_000_000)
    assert [lane.send(0, 1) for _ in range(6)] == [1, 1, 1, 2, 2, 2]


def test_a_link_that_carries_nothing_is_refused() -> None:
    """Less than a byte a second is no bandwidth."""
    with pytest.raises(ValueError, match="carries nothing"):
        Bandwidth(0)


@pytest.mark.parametrize(
    ("text", "bytes_a_second", "shown"),
    [
        ("300 kB/s", 300_000, "300 kB/s"),
        ("1.5MB/s", 1_500_000, "1,500 kB/s"),
        ("8 kbit/s", 1_000, "1 kB/s"),
        ("1 Gbit/s", 125_000_000, "125 MB/s"),
        ("7 B/s", 7, "7 B/s"),
    ],
)
def test_bandwidths_are_read_and_shown(text: str, bytes_a_second: int, shown: str) -> None:
    """Prefixes are powers of a thousand, and a byte has eight bits."""
    assert parse_bandwidth(text) == bytes_a_second
    assert show_bandwidth(bytes_a_second) == shown


@pytest.mark.parametrize("text", ["fast", "300", "300 KB/s", "0 B/s", "1.5 B/s", "1 bit/s", "-1 kB/s", 300])
def test_what_is_no_bandwidth_is_refused(text: object) -> None:
    """A unit is needed, with the prefix spelt as in the message, and a whole number of bytes a second."""
    with pytest.raises(ValueError, match=r"bandwidth|whole number"):
        parse_bandwidth(text)


def test_without_a_limit_nothing_waits(play: Any) -> None:
    """Two requests at once, on two connections, take one latency there and one back each."""

    async def story(rig: Any) -> None:
        links = [rig.connect("member-1"), rig.connect("member-1", 1)]
        await rig.loop.sleep(10_000)
        for link in links:
            rig.beat(link)
        await rig.loop.sleep(100_000)
        assert [at for at, _, _ in rig.got] == [12_000, 12_000]

    play(story)


async def two_wait_for_each_other(rig: Any, limit: Limit, one: Any, two: Any, other: Any) -> None:
    """Requests on three connections at once: under the limit two go one after the other, and the third at once."""
    await rig.loop.sleep(10_000)
    rig.network.inject(limit)
    for link, label in ((one, "one"), (two, "two"), (other, "other")):
        rig.beat(link, label)
    await rig.loop.sleep(1_000_000)
    there, back = ASKED * MS, ANSWERED * MS
    assert [(at - 10_000, label) for at, label, _ in rig.got] == [
        (2_000, "other"),
        (2_000 + there + back, "one"),
        (2_000 + 2 * there + back, "two"),
    ]


def test_connections_of_one_link_share_its_bandwidth(play: Any) -> None:
    """Simultaneous messages of two processes of a site leave one after the other; another process is not delayed."""

    async def story(rig: Any) -> None:
        links = rig.connect("member-1"), rig.connect("member-2", 1), rig.connect("member-3")
        await two_wait_for_each_other(rig, Limit(Match(host="member-1"), 1_000, ("member-2",)), *links)

    play(story)


def test_a_brokers_link_is_shared_by_all_its_clients(play: Any) -> None:
    """A limit of a broker makes the answers to two clients wait for each other, and none of another broker's."""

    async def story(rig: Any) -> None:
        links = rig.connect("member-1"), rig.connect("member-2"), rig.connect("member-1", 1)
        await two_wait_for_each_other(rig, Limit(Match(host="broker-0"), 1_000), *links)

    play(story)


def test_after_its_end_a_limit_delays_only_earlier_messages(play: Any) -> None:
    """A message sent before the end leaves at the limited rate; a later message of another connection does not wait."""

    async def story(rig: Any) -> None:
        one, two = rig.connect("member-1"), rig.connect("member-1", 1)
        await rig.loop.sleep(10_000)
        handle = rig.network.inject(Limit(Match(host="member-1"), 1_000))
        rig.beat(one, "before")
        handle.end()
        rig.beat(two, "after")
        await rig.loop.sleep(1_000_000)
        assert [(at - 10_000, label) for at, label, _ in rig.got] == [(2_000, "after"), (2_000 + ASKED * MS, "before")]

    play(story)


def test_a_queue_takes_its_time_though_its_connection_is_gone(play: Any) -> None:
    """A message of a closed connection stays on the link, and a message of another connection waits for it."""

    async def story(rig: Any) -> None:
        rig.network.inject(Limit(Match(host="member-1"), 1_000))
        one = rig.connect("member-1")
        await rig.loop.sleep(10_000)
        rig.beat(one)
        one.close()
        two = rig.connect("member-1", 1)
        rig.beat(two, "two")
        await rig.loop.sleep(1_000_000)
        assert [(at - 10_000, label) for at, label, _ in rig.got] == [(2_000 + (2 * ASKED + ANSWERED) * MS, "two")]

    play(story)
