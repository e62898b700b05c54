"""kill -9 of a coordinator that writes files: the short form of `benchmarks/kill9_coordinator.py`."""

from __future__ import annotations

import pytest

from benchmarks import kill9_coordinator
from groupsim.coordinator.testing import Bench


def test_a_killed_coordinator_is_told_again_field_by_field() -> None:
    """After each of six kills an empty coordinator loads the last acknowledged state from the log."""
    appends = list(kill9_coordinator.kills(6, seed=3, longest_s=0.3, restart_every=3))
    assert sum(appends) > 20


@pytest.mark.parametrize("pending", [True, False])
def test_what_is_compared_tells_offsets_apart(pending: bool) -> None:
    """Another offset, committed or pending, is another state."""
    one, other = Bench(), Bench()
    for bench, offset in ((one, 1), (other, 2)):
        (bench.commit_in_transaction if pending else bench.commit_offset)(offset)
    assert kill9_coordinator.knows(one.shard) != kill9_coordinator.knows(other.shard)
