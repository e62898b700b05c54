"""SyncGroup, Heartbeat and LeaveGroup of classic members of a consumer group, and their commits."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.consumer_records import ClassicMetadata
from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.base.topics import KnownTopics
from groupsim.coordinator.consumer.hosted.embedded import assignment_bytes
from groupsim.coordinator.consumer.member import MemberState
from groupsim.coordinator.testing import GROUP, committed, left
from groupsim.protocol.embedded.consumer_protocol import decode_assignment
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinProtocol, LeaveGroupRequest, LeavingMember, SyncGroupRequest
from tests.helpers.heartbeat_bench import A, given, settings
from tests.helpers.hosted_bench import HostedBench, generation, offer, shared

AGAIN, NONE = ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NONE


def mixed(release: str = "4.4", *, protocol: str = "range", **changed: object) -> HostedBench:
    """Return a group of `n`, of the consumer protocol, and `m`, a classic member; each has half of `a`."""
    bench = HostedBench(settings(release, **changed))
    bench.enroll("n")
    bench.enter("m", protocol=protocol)
    bench.beat("n", bench.member("n").member_epoch)
    bench.beat("n", bench.member("n").member_epoch, owned={A: sorted(bench.member("n").assigned[A])})
    bench.enter("m", protocol=protocol)
    assert shared(bench.synchronize("m")) == {A: [3, 4, 5]}
    return bench


def test_a_sync_has_what_the_member_owns() -> None:
    """Neither what it has to revoke nor what others still have; type and protocol of the request come back."""
    bench = HostedBench()
    bench.enroll("n")
    bench.enter("m")
    assert shared(bench.synchronize("m")) == {}
    bench = mixed()
    bench.enroll("o")
    bench.enter("m", owned={A: [3, 4, 5]})
    assert bench.member("m").state is MemberState.UNREVOKED_PARTITIONS
    assert shared(bench.synchronize("m")) == {A: sorted(bench.member("m").assigned[A])}
    answer = bench.sync("m", bench.member("m").member_epoch, protocol_type="consumer", protocol_name="range").synced
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


def test_partitions_of_an_assignment_are_in_the_order_of_a_set() -> None:
    """The set has sixteen buckets, so that 16 comes before 11; expected is an answer of Kafka's class."""
    topics = KnownTopics((TopicView(A, "a", 20),))
    found = decode_assignment(assignment_bytes({A: range(11, 19)}, topics, 3))
    assert [partition for _, partition in found.partitions] == [16, 17, 18, 11, 12, 13, 14, 15]


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_sync_has_the_version_of_the_subscription(version: int) -> None:
    """The assignment of a member of an older client can be read by it."""
    bench = HostedBench()
    bench.enroll("n", "b")
    bench.join(member_id="m", protocols=(offer(version=version),), version=9)
    assignment = bench.synchronize("m").synced.assignment
    assert assignment[:2] == version.to_bytes(2, "big")
    assert len(decode_assignment(assignment).partitions) == 6


