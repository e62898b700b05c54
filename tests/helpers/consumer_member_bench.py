"""A member of a consumer group (KIP-848) on a bench: no event loop, no network.

    bench = ConsumerBench()
    bench.find_coordinator()                    # polls; the heartbeat that joins goes out
    bench.accept(epoch=1, assigned=[0, 1])      # the answer, and a poll: the callbacks run
    assert bench.state == "STABLE"

`bench.beat` is the last heartbeat; `bench.accept` and `bench.refuse` answer the oldest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.members.commit.committer import Committer
from groupsim.members.consumer_protocol.membership import ConsumerMembership
from groupsim.members.consumer_protocol.ownership import ConsumerOwnership
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from groupsim.protocol.messages.group import Api, FindCoordinatorResponse, OffsetCommitResponse
from tests.helpers.membership_bench import MembershipBench, id_of

INTERVAL_MS = 5_000
BEAT = Api.CONSUMER_GROUP_HEARTBEAT
Assigned = Iterable[int] | Mapping[str, Iterable[int]]


def entries(assigned: Assigned) -> tuple[TopicPartitions, ...]:
    """Partitions of topic `t`, or by topic, as a heartbeat has them."""
    by_topic = assigned if isinstance(assigned, Mapping) else {"t": assigned}
    return tuple(TopicPartitions(id_of(name), tuple(numbers)) for name, numbers in by_topic.items() if tuple(numbers))


class ConsumerBench(MembershipBench):
    """The member `c1` of consumer group `g`, subscribed to topic `t` of four partitions."""

    membership: Any

    def __init__(
        self,
        properties: Mapping[str, Any] | None = None,
        behaviour: Behaviour | None = None,
        *,
        auto_commit: bool = False,
        profile: str = "java-4.x",
    ) -> None:
        given = {
            "group.protocol": "consumer",
            "enable.auto.commit": auto_commit,
            "auto.commit.interval.ms": 600_000,  # commits before a reconciliation are the only ones
            **(properties or {}),
        }
        super().__init__(profile, given, behaviour)

    def _join_up(self, ports: Any) -> None:
        member = self.member
        member.versions = {BEAT: 1}  # of the two sides, whatever release the bench has
        ownership = member.ownership = ConsumerOwnership(ports)
        member.commits = Committer(member)
        member.membership = self.membership = ConsumerMembership(ports, ownership)

    # -- inputs -------------------------------------------------------------------------------------------------

    def find_coordinator(self, node: int = 1) -> None:
        """Poll, and answer the look-up; the heartbeat that joins goes out."""
        self.poll()
        self.answer(FindCoordinatorResponse(node=node))

    def accept(self, epoch: int, assigned: Assigned | None = None, *, poll: bool = True) -> None:
        """Answer the oldest heartbeat without an error; None: no assignment in it."""
        assignment = None if assigned is None else entries(assigned)
        self.answer(
            ConsumerGroupHeartbeatResponse(
                member_id=self.beat.member_id,
                member_epoch=epoch,
                heartbeat_interval_ms=INTERVAL_MS,
                assignment=assignment,
            )
        )
        if poll:
            self.poll()
        if poll and assigned is not None and self.member.profile.consumer_protocol.acknowledges_after_us:
            self.advance_ms(1)  # the next pass of the main thread

    def refuse(self, error: ErrorCode, message: str | None = None) -> None:
        """Answer the oldest heartbeat with an error."""
        self.answer(ConsumerGroupHeartbeatResponse(error, message))

    def next_beat(self) -> ConsumerGroupHeartbeatRequest:
        """Let the interval pass; return the heartbeat that goes out."""
        before = self.count(BEAT)
        self.advance_ms(INTERVAL_MS)
        assert self.count(BEAT) > before, "no heartbeat was sent"
        return self.beat

    def stable(self, *partitions: int, epoch: int = 1) -> None:
        """From nothing to STABLE with these partitions; no heartbeat is in flight."""
        self.find_coordinator()
        self.accept(epoch, partitions or (0, 1))
        self.accept(epoch)
        assert self.state == "STABLE"

    def committed(self) -> None:
        """Answer the oldest OffsetCommit without an error."""
        entries = self.asked(Api.OFFSET_COMMIT).offsets
        self.answer(OffsetCommitResponse(tuple((entry.partition, ErrorCode.NONE) for entry in entries)))

    def refuse_commit(self, error: ErrorCode) -> None:
        """Answer the oldest OffsetCommit with an error for each partition."""
        entries = self.asked(Api.OFFSET_COMMIT).offsets
        self.answer(OffsetCommitResponse(tuple((entry.partition, error) for entry in entries)))

    def has_read(self, **offsets: int) -> None:
        """Set the positions of partitions, `p0=5`: the application has received the records before them."""
        for partition in self.member.ownership.owned:
            name = f"p{partition.partition}"
            if name in offsets:
                self.member.fetcher.positions[partition] = offsets[name]

    # -- looking ------------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        return str(self.member.state)

    @property
    def beat(self) -> ConsumerGroupHeartbeatRequest:
        """The last heartbeat that was sent."""
        return self.asked(BEAT)  # type: ignore[no-any-return]

    @property
    def beats(self) -> list[ConsumerGroupHeartbeatRequest]:
        """All heartbeats so far."""
        return [request for request in self.sent if isinstance(request, ConsumerGroupHeartbeatRequest)]

    @property
    def states(self) -> list[str]:
        """The states so far, from the first change on."""
        return [str(event.to) for event in self.events if event.kind is Kind.CLIENT_STATE]

    @property
    def reported(self) -> list[int] | None:
        """The partitions of topic `t` in the last heartbeat; None where it reports none."""
        entries = self.beat.topic_partitions
        return None if entries is None else [number for entry in entries for number in entry.partitions]

    @property
    def held(self) -> list[int]:
        """The partitions that are neither fetched nor delivered."""
        return sorted(partition.partition for partition in self.member.fetcher._held)
