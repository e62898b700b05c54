"""Results kept as slices of topics: a mapping like any other, whose partition objects are made when asked for."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors import RangeAssignor, RoundRobinAssignor, partition_slices
from groupsim.assignors.partition_slices import PartitionSlices
from groupsim.protocol.embedded.assignment import GroupAssignment
from groupsim.protocol.messages.group import TopicPartition
from tests.helpers.assignor_groups import member, parts, random_members, random_topics, topics


def some() -> PartitionSlices:
    """Two topics for one member, in the order of its shares, and nothing for the other."""
    return PartitionSlices({"t": 5, "a": 3}, {"m2": [("t", slice(0, 5, 2)), ("a", slice(1, 3))], "m1": []})


AS_DICT = {"m2": parts("t-0 t-2 t-4 a-1 a-2"), "m1": ()}


def test_it_equals_the_dict_of_tuples() -> None:
    """Equality goes both ways, alone and inside a result; the order of members and of partitions is kept."""
    expected = dict(AS_DICT)
    assert some() == expected
    assert expected == some()
    assert some() != {**AS_DICT, "m1": parts("t-1")}
    assert GroupAssignment(some()) == GroupAssignment(AS_DICT)
    assert list(some().items()) == list(AS_DICT.items())


def test_it_is_shown_as_the_dict() -> None:
    """A failed comparison in a test reads as it does for a custom assignor's dict."""
    assert repr(GroupAssignment(some())) == repr(GroupAssignment(AS_DICT))


def test_it_has_members_only() -> None:
    """Somebody who is no member is a KeyError, and not `in` it."""
    assert len(some()) == 2
    assert "m1" in some()
    assert "m9" not in some()
    with pytest.raises(KeyError, match="m9"):
        some()["m9"]


def test_it_travels_to_another_process() -> None:
    """Pickled before or after somebody looked, it is the same."""
    looked = some()
    assert looked["m1"] == ()
    for one in (some(), looked):
        assert pickle.loads(pickle.dumps(one)) == AS_DICT


def test_partitions_are_made_when_they_are_first_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither assignor makes an object to compute a round; later looks find the first one's tuples."""
    made: list[str] = []
    original = partition_slices.partitions_of

    def counted(topic: str, count: int) -> Sequence[TopicPartition]:
        made.append(topic)
        return original(topic, count)

    monkeypatch.setattr(partition_slices, "partitions_of", counted)
    for kind in (RangeAssignor, RoundRobinAssignor):
        held = kind().assign(topics(t=4), [member("m1", "t"), member("m2", "t")]).partitions
        assert (list(held), len(held), made) == (["m1", "m2"], 2, [])
        assert held["m1"] is held["m1"]
        assert len(held["m2"]) == 2
        assert made == ["t"]
        made.clear()


@given(st.data())
def test_round_robin_is_dealing_one_by_one(data: st.DataObject) -> None:
    """Dealing whole topics gives what a cursor gives that walks the ring partition by partition."""
    known = data.draw(random_topics())
    members = data.draw(random_members(known))
    ring = sorted(members, key=lambda one: one.member_id)
    wanted = {topic for one in members for topic in one.topics}
    expected: dict[str, list[TopicPartition]] = {one.member_id: [] for one in members}
    cursor = 0
    for topic in sorted(wanted):
        for number in range(known[topic].partitions):
            while topic not in ring[cursor % len(ring)].topics:
                cursor += 1
            expected[ring[cursor % len(ring)].member_id].append(TopicPartition(topic, number))
            cursor += 1
    result = RoundRobinAssignor().assign(known, members)
    assert {member_id: list(held) for member_id, held in result.partitions.items()} == expected
