"""The steps of an assignment: they come from the code that computes it, so they add up to it, in every group."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors import (
    Assignor,
    AssignorError,
    CooperativeStickyAssignor,
    JavaFailure,
    RangeAssignor,
    RoundRobinAssignor,
    Step,
    Steps,
    StickyAssignor,
    run_assignor,
)
from groupsim.assignors.base.steps import replayed
from groupsim.cli.assign.command import assign
from groupsim.cli.assign.results import run_document
from groupsim.cli.render.assign_steps import Explain, sentence
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription
from groupsim.protocol.messages.group import TopicPartition
from tests.helpers.assignor_groups import Topics, member, parts, random_members, random_topics, topics

FILE = Path(__file__).parent.parent / "data" / "vectors" / "client_assignors.jsonl"
VECTORS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
KAFKAS: tuple[type[Assignor], ...] = (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)
RACK_STAGE = ("RangeAssignor.assignWithRack", "RangeAssignor.assignCoPartitioned")


def step_of(data: Mapping[str, Any]) -> Step:
    """A step as it was before it became JSON."""
    partitions = tuple(TopicPartition(*partition) for partition in data.get("partitions", ()))
    counts = tuple(data["counts"]) if "counts" in data else None
    fields = {key: data.get(key) for key in ("member", "giver")}
    return Step(data["stage"], data["does"], data["reason"], partitions, counts=counts, **fields)


def explained(
    kind: type[Assignor], known: Topics, members: Sequence[MemberSubscription]
) -> tuple[GroupAssignment, list[Step]]:
    """The result of a new assignor, and its steps."""
    steps = Steps()
    result = run_assignor(kind(), known, members, steps=steps)
    return result, list(steps)


def lines(document: Mapping[str, Any], assignor: str) -> list[str]:
    """The steps of a document's last round as a reader sees them."""
    result = run_document(document, assignor, explain=True)
    return [sentence(step) for step in [result, *result.get("steps", ())][-1]["explanation"]]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_the_steps_of_every_vector_add_up_to_its_assignment(vector: Mapping[str, Any]) -> None:
    """In each round of Kafka's recorded cases the steps, replayed, give what the assignor gave, and end in a stop."""
    result = run_document(vector, explain=True)
    for one in [result, *result.get("steps", ())]:
        steps = [step_of(data) for data in one["explanation"]]
        if "error" in one:
            assert steps
            continue
        held = replayed(steps)
        assert steps[-1].does == "stop"
        assert held.keys() <= one["assignment"].keys()
        for member_id, partitions in one["assignment"].items():
            ours = [list(partition) for partition in held.get(member_id, ())]
            # With racks range sorts each list at the end, which moves nothing; every other list has its order.
            racks = result["assignor"] == "range" and any(step.stage.startswith(RACK_STAGE) for step in steps)
            assert (sorted(ours) if racks else ours) == (sorted(partitions) if racks else partitions)


@st.composite
def claiming_groups(draw: st.DrawFn) -> tuple[Topics, list[MemberSubscription]]:
    """Groups whose members claim what they like: the same partition, in old generations, unsubscribed, off rack."""
    racks, uniform = draw(st.booleans()), draw(st.booleans())
    known = draw(random_topics(racks))
    every = [TopicPartition(name, number) for name, topic in known.items() for number in range(topic.partitions)]
    members = []
    for one in draw(random_members(known, uniform, racks)):
        claims = draw(st.lists(st.sampled_from(every), max_size=6, unique=True))
        generation, instance = draw(st.sampled_from((None, 1, 2, 3))), draw(st.sampled_from((None, one.member_id[-1:])))
        wanted = " ".join(one.topics)
        members.append(member(one.member_id, wanted, claims if generation else "", generation, one.rack, instance))
    return known, members


@pytest.mark.parametrize("kind", KAFKAS, ids=[kind.name for kind in KAFKAS])
@given(group=claiming_groups())
def test_the_steps_of_any_group_add_up_to_its_assignment(
    kind: type[Assignor], group: tuple[Topics, list[MemberSubscription]]
) -> None:
    """Whatever members claim, the steps replayed are the assignment, and who listens does not change it."""
    known, members = group
    try:
        result, steps = explained(kind, known, members)
    except JavaFailure as failure:
        with pytest.raises(JavaFailure, match=failure.java):
            run_assignor(kind(), known, members)
        return
    assert result == run_assignor(kind(), known, members)
    held = replayed(steps)
    assert all(sorted(held.pop(one, [])) == sorted(partitions) for one, partitions in result.partitions.items())
    assert not any(held.values())


