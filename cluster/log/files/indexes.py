"""The two sparse indexes beside a segment: position by offset, offset by time.

Both are rows of big-endian entries with offsets relative to the segment's base: `.index` has 4 bytes of offset (the
last one of a batch) and 4 of the batch's position, `.timeindex` 8 bytes of timestamp and 4 of the offset of the batch
that has it, the largest timestamp so far.

An index is read when somebody first looks something up, into arrays that are searched by bisection. New entries
collect in memory and are written with the segment's next flush: after an unclean end the indexes of what was not
flushed are made anew anyway. Whatever does not rise from entry to entry raises CorruptIndex.

A broker of Kafka's gives the index of an active segment its full length from the beginning (`segment.index.bytes`), and
cuts it when it closes the log, but not that of its metadata: entries of zeros at the end are none.

Source: `OffsetIndex`, `TimeIndex`, `AbstractIndex`.
"""

from __future__ import annotations

import os
import sys
from array import array
from bisect import bisect_left, bisect_right
from operator import ge, gt
from pathlib import Path
from struct import Struct

from groupsim.cluster.log.files.damage import CorruptIndex
from groupsim.cluster.log.files.disk import write_at

_OFFSET_ENTRY = Struct(">II")
_TIME_ENTRY = Struct(">qI")
MAX_INDEX_BYTES = 10 * 1024 * 1024


class OffsetIndex:
    """Position by offset, of one segment."""

    def __init__(self, path: Path, base_offset: int, max_bytes: int = MAX_INDEX_BYTES, *, new: bool = False) -> None:
        self.path = path
        self.base_offset = base_offset
        self.from_disk = not new
        self._max_entries = max_bytes // _OFFSET_ENTRY.size
        self._offsets = array("I")
        self._positions = array("I")
        self._loaded = new
        self._written = 0  # entries that the file has

    def __len__(self) -> int:
        self._load()
        return len(self._offsets)

    def entries(self) -> list[tuple[int, int]]:
        """(offset, position), rising."""
        self._load()
        return [(self.base_offset + offset, at) for offset, at in zip(self._offsets, self._positions, strict=True)]

    def append(self, offset: int, position: int) -> None:
        """Note where the batch begins that ends with this offset; a full index takes no more and stays right."""
        self._load()
        if len(self._offsets) < self._max_entries:
            self._offsets.append(offset - self.base_offset)
            self._positions.append(position)

    def lookup(self, offset: int) -> int:
        """A position at or before the batch that holds the offset, as near as the index knows."""
        self._load()
        slot = bisect_right(self._offsets, offset - self.base_offset) - 1 if offset >= self.base_offset else -1
        return self._positions[slot] if slot >= 0 else 0

    def last(self) -> tuple[int, int]:
        """The last entry, (base offset, 0) when there is none; does not read the others. Raises CorruptIndex."""
        if not self._loaded:
            entry = _last_entry(self.path, _OFFSET_ENTRY)
            return (self.base_offset + entry[0], entry[1]) if entry else (self.base_offset, 0)
        if not self._offsets:
            return self.base_offset, 0
        return self.base_offset + self._offsets[-1], self._positions[-1]

    def truncate(self, size: int) -> None:
        """Forget batches that begin at or behind this position."""
        self._load()
        keep = bisect_left(self._positions, size)
        del self._offsets[keep:], self._positions[keep:]
        self._written = _cut(self.path, _OFFSET_ENTRY.size, self._written, keep)

    def write(self, *, sync: bool) -> None:
        """Bring the file up to date."""
        if self._loaded:
            new = zip(self._offsets[self._written :], self._positions[self._written :], strict=True)
            data = b"".join(_OFFSET_ENTRY.pack(*entry) for entry in new)
            _append(self.path, data, self._written * _OFFSET_ENTRY.size, sync=sync)
            self._written = len(self._offsets)

    def _load(self) -> None:
        if self._loaded:
            return
        words = _words(self.path, _OFFSET_ENTRY.size)
        offsets, positions = words[0::2], words[1::2]
        _rising(self.path, offsets, _OFFSET_ENTRY.size, strictly=True)
        _rising(self.path, positions, _OFFSET_ENTRY.size, strictly=True)
        self._offsets, self._positions = offsets, positions
        self._written = len(offsets)
        self._loaded = True


