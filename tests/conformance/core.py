"""The simulated broker in virtual time as a peer: frames through the codec, no sockets, no Java.

One broker, its real coordinator and logs, the same settings as the real one. The member ids are those that the real
broker made up in the recorded play, where one is given: who succeeds a leader, and in which order members stand,
depends on them by way of Java's hash maps.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.network.connection import Connection
from groupsim.coordinator.base.config import BROKER_KEYS
from groupsim.coordinator.base.versions import BASELINE, parse_version
from groupsim.coordinator.ids import MemberIds
from groupsim.eventloop.randomness import Stream
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.protocol.basics import Api
from groupsim.protocol.messages.group import Response
from groupsim.protocol.wire import Codec, Exchange, Unreadable
from tests.conformance.bodies import Body
from tests.conformance.cases import Case
from tests.conformance.live import RELEASE, WITHOUT
from tests.conformance.nodes import CoreNodes
from tests.conformance.peers import Closed
from tests.conformance.player import Played, play, settings_for
from tests.conformance.transcript import TOPIC_ID, Transcript

NODE = 0
PROFILE = "4.x"
CLIENT = "127.0.0.1"
_FOR_EVER_US = 10**15


_WITHOUT_AN_ID = frozenset(
    {"GROUP_MAX_SIZE_REACHED", "INCONSISTENT_GROUP_PROTOCOL", "INVALID_GROUP_ID", "INVALID_SESSION_TIMEOUT"}
)
"""Answers to a JoinGroup for which no id was made up."""


_UUID_LETTERS = 22
_NAMED = re.compile(rf"Static member ([\w-]{{{_UUID_LETTERS}}}) with")
"""The id that was made up for a heartbeat without one, in the message of its refusal."""


class RecordedIds:
    """The member ids of a recorded play, handed out again in the order in which they were asked for."""

    def __init__(self, recorded: Transcript | None) -> None:
        self._by_request: dict[tuple[str, int], str] = {}
        self._unclaimed: dict[str, deque[str]] = {}
        self._next: dict[str, deque[str]] = {}
        self._uuids: dict[str, deque[str]] = {}
        self._refused: set[tuple[str, int]] = set()
        if recorded is not None:
            self._read(recorded)

    def _read(self, recorded: Transcript) -> None:
        for actor, said in recorded.lines.items():
            for number, (what, response) in enumerate(said):
                if (
                    what.startswith("JoinGroup ")
                    and isinstance(response, dict)
                    and response["member_id"] in recorded.ids
                ):
                    self._by_request[actor, number] = recorded.ids[response["member_id"]]
                if what.startswith("ConsumerGroupHeartbeat ") and isinstance(response, dict):
                    self._read_heartbeat(actor, number, response, recorded.ids)
                if isinstance(response, dict) and response.get("error_code") in _WITHOUT_AN_ID:
                    self._refused.add((actor, number))
        for name, raw in recorded.ids.items():
            if name.startswith("$?"):
                self._unclaimed.setdefault(raw[:-37], deque()).append(raw)

    def _read_heartbeat(self, actor: str, number: int, response: Mapping[str, Any], ids: Mapping[str, str]) -> None:
        named = _NAMED.match(response["error_message"] or "")
        raw = named[1] if named is not None else ids.get(response["member_id"])
        if raw is not None and len(raw) == _UUID_LETTERS:
            self._by_request[actor, number] = raw

    def about_to_beat(self, actor: str, number: int) -> None:
        """The next heartbeat of a connection, one without a member id."""
        raw = self._by_request.get((actor, number))
        if raw is not None:
            self._uuids.setdefault(actor, deque()).append(raw)

    def about_to_send(self, actor: str, number: int, prefix: str, *, fresh: bool) -> None:
        """The next JoinGroup of a connection; `fresh` when it asks for an id."""
        raw = self._by_request.get((actor, number))
        if fresh and raw is None and (actor, number) not in self._refused and self._unclaimed.get(prefix):
            raw = self._unclaimed[prefix].popleft()
        if fresh and raw is not None and raw.startswith(prefix + "-"):
            self._next.setdefault(prefix, deque()).append(raw)
        elif fresh and raw is not None and len(raw) == _UUID_LETTERS:
            self._uuids.setdefault(actor, deque()).append(raw)

    def take(self, prefix: str) -> str | None:
        """The recorded id that is due for a prefix; None when there is none."""
        waiting = self._next.get(prefix)
        return waiting.popleft() if waiting else None

    def take_uuid(self, actor: str) -> str | None:
        """The recorded id without a prefix that is due for a connection: a consumer group gives out such ones."""
        waiting = self._uuids.get(actor)
        return waiting.popleft() if waiting else None


class FedIds(MemberIds):
    """A broker's ids: the recorded one where there is one, else drawn as ever."""

    def __init__(self, loop: VirtualLoop, recorded: RecordedIds, node: int = NODE) -> None:
        super().__init__(loop, node, 0)
        self._recorded = recorded

    def fresh(self, group_id: str, prefix: str) -> str:
        return self._recorded.take(prefix) or super().fresh(group_id, prefix)

    def fresh_uuid(self, group_id: str, client_id: str) -> str:
        return self._recorded.take_uuid(client_id) or super().fresh_uuid(group_id, client_id)


