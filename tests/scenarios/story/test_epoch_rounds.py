"""The changes of assignment of a consumer group, derived from its epochs."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.story import Cause, GroupStory, Outcome, tell
from tests.helpers.trace_builders import Tape


class EpochTape(Tape):
    """A trace of a consumer group being written."""

    def enter(self, host: str) -> EpochTape:
        """A process starts and its member joins."""
        self.start(host)
        self.members[host] = f"{host}-id"
        self.client(Kind.CLIENT_STATE, host, to="JOINING")
        payload = {"session_timeout_ms": 45_000, "client_id": host}
        self.coordinator(Kind.MEMBER_ADDED, member=self.members[host], payload=payload)
        return self.bump(host, "joined")

    def bump(self, host: str, trigger: str) -> EpochTape:
        """The group epoch grows."""
        self.generation += 1
        payload = {"epoch": self.generation, "triggers": [trigger]}
        member = self.members.get(host)
        self.coordinator(Kind.EPOCH_BUMPED, member=member, generation=self.generation, payload=payload)
        return self._to("Assigning")

    def enter_by_regex(self, host: str) -> EpochTape:
        """A process starts and its member joins with a regular expression alone, which raises no epoch."""
        self.start(host)
        self.members[host] = f"{host}-id"
        self.client(Kind.CLIENT_STATE, host, to="JOINING")
        payload = {"session_timeout_ms": 45_000, "client_id": host}
        self.coordinator(Kind.MEMBER_ADDED, member=self.members[host], payload=payload)
        return self

    def resolve(self, host: str, *topics: str) -> EpochTape:
        """The regular expression is resolved to these topics, and the group epoch grows."""
        payload = {"topics": list(topics)}
        self.coordinator(Kind.REGEX_RESOLVED, member=self.members[host], reason="t-.*", payload=payload)
        return self.bump(host, "regex-resolved")

    def target(self) -> EpochTape:
        """A target for the newest epoch is computed."""
        payload = {"epoch": self.generation, "assignor": "uniform", "members": 1, "moved": 1, "waited_us": 0}
        self.coordinator(Kind.TARGET_COMPUTED, generation=self.generation, payload=payload)
        return self._to("Reconciling")

    def move(self, host: str, pending: int = 0) -> EpochTape:
        """A member moves towards its target; `pending` partitions are left for it to revoke."""
        left = {"topic": list(range(pending))} if pending else {}
        self.coordinator(Kind.MEMBER_EPOCH, member=self.members[host], payload={"pending": left})
        return self

    def reconciled(self) -> EpochTape:
        """Every member owns its target."""
        return self._to("Stable")

    def _to(self, state: str, **columns: Any) -> EpochTape:
        self.coordinator(Kind.GROUP_STATE, from_=self.state, to=state, generation=self.generation, **columns)
        self.state = state
        return self

    def story(self, end_s: float = 60) -> GroupStory:
        """Return the story of the group."""
        self.at(end_s)
        return tell(self.end()).groups[0]


def formed(*hosts: str) -> EpochTape:
    """Return a trace in which these members form the group within half a second."""
    tape = EpochTape()
    tape.generation = 1
    for at, host in enumerate(hosts):
        tape.at(0.1 * at)
        tape.enter(host).target().move(host).reconciled()
    return tape


def test_members_that_start_together_form_the_group_in_one_round() -> None:
    """The epochs of the first joins are one round, whose number is the last epoch."""
    group = formed("c1", "c2", "c3").story()
    assert [(one.number, one.cause, one.outcome) for one in group.generations] == [
        (4, Cause.FIRST_START, Outcome.STABLE)
    ]
    assert (group.formed_us, group.rebalances) == (200_000, ())


def test_a_later_member_begins_a_round_that_ends_with_convergence() -> None:
    """The round lasts from the bump of the epoch until the group is Stable."""
    tape = formed("c1", "c2")
    tape.at(20)
    tape.enter("c3").target().at(25)
    tape.move("c1", pending=2).at(28)
    tape.move("c1").move("c3").at(30)
    joined = tape.reconciled().story().rebalances[0]
    assert (joined.number, joined.cause, joined.culprit and joined.culprit.host) == (4, Cause.DEPLOY_JOIN, "c3")
    assert (joined.began_us, joined.completing_us, joined.stable_us) == (20_000_000, 20_000_000, 30_000_000)


def test_the_last_member_to_revoke_held_the_others_back() -> None:
    """A member that still has partitions to revoke has not arrived; one that waits for them has."""
    tape = formed("c1", "c2")
    tape.at(20)
    tape.enter("c3").target().move("c3").move("c1", pending=2).at(50)
    tape.move("c1")
    late = tape.reconciled().story().rebalances[0].late
    assert late is not None
    assert (late.name.host, late.after_us, late.revoked) == ("c1", 30_000_000, True)


def test_a_member_that_only_took_partitions_over_was_the_last_to_reconcile() -> None:
    """A member that had nothing to revoke, and moved to the target after the others, is not the last to revoke."""
    tape = formed("c1", "c2")
    tape.at(20)
    tape.enter("c3").target().move("c3").move("c1", pending=2).at(20.5)
    tape.move("c1").at(24)
    tape.move("c2")
    late = tape.reconciled().story().rebalances[0].late
    assert late is not None
    assert (late.name.host, late.after_us, late.revoked) == ("c2", 4_000_000, False)


def test_bumps_before_the_target_belong_to_one_round() -> None:
    """Members that join within the assignment interval are one round, and the target's epoch is its number."""
    tape = formed("c1")
    tape.at(20)
    tape.enter("c2").at(20.5)
    tape.enter("c3").at(21)
    tape.target().move("c2").move("c3").reconciled()
    assert [one.number for one in tape.story().rebalances] == [4]


