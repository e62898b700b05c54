"""`groupsim serve --data-dir` ends and begins again: real clients go on where they were, whatever the end was."""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from groupsim.control import Control
from groupsim.protocol.basics import Api
from tests.helpers.tcp_stage import Client, text

SETTINGS = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
ENDS = [signal.SIGTERM, signal.SIGKILL]
PARTITIONS = 2
PARKED_MS = 60_000


class Life:
    """One life of a served cluster, in a process."""

    def __init__(self, folder: Path, port: int, brokers: int = 3) -> None:
        self.ready = folder / "ready.json"
        said = [word for name, value in SETTINGS.items() for word in ("--broker", f"{name}={value}")]
        where = ("--port", str(port), "--control-port", "0", "--brokers", str(brokers))
        files = ("--data-dir", str(folder / "data"), "--ready-file", str(self.ready))
        self._log = (folder / "log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "groupsim", "serve", *where, *files, *said], stdout=self._log, stderr=self._log
        )
        until(lambda: self._is_ready(folder), "it is ready")
        self.control = Control.connect(self.ready)
        self.bootstrap = self.control.bootstrap

    def _is_ready(self, folder: Path) -> bool:
        assert self.process.poll() is None, (folder / "log").read_text()[-3000:]
        return self.ready.exists() and json.loads(self.ready.read_text() or "{}").get("pid") == self.process.pid

    def end(self, how: signal.Signals) -> float:
        """End it; returns the seconds that took. A good end has code 0 and takes the ready file away."""
        if self.process.returncode is not None:
            return 0
        self.control.close()
        began = time.monotonic()
        self.process.send_signal(how)
        code = self.process.wait(60)
        took = time.monotonic() - began
        self._log.close()
        if how == signal.SIGTERM:
            assert (code, self.ready.exists()) == (0, False)
        return took


class Place:
    """A folder, ports, and the lives that follow each other there."""

    def __init__(self, folder: Path, brokers: int = 3) -> None:
        self._folder = folder
        self._brokers = brokers
        self._port = free_ports(brokers)
        self.life = Life(folder, self._port, brokers)
        self.client = {"bootstrap.servers": self.life.bootstrap, "log_level": 0}
        self.admin = AdminClient(self.client)

    def again(self, how: signal.Signals) -> float:
        """End this life and begin the next one at the same ports."""
        took = self.life.end(how)
        self.life = Life(self._folder, self._port, self._brokers)
        return took

    def topic(self, name: str, partitions: int = PARTITIONS) -> None:
        """A topic that clients can use."""
        self.admin.create_topics([NewTopic(name, partitions, min(3, self._brokers))])[name].result(30)
        until(
            lambda: all(one.leader >= 0 for one in self.admin.list_topics(name).topics[name].partitions.values()), name
        )

    def consumer(self, group: str, **more: Any) -> Consumer:
        """One that commits only when told to."""
        options = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "session.timeout.ms": 60_000}
        return Consumer({**self.client, "group.id": group, **options, **more})


