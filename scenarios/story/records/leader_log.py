"""The log of a replicated partition as its leaders wrote it, followed through the trace.

Records of one leader need not be in the log of the next. The leader epoch decides (KIP-101): an append of a newer epoch
that begins below the end truncates everything from there on. (The old leader learns of it later; the `log.truncated` of
replicas adds nothing here.) An append of an older epoch comes from a leader that does not know yet that it has been
replaced, and no other replica gets its records. When the run ends, the leader's log may be shorter than what was
appended; the difference was truncated as well.

An acknowledgement promises its records to the producer. It names offsets only, and two leaders may have assigned the
same ones, so it counts for the append of that producer that has waited longest.

Offsets without an append in the trace are no records: transaction markers, and records from before the trace.
"""

from __future__ import annotations

from attrs import Factory

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.values import define
from groupsim.scenarios.story.records.offset_ranges import Ranges


@define
class Append:
    """The records of one append; `acknowledged` to their producer."""

    base: int
    end: int
    producer: str | None
    acknowledged: bool = False


@define
class LeaderLog:
    """The log of one partition. `records` are the offsets in it, or deleted from its begin."""

    start: int = 0
    end: int = 0
    epoch: int = -1
    records: Ranges = Factory(Ranges)
    aborted: Ranges = Factory(Ranges)  # records of aborted transactions
    truncated: int = 0  # number of truncated records
    lost: int = 0  # of these, records that had been acknowledged
    listed: bool = False  # whether the trace lists appends
    _appends: list[Append] = Factory(list)  # those in the log, by base; acknowledged neighbours are merged
    _gone: list[Append] = Factory(list)
    _open: dict[int, Ranges] = Factory(dict)  # producer id → its records since its last marker

    def append(self, event: TraceEvent) -> int | None:
        """Note an append of a leader. Return the offset from which it truncated the log; None if it did not."""
        payload = event.payload or {}
        base, count, epoch = payload["base"], payload["count"], payload.get("epoch", self.epoch)
        added = Append(base, base + count, payload.get("producer"))
        if epoch < self.epoch:
            self._gone.append(added)
            self.truncated += 0 if "marker" in payload else count
            return None
        cut = base if base < self.end else None
        if cut is not None:
            self.cut(cut)
        self.epoch, self.end = epoch, base + count
        self.listed = True
        self._note(added, payload.get("transaction"), payload.get("marker"))
        return cut

    def _note(self, added: Append, transaction: int | None, marker: str | None) -> None:
        if marker is not None:
            ended = self._open.pop(transaction or 0, None)
            for begin, end in ended or () if marker == "abort" else ():
                self.aborted.add(begin, end)
            return
        self._appends.append(added)
        self.records.add(added.base, added.end)
        if transaction is not None:
            self._open.setdefault(transaction, Ranges()).add(added.base, added.end)

    def acknowledge(self, event: TraceEvent) -> None:
        """Note that a producer received the acknowledgement of its records."""
        payload = event.payload or {}
        base = payload.get("base", -1)
        waiting = [one for one in self._gone if one.base <= base < one.end and not one.acknowledged]
        removed = next((one for one in waiting if one.producer == event.host), None)
        place = self._place(base)
        present = None if place is None else self._appends[place]
        if removed is not None and (present is None or present.producer != event.host or present.acknowledged):
            removed.acknowledged = True
            self.lost += removed.end - removed.base
        elif place is not None and present is not None and not present.acknowledged:
            present.acknowledged = True
            self._join(place + 1)
            self._join(place)

    def _place(self, base: int) -> int | None:
        """Return the index of the append that wrote the record at `base`; it is mostly among the last."""
        for place in range(len(self._appends) - 1, -1, -1):
            if self._appends[place].base <= base:
                return place if base < self._appends[place].end else None
        return None

    def _join(self, place: int) -> None:
        """Merge an append with the one before it if both are acknowledged: they are not needed singly any more."""
        if 0 < place < len(self._appends):
            before, after = self._appends[place - 1], self._appends[place]
            if before.acknowledged and after.acknowledged and before.end == after.base:
                before.end = after.end
                del self._appends[place]

    def cut(self, at: int) -> None:
        """Truncate everything from `at` on."""
        self.truncated += self.records.cut(at)
        self.aborted.cut(at)
        for pending in self._open.values():
            pending.cut(at)
        while self._appends and self._appends[-1].end > at:
            last = self._appends.pop()
            if last.base < at:
                self._appends.append(Append(last.base, at, last.producer, last.acknowledged))
                last.base = at
            self.lost += last.end - last.base if last.acknowledged else 0
            self._gone.append(last)
            if last.base == at:
                break
        self.end = at

    def delete(self, start: int) -> None:
        """Note that retention has deleted everything below `start`."""
        self.start = max(self.start, start)

    def close(self, start: int, end: int) -> int | None:
        """Complete the log with its ends. Return the offset from which it was truncated; None if it was not."""
        self.delete(start)
        if not self.listed:  # the trace has no append to it
            self.records.add(0, end)
            self.end = end
        if end < self.end:
            self.cut(end)
            return end
        return None


LOG_KINDS = (Kind.RECORDS_APPENDED, Kind.RECORDS_ACKNOWLEDGED, Kind.LOG_DELETED)
