"""JoinGroup to a consumer group with members."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.consumer_records import (
    CurrentRecord,
    EpochRecord,
    MemberRecord,
    TargetEpochRecord,
    TargetRecord,
)
from groupsim.coordinator.consumer.member import MemberState
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinProtocol
from tests.helpers.heartbeat_bench import A, B, error, settings
from tests.helpers.hosted_bench import HostedBench, generation, offer, shared

ALL_A = {A: [0, 1, 2, 3, 4, 5]}


def alone(release: str = "4.4", **changed: object) -> HostedBench:
    """Return a group of one member of the consumer protocol, which has all partitions of `a`."""
    bench = HostedBench(settings(release, **changed))
    bench.enroll("n")
    return bench


def test_a_classic_member_joins_at_once() -> None:
    """The answer has the member's epoch as the generation, its first protocol, no leader and no members."""
    bench = alone()
    joined = bench.enter("m").joined
    assert (joined.error, joined.generation_id, joined.member_id) == (ErrorCode.NONE, 3, "m")
    assert (joined.protocol_type, joined.protocol_name) == ("consumer", "range")
    assert (joined.leader, joined.members, joined.skip_assignment) == ("", (), False)
    assert bench.epochs() == ("Reconciling", 3, 3)


def test_a_join_is_not_asked_about_the_assignor() -> None:
    """With one vote each a heartbeat of the member that votes `range` bumps (4.4); its JoinGroup does not."""
    bench = HostedBench(settings())
    bench.enroll("a", "a", instance="i", assignor="range")
    bench.enroll("n", "a", assignor="uniform")
    before = bench.group().data.group_epoch
    assert bench.enter("", instance="i").joined.error is ErrorCode.NONE
    assert bench.group().data.group_epoch == before


def test_the_records_of_a_classic_member() -> None:
    """Member with what it sent, epoch, targets, where it is: those of a heartbeat that joins."""
    bench = alone()
    since = len(bench.log)
    bench.enter("m", session_ms=7_000, rebalance_ms=8_000)
    records = bench.records(since)
    assert isinstance(records[0], MemberRecord)
    assert records[0].value is not None
    sent = records[0].value
    assert (sent.names, sent.regex, sent.rebalance_timeout_ms, sent.assignor) == (("a",), "", 8_000, None)
    assert sent.classic is not None
    assert sent.classic.session_timeout_ms == 7_000
    assert sent.classic.protocols == (offer("a"),)
    assert [type(one) for one in records[1:3]] == [EpochRecord, TargetRecord]
    assert isinstance(records[-1], CurrentRecord)
    assert records[-1].member_id == "m"
    added = bench.of_kind(Kind.MEMBER_ADDED)[-1]
    assert (added.payload["session_timeout_ms"], added.payload["protocols"]) == (7_000, ["range"])


def test_a_dynamic_member_without_an_id_is_given_one_that_is_forgotten() -> None:
    """MEMBER_ID_REQUIRED from version 4 on, without a record; below it the member is made at once."""
    bench = alone()
    since = len(bench.log)
    asked = bench.join(protocols=(offer(),), version=4, fresh_id="made")
    assert (asked.error, asked.joined.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "made")
    assert (bench.records(since), list(bench.group().data.members)) == ([], ["n"])
    assert bench.join(protocols=(offer(),), version=3, fresh_id="other").joined.member_id == "other"
    assert sorted(bench.group().data.members) == ["n", "other"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (JoinProtocol("range", b"\0"),)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (JoinProtocol("other", offer().metadata),)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"instance": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance": "i"}, ErrorCode.FENCED_INSTANCE_ID),
    ],
)
def test_a_join_that_does_not_fit_is_refused(change: dict[str, object], expected: ErrorCode) -> None:
    """Type, no protocol, one that not every classic member supports, a malformed subscription, a wrong instance."""
    bench = alone()
    bench.enter("", instance="i")
    since = len(bench.log)
    sent = bench.join(member_id="m", version=9, **{"protocols": (offer(),), **change})  # type: ignore[arg-type]
    assert (sent.error, sent.joined.member_id, bench.records(since)) == (expected, "", [])


def test_the_policy_disabled_refuses_classic_members_since_4_3() -> None:
    """INCONSISTENT_GROUP_PROTOCOL before any other check; before KAFKA-20640 the policy was not asked."""
    for release, expected in (("4.2", ErrorCode.NONE), ("4.4", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)):
        bench = alone(release, consumer_migration_policy="disabled")
        assert bench.enter("m").error is expected


def test_a_malformed_subscription_was_an_internal_error_before_4_4() -> None:
    """UNKNOWN_SERVER_ERROR, and nothing is written (KAFKA-20662)."""
    bench = alone("4.3")
    since = len(bench.log)
    sent = bench.join(member_id="m", protocols=(JoinProtocol("range", b""),), version=9)
    assert (sent.error, bench.records(since)) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])


def test_a_full_group_refuses_before_it_gives_out_an_id() -> None:
    """GROUP_MAX_SIZE_REACHED, but for a member of the group and for an instance that is there."""
    bench = alone(consumer_max_size=2)
    bench.enter("", instance="i")
    assert bench.join(protocols=(offer(),), version=9).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert bench.enter("n").error is ErrorCode.NONE
    assert bench.enter("", instance="i").error is ErrorCode.NONE


def test_the_first_protocol_counts_for_the_subscription() -> None:
    """Topics, rack and owned partitions are read from it alone."""
    bench = alone()
    bench.join(member_id="m", protocols=(offer("b"), offer("a", protocol="other")), version=9)
    assert bench.member("m").names == ("b",)
    assert bench.member("m").assigned == {B: {0: 3, 1: 3, 2: 3}}


