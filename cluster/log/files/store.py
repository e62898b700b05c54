"""A log in files of Kafka's layout: the storage of `groupsim serve --data-dir`.

    orders-0/00000000000000000000.log .index .timeindex     a segment and its indexes
             00000000000000170210.log …                     the next segment
             leader-epoch-checkpoint                        and other checkpoints
             partition.metadata                             the topic id

An append writes to the operating system, so that a killed process loses nothing; `flush` waits for the disk. All
segments but the active one are *sealed*: flushed with their indexes. The recovery point is the offset below which all
batches are flushed; it is a checkpoint (`DataDir` has one file for all logs). After an unclean shutdown only segments
above it are verified. `repairs` lists the damage that was found and repaired.

Source: `LocalLog`, `LogLoader`, `LogSegments`.
"""

from __future__ import annotations

import shutil
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from groupsim.cluster.log.files import recovery
from groupsim.cluster.log.files.damage import CorruptIndex, DamagedLog, Repair
from groupsim.cluster.log.files.deletion import rename_for_deletion
from groupsim.cluster.log.files.disk import sync_folder, write_atomically
from groupsim.cluster.log.files.indexes import MAX_INDEX_BYTES
from groupsim.cluster.log.files.segment import INDEX_INTERVAL_BYTES, LOG, SUFFIXES, FileSegment
from groupsim.cluster.log.interfaces import Segment, SegmentStore
from groupsim.protocol.batch.batch import Batch

RECOVERY_POINT: Final = "recovery-point-offset-checkpoint"


class Checkpoints(Protocol):
    """The checkpoints of one log that are not in its folder."""

    def read(self, name: str) -> str | None:
        """Return the text; None if there is none."""

    def write(self, name: str, text: str) -> bool:
        """Write the text atomically; return False for a checkpoint that belongs into the log's folder."""