def document(members: Mapping[str, str], **counts: int) -> dict[str, Any]:
    """A group of members, each with its topics, before its first round."""
    return {
        "topics": {name: {"partitions": count} for name, count in counts.items()},
        "members": [{"id": name, "topics": wanted.split()} for name, wanted in members.items()],
    }


def claiming(one: Mapping[str, Any], claims: Mapping[str, str], generation: int = 1) -> dict[str, Any]:
    """The same group with claims of one generation."""
    owned = {name: [[*partition] for partition in parts(text)] for name, text in claims.items()}
    members = [
        {**each, "owned": owned[each["id"]], "generation": generation} if each["id"] in owned else each
        for each in one["members"]
    ]
    return {**one, "members": members}


def test_range_cuts_each_topic_by_itself() -> None:
    """Two topics of four partitions for three members: the first member gets the leftover of both."""
    found = lines(document(dict.fromkeys(("c0", "c1", "c2"), "t0 t1"), t0=4, t1=4), "range")
    assert "t0: 4 partitions for 3 members make 1 each, and one more for the first" in found
    assert "t0 0-1: c0 gets them (member 1 of 3: 1 and one more)" in found
    assert "t1 0-1: c0 gets them (member 1 of 3: 1 and one more)" in found
    assert found[-1] == "stop: every topic is cut, each by itself: members hold 2 to 4"


def test_roundrobin_passes_members_that_do_not_subscribe() -> None:
    """Topics of 1, 2 and 3 partitions with nested subscriptions: the ring goes on, and c2 ends with four."""
    members = {"c0": "t0", "c1": "t0 t1", "c2": "t0 t1 t2"}
    found = lines(document(members, t0=1, t1=2, t2=3), "roundrobin")
    assert found[1:] == [
        "partitions are taken by topic and number: t0, t1, t2",
        "t0-0: c0 gets it (next in the ring)",
        "t1-0: c1 gets it (next in the ring)",
        "t1-1: c2 gets it (next in the ring)",
        "t2-0: c2 gets it (next in the ring; past c0, c1, not subscribed)",
        "t2-1: c2 gets it (next in the ring; past c0, c1, not subscribed)",
        "t2-2: c2 gets it (next in the ring; past c0, c1, not subscribed)",
        "stop: no partition is left; counts play no part: members hold 1 to 4",
    ]


def test_sticky_gives_out_what_a_member_that_left_had() -> None:
    """Four topics of two partitions, and the second of three members leaves: the others keep all that they had."""
    wanted = "t0 t1 t2 t3"
    first = document(dict.fromkeys(("c0", "c1", "c2"), wanted), t0=2, t1=2, t2=2, t3=2)
    rest = {**first, "members": [first["members"][0], first["members"][2]]}
    second = claiming(rest, {"c0": "t0-0 t1-1 t3-0", "c2": "t1-0 t2-1"})
    found = lines({**first, "steps": [second]}, "sticky")
    assert found[0] == "set aside t0-1, t2-0, t3-1: c1, which had them, has left"
    assert "t0-0, t3-0, t1-1: c0 keeps them (claimed with generation 1; 3 of at most 4)" in found
    assert "3 without an owner, given out in this order: t0-1, t2-0, t3-1" in found
    assert found[-4:-1] == [
        "t0-1: c0 gets it (next of those below 4)",
        "t2-0: c2 gets it (next of those below 4)",
        "t3-1: c2 gets it (next of those below 4)",
    ]


def test_balance_comes_before_staying() -> None:
    """Two members hold three each and a third joins: both give one up, and cooperative withholds both in this round."""
    group = document(dict.fromkeys(("c0", "c1", "c2"), "t"), t=6)
    found = lines(claiming(group, {"c0": "t-0 t-1 t-2", "c1": "t-3 t-4 t-5"}), "cooperative-sticky")
    assert "set aside t-2: c0 owned 3 and keeps 2: balance comes first" in found
    assert found[-3:] == [
        "withhold t-2 from c2: claimed by c0: to be revoked first, and given in the next round",
        "withhold t-5 from c2: claimed by c1: to be revoked first, and given in the next round",
        "stop: 2 withheld until they are revoked",
    ]


def test_a_rollout_with_uneven_subscriptions_moves_partitions() -> None:
    """The first member of a rollout alone subscribes to a new topic, so what the others can take moves to them."""
    group = document({"c0": "orders refunds", "c1": "orders", "c2": "orders"}, orders=4, refunds=2)
    found = lines(claiming(group, {"c0": "orders-0 orders-3", "c1": "orders-1", "c2": "orders-2"}), "sticky")
    assert "refunds-0: c0 gets it (its only subscriber)" in found
    assert "topics that cannot move, as one member alone subscribes to each: refunds" in found
    assert "move orders-0 from c0 (4) to c1 (1): c1 subscribes to orders and has the fewest" in found
    assert "move orders-3 from c0 (3) to c2 (1): c2 subscribes to orders and has the fewest" in found
    assert "stop: balanced: members hold 2 each" in found


