"""Scenarios with a member that assigns partitions to itself (`assign`)."""

from __future__ import annotations

import pytest

from groupsim import Kind, ScenarioError, load_text, run_scenario

BESIDE = """
title: A consumer with partitions of its own beside a group
run-for: 40s
topics:
  orders: {partitions: 2, rate: 10/s}
groups:
  g1:
    members:
      c1: {start: 1s}
      manual: {assign: [orders-0], start: 12s}
timeline:
  - {at: 30s, do: subscribe, member: manual, topics: [orders]}
expect:
  - event: {kind: commit.failed, member: manual, error: UNKNOWN_MEMBER_ID, count: ">= 3"}
  - generations: 2
"""


def test_a_member_with_assigned_partitions_stays_outside_until_it_subscribes() -> None:
    """Its commits are refused, no rebalance comes of it; once it subscribes it joins like any other."""
    run = run_scenario(load_text(BESIDE), seed=1)
    assert run.failed == ()
    joins = [event.t_us for event in run.events if event.kind is Kind.REQUEST_SENT and event.api == "JoinGroup"]
    assert not [at for at in joins if 5_000_000 < at < 30_000_000]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("orders-0", "orders-7", "there is no partition `orders-7`"),
        ("orders-0", "bills-0", "there is no topic `bills`"),
        ("assign: [orders-0]", "assign: [orders-0], subscribe: [orders]", "both a subscription and `assign`"),
    ],
)
def test_partitions_that_cannot_be_assigned_are_mistakes(old: str, new: str, said: str) -> None:
    """Partitions that do not exist, and a subscription beside them, are errors with line and remedy."""
    with pytest.raises(ScenarioError, match=said):
        load_text(BESIDE.replace(old, new))
