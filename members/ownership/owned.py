"""The partitions that a member owns, and the listener's callbacks, under any group protocol.

A partition is owned from the start of the assigned callback until the revoked or lost callback has returned, or the
process dies: that is what the application assumes. When callbacks are due is the group protocol's decision
(`classic/ownership.py`, `consumer_protocol/ownership.py`).

Sources: `ConsumerRebalanceListener`, `ConsumerRebalanceListenerInvoker`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.randomness import Stream
from groupsim.eventloop.trace.events import Kind
from groupsim.members.failures import ClientFailure
from groupsim.members.generation import ClientState
from groupsim.members.ports import Ports
from groupsim.protocol.javahash import java_copied_order, java_sorted
from groupsim.protocol.messages.group import TopicPartition

CALLBACKS = ASSIGNED, REVOKED, LOST = "assigned", "revoked", "lost"
UNASSIGNED = "unassigned"


class OwnedPartitions:
    """The owned partitions of one member, and the callbacks of its listener."""

    __slots__ = ("_draws", "_member", "_raises", "awaiting", "blocks", "owned")

    def __init__(self, member: Ports) -> None:
        self._member = member
        #: Partition → the generation that assigned it first, in the order of the assignment.
        self.owned: dict[TopicPartition, int] = {}
        #: Owned partitions that are not consumed: their assigned callback has not returned, or has thrown.
        self.awaiting: set[TopicPartition] = set()
        self._draws: dict[str, Stream] = {}
        #: Kind of callback → extra time of the next one, in microseconds.
        self.blocks: dict[str, int] = {}
        self._raises: dict[str, str] = {}

    def choose(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Own the partitions that the application assigned itself: no generation, no callbacks."""
        if tuple(self.owned) == partitions:
            return
        self._release([partition for partition in self.owned if partition not in partitions], UNASSIGNED)
        added = self._added(partitions)
        self._member.commits.restart_interval()
        self._own(partitions, added)

    def release_all(self, reason: str) -> None:
        """Release all partitions without callbacks, as the process ends."""
        self._release(list(self.owned), reason)

    def _added(self, assigned: tuple[TopicPartition, ...]) -> list[TopicPartition]:
        owned = self.owned
        return [partition for partition in assigned if partition not in owned] if owned else list(assigned)

    def _own(self, assigned: tuple[TopicPartition, ...], added: list[TopicPartition]) -> None:
        member = self._member
        generation = member.generation.id
        before = self.owned
        if before:
            self.owned = {partition: before.get(partition, generation) for partition in assigned}
        else:
            self.owned = dict.fromkeys(assigned, generation)
        if added and member.trace.wants(Kind.PARTITION_OWNED):
            for partition in added:
                member.emit(Kind.PARTITION_OWNED, topic=partition.topic, partition=partition.partition)
        member.fetcher.ownership_changed()

    def _release(self, partitions: Iterable[TopicPartition], reason: str) -> None:
        member = self._member
        for partition in partitions:
            generation = self.owned.pop(partition, None)
            if generation is not None and member.trace.wants(Kind.PARTITION_RELEASED):
                member.trace.emit(
                    Kind.PARTITION_RELEASED,
                    host=member.host.name,
                    group=member.group,
                    member=member.generation.member_id or None,
                    generation=generation if generation >= 0 else None,
                    topic=partition.topic,
                    partition=partition.partition,
                    reason=reason,
                )
        if not (member.profile.positions.kept and reason == REVOKED and member.state is ClientState.STABLE):
            member.fetcher.ownership_changed()
            member.commits.given_up(partitions)

    # -- callbacks ----------------------------------------------------------------------------------------------

    def block_next(self, kind: str, us: int) -> None:
        """Extend the next callback of this kind (assigned, revoked, lost) by `us` microseconds."""
        self.blocks[kind] = self.blocks.get(kind, 0) + us

    def raise_next(self, kind: str, message: str) -> None:
        """Make the next callback of this kind raise."""
        self._raises[kind] = message

    async def _call_back(self, kind: str, partitions: Sequence[TopicPartition]) -> None:
        """Run one callback of the listener, during which the application's thread is away from poll.

        Partitions are ordered by topic and number (`ConsumerCoordinator.COMPARATOR`), up to 3.1 as in a HashSet.
        """
        member = self._member
        span = member.trace.span()
        if member.trace.wants(Kind.CALLBACK_BEGUN):
            in_order = _in_order if member.profile.callbacks.by_number else java_copied_order
            names = {"partitions": [str(partition) for partition in in_order(partitions)]}
            member.trace.begin(member.emit(Kind.CALLBACK_BEGUN, reason=kind, span=span, payload=names))
        error = self._raises.pop(kind, None)
        was_inside = member.membership.in_poll
        took = self._duration_us(kind)
        if took:
            if not member.pace.rebalances_in_task:
                member.membership.leave_poll()
            await member.host.sleep(took)
        if kind == REVOKED:
            await member.commits.on_revoke()
        if was_inside:
            member.membership.enter_poll()
        member.trace.begin(member.emit(Kind.CALLBACK_ENDED, reason=kind, span=span, error=error))
        if error:
            raise ClientFailure("KafkaException", f"User rebalance callback throws an error: {error}")

    def _duration_us(self, kind: str) -> int:
        blocked = self.blocks.pop(kind, 0)
        distribution = self._distribution(kind)
        if distribution is None:
            return blocked
        if kind not in self._draws:
            self._draws[kind] = self._member.stream_factory(f"callback-{kind}")()
        return blocked + distribution.draw(self._draws[kind])

    def _distribution(self, kind: str) -> Distribution | None:
        behaviour = self._member.behaviour
        if kind == ASSIGNED:
            return behaviour.on_assigned
        return behaviour.on_lost or behaviour.on_revoked if kind == LOST else behaviour.on_revoked


def _in_order(partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
    """Sort partitions by topic in Java's order of strings, then by number."""
    topics = dict.fromkeys(partition.topic for partition in partitions)
    order = {topic: number for number, topic in enumerate(java_sorted(topics))}
    return sorted(partitions, key=lambda partition: (order[partition.topic], partition.partition))