def test_a_bump_after_the_target_overtakes_the_round() -> None:
    """A leave while members still revoke abandons the round before it."""
    tape = formed("c1", "c2")
    tape.at(20)
    tape.enter("c3").target().move("c1", pending=1).at(22)
    tape.remove("c2", "left")
    tape.bump("c2", "left").target().move("c1").reconciled()
    rounds = tape.story().rebalances
    assert [(one.cause, one.outcome) for one in rounds] == [
        (Cause.DEPLOY_JOIN, Outcome.ABANDONED),
        (Cause.DEPLOY_LEAVE, Outcome.STABLE),
    ]


def test_a_member_that_does_not_revoke_in_time_is_the_cause_of_its_removal() -> None:
    """The rebalance timer's removal has a cause of its own."""
    tape = formed("c1", "c2")
    tape.at(20)
    tape.remove("c1", "rebalance-timeout")
    tape.bump("c1", "rebalance-timeout").target().reconciled()
    fenced = tape.story().rebalances[0]
    assert (fenced.cause, fenced.culprit and fenced.culprit.host) == (Cause.REVOCATION, "c1")


def test_a_member_that_is_removed_for_its_revocation_held_the_epoch_open() -> None:
    """The change that waited for it names it, with the rebalance timeout, and the headline does."""
    tape = formed("c1", "c2")
    tape.at(20)
    tape.enter("c3").target().move("c1", pending=1).move("c2").move("c3")
    tape.at(50)
    tape.remove("c1", "rebalance-timeout")
    tape.bump("c1", "rebalance-timeout").target().move("c2").move("c3").reconciled()
    story = tell(tape.at(60).end())
    (held,) = story.groups[0].rebalances[0].absent
    assert (held.name.host, held.removal, held.after_us) == ("c1", "rebalance-timeout", 30_000_000)
    assert "c1 " in story.headline
    assert "open until the rebalance timeout" in story.headline


def test_a_dead_static_member_is_dead_since_its_own_process_ended() -> None:
    """Successors that are refused and end, too, are other members; the clause counts the refusals."""
    tape = formed("c1", "c2")
    tape.at(20)
    tape.crash("c1")
    for restart in (22, 32):
        tape.at(restart)
        tape.start("c1")
        answer = {"api": "ConsumerGroupHeartbeat", "error": "UNRELEASED_INSTANCE_ID"}
        tape.client(Kind.RESPONSE_RECEIVED, "c1", **answer)
        tape.client(Kind.PROCESS_FAILED, "c1", error="UnreleasedInstanceIdException")
    tape.at(60)
    tape.remove("c1", "session-expired").bump("c1", "session-expired").target().reconciled()
    (gone,) = tape.story(90).rebalances
    assert gone.why == "crashed at 0:20.000, its successor was refused 2 × with UNRELEASED_INSTANCE_ID"


