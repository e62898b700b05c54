"""Static members: replacement, fencing, absence."""

from __future__ import annotations

import pytest
from attrs import evolve

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.testing import RANGE, Bench, Sent, left
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinProtocol

BOTH = (*RANGE, JoinProtocol("roundrobin", b""))


def static_group(bench: Bench, *instances: str, **join: object) -> dict[str, str]:
    """A stable group of these instances; returns their member ids."""
    sent = {name: bench.join(instance=name, **join) for name in instances}  # type: ignore[arg-type]
    bench.finish_round()
    bench.assign()
    return {name: one.joined.member_id for name, one in sent.items()}


@pytest.mark.parametrize("version", [5, 9])
def test_returning_static_leader_keeps_its_seat_without_a_rebalance(version: int) -> None:
    """From v9 it is told that it leads and need not assign; before, the old id is named so that it follows."""
    bench = Bench()
    ids = static_group(bench, "i1", "i2")
    leader = bench.snapshot().leader
    name = next(instance for instance, member in ids.items() if member == leader)
    back = bench.join(instance=name, version=version)
    answer = back.joined
    assert answer.error is ErrorCode.NONE
    assert bench.state == "Stable"
    assert bench.snapshot().leader == answer.member_id != leader
    if version == 9:
        assert (answer.leader, answer.skip_assignment, len(answer.members)) == (answer.member_id, True, 2)
    else:
        assert (answer.leader, answer.skip_assignment, answer.members) == (leader, False, ())
    assert bench.sync(answer.member_id, 1, instance=name).synced.assignment == ids[name].encode()


def test_old_id_of_a_replaced_static_member_is_fenced_everywhere() -> None:
    """After the replacement every request with the instance and the old id is answered FENCED_INSTANCE_ID."""
    bench = Bench()
    ids = static_group(bench, "i1")
    bench.join(instance="i1")
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert bench.heartbeat(ids["i1"], 1, instance="i1").error is fenced
    assert bench.sync(ids["i1"], 1, instance="i1").error is fenced
    assert bench.join(member_id=ids["i1"], instance="i1").error is fenced
    assert bench.commit_offset(1, member_id=ids["i1"], generation=1, instance="i1").error is fenced


