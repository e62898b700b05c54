"""Where a case is played: one client, one peer, topics and a group of its own, and members that are gone afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tests.interop.clients import Client
from tests.interop.members import Member, MemberError, Partition, Place, Record
from tests.interop.peers import Peer, describe

SESSION_MS = 12_000
"""A member whose process gets no core for some seconds is not thrown out."""
SETTLES = 120
"""Seconds that a busy machine may take until a group is as it should be."""
PARTITIONS = 6

_numbers = count(1)


class Bench:
    """The means of one case; a context manager that kills what is left of its members."""

    def __init__(self, client: Client, peer: Peer, case: str, folder: Path) -> None:
        self.client = client
        self.peer = peer
        self.folder = folder
        self.assignor = "range"
        self.members: list[Member] = []
        self.admin = self._administrator()
        self._command = client.command()
        self._tag = f"{client.name}-{case}-{next(_numbers)}"
        self.group = f"group-{self._tag}"
        self._names = count(1)

    def _administrator(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.peer.bootstrap, "client.id": "bench", "log_level": 0})

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with ExitStack() as ends:
            ends.callback(self.peer.settle)
            for member in self.members:
                ends.callback(member.kill)

    # --- Things ----------------------------------------------------------------------------------------------------

    def topic(self, partitions: int = PARTITIONS, replicas: int = 3) -> str:
        """A new topic, known to every broker."""
        name = f"topic-{self._tag}-{next(self._names)}"
        for future in self.admin.create_topics([NewTopic(name, partitions, replicas)], request_timeout=20).values():
            future.result()

        def is_led() -> bool:
            found = self.admin.list_topics(name, timeout=10).topics[name].partitions
            return len(found) == partitions and all(one.leader >= 0 for one in found.values())

        until(is_led, f"{name} has {partitions} led partitions")
        return name

    def consumer(self, topic: str, assignor: str = "", **more: Any) -> Member:
        """A consumer of the case's group, ready, with the bench's assignor if none is given. Raises Unsupported."""
        given = {"group": self.group, "topics": [topic], "assignor": assignor or self.assignor}
        return self._start("consumer", **{**given, **more})

    def producer(self, **more: Any) -> Member:
        """A producer, ready. Raises Unsupported."""
        return self._start("producer", **more)

    def _start(self, role: str, **config: Any) -> Member:
        whole = {
            "role": role,
            "bootstrap": self.peer.bootstrap,
            "client_id": f"{role}-{next(self._names)}",
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": 500,
            "rebalance_timeout_ms": 20_000,
            **config,
        }
        member = Member(self._command, whole, self.folder)
        self.members.append(member)
        member.ready()
        return member

    # --- What must be so -------------------------------------------------------------------------------------------

    def stable(self, topic: str, members: Collection[Member], partitions: int = PARTITIONS) -> None:
        """Wait until the members share the topic evenly, and the coordinator says Stable with so many members."""
        most, least = -(-partitions // len(members)), partitions // len(members)
        everything = {(topic, number) for number in range(partitions)}

        def is_shared() -> bool:
            owned = [member.owned for member in members]
            even = all(least <= len(one) <= most for one in owned)
            return even and sum(map(len, owned)) == partitions and set().union(*owned) == everything

        until(is_shared, "every partition has one owner, evenly", self.told)
        until(lambda: self.state() == ("STABLE", len(members)), f"Stable with {len(members)} members", self.told)

    def state(self) -> tuple[str, int]:
        """State and number of members, as DescribeGroups has them."""
        try:
            found = describe(self.admin, self.group)
        except KafkaException as error:
            # librdkafka's administrator was seen to ask a coordinator that is gone for ever.
            self.admin = self._administrator()
            return str(error), -1
        return found.state.name, len(found.members)

    def kind(self) -> str:
        """The group's kind, CLASSIC or CONSUMER, as ListGroups has it."""
        listed = self.admin.list_consumer_groups(request_timeout=20).result().valid
        return next((one.type.name for one in listed if one.group_id == self.group), "unknown")

    def member_ids(self) -> dict[str, str]:
        """`group.instance.id` → member id."""
        return {one.group_instance_id: one.member_id for one in describe(self.admin, self.group).members}

    def committed(self, topic: str) -> dict[Partition, int]:
        """The group's offsets of a topic, without those that are not there."""
        asked = [ConsumerGroupTopicPartitions(self.group)]
        found = self.admin.list_consumer_group_offsets(asked, request_timeout=20)[self.group].result()
        rows = [one for one in found.topic_partitions if one.topic == topic and one.offset >= 0]
        return {(one.topic, one.partition): one.offset for one in rows}

    def ends(self, topic: str, partitions: int = PARTITIONS) -> dict[Partition, int]:
        """The end of each partition (ListOffsets)."""
        asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
        futures = self.admin.list_offsets(asked, request_timeout=20)
        return {(one.topic, one.partition): future.result().offset for one, future in futures.items()}

    def all_read(self, sent: Mapping[Place, Record], members: Iterable[Member]) -> dict[Place, Record]:
        """Wait until the members have together read everything that was sent, and that with the same content."""
        wanted, members = set(sent), list(members)
        until(lambda: wanted <= {place for one in members for place, _ in one.consumed()}, "all read", self.told)
        read: dict[Place, Record] = {}
        for member in members:
            for place, record in member.consumed():
                if place in sent and record != sent[place]:
                    raise AssertionError(f"{member.name} read at {place} {record}, sent was {sent[place]}")
                read[place] = record
        return read

    def told(self) -> str:
        """What the coordinator says, and what every member said last."""
        told = [f"\n{member.name}:{member.last()}" for member in self.members]
        return f"\nthe group: {self.state()}{''.join(told)}\n{self.peer.told()}"


def until(holds: Callable[[], bool], what: str, story: Callable[[], str] = str, seconds: float = SETTLES) -> None:
    """Wait until something holds. Raises MemberError with what was waited for."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise MemberError(f"not within {seconds:g} s: {what}{story()}")
        time.sleep(0.1)


def records(number: int, tag: str = "r") -> list[Record]:
    """Records with every shape that matters: no key or no value, empty ones, bytes that are no text, headers.

    None without both: aiokafka and kafka-python refuse to send them.
    """
    made = []
    for n in range(number):
        key = None if n % 7 == 3 else b"" if n % 7 == 5 else f"key-{n % 40}".encode()
        filled = f"{tag}-{n} ".encode() * (1 + n % 5) + bytes([n % 256, 255])
        value = None if n % 11 == 4 and key is not None else b"" if n % 11 == 6 else filled
        headers = (("trace", f"{tag}{n}".encode()), ("none", b""), ("trace", b"\xff\x00")) if n % 3 == 0 else ()
        made.append(Record(key, value, headers))
    return made
