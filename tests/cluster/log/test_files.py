"""Logs in files: reopening after a clean shutdown and after a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from groupsim.cluster.log.files import store as files_module
from groupsim.cluster.log.files.damage import DamagedLog
from groupsim.cluster.log.files.segment import FileSegment
from groupsim.cluster.log.files.store import RECOVERY_POINT, FileStore
from tests.helpers.counted_batches import counted_batch

FIRST = "00000000000000000000"
SIZE = counted_batch(5, 20, 0).size


def fill(segment: FileSegment, batches: int, count: int = 5) -> None:
    """Batches of five records."""
    for _ in range(batches):
        base = segment.next_offset
        segment.append(counted_batch(count, 20, 1_000 + base, base_offset=base))


def made(folder: Path, *, segments: int = 3, batches: int = 30) -> FileStore:
    """A store with segments of so many batches, all but the last sealed."""
    store = FileStore(folder, sync=False, index_interval_bytes=300)
    for number in range(segments):
        segment = store.create(number * batches * 5, number)
        assert isinstance(segment, FileSegment)
        fill(segment, batches)
    return store


def opened(folder: Path, **settings: object) -> FileStore:
    """The store again."""
    return FileStore(folder, sync=False, index_interval_bytes=300, **settings)  # type: ignore[arg-type]


def offsets(store: FileStore) -> list[int]:
    """Base offsets of all batches."""
    return [batch.base_offset for segment in store.segments for batch in segment.batches()]


def names(folder: Path) -> list[str]:
    """The files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_segments_have_kafkas_names(tmp_path: Path) -> None:
    """Twenty digits; a log and two indexes each."""
    made(tmp_path / "t-0", segments=2).close()
    assert names(tmp_path / "t-0") == [
        *(f"{base:020d}{kind}" for base in (0, 150) for kind in (".index", ".log", ".timeindex")),
        RECOVERY_POINT,
    ]


@pytest.mark.parametrize("clean", [True, False])
def test_a_store_closed_in_order_is_found_as_it_was(tmp_path: Path, clean: bool) -> None:
    """Trusted or verified: the same offsets, sizes and times, and nothing to repair."""
    store = made(tmp_path / "t-0")
    before = [(one.base_offset, one.size, one.next_offset, one.max_timestamp_ms) for one in store.segments]
    store.close()
    store = opened(tmp_path / "t-0", clean=clean)
    assert [(one.base_offset, one.size, one.next_offset, one.max_timestamp_ms) for one in store.segments] == before
    assert offsets(store) == list(range(0, 450, 5))
    assert store.repairs == []
    assert store.recovery_point == 450
    active = store.segments[-1]
    assert isinstance(active, FileSegment)
    fill(active, 10)
    assert offsets(store)[-1] == 495
    assert active.find_time(1_470) == (470, 1_470)