def test_of_two_claims_the_newer_generation_owns() -> None:
    """Two members claim one partition: the older claim is dropped, and in one generation both are."""
    members = [member("a", "t", "t-0 t-1", 3), member("b", "t", "t-0 t-2", 4), member("c", "t", "t-2", 4)]
    _, steps = explained(CooperativeStickyAssignor, topics(t=3), members)
    notes = [step.reason for step in steps if step.does == "note"]
    assert "t-0 is claimed by a (generation 3) and b (generation 4): b owns it, the claim of a is dropped" in notes
    assert "t-2 is claimed by b (generation 4) and c (generation 4): neither owns it" in notes


def test_undone_moves_are_not_replayed() -> None:
    """After `undo` the members hold what they held before the first move."""
    steps = Steps()
    steps.keep(parts("t-0 t-1 t-2"), "a", "owned")
    steps.move(parts("t-0")[0], "a", "b", "fewest", (3, 0))
    steps.move(parts("t-0")[0], "b", "c", "fewest", (1, 0))
    steps.undo("nothing gained")
    assert {one: held for one, held in replayed(steps).items() if held} == {"a": list(parts("t-0 t-1 t-2"))}


def test_static_members_come_first() -> None:
    """The order of range and roundrobin is a step: instance ids, then member ids."""
    members = [member("a", "t"), member("z", "t", instance="node-1"), member("b", "t", instance="node-2")]
    for kind in (RangeAssignor, RoundRobinAssignor):
        _, steps = explained(kind, topics(t=3), members)
        assert [step.reason for step in steps[:2]] == [
            "static members come first, by instance id: z (node-1), b (node-2)",
            "then the members by member id: a",
        ]


class NotesAlone(RangeAssignor):
    """A subclass that replaces `assign` and inherits an `explain` that is not its own."""

    name = "notes-alone"

    def assign(self, topics: Topics, members: Sequence[MemberSubscription]) -> GroupAssignment:
        """Everything to the first."""
        given = {one.member_id: () for one in members}
        return GroupAssignment({**given, members[0].member_id: (TopicPartition("t", 0),)})


class Liar(RoundRobinAssignor):
    """Reports another member than it gives to."""

    name = "liar"

    def explain(self, topics: Topics, members: Sequence[MemberSubscription], steps: Steps) -> GroupAssignment:
        """A step that does not happen."""
        steps.give(parts("t-0"), "b", "because")
        return GroupAssignment({"a": parts("t-0"), "b": ()})


def test_a_subclass_that_replaces_assign_explains_nothing() -> None:
    """The steps of the class above would be those of another result, so there are none."""
    result, steps = explained(NotesAlone, topics(t=2), [member("a", "t"), member("b", "t")])
    assert (result.partitions, steps) == ({"a": parts("t-0"), "b": ()}, [])


def test_steps_that_do_not_add_up_are_an_error() -> None:
    """A custom assignor that reports other steps than it takes is named, with the first member that differs."""
    with pytest.raises(AssignorError, match="gave member 'a' t-0, but its steps give it nothing"):
        explained(Liar, topics(t=1), [member("a", "t"), member("b", "t")])


def test_a_large_group_is_shown_in_few_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A stage has twelve lines at most with the last of it among them, and says how many more there are."""
    path = tmp_path / "group.json"
    path.write_text(json.dumps(document({f"c{number:03}": "t" for number in range(100)}, t=1000)))
    assert assign(str(path), "sticky", False, Explain.SOME) == 0
    text = capsys.readouterr().out.partition("┏")[0]
    assert "… 989 steps more of this stage; --explain-all shows them" in text
    assert "stop: no partition is left, and every member holds 10" in text
    assert assign(str(path), "sticky", False, Explain.ALL) == 0
    assert "t-999: c099 gets it" in capsys.readouterr().out


def test_an_assignor_without_explain_is_said_to_have_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A custom assignor that explains nothing gets a line that says so; in JSON its list is empty."""
    path = tmp_path / "group.json"
    path.write_text(json.dumps(document({"a": "t"}, t=1)))
    place = f"{NotesAlone.__module__}:NotesAlone"
    assert assign(str(path), place, False, Explain.SOME) == 0
    assert "notes-alone does not explain itself" in capsys.readouterr().out
    assert assign(str(path), place, True, Explain.SOME) == 0
    assert json.loads(capsys.readouterr().out)["explanation"] == []
