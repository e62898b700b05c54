"""Old and superfluous segments go, never above the high watermark, and a quiet log is left in peace."""

from __future__ import annotations

from typing import Any

import pytest

TICK = 300_000


def _filled(kit: Any, store: Any, *times: int, **settings: Any) -> Any:
    """One segment of 100 bytes for each timestamp."""
    log = kit.log(store, segment_bytes=100, **settings)
    for at in times:
        log.append([kit.counted(size=100, at=at)], 0, at)
    kit.events.clear()
    return log


def test_segments_older_than_retention_ms_go(new_store: Any, kit: Any) -> None:
    """The newest record of a segment counts; the first young segment protects the later ones."""
    log = _filled(kit, new_store(), 100, 300, 200, 900, retention_ms=500)
    log.advance_high_watermark(4)
    log.maintain(800)
    assert (log.start_offset, kit.events) == (1, [("log.deleted", "time", {"start": 1, "segments": 1})])
    log.maintain(801)
    assert log.start_offset == 3


def test_nothing_above_the_high_watermark_goes(new_store: Any, kit: Any) -> None:
    """A record that is not replicated may still be needed."""
    log = _filled(kit, new_store(), 100, 100, 100, retention_ms=500)
    log.advance_high_watermark(1)
    log.maintain(10_000)
    assert log.start_offset == 1
    assert log.next_maintenance_ms(10_000) == TICK


def test_the_active_segment_goes_too_and_a_new_one_begins_at_the_end(new_store: Any, kit: Any) -> None:
    """A log without young records is empty, and keeps its end."""
    log = _filled(kit, new_store(), 100, 100, retention_ms=500)
    log.advance_high_watermark(2)
    log.maintain(10_000)
    assert (log.start_offset, log.end_offset, log.size) == (2, 2, 0)
    assert [kind for kind, _, _ in kit.events] == ["log.rolled", "log.deleted"]
    assert log.next_maintenance_ms(10_000) is None
    assert log.append([kit.counted()], 0, 0)[0].base_offset == 2


def test_segments_beyond_retention_bytes_go(new_store: Any, kit: Any) -> None:
    """The oldest ones without which the log still has retention.bytes."""
    log = _filled(kit, new_store(), 1, 1, 1, 1, retention_ms=-1, retention_bytes=250)
    log.advance_high_watermark(4)
    assert log.next_maintenance_ms(0) == TICK
    log.maintain(0)
    assert (log.start_offset, log.size) == (1, 300)
    assert log.next_maintenance_ms(0) is None


@pytest.mark.parametrize("policy", [("delete",), ("compact",)])
def test_segments_before_the_start_offset_go_whatever_the_policy(
    new_store: Any, kit: Any, policy: tuple[str, ...]
) -> None:
    """Segments below the log start offset of DeleteRecords are deleted whole."""
    log = _filled(kit, new_store(), 1, 1, 1, retention_ms=-1, cleanup_policy=policy)
    log.advance_high_watermark(3)
    log.advance_start(2)
    log.maintain(0)
    assert kit.events[0] == ("log.deleted", "start offset", {"start": 2, "segments": 2})
    assert len(log.store.segments) == 1


def test_a_compacted_log_has_no_retention(new_store: Any, kit: Any) -> None:
    """Without delete in cleanup.policy neither time nor size deletes anything."""
    log = _filled(kit, new_store(), 1, 1, 1, cleanup_policy=("compact",), retention_ms=1, retention_bytes=1)
    log.advance_high_watermark(3)
    log.maintain(10_000)
    assert log.start_offset == 0


def test_the_next_check_is_the_first_after_something_is_due(new_store: Any, kit: Any) -> None:
    """Kafka checks every five minutes; the maintenance is due at the next check."""
    log = _filled(kit, new_store(), 0, 50, retention_ms=3 * TICK)
    log.advance_high_watermark(2)
    assert log.next_maintenance_ms(0) == 4 * TICK
    log.maintain(4 * TICK)
    assert log.start_offset == 2


def test_a_log_without_limits_needs_no_upkeep(new_store: Any, kit: Any) -> None:
    """A log without expiring segments needs no maintenance."""
    log = _filled(kit, new_store(), 0, 50, retention_ms=-1)
    assert log.next_maintenance_ms(0) is None


def test_a_roll_and_a_moved_start_call_for_attention(new_store: Any, kit: Any) -> None:
    """Only these can bring the next check forward."""
    called: list[int] = []
    log = _filled(kit, new_store(), retention_ms=-1)
    log.on_roll = lambda: called.append(log.end_offset)
    log.append([kit.counted(size=100)], 0, 0)
    assert called == []
    log.append([kit.counted(size=100)], 0, 0)
    log.advance_high_watermark(2)
    log.advance_start(1)
    assert called == [1, 2]