def test_a_member_of_the_consumer_protocol_becomes_classic() -> None:
    """Its epoch is not asked for; it owns what it names, so that here its revocations are done."""
    bench = HostedBench()
    bench.enroll("m")
    bench.enroll("n")
    bench.beat("m", 2)
    assert bench.member("m").state is MemberState.UNREVOKED_PARTITIONS
    assert generation(bench.enter("m")) == 3
    assert bench.member("m").classic is not None
    assert shared(bench.synchronize("m")) == {A: sorted(bench.member("m").assigned[A])}
    assert error(bench.beat("m", 2))[0] is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_classic_member_goes_over_to_the_consumer_protocol() -> None:
    """A heartbeat drops what it sent as a classic member, and its classic requests are refused from then on."""
    bench = alone()
    bench.enter("m")
    bench.beat("m", 3)
    assert bench.member("m").classic is None
    assert bench.pulse("m") is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_static_member_is_replaced_whatever_it_speaks(protocol: str) -> None:
    """Its partitions, and no bump for the same topics; the former id is unknown."""
    bench = alone()
    if protocol == "classic":
        bench.enter("", instance="i")
    else:
        bench.enroll("s", instance="i")
    old = bench.group().data.static_members["i"]
    bumps = len(bench.of_kind(Kind.EPOCH_BUMPED))
    new = bench.enter("", instance="i").joined.member_id
    assert new != old
    assert bench.group().data.static_members["i"] == new
    assert len(bench.of_kind(Kind.EPOCH_BUMPED)) == bumps
    replaced = bench.of_kind(Kind.MEMBER_REPLACED)[-1]
    assert (replaced.payload["old"], replaced.payload["rebalance"]) == (old, False)
    assert old not in bench.group().data.members


def test_a_regular_expression_goes_with_a_classic_join() -> None:
    """The member subscribes by names from then on, and the group forgets the text."""
    bench = HostedBench()
    bench.enroll("n")
    bench.beat("m", 0, owned={}, regex="a", rebalance_ms=60_000)
    bench.resolve()
    assert "a" in bench.group().data.resolved
    bench.enter("m", "b")
    assert (bench.member("m").regex, bench.member("m").names) == ("", ("b",))
    assert bench.group().data.resolved == {}


def test_the_answer_waits_for_the_records() -> None:
    """A failed append refuses the join; the member is gone, and its timers were not started."""
    bench = alone()
    bench.auto_commit = False
    sent = bench.enter("m")
    assert not sent.answered
    bench.fail_append()
    assert (sent.error, sent.joined.member_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
    assert list(bench.group().data.members) == ["n"]
    assert bench.timers_of("m") == {}


def test_the_last_member_of_the_consumer_protocol_is_replaced() -> None:
    """The group is classic and Stable: the same generation, and the joiner has what the former one had."""
    bench = HostedBench()
    bench.enroll("s", instance="i")
    bench.enter("c")
    bench.beat("s", 2, instance="i")
    bench.beat("s", 2, instance="i", owned={A: [0, 1, 2]})
    bench.enter("c", owned={A: []})
    sent = bench.enter("", instance="i", owned={A: [0, 1, 2]})
    assert generation(sent) == 3
    group = bench.snapshot()
    assert (group.kind, group.state, group.generation) == ("classic", "Stable", 3)
    assert sorted(member.member_id for member in group.members) == sorted(["c", sent.joined.member_id])
    assert f"sync-g-{sent.joined.member_id}" not in bench.timers()


def test_a_replacement_with_other_topics_opens_a_round() -> None:
    """No target is computed for the last member that goes over: the classic members join again."""
    bench = HostedBench()
    bench.enroll("s", instance="i")
    bench.enter("c")
    bench.enter("", "b", instance="i")
    assert bench.snapshot().state == "PreparingRebalance"


def test_before_4_0_2_a_replacement_with_other_topics_opened_no_round() -> None:
    """A target is computed and written; the group is Stable with the former one (KAFKA-19546)."""
    bench = HostedBench(settings("4.0.1"))
    bench.enroll("s", instance="i")
    sent = bench.enter("", "b", instance="i")
    assert (generation(sent), bench.snapshot().state) == (2, "Stable")
    assert [one.value for one in bench.log if isinstance(one, TargetEpochRecord) and one.value][-1].epoch == 2


def test_before_4_3_a_replacement_before_a_new_target_opened_no_round() -> None:
    """A member has left, and no target without it was computed yet (KAFKA-20273)."""
    for release, state in (("4.2", "Stable"), ("4.3", "PreparingRebalance")):
        bench = HostedBench(settings(release))
        bench.enroll("s", instance="i")
        bench.enroll("t")
        bench.leave_group("t")
        bench.enter("", instance="i")
        assert bench.snapshot().state == state


def test_a_dynamic_id_that_is_taken_over_downgrades_nothing() -> None:
    """All members are classic then, and the group is still a consumer group."""
    bench = alone()
    bench.enter("n")
    data = bench.group().data
    assert (len(data.members), data.classic_members) == (1, 1)
    assert bench.pulse("n") is ErrorCode.NONE


def test_a_classic_member_that_replaces_a_classic_one_downgrades_nothing() -> None:
    """Also where every member is classic the group is still a consumer group."""
    bench = alone()
    bench.enter("n")
    first = bench.enter("", instance="i").joined.member_id
    again = bench.enter("", instance="i").joined.member_id
    assert again != first
    assert (sorted(bench.group().data.members), bench.snapshot().kind) == (sorted(["n", again]), "consumer")