def test_a_member_that_comes_back_after_its_removal_did_not_just_join() -> None:
    """It keeps its member id, and its cause is that of the removal, not a deploy."""
    tape = formed("c1", "c2")
    tape.at(20)
    tape.remove("c1", "rebalance-timeout")
    tape.bump("c1", "rebalance-timeout").target().reconciled().at(30)
    payload = {"session_timeout_ms": 45_000, "client_id": "c1"}
    tape.coordinator(Kind.MEMBER_ADDED, member=tape.members["c1"], payload=payload)
    tape.bump("c1", "joined").target().reconciled()
    back = tape.story().rebalances[1]
    assert (back.cause, back.why) == (
        Cause.REVOCATION,
        "joined again after it was removed at 0:20.000: it had not confirmed the revocation of its partitions in time",
    )


def test_new_partitions_are_a_metadata_change() -> None:
    """The member whose heartbeat noticed the new partitions is named with the topic."""
    tape = formed("c1", "c2")
    tape.at(20).add(Kind.METADATA_CHANGED, topic="orders", payload={"before": 3, "partitions": 6})
    tape.at(21)
    tape.bump("c2", "metadata").target().reconciled()
    grown = tape.story().rebalances[0]
    assert (grown.cause, grown.why) == (
        Cause.METADATA,
        "sent the first heartbeat after a change of its topics: orders went from 3 to 6 partitions at 0:20.000",
    )


def test_a_load_keeps_an_open_round_that_was_committed() -> None:
    """Epochs are records: another coordinator goes on with the round, and a lost bump ends it."""
    tape = formed("c1", "c2")
    tape.at(20)
    tape.remove("c1", "left")
    tape.bump("c1", "left").at(21)
    tape.coordinator(Kind.GROUP_LOADED, payload={"members": 1, "generation": tape.generation})
    tape.at(22)
    assert [one.outcome for one in tape.target().reconciled().story().rebalances] == [Outcome.STABLE]


def test_the_headline_counts_reassignments() -> None:
    """A consumer group has no rebalance at which all stop: the sentence names its word and its epochs."""
    tape = formed("c1", "c2")
    tape.at(20)
    tape.enter("c3").target().move("c3").move("c1", pending=2)
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="revoked")
    tape.at(50)
    tape.client(Kind.CALLBACK_ENDED, "c1", reason="revoked")
    tape.move("c1").reconciled().at(60)
    words = tell(tape.end()).headline
    assert words.startswith("1 reassignment of g1, ")
    assert "held epoch 4 open for 30" in words


def forming_by_turns() -> EpochTape:
    """Return a trace of two members that join one after the other and share two partitions out until 5 s."""
    tape = EpochTape()
    tape.generation = 1
    tape.enter("c1").target().move("c1").own("c1", 0, 1)
    tape.at(1)
    tape.enter("c2").target().move("c1").release("c1", 1)
    tape.at(5)
    tape.move("c2").own("c2", 1)
    tape.reconciled()
    return tape


def test_what_moves_while_the_group_forms_is_time_to_form() -> None:
    """Until the group is first Stable, moves and standstills count as time to form, as a classic group's delay does."""
    group = forming_by_turns().story()
    assert (group.formed_us, group.moved, group.stopped_us, group.standstills) == (5_000_000, 0, 0, ())
    assert (len(group.generations[0].moves), group.generations[0].stopped_us) == (1, 4_000_000)
    words = tell(forming_by_turns().at(60).end()).headline
    assert words == "no reassignment: g1 formed in 5.0 s with 2 members"


def test_a_later_change_counts_what_it_moves_alone() -> None:
    """A leave after the formation has its own move and standstill in the group's totals, without those before."""
    tape = forming_by_turns()
    tape.at(20)
    tape.release("c2", 1).bump("c2", "left").target()
    tape.at(23)
    tape.move("c1").own("c1", 1).reconciled()
    group = tape.story()
    assert (len(group.rebalances), group.moved, group.stopped_us) == (1, 1, 3_000_000)


def one_by_one(*seconds: float) -> EpochTape:
    """Return a trace in which a member joins at each of these times, and the group is Stable at once."""
    tape = EpochTape()
    tape.generation = 1
    for number, second in enumerate(seconds, 1):
        tape.at(second)
        tape.enter(f"c{number}").target().move(f"c{number}").reconciled()
    return tape


