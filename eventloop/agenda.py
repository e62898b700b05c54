"""Scheduled entries in order: a row and a heap for the near future, and buckets for the rest.

A single heap would be enough; but its comparisons were half of the cost of an event, and grew with the number of
members, which all have timers seconds away. So time is cut into buckets of 16 ms, and the entries of later buckets are
an unsorted list per bucket. When a bucket becomes the present one, its list is sorted, which costs much less than
taking as many off a heap: it is the `row`, from whose end the next entry is taken. Entries pushed into the present
bucket after that are in `near`, a small heap. The next entry is the earlier of the two first ones, so that the order is
exactly that of one heap.

The members of a group send their heartbeats in step, because all of them got their assignment at the same time: with
ten thousand, every event falls into one bucket, and `near` would be that one heap again. So a crowded bucket is split
into buckets of 8 µs when it becomes the present one; until it is over, new entries of it go there too.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from groupsim.eventloop.heap import LIFE, WHEN, Entry, number_of

BUCKET_US = 1 << 14  # a message's latency stays within a bucket or crosses into the next
CROWD = 1_500  # split a bucket with more entries than this: with fewer, each would have a bucket of its own
_BUCKET = -BUCKET_US  # as masks: they round a time down to where its bucket begins
_SMALL_BUCKET_US = 1 << 3
_SMALL_BUCKET = -_SMALL_BUCKET_US
_COMPACT_FROM = 1_000


class Agenda:
    """Entries by time, class and ticket. Hot paths read `row`, `near` and `near_until_us` directly."""

    __slots__ = ("_buckets", "_compact_at", "_later", "_split_until_us", "near", "near_until_us", "row", "taken_back")

    def __init__(self) -> None:
        self.row: list[Entry] = []  # sorted, the next one last
        self.near: list[Entry] = []
        self.near_until_us = BUCKET_US
        self.taken_back: set[int] = set()  # by number; some may have run before
        self._buckets: dict[int, list[Entry]] = {}  # by the time they begin
        self._later: list[int] = []  # heap of the beginnings of buckets that have entries
        self._split_until_us = 0  # the end of the bucket that was last split
        self._compact_at = _COMPACT_FROM

    def push(self, entry: Entry) -> None:
        """Add an entry at its place."""
        when = entry[WHEN]
        if when < self.near_until_us:
            heappush(self.near, entry)
        else:
            self.push_later(when, entry)

    def push_later(self, when_us: int, entry: Entry) -> None:
        """Add an entry of a later bucket."""
        begin = when_us & (_BUCKET if when_us >= self._split_until_us else _SMALL_BUCKET)
        bucket = self._buckets.get(begin)
        if bucket is None:  # often: in a small group most events have a bucket of their own
            self._buckets[begin] = [entry]
            heappush(self._later, begin)
        else:
            bucket.append(entry)

    def advance(self) -> bool:
        """Make the next bucket the present one, when that is used up; return False when there is none."""
        while self._later and not self.row:  # compaction may have left a bucket empty
            begin = heappop(self._later)
            entries = self._buckets.pop(begin)
            if begin < self._split_until_us:
                self.near_until_us = begin + _SMALL_BUCKET_US
            elif len(entries) <= CROWD:
                self.near_until_us = begin + BUCKET_US
            else:
                self._split(begin, entries)
                continue
            if len(entries) > 1:
                entries.sort(reverse=True)
            self.row = entries
        return bool(self.row)

    def _split(self, begin: int, entries: list[Entry]) -> None:
        self._split_until_us = begin + BUCKET_US
        for entry in entries:
            self.push_later(entry[WHEN], entry)

    def first(self) -> Entry | None:
        """Return the first entry, without removing it."""
        row, near = self.row, self.near
        if near:
            return near[0] if not row or near[0] < row[-1] else row[-1]
        return self.row[-1] if row or self.advance() else None

    def take_back(self, entry: Entry) -> None:
        """Make an entry do nothing; remove such entries once they are the majority. Nothing happens if it has run."""
        backlog = entry[LIFE].backlog
        if backlog and entry in backlog:
            backlog.remove(entry)
            return
        self.taken_back.add(number_of(entry))
        if len(self.taken_back) > self._compact_at:
            self._compact()

    def _compact(self) -> None:
        """Remove cancelled entries and those of crashed hosts; in place, because the kernel holds the lists."""
        taken_back = self.taken_back
        for entries in (self.row, self.near, *self._buckets.values()):
            entries[:] = [entry for entry in entries if number_of(entry) not in taken_back and not entry[LIFE].dead]
        heapify(self.near)
        taken_back.clear()
        self._compact_at = max(_COMPACT_FROM, len(self))

    def __len__(self) -> int:
        return len(self.row) + len(self.near) + sum(map(len, self._buckets.values()))