def feed_topic_ids(cluster: Cluster, recorded: Transcript) -> None:
    """Topics of a recorded play are made with the ids that they had there, by name and in order."""
    ids = {
        name.removeprefix(TOPIC_ID): [uuid.UUID(one) for one in raw.split()]
        for name, raw in recorded.ids.items()
        if name.startswith(TOPIC_ID)
    }
    changes = cluster.controller._admin
    drawn = changes._stream_of

    def stream_of(purpose: str, topic: str, time: int) -> Stream:
        stream = drawn(purpose, topic, time)
        known = ids.get(topic, [])
        count = time & 0xFFFFFFFF
        if purpose == "topic-id" and count < len(known):
            raw = known[count].bytes
            halves = (int.from_bytes(raw[:8], "big"), int.from_bytes(raw[8:], "big"))
            stream.word = iter(halves).__next__
        return stream

    changes._stream_of = stream_of


class Names:
    """What the broker's codec asks about names; implements `protocol.wire.exchange.Directory`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    cluster_id = "conformance-in-virtual"[:22]
    controller = NODE

    def topic_id(self, name: str) -> str | None:
        known = self._cluster.controller.image.topics.get(name)
        return None if known is None else known.topic_id

    def topic_name(self, topic_id: str) -> str | None:
        topics = self._cluster.controller.image.topics.values()
        return next((topic.name for topic in topics if topic.topic_id == topic_id), None)

    def address(self, node: int) -> tuple[str, int]:
        return (CLIENT, 9092 + node) if node in self._cluster.brokers else ("", -1)

    def rack(self, node: int) -> str | None:
        return None


class CoreLine:
    """A connection to the simulated broker: what comes in frames goes through the codec, both ways."""

    def __init__(self, peer: CorePeer, name: str, node: int, host: str) -> None:
        self._peer = peer
        self._name = name
        self._arrived: deque[tuple[bytes, int]] = deque()
        self._connection: Connection = peer.cluster.network.connect(host, name, node, "coordinator")
        self._closed = False
        self._why = ""

    async def send(self, frame: bytes) -> None:
        if self._closed:
            raise Closed(self._why)
        try:
            understood = self._peer.codec.understand(frame)
        except Unreadable as why:
            self._closed, self._why = True, str(why)
            return
        self._tell_ids(understood.api, understood.exchange)
        self._peer.sent[self._name] += 1
        self._carry_out(understood.exchange, [])

    def _tell_ids(self, api: Api, exchange: Exchange) -> None:
        if api is Api.JOIN_GROUP and exchange.requests:
            request = exchange.requests[0]
            prefix = request.group_instance_id or self._name  # type: ignore[union-attr]
            self._peer.ids.about_to_send(self._name, self._peer.sent[self._name], prefix, fresh=not request.member_id)  # type: ignore[union-attr]
        elif api is Api.CONSUMER_GROUP_HEARTBEAT and exchange.requests and not exchange.requests[0].member_id:  # type: ignore[union-attr]
            self._peer.ids.about_to_beat(self._name, self._peer.sent[self._name])

    def _carry_out(self, exchange: Exchange, answers: list[Response]) -> None:
        """The next request of an exchange, or its end."""
        if len(answers) == len(exchange.requests):
            if exchange.answered:
                self._arrived.append((exchange.response(answers), self._peer.now_us))
            return

        def done(outcome: Outcome) -> None:
            if not isinstance(outcome, Disconnected):
                self._carry_out(exchange, [*answers, outcome])
            else:
                self._closed, self._why = True, str(outcome)

        self._connection.send(exchange.requests[len(answers)], done, _FOR_EVER_US)

    async def receive(self, within_us: int) -> tuple[bytes, int] | None:
        await self._peer.loop.until(lambda: bool(self._arrived) or self._closed or not self._connection.open, within_us)
        if self._arrived:
            return self._arrived.popleft()
        if self._closed or not self._connection.open:
            raise Closed(self._why)
        return None

    async def close(self) -> None:
        self._connection.close()
        self._closed = True


def _has(settings: Mapping[str, object], name: str) -> bool:
    """Whether the release of these settings has that one; a real broker ignores one that it does not know."""
    release = parse_version(str(settings.get(RELEASE, BASELINE)))
    return name not in BROKER_KEYS or BROKER_KEYS[name].since <= release


class CorePeer:
    """One simulated broker in virtual time, or several. `profile`: whose requests are taken, if not its own ones."""

    def __init__(
        self,
        loop: VirtualLoop,
        recorded: Transcript | None,
        settings: Mapping[str, object],
        brokers: int = 1,
        profile: str | None = None,
    ) -> None:
        self.loop = loop
        self._brokers = brokers
        self.cluster = Cluster(loop, self.config_of(settings))
        self.cluster.replicated.make_transaction_topic()
        self.ids = RecordedIds(recorded)
        if recorded is not None:
            feed_topic_ids(self.cluster, recorded)
        self.sent: Counter[str] = Counter()  # by connection name, over all lives of the connection
        for node, broker in self.cluster.brokers.items():
            broker._member_ids = broker.groups.ids = FedIds(loop, self.ids, node)
        self.codec = Codec(profile or str(settings.get(RELEASE, PROFILE)), Names(self.cluster))

    def config_of(self, settings: Mapping[str, object]) -> ClusterConfig:
        """What the cluster is made of, with these settings."""
        brokers = self._brokers
        known = {name: value for name, value in settings.items() if name not in WITHOUT and _has(settings, name)}
        ones = {"offsets.topic.replication.factor": brokers, "default.replication.factor": 1}
        ones |= {"transaction.state.log.replication.factor": brokers, "transaction.state.log.min.isr": min(2, brokers)}
        return ClusterConfig.from_properties({**known, **ones}, brokers=brokers)

    @property
    def now_us(self) -> int:
        return self.loop.now_us

    async def connect(self, name: str, node: int = NODE, host: str | None = None) -> CoreLine:
        return CoreLine(self, name, node, host or CLIENT)

    async def sleep(self, us: int) -> None:
        await self.loop.sleep(us)

    async def create_topic(self, name: str, partitions: int) -> str:
        self.cluster.create_topic(name, partitions)
        await self.sleep(1_000_000)
        text = self.cluster.controller.image.topics[name].topic_id
        return str(uuid.UUID(bytes=base64.urlsafe_b64decode(text + "==")))

    async def delete_topic(self, name: str) -> None:
        self.cluster.delete_topic(name)
        await self.sleep(1_000_000)

    async def await_acls(self, entries: Sequence[Body]) -> None:
        """Nothing to wait for: no broker here is slower than what scripts let pass anyway."""


def play_on_core(case: Case, recorded: Transcript | None) -> Played:
    """Play a case in virtual time, with the ids of the recorded play. Raises TimingFailed."""

    async def main(loop: VirtualLoop) -> Played:
        settings = settings_for(case.nodes, case.kind)
        peer = CorePeer(loop, recorded, settings, case.nodes)
        nodes = CoreNodes(loop, peer.cluster, peer.config_of, settings) if case.handled else None
        return await play(case, peer, nodes=nodes)

    return run_virtual(main)
