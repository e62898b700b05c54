"""Traffic of every kind that ends in a log, by confluent-kafka, and what the clients say of it while the broker lives.

Topics in every codec, with keys, headers and nulls; idempotent and transactional producers, committed and aborted; a
compacted topic; groups that commit, commit anew, in transactions, are deleted, leave, or are still there at the end.
Segments are short because the records' own timestamps, 20 ms apart, roll them (`segment.ms`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from attrs import field, frozen
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 2
RECORDS = 300
STEP_MS = 20
ROLL_MS = 500
"""Of the broker's own topics: their records have the time of day."""
CLEANER_MS = 200
SHORT = {"segment.ms": "1000", "index.interval.bytes": "300"}
COMPACTED = {**SHORT, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
BROKER = {
    "auto.create.topics.enable": "false",
    "default.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "log.cleaner.backoff.ms": str(CLEANER_MS),
    "log.roll.ms": str(ROLL_MS),
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
"""Of either peer."""

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """One record as a client, or a log, has it; `timestamp_ms` since 1970."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


@frozen
class Truth:
    """What clients said before the broker stopped."""

    records: Mapping[str, list[Record]]  # by topic, read_uncommitted
    committed: Mapping[str, list[Record]]  # by topic, read_committed
    ends: Mapping[tuple[str, int], int]
    times: Mapping[tuple[str, int], list[tuple[int, int]]]  # asked for, found (-1: none is so late)
    offsets: Mapping[str, dict[tuple[str, int], tuple[int, str]]]  # by group
    members: Mapping[str, list[tuple[str, str | None, str]]]  # by group: id, instance, client id
    open: list[Consumer] = field(factory=list)

    def close(self) -> None:
        """End the clients that were left open."""
        for consumer in self.open:
            consumer.close()


class Traffic:
    """Sends it all; `truth` is what is there then."""

    def __init__(self, bootstrap: str) -> None:
        self._to = {"bootstrap.servers": bootstrap, "log_level": 0}
        self.admin = AdminClient(self._to)
        self._began_ms = int(time.time() * 1000) - 600_000
        self._open: list[Consumer] = []
        self.topics: list[str] = []

    def send(self) -> None:
        """Everything."""
        for codec in CODECS:
            self.create(f"plain-{codec}", SHORT)
            self._plain(codec)
        self.create("latest", COMPACTED)
        self._latest()
        self.create("moved", SHORT)
        self._transactions()
        self._commits()
        self._deletions()
        self._members()

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """A topic that clients can use."""
        wish = NewTopic(name, PARTITIONS, 1, config=dict(config))
        for future in self.admin.create_topics([wish], request_timeout=20).values():
            future.result()
        until(lambda: self._is_led(name), f"{name} is led")
        self.topics.append(name)

    def _is_led(self, name: str) -> bool:
        found = self.admin.list_topics(name, timeout=10).topics[name].partitions
        return len(found) == PARTITIONS and all(one.leader >= 0 for one in found.values())

    # --- producers -------------------------------------------------------------------------------------------------

    def _producer(self, **more: Any) -> Producer:
        return Producer({**self._to, "linger.ms": 20, "batch.num.messages": 10, **more})

    def _plain(self, codec: str) -> None:
        """Records in one codec, of an idempotent producer in every other one."""
        producer = self._producer(**{"compression.codec": codec, "enable.idempotence": CODECS.index(codec) % 2 == 1})
        for number in range(RECORDS):
            self._produce(producer, f"plain-{codec}", number, value=None if number % 11 == 0 else b"v" * (number % 200))
        settled(producer)

    def _latest(self) -> None:
        """Twenty keys, over and over; the last word on two of them is a tombstone."""
        producer = self._producer()
        for number in range(RECORDS):
            gone = number >= RECORDS - 20 and number % 20 < 2
            value = None if gone else b"%d" % number
            self._produce(producer, "latest", number, key=b"key-%d" % (number % 20), value=value)
        settled(producer)

    def _produce(self, producer: Producer, topic: str, number: int, *, key: Any = ..., value: bytes | None) -> None:
        if key is ...:
            key = None if number % 7 == 0 else b"key-%d" % number
        headers = [("trace", b"\x00\x01"), ("none", None)] if number % 5 == 0 else []
        at = self._began_ms + number * STEP_MS
        producer.produce(topic, value, key, number % PARTITIONS, timestamp=at, headers=headers)

    def _transactions(self) -> None:
        """Five transactions, every other one aborted; each moves a group's offset."""
        producer = self._producer(**{"transactional.id": "mover"})
        group = Consumer({**self._to, "group.id": "g-moves"})
        producer.init_transactions(30)
        for number in range(5):
            producer.begin_transaction()
            for index in range(20):
                self._produce(producer, "moved", number * 20 + index, value=b"tx-%d-%d" % (number, index))
            place = [TopicPartition("plain-none", 0, 10 + number)]
            producer.send_offsets_to_transaction(place, group.consumer_group_metadata(), 30)
            settled(producer)
            if number % 2:
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
        group.close()

    # --- groups ----------------------------------------------------------------------------------------------------

    def _commits(self) -> None:
        """A group without members commits again and again, the last time into another segment.

        What it said of partition 0 stays live in the segment before, so that compaction leaves two of them.
        """
        consumer = Consumer({**self._to, "group.id": "g-again"})

        def commit(partition: int, offset: int) -> None:
            place = TopicPartition("plain-gzip", partition, offset, metadata=f"at {offset}")
            consumer.commit(offsets=[place], asynchronous=False)

        for offset in range(12):
            for partition in range(PARTITIONS):
                commit(partition, offset)
        time.sleep(ROLL_MS / 1000 + 0.2)
        commit(1, 12)
        consumer.close()

    def _deletions(self) -> None:
        """A group that is deleted, and offsets of a topic that is."""
        self.create("brief", {})
        for group in ("g-doomed", "g-again"):
            consumer = Consumer({**self._to, "group.id": group})
            consumer.commit(offsets=[TopicPartition("brief", 1, 0)], asynchronous=False)
            consumer.close()
        self.admin.delete_consumer_groups(["g-doomed"], request_timeout=20)["g-doomed"].result()
        self.admin.delete_topics(["brief"], request_timeout=20)["brief"].result()
        self.topics.remove("brief")
        until(lambda: ("brief", 1) not in self.offsets("g-again"), "the offsets of a deleted topic go")

    def _members(self) -> None:
        """Two members read and leave; a static one and a dynamic one are still there at the end."""
        leavers = [self._member("g-leaves", client=f"leaver-{number}") for number in range(2)]
        self._read_all(leavers, "plain-none")
        for consumer in leavers:
            consumer.close()
        stayers = [
            self._member("g-stays", client="stayer"),
            self._member("g-stays", client="fixed", **{"group.instance.id": "i-1"}),
        ]
        self._open += stayers
        self._read_all(stayers, "plain-none")

    def send_of_the_new_kind(self) -> None:
        """A member of a group of the protocol of KIP-848, which is still there at the end."""
        member = self._member("g-next", client="next", **{"group.protocol": "consumer"})
        self._open.append(member)
        until(lambda: member.poll(0.05) is not None and len(member.assignment()) == PARTITIONS, "it has all partitions")
        member.commit(offsets=[TopicPartition("plain-none", 1, 77)], asynchronous=False)

    def _member(self, group: str, *, client: str, **more: Any) -> Consumer:
        config = {"group.id": group, "client.id": client, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = Consumer({**self._to, **config, **more})
        consumer.subscribe(["plain-none"])
        return consumer

    def _read_all(self, consumers: Sequence[Consumer], topic: str) -> None:
        """All of them hold something, and what they have read is committed to its end."""

        def done() -> bool:
            for consumer in consumers:
                message = consumer.poll(0.05)
                if message is not None and message.error() is None:
                    try:
                        consumer.commit(message, asynchronous=False)
                    except KafkaException:  # a rebalance is on
                        continue
            return all(len(one.assignment()) == 1 for one in consumers)

        until(done, f"all members hold a partition of {topic}")
        for consumer in consumers:
            for place in consumer.assignment():
                end = consumer.get_watermark_offsets(place, timeout=10)[1]
                read = TopicPartition(topic, place.partition, end, metadata="all read")
                consumer.commit(offsets=[read], asynchronous=False)

    # --- what there is ---------------------------------------------------------------------------------------------

    def truth(self, groups: Iterable[str]) -> Truth:
        """What clients are told when the cleaner has come to rest."""
        records = self._at_rest()
        return Truth(
            records,
            self.consumed("read_committed"),
            self._ends(),
            {
                (topic, partition): self._times(topic, partition, records[topic])
                for topic in self.topics
                for partition in range(PARTITIONS)
            },
            {group: self.offsets(group) for group in groups},
            {group: self._described(group) for group in groups},
            self._open,
        )

    def _at_rest(self) -> dict[str, list[Record]]:
        """Every topic, when the compacted one has been cleaned and was the same some turns of the cleaner later."""
        found = self.consumed("read_uncommitted")

        def is_at_rest() -> bool:
            before = found["latest"]
            time.sleep(5 * CLEANER_MS / 1000)
            found.update(self.consumed("read_uncommitted"))
            return found["latest"] == before and len(before) < RECORDS

        until(is_at_rest, "the compacted topic has been cleaned")
        return found

    def consumed(self, isolation: str) -> dict[str, list[Record]]:
        """Every topic from its beginning to its end."""
        options = {"enable.auto.commit": False, "enable.partition.eof": True, "isolation.level": isolation}
        consumer = Consumer({**self._to, "group.id": "none", **options})
        places = [TopicPartition(topic, partition, 0) for topic in self.topics for partition in range(PARTITIONS)]
        consumer.assign(places)
        found: dict[str, list[Record]] = {topic: [] for topic in self.topics}
        ended: set[tuple[str, int]] = set()
        end = time.monotonic() + 60
        while len(ended) < len(places):
            assert time.monotonic() < end, f"after 60 s only {ended} were read to their ends"
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error():
                ended.add((message.topic(), message.partition()))
                continue
            headers = tuple((name, value) for name, value in message.headers() or ())
            place = (message.partition(), message.offset(), message.timestamp()[1])
            found[message.topic()].append(Record(*place, message.key(), message.value(), headers))
        consumer.close()
        return {topic: sorted(records, key=lambda one: one[:2]) for topic, records in found.items()}

    def _ends(self) -> dict[tuple[str, int], int]:
        return {
            (one.topic, one.partition): offset
            for one, offset in self._listed([(topic, p) for topic in self.topics for p in range(PARTITIONS)])
        }

    def _listed(self, places: Iterable[tuple[str, int]], spec: Any = None) -> list[tuple[TopicPartition, int]]:
        asked = {TopicPartition(*place): spec or OffsetSpec.latest() for place in places}
        return [(one, f.result().offset) for one, f in self.admin.list_offsets(asked, request_timeout=20).items()]

    def _times(self, topic: str, partition: int, records: list[Record]) -> list[tuple[int, int]]:
        times = sorted({one.timestamp_ms for one in records if one.partition == partition})
        some = times[:: max(len(times) // 12, 1)]
        asked = [times[0] - 1000, *some, times[len(times) // 2] + 1, times[-1], times[-1] + 1]
        return [(at, self._listed([(topic, partition)], OffsetSpec.for_timestamp(at))[0][1]) for at in asked]

    def offsets(self, group: str) -> dict[tuple[str, int], tuple[int, str]]:
        """What a group has committed, with its metadata."""
        asked = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=20)
        places = asked[group].result().topic_partitions
        return {(one.topic, one.partition): (one.offset, one.metadata or "") for one in places}

    def _described(self, group: str) -> list[tuple[str, str | None, str]]:
        found = self.admin.describe_consumer_groups([group], request_timeout=20)[group].result()
        return sorted((one.member_id, one.group_instance_id, one.client_id) for one in found.members)


def settled(producer: Producer) -> None:
    """Everything that was produced is acknowledged."""
    assert producer.flush(60) == 0


def until(holds: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"after {seconds:g} s it is not so that {what}"
        time.sleep(0.02)
