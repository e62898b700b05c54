"""The client's metadata of topics, refreshed every metadata.max.age.ms or on demand.

The client notices a new partition at a refresh, by default up to five minutes late. Only the leader compares the
metadata with those it assigned by, for all topics of the group; a pattern subscriber matches its own pattern. A wanted
topic that does not exist makes the client ask again after a backoff; so does a partition without a leader, if the
consumer pulls.

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

_RACKS_SINCE = 3  # Subscription v3 carries the rack (KIP-881)
_BACKOFF = "metadata-backoff"  # the purpose of its random stream


class MetadataView:
    """The topics of the last metadata response."""

    __slots__ = (
        "_again",
        "_asked",
        "_asked_ids",
        "_asked_us",
        "_group_topics",
        "_in_flight",
        "_member",
        "_named",
        "_names",
        "_node",
        "_timer",
        "_waiting",
        "leaders",
        "topics",
        "version",
    )

    def __init__(self, member: Ports, leaders: Leaders | None = None) -> None:
        self._member = member
        #: Leader of each partition; None for a consumer that does not pull.
        self.leaders = leaders
        self.topics: dict[str, TopicInfo] = {}
        self.version = 0
        self._names: dict[str, str] = {}  # by topic id, of the version `_named`
        self._named = 0
        self._group_topics: tuple[str, ...] = ()
        self._asked: tuple[str, ...] | None = ()
        self._asked_ids: tuple[str, ...] = ()
        self._asked_us = 0
        self._in_flight = False
        self._again = False
        self._node = -1
        self._timer: Handle | None = None
        self._waiting: Callable[[Any], None] | None = None  # a coordinator look-up that waits for metadata

    # -- wanted topics ------------------------------------------------------------------------------------------

    @property
    def wanted(self) -> tuple[str, ...]:
        """The topics to watch: those of the subscription, and for a leader those of the whole group."""
        own = self._member.subscription.topics  # sorted, without duplicates
        return tuple(java_sorted({*own, *self._group_topics})) if self._group_topics else own

    @property
    def _wanted_ids(self) -> tuple[str, ...]:
        """The assigned topics: requested by id where the coordinator resolves the subscription (KAFKA-18117)."""
        subscription = self._member.subscription
        return () if subscription.regex is None or self._wants_all else subscription.assigned_ids

    @property
    def _wants_all(self) -> bool:
        """Whether all topics are requested: for a pattern, and for a regular expression in Java up to 4.0."""
        member = self._member
        by_regex = member.subscription.regex is not None and not member.profile.consumer_protocol.metadata_by_id
        return member.subscription.by_pattern or by_regex

    def topic_name(self, topic_id: str) -> str | None:
        """Return the name of a topic by its id; None for a topic that the last metadata response lacks."""
        if self._named != self.version:
            self._named = self.version
            self._names = {topic.topic_id: name for name, topic in self.topics.items() if topic.topic_id}
        return self._names.get(topic_id)

    def watch_group(self, topics: Iterable[str]) -> bool:
        """Watch the group's topics as its leader; True when the metadata lack some of them."""
        self._group_topics = tuple(topics)
        return any(topic not in self.topics for topic in self._group_topics)

    def forget_group(self) -> None:
        """Watch the own topics only, as a follower."""
        self._group_topics = ()

    def snapshot(self) -> Snapshot:
        """Return the partition counts of the watched topics, with client.rack the racks, too, for a leader."""
        member = self._member
        with_racks = bool(member.settings.client_rack) and member.profile.subscription.version >= _RACKS_SINCE
        known = ((name, self.topics[name]) for name in self.wanted if name in self.topics)
        return {
            name: (len(topic.partitions), tuple(map(_racks, topic.partitions)) if with_racks else ())
            for name, topic in known
            if topic.partitions
        }

    def differs(self, before: Snapshot) -> bool:
        """Whether the watched topics differ from a snapshot."""
        now = self.snapshot()
        if before == now:
            return False
        if before.keys() != now.keys() or any(before[name][0] != now[name][0] for name in now):
            return True
        # Up to 4.3 an offline replica counted as a rack that is gone (KAFKA-20778).
        alike = _same_racks if Defect.KAFKA_20778 in self._member.profile.defects else _alike
        return not all(alike(*pair) for name in now for pair in zip(before[name][1], now[name][1], strict=True))

    # -- refreshing ---------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Request metadata now; while a request is in flight, again after its answer if that lacks wanted topics."""
        if self._in_flight:
            self._again = True
        else:
            self._ask(None)

    def outdated(self) -> None:
        """Request metadata, at most every retry.backoff.ms: after a lost connection or a failed look-up."""
        member = self._member
        if self._in_flight or member.closing:
            return
        soonest = self._asked_us + member.settings.retry_backoff_ms * MS_US
        if soonest <= member.now_us:
            self._ask(None)
        else:
            self._ask_in(soonest - member.now_us)

    def call_after_next(self, callback: Callable[[Any], None]) -> None:
        """Request metadata, and call `callback` with the next answer (`ConsumerNetworkClient.awaitMetadataUpdate`)."""
        self._waiting = callback
        self.outdated()

    def _ask(self, _: Any) -> None:
        member = self._member
        if self._in_flight or member.closing:
            return
        self._stop_timer()
        self._in_flight, self._again = True, False
        self._asked_us = member.loop.now_us
        self._asked = None if self._wants_all else self.wanted
        self._asked_ids = self._wanted_ids
        request = MetadataRequest(self._asked, version=member.version(Api.METADATA), topic_ids=self._asked_ids)
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
        if member.subscription.by_pattern and not member.membership.resolves_in_poll:
            self.match_pattern()
        if self._again and self._asked is not None and self._lacks_some:
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

    @property
    def _lacks_some(self) -> bool:
        return self._asked != self.wanted or self._asked_ids != self._wanted_ids

    def match_pattern(self) -> None:
        """Match the pattern of the subscription against the topics of the last response."""
        member = self._member
        internal = member.settings.exclude_internal_topics
        member.subscription.resolve(self.topics.values(), exclude_internal=internal)

    def _has_all(self) -> bool:
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


def _same_racks(one: Racks, other: Racks) -> bool:
    """Whether the online racks are equal, as up to 4.3: a replica that is offline for a moment is a change."""
    return {rack for _, rack in one[0]} == {rack for _, rack in other[0]}


def _alike(one: Racks, other: Racks) -> bool:
    """Whether each online rack of one is online in the other, or its replica is offline there, and vice versa."""
    return _accounted_for(one, other) and _accounted_for(other, one)


def _accounted_for(one: Racks, other: Racks) -> bool:
    racks = [rack for _, rack in other[0]]
    return all(rack in racks or node in other[1] for node, rack in one[0])
