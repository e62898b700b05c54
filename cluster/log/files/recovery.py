"""Recovery of a log's files after a crash.

The first step handles file names. A compaction writes its segment as `.cleaned`, flushes it, renames it to `.swap`,
renames the replaced segments to `.deleted`, and then gives the new segment its final name. A suffix left by a crash
shows how far the compaction got:

* `.deleted`: is removed;
* `.cleaned`: is incomplete and removed, with every `.swap` from its base offset on (KAFKA-6264);
* `.swap`: is complete and gets its final name, after the segments within its range of offsets are removed;
* an index without its log: is removed.

The second step checks content. Every segment that extends above the recovery point is read batch by batch, with
checksums, and its indexes are rebuilt. As in Kafka, the log ends before the first invalid batch, wherever that is: the
segment is truncated there, and later segments are deleted; a replica fetches the missing records from its leader.
Repairs distinguish two kinds of damage. A torn tail is the usual result of a crash. Damage below the recovery point, or
with whole batches after it, means that the disk lost flushed data: with `refuse_damage` recovery stops there and leaves
the log unchanged.

Source: `LogLoader`, `LogSegment.recover`; KAFKA-6264 for `.swap` beside `.cleaned`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from groupsim.cluster.log.files.damage import DamagedLog, Repair
from groupsim.cluster.log.files.segment import LOG, SUFFIXES, FileSegment, file_name

CLEANED, SWAP, DELETED = ".cleaned", ".swap", ".deleted"

OpenSegment = Callable[[int, str], FileSegment]
"""Base offset and suffix → the segment, not yet read."""


def base_offset_of(path: Path) -> int | None:
    """Return the base offset in a file's name; None if it is not a file of a segment."""
    digits = path.name.split(".")[0]
    return int(digits) if len(digits) == 20 and digits.isdigit() else None


def finish_renames(folder: Path, open_segment: OpenSegment) -> list[Repair]:
    """Undo or finish an interrupted compaction by the files' names. Raises DamagedLog if a `.swap` cannot be read."""
    repairs = _remove(_files(folder, DELETED), "a deleted segment's file was left")
    cleaned = _files(folder, CLEANED)
    unfinished = min((base for path in cleaned if (base := base_offset_of(path)) is not None), default=None)
    if unfinished is not None:
        half = [path for path in _files(folder, SWAP) if (base_offset_of(path) or 0) >= unfinished]
        repairs += _remove(half, "a replacement was not finished")
    repairs += _remove(cleaned, "a replacement was not finished")
    for path in _files(folder, LOG + SWAP):
        repairs += _put_in_place(folder, path, open_segment)
    repairs += _remove(_files(folder, SWAP), "an index was left without its log")
    orphans = [
        path
        for kind in SUFFIXES[1:]
        for path in _files(folder, kind)
        if (base := base_offset_of(path)) is not None and not (folder / file_name(base)).exists()
    ]
    return repairs + _remove(orphans, "an index was left without its log")


def _files(folder: Path, suffix: str) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.endswith(suffix) and base_offset_of(path) is not None)


def _remove(paths: Iterable[Path], what: str) -> list[Repair]:
    repairs = []
    for path in paths:
        path.unlink()
        repairs.append(Repair(path, 0, what, "removed"))
    return repairs


def _put_in_place(folder: Path, path: Path, open_segment: OpenSegment) -> list[Repair]:
    base = base_offset_of(path) or 0
    segment = open_segment(base, SWAP)
    try:
        damage = segment.recover()
        if damage is not None:
            raise damage
        segment.write_indexes(sync=True)
        replaced = [
            old
            for kind in SUFFIXES
            for old in _files(folder, kind)
            if base <= (base_offset_of(old) or 0) < max(segment.next_offset, base + 1)
        ]
        repairs = _remove(replaced, f"it is replaced by {path.name}")
        segment.rename("")
    finally:
        segment.close()
    return [*repairs, Repair(path, 0, "a replacement was finished but not in its place", "put there")]


def recover_segment(segment: FileSegment, recovery_point: int, *, refuse_damage: bool) -> Repair | None:
    """Verify a segment and truncate it at its first invalid batch; return None if every batch is valid.

    Raises DamagedLog with `refuse_damage` if the damage is not a torn tail.
    """
    file_size = segment.path.stat().st_size
    damage = segment.recover()
    if damage is None:
        return None
    middle = segment.has_batch_after(damage.position)
    if refuse_damage and (middle or segment.next_offset < recovery_point):
        raise DamagedLog(
            damage.file,
            damage.position,
            f"{damage.what}; {file_size - damage.position} bytes from there on, which are no torn tail",
            "restore the file, or open it without refuse_damage to cut it here",
        )
    kind = _kind(middle, segment.next_offset, recovery_point)
    cut = segment.truncate_file()
    return Repair(damage.file, damage.position, f"{kind}: {damage.what}", f"cut {cut} bytes")


def _kind(middle: bool, next_offset: int, recovery_point: int) -> str:
    if next_offset < recovery_point:
        return f"damage below the recovery point {recovery_point}"
    return "damage with whole batches behind it" if middle else "torn tail"
