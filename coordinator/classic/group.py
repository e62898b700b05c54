"""The data of a classic group, and the methods that keep it consistent.

Counters (members that await a join, members per protocol) replace the repeated counts of Kafka's tables, so a request
costs the same in a group of ten and of ten thousand. Members iterate in the order of Java's `HashMap`, which decides
the successor of a leader, the leader's member list, and the order in which parked requests are answered.

Source: `ClassicGroup`; classic-protocol reference, sections 1.1, 2.2 and 2.7.
"""

from __future__ import annotations

from attrs import Factory

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.base.records import whole_ms
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.states import Reason, State, can_rebalance, next_state
from groupsim.protocol.javahash import JavaHashMap
from groupsim.protocol.messages.group import JoinProtocol
from groupsim.protocol.values import define

CONSUMER_PROTOCOL = "consumer"


@define(eq=False)
class GroupData:
    """A classic group. `state_us` is the time of the last change of state, in whole milliseconds; None when an old
    record does not contain it.

    `lookup` holds the same members as `members`, without a significant order, for fast access. `supported` counts
    members per protocol name; a name once offered stays, with 0. `subscribed` holds the topics of the last round, None
    when a subscription could not be decoded (`ClassicGroup.subscribedTopics`).

    `replaced`: a consumer group has taken its place, by an append that may still fail. What ends before that append,
    such as the leader's assignment, changes the state without an event.
    """

    group_id: str
    state: State = State.EMPTY
    previous_state: State = State.DEAD
    state_us: int | None = None
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: JavaHashMap[str, Member] = Factory(JavaHashMap)
    lookup: dict[str, Member] = Factory(dict)
    instances: dict[str, str] = Factory(dict)
    pending_join: dict[str, None] = Factory(dict)
    pending_sync: dict[str, None] = Factory(dict)
    supported: dict[str, int] = Factory(dict)
    awaiting_joins: int = 0
    new_member_added: bool = False
    subscribed: frozenset[str] | None = None
    replaced: bool = False

    # --- state -------------------------------------------------------------------------------------------------------

    def transition(self, reason: Reason, now_us: int) -> None:
        """Change the state along the table; no other code changes it. Raises IllegalState for an unknown transition."""
        following = next_state(self.state, reason.cause)
        self.previous_state, self.state = self.state, following
        self.state_us = whole_ms(now_us)

    @property
    def can_rebalance(self) -> bool:
        return can_rebalance(self.state)

    @property
    def all_joined(self) -> bool:
        """Whether every member's JoinGroup is parked and no pending id is left (`hasAllMembersJoined`)."""
        return self.awaiting_joins == len(self.lookup) and not self.pending_join

    @property
    def rebalance_timeout_us(self) -> int:
        """The longest rebalance timeout of the members; at least 0, and 0 without members."""
        return 1_000 * max(0, max((member.rebalance_timeout_ms for member in self.lookup.values()), default=0))

    @property
    def static_count(self) -> int:
        return len(self.instances)

    # --- members -----------------------------------------------------------------------------------------------------

    def add(self, member: Member, call: CallToken | None) -> None:
        """Add a member; `call` is its parked JoinGroup, if any. Raises IllegalState when the group cannot take it."""
        if member.instance_id is not None:
            if member.instance_id in self.instances:
                raise IllegalState(f"static member {member.instance_id} is already in group {self.group_id}")
            self.instances[member.instance_id] = member.member_id
        # The first member of an empty map sets the protocol type, even if the group had another (`ClassicGroup.add`).
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.protocol_type != member.protocol_type:
            raise IllegalState(f"group {self.group_id} speaks {self.protocol_type}, not {member.protocol_type}")
        if self.leader is None:
            self.leader = member.member_id
        self._put(member)
        self.count_protocols(member.protocols, 1)
        self.park_join(member, call)
        self.pending_join.pop(member.member_id, None)

    def remove(self, member_id: str) -> Member | None:
        """Remove a member or pending id; the first of the others in HashMap order succeeds a leader.

        A parked request of the member is not answered here, as in Kafka; the caller answers it where Kafka does.
        """
        member = self.lookup.pop(member_id, None)
        if member is not None:
            del self.members[member_id]
            self.count_protocols(member.protocols, -1)
            if member.join_call is not None:
                self.awaiting_joins -= 1
            if member.instance_id is not None:
                self.instances.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_join.pop(member_id, None)
        self.pending_sync.pop(member_id, None)
        return member

    def swap(self, old: Member, new: Member) -> None:
        """Replace `old` by `new`, the same instance under another id; the caller has answered the requests of `old`."""
        del self.members[old.member_id]
        del self.lookup[old.member_id]
        self._put(new)
        if self.leader == old.member_id:
            self.leader = new.member_id
        assert new.instance_id is not None
        self.instances[new.instance_id] = new.member_id

    def _put(self, member: Member) -> None:
        self.members[member.member_id] = member
        self.lookup[member.member_id] = member

    # --- parked requests, offered protocols --------------------------------------------------------------------------

    def park_join(self, member: Member, call: CallToken | None) -> CallToken | None:
        """Store the parked JoinGroup of a member, None when it is answered; return the one parked before."""
        before = member.join_call
        self.awaiting_joins += (call is not None) - (before is not None)
        member.join_call = call
        return before

    def change_protocols(self, member: Member, protocols: tuple[JoinProtocol, ...]) -> bool:
        """Replace the protocols of a member; return False when they are equal."""
        if member.matches(protocols):
            return False
        self.count_protocols(member.protocols, -1)
        self.count_protocols(protocols, 1)
        member.protocols = protocols
        return True

    def count_protocols(self, protocols: tuple[JoinProtocol, ...], step: int) -> None:
        """Count one member more, or less, for each of these protocols; a name that falls to 0 stays in the table."""
        for protocol in protocols:
            self.supported[protocol.name] = self.supported.get(protocol.name, 0) + step

    # --- questions of the offset store---------------------------------------------------------------------------

    @property
    def is_consumer(self) -> bool:
        """Whether the members speak the consumer protocol, so that their metadata can be decoded."""
        return self.protocol_type == CONSUMER_PROTOCOL

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member subscribes to the topic; True when a consumer group's subscription cannot be decoded.

        Kafka then treats the group as subscribed to every topic (`ClassicGroup.isSubscribedToTopic`).
        """
        return self.is_consumer if self.subscribed is None else topic in self.subscribed