@pytest.mark.parametrize(("seconds", "words"), [(0.006, "6 ms"), (3, "3.0 s"), (245, "4 min 5 s")])
def test_the_headline_writes_times_as_the_table_does(seconds: float, words: str) -> None:
    """The stopped time is written in the unit that fits it."""
    tape = forming_by_turns().at(20)
    tape.release("c2", 1).bump("c2", "left").target().at(20 + seconds)
    tape.move("c1").own("c1", 1).reconciled().at(300)
    assert f"1 reassignment of g1, {words} stopped, 1 partition moved" in tell(tape.end()).headline


@pytest.mark.parametrize(
    ("seconds", "rebalances"),
    [((0, 2, 5), 0), ((0, 3, 6, 9), 0), ((0, 3.5), 1), ((0, 2, 6.5), 1), ((0, 1, 2, 7), 1), ((0, 3, 6.5, 9), 2)],
)
def test_a_group_forms_for_as_long_as_a_classic_one_would_wait(seconds: tuple[float, ...], rebalances: int) -> None:
    """It forms for 3 s, and 3 s more each time that a member joined meanwhile; later joins are reassignments."""
    assert len(one_by_one(*seconds).story().rebalances) == rebalances


def test_a_leave_while_the_group_forms_is_part_of_it() -> None:
    """A classic group that waits for its first members does not begin again for one that leaves."""
    tape = one_by_one(0, 1)
    tape.at(2)
    tape.remove("c2", "left")
    tape.bump("c2", "left").target().move("c1").reconciled()
    group = tape.story()
    assert [(one.number, one.cause, one.size) for one in group.generations] == [(4, Cause.FIRST_START, 1)]


def test_a_join_before_the_forming_group_is_stable_is_a_change_of_its_own() -> None:
    """It overtakes the first round, and what stands still from then on is its cost."""
    tape = EpochTape()
    tape.generation = 1
    tape.enter("c1").target().move("c1").own("c1", 0, 1)
    tape.at(2)
    tape.enter("c2").target().move("c1").release("c1", 1)
    tape.at(7)
    tape.enter("c3").target().at(9)
    tape.move("c2").own("c2", 1)
    tape.move("c3").reconciled()
    group = tape.story()
    assert [(one.cause, one.outcome) for one in group.generations] == [
        (Cause.FIRST_START, Outcome.ABANDONED),
        (Cause.DEPLOY_JOIN, Outcome.STABLE),
    ]
    assert (len(group.rebalances), group.stopped_us, group.generations[0].stopped_us) == (1, 2_000_000, 5_000_000)
    assert (group.formed_us, group.standstills[0].began_us) == (9_000_000, 7_000_000)


def by_regex() -> EpochTape:
    """Return a trace of a group that two members form with a regular expression."""
    tape = EpochTape()
    tape.generation = 1
    tape.enter_by_regex("c1").enter_by_regex("c2")
    tape.resolve("c1", "t-a").target().move("c1").move("c2").reconciled()
    return tape


def test_the_first_result_of_a_regular_expression_is_the_first_start() -> None:
    """Members that join with a regular expression alone raise no epoch; the first result forms their group."""
    group = by_regex().story()
    assert [one.cause for one in group.generations] == [Cause.FIRST_START]
    assert group.rebalances == ()


def test_a_member_that_joins_with_a_known_regular_expression_joins() -> None:
    """It adopts a result that is there, which is the trigger of the bump; the cause is that it joined."""
    tape = by_regex()
    tape.at(20)
    tape.enter_by_regex("c3").bump("c3", "regex").target().move("c3").reconciled()
    (change,) = tape.story().rebalances
    assert (change.cause, change.culprit and change.culprit.host, change.why) == (Cause.DEPLOY_JOIN, "c3", "joined")


def test_a_later_result_names_the_topics_that_are_new() -> None:
    """Another result of the regular expression is the cause, with the topics that match now or no more."""
    tape = by_regex()
    tape.at(20)
    tape.resolve("c2", "t-a", "t-b").target().move("c1").move("c2").reconciled()
    tape.at(40)
    tape.resolve("c1", "t-b").target().move("c1").move("c2").reconciled()
    more, less = tape.story().rebalances
    assert (more.cause, less.cause) == (Cause.PATTERN, Cause.PATTERN)
    assert more.why == "had the coordinator resolve the regular expression t-.*, which matches t-b now"
    assert less.why == "had the coordinator resolve the regular expression t-.*, which does not match t-a any more"
