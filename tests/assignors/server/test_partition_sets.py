"""Targets have their partitions in the order of Kafka's sets; expected are records of the classes of 4.4.0."""

from __future__ import annotations

import pytest

from groupsim.assignors.server.interface import ServerGroup, ServerMember, Target
from groupsim.assignors.server.partition_sets import PartitionSet, in_set_order
from groupsim.assignors.server.range import ServerRange
from groupsim.assignors.server.uniform import ServerUniform
from tests.assignors.server.groups import FixedTopics

T, U = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


def test_range_gives_ascending_partitions() -> None:
    """A range is no hash set: 60 partitions over three members are written ascending."""
    members = tuple(ServerMember(name, (T,), {}) for name in "abc")
    found = ServerRange().assign(ServerGroup(members, homogeneous=True), FixedTopics({T: 60}))
    assert found["b"] == {T: tuple(range(20, 40))}


def test_a_new_set_of_uniform_is_as_small_as_its_share() -> None:
    """Where subscriptions differ, a new set has room for its share: four partitions of nine are in eight buckets."""
    a: Target = {T: (0, 1, 2, 3, 4, 5)}
    b: Target = {T: (6, 7, 8), U: (0, 1, 2)}
    members = (ServerMember("a", (T,), a), ServerMember("b", (T, U), b), ServerMember("c", (T,), {}))
    found = ServerUniform().assign(ServerGroup(members, homogeneous=False), FixedTopics({T: 9, U: 3}))
    assert found == {"a": {T: (0, 1, 2, 3)}, "b": {T: (6,), U: (0, 1, 2)}, "c": {T: (8, 4, 5, 7)}}


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [((8, 3, 6), (3, 6, 8)), (tuple(range(10, 20)), (*range(16, 20), *range(10, 16))), ((20, 4), (20, 4))],
)
def test_a_copied_set_has_sixteen_buckets_at_least(partitions: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """`new HashSet<>(collection)`: partitions of one bucket stay in their order."""
    assert in_set_order(partitions) == expected


def test_a_set_grows_and_forgets() -> None:
    """The table doubles when it is three quarters full, and does not shrink; a partition that is removed is gone."""
    one = PartitionSet((), 4)
    for partition in (5, 2, 9):
        one.add(partition)
    assert one.in_order() == (5, 9, 2)
    one.add(3)
    assert one.in_order() == (9, 2, 3, 5)
    one.remove(3)
    one.remove(4)
    assert (one.in_order(), len(one)) == ((9, 2, 5), 3)
