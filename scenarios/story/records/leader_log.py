"""A replicated partition's log as its leaders wrote it, followed from the trace.

Leaders come and go, and what one of them wrote need not be in the next one's log. The rule is the leader epoch: an
append of a newer epoch that begins below the end cuts off everything from there on (the old leader finds out later and
truncates: the replicas' own `log.truncated` says nothing new here). An append of an older epoch comes from a leader
that does not know yet that it is none: nobody else will ever have those records. When the run ends the leader's log may
be shorter than what was appended: that, too, was cut off.

A producer was promised what was acknowledged to it. An acknowledgement names offsets only, and two leaders may have
given the same ones away, so it counts for the append of that producer that waits longest for one.

Offsets that nobody was told to have appended are no records: transaction markers, and what was there before the trace.
"""

from __future__ import annotations

from attrs import Factory, define

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.records.offset_ranges import Ranges


@define
class Append:
    """Records that one append added and that are no longer in the log; `acknowledged` to their producer."""

    base: int
    end: int
    producer: str | None
    acknowledged: bool = False


@define
class LeaderLog:
    """One partition's log. `records` are the offsets of what is in it or was deleted from its beginning."""

    start: int = 0
    end: int = 0
    epoch: int = -1
    records: Ranges = Factory(Ranges)
    aborted: Ranges = Factory(Ranges)  # records of transactions that were aborted
    truncated: int = 0  # records that were cut off
    lost: int = 0  # of these, how many had been acknowledged
    listed: bool = False  # whether appends were listed
    _appends: list[Append] = Factory(list)  # by base; those that are in the log, acknowledged neighbours as one
    _gone: list[Append] = Factory(list)
    _open: dict[int, Ranges] = Factory(dict)  # producer id → its records since its last marker

    def append(self, event: TraceEvent) -> int | None:
        """A leader appended. Returns from which offset on that cut the log off, if it did."""
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
        """A producer heard that its records are written."""
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
        """Where the append stands that put a record there; mostly among the last."""
        for place in range(len(self._appends) - 1, -1, -1):
            if self._appends[place].base <= base:
                return place if base < self._appends[place].end else None
        return None

    def _join(self, place: int) -> None:
        """Make one of an append and the one before it: what is acknowledged is asked for no more one by one."""
        if 0 < place < len(self._appends):
            before, after = self._appends[place - 1], self._appends[place]
            if before.acknowledged and after.acknowledged and before.end == after.base:
                before.end = after.end
                del self._appends[place]

    def cut(self, at: int) -> None:
        """Everything from `at` on is gone."""
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
        """Everything below `start` was deleted by retention."""
        self.start = max(self.start, start)

    def close(self, start: int, end: int) -> int | None:
        """The log as the run left it. Returns from which offset on it was cut off, if it was."""
        self.delete(start)
        if not self.listed:  # no event says how it came about
            self.records.add(0, end)
            self.end = end
        if end < self.end:
            self.cut(end)
            return end
        return None


LOG_KINDS = (Kind.RECORDS_APPENDED, Kind.RECORDS_ACKNOWLEDGED, Kind.LOG_DELETED)
