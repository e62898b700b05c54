"""Random walks: what clients do, and some of what none should, on Kafka's shard and on the core.

A walk has a profile, which says how often each kind of step comes, and settings of its own. Members of both protocols
are remembered with what they were last answered, so that most requests are what their clients would send next. Names of
topics are sent sorted, as Java clients send them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.embedded.consumer_protocol import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    SyncAssignment,
    SyncGroupRequest,
)
from groupsim.protocol.messages.transactions import OffsetInTxn, TxnOffsetCommitRequest
from tests.beside_kafka.kafka_shard import KafkaShard
from tests.beside_kafka.play import Play
from tests.beside_kafka.topics import NAMES, DrawnTopics

UNLIMITED: Final = 2**31 - 1
SUBSCRIBED: Final = (*NAMES[:5], "ghost")
REGEXES: Final = ("", "foo.*", "foo.*", "(a|b)", "bar", ".*", "nothing", "(")
PROTOCOLS: Final = (("range",), ("range",), ("cooperative-sticky", "range"), ("range", "roundrobin"), ("sticky",))
PAUSES_MS: Final = (1, 100, 499, 500, 1_000, 3_000, 5_000, 10_001, 30_000, 45_000, 60_001, 300_001)

PROFILES: Final[Mapping[str, Mapping[str, int]]] = {
    "consumer": {
        "beat": 60, "change": 4, "wait": 8, "resolve": 4, "load": 1, "configure": 1, "leave": 2, "commit": 6,
        "fetch": 3, "delete_offsets": 2, "delete": 1, "heartbeat": 1, "transaction": 3, "end": 2,
    },
    "mixed": {
        "beat": 30, "join": 20, "sync": 14, "heartbeat": 6, "leave": 3, "change": 3, "wait": 9, "resolve": 2, "load": 1,
        "configure": 1, "commit": 5, "fetch": 2, "delete": 1, "delete_offsets": 1, "transaction": 2, "end": 1,
    },
    "classic": {
        "join": 30, "sync": 20, "heartbeat": 8, "leave": 4, "beat": 1, "change": 1, "wait": 14, "load": 1, "commit": 8,
        "fetch": 3, "delete_offsets": 2, "delete": 2, "transaction": 4, "end": 3,
    },
    "offsets": {
        "commit": 25, "transaction": 15, "end": 8, "fetch": 10, "delete_offsets": 8, "delete": 3, "beat": 12, "join": 3,
        "sync": 3, "leave": 2, "change": 4, "wait": 10, "load": 2,
    },
}  # fmt: skip
"""Profile → step → how often, beside the others."""


class Walk:
    """One walk. `failing` is the share of requests whose append fails."""

    def __init__(self, kafka: KafkaShard, profile: str, seed: int, failing: float = 0.0) -> None:
        draw = self._draw = random.Random(f"{profile} {seed}")
        self._failing = failing
        self._weights = PROFILES[profile]
        self._assignors = draw.choice(("uniform,range", "range,uniform", "uniform"))
        self.properties: Mapping[str, object] = {
            "group.initial.rebalance.delay.ms": draw.choice((0, 500, 3_000)),
            "group.min.session.timeout.ms": 1,
            "group.max.size": draw.choice((3, 4, UNLIMITED)),
            "offsets.retention.minutes": draw.choice((1, 10)),
            "offsets.retention.check.interval.ms": draw.choice((30_000, 600_000)),
            "offset.metadata.max.bytes": 16,
            "group.consumer.max.size": draw.choice((3, 4, UNLIMITED)),
            "group.consumer.migration.policy": draw.choice(("bidirectional", "bidirectional", "upgrade", "disabled")),
            "group.consumer.assignment.interval.ms": draw.choice((0, 0, 1_000, 5_000)),
            "group.consumer.regex.refresh.interval.ms": draw.choice((10_000, 60_000, 600_000)),
            "group.consumer.assignors": self._assignors,
        }
        self.play = Play(kafka, self.properties)
        self._topics = DrawnTopics(draw, self.play)
        self._groups = ("g", "hello")[: draw.choice((1, 1, 2))]
        self._members: dict[tuple[str, str], dict[str, Any]] = {}  # group and member id → what its client knows

    def go(self, steps: int) -> None:
        """Take so many steps. Raises Differs."""
        names, weights = list(self._weights), list(self._weights.values())
        for name in self._draw.choices(names, weights, k=steps):
            _STEPS[name](self)

    def _send(self, request: Any) -> Any:
        named = getattr(request, "member_id", "named")
        sent = self.play.request(request, fails=bool(named) and self._draw.random() < self._failing)
        return sent.responses[0] if sent.responses else None

    def _chance(self, share: float) -> bool:
        return self._draw.random() < share

    def _group(self) -> str:
        return self._draw.choice(self._groups)

    def _member_of(self, group: str, kind: str | None = None) -> str | None:
        found = [key[1] for key, known in self._members.items() if key[0] == group and kind in (None, known["kind"])]
        return self._draw.choice(found) if found else None

    def _names(self) -> tuple[str, ...]:
        return tuple(sorted(self._draw.sample(SUBSCRIBED, self._draw.choice((0, 1, 1, 2, 2, 3)))))

    # --- the surroundings --------------------------------------------------------------------------------------------

    def change(self) -> None:
        """Other metadata."""
        self._topics.change()

    def wait(self) -> None:
        """Some time passes."""
        self.play.advance(self._draw.choice(PAUSES_MS) if self._chance(0.5) else self._draw.randint(1, 3_000))

    def resolve(self) -> None:
        """Resolutions of regular expressions end."""
        self.play.resolve()

    def load(self) -> None:
        """Another coordinator loads the log."""
        self.play.load()

    def configure(self) -> None:
        """A group sets something for itself."""
        draw, own = self._draw, {}
        for name, values in (("session.timeout", (45_000, 60_000)), ("heartbeat.interval", (5_000, 15_000))):
            if self._chance(0.6):
                own[f"consumer.{name}.ms"] = str(draw.choice(values))
        if self._chance(0.6):
            own["consumer.assignment.interval.ms"] = str(draw.choice((0, 1_000, 15_000)))
        self.play.configure(self._group(), own)

    # --- the consumer protocol ---------------------------------------------------------------------------------------

    def beat(self) -> None:
        """A ConsumerGroupHeartbeat: of a newcomer, of a member, or the last one of a member."""
        draw, group = self._draw, self._group()
        member = self._member_of(group, "consumer")
        if member is None or self._chance(0.2):
            self._beat(self._joining(group))
        elif self._chance(0.1):
            self._beat(self._leaving(group, member))
        else:
            self._beat(self._staying(group, member))
        if draw.random() < 0.01:
            self._members.clear()

    def _joining(self, group: str) -> dict[str, Any]:
        draw = self._draw
        member = draw.choice((f"m{draw.randrange(6)}", f"member-id-{draw.randrange(4)}", f"{draw.getrandbits(64):x}"))
        if self._chance(0.15):
            member = self._member_of(group) or member
        fields: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": 0, "topic_partitions": ()}
        fields["rebalance_timeout_ms"] = draw.choice((1_000, 5_000, 30_000))
        if self._chance(0.03):
            fields |= {"member_id": "", "version": 0}
        if self._chance(0.4):
            fields["instance_id"] = f"i{draw.randrange(3)}"
        subscribes = draw.random()
        if subscribes < 0.8:
            fields["subscribed_topic_names"] = self._names()
        if subscribes > 0.7:
            fields["subscribed_topic_regex"] = draw.choice(REGEXES)
        if self._chance(0.3):
            fields["server_assignor"] = draw.choice(self._assignors.split(","))
        if self._chance(0.2):
            fields["rack_id"] = draw.choice(("r1", "r2"))
        return fields

    def _leaving(self, group: str, member: str) -> dict[str, Any]:
        fields: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": -1}
        instance = self._members[group, member].get("instance")
        if instance and self._chance(0.9):
            fields |= {"instance_id": instance, "member_epoch": self._draw.choice((-1, -2, -2))}
        if self._chance(0.05):
            fields["member_id"] = self._member_of(group) or "stranger"
        return fields

    def _staying(self, group: str, member: str) -> dict[str, Any]:
        draw, known = self._draw, self._members[group, member]
        fields: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": known["epoch"]}
        if self._chance(0.06):
            fields["member_epoch"] = max(1, known["epoch"] + draw.choice((-2, -1, 1)))
        if self._chance(0.05):
            fields["member_id"] = draw.choice((self._member_of(group) or "", "stranger")) or member
        if known.get("instance") and self._chance(0.8):
            fields["instance_id"] = known["instance"]
        if self._chance(0.03):
            fields["instance_id"] = f"i{draw.randrange(3)}"
        owned = known.get("assigned", {})
        reports = draw.random()
        if reports < 0.6:
            share = 1.0 if reports < 0.5 else 0.5
            fields["topic_partitions"] = tuple(
                [TopicPartitions(topic, tuple(parts)) for topic, parts in owned.items() if draw.random() < share]
            )
        if self._chance(0.12):
            fields["subscribed_topic_names"] = self._names()
        if self._chance(0.08):
            fields["subscribed_topic_regex"] = draw.choice(REGEXES)
        if self._chance(0.06):
            fields["server_assignor"] = draw.choice(self._assignors.split(","))
        if self._chance(0.1):
            fields["rebalance_timeout_ms"] = draw.choice((1_000, 5_000, 30_000))
        if self._chance(0.06):
            fields |= {"member_epoch": 0, "rebalance_timeout_ms": 5_000, "topic_partitions": ()}
            fields.setdefault("subscribed_topic_names", self._names())
        return fields

    def _beat(self, fields: Mapping[str, Any]) -> None:
        request = ConsumerGroupHeartbeatRequest(**fields)
        response = self._send(request)
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        key = request.group_id, response.member_id or request.member_id
        lost = response.error in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID) and self._chance(0.6)
        if response.error is ErrorCode.NONE and request.member_epoch >= 0:
            known = self._members.setdefault(key, {})
            known |= {"kind": "consumer", "epoch": response.member_epoch}
            if request.instance_id is not None:
                known["instance"] = request.instance_id
            if response.assignment is not None:
                known["assigned"] = {one.topic_id: one.partitions for one in response.assignment}
        elif lost or (response.error is ErrorCode.NONE and request.member_epoch == -1):
            self._members.pop(key, None)

    # --- the classic protocol ----------------------------------------------------------------------------------------

    def join(self) -> None:
        """A JoinGroup of a newcomer, or of a classic member."""
        draw, group = self._draw, self._group()
        member = self._member_of(group, "classic") if self._chance(0.75) else None
        known = self._members[group, member] if member is not None else {}
        protocols = known.get("protocols") if self._chance(0.5) else None
        if not protocols:
            metadata = self._subscription(known)
            protocols = tuple(JoinProtocol(name, metadata) for name in draw.choice(PROTOCOLS))
        instance = known.get("instance") if member else f"i{draw.randrange(3)}" if self._chance(0.35) else None
        request = JoinGroupRequest(
            group,
            draw.choice((1_000, 6_000, 45_000)),
            draw.choice((500, 5_000, 60_000)),
            member or ("stranger" if self._chance(0.04) else ""),
            instance,
            "connect" if self._chance(0.03) else "consumer",
            protocols,
            version=draw.choice((5, 9)) if instance else draw.choice((3, 4, 5, 9)),
        )
        response = self._send(request)
        if isinstance(response, JoinGroupResponse) and response.member_id:
            joined = {"kind": "classic", "instance": instance, "protocols": protocols}
            joined |= {"leads": response.leader == response.member_id, "peers": [m.member_id for m in response.members]}
            if response.generation_id > 0:
                joined["epoch"] = response.generation_id
            self._members.setdefault((group, response.member_id), {"epoch": 1}).update(joined)

    def _subscription(self, known: Mapping[str, Any]) -> bytes:
        draw = self._draw
        if self._chance(0.03):
            return draw.choice((b"", b"\x00", b"\x00\x01\x00\x00\x00\x09"))
        topics, user_data = self._names() or ("a",), draw.choice((None, None, b"u"))
        generation = draw.choice((None, known.get("epoch", 1)))
        subscription = Subscription(topics, user_data, (), generation, draw.choice((None, None, "r1")))
        return encode_subscription(subscription, draw.choice((0, 1, 2, 3, 3)))

    def sync(self) -> None:
        """A SyncGroup of a classic member, with assignments if it leads."""
        draw, group = self._draw, self._group()
        member = self._member_of(group, "classic")
        if member is None:
            self.join()
            return
        known = self._members[group, member]
        peers = known.get("peers") or [member]
        gives = [SyncAssignment(one, self._assignment(number, len(peers))) for number, one in enumerate(peers)]
        name = draw.choice((None, known["protocols"][0].name))
        self._send(
            SyncGroupRequest(
                group,
                known["epoch"] + (draw.choice((-1, 1)) if self._chance(0.05) else 0),
                member,
                known["instance"],
                draw.choice((None, "consumer")),
                name,
                tuple(gives) if known["leads"] or self._chance(0.05) else (),
            )
        )

    def _assignment(self, number: int, members: int) -> bytes:
        if self._chance(0.03):
            return b"\x00"
        topics = self._topics
        every = [TopicPartition(name, at) for name in sorted(topics.topics) for at in range(topics.partitions(name))]
        user_data = b"x" if self._chance(0.02) else None
        return encode_assignment(Assignment(tuple(every[number::members]), user_data), self._draw.choice((0, 3)))

    def heartbeat(self) -> None:
        """A Heartbeat of any member."""
        group = self._group()
        member = self._member_of(group)
        if member is not None:
            known = self._members[group, member]
            epoch = known["epoch"] + (self._draw.choice((-1, 1)) if self._chance(0.1) else 0)
            self._send(HeartbeatRequest(group, epoch, member, known.get("instance") if self._chance(0.95) else "i0"))

    def leave(self) -> None:
        """A LeaveGroup of some members, or by an administrator."""
        group, leaving = self._group(), []
        for _ in range(self._draw.choice((1, 1, 1, 2, 3))):
            member = self._member_of(group) or "stranger"
            instance = self._members.get((group, member), {}).get("instance")
            leaving.append(LeavingMember("" if instance and self._chance(0.4) else member, instance))
        self._send(LeaveGroupRequest(group, tuple(leaving)))
        for one in leaving:
            if self._chance(0.6):
                self._members.pop((group, one.member_id), None)

    # --- offsets -----------------------------------------------------------------------------------------------------

    def _sender(self, group: str) -> tuple[str, int, str | None]:
        member = None if self._chance(0.35) else self._member_of(group)
        if member is None:
            return "", -1, None
        known = self._members[group, member]
        epoch = known["epoch"] + (self._draw.choice((-3, -2, -1, -1, 1)) if self._chance(0.3) else 0)
        return member, -1 if self._chance(0.05) else epoch, known.get("instance") if self._chance(0.5) else None

    def _any_group(self) -> str:
        return self._draw.choice((*self._groups, "simple"))

    def _places(self) -> list[TopicPartition]:
        draw, names = self._draw, list(self._topics.topics)
        drawn = {TopicPartition(draw.choice(names), draw.randrange(3)): None for _ in range(draw.choice((1, 1, 2, 3)))}
        return sorted(drawn)

    def commit(self) -> None:
        """An OffsetCommit of a member, or of no member."""
        group = self._any_group()
        member, epoch, instance = self._sender(group)
        text = self._draw.choice(("", "", "m", "x" * 17))
        offsets = tuple(OffsetToCommit(one, self._draw.randrange(100), metadata=text) for one in self._places())
        version = self._draw.choice((8, 9, 9, 9))
        self._send(OffsetCommitRequest(group, offsets, epoch, member, instance, version=version))

    def transaction(self) -> None:
        """A TxnOffsetCommit of one of two producers."""
        group, producer = self._any_group(), self._draw.choice((7, 8))
        member, epoch, instance = self._sender(group)
        offsets = tuple(OffsetInTxn(one, self._draw.randrange(100)) for one in self._places())
        version = self._draw.choice((5, 6))
        self._send(TxnOffsetCommitRequest("t", group, producer, 0, offsets, epoch, member, instance, version))

    def end(self) -> None:
        """The end of a producer's transaction."""
        self.play.end_transaction(self._draw.choice((7, 8)), committed=self._chance(0.6))

    def fetch(self) -> None:
        """An OffsetFetch of a member, or of no member."""
        group = self._any_group()
        member, epoch, _ = self._sender(group)
        places = None if self._chance(0.5) else tuple(self._places())
        self._send(OffsetFetchRequest(group, places, self._chance(0.7), 9, member or None, epoch if member else -1))

    def delete_offsets(self) -> None:
        """An OffsetDelete."""
        self._send(OffsetDeleteRequest(self._any_group(), tuple(self._places())))

    def delete(self) -> None:
        """A DeleteGroups of one group."""
        self._send(DeleteGroupsRequest((self._draw.choice((*self._groups, "simple", "absent")),)))


_STEPS: Mapping[str, Callable[[Walk], None]] = {
    name: getattr(Walk, name) for name in dict.fromkeys(name for steps in PROFILES.values() for name in steps)
}
