"""Kafka's own defects in its assignors, reproduced because users meet them (assignors reference, section 10).

Every expected result here was also observed on Kafka's classes (kafka-clients 4.0.0) with the same input.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from groupsim.assignors import (
    Assignor,
    CooperativeStickyAssignor,
    JavaFailure,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
)
from groupsim.assignors.base.errors import ENDLESS_LOOP
from groupsim.protocol.embedded.assignment import TopicMetadata
from tests.helpers.assignor_groups import STICKY, member, problems, rejoin, shown, topics

CIRCLE_TOPICS = {"x.0": 5, "t1": 9, "Z2": 4, "x.3": 8, "topic-4": 7}

both = pytest.mark.parametrize("kind", STICKY, ids=["sticky", "cooperative-sticky"])


@both
def test_an_empty_subscription_seen_first_gets_partitions(kind: type[Assignor]) -> None:
    """10.1: before the first non-empty list it counts as equal, and the quotas include it; seen later it does not."""
    first = shown(kind().assign(topics(t=2), [member("a", ""), member("b", "t")]))
    later = shown(kind().assign(topics(t=2), [member("a", "t"), member("b", "")]))
    assert first == {"a": ["t-0"], "b": ["t-1"]}
    assert later == {"a": ["t-0", "t-1"], "b": []}


def test_a_stale_member_gets_back_a_topic_it_no_longer_wants() -> None:
    """10.2: its older claim makes it the previous owner, and the reassignment moves the partition to it."""
    known = topics(t=4, u=1)
    members = [
        member("new", "t", "t-0 t-1 t-2 t-3", 5),
        member("stale", "u", "t-0 t-1", 3),
        member("other", "u t", "", 5),
    ]
    result = StickyAssignor().assign(known, members)
    assert shown(result) == {"new": ["t-2", "t-3"], "stale": ["t-0", "t-1"], "other": ["u-0"]}
    assert "t-0 for stale, which does not want it" in problems(known, members, result)


def test_a_member_set_aside_that_was_a_previous_owner_is_a_null_pointer() -> None:
    """10.2: a previous owner that takes no part any more has no count to look up."""
    known = topics(t=4, u=1)
    members = [
        member("big", "t", "t-0 t-1 t-2 t-3", 5),
        member("small", "t", "", 5),
        member("stale", "u", "u-0 t-0", 3),
    ]
    with pytest.raises(JavaFailure) as failure:
        StickyAssignor().assign(known, members)
    assert failure.value.java == "java.lang.NullPointerException"


def test_a_topic_recreated_smaller_leaves_phantoms() -> None:
    """10.4: claims beyond the count are kept and fill quotas, and real partitions pile up on others."""
    result = StickyAssignor().assign(topics(t=2), [member("a", "t", "t-5", 1), member("b", "t")])
    assert shown(result) == {"a": ["t-5"], "b": ["t-0", "t-1"]}


def test_quotas_full_of_phantoms_are_an_illegal_state() -> None:
    """10.4: when nobody has room left for the real partitions Kafka throws."""
    members = [member("a", "t", "t-5", 1), member("b", "t", "t-6", 1)]
    with pytest.raises(JavaFailure) as failure:
        StickyAssignor().assign(topics(t=2), members)
    assert failure.value.java == "java.lang.IllegalStateException"


def test_a_generation_in_user_data_alone_loses_to_whoever_comes_later() -> None:
    """10.6: the previous claimant's generation is read from its subscription field, which old clients do not send."""
    members = [evolve(member(one, "t", "t-0", 4), generation=None) for one in ("a", "b")]
    assert shown(StickyAssignor().assign(topics(t=2), members)) == {"a": ["t-1"], "b": ["t-0"]}
    with_field = [member(one, "t", "t-0", 4) for one in ("a", "b")]
    assert shown(StickyAssignor().assign(topics(t=2), with_field)) == {"a": ["t-0"], "b": ["t-1"]}


def test_a_partition_claimed_twice_is_lost_to_a_newer_member_iterated_last() -> None:
    """10.7: it stays in the set claimed several times; iterated first, the newer member keeps it."""
    known = topics(t=6)
    last = [member("a", "t", "t-3", 1), member("b", "t", "t-3", 1), member("c", "t", "t-3", 2)]
    first = [member("a", "t", "t-3", 2), member("b", "t", "t-3", 1), member("c", "t", "t-3", 1)]
    assert "t-3" not in shown(CooperativeStickyAssignor().assign(known, last))["c"]
    assert "t-3" in shown(CooperativeStickyAssignor().assign(known, first))["a"]