@contextmanager
def placed(folder: Path, brokers: int = 3) -> Iterator[Place]:
    """A place whose last life ends with the block."""
    place = Place(folder, brokers)
    try:
        yield place
    finally:
        place.life.end(signal.SIGKILL)


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody listens on, below those of outgoing connections."""
    for first in range(20_000 + time.monotonic_ns() % 10_000, 32_000):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise AssertionError("no port is free")


def until(holds: Callable[[], object], what: str, seconds: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"after {seconds:g} s it is not so that {what}"
        time.sleep(0.02)


def polled(consumer: Consumer, count: int, seconds: float = 60) -> list[Message]:
    """So many records."""
    found: list[Message] = []
    end = time.monotonic() + seconds
    while len(found) < count:
        assert time.monotonic() < end, f"{len(found)} of {count} records after {seconds:g} s"
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message)
    return found


# --- what is told at the end -----------------------------------------------------------------------------------------


def test_parked_requests_are_answered_when_it_is_told_to_stop(tmp_path: Path) -> None:
    """A JoinGroup and a Fetch that would wait for a minute get answers, and then the process ends within seconds."""
    with placed(tmp_path, brokers=1) as place:
        place.topic("t", 1)
        port = int(place.life.bootstrap.rpartition(":")[2])
        with Client(port, "first") as first, Client(port, "second") as second, Client(port, "fetcher") as fetcher:
            until(lambda: first.join("parked") == 0, "there is a coordinator")
            body = struct.pack(">iiiibi", -1, PARKED_MS, 1, 1_000_000, 0, 1) + text("t")
            fetching = fetcher.send(Api.FETCH, 4, body + struct.pack(">iiqi", 1, 0, 0, 1_000_000))
            # What is sent later is read later, so with the join the fetch has come, too.
            joining = second.send(Api.JOIN_GROUP, 2, second.join_frame("parked"))
            until(lambda: place.life.control.group("parked")["state"] == "PreparingRebalance", "the join is parked")
            assert place.life.end(signal.SIGTERM) < PARKED_MS / 2_000
            assert second.receive()[0] == joining
            assert fetcher.receive()[0] == fetching
            assert fetcher.is_closed()


# --- clients that go on ----------------------------------------------------------------------------------------------


class Writing:
    """An idempotent producer that writes numbers for as long as it is told to."""

    def __init__(self, place: Place, topic: str) -> None:
        self._producer = Producer({**place.client, "enable.idempotence": True, "linger.ms": 5})
        self._topic = topic
        self._count = 0
        self.acknowledged: list[bytes] = []

    def some(self, count: int) -> None:
        """So many more, in both partitions."""
        for _ in range(count):
            value = b"%d" % self._count
            self._producer.produce(self._topic, value, partition=self._count % PARTITIONS, on_delivery=self._delivered)
            self._count += 1
            self._producer.poll(0)

    def _delivered(self, error: Any, message: Message) -> None:
        assert error is None, error
        self.acknowledged.append(message.value())

    def settle(self) -> None:
        """All of them are acknowledged."""
        assert self._producer.flush(60) == 0
        assert len(self.acknowledged) == self._count


def topic_facts(place: Place, name: str) -> tuple[str, str]:
    """Cluster id and the topic's id."""
    found = place.admin.describe_topics(TopicCollection([name]))[name].result(30)
    return place.life.control.cluster()["cluster_id"], str(found.topic_id)


@pytest.mark.slow
@pytest.mark.parametrize("how", ENDS, ids=["in-order", "killed"])
def test_clients_go_on_through_a_restart(tmp_path: Path, how: signal.Signals) -> None:
    """The same cluster and topic; members stay members, without a rebalance; every record once, commits kept."""
    with placed(tmp_path) as place:
        place.topic("t")
        writing = Writing(place, "t")
        rebalances: list[str] = []
        members = [place.consumer("g", **more) for more in ({}, {"group.instance.id": "fixed"})]
        for member in members:
            member.subscribe(["t"], on_assign=noted("assigned", rebalances), on_lost=noted("lost", rebalances))
        writing.some(100)
        writing.settle()
        read: list[Message] = []
        until(lambda: taken_all(members, read, 100) and stable(members), "all is read")
        for member in members:
            member.commit(asynchronous=False)
        before, described, facts = [*rebalances], place.life.control.group("g"), topic_facts(place, "t")
        writing.some(50)
        took = place.again(how)
        assert took < 30
        writing.some(50)
        writing.settle()
        until(lambda: taken_all(members, read, 200), "all is read after the restart")
        for member in members:
            member.commit(asynchronous=False)
        assert sorted({int(one.value()) for one in read}) == list(range(200))
        after = place.life.control.group("g")
        assert rebalances == before
        assert (after["generation"], ids(after)) == (described["generation"], ids(described))
        assert topic_facts(place, "t") == facts
        epochs = [one.leader_epoch() for one in read]
        assert max(epochs) > min(epochs)
        judge_everything(place, writing)
        for member in members:
            member.close()


def noted(what: str, into: list[str]) -> Callable[[Consumer, list[TopicPartition]], None]:
    """A callback that writes down that it was called."""
    return lambda _, __: into.append(what)


def ids(group: Mapping[str, Any]) -> list[str]:
    """The members of a group."""
    return sorted(one["member_id"] for one in group["members"])


