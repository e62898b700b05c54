"""A segment in files: `<base offset>.log` with its batches, and the indexes `.index` and `.timeindex`.

The log file is written without a buffer in this process, so a killed process loses no appended batch. It is read in
pieces of growing size into `EncodedBatch`es, which keep their bytes. A batch's checksum is verified before it is
returned: damage raises an error with file and position, and is never returned or skipped.

A position is found by a bisection in the offset index, and then a scan over at most `index_interval_bytes` and one
batch. If a batch does not begin at a position of an index read from disk, the index is rebuilt from the log.

Source: `LogSegment`, `FileRecords`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct

from groupsim.cluster.log.files.damage import CorruptIndex, DamagedLog, Repair
from groupsim.cluster.log.files.disk import write_at
from groupsim.cluster.log.files.indexes import MAX_INDEX_BYTES, OffsetIndex, TimeIndex
from groupsim.cluster.log.files.open_files import SHARED, OpenFiles
from groupsim.cluster.log.interfaces import Found, Segment
from groupsim.cluster.log.segment_reads import first_not_older
from groupsim.protocol.batch.batch import HEADER_BYTES, Batch
from groupsim.protocol.batch.codec import HEADER, LENGTH_END, MAGIC, EncodedBatch, encode, read_batch
from groupsim.protocol.errors import ProtocolError

LOG, INDEX, TIME_INDEX = ".log", ".index", ".timeindex"
SUFFIXES = (LOG, INDEX, TIME_INDEX)
MAX_RELATIVE_OFFSET = 2**31 - 1
INDEX_INTERVAL_BYTES = 4096

_FIRST_PIECE, _LARGEST_PIECE = 16 * 1024, 1024 * 1024
_LENGTH = Struct(">i")
_REMEDY = "let another replica lead and delete this one's folder, or restart after an unclean end to cut it here"


def file_name(base_offset: int, suffix: str = LOG) -> str:
    """Return Kafka's name for a file of a segment, with 20 digits."""
    return f"{base_offset:020d}{suffix}"


