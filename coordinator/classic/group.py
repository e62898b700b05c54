"""The data of a classic group, and the operations that keep its parts in step.

Counters stand where Kafka's tables would make one count again: members awaiting a join, members per protocol. So a
request costs the same in a group of ten and of ten thousand. Members iterate in the order of Java's `HashMap`, which
decides who succeeds a leader, the leader's member list, and the order in which parked requests are answered.

Source: `ClassicGroup`; classic-protocol reference, sections 1.1, 2.2 and 2.7.
"""

from __future__ import annotations

from attrs import Factory, define

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.records import whole_ms
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.states import IllegalState, Reason, State, can_rebalance, next_state
from groupsim.protocol.javahash import JavaHashMap
from groupsim.protocol.messages.group import JoinProtocol

CONSUMER_PROTOCOL = "consumer"


@define(eq=False)
class GroupData:
    """A classic group. `state_us` is when its state last changed, to the millisecond; None when an old record
    did not say.

    `lookup` holds the same members as `members`, in no order that matters, for the ways that must be cheap.
    `supported` counts members per protocol name; a name once offered stays, with 0. `subscribed` are the topics of the
    last round, None when they could not be read (`ClassicGroup.subscribedTopics`).
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

    # --- state ---------------------------------------------------------------------------------------------------

    def transition(self, reason: Reason, now_us: int) -> None:
        """Change the state along the table; nothing else changes it. Raises IllegalState for a way that is none."""
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
        """The longest rebalance timeout of the members; 0 when there are none, or it is below."""
        return 1_000 * max(0, max((member.rebalance_timeout_ms for member in self.lookup.values()), default=0))

    @property
    def static_count(self) -> int:
        return len(self.instances)

    # --- members -------------------------------------------------------------------------------------------------

    def add(self, member: Member, call: CallToken | None) -> None:
        """Add a member whose JoinGroup, if `call` is one, is parked. Raises IllegalState when it does not fit."""
        if member.instance_id is not None:
            if member.instance_id in self.instances:
                raise IllegalState(f"static member {member.instance_id} is in group {self.group_id} already")
            self.instances[member.instance_id] = member.member_id
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
        """Remove a member or pending id; a leader is succeeded by the first of the others in HashMap order.

        What is parked for the member is not answered here, as in Kafka; the caller has done so if it should be.
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
        """Put `new`, the same instance under another id, into the place of `old`, whose requests must be answered."""
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

    # --- what is parked, what is offered -------------------------------------------------------------------------

    def park_join(self, member: Member, call: CallToken | None) -> CallToken | None:
        """Note the parked JoinGroup of a member, or with None that it is answered; returns the one parked before."""
        before = member.join_call
        self.awaiting_joins += (call is not None) - (before is not None)
        member.join_call = call
        return before

    def change_protocols(self, member: Member, protocols: tuple[JoinProtocol, ...]) -> bool:
        """Let the member offer these protocols instead; False when it offers them already."""
        if member.matches(protocols):
            return False
        self.count_protocols(member.protocols, -1)
        self.count_protocols(protocols, 1)
        member.protocols = protocols
        return True

    def count_protocols(self, protocols: tuple[JoinProtocol, ...], step: int) -> None:
        """Count one member more, or less, for each of these protocols; a name that falls to 0 is kept."""
        for protocol in protocols:
            self.supported[protocol.name] = self.supported.get(protocol.name, 0) + step

    # --- what offsets ask ----------------------------------------------------------------------------------------

    @property
    def is_consumer(self) -> bool:
        """Whether its members speak the consumer protocol, so that their metadata can be read."""
        return self.protocol_type == CONSUMER_PROTOCOL

    def is_subscribed(self, topic: str) -> bool:
        """Whether any member subscribes to the topic; yes when a consumer group's subscription cannot be read."""
        return self.is_consumer if self.subscribed is None else topic in self.subscribed
