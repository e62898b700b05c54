"""The partitions that a member owns, and the listener's callbacks when they change.

EAGER gives up all partitions before each join. COOPERATIVE gives up those of unsubscribed topics, and later those that
the new assignment takes away, followed by a second join (KIP-429). Partitions of a lost membership are *lost*, not
revoked (`onPartitionsLost`, KIP-429). A partition is owned from the start of the assigned callback until the revoked or
lost callback has returned, or the process dies: that is what the application assumes.

Sources: `ConsumerCoordinator.onJoinPrepare`, `onJoinComplete`, `onLeavePrepare`; classic-protocol
reference, section 4.8.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NoReturn

from groupsim.assignors.base.errors import AssignorError
from groupsim.assignors.base.interface import Assignor, RebalanceProtocol
from groupsim.assignors.error_location import locate_errors, source_of
from groupsim.assignors.sticky.base import StickyBase
from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.randomness import Stream
from groupsim.eventloop.trace.events import Kind
from groupsim.members.failures import ClientFailure
from groupsim.members.generation import ClientState
from groupsim.members.plugins import report
from groupsim.members.ports import Ports
from groupsim.members.profiles.defects import Defect
from groupsim.members.settings import SettingError
from groupsim.protocol.embedded.consumer_protocol import Subscription, decode_assignment, encode_subscription
from groupsim.protocol.embedded.sticky_data import encode_sticky_user_data
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.javahash import java_copied_order, java_sorted
from groupsim.protocol.messages.group import NO_GENERATION, JoinProtocol, TopicPartition

CALLBACKS = ASSIGNED, REVOKED, LOST = "assigned", "revoked", "lost"
UNASSIGNED = "unassigned"
_SHORTEST_ASSIGNMENT = 2
_REMEMBERED = 1_024  # cached offers
_topic_of = itemgetter(0)  # the topic of a partition
NEED_TO_REVOKE = "need to revoke partitions and re-join"
_LIBRDKAFKA_ORDER = ("range", "roundrobin", "cooperative-sticky")
STALE_ASSIGNMENT = "received assignment does not match the current subscription"


def common_protocol(assignors: Iterable[Assignor]) -> RebalanceProtocol:
    """Return the highest rebalance protocol that all assignors support. Raises SettingError without a common one."""
    found = list(assignors)
    common = found[0].protocols
    for other in found[1:]:
        common &= other.protocols
    if not common:
        names = ",".join(assignor.name for assignor in found)
        remedy = "choose assignors that have one in common"
        raise SettingError("partition.assignment.strategy", names, "no common rebalance protocol", remedy)
    return max(common)


class Ownership:
    """The owned partitions of one member."""

    __slots__ = ("_assignors", "_claims", "_draws", "_member", "_raises", "blocks", "owned", "protocol")

    def __init__(self, member: Ports, assignors: Sequence[Assignor]) -> None:
        self._member = member
        self._assignors = {assignor.name: assignor for assignor in assignors}
        if not member.profile.leader.sticky_by_quotas:
            for assignor in assignors:
                if isinstance(assignor, StickyBase):
                    assignor.has_quotas = False
        self.protocol = common_protocol(assignors)
        #: Partition → the generation that assigned it first, in the order of the assignment.
        self.owned: dict[TopicPartition, int] = {}
        self._draws: dict[str, Stream] = {}
        #: Kind of callback → extra time of the next one, in microseconds.
        self.blocks: dict[str, int] = {}
        self._raises: dict[str, str] = {}
        self._claims: bytes | None = None  # user data of a cooperative assignor: the last assignment

    # -- JoinGroup ----------------------------------------------------------------------------------------------

    def offers(self) -> tuple[JoinProtocol, ...]:
        """Return each configured assignor with the member's subscription, in order of preference."""
        member, topics = self._member, self._member.subscription.topics
        owned = tuple(self.owned)
        in_own_order = Defect.LIBRDKAFKA_3818 in member.profile.defects
        assignors = sorted(self._assignors, key=_rank) if in_own_order else self._assignors
        version, rack = member.profile.subscription.version, member.settings.client_rack
        tells = member.profile.subscription.eager_generation or self.protocol is RebalanceProtocol.COOPERATIVE
        generation = self._claimed_generation() if tells else NO_GENERATION
        return tuple(
            [
                _offer(name, version, topics, self._user_data(self._assignors[name], topics), owned, generation, rack)
                for name in assignors
            ]
        )

    def _claimed_generation(self) -> int:
        """Return the generation of the subscription; librdkafka keeps sending it after it has lost its member id."""
        member = self._member
        return member.joined.id if member.profile.subscription.claims_in_user_data else member.generation.id

    def _user_data(self, assignor: Assignor, topics: tuple[str, ...]) -> bytes | None:
        profile = self._member.profile
        try:
            data: object = assignor.user_data(topics)
            if data is not None and not isinstance(data, bytes):
                problem = f"user_data returned a {type(data).__name__}; return bytes, or None"
                raise AssignorError(assignor.name, problem, source_of(type(assignor)))
        except (Exception, SystemExit) as problem:
            self._raise_located(assignor, problem)
        # librdkafka claims partitions in the user data of sticky (`rdkafka_sticky_assignor.c`), not in Subscription v2.
        if profile.subscription.claims_in_user_data and _is_cooperative(assignor):
            data = self._claims
        # Without user data the claims had no generation (KAFKA-12984).
        if Defect.KAFKA_12984 in profile.defects and _is_cooperative(assignor):
            data = None
        if Defect.FRANZ_GO_DCFCACB5 in profile.defects and data is not None and not _is_cooperative(assignor):
            data = encode_sticky_user_data((), self._member.generation.id)
        return profile.subscription.no_user_data if data is None else data

    def _raise_located(self, assignor: Assignor, problem: BaseException) -> NoReturn:
        """Raise an assignor's exception with the location in the user's code."""
        try:
            with locate_errors(assignor):
                raise problem
        except AssignorError as error:
            raise report(self._member, error) from error

    def _call_on_assignment(self, assignor: Assignor, assigned: tuple[TopicPartition, ...]) -> None:
        generation = self._member.generation
        if self._member.profile.subscription.claims_in_user_data and _is_cooperative(assignor):
            self._claims = encode_sticky_user_data(assigned, generation.id)
        try:
            assignor.on_assignment(assigned, generation.id)
        except (Exception, SystemExit) as problem:
            self._raise_located(assignor, problem)

    def assignor_named(self, name: str) -> Assignor:
        """Return the assignor that the group selected. Raises ClientFailure, as `onJoinComplete` throws, without it."""
        try:
            return self._assignors[name]
        except KeyError:
            configured = ", ".join(self._assignors)
            reason = f"the coordinator selected assignor {name!r}; configured: {configured}"
            raise ClientFailure("IllegalStateException", reason) from None

    # -- steps of a rebalance -----------------------------------------------------------------------------------

    def prepare(self) -> Coroutine[Any, Any, None] | None:
        """Revoke or lose partitions before a join (`ConsumerCoordinator.onJoinPrepare`).

        Returns a coroutine to await; None when no callback is due.
        """
        # A lost generation or member id means another member may own the partitions already: lost, not revoked.
        if self._member.generation.is_lost:
            if self._member.profile.positions.kept:
                self._member.fetcher.ownership_changed()
            # Up to 2.3 Java calls the revoked callback before the first join, too, with no partitions.
            if self.owned or self._member.profile.callbacks.before_first_join:
                return self._give_up(LOST if self._member.profile.callbacks.lost else REVOKED, list(self.owned))
        elif self.protocol is RebalanceProtocol.EAGER:
            return self._revoke(list(self.owned))
        else:
            topics = frozenset(self._member.subscription.topics)
            stale = [partition for partition in self.owned if partition.topic not in topics]
            if stale:
                return self._revoke(stale)
        return None

    async def complete(self, data: bytes) -> None:
        """Adopt an assignment: revoke what it takes away, then call back (`ConsumerCoordinator.onJoinComplete`).

        Raises ClientFailure: all callbacks run, the assignor's among them, and the first exception is thrown. A failure
        in the assignor raises PluginError where that ends the run.
        """
        member = self._member
        assignor = self.assignor_named(member.generation.protocol or "")
        assigned = self._decode(data)
        topics = dict.fromkeys(map(_topic_of, assigned))
        # The subscription changed during the rebalance: rejoin without any callback; before 2.3 an exception
        # (KAFKA-7961).
        if not all(map(member.subscription.covers, topics)):
            if Defect.KAFKA_7961 in member.profile.defects:
                raise ClientFailure("IllegalArgumentException", "assigned a non-subscribed topic", fatal=True)
            member.membership.request_rejoin(STALE_ASSIGNMENT, {"subscribed": ",".join(member.subscription.topics)})
            return
        if member.subscription.adopt(topics):
            member.metadata.refresh()
        failure = None
        if self.protocol is RebalanceProtocol.COOPERATIVE:
            failure = await self._revoke_missing(assigned)
        added = self._added(assigned)
        try:
            self._call_on_assignment(assignor, assigned)
        except ClientFailure as error:
            failure = failure or error
        member.commits.restart_interval()
        self._own(assigned, added)
        try:
            await self._call_back(ASSIGNED, added)
        except ClientFailure as error:
            failure = failure or error
        if failure:
            raise failure

    def _decode(self, data: bytes) -> tuple[TopicPartition, ...]:
        # The coordinator sends an empty assignment to a member that the leader left out; Java's poll throws.
        if len(data) < _SHORTEST_ASSIGNMENT:
            reason = (
                f"an assignment of {len(data)} bytes: the leader left this member out, or the coordinator had none; "
                "there are insufficient bytes to read the version"
            )
            raise ClientFailure("IllegalStateException", reason)
        try:
            return decode_assignment(data).partitions
        except ProtocolError as error:
            raise ClientFailure("SchemaException", f"assignment: {error}") from error

    async def _revoke_missing(self, assigned: Iterable[TopicPartition]) -> ClientFailure | None:
        """Revoke owned partitions that the assignment lacks, and rejoin so that their new owners get them (KIP-429)."""
        kept = frozenset(assigned)
        gone = [partition for partition in self.owned if partition not in kept]
        if not gone:
            return None
        failure = None
        try:
            await self._revoke(gone)
        except ClientFailure as error:
            failure = error
        self._member.commits.revoked()
        self._member.membership.request_rejoin(NEED_TO_REVOKE)
        return failure

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

    def choose(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Own the partitions that the application assigned itself: no generation, no callbacks."""
        if tuple(self.owned) == partitions:
            return
        self._release([partition for partition in self.owned if partition not in partitions], UNASSIGNED)
        added = self._added(partitions)
        self._member.commits.restart_interval()
        self._own(partitions, added)

    async def abandon(self) -> None:
        """Revoke all partitions on close or unsubscribe; lose them without a stable membership (`onLeavePrepare`)."""
        member = self._member
        chosen = all(generation == NO_GENERATION for generation in self.owned.values())
        if chosen or not member.profile.callbacks.on_leaving:
            self.release_all(UNASSIGNED)  # assigned by the application, or before KIP-429: no callback
            return
        sound = not member.generation.is_lost and member.state is ClientState.STABLE  # even if a rejoin is requested
        await self._give_up(REVOKED if sound else LOST, list(self.owned))

    def release_all(self, reason: str) -> None:
        """Release all partitions without callbacks, as the process ends."""
        self._release(list(self.owned), reason)

    # -- callbacks ----------------------------------------------------------------------------------------------

    def block_next(self, kind: str, us: int) -> None:
        """Extend the next callback of this kind (assigned, revoked, lost) by `us` microseconds."""
        self.blocks[kind] = self.blocks.get(kind, 0) + us

    def raise_next(self, kind: str, message: str) -> None:
        """Make the next callback of this kind raise."""
        self._raises[kind] = message

    def _revoke(self, partitions: list[TopicPartition]) -> Coroutine[Any, Any, None]:
        self._member.commits.giving_up(partitions)
        return self._give_up(REVOKED, partitions)

    async def _give_up(self, kind: str, partitions: list[TopicPartition]) -> None:
        member = self._member
        member.fetcher.stop_delivering(partitions)
        try:
            await self._call_back(kind, partitions)
        finally:
            if not member.closing or member.host.alive:
                self._release(partitions, kind)

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


def _is_cooperative(assignor: Assignor) -> bool:
    return RebalanceProtocol.COOPERATIVE in assignor.protocols


def _in_order(partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
    """Sort partitions by topic in Java's order of strings, then by number."""
    topics = dict.fromkeys(partition.topic for partition in partitions)
    order = {topic: number for number, topic in enumerate(java_sorted(topics))}
    return sorted(partitions, key=lambda partition: (order[partition.topic], partition.partition))


def _rank(assignor: str) -> int:
    """Return an assignor's place in librdkafka's list up to 1.8 (`rd_kafka_assignors_init`, librdkafka #3818)."""
    return _LIBRDKAFKA_ORDER.index(assignor) if assignor in _LIBRDKAFKA_ORDER else len(_LIBRDKAFKA_ORDER)


@lru_cache(maxsize=_REMEMBERED)
def _offer(
    name: str,
    version: int,
    topics: tuple[str, ...],
    user_data: bytes | None,
    owned: tuple[TopicPartition, ...],
    generation: int,
    rack: str,
) -> JoinProtocol:
    """Encode an assignor's subscription; cached, because members of a group often send equal ones twice."""
    subscription = Subscription(topics, user_data, owned, generation if generation >= 0 else None, rack or None)
    return JoinProtocol(name, encode_subscription(subscription, version))