class FileSegment(Segment):
    """One segment. `FileStore` creates it; its file is opened for use (`files`) until `close`."""

    def __init__(
        self,
        folder: Path,
        base_offset: int,
        created_ms: int,
        *,
        index_interval_bytes: int = INDEX_INTERVAL_BYTES,
        max_index_bytes: int = MAX_INDEX_BYTES,
        sync: bool = True,
        on_repair: Callable[[Repair], None] | None = None,
        suffix: str = "",
        new: bool = False,
        files: OpenFiles | None = None,
    ) -> None:
        self.folder = folder
        self.base_offset = self.flushed = self._next = self._offset_of_max = base_offset
        self.created_ms = created_ms
        self.size = self._since_entry = 0
        self.max_timestamp_ms = -1
        self.suffix = suffix
        self._interval = index_interval_bytes
        self._sync = sync
        self._on_repair = on_repair
        self.offset_index = OffsetIndex(self.file(INDEX), base_offset, max_index_bytes, new=new)
        self.time_index = TimeIndex(self.file(TIME_INDEX), base_offset, max_index_bytes, new=new)
        self._max_index_bytes = max_index_bytes
        self._loaded = new
        self._files = SHARED if files is None else files
        self._closed = False
        flags = os.O_RDWR | (os.O_CREAT | os.O_TRUNC if new else 0)
        self._files.get(self, self.path, flags)
        if new:
            self.write_indexes(sync=False)

    @property
    def _descriptor(self) -> int:
        """The descriptor of the open log file. Raises OSError."""
        if self._closed:
            raise OSError(errno.EBADF, "the segment is closed", str(self.path))
        return self._files.get(self, self.path)

    @property
    def path(self) -> Path:
        """The path of the log file."""
        return self.file(LOG)

    def file(self, kind: str) -> Path:
        """Return the path of one of the segment's files."""
        return self.folder / (file_name(self.base_offset, kind) + self.suffix)

    @property
    def next_offset(self) -> int:
        """The offset after its last batch; its base offset when it is empty."""
        return self._next

    # --- opening -----------------------------------------------------------------------------------------------------

    def open_clean(self) -> None:
        """Open a segment after a clean shutdown; only the batches after the last index entries are read.

        Raises CorruptIndex, or DamagedLog if that part cannot be read.
        """
        file_size = os.fstat(self._descriptor).st_size
        offset, position = self.offset_index.last()
        timestamp_ms, offset_of_max = self.time_index.last()
        if position >= max(file_size, 1) or (position and not self._begins_batch(position, offset, file_size)):
            raise CorruptIndex(self.offset_index.path, 0, f"its last entry, position {position}, is not a batch's")
        self.max_timestamp_ms, self._offset_of_max = timestamp_ms, offset_of_max
        self._scan_unindexed(position, file_size)
        self.size = file_size
        self.flushed = self._next

    def _scan_unindexed(self, position: int, end: int) -> None:
        """Read the batches from the last offset entry's on, which the indexes do not cover."""
        for _, batch in self._scan(position, end):
            if batch.max_timestamp_ms > self.max_timestamp_ms:
                self.max_timestamp_ms, self._offset_of_max = batch.max_timestamp_ms, batch.last_offset
            self._next = batch.next_offset
        self._since_entry = end - position

    def recover(self, end: int | None = None) -> DamagedLog | None:
        """Verify every batch and rebuild the indexes; stop before the first invalid batch and return the damage.

        `size` and `next_offset` are those of the valid part. The rest stays in the file until `truncate_file`. Source:
        `LogSegment.recover`.
        """
        end = os.fstat(self._descriptor).st_size if end is None else end
        self.size = self._since_entry = 0
        self.max_timestamp_ms, self._next, self._offset_of_max = -1, self.base_offset, self.base_offset
        for index in (self.offset_index, self.time_index):
            index.path.unlink(missing_ok=True)
        self.offset_index = OffsetIndex(self.file(INDEX), self.base_offset, self._max_index_bytes, new=True)
        self.time_index = TimeIndex(self.file(TIME_INDEX), self.base_offset, self._max_index_bytes, new=True)
        self._loaded = True
        damage = None
        try:
            for at, batch in self._scan(0, end):
                self._verify(batch, at)
                self._account(batch)
        except DamagedLog as found:
            damage = found
        self.time_index.append(self.max_timestamp_ms, self._offset_of_max)
        return damage

    def truncate_file(self) -> int:
        """Remove the bytes after the valid part; return their number."""
        surplus = os.fstat(self._descriptor).st_size - self.size
        if surplus:
            os.ftruncate(self._descriptor, self.size)
        return surplus

    def has_batch_after(self, position: int) -> bool:
        """Whether a valid batch follows the one at this position: the damage is not a torn tail then."""
        file_size = os.fstat(self._descriptor).st_size
        front = os.pread(self._descriptor, LENGTH_END, position)
        if len(front) < LENGTH_END:
            return False
        behind = position + LENGTH_END + _LENGTH.unpack_from(front, 8)[0]
        try:
            _, batch = next(self._scan(behind, file_size)) if position < behind < file_size else (0, None)
            if batch is not None:
                self._verify(batch, behind)
        except (DamagedLog, StopIteration):
            return False
        return batch is not None

    def load_indexes(self) -> None:
        """Read the indexes, and rebuild corrupt ones. Raises DamagedLog if the log is damaged too."""
        try:
            len(self.offset_index)
            len(self.time_index)
        except CorruptIndex as wrong:
            self.rebuild_indexes(wrong)
        self._loaded = True

    def rebuild_indexes(self, wrong: CorruptIndex) -> None:
        """Rebuild the indexes from the log and report the repair. Raises DamagedLog if the log is damaged."""
        before = (self.size, self._next, self.max_timestamp_ms, self._offset_of_max)
        damage = self.recover(self.size or None)
        if damage is not None:
            self.size, self._next, self.max_timestamp_ms, self._offset_of_max = before
            raise damage
        self.write_indexes(sync=self._sync)
        if self._on_repair is not None:
            self._on_repair(Repair(wrong.file, wrong.position, wrong.what, "rebuilt from the log"))

    # --- appending ---------------------------------------------------------------------------------------------------

    def append(self, batch: Batch) -> None:
        """Append a batch with assigned offsets. Raises ValueError, ProtocolError or OSError without appending."""
        if batch.base_offset < self._next or batch.last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            raise ValueError(
                f"{self.path}: offsets {batch.base_offset} to {batch.last_offset} cannot follow {self._next - 1} "
                f"in a segment that begins with {self.base_offset}"
            )
        if not self._loaded:
            self.load_indexes()
        write_at(self._descriptor, encode(batch), self.size)
        self._account(batch)

    def _account(self, batch: Batch) -> None:
        """Update indexes, size and offsets for the batch at position `size`."""
        if batch.max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms, self._offset_of_max = batch.max_timestamp_ms, batch.last_offset
        if self._since_entry > self._interval:
            self.offset_index.append(batch.last_offset, self.size)
            self.time_index.append(self.max_timestamp_ms, self._offset_of_max)
            self._since_entry = 0
        self._since_entry += batch.size
        self.size += batch.size
        self._next = batch.next_offset

    def truncate(self, to_offset: int) -> None:
        """Remove every batch with an offset at or above `to_offset`; a batch is never split."""
        position, batch = next(self._from(to_offset), (self.size, None))
        if batch is None:
            return
        self.load_indexes()
        os.ftruncate(self._descriptor, position)
        self.size, self._next = position, self.base_offset
        self.offset_index.truncate(position)
        last = self.offset_index.last()[1]
        self.max_timestamp_ms = -1
        self._scan_unindexed(last, position)
        self.time_index.truncate(self._next)
        self.max_timestamp_ms, self._offset_of_max = self.time_index.last()
        self._scan_unindexed(last, position)
        self.flushed = min(self.flushed, self._next)

    # --- reading -----------------------------------------------------------------------------------------------------

    def batches(self, from_offset: int = 0) -> Iterator[Batch]:
        """Iterate over the batches from the one that holds `from_offset`, or the first after it. Raises DamagedLog."""
        return self.encoded(from_offset)

    def encoded(self, from_offset: int = 0) -> Iterator[EncodedBatch]:
        """Iterate over the same batches as `batches`, typed as encoded ones."""
        for position, batch in self._from(from_offset):
            self._verify(batch, position)
            yield batch

    def position(self, offset: int) -> int:
        """Return the bytes of the batches that begin before the offset."""
        if offset >= self._next:
            return self.size
        return next((at for at, batch in self._from(offset - 1) if batch.base_offset >= offset), self.size)

    def find_time(self, timestamp_ms: int) -> Found | None:
        """Return the first record with this timestamp or a later one; None if there is none. Raises DamagedLog."""
        if self.max_timestamp_ms < timestamp_ms:
            return None
        self.load_indexes()
        for position, batch in self._from(self.time_index.lookup(timestamp_ms)):
            if batch.max_timestamp_ms >= timestamp_ms:
                self._verify(batch, position)
                found = first_not_older(batch, timestamp_ms)
                if found is not None:
                    return found
        return None

    def _from(self, offset: int) -> Iterator[tuple[int, EncodedBatch]]:
        """Yield positions and unverified batches from the one that holds the offset, or the first after it."""
        if offset >= self._next:
            return
        for at, batch in self._scan(self._lookup(offset), self.size):
            if batch.base_offset + batch.count > offset:
                yield at, batch

    def _lookup(self, offset: int) -> int:
        try:
            position = self.offset_index.lookup(offset)
            if position and self.offset_index.from_disk and not self._begins_batch(position, offset, self.size):
                raise CorruptIndex(self.offset_index.path, 0, f"no batch begins at {position}, where an entry points")
        except CorruptIndex as wrong:
            self.rebuild_indexes(wrong)
            position = self.offset_index.lookup(offset)
        return position

    def _begins_batch(self, position: int, offset: int, end: int) -> bool:
        header = os.pread(self._descriptor, HEADER_BYTES, position)
        if len(header) < HEADER_BYTES:
            return False
        base_offset, length, _, magic, *_ = HEADER.unpack(header)
        whole: bool = HEADER_BYTES <= length + LENGTH_END <= end - position
        here: bool = self.base_offset <= base_offset <= offset
        return magic == MAGIC and whole and here

    def _scan(self, position: int, end: int) -> Iterator[tuple[int, EncodedBatch]]:
        """Yield positions and unverified batches between two positions. Raises DamagedLog."""
        piece = _FIRST_PIECE
        expected = self.base_offset
        while position < end:
            data = os.pread(self._descriptor, min(piece, end - position), position)
            view, at, left = memoryview(data), 0, len(data)
            while left >= LENGTH_END and LENGTH_END + _LENGTH.unpack_from(data, at + 8)[0] <= left:
                batch = self._read(view, at, position, expected)
                yield position + at, batch
                expected = batch.base_offset + batch.count
                at += batch.size
                left -= batch.size
            piece = min(piece * 2, _LARGEST_PIECE)
            if at == 0:
                piece = self._piece_for(data, position, end)
            position += at

    def _piece_for(self, data: bytes, position: int, end: int) -> int:
        """Return the size of a batch larger than a piece. Raises DamagedLog if the file ends within it."""
        size = LENGTH_END + _LENGTH.unpack_from(data, 8)[0] if len(data) >= LENGTH_END else HEADER_BYTES
        if position + size > end:
            what = f"the file ends {end - position} bytes into a batch of {size}"
            raise DamagedLog(self.path, position, what, _REMEDY)
        return size

    def _read(self, view: memoryview, at: int, origin: int, expected: int) -> EncodedBatch:
        try:
            batch = read_batch(view, at, verify=False, origin=origin)
        except ProtocolError as wrong:
            raise DamagedLog(self.path, origin + at, str(wrong), _REMEDY) from None
        if batch.base_offset < expected or batch.last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            what = f"offset {batch.base_offset} where at least {expected} belongs"
            raise DamagedLog(self.path, origin + at, what, _REMEDY)
        return batch

    def _verify(self, batch: EncodedBatch, position: int) -> None:
        try:
            batch.verify(position)
        except ProtocolError as wrong:
            raise DamagedLog(self.path, position, str(wrong), _REMEDY) from None

    # --- flushing and closing ----------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write the batches to the disk, so that they survive a crash of the machine."""
        if self.flushed < self._next:
            if self._sync:
                os.fsync(self._descriptor)
            self.flushed = self._next
        self.write_indexes(sync=False)

    def seal(self) -> None:
        """Flush the segment and its indexes, with the largest timestamp, before a new segment becomes active."""
        self.flush()
        if self._loaded:  # otherwise it has not changed since it was sealed
            self.time_index.append(self.max_timestamp_ms, self._offset_of_max)
            self.write_indexes(sync=self._sync)

    def write_indexes(self, *, sync: bool) -> None:
        """Write the new index entries to the files."""
        self.offset_index.write(sync=sync)
        self.time_index.write(sync=sync)

    def rename(self, suffix: str) -> None:
        """Rename the segment's files to another suffix, the log first."""
        old = [self.file(kind) for kind in SUFFIXES]
        self.suffix = suffix
        for before, kind in zip(old, SUFFIXES, strict=True):
            if before.exists():
                before.rename(self.file(kind))
        self.offset_index.path, self.time_index.path = self.file(INDEX), self.file(TIME_INDEX)

    def close(self) -> None:
        """Close the log file."""
        self._files.close(self)
        self._closed = True
