"""The holdings of partitions by processes, followed while the trace is read, with only what the story needs later.

Of the instants at which a handler finished records a few are kept: the last two, and those before an event from which a
measure looks back (another owner can fetch, the coordinator removes the member). The time between two records is kept
if the partition stood still for long although records waited: stalls are made of these times.
"""

from __future__ import annotations

from bisect import bisect_right

from attrs import Factory

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import define, frozen
from groupsim.scenarios.story.model import Span
from groupsim.scenarios.story.records.delivery_ledger import DeliveryLedger
from groupsim.scenarios.story.records.log_growth import Growth

STALL_US = 30_000_000
"""A partition that stands still for less while its owner is alive is no stall."""
ENDS = {Kind.PROCESS_CRASHED: "crashed", Kind.PROCESS_STOPPED: "closed", Kind.PROCESS_FAILED: "failed"}

At = tuple[str, tuple[str | None, int | None]]  # a process and a partition
Key = tuple[str, TopicPartition]  # group and partition


@frozen
class Idle:
    """A time without a processed record. Records waited from `since_us` on.

    `since_us` is None if the log's end is not known yet; `done` is then the offset up to which the group had processed.
    """

    began_us: int
    ended_us: int
    since_us: int | None
    done: int


@define(eq=False)
class Holding:
    """The span of one owner of a partition, while the trace is read."""

    partition: TopicPartition
    group: str
    host: str
    member: str | None
    generation: int | None
    owned_us: int
    fetchable_us: int | None = None
    released_us: int | None = None
    release: str | None = None
    released_alive: bool = False  # released by its owner, not by the end of the process
    flushing_us: int | None = None  # begin of the callback that ended with the release
    silenced_us: int | None = None  # the last pause
    resumed_us: int | None = None  # its end
    removed: bool = False  # its owner is no member at the coordinator any more
    processed: list[int] = Factory(list)  # instants at which records were finished: some, and the last
    idle: list[Idle] = Factory(list)
    _free: int = 0  # the number of last entries of `processed` that no measure needs

    @property
    def active_us(self) -> int:
        """When it last finished records, or became able to fetch."""
        return self.processed[-1] if self.processed else self.fetchable_us or self.owned_us

    def work(self, at_us: int) -> None:
        """Note that its owner has finished records."""
        kept = self.processed
        if kept and kept[-1] == at_us:
            return
        if self._free == 2:
            kept[-2:] = kept[-1], at_us
        else:
            kept.append(at_us)
            self._free += 1

    def mark(self) -> None:
        """Keep the last instants of `processed`: a measure looks back from here."""
        self._free = -1

    def processed_before(self, at_us: int) -> int | None:
        """Return when the last record not after `at_us` was processed; None for none."""
        index = bisect_right(self.processed, at_us)
        return self.processed[index - 1] if index else None

    def unserved_from(self, until_us: int) -> tuple[int, str]:
        """Return since when no process could work on it, and why; `until_us` itself if its owner could until then.

        Records whose handling ends during the revocation callback count as served. An owner that the coordinator has
        removed during that callback does not work any more either, though it releases the partition later.
        """
        if self.silenced_us is not None and not self._came_back(until_us):
            return self.silenced_us, "paused"
        if self.release == "crashed" and (self.released_us or 0) <= until_us:
            return self.released_us or 0, "crashed"
        begun = min((at for at in (self.released_us, self.flushing_us) if at is not None), default=until_us)
        if begun >= until_us:
            return until_us, "released"
        return max(begun, self.processed_before(until_us) or 0), "released"

    def _came_back(self, at_us: int) -> bool:
        """Return whether its owner worked after its pause, or could have: not if it resumed and lost the partition."""
        silenced = self.silenced_us or 0
        if (self.processed_before(at_us) or 0) > silenced:
            return True
        return self.resumed_us is not None and self.resumed_us <= at_us and self.release != "lost"

    def frozen(self) -> Span:
        """Return the span as a value."""
        return Span(
            self.partition,
            self.host,
            self.member,
            self.generation,
            self.owned_us,
            self.fetchable_us,
            self.released_us,
            self.release,
        )


@define(eq=False)
class PartitionSlot:
    """One process and one partition: its present holding of it, and the ledger of its group."""

    ledger: DeliveryLedger
    holding: Holding | None = None


