"""The leader epochs of a log and the offset at which each begins.

A follower compares this table with its leader's to find where their logs diverge (KIP-101, KIP-279); a consumer asks it
whether the log was truncated below its position (KIP-320). Epochs and offsets rise from entry to entry. A new entry
removes the entries that contradict it.

Source: `LeaderEpochFileCache`, `LeaderEpochCheckpointFile`.
"""

from __future__ import annotations

from bisect import bisect_right

from groupsim.protocol.messages.data import EpochEnd

CHECKPOINT = "leader-epoch-checkpoint"
UNKNOWN = EpochEnd(-1, -1)


class EpochCache:
    """The table of one log."""

    __slots__ = ("_epochs", "_starts", "latest")

    def __init__(self, entries: tuple[tuple[int, int], ...] = ()) -> None:
        self._epochs = [epoch for epoch, _ in entries]
        self._starts = [start for _, start in entries]
        self.latest = self._last()  #: the last epoch, -1 when there is none

    def _last(self) -> int:
        return self._epochs[-1] if self._epochs else -1

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """(epoch, start offset) of each epoch, in rising order."""
        return tuple(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Add an epoch that begins here, unless it is known; return whether the table changed. Source: `assign`."""
        epochs, starts = self._epochs, self._starts
        if epochs and epoch == epochs[-1] and start_offset >= starts[-1]:
            return False
        while epochs and (epochs[-1] >= epoch or starts[-1] >= start_offset):
            epochs.pop()
            starts.pop()
        epochs.append(epoch)
        starts.append(start_offset)
        self.latest = epoch
        return True

    def end_of(self, epoch: int, log_end: int) -> EpochEnd:
        """Return the largest known epoch not above this one and its end offset. Source: `endOffsetFor`.

        An epoch below all known ones ends where the first known one begins; one above all known ones is unknown.
        """
        if epoch == -1 or not self._epochs or epoch > self._epochs[-1]:
            return UNKNOWN
        if epoch == self._epochs[-1]:
            return EpochEnd(epoch, log_end)
        above = bisect_right(self._epochs, epoch)
        return EpochEnd(self._epochs[above - 1] if above else epoch, self._starts[above])

    def at(self, offset: int) -> int:
        """Return the epoch of the record at this offset, -1 if unknown. Source: `epochForOffset`."""
        index = bisect_right(self._starts, offset)
        return self._epochs[index - 1] if index else -1

    def truncate_from_end(self, end_offset: int) -> bool:
        """Remove epochs that begin at or above the new end offset; return whether the table changed."""
        before = len(self._starts)
        while self._starts and self._starts[-1] >= end_offset:
            self._starts.pop()
            self._epochs.pop()
        self.latest = self._last()
        return len(self._starts) < before

    def truncate_from_start(self, start_offset: int) -> bool:
        """Remove epochs that end before the new start, where the epoch there begins now; return whether it changed."""
        index = bisect_right(self._starts, start_offset) - 1
        if index < 0 or (index == 0 and self._starts[0] == start_offset):
            return False
        del self._starts[:index], self._epochs[:index]
        self._starts[0] = start_offset
        return True

    def clear(self) -> None:
        """Remove all epochs."""
        self._epochs.clear()
        self._starts.clear()
        self.latest = -1

    def text(self) -> str:
        """Format the table as Kafka's `leader-epoch-checkpoint`: version, number of entries, one entry per line."""
        lines = [f"{epoch} {start}" for epoch, start in self.entries]
        return "\n".join(["0", str(len(lines)), *lines, ""])


def parse(text: str) -> EpochCache:
    """Parse a checkpoint. Raises ValueError that names the wrong line."""
    lines = text.split("\n")
    if lines[0] != "0":
        raise ValueError(f"{CHECKPOINT} line 1: expected version 0, found {lines[0]!r}")
    entries = [_entry(number, line) for number, line in enumerate(lines[2:], 3) if line]
    if len(lines) < 2 or lines[1] != str(len(entries)):
        raise ValueError(f"{CHECKPOINT} line 2: expected {len(entries)}, the number of entries that follow")
    return EpochCache(tuple(entries))


def _entry(number: int, line: str) -> tuple[int, int]:
    parts = line.split(" ")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise ValueError(f"{CHECKPOINT} line {number}: expected an epoch and an offset, found {line!r}")
    return int(parts[0]), int(parts[1])
