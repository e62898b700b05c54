"""What a client does, by the events of its process: C1, C2, C4, C6 and C7.

C4, C6 and C7 hold for members of both protocols.

Source: consumer-protocol reference, 2.2, 2.3, 2.6, 3.2 and 3.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.client.heartbeats import PROCESS_ENDS

_IN_GROUP = ("JOINING", "STABLE", "RECONCILING", "ACKNOWLEDGING")

ENTERED_FROM: Mapping[str, tuple[str, ...]] = {
    "UNSUBSCRIBED": ("PREPARE_LEAVING", "LEAVING", "FENCED"),
    "JOINING": ("FENCED", "UNSUBSCRIBED", "STALE"),
    "RECONCILING": ("STABLE", "JOINING", "ACKNOWLEDGING"),
    "ACKNOWLEDGING": ("RECONCILING",),
    "STABLE": ("JOINING", "ACKNOWLEDGING", "RECONCILING"),
    "FENCED": (*_IN_GROUP, "PREPARE_LEAVING", "LEAVING"),
    "PREPARE_LEAVING": (*_IN_GROUP, "UNSUBSCRIBED"),
    "LEAVING": ("PREPARE_LEAVING",),
    "STALE": ("LEAVING",),
    "FATAL": (*_IN_GROUP, "PREPARE_LEAVING", "LEAVING", "UNSUBSCRIBED"),
}
"""The states from which each state of Java's client may be entered; a state may also follow itself."""


class ClientStates(Checker):
    """C1."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset({Kind.CLIENT_STATE})

    def event(self, event: TraceEvent) -> Found:
        """Compare a transition with the table; states of the classic protocol are not in it."""
        before, after = event.from_ or "", event.to or ""
        if before in ENTERED_FROM and after in ENTERED_FROM and before not in (after, *ENTERED_FROM[after]):
            yield self.in_trace(event, f"{event.host} goes from {before} to {after}")


class ClientEpochs(Checker):
    """C2."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset({Kind.REQUEST_SENT, *PROCESS_ENDS})

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._epochs: dict[str, tuple[str, int]] = {}  # process → member id, epoch

    def event(self, event: TraceEvent) -> Found:
        """Compare the epoch of a heartbeat with the one before."""
        host = event.host or ""
        if event.kind is not Kind.REQUEST_SENT:
            self._epochs.pop(host, None)
            return
        epoch = (event.payload or {}).get("epoch")
        if event.api != "ConsumerGroupHeartbeat" or epoch is None or event.member is None:
            return
        known = self._epochs.get(host)
        if known is not None and known[0] == event.member and 0 < epoch < known[1]:
            yield self.in_trace(event, f"the epoch of {host} falls", epochs={"before": known[1], "after": epoch})
        self._epochs[host] = (event.member, epoch)


