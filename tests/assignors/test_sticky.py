"""The sticky assignors: balance, stickiness, both algorithms, and the fast general path against the slow one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors import Assignor, CooperativeStickyAssignor, RoundRobinAssignor, StickyAssignor
from groupsim.assignors.sticky.claims import Claim, equal_subscriptions
from groupsim.protocol.embedded.assignment import MemberSubscription
from groupsim.protocol.embedded.sticky_data import encode_generation
from groupsim.protocol.messages.group import TopicPartition
from tests.helpers.assignor_groups import (
    STICKY,
    is_balanced,
    member,
    parts,
    problems,
    random_members,
    random_topics,
    rejoin,
    shown,
    spread,
    topics,
)
from tests.helpers.sticky_oracle import SlowGeneralPath

both = pytest.mark.parametrize("kind", STICKY, ids=["sticky", "cooperative-sticky"])


def kept(members: Sequence[MemberSubscription], result: dict[str, list[str]]) -> int:
    """How many claims were kept."""
    return sum(str(partition) in result[one.member_id] for one in members for partition in one.owned)


@both
def test_a_fresh_group_is_dealt_by_member_id(kind: type[Assignor]) -> None:
    """Without a past and with equal subscriptions it is a round robin over the sorted member ids."""
    members = [member("m2", "a b"), member("m1", "a b"), member("m3", "b a")]
    assert shown(kind().assign(topics(a=2, b=2), members)) == {
        "m1": ["a-0", "b-1"],
        "m2": ["a-1"],
        "m3": ["b-0"],
    }


def test_nested_subscriptions_are_balanced() -> None:
    """Topics of 1, 2 and 3 partitions with nested subscriptions: 1, 2, 3, where round robin gives 1, 1, 4."""
    members = [member("C0", "t0"), member("C1", "t0 t1"), member("C2", "t0 t1 t2")]
    result = StickyAssignor().assign(topics(t0=1, t1=2, t2=3), members)
    assert [len(held) for held in result.partitions.values()] == [1, 2, 3]


def test_a_leave_moves_only_what_the_leaver_held() -> None:
    """Four topics of two partitions, C1 of three leaves: sticky keeps all other claims, round robin does not."""
    known = topics(t0=2, t1=2, t2=2, t3=2)
    members = [member(one, "t0 t1 t2 t3") for one in ("C0", "C1", "C2")]
    left = {}
    for assignor in (StickyAssignor(), RoundRobinAssignor()):
        stay = rejoin(members, assignor.assign(known, members), 1)
        stay = [one for one in stay if one.member_id != "C1"]
        claims = sum(len(one.owned) for one in stay)
        left[assignor.name] = claims - kept(stay, shown(assignor.assign(known, stay)))
    assert left["sticky"] == 0
    assert left["roundrobin"] > 0


def test_cooperative_withholds_what_changes_hands_for_one_round() -> None:
    """A joiner gets nothing that another member still owns; in the follow-up round it does."""
    assignor = CooperativeStickyAssignor()
    known = topics(t=4)
    first = [member("m1", "t", "t-0 t-1 t-2 t-3", 1), member("m2", "t")]
    result = assignor.assign(known, first)
    assert shown(result) == {"m1": ["t-0", "t-1"], "m2": []}
    assert assignor.withheld == {TopicPartition("t", 2): "m2", TopicPartition("t", 3): "m2"}
    assert shown(assignor.assign(known, rejoin(first, result, 2))) == {"m1": ["t-0", "t-1"], "m2": ["t-2", "t-3"]}


def test_sticky_remembers_itself_through_its_user_data() -> None:
    """What a member got and when comes back to the leader in the next subscription; before that there is nothing."""
    mine = StickyAssignor()
    assert mine.user_data(("t",)) is None
    mine.on_assignment((TopicPartition("t", 1),), 3)
    again = MemberSubscription("m2", ("t",), mine.user_data(("t",)))
    result = StickyAssignor().assign(topics(t=2), [member("m1", "t"), again])
    assert shown(result) == {"m1": ["t-0"], "m2": ["t-1"]}


def test_cooperative_carries_only_its_generation() -> None:
    """The user data is the generation, -1 before the first assignment."""
    mine = CooperativeStickyAssignor()
    assert mine.user_data(()) == b"\xff\xff\xff\xff"
    mine.on_assignment((), 9)
    assert mine.user_data(()) == b"\0\0\0\x09"


def test_cooperative_takes_the_generation_from_the_field_or_else_the_user_data() -> None:
    """A claim of generation 5, said in the user data alone, beats one of 4 in the field; 3 does not."""
    known = topics(t=2)
    first = member("m1", "t", "t-0", 4)
    for generation, owner in ((5, "m2"), (3, "m1")):
        old = MemberSubscription("m2", ("t",), encode_generation(generation), parts("t-0"))
        result = CooperativeStickyAssignor().assign(known, [first, old])
        assert "t-0" in shown(result)[owner]


@given(st.data(), st.booleans(), st.booleans(), st.sampled_from(STICKY))
def test_a_fresh_group_is_valid_balanced_and_repeatable(
    data: st.DataObject, uniform: bool, racks: bool, kind: type[Assignor]
) -> None:
    """Fresh members, any subscriptions and racks: valid, balanced, the same again from a new object."""
    known = data.draw(random_topics(racks=racks))
    members = data.draw(random_members(known, uniform=uniform, racks=racks))
    result = kind().assign(known, members)
    assert problems(known, members, result) == []
    assert is_balanced(members, result)
    assert not uniform or spread(result) <= 1
    assert result == kind().assign(known, members)


@given(st.data(), st.booleans())
def test_nothing_moves_when_nothing_changes(data: st.DataObject, uniform: bool) -> None:
    """Without racks, a repeated round on a settled group keeps every partition where it is (a fixed point)."""
    known = data.draw(random_topics())
    members = data.draw(random_members(known, uniform=uniform))
    rounds = [StickyAssignor().assign(known, members)]
    for generation in range(1, 10):
        rounds.append(StickyAssignor().assign(known, rejoin(members, rounds[-1], generation)))
    held = [{member: set(mine) for member, mine in result.partitions.items()} for result in rounds]
    assert any(before == after for before, after in pairwise(held)), "not settled after nine rounds"


@given(st.data(), st.booleans())
def test_cooperative_settles_without_ever_giving_away_what_is_owned(data: st.DataObject, uniform: bool) -> None:
    """After a change of members, rounds follow until all is given out; no partition has two owners in between."""
    known = data.draw(random_topics())
    assignor = CooperativeStickyAssignor()
    before = data.draw(random_members(known, uniform=uniform))
    result = assignor.assign(known, before)
    members = [*rejoin(before[1:], result, 1), member("newcomer", " ".join(before[0].topics))]
    for generation in range(2, 11):
        result = assignor.assign(known, members)
        owner = {partition: one.member_id for one in members for partition in one.owned}
        for member_id, held in result.partitions.items():
            assert all(owner.get(partition, member_id) == member_id for partition in held)
        assert problems(known, members, result, withheld=len(assignor.withheld)) == []
        if not assignor.withheld:
            assert is_balanced(members, result)
            return
        members = rejoin(members, result, generation)
    raise AssertionError("not settled after nine rounds")


@given(st.data())
def test_the_general_path_equals_the_slow_one(data: st.DataObject) -> None:
    """Fresh, then with claims after members came, went and changed topics: choice by choice the literal algorithm."""
    known = data.draw(random_topics())
    members = data.draw(random_members(known))
    for generation in (1, 2):
        result = StickyAssignor().assign(known, members)
        if not _is_uniform(members):
            slow = SlowGeneralPath(known, members).run()
            assert {m: list(held) for m, held in result.partitions.items()} == slow
        stay = rejoin(members, result, generation)[data.draw(st.integers(0, 1)) :]
        fresh = data.draw(random_members(known))[:2]
        names = {one.member_id for one in stay}
        members = stay + [one for one in fresh if one.member_id not in names]
        if not members:
            return


def _is_uniform(members: Sequence[MemberSubscription]) -> bool:
    wanted = {frozenset(one.topics) for one in members}
    return len(wanted) == 1


@given(st.data())
def test_previous_owners_count_in_the_slow_path_too(data: st.DataObject) -> None:
    """Stale members (an older generation) get partitions back as the literal algorithm says."""
    known = data.draw(random_topics())
    members = data.draw(random_members(known))
    first = StickyAssignor().assign(known, members)
    stale = data.draw(st.sets(st.sampled_from([one.member_id for one in members])))
    claims = rejoin(members, first, 5)
    old = rejoin(members, first, 4)
    mixed = [older if older.member_id in stale else newer for newer, older in zip(claims, old)]
    if _is_uniform(mixed) or len(stale) in (0, len(members)):
        return
    previous = {partition: one.member_id for one in mixed if one.member_id in stale for partition in one.owned}
    slow = SlowGeneralPath(known, mixed, previous).run()
    result = StickyAssignor().assign(known, mixed)
    assert {m: list(held) for m, held in result.partitions.items()} == slow


def test_the_comparison_of_subscriptions_ignores_order() -> None:
    """The same topics in another order are equal; a topic more or another one is not."""

    def claims(*wanted: str) -> list[Claim]:
        return [Claim(member(f"m{n}", text), (), -1) for n, text in enumerate(wanted)]

    assert equal_subscriptions(claims("a b", "b a"))
    assert not equal_subscriptions(claims("a b", "a"))
    assert not equal_subscriptions(claims("a b", "a c"))