class TimeIndex:
    """Offset by time, of one segment."""

    def __init__(self, path: Path, base_offset: int, max_bytes: int = MAX_INDEX_BYTES, *, new: bool = False) -> None:
        self.path = path
        self.base_offset = base_offset
        self._max_entries = max_bytes // _TIME_ENTRY.size
        self._times = array("q")
        self._offsets = array("I")
        self._loaded = new
        self._written = 0

    def __len__(self) -> int:
        self._load()
        return len(self._times)

    def entries(self) -> list[tuple[int, int]]:
        """(timestamp in ms, offset), rising."""
        self._load()
        return [(at, self.base_offset + offset) for at, offset in zip(self._times, self._offsets, strict=True)]

    def append(self, timestamp_ms: int, offset: int) -> None:
        """Note the largest timestamp so far, when it is a new one."""
        self._load()
        if len(self._times) < self._max_entries and timestamp_ms > (self._times[-1] if self._times else -1):
            self._times.append(timestamp_ms)
            self._offsets.append(offset - self.base_offset)

    def lookup(self, timestamp_ms: int) -> int:
        """An offset at or before the first record not older than this, as near as the index knows."""
        self._load()
        slot = bisect_right(self._times, timestamp_ms) - 1
        return self.base_offset + (self._offsets[slot] if slot >= 0 else 0)

    def last(self) -> tuple[int, int]:
        """The last entry, (-1, base offset) when there is none; does not read the others. Raises CorruptIndex."""
        if not self._loaded:
            entry = _last_entry(self.path, _TIME_ENTRY)
            return (entry[0], self.base_offset + entry[1]) if entry else (-1, self.base_offset)
        return (self._times[-1], self.base_offset + self._offsets[-1]) if self._times else (-1, self.base_offset)

    def truncate(self, next_offset: int) -> None:
        """Forget offsets from this one on."""
        self._load()
        keep = bisect_left(self._offsets, max(next_offset - self.base_offset, 0))
        del self._times[keep:], self._offsets[keep:]
        self._written = _cut(self.path, _TIME_ENTRY.size, self._written, keep)

    def write(self, *, sync: bool) -> None:
        """Bring the file up to date."""
        if self._loaded:
            new = zip(self._times[self._written :], self._offsets[self._written :], strict=True)
            data = b"".join(_TIME_ENTRY.pack(*entry) for entry in new)
            _append(self.path, data, self._written * _TIME_ENTRY.size, sync=sync)
            self._written = len(self._times)

    def _load(self) -> None:
        if self._loaded:
            return
        words = _words(self.path, _TIME_ENTRY.size)
        times = array("q", (high << 32 | low for high, low in zip(words[0::3], words[1::3], strict=True)))
        offsets = words[2::3]
        _rising(self.path, times, _TIME_ENTRY.size, strictly=True)
        _rising(self.path, offsets, _TIME_ENTRY.size, strictly=False)
        self._times, self._offsets = times, offsets
        self._written = len(times)
        self._loaded = True


def _words(path: Path, entry_bytes: int) -> array[int]:
    """A file as unsigned 32-bit numbers. Raises CorruptIndex when it is missing or no whole number of entries."""
    data = _read(path, entry_bytes, path.stat().st_size if path.exists() else 0, 0)
    used = -(-len(data.rstrip(b"\0")) // entry_bytes) * entry_bytes
    words = array("I", data[:used])
    if sys.byteorder == "little":
        words.byteswap()
    return words


def _last_entry(path: Path, entry: Struct) -> tuple[int, ...] | None:
    """The last one that is used; only when the file is longer than that are the others read, too."""
    size = path.stat().st_size if path.exists() else 0
    data = _read(path, entry.size, min(entry.size, size), max(size - entry.size, 0))
    if data and not any(data):
        data = _read(path, entry.size, size, 0).rstrip(b"\0")
        data = data[(len(data) - 1) // entry.size * entry.size :].ljust(entry.size, b"\0") if data else b""
    return entry.unpack(data) if data else None


def _read(path: Path, entry_bytes: int, count: int, at: int) -> bytes:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size % entry_bytes:
                raise CorruptIndex(
                    path, size - size % entry_bytes, f"{size} bytes are no whole entries of {entry_bytes}"
                )
            file.seek(at)
            return file.read(count)
    except FileNotFoundError:
        raise CorruptIndex(path, 0, "the file is missing") from None


def _rising(path: Path, values: array[int], entry_bytes: int, *, strictly: bool) -> None:
    wrong = ge if strictly else gt
    for slot, falls in enumerate(map(wrong, values, values[1:]), 1):
        if falls:
            raise CorruptIndex(path, slot * entry_bytes, f"entry {slot} ({values[slot]}) follows {values[slot - 1]}")


def _append(path: Path, data: bytes, at: int, *, sync: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        if data:
            write_at(descriptor, data, at)
            if os.fstat(descriptor).st_size > at + len(data):  # the zeros of what nobody used
                os.ftruncate(descriptor, at + len(data))
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cut(path: Path, entry_bytes: int, written: int, keep: int) -> int:
    """Cut a file back to so many entries; returns how many it has then."""
    if written <= keep:
        return written
    os.truncate(path, keep * entry_bytes)
    return keep
