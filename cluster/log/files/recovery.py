"""What is done to the files of a log before it is used again after a crash.

First the names. A compaction writes its segment as `.cleaned`, flushes it, renames it to `.swap`, renames the segments
it replaces to `.deleted` and then itself to its final name. So what a crash leaves says how far it got:

* `.deleted`: was as good as gone, goes;
* `.cleaned`: was not finished, goes, and with it every `.swap` from its base offset on;
* `.swap`: was finished, takes its place; the segments that it replaces, those within its offsets, go first;
* an index without its log: goes.

Then the content. Every segment that reaches beyond the recovery point is read batch by batch, checksums and all; its
indexes are made anew. At the first batch that is wrong the log ends: the rest of the segment is cut off, later segments
are deleted. That is how Kafka does it, wherever the damage lies; a replica gets what is missing from its leader. What
was cut is told apart: a torn tail is what a crash leaves, damage below the recovery point or with whole batches behind
it is a disk that has lost what it had promised, and `refuse_damage` stops there and changes nothing in the log.

Source: `LogLoader`, `LogSegment.recover`; KAFKA-6264 for `.swap` beside `.cleaned`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from groupsim.cluster.log.files.damage import DamagedLog, Repair
from groupsim.cluster.log.files.segment import LOG, SUFFIXES, FileSegment, file_name

CLEANED, SWAP, DELETED = ".cleaned", ".swap", ".deleted"

OpenSegment = Callable[[int, str], FileSegment]
"""Base offset and suffix → the segment, not looked at yet."""


def base_offset_of(path: Path) -> int | None:
    """The base offset in a file's name; None when it is no file of a segment."""
    digits = path.name.split(".")[0]
    return int(digits) if len(digits) == 20 and digits.isdigit() else None


def finish_renames(folder: Path, open_segment: OpenSegment) -> list[Repair]:
    """Undo or finish what a crash interrupted, by the files' names. Raises DamagedLog when a `.swap` cannot be read."""
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
        damage = segment.walk()
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
    """Verify a segment and cut it at its first bad batch; None when it was whole.

    Raises DamagedLog with `refuse_damage` when that is no torn tail.
    """
    file_size = segment.path.stat().st_size
    damage = segment.walk()
    if damage is None:
        return None
    middle = segment.goes_on(damage.position)
    if refuse_damage and (middle or segment.next_offset < recovery_point):
        raise DamagedLog(
            damage.file,
            damage.position,
            f"{damage.what}; {file_size - damage.position} bytes from there on, which are no torn tail",
            "restore the file, or open it without refuse_damage to cut it here",
        )
    kind = _kind(middle, segment.next_offset, recovery_point)
    cut = segment.cut()
    return Repair(damage.file, damage.position, f"{kind}: {damage.what}", f"cut {cut} bytes")


def _kind(middle: bool, next_offset: int, recovery_point: int) -> str:
    if next_offset < recovery_point:
        return f"damage below the recovery point {recovery_point}"
    return "damage with whole batches behind it" if middle else "torn tail"
