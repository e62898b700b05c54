"""The scripted coordinator: a consumer group of one member, as Kafka's coordinator keeps it.

It answers ConsumerGroupHeartbeat, OffsetCommit and OffsetFetch of one story. The group has an epoch and a target; the
member has an epoch, the partitions that are its own and those that it has yet to give up. A heartbeat that does not
report a pending partition any more acknowledges the revocation, and the next partitions come then
(`CurrentAssignmentBuilder`). Epochs are checked as in `GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid`.

What it does at a story's word (`Deed.what`):

    target partitions    a new target, with a new group epoch
    bump                 a new group epoch, with whatever topics there are by then
    expel                the member's session is over
    interval ms          another heartbeat interval
    move                 the other broker coordinates the group from now on; this one answers NOT_COORDINATOR
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from attrs import define, evolve, field

from groupsim.cluster.network.broker_connection import BrokerConnection
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    JOIN_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from groupsim.protocol.messages.group import (
    Api,
    FetchedOffset,
    FindCoordinatorResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from groupsim.protocol.messages.refusals import refusal
from tests.twins.consumer.story import ConsumerStory, Reply
from tests.twins.story import Deed

UNKNOWN_TOPIC = "?"
_UNKNOWN_ID = "unknownunknownunknowng"
_Partitions = frozenset[TopicPartition]
_NONE: _Partitions = frozenset()


class Cluster(Protocol):
    """What the coordinator knows of its cluster: the topics with their ids and partitions, and the two brokers."""

    node: int
    other: int

    def topics(self) -> Mapping[str, tuple[str, int]]:
        """Return id and number of partitions of each topic, by its name."""

    def host(self, node: int) -> str:
        """Return the host of a broker."""


@define
class Member:
    """The group's member. `granted`: the group epoch in which each partition became its own."""

    member_id: str
    instance_id: str | None
    epoch: int = JOIN_EPOCH
    previous: int = JOIN_EPOCH
    names: tuple[str, ...] | None = None
    regex: str | None = None
    assigned: _Partitions = _NONE
    pending: _Partitions = _NONE
    granted: dict[TopicPartition, int] = field(factory=dict)