class CallbacksAlternate(Checker):
    """C4."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.CALLBACK_BEGUN, Kind.CALLBACK_ENDED, Kind.CLIENT_STATE, Kind.PROCESS_STARTED, Kind.PROCESS_CRASHED}
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._held: dict[str, dict[str, None]] = {}  # process → partitions, as its callbacks know them
        self._running: dict[tuple[str, int], tuple[str, ...]] = {}  # of a callback that takes partitions away
        #: What a client was giving up when it left or was fenced; it is called that it has lost these as well.
        self._left: dict[str, tuple[str, ...]] = {}

    def event(self, event: TraceEvent) -> Found:
        """Follow the callbacks of a process, partition by partition."""
        host = event.host or ""
        if event.kind in (Kind.PROCESS_STARTED, Kind.PROCESS_CRASHED):
            self._held.pop(host, None)
            self._left.pop(host, None)
            return
        if event.kind is Kind.CLIENT_STATE:
            if event.to in ("LEAVING", "STALE", "FENCED"):
                running = (one for (of, _), several in self._running.items() if of == host for one in several)
                self._left[host] = (*self._left.get(host, ()), *running)
            return
        held = self._held.setdefault(host, {})
        if event.kind is Kind.CALLBACK_ENDED:
            for one in self._running.pop((host, event.span or 0), ()) if event.error is None else ():
                held.pop(one, None)
            return
        partitions = tuple((event.payload or {}).get("partitions", ()))
        if event.reason == "assigned":
            wrong = [one for one in partitions if one in held]
            held |= dict.fromkeys(partitions)
            what = "is assigned a partition that it has"
        else:
            left = self._left.pop(host, ()) if event.reason == "lost" else ()
            wrong = [one for one in partitions if one not in held and one not in left]
            self._running[host, event.span or 0] = partitions
            what = f"is called for a partition that is {event.reason}, and that it does not have"
        if wrong:
            yield self.in_trace(event, f"{host} {what}", partitions=tuple(wrong))


class DeliversOwned(Checker):
    """C6."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.PARTITION_OWNED, Kind.PARTITION_RELEASED, Kind.RECORDS_DELIVERED, *PROCESS_ENDS}
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._owned: dict[str, dict[tuple[str, int], None]] = {}

    def event(self, event: TraceEvent) -> Found:
        """Compare a delivery with what its process owns."""
        host, key = event.host or "", (event.topic or "", event.partition or 0)
        owned = self._owned.setdefault(host, {})
        if event.kind is Kind.PARTITION_OWNED:
            owned[key] = None
        elif event.kind is Kind.PARTITION_RELEASED:
            owned.pop(key, None)
        elif event.kind is not Kind.RECORDS_DELIVERED:
            owned.clear()
        elif key not in owned:
            where = (f"{key[0]}-{key[1]}",)
            yield self.in_trace(event, f"{host} gets records of a partition that it does not own", partitions=where)


class OneClientOwner(Checker):
    """C7. A load of a classic group suspends it for the members of before: the trace does not name those loaded."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {
            Kind.PARTITION_OWNED,
            Kind.PARTITION_RELEASED,
            Kind.MEMBER_ADDED,
            Kind.MEMBER_REMOVED,
            Kind.MEMBER_REPLACED,
            Kind.GROUP_DELETED,
            Kind.GROUP_UNLOADED,
            Kind.GROUP_LOADED,
            *PROCESS_ENDS,
        }
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._members: dict[str, dict[str, None]] = {}  # group → its present members
        self._owners: dict[tuple[str, str, int], dict[str, str]] = {}  # group, topic, number → process → member

    def event(self, event: TraceEvent) -> Found:
        """Follow members and owners; look for a partition with two owners that are both members."""
        group, member, host = event.group or "", event.member or "", event.host or ""
        kind = event.kind
        if kind in PROCESS_ENDS:
            for owners in self._owners.values():
                owners.pop(host, None)
            return
        members = self._members.setdefault(group, {})
        if kind in (Kind.PARTITION_OWNED, Kind.PARTITION_RELEASED):
            owners = self._owners.setdefault((group, event.topic or "", event.partition or 0), {})
            owners.pop(host, None)
            if kind is Kind.PARTITION_OWNED:
                yield from self._owned(event, owners, members)
                owners[host] = member
        elif kind is Kind.MEMBER_ADDED:
            members[member] = None
        elif kind is Kind.MEMBER_REPLACED:
            members.pop(str((event.payload or {}).get("old")), None)
            members[member] = None
        elif kind is Kind.MEMBER_REMOVED:
            members.pop(member, None)
        else:
            members.clear()

    def _owned(self, event: TraceEvent, owners: Mapping[str, str], members: Mapping[str, None]) -> Found:
        if event.member not in members:
            return
        others = [host for host, member in owners.items() if member in members and member != event.member]
        if others:
            yield self.in_trace(
                event,
                f"{event.host} owns a partition that {others[0]} owns, and both are members",
                members=(event.member, *(owners[host] for host in others)),
                partitions=(f"{event.topic}-{event.partition}",),
                epochs={} if event.generation is None else {"generation": event.generation},
            )