def stable(members: list[Consumer]) -> bool:
    """Each holds one partition."""
    return all(len(one.assignment()) == 1 for one in members)


def taken(member: Consumer, into: list[Message]) -> bool:
    """Poll once."""
    message = member.poll(0.05)
    if message is not None and message.error() is None:
        into.append(message)
        return True
    return False


def taken_all(members: list[Consumer], into: list[Message], count: int) -> bool:
    """Poll each member; whether so many different records are there."""
    for member in members:
        taken(member, into)
    return len({(one.partition(), one.offset()) for one in into}) >= count


def judge_everything(place: Place, writing: Writing) -> None:
    """In the log is every acknowledged record once, in order; the group's commits are at the end."""
    reader = place.consumer("reader")
    reader.assign([TopicPartition("t", partition, 0) for partition in range(PARTITIONS)])
    found = polled(reader, len(writing.acknowledged))
    for partition in range(PARTITIONS):
        numbers = [int(one.value()) for one in found if one.partition() == partition]
        assert numbers == [number for number in range(len(found)) if number % PARTITIONS == partition]
        assert reader.get_watermark_offsets(TopicPartition("t", partition))[1] == len(numbers)
    reader.close()
    asked = place.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("g")])["g"].result(30)
    assert {(one.partition, one.offset) for one in asked.topic_partitions} == {(0, 100), (1, 100)}


@pytest.mark.slow
@pytest.mark.parametrize("how", ENDS, ids=["in-order", "killed"])
def test_an_open_transaction_goes_on_or_times_out(tmp_path: Path, how: signal.Signals) -> None:
    """One producer commits after the restart what it began before; one that is silent is aborted by its timeout."""
    with placed(tmp_path) as place:
        place.topic("t")
        goes_on, silent = (
            Producer({**place.client, "transactional.id": name, "transaction.timeout.ms": 300_000 if goes else 6_000})
            for name, goes in (("goes-on", True), ("silent", False))
        )
        for producer in (goes_on, silent):
            producer.init_transactions(30)
            producer.begin_transaction()
        goes_on.produce("t", b"before", partition=0)
        silent.produce("t", b"never", partition=1)
        assert goes_on.flush(30) == silent.flush(30) == 0
        place.again(how)
        goes_on.produce("t", b"after", partition=0)
        goes_on.commit_transaction(60)
        plain = Producer(place.client)
        plain.produce("t", b"behind", partition=1)
        assert plain.flush(30) == 0
        reader = place.consumer("reader")
        reader.assign([TopicPartition("t", partition, 0) for partition in range(PARTITIONS)])
        assert sorted(one.value() for one in polled(reader, 3)) == [b"after", b"before", b"behind"]
        goes_on.begin_transaction()
        goes_on.produce("t", b"next", partition=0)
        goes_on.commit_transaction(60)
        assert [one.value() for one in polled(reader, 1)] == [b"next"]
        reader.close()


def ends(place: Place) -> list[int] | None:
    """Where the partitions end; None while one has no leader, as right after a start."""
    latest = {TopicPartition("t", number): OffsetSpec.latest() for number in range(PARTITIONS)}
    try:
        return [one.result(60).offset for one in place.admin.list_offsets(latest).values()]
    except KafkaException:
        return None


@pytest.mark.slow
def test_what_was_acknowledged_is_there_after_each_of_three_kills(tmp_path: Path) -> None:
    """Each life is killed right after an acknowledgement of records and a commit; the group continues from there."""
    with placed(tmp_path, brokers=1) as place:
        place.topic("t")
        writing = Writing(place, "t")
        consumer = place.consumer("g")
        for life in range(3):
            writing.some(20)
            writing.settle()
            offset = 10 * (life + 1)
            consumer.commit(offsets=[TopicPartition("t", 0, offset)], asynchronous=False)
            place.again(signal.SIGKILL)
            found = consumer.committed([TopicPartition("t", 0)], timeout=60)
            assert found[0].offset == offset
            until(lambda: ends(place) is not None, "every partition has a leader")
            assert ends(place) == [offset, offset]
        consumer.close()