class ScriptedGroup:
    """The group of one story."""

    def __init__(self, cluster: Cluster, story: ConsumerStory) -> None:
        self._cluster = cluster
        self._story = story
        self._node = cluster.node
        self._epoch = 1
        self._interval_ms = story.interval_ms
        self._fixed = None if story.first is None else self._named(story.first)
        self._committed: dict[TopicPartition, FetchedOffset] = {}
        self.member: Member | None = None

    # --- what the story says -------------------------------------------------------------------------------------

    def does(self, deed: Deed) -> bool:
        """Carry out what concerns the group; False for what does not."""
        given = deed.given
        if deed.what == "target":
            self._fixed = self._named(given["partitions"])
            self._epoch += 1
        elif deed.what == "expel":
            self.member = None
            self._epoch += 1
        elif deed.what == "bump":
            self._epoch += 1
        elif deed.what == "interval":
            self._interval_ms = given["ms"]
        elif deed.what == "move":
            self._node = self._cluster.other
        else:
            return False
        return True

    def _named(self, partitions: Iterable[str]) -> _Partitions:
        pairs = (one.rsplit("-", 1) for one in partitions)
        return frozenset(TopicPartition(self._real(topic), int(number)) for topic, number in pairs)

    def _real(self, topic: str) -> str:
        return topic if topic == UNKNOWN_TOPIC else self._story.topic(topic)

    def symbols(self) -> Mapping[str, str]:
        """Return the names of topics, by their ids."""
        return {topic_id: name for name, (topic_id, _) in self._cluster.topics().items()} | {_UNKNOWN_ID: UNKNOWN_TOPIC}

    # --- requests ------------------------------------------------------------------------------------------------

    def answers(self, connection: BrokerConnection, number: int) -> bool:
        """Answer a request, the `number`-th of its API; False for one that the broker answers itself."""
        coordinates = connection.broker_host.name == self._cluster.host(self._node)
        answer = self.answer(connection.request, number, coordinates=coordinates)
        if answer is None:
            return False
        connection.broker.emit_received(connection)
        connection.answer(answer)
        return True

    def answer(self, request: Any, number: int, *, coordinates: bool = True) -> Any:
        """Return the answer to a request, None where the broker answers; `coordinates`: it came to the right broker."""
        if request.API is Api.FIND_COORDINATOR:
            moved = self._node != self._cluster.node
            host = self._cluster.host(self._node)
            return FindCoordinatorResponse(node=self._node, host=host) if moved else None
        if request.API not in (Api.CONSUMER_GROUP_HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH):
            return None
        if not coordinates:
            return refused(request, ErrorCode.NOT_COORDINATOR)
        if isinstance(request, ConsumerGroupHeartbeatRequest):
            for reply in self._story.replies:
                if reply.at <= number < reply.at + reply.times:
                    return self._as_written(request, reply)
            return self._heartbeat(request)
        return self._commit(request) if isinstance(request, OffsetCommitRequest) else self._fetch(request)

    def _as_written(self, request: ConsumerGroupHeartbeatRequest, reply: Reply) -> ConsumerGroupHeartbeatResponse:
        member = self.member or Member(request.member_id, request.instance_id)
        owns = None if reply.owns is None else self._named(reply.owns)
        member.previous, member.epoch = member.epoch, reply.epoch
        self._epoch = max(self._epoch, reply.epoch)
        if owns is not None:
            member.assigned, member.pending, self._fixed = owns, _NONE, owns
        self.member = member
        return self._response(member, owns)

    def _heartbeat(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        if request.member_epoch < 0:
            return self._leave(request)
        member = self._joined(request) if request.member_epoch == JOIN_EPOCH else self._known(request)
        if isinstance(member, ErrorCode):
            return ConsumerGroupHeartbeatResponse(member, error_message=member.name)
        self._subscribe(member, request)
        before = member.assigned
        self._reconcile(member, self._reported(request))
        full = (
            request.rebalance_timeout_ms >= 0
            and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
            and request.topic_partitions is not None
        )
        changed = request.member_epoch == JOIN_EPOCH or full or member.assigned != before
        return self._response(member, member.assigned if changed else None)

    def _joined(self, request: ConsumerGroupHeartbeatRequest) -> Member | ErrorCode:
        member = self.member
        if member is None:
            self.member = member = Member(request.member_id, request.instance_id)
        elif request.instance_id is not None and member.instance_id == request.instance_id:
            if member.epoch != STATIC_LEAVE_EPOCH:
                return ErrorCode.UNRELEASED_INSTANCE_ID
            self.member = member = evolve(member, member_id=request.member_id, epoch=JOIN_EPOCH, previous=JOIN_EPOCH)
        elif member.member_id != request.member_id:
            return ErrorCode.GROUP_MAX_SIZE_REACHED  # the group is one of one member
        return member

    def _known(self, request: ConsumerGroupHeartbeatRequest) -> Member | ErrorCode:
        member, epoch = self.member, request.member_epoch
        if member is None or member.member_id != request.member_id:
            return ErrorCode.UNKNOWN_MEMBER_ID
        reported = self._reported(request)
        late = epoch == member.previous and reported is not None and reported <= member.assigned
        return member if epoch == member.epoch or (epoch < member.epoch and late) else ErrorCode.FENCED_MEMBER_EPOCH

    def _reported(self, request: ConsumerGroupHeartbeatRequest) -> _Partitions | None:
        if request.topic_partitions is None:
            return None
        names = self.symbols()
        return frozenset(
            TopicPartition(names[one.topic_id], number) for one in request.topic_partitions for number in one.partitions
        )

    def _subscribe(self, member: Member, request: ConsumerGroupHeartbeatRequest) -> None:
        names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
        before = member.names, member.regex
        member.names = member.names if names is None else tuple(sorted(names))
        member.regex = member.regex if regex is None else regex
        if (member.names or (), member.regex or "") != (before[0] or (), before[1] or ""):
            self._epoch += 1

    @property
    def _target(self) -> _Partitions:
        member = self.member
        if self._fixed is not None or member is None:
            return self._fixed or _NONE
        regex = re.compile(member.regex) if member.regex else None
        topics = self._cluster.topics()
        wanted = [one for one in topics if one in (member.names or ()) or (regex and regex.fullmatch(one))]
        return frozenset(TopicPartition(name, number) for name in wanted for number in range(topics[name][1]))

    def _reconcile(self, member: Member, owned: _Partitions | None) -> None:
        """As `CurrentAssignmentBuilder`: give up first, then the new epoch with what is new."""
        if member.pending:
            if owned is None or owned & member.pending:
                return
            member.pending = _NONE
        wanted = self._target
        if member.epoch == self._epoch and member.assigned == wanted:
            return
        revoked = member.assigned - wanted
        member.assigned &= wanted
        if revoked and (owned is None or owned & revoked):
            member.pending = revoked
            return
        member.previous, member.epoch = member.epoch, self._epoch
        member.granted = {one: member.granted.get(one, self._epoch) for one in wanted}
        member.assigned = wanted

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        member = self.member
        if member is None or member.member_id != request.member_id:
            unknown = ErrorCode.UNKNOWN_MEMBER_ID
            return ConsumerGroupHeartbeatResponse(unknown, error_message=unknown.name)
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            member.epoch, member.pending = STATIC_LEAVE_EPOCH, _NONE
        else:
            self.member = None
            self._epoch += 1
        return ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)

    def _response(self, member: Member, owns: _Partitions | None) -> ConsumerGroupHeartbeatResponse:
        assignment = None if owns is None else self._by_topic(owns)
        return ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self._interval_ms,
            assignment=assignment,
        )

    def _by_topic(self, owns: _Partitions) -> tuple[TopicPartitions, ...]:
        ids = {name: topic_id for topic_id, name in self.symbols().items()}
        names = sorted({one.topic for one in owns})
        return tuple(
            TopicPartitions(ids[name], tuple(sorted(one.partition for one in owns if one.topic == name)))
            for name in names
        )

    # --- offsets -------------------------------------------------------------------------------------------------

    def _commit(self, request: OffsetCommitRequest) -> OffsetCommitResponse:
        error = self._commit_error(request)
        if not error:
            for one in request.offsets:
                self._committed[one.partition] = FetchedOffset(one.partition, one.offset, one.leader_epoch)
        return OffsetCommitResponse(tuple((one.partition, error) for one in request.offsets))

    def _commit_error(self, request: OffsetCommitRequest) -> ErrorCode:
        """As `ConsumerGroup.validateOffsetCommit`, with the window of KIP-1251."""
        member, epoch = self.member, request.generation_id
        if member is None:
            return ErrorCode.NONE if epoch < 0 else ErrorCode.GROUP_ID_NOT_FOUND
        if member.member_id != request.member_id:
            return ErrorCode.UNKNOWN_MEMBER_ID
        granted = (member.granted.get(one.partition, epoch + 1) for one in request.offsets)
        fits = epoch == member.epoch or (epoch < member.epoch and all(since <= epoch for since in granted))
        return ErrorCode.NONE if fits else ErrorCode.STALE_MEMBER_EPOCH

    def _fetch(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        return OffsetFetchResponse(
            offsets=tuple(self._committed.get(one, FetchedOffset(one)) for one in request.partitions or ())
        )


def refused(request: Any, error: ErrorCode) -> Any:
    """Return the answer to a request with an error."""
    if isinstance(request, ConsumerGroupHeartbeatRequest):
        return ConsumerGroupHeartbeatResponse(error, error_message=error.name)
    return refusal(request, error)
