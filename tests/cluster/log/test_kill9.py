"""kill -9 of a real writer, and torn writes: the short form of `benchmarks/kill9.py`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import kill9


def test_a_killed_writer_loses_nothing_that_it_said_it_had_appended() -> None:
    """Thirty kills at random points of appending, flushing, rolling, replacing and truncating."""
    ends = [end for end, _ in kill9.kills(30, seed=1, longest_s=0.05, restart_every=10)]
    assert len(ends) == 30
    assert max(ends) > 100


def test_torn_writes_are_cut_behind_what_was_flushed() -> None:
    """Cut, zeroed, overwritten with garbage, with a hole or a flipped bit: the log ends before it."""
    kinds = Counter(kill9.torn(150, seed=2))
    assert min(kinds.values()) > 10
    assert len(kinds) == 5


def test_the_judge_notices_a_lost_batch(tmp_path: Path) -> None:
    """A flushed batch that is missing raises an error."""
    from groupsim.cluster.log.files.store import FileStore

    store = FileStore(tmp_path / "log", sync=False)
    store.create(0, 0).append(kill9.batch_at(0))
    store.close()
    with pytest.raises(AssertionError, match="50 were promised"):
        kill9.check(tmp_path / "log", 50)
