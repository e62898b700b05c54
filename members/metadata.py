"""The client's view of topics: refreshed every metadata.max.age.ms, or sooner on demand.

A new partition is noticed when the view is refreshed, up to five minutes late by default. Only the leader compares
its view with the one it assigned by, for all topics of the group; a pattern subscriber matches its own pattern anew.
A wanted topic that does not exist, and for a consumer that pulls one without a leader, is asked for again and again,
with the backoff. All of it is events.

Source: `Metadata`, `ConsumerMetadata`, `ConsumerCoordinator.MetadataSnapshot` and its `PartitionRackInfo` (4.4.0);
classic-protocol reference, section 4.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.units import MS_US
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.leaders import Leaders
from groupsim.members.parts import Racks, Snapshot
from groupsim.members.ports import Ports
from groupsim.members.profiles.defects import Defect
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages.group import Api, MetadataRequest, MetadataResponse, PartitionInfo, TopicInfo

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Handle

_RACKS_SINCE = 3  # subscriptions tell of them from this version on (KIP-881)
_BACKOFF = "metadata-backoff"  # what its luck is drawn for


class MetadataView:
    """Topics as the last metadata response showed them."""

    __slots__ = (
        "_again",
        "_asked",
        "_asked_us",
        "_group_topics",
        "_in_flight",
        "_member",
        "_node",
        "_timer",
        "_waiting",
        "leaders",
        "topics",
        "version",
    )

    def __init__(self, member: Ports, leaders: Leaders | None = None) -> None:
        self._member = member
        #: Who leads which partition; None for a consumer that does not pull.
        self.leaders = leaders
        self.topics: dict[str, TopicInfo] = {}
        self.version = 0
        self._group_topics: tuple[str, ...] = ()
        self._asked: tuple[str, ...] | None = ()
        self._asked_us = 0
        self._in_flight = False
        self._again = False
        self._node = -1
        self._timer: Handle | None = None
        self._waiting: Callable[[Any], None] | None = None  # who looks up the coordinator

    # -- what is wanted -----------------------------------------------------------------------------------------

    @property
    def wanted(self) -> tuple[str, ...]:
        """The topics this client watches: its own, and as a leader those of the whole group."""
        own = self._member.subscription.topics  # sorted, none twice
        return tuple(java_sorted({*own, *self._group_topics})) if self._group_topics else own

    def watch_group(self, topics: Iterable[str]) -> bool:
        """As the leader, watch these too; True when the view does not know all of them yet."""
        self._group_topics = tuple(topics)
        return any(topic not in self.topics for topic in self._group_topics)

    def forget_group(self) -> None:
        """No leader any more: watch one's own topics only."""
        self._group_topics = ()

    def snapshot(self) -> Snapshot:
        """What the leader compares: partition counts (and racks) of the watched topics."""
        member = self._member
        with_racks = bool(member.settings.client_rack) and member.profile.subscription.version >= _RACKS_SINCE
        known = ((name, self.topics[name]) for name in self.wanted if name in self.topics)
        return {
            name: (len(topic.partitions), tuple(map(_racks, topic.partitions)) if with_racks else ())
            for name, topic in known
            if topic.partitions
        }

    def differs(self, before: Snapshot) -> bool:
        """Whether the watched topics are others than they were then."""
        now = self.snapshot()
        if before == now:
            return False
        if before.keys() != now.keys() or any(before[name][0] != now[name][0] for name in now):
            return True
        alike = _told_alike if Defect.KAFKA_20778 in self._member.profile.defects else _alike
        return not all(alike(*pair) for name in now for pair in zip(before[name][1], now[name][1], strict=True))

    # -- refreshing ---------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Ask now; while a request is in flight, ask again after its answer if that does not cover what is wanted."""
        if self._in_flight:
            self._again = True
        else:
            self._ask(None)

    def outdated(self) -> None:
        """Something hints at newer metadata (a lost connection, a failed look-up): ask, at the pace of the backoff."""
        member = self._member
        if self._in_flight or member.closing:
            return
        soonest = self._asked_us + member.settings.retry_backoff_ms * MS_US
        if soonest <= member.now_us:
            self._ask(None)
        else:
            self._ask_in(soonest - member.now_us)

    def after_next(self, told: Callable[[Any], None]) -> None:
        """Ask, and call `told` when the next answer is there (`ConsumerNetworkClient.awaitMetadataUpdate`)."""
        self._waiting = told
        self.outdated()

    def _ask(self, _: Any) -> None:
        member = self._member
        if self._in_flight or member.closing:
            return
        self._stop_timer()
        self._in_flight, self._again = True, False
        self._asked_us = member.loop.now_us
        self._asked = None if member.subscription.by_pattern else self.wanted
        request = MetadataRequest(self._asked, version=member.version(Api.METADATA))
        self._node = member.links.ask_any(request, self._answered)

    def _answered(self, outcome: Outcome) -> None:
        self._in_flight = False
        if type(outcome) is Disconnected:
            self._member.links.avoid(self._node)
            self._ask_in(self._member.backoff(_BACKOFF).next_us())
        elif type(outcome) is MetadataResponse:
            self._take(outcome)

    def _take(self, response: MetadataResponse) -> None:
        member = self._member
        self.topics = {topic.name: topic for topic in response.topics}
        self.version += 1
        led = self.leaders is None or self.leaders.learn(response)
        if member.subscription.by_pattern:
            member.subscription.resolve(response.topics, exclude_internal=member.settings.exclude_internal_topics)
        if self._again and self._asked is not None and self._asked != self.wanted:
            self._ask(None)
        elif not (led and self._has_all()):
            self._ask_in(member.backoff(_BACKOFF).next_us())
        else:
            member.succeeded(_BACKOFF)
            self._ask_in(member.settings.metadata_max_age_ms * MS_US)
        member.membership.metadata_changed()
        member.fetcher.metadata_came()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting(None)

    def _has_all(self) -> bool:
        """Whether there is every topic that is wanted."""
        for name in self.wanted:
            topic = self.topics.get(name)
            if topic is None or topic.error:
                return False
        return True

    def _ask_in(self, wait_us: int) -> None:
        self._stop_timer()
        member = self._member
        self._timer = member.host.call_at(member.loop.now_us + wait_us, self._ask)

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            self._member.host.cancel(timer)


def _racks(entry: PartitionInfo) -> Racks:
    there = [node for node in entry.replicas if node not in entry.offline]
    return tuple(zip(there, entry.racks, strict=False)), entry.offline


def _told_alike(one: Racks, other: Racks) -> bool:
    """Whether the same racks are told of, as up to 4.3 (KAFKA-20778): one that is away for a moment is a change."""
    return {rack for _, rack in one[0]} == {rack for _, rack in other[0]}


def _alike(one: Racks, other: Racks) -> bool:
    """Whether all racks told of in one are in the other, or belong to replicas that are away there, and vice versa."""
    return _accounted_for(one, other) and _accounted_for(other, one)


def _accounted_for(one: Racks, other: Racks) -> bool:
    racks = [rack for _, rack in other[0]]
    return all(rack in racks or node in other[1] for node, rack in one[0])
