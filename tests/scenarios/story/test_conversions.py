"""A group that changes its protocol while it works: its rounds, its headline and its timeline."""

from __future__ import annotations

from typing import Any

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.story import Cause, Outcome, Story, tell
from tests.helpers.trace_builders import Tape, formed


def convert(tape: Tape, to: str, host: str | None, before: str = "Stable") -> None:
    """The group goes over to the other protocol because of this member; None: it goes back, the append has failed."""
    tape.coordinator(
        Kind.GROUP_CONVERTED,
        member=None if host is None else tape.members[host],
        generation=tape.generation,
        from_="classic" if to == "consumer" else "consumer",
        to=to,
        reason="why",
        payload={"members": len(tape.members), "before": before, "state": "Stable"},
    )
    tape.state = "Stable"


def state(tape: Tape, to: str, **columns: Any) -> None:
    """The state of the group changes."""
    tape.coordinator(Kind.GROUP_STATE, from_=tape.state, to=to, generation=tape.generation, **columns)
    tape.state = to


def upgraded() -> Tape:
    """A classic group of a and b is upgraded at 0:20 by c, and Stable at 0:25."""
    tape = formed("a", "b")
    tape.at(20).start("c")
    tape.members["c"] = "c-1"
    convert(tape, "consumer", "c")
    tape.join("c")
    tape.generation += 1
    payload = {"epoch": tape.generation, "triggers": ["joined"]}
    tape.coordinator(Kind.EPOCH_BUMPED, member="c-1", generation=tape.generation, payload=payload)
    target = {"epoch": tape.generation, "assignor": "uniform", "members": 1, "moved": 1, "waited_us": 0}
    tape.coordinator(Kind.TARGET_COMPUTED, generation=tape.generation, payload=target)
    state(tape, "Reconciling")
    tape.at(25)
    state(tape, "Stable")
    return tape


def downgraded(reason: str = "left") -> Tape:
    """The same group at 0:40, when c goes and a and b open a round."""
    tape = upgraded()
    tape.at(40).remove("c", reason)
    convert(tape, "classic", "c")
    tape.prepare("c", "DOWNGRADED")
    tape.at(43).complete("a", "b").at(43.1).stable()
    return tape


def told(tape: Tape) -> Story:
    """The story of the whole trace."""
    tape.at(60)
    return tell(tape.end())


def test_an_upgrade_begins_an_epoch() -> None:
    """The numbers go on, and each change has the words of its protocol."""
    (group,) = told(upgraded()).groups
    assert [(one.number, one.words.number) for one in group.generations] == [(1, "generation"), (2, "epoch")]
    last = group.generations[-1]
    assert (last.cause, last.culprit and last.culprit.host, last.outcome) == (Cause.DEPLOY_JOIN, "c", Outcome.STABLE)


def test_a_downgrade_begins_a_generation() -> None:
    """Its cause is that of the removal, whose member is the culprit."""
    (group,) = told(downgraded()).groups
    assert [one.words.number for one in group.generations] == ["generation", "epoch", "generation"]
    last = group.generations[-1]
    assert (last.number, last.cause, last.outcome) == (3, Cause.DEPLOY_LEAVE, Outcome.STABLE)
    assert last.culprit is not None
    assert last.culprit.host == "c"


def test_each_removal_has_its_cause() -> None:
    """A session that ends, and a revocation that is not confirmed, are what they are in a group that stays."""
    for reason, cause in (("session-expired", Cause.SESSION_SILENT), ("rebalance-timeout", Cause.REVOCATION)):
        (group,) = told(downgraded(reason)).groups
        assert group.generations[-1].cause is cause


def test_a_replacement_may_downgrade() -> None:
    """Without a removal a classic member has joined as the same static one."""
    tape = upgraded()
    tape.at(40)
    convert(tape, "classic", "c")
    tape.prepare("c", "DOWNGRADED")
    (group,) = told(tape).groups
    assert (group.generations[-1].cause, group.generations[-1].outcome) == (Cause.DEPLOY_JOIN, Outcome.OPEN)
    assert "same static member" in group.generations[-1].why


def test_a_conversion_ends_an_open_round() -> None:
    """A round that prepares is abandoned by the upgrade."""
    tape = formed("a", "b")
    tape.at(20).start("d").join("d").prepare("d", "ADD_MEMBER")
    tape.start("c")
    tape.members["c"] = "c-1"
    tape.at(21)
    convert(tape, "consumer", "c", "PreparingRebalance")
    (group,) = told(tape).groups
    last = group.generations[-1]
    assert (last.outcome, last.ended_us) == (Outcome.ABANDONED, 21_000_000)


def test_headline_and_timeline_name_conversions() -> None:
    """The headline counts the changes of each protocol, and has the times of the conversions."""
    story = told(downgraded())
    assert story.headline.startswith("1 reassignment and 1 rebalance of g1")
    assert "; g1 upgraded at 0:20.000, downgraded at 0:40.000" in story.headline
    words = [entry.what for entry in story.notes]
    assert words == [
        "g1 is upgraded, from the classic to consumer protocol: why",
        "g1 is downgraded, from the consumer to classic protocol: why",
    ]


def test_a_classic_group_takes_the_place_of_an_empty_one() -> None:
    """Without a conversion, too, its rounds are those of the classic protocol."""
    tape = upgraded()
    tape.at(30).remove("a", "left").remove("b", "left").remove("c", "left")
    state(tape, "Empty")
    tape.generation = 0
    tape.at(40).start("d").join("d").prepare("d", "ADD_MEMBER")
    tape.at(43).complete("d").at(43.1).stable()
    (group,) = told(tape).groups
    assert (group.generations[-1].number, group.generations[-1].words.number) == (1, "generation")


def test_a_conversion_that_failed_is_none() -> None:
    """The timeline has both events, the headline neither."""
    tape = formed("a", "b")
    tape.at(20).start("c")
    tape.members["c"] = "c-1"
    convert(tape, "consumer", "c")
    convert(tape, "classic", None)
    story = told(tape)
    assert len(story.notes) == 2
    assert "upgraded" not in story.headline


def test_states_of_a_converted_group() -> None:
    """The state after a conversion is that of the new group."""
    tape = formed("a", "b")
    tape.at(20).start("d").join("d").prepare("d", "ADD_MEMBER")
    tape.start("c")
    tape.members["c"] = "c-1"
    tape.at(21)
    convert(tape, "consumer", "c", "PreparingRebalance")
    tape.at(60)
    evidence = Evidence(tape.end())
    assert [(one.t_us, one.state) for one in evidence.states("g1")][-1] == (21_000_000, "Stable")
