"""What will happen, in order: a heap for the near future, and buckets for the rest.

One heap of everything would do, and did; but its comparisons were half of the cost of an event, and grew with the
number of members, each of whom has timers seconds away. So time is cut into buckets of 16 ms. Events of the present
bucket are in `near`, a small heap; those of later ones lie unsorted in a list per bucket, and become `near` when their
bucket's turn comes. The order is exactly that of one heap.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from groupsim.eventloop.heap import ARG, CALLBACK, LIFE, WHEN, Entry

BUCKET_SHIFT = 14  # 2**14 µs = 16.4 ms: a message's latency stays within a bucket or crosses into the next
_COMPACT_FROM = 1_000


class Agenda:
    """Entries by time, class and ticket. The hot paths use `near` and `now_bucket` directly, as `push` does."""

    __slots__ = ("_buckets", "_compact_at", "_later", "near", "now_bucket", "taken_back")

    def __init__(self) -> None:
        self.near: list[Entry] = []
        self.now_bucket = 0
        self.taken_back = 0
        self._buckets: dict[int, list[Entry]] = {}
        self._later: list[int] = []  # heap of the buckets that have entries
        self._compact_at = _COMPACT_FROM

    def push(self, entry: Entry) -> None:
        """Add an entry, wherever it belongs."""
        bucket = entry[WHEN] >> BUCKET_SHIFT
        if bucket <= self.now_bucket:
            heappush(self.near, entry)
        else:
            self.push_later(bucket, entry)

    def push_later(self, bucket: int, entry: Entry) -> None:
        """Add an entry of a later bucket."""
        try:
            self._buckets[bucket].append(entry)
        except KeyError:
            self._buckets[bucket] = [entry]
            heappush(self._later, bucket)

    def advance(self) -> bool:
        """Make the next bucket the present one, when `near` is empty; False when there is none."""
        while self._later and not self.near:  # compaction may have left a bucket empty
            self.now_bucket = bucket = heappop(self._later)
            self.near.extend(self._buckets.pop(bucket))
        heapify(self.near)
        return bool(self.near)

    def first(self) -> Entry | None:
        """The entry that comes first, still in its place."""
        return self.near[0] if self.near or self.advance() else None

    def take_back(self, entry: Entry) -> None:
        """Make an entry do nothing; once most of them do nothing, throw those out."""
        if entry[CALLBACK] is None:
            return
        entry[CALLBACK] = entry[ARG] = None
        self.taken_back += 1
        if self.taken_back > self._compact_at:
            self._compact()

    def _compact(self) -> None:
        """Throw out what was taken back or belongs to the dead; in place, because the kernel holds `near`."""
        for entries in (self.near, *self._buckets.values()):
            entries[:] = [entry for entry in entries if entry[CALLBACK] is not None and not entry[LIFE].dead]
        heapify(self.near)
        self.taken_back = 0
        self._compact_at = max(_COMPACT_FROM, len(self))

    def __len__(self) -> int:
        return len(self.near) + sum(map(len, self._buckets.values()))
