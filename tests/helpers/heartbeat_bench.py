"""The bench of the coordinator with topics, and the heartbeats of members of consumer groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.consumer_records import ConsumerRecord
from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.base.topics import KnownTopics
from groupsim.coordinator.consumer.entry_points import ConsumerGroup
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.testing import GROUP, Bench, Sent
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
    TopicPartitions,
)

A, B = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
"""The ids of the topics `a`, with six partitions, and `b`, with three."""
TOPICS = (TopicView(A, "a", 6), TopicView(B, "b", 3))
Parts = Mapping[str, Sequence[int]]


def settings(release: str = "4.4", **changed: Any) -> CoordinatorConfig:
    """Return settings of a broker that computes each target at once, unless `changed` says otherwise."""
    return CoordinatorConfig(release, **{"consumer_assignment_interval_ms": 0, **changed})


class HeartbeatBench(Bench):
    """A partition of a broker that knows some topics."""

    def __init__(
        self, config: CoordinatorConfig | None = None, *, topics: Iterable[TopicView] = TOPICS, **others: Any
    ) -> None:
        super().__init__(config or settings(), topics=KnownTopics(tuple(topics)), **others)

    def beat(
        self,
        member: str,
        epoch: int,
        *,
        owned: Parts | None = None,
        names: Sequence[str] | None = None,
        regex: str | None = None,
        assignor: str | None = None,
        instance: str | None = None,
        rack: str | None = None,
        rebalance_ms: int = -1,
        version: int = 1,
        group: str = GROUP,
        fresh_id: str | None = None,
    ) -> Sent:
        """Send a heartbeat with these fields only."""
        reported = None if owned is None else tuple(TopicPartitions(one, tuple(of)) for one, of in owned.items())
        request = ConsumerGroupHeartbeatRequest(
            group,
            member,
            epoch,
            instance,
            rack,
            rebalance_ms,
            None if names is None else tuple(names),
            regex,
            assignor,
            reported,
            version,
        )
        return self.send(request, fresh_id=fresh_id)

    def enroll(self, member: str, *names: str, rebalance_ms: int = 300_000, **fields: Any) -> Sent:
        """Join, or join again, with these topics (by default `a`)."""
        return self.beat(member, 0, owned={}, names=names or ("a",), rebalance_ms=rebalance_ms, **fields)

    def leave_group(self, member: str, *, epoch: int = -1, instance: str | None = None) -> Sent:
        """Leave, for good or (epoch -2) for now."""
        return self.beat(member, epoch, instance=instance)

    def grow(self, *topics: tuple[str, str, int]) -> None:
        """Give the broker these topics (id, name, partitions) in place of those that it had."""
        before = self.shard.op.topics
        after = KnownTopics(tuple(TopicView(*topic) for topic in topics), before.version + 1, before.created_version)
        names = sorted({*before.names(), *after.names()})
        self.change_topics(after, *(name for name in names if before.topic(name) != after.topic(name)))

    def timers_of(self, member: str) -> dict[str, int]:
        """Return the running timers of a member and their deadlines in milliseconds from now."""
        return {name: due_ms for name, due_ms in self.timers().items() if name.endswith(f"-{GROUP}-{member}")}

    def group(self, group: str = GROUP) -> ConsumerGroup:
        """Return the group. Raises AssertionError when there is none of that kind."""
        found = self.shard.groups.get(group)
        assert isinstance(found, ConsumerGroup)
        return found

    def member(self, member: str, group: str = GROUP) -> ConsumerMember:
        """Return a member of the group."""
        return self.group(group).data.members[member]

    def epochs(self, group: str = GROUP) -> tuple[str, int, int]:
        """Return the group's state, group epoch and assignment epoch."""
        data = self.group(group).data
        return data.state.value, data.group_epoch, data.assignment_epoch

    def described(self, group: str = GROUP) -> DescribedConsumerGroup:
        """Return the answer of ConsumerGroupDescribe for a group."""
        return self.shard.describe_consumer_group(group)

    def records(self, since: int = 0) -> list[ConsumerRecord]:
        """Return the records of the log from this one on."""
        return list(self.log[since:])  # type: ignore[arg-type]

    def of_kind(self, kind: Kind) -> list[Any]:
        """Return the events of one kind so far."""
        return [event for event in self.emitted if event.kind is kind]


def answer(sent: Sent) -> ConsumerGroupHeartbeatResponse:
    """Return the answer to a heartbeat."""
    assert isinstance(sent.response, ConsumerGroupHeartbeatResponse)
    return sent.response


def given(sent: Sent) -> tuple[int, dict[str, list[int]] | None]:
    """Return the epoch and the assignment (None: not given) of an accepted heartbeat."""
    response = answer(sent)
    assert response.error is ErrorCode.NONE, response
    if response.assignment is None:
        return response.member_epoch, None
    return response.member_epoch, {one.topic_id: list(one.partitions) for one in response.assignment}


def error(sent: Sent) -> tuple[ErrorCode, str | None]:
    """Return the error and the message of a refused heartbeat."""
    return answer(sent).error, answer(sent).error_message
