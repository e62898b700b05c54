"""Regular expressions of consumer groups: when they are resolved, what bumps, what members get."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.coordinator.base.consumer_records import EpochRecord, RegexRecord, ResolvedRegex
from groupsim.coordinator.base.topics import KnownTopics
from groupsim.coordinator.consumer.assignment.resolution import resolve
from groupsim.coordinator.testing import GROUP
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from tests.helpers.heartbeat_bench import TOPICS, A, B, HeartbeatBench, error, given, settings

pytest.importorskip("re2")

ALL_A = {A: [0, 1, 2, 3, 4, 5]}


def joins(
    bench: HeartbeatBench, member: str, regex: str = "a", **fields: Any
) -> tuple[int, dict[str, list[int]] | None]:
    """Join with a regular expression alone; return the epoch and the assignment."""
    return given(bench.beat(member, 0, owned={}, regex=regex, rebalance_ms=300_000, **fields))


def subscribed(regex: str = "a") -> HeartbeatBench:
    """Return a group of one member whose text is resolved, and whose target is computed."""
    bench = HeartbeatBench()
    joins(bench, "m", regex)
    bench.resolve()
    bench.beat("m", 1)
    return bench


def test_a_text_is_resolved_beside_the_coordinator() -> None:
    """The first answer has nothing, the result bumps, the next heartbeat has the topics."""
    bench = HeartbeatBench()
    assert joins(bench, "m") == (1, {})
    assert bench.epochs() == ("Stable", 1, 1)
    since = len(bench.log)
    bench.resolve()
    assert [type(record) for record in bench.records(since)] == [RegexRecord, EpochRecord]
    assert bench.epochs() == ("Assigning", 2, 1)
    assert bench.of_kind(Kind.EPOCH_BUMPED)[-1].payload == {"epoch": 2, "triggers": ["regex-resolved"]}
    assert given(bench.beat("m", 1)) == (2, ALL_A)


def test_a_text_that_is_resolved_is_adopted_at_once() -> None:
    """A second member with the same text bumps, and nothing is resolved again within ten seconds."""
    bench = subscribed()
    assert joins(bench, "n") == (3, {})
    assert bench.of_kind(Kind.EPOCH_BUMPED)[-1].payload["triggers"] == ["regex"]
    assert bench.resolutions == []


def test_a_text_that_cannot_be_read_is_refused() -> None:
    """INVALID_REGULAR_EXPRESSION with RE2/J's reason, and no group; one that a member has is not read again."""
    bench = HeartbeatBench()
    sent = bench.beat("m", 0, owned={}, regex="[", rebalance_ms=1)
    assert error(sent) == (
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        "SubscribedTopicRegex `[` is not a valid regular expression: missing closing ].",
    )
    assert bench.shard.groups.get("g") is None


def test_the_last_member_takes_its_text_along() -> None:
    """A changed text, and the leave of its last member, delete the result; another member keeps it."""
    bench = subscribed()
    bench.advance_ms(10_001)
    bench.beat("m", 2, regex="b")
    assert RegexRecord("g", "a", None) in bench.records()
    bench.resolve()
    assert list(bench.group().data.resolved) == ["b"]
    bench.leave_group("m")
    assert RegexRecord("g", "b", None) in bench.records()
    assert not bench.group().data.resolved


def test_a_member_that_gives_its_text_up_bumps() -> None:
    """Since 4.2 (KAFKA-19891); its partitions are revoked."""
    bumps = {}
    for release in ("4.1", "4.2"):
        bench = HeartbeatBench(settings(release))
        joins(bench, "m")
        bench.resolve()
        epoch = given(bench.beat("m", bench.member("m").member_epoch))[0]
        before = bench.group().data.group_epoch
        bench.beat("m", epoch, regex="")
        hashed = bench.of_kind(Kind.EPOCH_BUMPED)[-1].payload["triggers"]
        bumps[release] = (bench.group().data.group_epoch - before, hashed)
    assert bumps["4.2"] == (1, ["regex"])
    assert bumps["4.1"][1] != ["regex"]


