"""What a look-up by offset reads: so many bytes of the log whatever its size, and entries by their logarithm."""

from __future__ import annotations

from math import log2
from pathlib import Path

import pytest

from benchmarks.lookups import BATCH_BYTES, BATCHES_AN_ENTRY, MB, PER_BATCH, counts, write_log
from groupsim.cluster.log.files.store import FileStore

# The first piece that a scan reads, and a header by which an index entry is checked.
BYTES = 16 * 1024 + 61


def most(folder: Path, segments: int, size: int) -> dict[str, int]:
    """The most that look-ups read in a log of equal segments, at its begin, at its end and between."""
    records = segments * size // BATCH_BYTES * PER_BATCH
    wanted = [0, 1, records // 3, records // 2, records * 4 // 5, records - 1]
    write_log(folder, segments, size, wanted)
    store = FileStore(folder, sync=False, clean=True)
    found = [counts(store, offset) for offset in wanted]
    store.close()
    return {key: max(one[key] for one in found) for key in found[0]}


@pytest.mark.parametrize("size", [MB, 10 * MB, 100 * MB, 1_000 * MB])
def test_a_look_up_reads_as_many_bytes_in_a_small_segment_as_in_a_large_one(size: int, tmp_path: Path) -> None:
    """A thousand times the segment: the same bytes of the log in two reads, and ten more entries of the index."""
    found = most(tmp_path / "orders-0", 1, size)
    entries = size // BATCH_BYTES // BATCHES_AN_ENTRY
    assert found["bytes"] <= BYTES
    assert found["reads"] <= 2
    assert log2(entries) - 1 <= found["entries"] <= log2(entries) + 1


@pytest.mark.parametrize("segments", [1, 30, 300])
def test_the_number_of_segments_costs_its_logarithm(segments: int, tmp_path: Path) -> None:
    """Bisection finds the segment; within it nothing changes."""
    found = most(tmp_path / "orders-0", segments, MB // 10)
    assert found["segments"] <= log2(segments) + 2
    assert found["entries"] <= log2(MB // 10 // BATCH_BYTES // BATCHES_AN_ENTRY) + 1
    assert found["bytes"] <= BYTES
