"""`range` and `roundrobin`: the textbook's examples, and what holds for every group."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors import RangeAssignor, RoundRobinAssignor
from groupsim.protocol.embedded.assignment import TopicMetadata
from tests.helpers.assignor_groups import member, problems, random_members, random_topics, shown, spread, topics


def test_range_cuts_each_topic_by_itself() -> None:
    """Two topics of four partitions, three members: the first gets two of each."""
    members = [member(one, "T0 T1") for one in ("C0", "C1", "C2")]
    assert shown(RangeAssignor().assign(topics(T0=4, T1=4), members)) == {
        "C0": ["T0-0", "T0-1", "T1-0", "T1-1"],
        "C1": ["T0-2", "T1-2"],
        "C2": ["T0-3", "T1-3"],
    }


def test_round_robin_with_nested_subscriptions_is_uneven() -> None:
    """Topics of 1, 2 and 3 partitions, each member wanting one more: the last ends with four of six."""
    members = [member("C0", "t0"), member("C1", "t0 t1"), member("C2", "t0 t1 t2")]
    assert shown(RoundRobinAssignor().assign(topics(t0=1, t1=2, t2=3), members)) == {
        "C0": ["t0-0"],
        "C1": ["t1-0"],
        "C2": ["t1-1", "t2-0", "t2-1", "t2-2"],
    }


def test_round_robin_deals_a_topic_from_where_the_last_one_ended() -> None:
    """The cursor is not reset between topics."""
    members = [member("m1", "a b"), member("m2", "a b"), member("m3", "a b")]
    assert shown(RoundRobinAssignor().assign(topics(a=2, b=2), members)) == {
        "m1": ["a-0", "b-1"],
        "m2": ["a-1"],
        "m3": ["b-0"],
    }


def test_static_members_come_first_by_instance_id() -> None:
    """KIP-345: an instance id keeps its place however the member ids change."""
    members = [member("a", "t"), member("z", "t", instance="i2"), member("y", "t", instance="i1")]
    assert shown(RangeAssignor().assign(topics(t=3), members)) == {"a": ["t-2"], "z": ["t-1"], "y": ["t-0"]}


def test_unknown_and_empty_topics_are_left_out() -> None:
    """A subscribed topic without metadata or without partitions changes nothing; everybody is still a key."""
    members = [member("m1", "gone none t"), member("m2", "gone")]
    for assignor in (RangeAssignor(), RoundRobinAssignor()):
        assert shown(assignor.assign(topics(t=1, none=0), members)) == {"m1": ["t-0"], "m2": []}


def test_range_prefers_racks_within_balance() -> None:
    """Each member gets the partition on its rack, although member order would swap them."""
    known = {"t": TopicMetadata("t", 2, (("b",), ("a",)))}
    members = [member("m1", "t", rack="a"), member("m2", "t", rack="b")]
    assert shown(RangeAssignor().assign(known, members)) == {"m1": ["t-1"], "m2": ["t-0"]}


def test_range_keeps_partitions_of_equal_topics_together_on_racks() -> None:
    """Co-partitioned topics give the same numbers to the same member, racks or not."""
    racks = (("b",), ("a",), ("b",), ("a",))
    known = {name: TopicMetadata(name, 4, racks) for name in ("x", "y")}
    result = RangeAssignor().assign(known, [member("m1", "x y", rack="a"), member("m2", "x y", rack="b")])
    assert shown(result) == {"m1": ["x-1", "x-3", "y-1", "y-3"], "m2": ["x-0", "x-2", "y-0", "y-2"]}


@given(st.data(), st.booleans())
def test_both_give_out_everything_once(data: st.DataObject, racks: bool) -> None:
    """Whatever the group, each partition of a subscribed topic goes to exactly one subscriber, twice the same way."""
    known = data.draw(random_topics(racks=racks))
    members = data.draw(random_members(known, racks=racks))
    for kind in (RangeAssignor, RoundRobinAssignor):
        result = kind().assign(known, members)
        assert problems(known, members, result) == []
        assert result == kind().assign(known, members)


@given(st.data())
def test_range_is_even_within_each_topic(data: st.DataObject) -> None:
    """Per topic the counts of its subscribers differ by at most one, racks included."""
    known = data.draw(random_topics(racks=True))
    members = data.draw(random_members(known, racks=True))
    result = RangeAssignor().assign(known, members)
    for topic in known:
        counts = [
            sum(partition.topic == topic for partition in result.partitions[one.member_id])
            for one in members
            if topic in one.topics
        ]
        assert not counts or max(counts) - min(counts) <= 1


@given(st.data())
def test_round_robin_is_even_when_subscriptions_are_equal(data: st.DataObject) -> None:
    """With equal subscriptions counts differ by at most one over all topics."""
    known = data.draw(random_topics())
    members = data.draw(random_members(known, uniform=True))
    assert spread(RoundRobinAssignor().assign(known, members)) <= 1
