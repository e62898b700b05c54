"""Bytes for requests that a test sends itself: subscriptions and assignments."""

from __future__ import annotations

import pytest

from groupsim import Simulation, TopicPartition
from groupsim.protocol.embedded.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
)
from groupsim.requests import assignment_bytes, subscription_bytes


def test_a_subscription_carries_what_its_version_can() -> None:
    """Owned partitions travel from version 1 on, the generation from 2 on, the rack from 3 on."""
    owned = (TopicPartition("orders", 0), TopicPartition("a-b", 11))
    for version, expected in (
        (0, Subscription(("orders", "pay"))),
        (1, Subscription(("orders", "pay"), owned=tuple(sorted(owned)))),
        (2, Subscription(("orders", "pay"), owned=tuple(sorted(owned)), generation=3)),
        (3, Subscription(("orders", "pay"), owned=tuple(sorted(owned)), generation=3, rack="a")),
    ):
        made = subscription_bytes(
            "orders", "pay", owned=["orders-0", "a-b-11"], generation=3, rack="a", version=version
        )
        found = decode_subscription(made)
        assert (found.topics, tuple(sorted(found.owned)), found.generation, found.rack) == (
            expected.topics,
            expected.owned,
            expected.generation,
            expected.rack,
        )


def test_an_assignment_names_its_partitions() -> None:
    """Partitions are objects or texts; a text that is no partition is an error that shows the form."""
    made = assignment_bytes("orders-0", TopicPartition("orders", 1), user_data=b"x")
    expected = (TopicPartition("orders", 0), TopicPartition("orders", 1))
    assert decode_assignment(made) == Assignment(expected, b"x")
    with pytest.raises(ValueError, match="'orders' is not a partition; write topic and number, as in 'orders-0'"):
        assignment_bytes("orders")


def test_an_unknown_group_is_an_error_with_a_remedy(sim: Simulation) -> None:
    """`group` names the groups of the run and what to call; `group_or_none` returns None."""
    with pytest.raises(LookupError, match=r"knows a group 'g1' now; groups of this run: none yet; .*group_or_none"):
        sim.group("g1")
    assert sim.group_or_none("g1") is None
    assert sim.state("g1") == "Dead"
