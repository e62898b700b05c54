"""Several brokers with a copy of one group: changes of a replaced copy are no rebalance."""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.story import Outcome, Phase, Story, tell
from tests.helpers.trace_builders import Tape, formed

LATE = 35  # seconds: when broker-1, of which broker-2 has taken over at 0:30, ends a session in its own copy


def loaded(tape: Tape, broker: str, members: int = 2) -> Tape:
    """Another broker has read the group from its log; what follows on the tape is its own."""
    tape.broker, tape.state = broker, "Stable"
    tape.coordinator(Kind.GROUP_LOADED, generation=1, payload={"members": members, "generation": 1})
    return tape


def expire(tape: Tape, broker: str, host: str) -> Tape:
    """A broker ends the session of a member, and begins a rebalance."""
    tape.broker = broker
    return tape.remove(host, "session-expired").prepare(host, "HEARTBEAT_EXPIRED")


def unloaded(tape: Tape, broker: str) -> Tape:
    """A broker has learned that it does not lead the partition."""
    tape.broker = broker
    tape.coordinator(Kind.GROUP_STATE, from_=tape.state, to="Dead", generation=1)
    tape.coordinator(Kind.GROUP_UNLOADED, generation=1)
    return tape


def evicted(story: Story, host: str) -> list[tuple[int, int]]:
    """Return the stretches in which a process was removed and did not know it, in seconds."""
    (lane,) = (lane for lane in story.lanes if lane.host == host)
    parts = (part for part in lane.phases if part.phase is Phase.EVICTED)
    return [(part.began_us // 1_000_000, part.ended_us // 1_000_000) for part in parts]


def test_what_a_replaced_coordinator_does_in_its_copy_is_no_rebalance() -> None:
    """It ends a session that the next coordinator continues: no rebalance, no eviction, the member stays."""
    tape = loaded(formed("c1", "c2").at(30), "broker-2")
    expire(tape.at(LATE), "broker-1", "c2")
    evidence = Evidence(unloaded(tape.at(70), "broker-1").at(90).end())
    (group,) = evidence.story.groups
    assert (group.rebalances, group.evictions) == ((), ())
    assert [one.host for one in group.present] == ["c1", "c2"]
    assert evicted(evidence.story, "c2") == []
    assert evidence.members_at("g1", 80_000_000) == ("c1-1", "c2-1")


def test_the_end_of_a_replaced_copy_does_not_end_the_rebalance_of_the_next_one() -> None:
    """The old coordinator unloads its copy while the next one waits for members; their rebalance ends stable."""
    tape = loaded(formed("c1", "c2").at(30), "broker-2")
    expire(tape.at(40), "broker-2", "c2")
    unloaded(tape.at(41), "broker-1")
    tape.broker, tape.state = "broker-2", "PreparingRebalance"
    (group,) = tell(tape.at(43).rejoin("c1").complete("c1").stable().at(60).end()).groups
    assert [(one.outcome, one.duration_us) for one in group.rebalances] == [(Outcome.STABLE, 3_000_000)]


def test_a_rebalance_is_lost_when_another_broker_loads_the_group() -> None:
    """A coordinator removes a member and is isolated: the record still has the member, so it is one again."""
    tape = expire(formed("c1", "c2").at(LATE), "broker-1", "c2")
    story = tell(unloaded(loaded(tape.at(40), "broker-2").at(70), "broker-1").at(90).end())
    (group,) = story.groups
    assert [(one.outcome, one.ended_us) for one in group.rebalances] == [(Outcome.LOST, 40_000_000)]
    assert evicted(story, "c2") == [(LATE, 40)]
    assert [one.host for one in group.present] == ["c1", "c2"]


def test_a_broker_that_loads_the_group_again_has_the_copy_that_counts() -> None:
    """Its first copy had been replaced; its second copy is the current one."""
    tape = unloaded(loaded(formed("c1", "c2").at(30), "broker-2").at(40), "broker-1")
    expire(loaded(tape.at(50), "broker-1").at(60), "broker-1", "c2")
    (group,) = tell(tape.at(90).end()).groups
    assert [one.began_us for one in group.rebalances] == [60_000_000]


def test_a_group_without_a_record_is_that_of_the_broker_that_acts_last() -> None:
    """A group without a record is not loaded: members join at the next broker, and the first one's copy is outdated."""
    tape = Tape().start("c1", "c2")
    tape.join("c1").prepare("c1", "ADD_MEMBER")
    tape.broker, tape.state = "broker-2", "Empty"
    tape.at(20).join("c2").prepare("c2", "ADD_MEMBER").at(23).complete("c2").stable()
    expire(tape.at(30), "broker-1", "c1")
    (group,) = tell(tape.at(60).end()).groups
    assert group.rebalances == ()
