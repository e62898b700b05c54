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

from groupsim.assignors.base.error_location import locate_errors, source_of
from groupsim.assignors.base.errors import AssignorError
from groupsim.assignors.base.interface import Assignor, RebalanceProtocol
from groupsim.assignors.sticky.base import StickyBase
from groupsim.members.failures import ClientFailure
from groupsim.members.generation import ClientState
from groupsim.members.ownership.owned import ASSIGNED, LOST, REVOKED, UNASSIGNED, OwnedPartitions
from groupsim.members.plugins import report
from groupsim.members.ports import Ports
from groupsim.members.profiles.defects import Defect
from groupsim.members.settings import SettingError
from groupsim.protocol.embedded.consumer_protocol import Subscription, decode_assignment, encode_subscription
from groupsim.protocol.embedded.sticky_data import encode_sticky_user_data
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.group import NO_GENERATION, JoinProtocol, TopicPartition

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


class Ownership(OwnedPartitions):
    """The owned partitions of one member of a classic group."""

    __slots__ = ("_assignors", "_claims", "protocol")

    def __init__(self, member: Ports, assignors: Sequence[Assignor]) -> None:
        super().__init__(member)
        self._assignors = {assignor.name: assignor for assignor in assignors}
        if not member.profile.leader.sticky_by_quotas:
            for assignor in assignors:
                if isinstance(assignor, StickyBase):
                    assignor.has_quotas = False
        self.protocol = common_protocol(assignors)
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

    async def abandon(self) -> None:
        """Revoke all partitions on close or unsubscribe; lose them without a stable membership (`onLeavePrepare`)."""
        member = self._member
        chosen = all(generation == NO_GENERATION for generation in self.owned.values())
        if chosen or not member.profile.callbacks.on_leaving:
            self.release_all(UNASSIGNED)  # assigned by the application, or before KIP-429: no callback
            return
        sound = not member.generation.is_lost and member.state is ClientState.STABLE  # even if a rejoin is requested
        await self._give_up(REVOKED if sound else LOST, list(self.owned))

    # -- callbacks ----------------------------------------------------------------------------------------------

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


def _is_cooperative(assignor: Assignor) -> bool:
    return RebalanceProtocol.COOPERATIVE in assignor.protocols


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
