"""The rack-aware example of an assignor of the coordinator."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors import ServerGroup, ServerMember
from groupsim.assignors.server.rack_first import ServerRackFirst
from groupsim.cli.assign.results import run_document

TOPICS = [letter * 22 for letter in "ABC"]


@frozen
class Racked:
    """Topics by id; each partition has the racks of its replicas."""

    racks_of: Mapping[str, tuple[frozenset[str], ...]]

    def partitions(self, topic_id: str) -> int | None:
        found = self.racks_of.get(topic_id)
        return None if found is None else len(found)

    def racks(self, topic_id: str, partition: int) -> frozenset[str]:
        return self.racks_of[topic_id][partition]


RACKS = st.sets(st.sampled_from("abc")).map(frozenset)
GROUPS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.sets(st.sampled_from(TOPICS))), min_size=1)
DRAWN_TOPICS = st.fixed_dictionaries({topic: st.lists(RACKS, min_size=1, max_size=6).map(tuple) for topic in TOPICS})


def members_of(drawn: list[tuple[str | None, set[str]]]) -> tuple[ServerMember, ...]:
    """Members with these racks and topics, without targets."""
    return tuple(
        ServerMember(f"m{number}", tuple(sorted(topics)), {}, None, rack) for number, (rack, topics) in enumerate(drawn)
    )


def owners(targets: Mapping[str, Mapping[str, tuple[int, ...]]]) -> dict[tuple[str, int], list[str]]:
    """Partition → the members that have it."""
    found: dict[tuple[str, int], list[str]] = {}
    for member_id, target in targets.items():
        for topic, partitions in target.items():
            for partition in partitions:
                found.setdefault((topic, partition), []).append(member_id)
    return found


@given(GROUPS, DRAWN_TOPICS)
def test_a_partition_goes_to_a_subscriber_on_its_racks_if_there_is_one(
    drawn: list[tuple[str | None, set[str]]], racks_of: dict[str, tuple[frozenset[str], ...]]
) -> None:
    """Every partition of a subscribed topic has one owner: a subscriber, and one that is near when any is."""
    members, topics = members_of(drawn), Racked(racks_of)
    found = owners(ServerRackFirst().assign(ServerGroup(members, homogeneous=False), topics))
    for topic, racks in racks_of.items():
        for partition, on in enumerate(racks):
            subscribers = [member for member in members if topic in member.topics]
            near = [member.member_id for member in subscribers if member.rack_id in on]
            allowed = near or [member.member_id for member in subscribers]
            assert len(found.get((topic, partition), [])) == bool(subscribers)
            assert set(found.get((topic, partition), [])) <= set(allowed)


def test_members_on_one_rack_share_evenly_and_keep_what_they_have() -> None:
    """A third member on rack a gets its third of that rack's partitions; no other partition moves."""
    topics = Racked({TOPICS[0]: tuple(frozenset("ab"[number % 2]) for number in range(12))})
    members = [
        ServerMember(name, (TOPICS[0],), {}, None, rack) for name, rack in (("m1", "a"), ("m2", "a"), ("m3", "b"))
    ]
    first = ServerRackFirst().assign(ServerGroup(tuple(members), homogeneous=True), topics)
    assert {name: len(target[TOPICS[0]]) for name, target in first.items()} == {"m1": 3, "m2": 3, "m3": 6}
    members = [evolve(member, target=first[member.member_id]) for member in members]
    members.append(ServerMember("m4", (TOPICS[0],), {}, None, "a"))
    random.Random(1).shuffle(members)
    second = ServerRackFirst().assign(ServerGroup(tuple(members), homogeneous=True), topics)
    assert {name: len(target[TOPICS[0]]) for name, target in sorted(second.items())} == {
        "m1": 2,
        "m2": 2,
        "m3": 6,
        "m4": 2,
    }
    moved = [place for place, owner in owners(second).items() if owner != owners(first)[place]]
    assert len(moved) == 2


def test_the_command_takes_an_assignor_of_the_coordinator_by_its_class() -> None:
    """`module:Class` of a ServerAssignor, with racks of members and of replicas from the document."""
    document: dict[str, Any] = {
        "topics": {"t": {"partitions": 4, "racks": [["a"], ["a"], ["a"], ["b"]]}},
        "members": [{"id": "c1", "rack": "a", "topics": ["t"]}, {"id": "c2", "rack": "b", "topics": ["t"]}],
    }
    result = run_document(document, "groupsim.assignors.server.rack_first:ServerRackFirst")
    assert result["counts"] == {"c1": 3, "c2": 1}
