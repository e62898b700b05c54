"""What coordinators of other ages do otherwise ([old] rows), each difference at the release that changed it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from groupsim.coordinator.base.defects import BROKER_DEFECTS
from groupsim.coordinator.base.versions import BASELINE, HISTORY
from groupsim.coordinator.testing import Bench, Sent, committed, offsets_of
from groupsim.protocol.embedded.consumer_protocol import Subscription, encode_subscription
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    FetchedOffset,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    OffsetDeleteRequest,
    OffsetFetchResponse,
    TopicPartition,
)
from tests.helpers.tables_kit import (
    COMPLETING,
    NEW_MEMBER_MS,
    PREPARING,
    STABLE,
    E,
    broker,
    describe,
    is_parked,
    listed,
    offering,
)

T0 = TopicPartition("t", 0)


def deletes_after_writes(made: Bench) -> bool:
    """Whether a group that is deleted is there as long as something appended before is not committed."""
    made.commit_offset(5)
    made.auto_commit = False
    made.commit_offset(6, group="other")
    made.send(DeleteGroupsRequest(("g",)))
    return len(made.in_flight) == 1


def initial_delay(made: Bench) -> bool:
    """Whether the first round of an empty group waits."""
    return is_parked(made.join("a"))


def initial_ends_early(made: Bench) -> bool:
    """Whether the expiry of a pending id closes an initial round."""
    made.join("x", version=4, session_ms=6_000)
    made.join("y", version=4, session_ms=7_500)
    made.advance_ms(5_000)
    first = made.join("a")
    made.advance_ms(2_600)
    return first.answered


def member_id_required(made: Bench) -> bool:
    """Whether JoinGroup v4 is first given an id."""
    sent = made.join("a", version=4)
    return sent.answered and sent.error is E.MEMBER_ID_REQUIRED


def static_members(made: Bench) -> bool:
    """Whether a second join of the same instance replaces the first."""
    made.join("a", instance="i", version=5)
    made.join("a", instance="i", version=5)
    return len(made.snapshot().members) == 1


def group_max_size(made: Bench) -> bool:
    """Whether a full group refuses a newcomer."""
    made = Bench(made.config.__class__(made.config.broker_version, group_max_size=1))
    made.stable("a")
    sent = made.join("b")
    return sent.answered and sent.error is E.GROUP_MAX_SIZE_REACHED


def pending_sync_timer(made: Bench) -> bool:
    """Whether somebody waits for SyncGroups."""
    made.join("a")
    made.finish_round()
    return "sync-g" in made.timers()


def pending_leave_rebalances(made: Bench) -> bool:
    """Whether a leave of a pending id alone opens a round."""
    made.stable("a")
    pending = made.join("x", version=4).joined.member_id
    made.leave(pending)
    return made.states()[-1][2] == "LEAVE_GROUP"


def new_member_timeout(made: Bench) -> bool:
    """Whether a new member's parked join is given up after five minutes."""
    made.stable("a", rebalance_ms=900_000)
    sent = made.join("b", rebalance_ms=900_000)
    for _ in range(11):
        made.advance_ms(NEW_MEMBER_MS // 10)
        made.heartbeat("a-1", 1)
    return sent.answered


def heartbeat_while_assigning(made: Bench) -> bool:
    """Whether a heartbeat in CompletingRebalance is answered NONE."""
    made.join("a")
    made.finish_round()
    assert made.state == COMPLETING
    error = made.heartbeat("a-1", 1).error
    assert error in (E.NONE, E.REBALANCE_IN_PROGRESS)
    return error is E.NONE


def sync_keeps_session(made: Bench) -> bool:
    """Whether SyncGroup in Stable prolongs the session."""
    made.stable("a")
    made.advance_ms(10_000)
    made.sync("a-1", 1)
    return made.timers()["heartbeat-g-a-1"] == 45_000


def unstable_plain_commits(made: Bench) -> bool:
    """Whether a stable fetch calls an unreplicated plain commit unstable."""
    made.auto_commit = False
    made.commit_offset(5)
    sent = made.fetch_offsets(T0)
    return sent.answered and _unstable(sent)


def offset_delete_ends_group(made: Bench) -> bool:
    """Whether a group without members goes with its last offset, as on a real 3.9.1."""
    made.commit_offset(5)
    assert describe(made).state == "Empty"
    made.send(OffsetDeleteRequest("g", (TopicPartition("t", 1),)))
    assert describe(made).state == "Empty"
    made.send(OffsetDeleteRequest("g", (T0,)))
    assert offsets_of(made.fetch_offsets(T0)) == {T0: -1}
    return describe(made).state == "Dead"


def completes_after_refusal(made: Bench) -> bool:
    """Whether the round goes on without the last one, whom a full group has put out, as on a real 3.9.1."""
    made = Bench(made.config.__class__(made.config.broker_version, group_max_size=2))
    made.stable("a", "b")
    first = made.join(member_id="a-1")
    made.join("c")
    assert made.join(member_id="b-2").error is E.GROUP_MAX_SIZE_REACHED
    return first.answered


def votes_in_scala_order(made: Bench) -> bool:
    """Whether a tie between range and roundrobin goes to roundrobin, as a real 3.9.1 has it."""
    made.join("a", protocols=offering("range", "roundrobin"), version=0)
    made.join("b", protocols=offering("roundrobin", "range"), version=0)
    made.finish_round()
    return made.snapshot().protocol == "roundrobin"


def appends_to_all(made: Bench) -> bool:
    """Whether an append is one with acks=-1, to be given up after the commit timeout."""
    made.auto_commit = False
    made.commit_offset(5)
    made.advance_ms(6_000)
    return [append.within_ms for append in made.in_flight] == [5_000] and not made.sent[-1].answered


def append_errors_by_kind(made: Bench) -> bool:
    """Whether a commit that no batch takes has an error code of its own."""
    made.auto_commit = False
    sent = made.commit_offset(5)
    made.fail_append(E.MESSAGE_TOO_LARGE)
    return committed(sent) == [E.INVALID_COMMIT_OFFSET_SIZE]


def new_group_is_written(made: Bench) -> bool:
    """Whether a first JoinGroup appends a record, and its group is seen only when that is committed."""
    made.auto_commit = False
    made.join("a", version=0)
    assert bool(made.in_flight) is (describe(made).state == "Dead")
    return bool(made.in_flight)


def deletions_are_awaited(made: Bench) -> bool:
    """Whether a deletion takes effect when its tombstones are committed."""
    made.commit_offset(5)
    made.auto_commit = False
    sent = made.send(DeleteGroupsRequest(("g",)))
    assert sent.answered is not bool(made.in_flight)
    return describe(made).state == "Empty"


def replacement_reverts_protocols(made: Bench) -> bool:
    """Whether a static member has its own protocols again when its replacement cannot be written."""
    made.join("a")
    made.join("s", instance="i", version=5)
    made.finish_round()
    made.assign()
    made.auto_commit = False
    other = made.join("s", instance="i", protocols=(JoinProtocol("range", b"other"),), version=5)
    made.fail_append(E.NOT_ENOUGH_REPLICAS)
    assert other.error is E.COORDINATOR_NOT_AVAILABLE
    return made.join("s", member_id="i-2", instance="i", version=5).answered


def _unstable(sent: Sent) -> bool:
    assert isinstance(sent.response, OffsetFetchResponse)
    return sent.response.offsets == (FetchedOffset(T0, error=E.UNSTABLE_OFFSET_COMMIT),)


def answers_wait_for_writes(made: Bench) -> bool:
    """Whether a heartbeat's answer waits for another group's append."""
    made.stable("a")
    made.auto_commit = False
    made.commit_offset(5, group="other")
    return not made.heartbeat("a-1", 1).answered


def describe_unknown_is_error(made: Bench) -> bool:
    """Whether DescribeGroups v6 says GROUP_ID_NOT_FOUND."""
    return describe(made, version=6).error is E.GROUP_ID_NOT_FOUND


def commit_to_unknown_is_error(made: Bench) -> bool:
    """Whether a commit v9 with a generation of a group that is not there says so; a real 3.9.1 does not."""
    [error] = committed(made.commit_offset(5, member_id="m", generation=1, version=9))
    assert error in (E.GROUP_ID_NOT_FOUND, E.ILLEGAL_GENERATION)
    return error is E.GROUP_ID_NOT_FOUND


def list_trims_states(made: Bench) -> bool:
    """Whether a group is listed that is asked for with blanks around its state; a real 3.9.1 lists none."""
    made.stable("a")
    assert listed(made, states=("STABLE",))
    return bool(listed(made, states=(" Stable ",)))


def describe_shows_old_assignments(made: Bench) -> bool:
    """Whether a member's assignment is told while its group rebalances; that of a Stable group is, always."""
    made.stable("a")
    assert describe(made).members[0].assignment
    made.join("b")
    assert made.state == PREPARING
    return bool(describe(made).members[0].assignment)


def retention_from_empty(made: Bench) -> bool:
    """Whether an old commit of a group that was emptied just now survives the next look."""
    made = Bench(made.config.__class__(made.config.broker_version, offsets_retention_minutes=15))
    made.stable("a", session_ms=300_000)
    made.commit_offset(5, member_id="a-1", generation=1)
    for _ in range(4):
        made.advance_ms(149_000)
        made.heartbeat("a-1", 1)
    made.leave("a-1")
    made.advance_ms(601_000)
    return offsets_of(made.fetch_offsets(T0)) == {T0: 5}


def unsubscribed_offsets_expire(made: Bench) -> bool:
    """Whether an old offset of a topic that a Stable group does not subscribe to goes (KIP-496)."""
    made = Bench(made.config.__class__(made.config.broker_version, offsets_retention_minutes=15))
    wanted = (JoinProtocol("range", encode_subscription(Subscription(("other",)), 0)),)
    made.stable("a", session_ms=300_000, protocols=wanted)
    made.commit_offset(5, member_id="a-1", generation=1)
    for _ in range(9):
        made.advance_ms(149_000)
        made.heartbeat("a-1", 1)
    return offsets_of(made.fetch_offsets(T0)) == {T0: -1}


BOUNDARIES: Mapping[Callable[[Bench], bool], tuple[str, str]] = {
    initial_delay: ("0.10.2", "0.11"),
    initial_ends_early: ("3.9", "4.0"),
    member_id_required: ("2.1", "2.2"),
    static_members: ("2.2", "2.3"),
    group_max_size: ("2.1", "2.2"),
    pending_sync_timer: ("2.8.0", "2.8.1"),
    pending_leave_rebalances: ("3.9", "4.0"),
    new_member_timeout: ("2.1.0", "2.1.1"),
    heartbeat_while_assigning: ("2.6", "2.7"),
    answers_wait_for_writes: ("3.9", "4.0"),
    deletes_after_writes: ("4.0", "4.1"),
    describe_unknown_is_error: ("3.9", "4.0"),
    commit_to_unknown_is_error: ("3.9", "4.0"),
    list_trims_states: ("3.9", "4.0"),
    describe_shows_old_assignments: ("3.9", "4.0"),
    retention_from_empty: ("2.0", "2.1"),
    unsubscribed_offsets_expire: ("2.3", "2.4"),
    new_group_is_written: ("3.9", "4.0"),
    deletions_are_awaited: ("3.9", "4.0"),
    replacement_reverts_protocols: ("3.9", "4.0"),
}


@pytest.mark.parametrize("probe", [pytest.param(p, id=f"old-{p.__name__}") for p in BOUNDARIES])
def test_difference_at_its_release(probe: Callable[[Bench], bool]) -> None:
    """The behaviour is absent in the last release before the change, there in the first, and there at the baseline."""
    before, since = BOUNDARIES[probe]
    assert [probe(broker(version)) for version in (before, since, BASELINE)] == [False, True, True]


GONE = {
    sync_keeps_session: ("0.9", "3.9", "4.0"),
    unstable_plain_commits: ("2.5", "3.9", "4.0"),
    offset_delete_ends_group: ("2.4", "3.9", "4.0"),
    completes_after_refusal: ("2.6", "3.9", "4.0"),
    votes_in_scala_order: ("0.11", "3.9", "4.0"),
    appends_to_all: ("0.9", "3.9", "4.0"),
    append_errors_by_kind: ("0.9", "3.9", "4.0"),
}


@pytest.mark.parametrize("probe", [pytest.param(p, id=f"old-{p.__name__}") for p in GONE])
def test_what_only_the_scala_coordinator_did(probe: Callable[[Bench], bool]) -> None:
    """Behaviour of the Scala coordinator that the Java one does not have."""
    first, last, gone = GONE[probe]
    assert [probe(broker(version)) for version in (first, last, gone)] == [True, True, False]


def test_unstable_answers_began_with_kip_447() -> None:
    """Before 2.5 a fetch of an unreplicated commit reads what is committed."""
    assert not unstable_plain_commits(broker("2.4"))


DEFAULTS = [
    pytest.param("0.10.0", 30_000, 1_440, id="old-defaults-0.10.0"),
    pytest.param("0.10.1", 300_000, 1_440, id="old-defaults-0.10.1"),
    pytest.param("2.0", 300_000, 10_080, id="old-defaults-2.0"),
    pytest.param("2.3", 1_800_000, 10_080, id="old-defaults-2.3"),
    pytest.param("4.4", 1_800_000, 10_080, id="old-defaults-4.4"),
]


@pytest.mark.parametrize(("version", "session_ms", "retention_minutes"), DEFAULTS)
def test_defaults_by_release(version: str, session_ms: int, retention_minutes: int) -> None:
    """Longest session timeout and offset retention, as each release has them by default."""
    config = broker(version).config
    assert (config.max_session_timeout_ms, config.offsets_retention_minutes) == (session_ms, retention_minutes)


OF_CONSUMER_GROUPS = {
    *("epoch_0_is_accepted", "revocation_adds_epoch", "target_follows_subscription", "own_pending_is_free"),
    *("empty_regex_bumps", "racks_bump", "regexes_are_refreshed", "new_group_epoch", "targets_are_batched"),
    *("older_epochs_commit", "known_instance_passes", "describe_shows_pending", "assignor_choice_bumps"),
    *("last_leave_ends_target", "uniform_returns_extra", "hash_stands_for_topics", "partitions_have_epochs"),
    *("changed_downgrade_rebalances", "stale_downgrade_rebalances", "instance_change_frees", "rejoins_for_targets"),
    *("disabled_policy_refuses_joins", "malformed_subscription_is_refused"),
}
"""Differences of consumer groups, which the tests in `tests/coordinator/consumer` probe."""


def test_every_difference_is_probed() -> None:
    """No named difference is without a test: here, of the service, or of consumer groups; defects have `ROWS`."""
    of_defects = {field for defect in BROKER_DEFECTS.values() for field in defect.changes}
    elsewhere = {"max_session_timeout_ms", "retention_minutes"}
    elsewhere |= {"sync_while_loading_rebalances", "redirected_joins_have_ids", "groups_have_configs"}
    elsewhere |= OF_CONSUMER_GROUPS
    assert {probe.__name__ for probe in (*BOUNDARIES, *GONE)} | of_defects | elsewhere == set(HISTORY)


def test_baseline_is_the_newest_release() -> None:
    """The model is Apache Kafka 4.4."""
    assert BASELINE == "4.4"


@pytest.mark.parametrize("release", ["0.9", "0.10.2", "1.0", "2.1", "2.3", "2.8", "3.9", "4.0", "4.4"])
def test_a_group_lives_on_every_release(release: str) -> None:
    """On any broker two members form a group, one leaves, the other goes on."""
    made = broker(release)
    members = [made.join("a", version=0), made.join("b", version=0)]
    if release in ("0.9", "0.10.2"):
        members[0] = made.join("a", member_id="a-1", version=0)
    made.finish_round()
    made.assign()
    assert made.state == STABLE
    assert all(one.joined.error is E.NONE for one in members)
    made.leave("b-2")
    assert made.state == PREPARING
    assert made.join(member_id="a-1", version=0).joined.error is E.NONE
    made.assign()
    generation = made.snapshot().generation
    assert committed(made.commit_offset(5, member_id="a-1", generation=generation, version=2)) == [E.NONE]
    assert made.send(LeaveGroupRequest("g", (LeavingMember("a-1"),), 0)).error is E.NONE
