"""The two sparse indexes of a segment: position by offset, offset by timestamp.

Both files have big-endian entries with offsets relative to the base offset. An entry of `.index` has 4 bytes of offset
(the last one of a batch) and 4 bytes of the batch's position. An entry of `.timeindex` has 8 bytes of the largest
timestamp so far and 4 bytes of the offset of its batch.

An index is read at the first lookup into arrays, which are searched by bisection. New entries stay in memory until the
segment's next flush, because recovery after an unclean shutdown rebuilds the indexes of unflushed segments. Entries
that do not rise raise CorruptIndex.

Kafka preallocates the index of an active segment (`segment.index.bytes`) and truncates it when it closes the log, but
not the index of its metadata log: entries of zeros at the end are ignored (`AbstractIndex`).

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
    """The index of one segment from offsets to positions."""

    def __init__(self, path: Path, base_offset: int, max_bytes: int = MAX_INDEX_BYTES, *, new: bool = False) -> None:
        self.path = path
        self.base_offset = base_offset
        self.from_disk = not new
        self._max_entries = max_bytes // _OFFSET_ENTRY.size
        self._offsets = array("I")
        self._positions = array("I")
        self._loaded = new
        self._written = 0  # number of entries in the file

    def __len__(self) -> int:
        self._load()
        return len(self._offsets)

    def entries(self) -> list[tuple[int, int]]:
        """Return (offset, position) of every entry, in rising order."""
        self._load()
        return [(self.base_offset + offset, at) for offset, at in zip(self._offsets, self._positions, strict=True)]

    def append(self, offset: int, position: int) -> None:
        """Add the position of the batch that ends with this offset; a full index ignores it."""
        self._load()
        if len(self._offsets) < self._max_entries:
            self._offsets.append(offset - self.base_offset)
            self._positions.append(position)

    def lookup(self, offset: int) -> int:
        """Return the nearest indexed position at or before the batch that holds the offset."""
        self._load()
        slot = bisect_right(self._offsets, offset - self.base_offset) - 1 if offset >= self.base_offset else -1
        return self._positions[slot] if slot >= 0 else 0

    def last(self) -> tuple[int, int]:
        """Return the last entry without reading the others; (base offset, 0) if empty. Raises CorruptIndex."""
        if not self._loaded:
            entry = _last_entry(self.path, _OFFSET_ENTRY)
            return (self.base_offset + entry[0], entry[1]) if entry else (self.base_offset, 0)
        if not self._offsets:
            return self.base_offset, 0
        return self.base_offset + self._offsets[-1], self._positions[-1]

    def truncate(self, size: int) -> None:
        """Remove the entries of batches at or after this position."""
        self._load()
        keep = bisect_left(self._positions, size)
        del self._offsets[keep:], self._positions[keep:]
        self._written = _cut(self.path, _OFFSET_ENTRY.size, self._written, keep)

    def write(self, *, sync: bool) -> None:
        """Append the new entries to the file."""
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
        _check_rising(self.path, offsets, _OFFSET_ENTRY.size, strictly=True)
        _check_rising(self.path, positions, _OFFSET_ENTRY.size, strictly=True)
        self._offsets, self._positions = offsets, positions
        self._written = len(offsets)
        self._loaded = True


class TimeIndex:
    """The index of one segment from timestamps to offsets."""

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
        """Return (timestamp in ms, offset) of every entry, in rising order."""
        self._load()
        return [(at, self.base_offset + offset) for at, offset in zip(self._times, self._offsets, strict=True)]

    def append(self, timestamp_ms: int, offset: int) -> None:
        """Add the largest timestamp so far, if it is larger than the last entry's."""
        self._load()
        if len(self._times) < self._max_entries and timestamp_ms > (self._times[-1] if self._times else -1):
            self._times.append(timestamp_ms)
            self._offsets.append(offset - self.base_offset)

    def lookup(self, timestamp_ms: int) -> int:
        """Return the nearest indexed offset at or before the first record with this timestamp or a later one."""
        self._load()
        slot = bisect_right(self._times, timestamp_ms) - 1
        return self.base_offset + (self._offsets[slot] if slot >= 0 else 0)

    def last(self) -> tuple[int, int]:
        """Return the last entry without reading the others; (-1, base offset) if empty. Raises CorruptIndex."""
        if not self._loaded:
            entry = _last_entry(self.path, _TIME_ENTRY)
            return (entry[0], self.base_offset + entry[1]) if entry else (-1, self.base_offset)
        return (self._times[-1], self.base_offset + self._offsets[-1]) if self._times else (-1, self.base_offset)

    def truncate(self, next_offset: int) -> None:
        """Remove the entries of this offset and later ones."""
        self._load()
        keep = bisect_left(self._offsets, max(next_offset - self.base_offset, 0))
        del self._times[keep:], self._offsets[keep:]
        self._written = _cut(self.path, _TIME_ENTRY.size, self._written, keep)

    def write(self, *, sync: bool) -> None:
        """Append the new entries to the file."""
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
        _check_rising(self.path, times, _TIME_ENTRY.size, strictly=True)
        _check_rising(self.path, offsets, _TIME_ENTRY.size, strictly=False)
        self._times, self._offsets = times, offsets
        self._written = len(times)
        self._loaded = True


def _words(path: Path, entry_bytes: int) -> array[int]:
    """Read a file as unsigned 32-bit numbers. Raises CorruptIndex if it is missing or has an incomplete entry."""
    data = _read(path, entry_bytes, path.stat().st_size if path.exists() else 0, 0)
    used = -(-len(data.rstrip(b"\0")) // entry_bytes) * entry_bytes
    words = array("I", data[:used])
    if sys.byteorder == "little":
        words.byteswap()
    return words


def _last_entry(path: Path, entry: Struct) -> tuple[int, ...] | None:
    """Read the last used entry; the whole file is read only if it ends with unused entries."""
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


def _check_rising(path: Path, values: array[int], entry_bytes: int, *, strictly: bool) -> None:
    wrong = ge if strictly else gt
    for slot, falls in enumerate(map(wrong, values, values[1:]), 1):
        if falls:
            raise CorruptIndex(path, slot * entry_bytes, f"entry {slot} ({values[slot]}) follows {values[slot - 1]}")


def _append(path: Path, data: bytes, at: int, *, sync: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        if data:
            write_at(descriptor, data, at)
            if os.fstat(descriptor).st_size > at + len(data):  # unused entries of zeros
                os.ftruncate(descriptor, at + len(data))
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cut(path: Path, entry_bytes: int, written: int, keep: int) -> int:
    """Truncate a file to at most `keep` entries; return the number of entries left."""
    if written <= keep:
        return written
    os.truncate(path, keep * entry_bytes)
    return keep
