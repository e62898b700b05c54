"""The short form of `benchmarks.serving`: that it measures what it says, on servers that need no Java."""

from __future__ import annotations

import time

import pytest

from benchmarks import serving_consumer, serving_load, serving_raw
from benchmarks.serving import TOPICS
from benchmarks.serving_groups import Pace, timed
from benchmarks.serving_peers import KAFKA, MOCK, OURS, PARTITIONS, started

DELAY_MS = 300


@pytest.mark.parametrize("name", [OURS, MOCK])
def test_raw_loops_are_answered_without_an_error(name: str) -> None:
    """Heartbeats of a member that joined, and batches produced and fetched, go round on our server and on the mock."""
    with started(name, DELAY_MS, TOPICS[:1]) as peer:
        assert serving_raw.heartbeats(peer.bootstrap, 0.2) > 0
        assert serving_raw.produce_fetch(peer.bootstrap, TOPICS[0], 0.2) > 0


def test_groups_are_timed_from_before_the_initial_delay() -> None:
    """A group of two is not there before the initial delay is over, and the one that is left gets everything soon."""
    with started(OURS, DELAY_MS, TOPICS[:2]) as peer:
        times = timed(peer.bootstrap, "timed", 2, TOPICS[:2], 200)
    assert times.join > DELAY_MS / 1_000
    assert times.recover is not None
    assert 0 < times.recover < 30


def test_raw_requests_that_fail_are_told() -> None:
    """A produce to a topic that is not there raises: a loop of errors is not a measurement."""
    with (
        started(OURS, DELAY_MS, TOPICS[:1]) as peer,
        pytest.raises(RuntimeError, match="Produce was answered with error 3"),
    ):
        serving_raw.produce_fetch(peer.bootstrap, "nowhere", 0.1)


def test_the_load_is_borne_and_measured() -> None:
    """Records are produced and read again by real clients on three brokers; CPU and memory of the server are read."""
    rows = serving_load.run(records=400, consumers=2, seconds=0.2, memory=1_000, names=(OURS,))
    found = {row["measure"]: row["value"] for row in rows}
    assert len(found) == 9
    assert found["records produced, replication 3"] > 0
    assert found["records consumed, replication 1"] > 0
    assert 0 < found["a heartbeat beside 2 consumers, p50: ms"] <= found["a heartbeat beside 2 consumers, p99: ms"]


def test_groups_of_the_consumer_protocol_are_timed() -> None:
    """Two members share by the brokers' assignment; the one that is left has everything a heartbeat later."""
    with started(OURS, 0, TOPICS[:2], more=dict.fromkeys(serving_consumer.BROKERS, 500)) as peer:
        times = timed(peer.bootstrap, "timed", 2, TOPICS[:2])
    assert times.recover is not None
    assert 0 < times.recover < 30


def test_members_with_a_pace_start_one_after_the_other_and_one_closes_at_its_instant() -> None:
    """A group of two, a second apart, cannot share earlier; the close waits for an instant at which they share."""
    with started(OURS, 0, TOPICS[:2], more=dict.fromkeys(serving_consumer.BROKERS, 500)) as peer:
        begun = time.perf_counter()
        times = timed(peer.bootstrap, "paced", 2, TOPICS[:2], pace=Pace((0.0, 1.0), 0.2, 3.0))
    assert 1 < times.join < 3.2
    assert times.recover is not None
    assert time.perf_counter() - begun > 3.2 + times.recover


def test_every_other_member_gets_a_partition_of_the_one_that_closes() -> None:
    """The last member's heartbeat ends a recovery, whatever the member ids are; a close is between two heartbeats."""
    for members in (5, 20):
        partitions = PARTITIONS * len(serving_consumer.topics(members))
        assert partitions % members == 0
        assert partitions // members >= members - 1
        paced = serving_consumer.pace(members)
        assert len(paced.starts) == members
        assert list(paced.starts) == sorted(set(paced.starts))
        assert 0 < paced.closes % paced.again < paced.starts[1]


def test_the_aim_is_judged_beside_kafka() -> None:
    """More than 100 ms above Kafka's median is a miss."""
    rows = [
        {"server": name, "measure": "join", "members": 5, "value": value, "all": [value]}
        for name, value in ((OURS, 1.2), (KAFKA, 1.0), (MOCK, 3.0))
    ]
    assert [serving_consumer.cells(row, rows)[4:] for row in rows] == [
        ("+200 ms", "NO"),
        ("+0 ms", ""),
        ("+2000 ms", ""),
    ]
