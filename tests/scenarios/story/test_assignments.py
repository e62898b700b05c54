"""The owners of partitions in each generation of a story."""

from __future__ import annotations

from typing import Any

from groupsim.cli import as_json
from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.story import Assignment, Generation, tell
from tests.helpers.trace_builders import Tape, computed, formed


def owned(generation: Generation) -> dict[str, Any]:
    """Return each member's partitions and the moved ones; None for a generation without an assignment."""
    assert generation.assignment is not None
    return {
        share.host: ([at.partition for at in share.partitions], [at.partition for at in share.moved])
        for share in generation.assignment.shares
    }


def group_of(*hosts: str, partitions: int) -> Tape:
    """Processes that subscribe to `orders`, and have joined; the round is open."""
    tape = Tape()
    tape.add(Kind.METADATA_CHANGED, topic="orders", payload={"partitions": partitions, "before": 0})
    for host in hosts:
        tape.client(Kind.PROCESS_STARTED, host, payload={"client_id": host, "topics": ["orders"]})
    tape.join(hosts[0]).prepare(hosts[0], "ADD_MEMBER")
    for host in hosts[1:]:
        tape.join(host)
    return tape


def test_what_has_moved_is_what_another_process_had() -> None:
    """A partition has moved if its last owner was another process; new partitions of the first have not."""
    tape = computed(group_of("c1", "c2", partitions=4).complete("c1", "c2"), c1=[0, 1], c2=[2, 3]).stable()
    tape.at(20).remove("c2", "left").prepare("c2", "LEAVE_GROUP").complete("c1")
    computed(tape, c1=[0, 1, 2, 3]).stable()
    first, second = tell(tape.end()).groups[0].generations
    assert owned(first) == {"c1": ([0, 1], []), "c2": ([2, 3], [])}
    assert owned(second) == {"c1": ([0, 1, 2, 3], [2, 3])}


def test_a_cooperative_move_takes_two_generations() -> None:
    """A revoked partition has no owner in the first generation, and has moved in the second."""
    tape = computed(group_of("c1", "c2", partitions=4).complete("c1", "c2"), c1=[0, 1, 2, 3], c2=[]).stable()
    tape.at(10).prepare("c1", "LEADER_REJOIN").complete("c1", "c2")
    computed(tape, c1=[0, 1], c2=[]).stable()
    tape.at(20).prepare("c1", "LEADER_REJOIN").complete("c1", "c2")
    computed(tape, c1=[0, 1], c2=[2, 3]).stable()
    _, second, third = tell(tape.end()).groups[0].generations
    assert second.assignment is not None
    assert third.assignment is not None
    assert [str(at) for at in second.assignment.unowned] == ["orders-2", "orders-3"]
    assert second.assignment.revoked == second.assignment.unowned
    assert owned(third)["c2"] == ([2, 3], [2, 3])
    assert not len(third.assignment.unowned)


def test_a_partition_that_never_had_an_owner_is_unowned_but_not_revoked() -> None:
    """The topic has five partitions and the leader knows of four."""
    tape = computed(group_of("c1", partitions=5).complete("c1"), c1=[0, 1, 2, 3]).stable()
    (only,) = tell(tape.end()).groups[0].generations
    assert only.assignment is not None
    assert [str(at) for at in only.assignment.unowned] == ["orders-4"]
    assert not len(only.assignment.revoked)


def test_a_generation_that_was_never_stable_has_no_assignment() -> None:
    """The assignment of an abandoned generation does not count; the next is compared with the last stable one."""
    tape = computed(group_of("c1", "c2", partitions=2).complete("c1", "c2"), c1=[0], c2=[1]).stable()
    tape.at(10).prepare("c1", "LEADER_REJOIN").complete("c1", "c2")
    computed(tape, c1=[1], c2=[0]).at(11).prepare("c1", "LEADER_REJOIN").complete("c1", "c2")
    computed(tape, c1=[0], c2=[1]).stable()
    generations = tell(tape.end()).groups[0].generations
    assert [one.assignment is not None for one in generations] == [True, False, True]
    assert owned(generations[2]) == {"c1": ([0], []), "c2": ([1], [])}


def test_without_a_leaders_assignment_it_is_what_processes_took() -> None:
    """A trace with ownership alone gives the same: taken in a generation and kept until the next one begins."""
    tape = formed("c1", "c2").at(20).release("c2", 1).remove("c2", "left").prepare("c2", "LEAVE_GROUP")
    tape.release("c1", 0).complete("c1").stable().own("c1", 0, 1)
    first, second = tell(tape.at(30).end()).groups[0].generations
    assert owned(first) == {"c1": ([0], []), "c2": ([1], [])}
    assert owned(second) == {"c1": ([0, 1], [1])}


def test_what_generations_have_in_common_they_share() -> None:
    """A thousand generations of a hundred members that change nothing hold each member's partitions once."""
    hosts = [f"c{n}" for n in range(100)]
    given = {host: [10 * n + k for k in range(10)] for n, host in enumerate(hosts)}
    tape = computed(group_of(*hosts, partitions=1000).complete(*hosts), **given).stable()
    for number in range(1, 1000):
        tape.at(number).prepare("c0", "LEADER_REJOIN").complete(*hosts)
        computed(tape, **given)
        tape.coordinator(Kind.GROUP_STATE, from_=tape.state, to="Stable", generation=tape.generation)
    generations = tell(tape.end()).groups[0].generations
    assert len(generations) == 1000
    assignments: list[Assignment] = [one.assignment for one in generations if one.assignment is not None]
    assert len(assignments) == 1000
    assert len({id(share) for one in assignments for share in one.shares}) == 100


def test_the_json_has_partitions_by_name() -> None:
    """Under `assignment` of a generation: members with their partitions, those that moved, and what has no owner."""
    tape = computed(group_of("c1", "c2", partitions=2).complete("c1", "c2"), c1=[0], c2=[1]).stable()
    tape.at(20).remove("c2", "left").prepare("c2", "LEAVE_GROUP").complete("c1")
    computed(tape, c1=[0, 1]).stable()
    document = as_json.story(tell(tape.end()))
    assert document["groups"][0]["generations"][1]["assignment"] == {
        "shares": [
            {"host": "c1", "member": "c1-1", "partitions": ["orders-0", "orders-1"], "moved": ["orders-1"]},
        ],
        "unowned": [],
        "revoked": [],
    }
