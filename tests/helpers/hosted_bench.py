"""The bench of the coordinator with the requests of classic members of consumer groups."""

from __future__ import annotations

from groupsim.assignors.server.interface import Target
from groupsim.coordinator.testing import GROUP, Sent
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.embedded.consumer_protocol import Subscription, decode_assignment, encode_subscription
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinProtocol, SyncGroupRequest
from tests.helpers.heartbeat_bench import TOPICS, HeartbeatBench, Parts

_NAMES = {topic.topic_id: topic.name for topic in TOPICS}
_IDS = {name: topic_id for topic_id, name in _NAMES.items()}


def offer(*names: str, owned: Parts | None = None, protocol: str = "range", version: int = 3) -> JoinProtocol:
    """Return a protocol with a subscription to these topics (by default `a`); `owned` is by topic id."""
    held = tuple(TopicPartition(_NAMES[topic], number) for topic, of in (owned or {}).items() for number in of)
    subscription = Subscription(names or ("a",), owned=held)
    return JoinProtocol(protocol, encode_subscription(subscription, version))


class HostedBench(HeartbeatBench):
    """A partition in which classic members join consumer groups."""

    def enter(
        self,
        member: str,
        *names: str,
        owned: Parts | None = None,
        protocol: str = "range",
        instance: str | None = None,
        session_ms: int = 30_000,
        rebalance_ms: int = 60_000,
        version: int = 9,
    ) -> Sent:
        """Send the JoinGroup of a classic member; a static one has the member id "" the first time."""
        return self.join(
            member_id="" if instance is not None and member == "" else member,
            instance=instance,
            protocols=(offer(*names, owned=owned, protocol=protocol),),
            session_ms=session_ms,
            rebalance_ms=rebalance_ms,
            version=version,
        )

    def synchronize(self, member: str, generation: int | None = None) -> Sent:
        """Send the SyncGroup of a member, in its present generation unless it is given."""
        epoch = self.member(member).member_epoch if generation is None else generation
        return self.send(SyncGroupRequest(GROUP, epoch, member, None, "consumer", None))

    def pulse(self, member: str, generation: int | None = None) -> ErrorCode:
        """Send the Heartbeat of a member, in its present generation unless it is given; return the error."""
        epoch = self.member(member).member_epoch if generation is None else generation
        return self.heartbeat(member, epoch).error


def generation(sent: Sent) -> int:
    """Return the generation of an accepted JoinGroup."""
    assert sent.error is ErrorCode.NONE, sent.response
    return sent.joined.generation_id


def shared(sent: Sent) -> dict[str, list[int]]:
    """Return the assignment of an accepted SyncGroup, by topic id."""
    assert sent.error is ErrorCode.NONE, sent.response
    found: dict[str, list[int]] = {}
    for topic, number in decode_assignment(sent.synced.assignment).partitions:
        found.setdefault(_IDS[topic], []).append(number)
    return found


def of(target: Target) -> dict[str, list[int]]:
    """Return a target by topic id, sorted."""
    return {topic: sorted(numbers) for topic, numbers in target.items()}
