"""The content of a trace, sorted by process and group, before any cause is attributed.

`HostFacts` is one process (its lives, pauses, callbacks, states), `Round` one rebalance of a group at the coordinator,
`Facts` all of them. `index_events.py` fills them in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from attrs import Factory

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.values import define
from groupsim.scenarios.story.lineage import Lineage
from groupsim.scenarios.story.rebalances.copies import Copies
from groupsim.scenarios.story.rebalances.holdings import Holdings, PartitionSlot
from groupsim.scenarios.story.records.delivery_ledger import DeliveryLedger, DeliveryLedgers
from groupsim.scenarios.story.records.fetches import Fetches
from groupsim.scenarios.story.records.lag import CountedWalk
from groupsim.scenarios.story.records.leader_log_lag import LeaderLogWalk
from groupsim.scenarios.story.records.log_growth import Growth
from groupsim.scenarios.story.records.progress import Partition

_began = attrgetter("began_us")


@define
class Stretch:
    """A stretch of time; `ended_us` is None while it goes on."""

    began_us: int
    ended_us: int | None = None
    what: str = ""
    where: str | None = None
    why: str = ""  # of a crash that no step ordered: its reason
    kind: str = ""  # of a fault: its name in the trace
    api: str | None = None  # of a fault: the API whose messages it affects

    def overlaps(self, begin_us: int, end_us: int) -> bool:
        """Return whether any part of it lies in [begin, end]."""
        return self.began_us <= end_us and (self.ended_us is None or self.ended_us >= begin_us)

    def within_us(self, begin_us: int, end_us: int) -> int:
        """Return how much of it lies in [begin, end]."""
        end = end_us if self.ended_us is None else min(self.ended_us, end_us)
        return max(0, end - max(self.began_us, begin_us))


@define
class HostFacts:
    """One process."""

    name: str
    group: str | None = None
    client_id: str | None = None
    profile: str | None = None
    rack: str | None = None  # its client.rack
    instance: str | None = None  # its group.instance.id
    started: list[int] = Factory(list)
    ended: list[Stretch] = Factory(list)  # began_us alone counts; what: stopped, crashed, failed
    pauses: list[Stretch] = Factory(list)
    starved: list[Stretch] = Factory(list)  # its heartbeat thread got no CPU time, its application did
    callbacks: list[Stretch] = Factory(list)
    handling: list[Stretch] = Factory(list)  # while records were delivered and not yet processed
    in_hand: int = 0  # number of such records now
    states: list[tuple[int, str]] = Factory(list)
    signals: dict[str, list[TraceEvent]] = Factory(dict)  # by kind: poll.expired, rejoin.requested, request.failed …
    refused: list[TraceEvent] = Factory(list)  # answers to heartbeats with an error
    unreleased: list[int] = Factory(list)  # when it was refused with UNRELEASED_INSTANCE_ID
    members: list[tuple[int, str]] = Factory(list)  # when it received which member id
    topics: tuple[str, ...] | None = None  # its subscription, if that is a list
    assigns_itself: bool = False  # by KafkaConsumer.assign: it has a group id and is no member
    failure: str | None = None
    heartbeats: int = 0
    fetches: Fetches | None = None
    delivered: int = 0  # records
    duplicates: int = 0  # of these, records that its group had received before

    def releasing_since(self, at_us: int) -> int | None:
        """Return when the callback for revoked or lost partitions began that ran or ended at `at_us`; None for none.

        A cooperative member calls onPartitionsAssigned in the instant in which it has released the revoked partitions.
        """
        index = bisect_right(self.callbacks, at_us, key=_began) - 1
        begun = None
        while index >= 0:
            callback = self.callbacks[index]
            if callback.what != "assigned":
                if not callback.overlaps(at_us, at_us):
                    break
                begun = callback.began_us  # onPartitionsLost may follow onPartitionsRevoked in the same instant
            index -= 1
        return begun

    def end_between(self, begin_us: int, end_us: int) -> Stretch | None:
        """Return the last end of a life in (begin, end]."""
        return next((e for e in reversed(self.ended) if begin_us < e.began_us <= end_us), None)

    def signal(self, kind: str, begin_us: int, end_us: int) -> TraceEvent | None:
        """Return the last signal of that kind in [begin, end]."""
        signals = self.signals.get(kind, [])
        index = bisect_right(signals, end_us, key=lambda signal: signal.t_us)
        return signals[index - 1] if index and signals[index - 1].t_us >= begin_us else None


@define
class Round:
    """One rebalance at the coordinator."""

    group: str
    old: int  # the generation it abandons
    prepare: TraceEvent
    known: dict[str, int]  # members when it began → when they were added
    arrivals: dict[str, int] = Factory(dict)  # member → its (last) join in this round; its move to the target
    revocations: dict[str, None] = Factory(dict)  # of them, those that had partitions to revoke
    removed: list[TraceEvent] = Factory(list)
    removed_waiting: dict[str, int] = Factory(dict)  # member removed while its JoinGroup waited → when it came
    pending: list[TraceEvent] = Factory(list)
    completing: TraceEvent | None = None
    leader: str | None = None
    stable: TraceEvent | None = None
    ended: TraceEvent | None = None  # the event that ended it
    present: tuple[str, ...] = ()  # members when it completed
    began_by: TraceEvent | None = None  # the addition or removal of a member in the same instant
    by_epochs: bool = False  # of a consumer group (KIP-848)


@define
class GroupFacts:
    """One group: its present members and its rounds."""

    name: str
    members: dict[str, int] = Factory(dict)
    recent: dict[str, int] = Factory(dict)  # member → its last join, which may come before the state changes
    last_change: TraceEvent | None = None
    rounds: list[Round] = Factory(list)
    removals: list[TraceEvent] = Factory(list)
    removed_in: dict[int, Round] = Factory(dict)  # seq of a removal → the round it happened in
    fenced: dict[str, list[str]] = Factory(dict)  # instance id → members fenced under it
    loaded: list[int] = Factory(list)
    rebalancing: dict[str, None] = Factory(dict)  # hosts that rebalance now, in a group of Kafka 0.8
    settled: tuple[tuple[str, int], ...] = ()  # the members of the last group record, each with when it was added
    restored_us: dict[str, list[int]] = Factory(dict)  # removed member → when a load of the log restored it
    by_epochs: bool = False  # now a consumer group (KIP-848): its rounds are made from epochs
    conversions: list[TraceEvent] = Factory(list)
    held: dict[str, Mapping[str, Any]] = Factory(dict)  # member of a consumer group → its last member.epoch
    regexes: dict[str, list[str]] = Factory(dict)  # regular expression → the topics that it was resolved to
    resolved: TraceEvent | None = None  # the last resolution: which topics match now, and which no more
    changed_us: int = -1  # when it last changed; records being handled then are kept for later

    @property
    def open(self) -> Round | None:
        """The round that has not ended; None for none."""
        return self.rounds[-1] if self.rounds and self.rounds[-1].ended is None else None


@define
class FinishedRollout:
    """A rollout whose pods are ready, and when its group was stable with them."""

    event: TraceEvent
    settled_us: int | None = None


@define
class RecordContext:
    """One member on one partition: the objects that an event about records changes, looked up once."""

    host: HostFacts
    group: str
    partition: Partition
    ledger: DeliveryLedger
    slot: PartitionSlot  # with the member's present holding of the partition, if it has one


@define
class Facts:
    """The input of the story. `growth` is the growth of counted logs, as far as it is known yet."""

    growth: Growth = Factory(Growth)
    lineage: Lineage = Factory(Lineage)
    scenario: str = ""
    seed: int | None = None
    end_us: int = 0
    hosts: dict[str, HostFacts] = Factory(dict)
    groups: dict[str, GroupFacts] = Factory(dict)
    copies: Copies = Factory(Copies)
    process: dict[str, str] = Factory(dict)  # member id → host
    client_ids: dict[str, None] = Factory(dict)  # member ids that their clients have received
    session_us: dict[str, int] = Factory(dict)  # member id → its session timeout
    actions: list[TraceEvent] = Factory(list)
    faults: dict[int, Stretch] = Factory(dict)
    fault_events: list[TraceEvent] = Factory(list)
    metadata: list[TraceEvent] = Factory(list)
    notes: list[TraceEvent] = Factory(list)
    brokers: list[TraceEvent] = Factory(list)  # fencing, elections of leaders, loads of groups
    holdings: Holdings = Factory(Holdings)
    ledgers: DeliveryLedgers = Factory(DeliveryLedgers)
    record_contexts: dict[tuple[object, ...], RecordContext] = Factory(dict)  # by columns 3 to 8 of an event
    starts: list[TraceEvent] = Factory(list)
    timed_out_requests: list[TraceEvent] = Factory(list)  # JoinGroup and SyncGroup that timed out at the client
    pending: list[TraceEvent] = Factory(list)  # answers with UNSTABLE_OFFSET_COMMIT
    rollouts: list[FinishedRollout] = Factory(list)
    walk: CountedWalk | LeaderLogWalk | None = None
    log_ends: TraceEvent | None = None
    commits_failed: list[TraceEvent] = Factory(list)
    produce_failed: list[TraceEvent] = Factory(list)

    def host(self, name: str) -> HostFacts:
        """Return the facts of a host; create them on first use."""
        known = self.hosts.get(name)
        if known is None:
            known = self.hosts[name] = HostFacts(name)
        return known

    def host_of(self, member: str | None) -> HostFacts | None:
        """Return the process of a member id; None for an unknown id."""
        name = self.process.get(member or "")
        return self.hosts.get(name) if name else None

    def nearest(self, event: TraceEvent | None, kind: Kind) -> TraceEvent | None:
        """Return the event, or the nearest of its causes, that is a step or a failed process (`kind`)."""
        return self.lineage.nearest(event, kind)


def latest(moments: list[int], at_us: int) -> int | None:
    """Return the last of these sorted moments that is not after `at_us`; None for none."""
    index = bisect_right(moments, at_us)
    return moments[index - 1] if index else None
