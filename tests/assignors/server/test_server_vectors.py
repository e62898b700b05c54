"""Every recorded result of Kafka's server-side assignors, and what holds of every target."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from groupsim.assignors.server.interface import AssignmentFailed, ServerAssignor, ServerGroup, ServerMember
from groupsim.assignors.server.range import ServerRange
from groupsim.assignors.server.uniform import ServerUniform
from tests.assignors.server.groups import FixedTopics, changed, drawn, from_vector

FILE = Path(__file__).parents[2] / "data" / "vectors" / "server_assignors.jsonl"
VECTORS = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
# The vectors were recorded from the classes before 4.0.1.
ASSIGNORS: Mapping[str, ServerAssignor] = {
    "uniform": ServerUniform(returns_extra=False),
    "server-range": ServerRange(),
}


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_every_target_equals_kafkas(vector: Mapping[str, Any]) -> None:
    """Member by member, partition by partition; what Kafka's class refuses is refused."""
    group, topics = from_vector(vector)
    assignor = ASSIGNORS[vector["assignor"]]
    if "error" in vector["expect"]:
        with pytest.raises(AssignmentFailed, match="does not exist"):
            assignor.assign(group, topics)
        return
    names = {topic_id: name for name, topic_id in vector["topic_ids"].items()}
    targets = assignor.assign(group, topics)
    ours = {
        member.member_id: sorted(
            [names[topic], partition]
            for topic, partitions in targets.get(member.member_id, {}).items()
            for partition in partitions
        )
        for member in group.members
    }
    exact = vector["expect"]["exact"]
    assert ours == {member.member_id: sorted(exact.get(member.member_id, [])) for member in group.members}


def test_uniform_does_not_give_away_what_counts_as_assigned() -> None:
    """`GroupSpec.isPartitionAssigned`: a lost partition goes to no member, though none has it."""
    t, u = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
    topics = FixedTopics({t: 2, u: 3})
    lost = ServerGroup((ServerMember("b", (t, u), {u: (0, 1, 2)}),), True, {t: (0, 1)})
    assert ServerUniform().assign(lost, topics) == {"b": {u: (0, 1, 2)}}
    assert ServerUniform().assign(evolve(lost, lost={}), topics) == {"b": {t: (0, 1), u: (0, 1, 2)}}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("assignor", [ServerUniform(), ServerRange()], ids=lambda assignor: assignor.name)
def test_each_partition_of_a_subscribed_topic_has_one_subscriber_as_owner(assignor: ServerAssignor, seed: int) -> None:
    """In a first target, and in the next after a change of the members."""
    group, topics = drawn(seed)
    for _ in range(2):
        targets = assignor.assign(group, topics)
        subscribed = {topic for member in group.members for topic in member.topics}
        every = [(topic, partition) for topic in subscribed for partition in range(topics.counts[topic])]
        owned = [
            (topic, partition)
            for member in group.members
            for topic, partitions in targets.get(member.member_id, {}).items()
            for partition in partitions
            if topic in member.topics
        ]
        assert sorted(owned) == sorted(every)
        group = changed(seed, group, targets)


@pytest.mark.parametrize("homogeneous", [True, False])
def test_a_target_with_a_partition_that_does_not_exist_is_no_defect(homogeneous: bool) -> None:
    """After a topic was created again with fewer partitions the assignor fails as Kafka's does, with a message."""
    topic = "A" * 22
    members = (ServerMember("c1", (topic,), {topic: (9, 1)}), ServerMember("c2", (topic,), {}))
    with pytest.raises(AssignmentFailed):
        ServerUniform().assign(ServerGroup(members, homogeneous), FixedTopics({topic: 7}))


ALIKE = [seed for seed in range(60) if drawn(seed)[0].homogeneous and len(drawn(seed)[0].members) > 1][:20]


@pytest.mark.parametrize("seed", ALIKE)
def test_uniform_takes_no_partition_from_the_members_that_stay(seed: int) -> None:
    """A member that leaves a homogeneous group gives its partitions away; each of the others keeps all of its own."""
    group, topics = drawn(seed)
    targets = ServerUniform().assign(group, topics)
    left = tuple(evolve(member, target=targets[member.member_id]) for member in group.members[1:])
    new = ServerUniform().assign(ServerGroup(left, homogeneous=True), topics)
    for member in left:
        for topic, partitions in member.target.items():
            assert set(partitions) <= set(new[member.member_id][topic])
