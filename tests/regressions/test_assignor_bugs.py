"""Bugs that assignors have had: each test fails once its bug is put back."""

from __future__ import annotations

from groupsim import Simulation
from groupsim.assignors import (
    CooperativeStickyAssignor,
    JavaFailure,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
)
from groupsim.testing import caught
from groupsim.testing import mutants as bug
from tests.helpers.assignor_groups import member, problems, shown, topics


@caught(bug.topics_ignored)
def test_librdkafka_1_5_more_topics_than_members_are_assigned() -> None:
    """librdkafka before 1.5: one member and three topics: it gets them all."""
    known, members = topics(a=1, b=1, c=1), [member("m", "a b c")]
    assert problems(known, members, RangeAssignor().assign(known, members)) == []


@caught(bug.roundrobin_asymmetric)
def test_librdkafka_2121_round_robin_skips_who_does_not_subscribe() -> None:
    """librdkafka 2121: one topic is common to both members, two are not; everybody gets only what it wants."""
    known, members = topics(t1=3, t2=3, t3=3), [member("c1", "t1 t2"), member("c2", "t2 t3")]
    assert problems(known, members, RoundRobinAssignor().assign(known, members)) == []


@caught(bug.duplicate_member_in_input)
def test_sarama_6750d926_a_topic_named_twice_counts_once() -> None:
    """sarama 6750d926: one of two members names the topic twice; each gets half."""
    known, members = topics(t=4), [member("a", "t t"), member("b", "t")]
    held = shown(RangeAssignor().assign(known, members))
    assert {name: len(parts) for name, parts in held.items()} == {"a": 2, "b": 2}


@caught(bug.members_without_partitions_omitted)
async def test_sarama_2290_a_plan_names_members_that_get_nothing(sim: Simulation) -> None:
    """sarama 2290: three members for two partitions: the third gets an empty assignment, and stays."""
    sim.topic("orders", 2)
    for name in ("c1", "c2", "c3"):
        sim.member(name, assignors=["range"])
    await sim.settled(members=3, within="1m")


@caught(bug.topic_skew)
def test_kafka_16277_a_second_member_gets_its_share_of_each_topic() -> None:
    """KAFKA-16277: one member has two topics of four; of each it gives away two."""
    known = topics(t=4, u=4)
    members = [member("a", "t u", "t-0 t-1 t-2 t-3 u-0 u-1 u-2 u-3", 1), member("b", "t u")]
    given = shown(StickyAssignor().assign(known, members))["b"]
    assert sorted(name[0] for name in given) == ["t", "t", "u", "u"]


@caught(bug.sticky_double_claim, by=JavaFailure)
def test_kafka_12984_a_partition_that_two_claim_at_once_is_nobodys() -> None:
    """KAFKA-12984: two members claim t-0 in the same generation; neither keeps it, and the plan can be made."""
    known = topics(t=4)
    members = [member("a", "t", "t-0 t-1", 3), member("b", "t", "t-0 t-2", 3)]
    held = shown(CooperativeStickyAssignor().assign(known, members))
    assert sorted([*held["a"], *held["b"]]) == ["t-1", "t-2", "t-3"]


@caught(bug.drop_older_claims)
def test_kafka_14639_a_partition_of_a_member_behind_is_withheld() -> None:
    """KAFKA-14639: a member two generations behind owns three; one of them moves, but not before it was given up."""
    known = topics(t=6)
    members = [member("a", "t", "t-0 t-1 t-2", 3), member("b", "t", "", 5), member("c", "t", "t-3 t-4 t-5", 5)]
    assert shown(CooperativeStickyAssignor().assign(known, members))["b"] == []


@caught(bug.sticky_lowest_generation)
def test_librdkafka_4252_the_newest_claim_wins() -> None:
    """librdkafka 4252: a member fell out, another took its partitions over; back again it does not get them back."""
    known = topics(t=4)
    members = [member("a", "t", "t-0 t-1", 1), member("b", "t", "t-0 t-1", 3), member("c", "t", "t-2 t-3", 3)]
    held = shown(CooperativeStickyAssignor().assign(known, members))
    assert not {"t-0", "t-1"} & {*held["a"]}


@caught(bug.userdata_without_generation)
def test_kafka_7026_a_claim_says_of_which_generation_it_is() -> None:
    """KAFKA-7026, KIP-341: with sticky, too, the member that returns does not take from the one that went on."""
    known = topics(t=2)
    members = [member("b", "t", "t-0 t-1", 3), member("a", "t", "t-0", 1)]
    assert "t-0" in shown(StickyAssignor().assign(known, members))["b"]


@caught(bug.state_of_the_class)
async def test_aiokafka_1175_consumers_of_one_process_have_pasts_of_their_own(sim: Simulation) -> None:
    """aiokafka 1175: with sticky two consumers of one process each give one partition to a third, and keep two."""
    sim.topic("orders", 6)
    for name in ("c1", "c2"):
        sim.member(name, assignors=["sticky"])
    await sim.settled(members=2)
    sim.member("c3", assignors=["sticky"])
    await sim.settled(members=3)
    sim.expect("moved", 2)