def test_the_highest_generation_is_remembered_between_calls() -> None:
    """10.8: after a restart at generation 1 all claims count as older, so previous owners come into play."""
    known = topics(t=2, u=1)
    again = [member("m1", "u", "", 1), member("m2", "u", "u-0", 0), member("m3", "t u", "u-0", 1)]
    fresh = StickyAssignor()
    used = StickyAssignor()
    used.assign(known, [member("m1", "u", "", 7)])
    assert shown(fresh.assign(known, again)) == {"m1": [], "m2": ["u-0"], "m3": ["t-0", "t-1"]}
    assert shown(used.assign(known, again)) == {"m1": ["u-0"], "m2": [], "m3": ["t-0", "t-1"]}


def test_hash_order_decides_which_full_member_keeps_its_extra() -> None:
    """10.9: of two members at the higher quota the one earlier in Java's hash map order keeps it, not the lesser id."""
    known = topics(t=4)

    def give(one: str, other: str) -> list[list[str]]:
        members = [member(one, "t", "t-0 t-2", 1), member(other, "t", "t-1 t-3", 1), member("zz", "t")]
        return list(shown(StickyAssignor().assign(known, members)).values())

    assert give("a", "b") == [["t-0", "t-2"], ["t-1"], ["t-3"]]
    assert give("k1", "m1") == [["t-0"], ["t-1", "t-3"], ["t-2"]]


def test_partitions_off_rack_can_keep_an_assignment_from_ever_settling() -> None:
    """10.5: what is held off rack is given up in every round and placed again, and others move to restore balance."""
    known = {
        "t": TopicMetadata("t", 4, (("b",), (), ("c",), ("c",))),
        "u": TopicMetadata("u", 1),
        "v": TopicMetadata("v", 5, (("c",), (), (), ("c",), ("c",))),
    }
    members = [
        member("m1", "v t", rack="a"),
        member("m2", "v u t", rack="c"),
        member("m3", "v u t"),
        member("m4", "t", rack="a"),
    ]
    seen = []
    for generation in range(1, 9):
        result = StickyAssignor().assign(known, members)
        seen.append({one: sorted(held) for one, held in shown(result).items()})
        members = rejoin(members, result, generation)
    assert seen[-1] == seen[-3] == seen[-5]
    assert seen[-1] != seen[-2]


def test_a_reassignment_that_goes_round_in_circles_is_noticed() -> None:
    """With stale claims, substitutes can undo each other for ever; Kafka's class never returns on this group."""
    known = {name: TopicMetadata(name, count) for name, count in CIRCLE_TOPICS.items()}
    members = [
        member("K415", "t1 Z2 x.3", "", 3),
        member("m639", "x.3 topic-4", "x.3-0 x.3-5", 1),
        member("m920", "t1 x.3", "", 3),
        member("K258", "x.0"),
        member("z472", "x.0 Z2", "Z2-3 Z2-1 Z2-2 x.0-1 x.0-2 x.0-3 x.0-4", 3),
        member("c863", "Z2 t1 x.0 x.3", "Z2-0 x.3-4 x.3-1 t1-6 t1-8 t1-5", 1),
    ]
    with pytest.raises(JavaFailure) as failure:
        StickyAssignor().assign(known, members)
    assert failure.value.java == ENDLESS_LOOP


def test_range_overloads_the_first_members_over_many_small_topics() -> None:
    """10.11: ten topics of one partition all go to the first member, by design."""
    known = topics(**{f"t{n}": 1 for n in range(10)})
    members = [member(one, " ".join(known)) for one in ("a", "b")]
    assert [len(held) for held in RangeAssignor().assign(known, members).partitions.values()] == [10, 0]


def test_round_robin_with_differing_subscriptions_is_uneven() -> None:
    """10.12: skipping makes one member take all of a topic that it alone wants, beside its share of the rest."""
    members = [member("a", "t"), member("b", "t u")]
    result = RoundRobinAssignor().assign(topics(t=4, u=4), members)
    assert [len(held) for held in result.partitions.values()] == [2, 6]
