"""The leader's work between JoinGroup and SyncGroup: read subscriptions, look topics up, run the assignor.

The user may replace the assignor. An exception or an invalid result of it ends the run by default; with
`plugin-errors: as-kafka` the client goes on as in Java. After the assignment the leader watches the topics of the whole
group, and compares them with the metadata it assigned by (`snapshot`).

Source: `ConsumerCoordinator.onLeaderElected`; assignors reference, section 8; classic-protocol reference, section 4.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from groupsim.assignors.base.errors import AssignorError, JavaFailure
from groupsim.assignors.base.interface import Assignor, RebalanceProtocol
from groupsim.assignors.validate import judge, run_assignor
from groupsim.eventloop.randomness import Stream
from groupsim.eventloop.trace.events import Kind
from groupsim.members.failures import ClientFailure
from groupsim.members.parts import Snapshot
from groupsim.members.plugins import report
from groupsim.members.ports import Ports
from groupsim.members.profiles.defects import Defect
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.embedded.consumer_protocol import Assignment, decode_subscription, encode_assignment
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.javahash import java_set_order
from groupsim.protocol.messages.group import JoinGroupResponse, JoinMember, SyncAssignment


class Leader:
    """The work of the member that the coordinator elected leader."""

    __slots__ = ("_draws", "_member", "snapshot", "version")

    def __init__(self, member: Ports) -> None:
        self._member = member
        self._draws: Stream | None = None
        #: The topics at this leader's last assignment; None for a follower.
        self.snapshot: Snapshot | None = None
        self.version = 0  #: metadata version of the snapshot

    def resign(self) -> None:
        """Drop the snapshot: this member is a follower now."""
        self.snapshot = None
        self._member.metadata.forget_group()

    def metadata_changed(self) -> bool:
        """Whether the watched topics differ from the snapshot."""
        if Defect.SARAMA_1462 in self._member.profile.defects:
            return False  # no watch on partitions before sarama 1.24.1
        return self.snapshot is not None and self._member.metadata.differs(self.snapshot)

    def is_outdated(self) -> bool:
        """Whether the topics changed during the SyncGroup; up to 0.10.0 Java then discards the assignment."""
        profile = self._member.profile
        # The snapshot was taken when the rebalance ended, so a change during SyncGroup went unnoticed (KAFKA-3117).
        if Defect.KAFKA_3117 in profile.defects and self.snapshot is not None:
            self.snapshot = self._member.metadata.snapshot()
        return profile.leader.discards_outdated and self.metadata_changed()

    async def assign(self, response: JoinGroupResponse, assignor: Assignor) -> tuple[SyncAssignment, ...]:
        """Run the assignor on the members of a JoinGroup answer. Raises ClientFailure, PluginError."""
        # librdkafka and aiokafka sort a mixed group by member id; Java puts static members first.
        is_mixed = any(one.group_instance_id is None for one in response.members)
        by_id = is_mixed and not self._member.profile.leader.static_first
        members = [self._subscription(member, by_id=by_id) for member in response.members]
        union = java_set_order(dict.fromkeys(chain.from_iterable([member.topics for member in members])))
        await self._know(union)
        self.snapshot = self._member.metadata.snapshot()
        self.version = self._member.metadata.version
        if response.skip_assignment:
            return ()  # a static leader that returned: the coordinator keeps the assignment (KIP-814)
        await self._take_time()
        topics = self._topics(union)
        result = self._run(assignor, topics, members)
        self._emit_assignment(assignor, result)
        data: Mapping[str, bytes | None] = result.user_data
        if self._member.profile.leader.returns_user_data:
            data = {one.member_id: one.user_data for one in members}
        return tuple([_encoded(result, member_id, data.get(member_id)) for member_id in result.partitions])

    def knows(self, response: JoinGroupResponse) -> bool:
        """Whether the metadata have the topics of all these members. Raises ClientFailure."""
        known = self._member.metadata.topics
        members = [self._subscription(member, by_id=False) for member in response.members]
        return all(topic in known for member in members for topic in member.topics)

    # -- input --------------------------------------------------------------------------------------------------

    def _subscription(self, member: JoinMember, *, by_id: bool) -> MemberSubscription:
        try:
            found = decode_subscription(member.metadata)
        except ProtocolError as error:
            raise ClientFailure("SchemaException", f"subscription of {member.member_id}: {error}") from error
        instance_id = None if by_id else member.group_instance_id
        # Positional arguments: keywords take twice as long, and a leader makes one for every member.
        return MemberSubscription(
            member.member_id, found.topics, found.user_data, found.owned, found.generation, found.rack, instance_id
        )

    async def _know(self, topics: Sequence[str]) -> None:
        """Wait for metadata with all the group's topics."""
        member, metadata = self._member, self._member.metadata
        if not metadata.watch_group(topics):
            return
        before = metadata.version
        metadata.refresh()
        while metadata.version == before and not member.closing:
            member.wake.clear()
            await member.wake.wait()

    async def _take_time(self) -> None:
        member = self._member
        distribution = member.behaviour.assignor_time
        if not distribution:
            return
        self._draws = self._draws or member.loop.stream("assignor-time", member.host.name)
        took = distribution.draw(self._draws)
        if took:
            apart = member.pace.rebalances_in_task
            if not apart:
                member.membership.leave_poll()
            await member.host.sleep(took)
            if not apart:
                member.membership.enter_poll()

    def _topics(self, names: Sequence[str]) -> dict[str, TopicMetadata]:
        known = self._member.metadata.topics
        return {
            name: TopicMetadata(
                name, len(known[name].partitions), tuple(entry.racks for entry in known[name].partitions)
            )
            for name in names
            if name in known and known[name].partitions
        }

    # -- assignor -----------------------------------------------------------------------------------------------

    def _run(
        self, assignor: Assignor, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]
    ) -> GroupAssignment:
        """Run the assignor and validate the result of a custom one. Raises ClientFailure, PluginError."""
        protocol = self._member.ownership.protocol
        try:
            result = run_assignor(assignor, topics, members, as_kafka=True)
        except AssignorError as error:
            raise report(self._member, error) from error
        except JavaFailure as failure:
            raise ClientFailure(failure.java, failure.reason) from failure
        problem = judge(assignor, result, topics, members, protocol)
        if problem is not None:
            failure_as_kafka = report(self._member, problem)
            if protocol is RebalanceProtocol.COOPERATIVE and judge(assignor, result, topics, members) is None:
                raise failure_as_kafka  # Java's one check: `ConsumerCoordinator.validateCooperativeAssignment`
        return result

    def _emit_assignment(self, assignor: Assignor, result: GroupAssignment) -> None:
        member = self._member
        if not member.trace.wants(Kind.ASSIGNMENT_COMPUTED):
            return
        payload = {
            "assignor": assignor.name,
            "counts": {name: len(partitions) for name, partitions in result.partitions.items()},
            "assignment": {name: [str(entry) for entry in found] for name, found in result.partitions.items()},
        }
        member.trace.begin(member.emit(Kind.ASSIGNMENT_COMPUTED, payload=payload))


def _encoded(result: GroupAssignment, member_id: str, user_data: bytes | None) -> SyncAssignment:
    assignment = Assignment(result.partitions[member_id], user_data)
    return SyncAssignment(member_id, encode_assignment(assignment))