def test_replacement_is_taken_back_when_its_record_cannot_be_written() -> None:
    """On a failed append the old id is in its place again, with what it offered, and the join is told the error."""
    bench = Bench()
    ids = static_group(bench, "i1", "i2")
    before = bench.snapshot()
    bench.auto_commit = False
    back = bench.join(instance="i2", session_ms=10_000)
    assert not back.answered
    bench.fail_append(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert back.error is ErrorCode.NOT_COORDINATOR
    assert back.joined.member_id == ""
    after = bench.snapshot()
    restored = evolve(after.member(ids["i2"]), session_due_us=None)
    assert restored == evolve(before.member(ids["i2"]), session_due_us=None)
    assert after.member(ids["i2"]).session_due_us == bench.now_us + 45_000_000
    assert after.leader == before.leader


def test_static_member_whose_protocol_changes_the_vote_starts_a_round() -> None:
    """In Stable a replacement that changes the selected protocol is parked and opens a round."""
    bench = Bench()
    static_group(bench, "i1", protocols=BOTH)
    back = bench.join(instance="i1", protocols=BOTH[::-1])
    assert bench.states()[-2] == ("Stable", "PreparingRebalance", "STATIC_PROTOCOL")
    assert back.joined.protocol_name == "roundrobin"


def test_static_member_that_returns_while_the_leader_assigns_starts_a_round() -> None:
    """In CompletingRebalance any replacement opens a round, and the parked sync of the old id is fenced."""
    bench = Bench()
    one, two = bench.join(instance="i1"), bench.join(instance="i2")
    bench.finish_round()
    follower: Sent = two if one.joined.leader == one.joined.member_id else one
    name = follower.request.group_instance_id  # type: ignore[union-attr]
    parked = bench.sync(follower.joined.member_id, 1, instance=name)
    bench.join(instance=name)
    assert parked.error is ErrorCode.FENCED_INSTANCE_ID
    assert bench.states()[-1] == ("CompletingRebalance", "PreparingRebalance", "STATIC_META")


def test_ghost_of_a_replaced_id_brings_a_rebalance_of_a_healthy_group() -> None:
    """An old id that had not synced when it was replaced stays in the pending-sync set until the sync timer fires."""
    bench = Bench()
    one, two = bench.join(instance="i1", rebalance_ms=60_000), bench.join(instance="i2", rebalance_ms=60_000)
    bench.finish_round()
    leader, follower = (one, two) if one.joined.leader == one.joined.member_id else (two, one)
    plan = {sent.joined.member_id: b"x" for sent in (one, two)}
    bench.sync(leader.joined.member_id, 1, plan)
    back = bench.join(instance=follower.request.group_instance_id, rebalance_ms=60_000)  # type: ignore[union-attr]
    ids = [leader.joined.member_id, back.joined.member_id]
    for _ in range(12):
        assert bench.state == "Stable"
        bench.advance_ms(5_000)
        for member in ids:
            bench.heartbeat(member, 1)
    assert bench.states()[-1] == ("Stable", "PreparingRebalance", "SYNC_EXPIRED")
    assert {member.member_id for member in bench.snapshot().members} == set(ids)


def test_full_group_refuses_a_restarting_static_member() -> None:
    """Capacity is looked at before the instance: with every seat taken the owner of one is refused."""
    bench = Bench(CoordinatorConfig(group_max_size=2))
    static_group(bench, "i1", "i2")
    assert bench.join(instance="i1").error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_absent_static_members_stay_and_a_joined_one_leads() -> None:
    """At the join timer static members stay; a leader that did not come is replaced by one that did."""
    bench = Bench()
    ids = static_group(bench, "i1", "i2", session_ms=120_000, rebalance_ms=20_000)
    leader = bench.snapshot().leader
    name = next(instance for instance, member in ids.items() if member != leader)
    bench.join("newcomer", rebalance_ms=20_000, session_ms=120_000)
    back = bench.join(member_id=ids[name], instance=name, rebalance_ms=20_000, session_ms=120_000)
    bench.advance_ms(20_000)
    assert back.joined.generation_id == 2
    assert len(bench.snapshot().members) == 3
    assert bench.snapshot().leader != leader


def test_round_without_any_joined_member_waits_on() -> None:
    """If only absent static members are left, the join timer is set again until their sessions remove them."""
    bench = Bench()
    static_group(bench, "i1", "i2", session_ms=50_000, rebalance_ms=20_000)
    newcomer = bench.join("n", rebalance_ms=20_000)
    bench.leave("n-3")
    assert newcomer.answered
    bench.advance_ms(20_000)
    assert bench.state == "PreparingRebalance"
    bench.advance_ms(40_000)
    assert bench.state == "Empty"


def test_administrator_removes_static_members_by_instance() -> None:
    """LeaveGroup with member id "" removes by instance; an unknown instance is UNKNOWN_MEMBER_ID; order is kept."""
    bench = Bench()
    static_group(bench, "i1", "i2")
    answer = bench.remove_instances("i2", "nobody")
    assert left(answer) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert [member.instance_id for member in bench.snapshot().members] == ["i1"]


def test_brokers_before_2_3_do_not_know_static_members() -> None:
    """On an older broker the instance id is not looked at: the member is an ordinary one."""
    bench = Bench(CoordinatorConfig("2.2"))
    asked = bench.join("c", instance="i1")
    assert asked.error is ErrorCode.MEMBER_ID_REQUIRED
    bench.rejoin(asked)
    assert [member.instance_id for member in bench.snapshot().members] == [None]
