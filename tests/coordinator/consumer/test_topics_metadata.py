"""What a group remembers of its topics: the record of 4.0, the hash of later releases, and the way between them."""

from __future__ import annotations

from groupsim.coordinator.base.consumer_records import (
    CurrentRecord,
    EpochRecord,
    EpochValue,
    MemberRecord,
    SubscribedTopic,
    TopicsRecord,
)
from groupsim.coordinator.testing import GROUP
from groupsim.protocol.javahash import java_set_order, java_sized_order
from tests.helpers.heartbeat_bench import A, B, HeartbeatBench, given, settings

OF_A = SubscribedTopic(A, "a", 6)
OF_B = SubscribedTopic(B, "b", 3)


def topics_of(bench: HeartbeatBench, since: int = 0) -> list[TopicsRecord]:
    """Return the records of type 4."""
    return [record for record in bench.records(since) if isinstance(record, TopicsRecord)]


def test_4_0_writes_the_topics_before_the_epoch() -> None:
    """The first join writes the topics that exist, then an epoch without a hash."""
    bench = HeartbeatBench(settings("4.0"))
    bench.enroll("m", "a", "b", "none")
    kinds = [type(record) for record in bench.records()]
    assert kinds[:3] == [MemberRecord, TopicsRecord, EpochRecord]
    assert topics_of(bench) == [TopicsRecord(GROUP, (OF_A, OF_B))]
    assert EpochRecord(GROUP, EpochValue(1, 0)) in bench.records()


def test_4_0_writes_the_topics_when_they_change() -> None:
    """A bump of a member without new topics writes none; more partitions and the last leave do."""
    bench = HeartbeatBench(settings("4.0"))
    bench.enroll("m", "a")
    bench.enroll("n", "a")
    assert len(topics_of(bench)) == 1
    bench.grow((A, "a", 7), (B, "b", 3))
    assert given(bench.beat("m", 1))[0] == 1  # it has to revoke first
    bench.leave_group("n")
    bench.leave_group("m")
    assert topics_of(bench)[1:] == [TopicsRecord(GROUP, (SubscribedTopic(A, "a", 7),)), TopicsRecord(GROUP, ())]


def test_a_group_of_4_0_is_loaded_with_its_topics() -> None:
    """After a load of its own records the same topics bump nothing."""
    bench = HeartbeatBench(settings("4.0"))
    bench.enroll("m", "a")
    after = HeartbeatBench(settings("4.0"), records=bench.log)
    assert given(after.beat("m", 1))[0] == 1
    assert after.epochs() == ("Stable", 1, 1)
    assert topics_of(after) == topics_of(bench)


def test_a_newer_coordinator_replaces_the_record_by_a_hash() -> None:
    """The first heartbeat after an upgrade of the broker bumps, since no hash is known, and deletes the record."""
    bench = HeartbeatBench(settings("4.0"))
    bench.enroll("m", "a")
    since = len(bench.log)
    after = HeartbeatBench(settings("4.1"), records=bench.log)
    assert given(after.beat("m", 1))[0] == 2
    assert topics_of(after, since) == [TopicsRecord(GROUP, None)]
    assert after.group().data.head.topics is None


def test_partitions_have_assignment_epochs_since_4_3() -> None:
    """Before, those of a member are at its own epoch, as they are read from a record without any."""
    found = {}
    for release in ("4.2", "4.3"):
        bench = HeartbeatBench(settings(release))
        bench.enroll("m", "a")
        first = bench.member("m").member_epoch
        bench.beat("m", first, names=("a", "b"))
        stored = [record.value for record in bench.records() if isinstance(record, CurrentRecord)][-1]
        assert stored is not None
        found[release] = {epoch - stored.member_epoch for epoch in stored.assigned[A].values()}
    assert found == {"4.2": {0}, "4.3": {-1}}


def test_a_map_made_for_its_size_has_the_order_of_its_table() -> None:
    """`new HashMap<>(n)` has as many buckets as the next power of two, and doubles above three quarters."""
    keys = ["d", "a"]  # 100 and 97: buckets 0 and 1 of four, 4 and 1 of sixteen
    assert java_sized_order(keys, 2) == ["d", "a"]
    assert java_set_order(keys) == ["a", "d"]
