"""`groupsim describe --cluster`: replicas, leaders, in-sync sets, log ends; the coordinator of a group."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.front_stage import call


def described(at: str) -> dict[str, Any]:
    """A scene in which the leader of orders-0 is cut off at 20 s, dies at 23 s and comes back at 45 s."""
    return dict(json.loads(call("describe", "acks-1-leader-dies", "--at", at, "--cluster", "--json").stdout))


def test_a_dead_leader_is_replaced_and_its_replica_leaves_the_in_sync_set() -> None:
    """Broker 0 leads with all in sync; after its session the next replica leads, at the same high watermark."""
    (before,) = [one for one in described("15s")["cluster"] if one["partition"] == "orders-0"]
    (after,) = [one for one in described("35s")["cluster"] if one["partition"] == "orders-0"]
    assert (before["leader"], before["preferred"]) == (0, 0)
    assert [one["in_sync"] for one in before["replicas"]] == [True, True, True]
    assert (after["leader"], after["preferred"]) == (1, 0)
    dead, *living = after["replicas"]
    assert (dead["broker"], dead["up"], dead["in_sync"], dead["end"]) == (0, False, False, None)
    assert all(one["up"] and one["in_sync"] for one in living)
    assert all(one["end"] >= after["high_watermark"] > 0 for one in living)


def test_the_coordinator_of_a_group_is_named_and_moves_with_its_partition() -> None:
    """The group names its partition of __consumer_offsets, and the broker that leads it now."""
    before, after = (described(at)["groups"]["billing"]["coordinator"] for at in ("15s", "35s"))
    assert before == {"partition": 9, "broker": 0}
    assert after["partition"] == 9
    assert after["broker"] not in (0, None)


def test_the_table_marks_leaders_that_are_not_preferred() -> None:
    """`1!` is not the preferred leader, `0†` is down; a group stands beside its coordinator's partition."""
    shown = call("describe", "acks-1-leader-dies", "--at", "35s", "--cluster").stdout
    assert "coordinator: __consumer_offsets-9, led by broker" in shown
    row = next(line.split() for line in shown.splitlines() if line.split()[:1] == ["orders-0"])
    assert row[1:5] == ["1!", "0†", "1", "2"]
    assert "__consumer_offsets-9 (billing)" in shown


@pytest.mark.parametrize("more", [(), ("--cluster",)])
def test_counted_logs_have_no_replicas(more: tuple[str, ...]) -> None:
    """Of counted logs the coordinator is known, and the table says how replicas are had."""
    shown = call("describe", "demo", "--at", "40s", "--set", "cluster.logs=counted", *more).stdout
    assert "coordinator: __consumer_offsets-42, led by broker" in shown
    assert ("cluster.logs=replicated" in shown) == bool(more)