class FileStore(SegmentStore):
    """The segments and checkpoints of one partition, in a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        clean: bool = False,
        index_interval_bytes: int = INDEX_INTERVAL_BYTES,
        max_index_bytes: int = MAX_INDEX_BYTES,
        sync: bool = True,
        refuse_damage: bool = False,
        now_ms: int = 0,
        checkpoints: Checkpoints | None = None,
        on_repair: Callable[[Repair], None] | None = None,
        discard: Callable[[Path, int], None] | None = None,
    ) -> None:
        """Open or create a folder; recover it unless it was closed in order (`clean`).

        `discard` removes the folder of a deleted log after so many ms; without it the folder is removed at once. With
        `sync` False no call waits for the disk. Raises OSError, and DamagedLog if damage cannot be removed, or must not
        be (`refuse_damage`).
        """
        self.folder = folder
        self._interval = index_interval_bytes
        self._max_index_bytes = max_index_bytes
        self._sync = sync
        self._now_ms = now_ms
        self._checkpoints = checkpoints
        self._on_repair = on_repair
        self._discard = discard
        self._segments: list[FileSegment] = []
        self.repairs: list[Repair] = []
        if not folder.exists():
            folder.mkdir(parents=True)
            self._sync_folder(folder.parent)
        try:
            self._open(clean, refuse_damage)
        except BaseException:
            self._close_segments()
            raise

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments in rising order of base offsets; empty for a new partition."""
        return self._segments

    @property
    def recovery_point(self) -> int:
        """The offset below which all batches survive a crash of the machine."""
        for segment in self._segments:
            if segment.flushed < segment.next_offset:
                return segment.flushed
        return self._segments[-1].next_offset if self._segments else 0

    # --- opening -----------------------------------------------------------------------------------------------------

    def _open(self, clean: bool, refuse_damage: bool) -> None:
        for repair in recovery.finish_renames(self.folder, self._segment):
            self._report(repair)
        paths = sorted(path for path in self.folder.iterdir() if path.name.endswith(LOG))
        bases = [base for path in paths if (base := recovery.base_offset_of(path)) is not None]
        point = int(self.read_checkpoint(RECOVERY_POINT) or 0)
        first_unflushed = len(bases) if clean else max(bisect_right(bases, point) - 1, 0)
        for number, base in enumerate(bases):
            segment = self._segment(base, "")
            self._segments.append(segment)
            if number < first_unflushed:
                self._open_clean(segment)
            elif not self._recover(segment, point, refuse_damage):
                self._drop_after(segment, bases[number + 1 :])
                break
        if self.repairs:
            self._sync_folder(self.folder)

    def _segment(self, base_offset: int, suffix: str, *, new: bool = False) -> FileSegment:
        return FileSegment(
            self.folder,
            base_offset,
            self._now_ms,
            index_interval_bytes=self._interval,
            max_index_bytes=self._max_index_bytes,
            sync=self._sync,
            on_repair=self._report,
            suffix=suffix,
            new=new,
        )

    def _open_clean(self, segment: FileSegment) -> None:
        try:
            segment.open_clean()
        except CorruptIndex as wrong:
            segment.rebuild_indexes(wrong)
            segment.flushed = segment.next_offset

    def _recover(self, segment: FileSegment, point: int, refuse_damage: bool) -> bool:
        """Recover a segment; return whether it was undamaged."""
        repair = recovery.recover_segment(segment, point, refuse_damage=refuse_damage)
        segment.flush()
        if repair is not None:
            self._report(repair)
        return repair is None

    def _drop_after(self, segment: FileSegment, later: Sequence[int]) -> None:
        """Delete the segments after a truncated one."""
        for base in later:
            gone = self._segment(base, "")
            self._report(Repair(gone.path, 0, f"{segment.path.name} before it was cut", "removed"))
            self._delete(gone)

    def _report(self, repair: Repair) -> None:
        self.repairs.append(repair)
        if self._on_repair is not None:
            self._on_repair(repair)

    # --- segments ----------------------------------------------------------------------------------------------------

    def create(self, base_offset: int, now_ms: int) -> Segment:
        """Create a segment after all others and seal the last one. Raises ValueError if the offsets overlap."""
        if self._segments:
            last = self._segments[-1]
            if base_offset < last.next_offset or base_offset == last.base_offset:
                raise ValueError(f"{self.folder}: a segment from {base_offset} cannot follow {last.next_offset - 1}")
            last.seal()
            self.write_checkpoint(RECOVERY_POINT, str(self.recovery_point))
        self._now_ms = now_ms
        segment = self._segment(base_offset, "", new=True)
        self._segments.append(segment)
        self._sync_folder(self.folder)
        return segment

    def remove(self, segment: Segment) -> None:
        """Delete a segment; its files are renamed first, so that a crash cannot leave a part of it."""
        at = self._index(segment)
        gone = self._segments[at]
        self._segments = [one for one in self._segments if one is not gone]  # a running iteration keeps the old list
        if at == len(self._segments):
            self._lower_recovery_point(self._segments[-1].next_offset if self._segments else gone.base_offset)
        self._delete(gone)

    def _lower_recovery_point(self, offset: int) -> None:
        if int(self.read_checkpoint(RECOVERY_POINT) or 0) > offset:
            self.write_checkpoint(RECOVERY_POINT, str(offset))

    def _delete(self, segment: FileSegment) -> None:
        segment.rename(recovery.DELETED)
        segment.close()
        for kind in SUFFIXES:
            segment.file(kind).unlink(missing_ok=True)
        self._sync_folder(self.folder)

    def replace(self, old: Sequence[Segment], batches: Sequence[Batch]) -> Segment | None:
        """Replace neighbouring segments with one segment of these batches, atomically (`recovery`)."""
        at = self._index(old[0])
        replaced = self._segments[at : at + len(old)]
        if not batches:
            for segment in replaced:  # the oldest first: a tombstone must outlive the record that it deletes
                self.remove(segment)
            return None
        new = self._cleaned(replaced, batches)
        new.rename(recovery.SWAP)
        self._sync_folder(self.folder)
        for segment in replaced:
            segment.rename(recovery.DELETED)
        new.rename("")
        self._sync_folder(self.folder)
        self._segments[at : at + len(old)] = [new]
        for segment in replaced:
            self._delete(segment)
        return new

    def _cleaned(self, replaced: Sequence[FileSegment], batches: Sequence[Batch]) -> FileSegment:
        """Write the new segment and flush it, with a suffix that recovery removes."""
        self._now_ms = replaced[-1].created_ms
        new = self._segment(replaced[0].base_offset, recovery.CLEANED, new=True)
        try:
            for batch in batches:
                new.append(batch)
            new.seal()
        except BaseException:
            new.close()
            for kind in SUFFIXES:
                new.file(kind).unlink(missing_ok=True)
            raise
        return new

    def _index(self, segment: Segment) -> int:
        found = next((index for index, one in enumerate(self._segments) if one is segment), None)
        if found is None:
            raise ValueError(f"{self.folder}: the segment from {segment.base_offset} is not one of its own")
        return found

    # --- checkpoints -------------------------------------------------------------------------------------------------

    def read_checkpoint(self, name: str) -> str | None:
        """Return a checkpoint's text; None if there is none."""
        kept = self._checkpoints.read(name) if self._checkpoints is not None else None
        if kept is not None:
            return kept
        try:
            return (self.folder / name).read_text("utf-8")
        except FileNotFoundError:
            return None

    def write_checkpoint(self, name: str, text: str) -> None:
        """Write a checkpoint atomically."""
        if self._checkpoints is None or not self._checkpoints.write(name, text):
            write_atomically(self.folder / name, text.encode(), sync=self._sync)

    # --- close -------------------------------------------------------------------------------------------------------

    def lose_unflushed(self) -> int:
        """Remove everything from the first unflushed batch on, as a crash of the machine; return the records lost."""
        lost = 0
        for number, segment in enumerate(self._segments):
            if segment.flushed < segment.next_offset:
                lost = sum(_records(one) for one in self._segments[number:])
                for later in self._segments[number + 1 :]:
                    self.remove(later)
                segment.truncate(segment.flushed)
                break
        return lost

    def delete(self, after_ms: int) -> None:
        """Close the files and rename the folder; it is removed after `after_ms`."""
        self._close_segments()
        if self._discard is not None:
            self._discard(self.folder, after_ms)
        else:
            shutil.rmtree(rename_for_deletion(self.folder, "0" * 32))
        self._sync_folder(self.folder.parent)

    def close(self) -> None:
        """Seal all segments, write the recovery point and close the files; the store is not used again."""
        for segment in self._segments:
            segment.seal()
        if self._segments:
            self.write_checkpoint(RECOVERY_POINT, str(self.recovery_point))
        self._close_segments()

    def _close_segments(self) -> None:
        for segment in self._segments:
            segment.close()
        self._segments = []

    def _sync_folder(self, folder: Path) -> None:
        if self._sync:
            sync_folder(folder)


def _records(segment: FileSegment) -> int:
    """Return the number of unflushed records of a segment."""
    return sum(batch.record_count for batch in segment.encoded(segment.flushed))


__all__ = ["RECOVERY_POINT", "Checkpoints", "DamagedLog", "FileStore", "Repair"]