@pytest.mark.parametrize(
    ("member", "epoch", "instance", "expected"),
    [
        ("x", 3, None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("n", 3, None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("m", 2, None, ErrorCode.ILLEGAL_GENERATION),
        ("m", 4, None, ErrorCode.ILLEGAL_GENERATION),
        ("m", 3, "j", ErrorCode.UNKNOWN_MEMBER_ID),
        ("m", 3, "i", ErrorCode.FENCED_INSTANCE_ID),
    ],
)
def test_a_sender_that_does_not_fit_is_refused(
    member: str, epoch: int, instance: str | None, expected: ErrorCode
) -> None:
    """Unknown, of the consumer protocol, in another generation, with an unknown instance or that of another."""
    bench = HostedBench()
    bench.enroll("n", instance="i")
    bench.enter("m")
    assert bench.sync(member, epoch, instance=instance).error is expected
    assert bench.heartbeat(member, epoch, instance=instance).error is expected


@pytest.mark.parametrize("given_", [{"protocol_type": "connect"}, {"protocol_name": "other"}])
def test_a_sync_of_another_protocol_is_refused(given_: dict[str, str]) -> None:
    """INCONSISTENT_GROUP_PROTOCOL; a request that names none passes."""
    bench = mixed()
    epoch = bench.member("m").member_epoch
    assert bench.sync("m", epoch, **given_).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.sync("m", epoch).error is NONE


def test_a_sync_behind_the_target_is_refused() -> None:
    """REBALANCE_IN_PROGRESS, and the member has its rebalance timeout to join again."""
    bench = mixed()
    bench.enroll("o")
    assert bench.synchronize("m").error is AGAIN
    assert bench.timers()["join-g-m"] == 60_000


def test_a_cooperative_member_joins_twice_to_give_partitions_up() -> None:
    """The first join takes them away, the second confirms that, and its epoch moves only then."""
    bench = mixed(protocol="cooperative-sticky")
    bench.enroll("o")
    assert bench.pulse("m") is AGAIN
    assert generation(bench.enter("m", owned={A: [3, 4, 5]}, protocol="cooperative-sticky")) == 3
    kept = shared(bench.synchronize("m"))[A]
    assert len(kept) == 2
    assert bench.pulse("m") is AGAIN
    assert generation(bench.enter("m", owned={A: kept}, protocol="cooperative-sticky")) == 4
    assert (bench.pulse("m"), shared(bench.synchronize("m"))) == (NONE, {A: kept})


def test_an_eager_member_joins_once() -> None:
    """It names no partitions: all it had are revoked, and it has its new ones with the same join."""
    bench = mixed()
    bench.enroll("o")
    assert bench.pulse("m") is AGAIN
    assert generation(bench.enter("m")) == 4
    assert len(shared(bench.synchronize("m"))[A]) == 2
    assert bench.pulse("m") is NONE


def test_a_member_that_waits_joins_again_once_all_is_free() -> None:
    """While another member still has a partition of its target a heartbeat is answered NONE."""
    bench = HostedBench()
    bench.enroll("n")
    bench.enter("m")
    assert bench.member("m").state is MemberState.UNRELEASED_PARTITIONS
    assert bench.pulse("m") is NONE
    bench.beat("n", 2)
    assert bench.pulse("m") is NONE
    bench.beat("n", 2, owned={A: [0, 1, 2]})
    assert bench.pulse("m") is AGAIN
    bench.enter("m")
    assert (bench.pulse("m"), shared(bench.synchronize("m"))) == (NONE, {A: [3, 4, 5]})


def test_a_bump_without_a_target_asks_nobody_to_join_since_4_3() -> None:
    """The target comes with a later heartbeat; before KAFKA-20272 the member joined again for the epoch alone."""
    for release, expected in (("4.2", AGAIN), ("4.4", NONE)):
        bench = mixed(release)
        bench.enroll("o", "b")
        bench.leave_group("o")
        bench.enter("m", owned={A: [3, 4, 5]})
        bench.beat("n", bench.member("n").member_epoch)
        bench.enroll("p", "b")
        bench.enter("m", owned={A: [3, 4, 5]})
        bench.beat("n", bench.member("n").member_epoch)
        bench.leave_group("p")
        assert bench.epochs()[0] == "Assigning"
        assert bench.pulse("m") is expected, release


def test_classic_members_leave_together() -> None:
    """One bump for all that are there, and an error for each that is not."""
    bench = mixed()
    bench.enter("", instance="i")
    epoch = bench.epochs()[1]
    entries = (LeavingMember("m"), LeavingMember("x"), LeavingMember("x", "i"), LeavingMember("", "i"))
    assert left(bench.send(LeaveGroupRequest(GROUP, entries))) == [
        NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        NONE,
    ]
    assert (bench.epochs()[1], list(bench.group().data.members)) == (epoch + 1, ["n"])
    assert bench.timers_of("m") == {}


def test_a_leave_that_makes_the_group_classic_may_fail() -> None:
    """A protocol that all support, but whose metadata has no version, is voted for: nothing is written."""
    bench = HostedBench()
    bench.enroll("n")
    broken = JoinProtocol("second", b"")
    bench.join(member_id="c", protocols=(offer(protocol="first"), broken), version=9)
    bench.join(member_id="d", protocols=(offer(protocol="second"),), version=9)
    since = len(bench.log)
    sent = bench.send(LeaveGroupRequest(GROUP, (LeavingMember("n"),)))
    assert sent.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert (bench.records(since), len(bench.group().data.members)) == ([], 3)


def test_commits_of_a_classic_member_have_its_generation() -> None:
    """ILLEGAL_GENERATION for a later one, and for an older one of a partition that it has had only since."""
    bench = mixed()
    epoch = bench.member("m").member_epoch
    for number, at, expected in (
        (3, epoch, NONE),
        (0, epoch, NONE),
        (3, epoch + 1, ErrorCode.ILLEGAL_GENERATION),
        (0, epoch - 1, ErrorCode.ILLEGAL_GENERATION),
    ):
        sent = bench.commit_offset(5, member_id="m", generation=at, topic="a", partition=number, version=8)
        assert committed(sent) == [expected], (number, at)


def test_a_sync_whose_subscription_has_no_version_has_no_answer() -> None:
    """As in Kafka, whose callback throws: an upgraded member may have such a protocol before the one in use."""
    bench = mixed()
    data = bench.group().data
    member = data.members["m"]
    broken = ClassicMetadata(30_000, (JoinProtocol("first", b""),))
    object.__setattr__(member, "classic", broken)
    sent = bench.send(SyncGroupRequest(GROUP, member.member_epoch, "m"))
    assert (sent.answered, sent.dropped) == (False, "the member's subscription has no version")


def test_requests_of_a_mixed_group_after_a_load() -> None:
    """A loaded group answers its classic members as before."""
    bench = mixed()
    loaded = HostedBench(bench.config, records=bench.log, now_us=bench.now_us)
    assert loaded.pulse("m") is NONE
    assert shared(loaded.synchronize("m")) == {A: [3, 4, 5]}
    assert given(loaded.beat("n", loaded.member("n").member_epoch)) == (3, None)
