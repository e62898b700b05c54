"""The topics of a bench, and the report of changed ones to the groups of a partition."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.topics import NO_TOPICS, KnownTopics
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.testing import Bench

ORDERS = TopicView("AAAAAAAAAAAAAAAAAAAAAQ", "orders", 6)
BILLS = TopicView("AAAAAAAAAAAAAAAAAAAAAg", "bills", 2)


def test_known_topics_are_found_by_name_and_by_id() -> None:
    """In the order in which they were given."""
    topics = KnownTopics((ORDERS, BILLS), version=4, created_version=3)
    assert topics.names() == ("orders", "bills")
    assert topics.topic("bills") == topics.topic_by_id(BILLS.topic_id) == BILLS
    assert topics.topic("x") is None
    assert topics.topic_by_id("AAAAAAAAAAAAAAAAAAAAAw") is None
    assert NO_TOPICS.names() == ()


def test_every_group_hears_of_changed_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group of the partition gets the names once, at the present instant, with the new topics in sight."""
    heard = []

    def metadata_changed(self: ClassicGroup, op: Operation, names: Collection[str]) -> None:
        heard.append((self.group_id, tuple(names), op.now_us, op.topics.names()))

    monkeypatch.setattr(ClassicGroup, "metadata_changed", metadata_changed)
    bench = Bench(topics=KnownTopics((ORDERS,)))
    bench.commit_offset(1, group="g")
    bench.commit_offset(1, group="h")
    bench.advance_ms(5)
    bench.change_topics(KnownTopics((ORDERS, BILLS)), "bills")
    assert heard == [(group, ("bills",), 5_000, ("orders", "bills")) for group in ("g", "h")]


def test_a_classic_group_ignores_changed_topics() -> None:
    """Its state, its timers and its log stay as they are."""
    bench = Bench(topics=KnownTopics((ORDERS,)))
    bench.join("a")
    before = bench.snapshot(), bench.timers(), len(bench.log), len(bench.emitted)
    bench.change_topics(KnownTopics((ORDERS, BILLS)), "bills")
    assert (bench.snapshot(), bench.timers(), len(bench.log), len(bench.emitted)) == before


def test_a_fail_over_keeps_the_topics() -> None:
    """The bench that loads the log has the same view of topics."""
    bench = Bench(topics=KnownTopics((ORDERS,)))
    assert bench.fail_over().shard.op.topics.topic("orders") == ORDERS