@define
class Holdings:
    """All holdings by group and partition, in the order in which they began."""

    spans: dict[Key, list[Holding]] = Factory(dict)
    _slots: dict[str, dict[tuple[str | None, int | None], PartitionSlot]] = Factory(dict)  # by process and partition
    _live: dict[Key, list[Holding]] = Factory(dict)

    def slot(self, host: str, place: tuple[str | None, int | None], ledger: DeliveryLedger) -> PartitionSlot:
        """Return the slot of a process and a partition; create it on first use."""
        mine = self._slots.setdefault(host, {})
        known = mine.get(place)
        if known is None:
            known = mine[place] = PartitionSlot(ledger)
        return known

    def own(self, event: TraceEvent, group: str, ledger: DeliveryLedger) -> None:
        """Note that a process owns a partition from now on."""
        host = event.host or "?"
        slot = self.slot(host, (event.topic, event.partition), ledger)
        if slot.holding is not None:  # it owns the partition already: the same span goes on
            return
        partition = TopicPartition(event.topic or "", event.partition or 0)
        holding = Holding(partition, group, host, event.member, event.generation, event.t_us)
        slot.ledger, slot.holding = ledger, holding
        self.spans.setdefault((group, partition), []).append(holding)
        self._live.setdefault((group, partition), []).append(holding)

    def place(self, event: TraceEvent) -> None:
        """Note that a process can fetch a partition."""
        holding = self._of(event)
        if holding is not None and holding.fetchable_us is None:
            holding.fetchable_us = event.t_us
            for other in self._live[holding.group, holding.partition]:
                if other is not holding:
                    other.mark()

    def release(self, event: TraceEvent, growth: Growth) -> None:
        """Note that a process has released a partition."""
        slot = self._slots.get(event.host or "?", {}).get((event.topic, event.partition))
        if slot is not None and slot.holding is not None:
            slot.holding.released_alive = True
            self._end(slot, slot.holding, event.t_us, event.reason, growth)

    def of_process(self, event: TraceEvent, growth: Growth) -> None:
        """Note a pause, or the end of a process, for all partitions that it owns."""
        for slot in self._slots.get(event.host or "", {}).values():
            holding = slot.holding
            if holding is None:
                continue
            if event.kind is Kind.PROCESS_PAUSED:
                holding.silenced_us, holding.resumed_us = event.t_us, None
            elif event.kind is Kind.PROCESS_RESUMED:
                holding.resumed_us = event.t_us
            else:
                self._end(slot, holding, event.t_us, ENDS[event.kind], growth)

    def removed(self, host: str | None, event: TraceEvent, growth: Growth) -> None:
        """Note that the coordinator has removed a member: its process makes no progress on what it still owns."""
        for slot in self._slots.get(host or "", {}).values():
            holding = slot.holding
            if holding is not None and (holding.group, holding.member) == (event.group, event.member):
                look(slot, holding, event.t_us, growth)
                holding.mark()
                holding.removed = True

    def finish(self, end_us: int, growth: Growth) -> None:
        """Complete all holdings at the end of the trace."""
        for slots in self._slots.values():
            for slot in slots.values():
                if slot.holding is not None:
                    look(slot, slot.holding, end_us, growth)

    def _of(self, event: TraceEvent) -> Holding | None:
        slot = self._slots.get(event.host or "?", {}).get((event.topic, event.partition))
        return None if slot is None else slot.holding

    def _end(self, slot: PartitionSlot, holding: Holding, at_us: int, how: str | None, growth: Growth) -> None:
        look(slot, holding, at_us, growth)
        holding.released_us, holding.release = at_us, how
        slot.holding = None
        self._live[holding.group, holding.partition].remove(holding)


def look(slot: PartitionSlot, holding: Holding, at_us: int, growth: Growth) -> None:
    """Keep the time since the last processed record, if records waited in it for `STALL_US`."""
    began, ledger = holding.active_us, slot.ledger
    if at_us - began < STALL_US or holding.removed:  # nearly always
        return
    done, since = ledger.done or 0, None
    if growth.counted:
        since = growth.beyond(holding.partition, done, began, at_us, STALL_US)
    elif ledger.grows:
        since = None if ledger.behind_us is None else max(began, ledger.behind_us)
    else:  # the log's end is known at the end of the trace
        holding.idle.append(Idle(began, at_us, None, done))
        return
    if since is not None and at_us - since >= STALL_US:
        holding.idle.append(Idle(began, at_us, since, done))