@pytest.mark.parametrize(("cut", "end"), [(1, 445), (SIZE - 1, 445), (SIZE, 445), (SIZE + 1, 440), (30 * SIZE, 300)])
def test_a_torn_tail_is_cut_and_reported(tmp_path: Path, cut: int, end: int) -> None:
    """It is cut after the last whole batch; the repair has file, position and remedy."""
    made(tmp_path / "t-0")
    path = tmp_path / "t-0" / f"{300:020d}.log"
    path.write_bytes(path.read_bytes()[:-cut])
    store = opened(tmp_path / "t-0")
    assert store.segments[-1].next_offset == end
    assert path.stat().st_size == (end - 300) // 5 * SIZE
    if cut % SIZE:
        (repair,) = store.repairs
        assert (repair.file, repair.position) == (path, (end - 300) // 5 * SIZE)
        assert repair.what.startswith(f"torn tail: the file ends {SIZE - cut % SIZE} bytes into a batch")
        assert repair.remedy == f"cut {SIZE - cut % SIZE} bytes"
    else:
        assert store.repairs == []


@pytest.mark.parametrize("tail", [bytes(100), b"\xff" * 100, bytes(5), b"garbage"])
def test_a_tail_of_zeros_or_garbage_is_cut(tmp_path: Path, tail: bytes) -> None:
    """As after a power cut: the file has its length, but not its content."""
    made(tmp_path / "t-0", segments=1)
    path = tmp_path / "t-0" / f"{FIRST}.log"
    with path.open("ab") as file:
        file.write(tail)
    store = opened(tmp_path / "t-0")
    assert offsets(store) == list(range(0, 150, 5))
    assert [repair.remedy for repair in store.repairs] == [f"cut {len(tail)} bytes"]
    assert path.stat().st_size == 30 * SIZE


def flip(path: Path, position: int) -> None:
    """One bit of a file."""
    data = bytearray(path.read_bytes())
    data[position] ^= 4
    path.write_bytes(data)


def test_damage_in_the_middle_ends_the_log_there_as_in_kafka(tmp_path: Path) -> None:
    """The rest of the segment and later segments are removed, and each is reported."""
    made(tmp_path / "t-0")
    (tmp_path / "t-0" / RECOVERY_POINT).unlink()
    path = tmp_path / "t-0" / f"{150:020d}.log"
    flip(path, 10 * SIZE + 70)
    store = opened(tmp_path / "t-0")
    assert offsets(store)[-1] == 195
    assert [(repair.file.name, repair.position, repair.what.split(":")[0]) for repair in store.repairs] == [
        (path.name, 10 * SIZE, "damage with whole batches behind it"),
        (f"{300:020d}.log", 0, f"{path.name} before it was cut"),
    ]
    assert not (tmp_path / "t-0" / f"{300:020d}.log").exists()


def test_damage_that_is_no_torn_tail_can_be_refused(tmp_path: Path) -> None:
    """With `refuse_damage` the log stays unchanged."""
    made(tmp_path / "t-0", segments=1)
    path = tmp_path / "t-0" / f"{FIRST}.log"
    flip(path, 10 * SIZE + 70)
    before = path.read_bytes()
    with pytest.raises(DamagedLog, match=r"no torn tail: restore the file, or open it without refuse_damage"):
        opened(tmp_path / "t-0", refuse_damage=True)
    assert path.read_bytes() == before


def test_damage_below_the_recovery_point_is_named_when_it_is_read(tmp_path: Path) -> None:
    """Flushed batches are not verified at the start; a damaged one is neither returned nor skipped."""
    made(tmp_path / "t-0").close()
    path = tmp_path / "t-0" / f"{FIRST}.log"
    flip(path, 10 * SIZE + 70)
    store = opened(tmp_path / "t-0")
    assert store.repairs == []
    read = store.segments[0].batches()
    assert [next(read).base_offset for _ in range(10)] == list(range(0, 50, 5))
    with pytest.raises(DamagedLog, match="expected the checksum") as raised:
        next(read)
    assert (raised.value.file, raised.value.position) == (path, 10 * SIZE)
    with pytest.raises(DamagedLog):
        store.segments[0].find_time(1_050)


@pytest.mark.parametrize("kind", [".index", ".timeindex"])
@pytest.mark.parametrize("content", [None, b"123", b"\x00\x00\x00\x63" * 60, b"\x7f" * 120])
def test_a_corrupt_index_is_named_and_made_anew(tmp_path: Path, kind: str, content: bytes | None) -> None:
    """A missing, truncated or falling index, or one with wrong positions, is rebuilt at the latest when it is used."""
    made(tmp_path / "t-0").close()
    path = tmp_path / "t-0" / (FIRST + kind)
    right = path.read_bytes()
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    store = opened(tmp_path / "t-0", clean=True)
    assert next(store.segments[0].batches(77)).base_offset == 75
    assert store.segments[0].find_time(1_075) == (75, 1_075)
    assert [(repair.file, repair.remedy) for repair in store.repairs] == [(path, "rebuilt from the log")]
    assert path.read_bytes() == right


def test_an_entry_that_points_into_a_batch_is_not_believed(tmp_path: Path) -> None:
    """Its positions rise and are within the file, but no batch begins there."""
    made(tmp_path / "t-0").close()
    path = tmp_path / "t-0" / f"{FIRST}.index"
    right = bytearray(path.read_bytes())
    wrong = bytearray(right)
    wrong[15] += 3
    path.write_bytes(wrong)
    store = opened(tmp_path / "t-0", clean=True)
    entry = int.from_bytes(right[8:12], "big")
    assert next(store.segments[0].batches(entry)).last_offset == entry
    assert "no batch begins at" in store.repairs[0].what
    assert path.read_bytes() == right


class _CrashError(Exception):
    """The process ends here."""


def crash_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let the process end at the n-th rename or removal of a file."""
    done = 0

    def counting(original: Callable[..., object]) -> Callable[..., object]:
        def act(*arguments: object, **named: object) -> object:
            nonlocal done
            done += 1
            if done > step:
                raise _CrashError
            return original(*arguments, **named)

        return act

    monkeypatch.setattr(Path, "rename", counting(Path.rename))
    monkeypatch.setattr(Path, "unlink", counting(Path.unlink))


@pytest.mark.parametrize("step", range(25))
def test_a_replacement_is_whole_or_not_at_all_wherever_it_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """A crash before or after any rename leaves the old segments or the new one, never both and never a part."""
    store = made(tmp_path / "t-0")
    before, kept = offsets(store), list(store.segments[0].batches())[::2]
    kept += list(store.segments[1].batches())[1::2]
    after = [batch.base_offset for batch in kept] + list(range(300, 450, 5))
    with monkeypatch.context() as patch:
        crash_at(patch, step)
        try:
            store.replace(store.segments[:2], kept)
        except _CrashError:
            pass
    store = opened(tmp_path / "t-0")
    assert offsets(store) in (before, after)
    assert (offsets(store) == before) == (step < 3)
    assert all(name.endswith((".log", ".index", ".timeindex", RECOVERY_POINT)) for name in names(tmp_path / "t-0"))
    store.close()
    assert opened(tmp_path / "t-0").repairs == []


def test_a_replacement_that_cannot_be_written_leaves_everything(tmp_path: Path) -> None:
    """A failed replacement leaves no file of the new segment."""
    store = made(tmp_path / "t-0")
    before = names(tmp_path / "t-0")
    batches = list(store.segments[0].batches())
    with pytest.raises(ValueError, match="cannot follow"):
        store.replace(store.segments[:2], [batches[3], batches[1]])
    assert names(tmp_path / "t-0") == before
    assert len(offsets(store)) == 90


def test_files_that_a_crash_left_are_removed_and_named(tmp_path: Path) -> None:
    """Deleted and incomplete segments, a swap beside them, and an index without its log."""
    folder = tmp_path / "t-0"
    made(folder).close()
    stray = [
        f"{FIRST}.log.deleted",
        f"{150:020d}.log.cleaned",
        f"{300:020d}.log.swap",
        f"{900:020d}.index",
        f"{300:020d}.timeindex.swap",
    ]
    for name in stray:
        (folder / name).write_bytes(b"")
    store = opened(folder, clean=True)
    assert sorted(repair.file.name for repair in store.repairs) == sorted(stray)
    assert offsets(store) == list(range(0, 450, 5))
    assert not set(stray) & set(names(folder))


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full in the middle of a batch: the log ends before it and takes the next."""
    store = made(tmp_path / "t-0", segments=1, batches=3)
    real = files_module.__dict__["write_atomically"].__globals__["os"].pwrite

    def full(descriptor: int, data: bytes, position: int) -> int:
        if position >= 3 * SIZE + 50:
            raise OSError(28, "No space left on device")
        written: int = real(descriptor, bytes(data)[:50], position)
        return written

    segment = store.segments[0]
    with monkeypatch.context() as patch:
        patch.setattr("os.pwrite", full)
        with pytest.raises(OSError, match="No space"):
            segment.append(counted_batch(5, 20, 0, base_offset=15))
    assert (tmp_path / "t-0" / f"{FIRST}.log").stat().st_size == segment.size == 3 * SIZE
    segment.append(counted_batch(5, 20, 0, base_offset=15))
    assert offsets(store) == [0, 5, 10, 15]


def test_a_truncated_log_lowers_its_recovery_point(tmp_path: Path) -> None:
    """Batches that replace truncated ones are verified after a crash."""
    store = made(tmp_path / "t-0")
    assert store.read_checkpoint(RECOVERY_POINT) == "300"
    for segment in tuple(store.segments[1:]):
        store.remove(segment)
    assert store.read_checkpoint(RECOVERY_POINT) == "150"


def test_a_batch_larger_than_any_piece_that_is_read_at_once_is_found(tmp_path: Path) -> None:
    """The file is read in pieces; batches are returned whole."""
    store = FileStore(tmp_path / "t-0", sync=False)
    segment = store.create(0, 0)
    for base, value in ((0, 10), (5, 600_000), (10, 3_000), (15, 10)):
        segment.append(counted_batch(5, value, 0, base_offset=base))
    assert [next(segment.batches(offset)).base_offset for offset in (0, 7, 12, 19)] == [0, 5, 10, 15]
    store.close()
    assert offsets(opened(tmp_path / "t-0")) == [0, 5, 10, 15]


def test_an_index_of_full_length_holds_what_is_before_its_zeros(tmp_path: Path) -> None:
    """As Kafka leaves the index of an active segment: nothing is rebuilt, and the next flush truncates it."""
    folder = tmp_path / "t-0"
    made(folder, segments=1, batches=40).close()
    indexes = [folder / f"{FIRST}{kind}" for kind in (".index", ".timeindex")]
    written = [path.read_bytes() for path in indexes]
    for path, data in zip(indexes, written, strict=True):
        path.write_bytes(data + bytes(1_200))
    store = opened(folder, clean=True)
    segment = store.segments[0]
    assert isinstance(segment, FileSegment)
    assert (segment.next_offset, segment.max_timestamp_ms, len(segment.offset_index)) == (
        200,
        1_195,
        len(written[0]) // 8,
    )
    assert segment.find_time(1_100) == (100, 1_100)
    assert [batch.base_offset for batch in segment.batches(180)] == [180, 185, 190, 195]
    assert store.repairs == []
    assert [path.stat().st_size for path in indexes] == [len(data) + 1_200 for data in written]
    fill(segment, 20)
    store.close()
    for path, data in zip(indexes, written, strict=True):
        now = path.read_bytes()
        assert now.startswith(data)
        assert len(data) < len(now) < len(data) + 600
        assert any(now[-8:])
