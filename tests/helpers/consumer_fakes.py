"""A consumer of a consumer group (KIP-848) in virtual time, with a scripted coordinator of a group of one member.

`bench.broker.target(0, 1)` changes what the member is assigned; the next heartbeat is answered with it, at the next
epoch. Everything else is `members_fakes.Bench`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from groupsim.eventloop.interface import EventLoop
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from groupsim.protocol.messages.group import Api, TopicInfo
from tests.helpers.members_fakes import Bench, ScriptedBroker
from tests.helpers.membership_bench import id_of

INTERVAL_MS = 5_000
BEAT = Api.CONSUMER_GROUP_HEARTBEAT


class OneMemberCoordinator(ScriptedBroker):
    """All brokers in one, with the coordinator of a consumer group that has one member."""

    def __init__(self, loop: EventLoop, topics: Mapping[str, int]) -> None:
        super().__init__(loop, topics)
        self.epoch = 0
        self.expelled = False
        self._target: tuple[int, ...] | None = None
        self._is_new = False

    def target(self, *partitions: int) -> None:
        """Assign these partitions of topic `t`: a new epoch."""
        self._target, self._is_new = partitions, True
        self.epoch += 1

    def expel(self) -> None:
        """Remove the member: its next heartbeat is answered UNKNOWN_MEMBER_ID."""
        self.expelled = True

    def _topic(self, name: str) -> TopicInfo:
        return evolve(super()._topic(name), topic_id=id_of(name))

    def _consumer_group_heartbeat(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        if request.member_epoch < JOIN_EPOCH:
            return self._made(request.member_id, request.member_epoch, None)
        if request.member_epoch == JOIN_EPOCH:
            self.expelled = False
            self.epoch += 1
        elif self.expelled:
            return ConsumerGroupHeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
        full = request.rebalance_timeout_ms >= 0 or self._is_new
        self._is_new = False
        return self._made(request.member_id, self.epoch, self._assignment() if full else None)

    def _assignment(self) -> tuple[TopicPartitions, ...]:
        numbers = tuple(range(self.topics["t"])) if self._target is None else self._target
        return (TopicPartitions(id_of("t"), numbers),) if numbers else ()

    def _made(
        self, member_id: str, epoch: int, assignment: tuple[TopicPartitions, ...] | None
    ) -> ConsumerGroupHeartbeatResponse:
        return ConsumerGroupHeartbeatResponse(
            member_id=member_id, member_epoch=epoch, heartbeat_interval_ms=INTERVAL_MS, assignment=assignment
        )


class ConsumerGroupBench(Bench):
    """A consumer `c1` of consumer group `g` on topic `t` (4 partitions), with everything it talks to."""

    def __init__(self, loop: Any, **options: Any) -> None:
        options["properties"] = {"group.protocol": "consumer"} | options.get("properties", {})
        super().__init__(loop, **{"profile": "java-4.x"} | options)

    def make_broker(self, options: dict[str, Any]) -> Any:
        return OneMemberCoordinator(self.loop, options.pop("topics", {"t": 4}))

    def start(self) -> None:
        """Start the process; both sides have version 1 of the heartbeat."""
        self.consumer.start()
        member: Any = self.consumer._member
        member.versions = {**member.versions, BEAT: 1}

    async def stable(self) -> None:
        """Start if need be, and wait until the consumer has its assignment and positions."""
        if not self.consumer.running:
            self.start()
        await super().stable()