def test_when_texts_are_resolved_again() -> None:
    """After a new topic, and when the result is old; never within ten seconds, nor twice at once."""
    bench = subscribed()
    newer = KnownTopics(TOPICS, version=5, created_version=5)
    bench.change_topics(newer)
    bench.beat("m", 2)
    assert bench.resolutions == []
    bench.advance_ms(10_001)
    bench.beat("m", 2)
    bench.beat("m", 2)
    assert len(bench.resolutions) == 1
    bench.resolve()
    bench.advance_ms(30_000)
    bench.beat("m", 2)
    assert bench.resolutions == []
    for _ in range(20):
        bench.advance_ms(30_000)
        bench.beat("m", 2)
    assert len(bench.resolutions) == 1


def test_after_a_load_texts_are_resolved_again_once_any_metadata_has_changed() -> None:
    """A coordinator that loads the group takes the metadata of that instant for new; the ten seconds still count."""
    resolved = {}
    for version in (0, 5):
        bench = subscribed()
        bench.change_topics(KnownTopics(TOPICS, version=version))
        bench.advance_ms(10_001)
        bench.beat("m", 2)
        assert bench.resolutions == []  # no topic is new
        after = bench.fail_over()
        after.send(ConsumerGroupHeartbeatRequest(GROUP, "m", 2))
        resolved[version] = len(after.resolutions)
    assert resolved == {0: 0, 5: 1}


@pytest.mark.parametrize("texts", [("b.*", "nothing"), ("(a|b)", "foo.*"), ("bar", "foo.*")])
def test_results_are_written_in_the_order_of_small_maps(texts: tuple[str, str]) -> None:
    """Two texts are in a map of four buckets; expected is the order of Kafka's records."""
    bench = subscribed(texts[0])
    joins(bench, "n", texts[1])
    bench.advance_ms(10_001)
    bench.beat("m", bench.member("m").member_epoch)
    mark = len(bench.log)
    bench.resolve()
    assert tuple(record.regex for record in bench.log[mark:] if isinstance(record, RegexRecord)) == texts


def test_an_equal_result_bumps_nothing() -> None:
    """The record has a newer time and version; the epoch stays."""
    bench = subscribed()
    bench.change_topics(KnownTopics(TOPICS, version=5, created_version=5))
    bench.advance_ms(10_001)
    bench.beat("m", 2)
    bench.resolve()
    assert bench.epochs() == ("Stable", 2, 2)
    assert bench.group().data.resolved["a"] == ResolvedRegex(("a",), 5, bench.now_us // 1_000 * 1_000)


def test_names_and_a_text_count_together() -> None:
    """A member may have both; its topics are the union."""
    bench = HeartbeatBench()
    joins(bench, "m", "a", names=("b",))
    bench.resolve()
    assert given(bench.beat("m", 2))[1] == {**ALL_A, B: [0, 1, 2]}


def test_a_result_for_a_group_that_is_gone_is_dropped() -> None:
    """A member that left has its text no more, and a deleted group gets no record."""
    bench = HeartbeatBench()
    joins(bench, "m")
    bench.leave_group("m")
    since = len(bench.log)
    bench.resolve()
    assert bench.records(since) == []


def test_the_whole_name_must_match() -> None:
    """RE2/J's full match, and only topics that the sender may describe."""
    image = KnownTopics(TOPICS, version=3)
    found = resolve(["a", "^a$", "(a|b)", ".", "x", "["], image, 1_500)
    assert {regex: one.topics for regex, one in found.items()} == {
        "a": ("a",),
        "^a$": ("a",),
        "(a|b)": ("a", "b"),
        ".": ("a", "b"),
        "x": (),
        "[": (),
    }
    assert found["a"] == ResolvedRegex(("a",), 3, 1_000)
    assert resolve(["."], image, 0, lambda names: {"b"} & set(names))["."].topics == ("b",)
