"""Groups of real consumers (confluent-kafka), timed: until all hold their share, and the others do when one left."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from math import ceil
from typing import Any

from attrs import frozen
from confluent_kafka import Consumer, TopicPartition

from benchmarks.serving_peers import PARTITIONS

SECONDS = 90
SESSION_MS = 6_000
"""The mock waits so long, less a second, for members that left before it completes a rebalance."""
POLL_SECONDS = 0.05


@frozen
class Times:
    """Seconds from the first consumer's construction until the group holds a stable assignment, and from the `close`
    of one until the others hold theirs (None for a group of one).
    """

    join: float
    recover: float | None


class _Member:
    """One consumer, polled by a thread of its own; what it holds, and since when."""

    def __init__(self, group: _Group, settings: dict[str, Any], topics: Sequence[str]) -> None:
        self._group = group
        self._over = threading.Event()
        self.held: frozenset[tuple[str, int]] = frozenset()
        self._consumer = Consumer(settings)
        self._consumer.subscribe(list(topics), on_assign=self._assigned, on_revoke=self._revoked)
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self) -> None:
        while not self._over.is_set():
            self._consumer.poll(POLL_SECONDS)

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._hold(self.held | _places(partitions))

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._hold(self.held - _places(partitions))

    def _hold(self, held: frozenset[tuple[str, int]]) -> None:
        with self._group.changed:
            self.held = held
            self._group.changed.notify_all()

    def stop(self) -> None:
        """End its thread, so that `close` is the caller's."""
        self._over.set()
        self._thread.join()

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()


def _places(partitions: list[TopicPartition]) -> frozenset[tuple[str, int]]:
    return frozenset((one.topic, one.partition) for one in partitions)


class _Group:
    def __init__(self, topics: Sequence[str], by_topic: bool) -> None:
        self._by_topic = by_topic
        self.changed = threading.Condition()
        self.members: list[_Member] = []
        self._partitions = len(topics) * PARTITIONS

    def await_share(self) -> float:
        """When every partition was held by one member, and evenly. Raises TimeoutError with what each holds."""
        with self.changed:
            if not self.changed.wait_for(self._is_shared, SECONDS):
                held = [len(member.held) for member in self.members]
                raise TimeoutError(f"after {SECONDS} s the members hold {held} of {self._partitions} partitions")
            return time.perf_counter()

    def _is_shared(self) -> bool:
        counts = sorted(len(member.held) for member in self.members)
        together = frozenset().union(*(member.held for member in self.members))
        if self._by_topic:
            counts = counts[-PARTITIONS:]
        return len(together) == sum(counts) == self._partitions and max(counts) - min(counts) <= 1


@frozen
class Pace:
    """When the members of a group start, and when one closes: seconds from the first one's construction.

    Each member has its instant in `starts`. One closes at the first of the instants `closes`, `closes + again`,
    `closes + 2 * again` … at which the group holds its shares.
    """

    starts: tuple[float, ...]
    closes: float
    again: float


def timed(
    bootstrap: str,
    group: str,
    members: int,
    topics: Sequence[str],
    heartbeat_ms: int = 0,
    *,
    by_topic: bool = False,
    pace: Pace | None = None,
) -> Times:
    """Form a group, close its first member that holds something, close the others. Raises TimeoutError.

    Without a heartbeat interval the group is one of the consumer protocol, where brokers decide it. `by_topic`: the
    server shares each topic by itself, so that no more members hold something than a topic has partitions. Without a
    pace all members start at once, and one closes as soon as the group holds its shares.
    """
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "log_level": 0,
    }
    if heartbeat_ms:
        settings |= {
            "heartbeat.interval.ms": heartbeat_ms,
            "session.timeout.ms": SESSION_MS,
            "partition.assignment.strategy": "roundrobin",  # evenly over topics of four partitions
        }
    else:
        settings["group.protocol"] = "consumer"
    whole = _Group(topics, by_topic)
    try:
        began = time.perf_counter()
        for number in range(members):
            if pace is not None:
                _sleep_until(began + pace.starts[number])
            whole.members.append(_Member(whole, settings, topics))
        join = whole.await_share() - began
        if members == 1:
            return Times(join, None)
        if pace is not None:
            _sleep_until(began + pace.closes + pace.again * max(0, ceil((join - pace.closes) / pace.again)))
        return Times(join, _recovery(whole))
    finally:
        for member in whole.members:
            member.stop()
        for member in whole.members:
            member.close()


def _sleep_until(instant: float) -> None:
    time.sleep(max(0.0, instant - time.perf_counter()))


def _recovery(whole: _Group) -> float:
    leaver = next(member for member in whole.members if member.held)
    whole.members.remove(leaver)
    leaver.stop()
    began = time.perf_counter()
    closing = threading.Thread(target=leaver.close)  # beside the others' work: it may last longer
    closing.start()
    try:
        return whole.await_share() - began
    finally:
        closing.join()
