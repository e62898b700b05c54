"""The group size limit (2.10): who is let in, who is put out, and what is not looked at again."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.testing import GROUP, Bench
from tests.helpers.tables_kit import (
    BOTH,
    COMPLETING,
    PREPARING,
    REBALANCE_MS,
    SESSION_MS,
    STABLE,
    E,
    Scene,
    bench,
    causes,
    is_parked,
    scene,
)

LIMIT = {"group.max.size": 2}


def full(state: str, **options: object) -> Scene:
    """A group of two members where two is the limit."""
    if state == PREPARING:
        stage = scene(STABLE, properties=LIMIT, **options)  # type: ignore[arg-type]
        stage.bench.join(member_id=stage.leader)
        assert stage.bench.state == PREPARING
        return stage
    return scene(state, properties=LIMIT, **options)  # type: ignore[arg-type]


def refused(sent: object) -> bool:
    """Whether the join was refused for size, without an id."""
    answer = sent.joined  # type: ignore[attr-defined]
    return (answer.error, answer.member_id) == (E.GROUP_MAX_SIZE_REACHED, "")


def test_empty_group_accepts_always() -> None:
    """2.10: Empty accepts, however many ids are pending."""
    made = bench({"group.max.size": 1})
    first, second = (made.join(name, version=4) for name in "ab")
    assert [first.error, second.error] == [E.MEMBER_ID_REQUIRED, E.MEMBER_ID_REQUIRED]


@pytest.mark.parametrize("state", [pytest.param(s, id=f"2.10-{s}-newcomer") for s in (COMPLETING, STABLE)])
@pytest.mark.parametrize("version", [3, 4])
def test_full_group_refuses_newcomers(state: str, version: int) -> None:
    """2.10: in CompletingRebalance and Stable a newcomer needs numMembers < max; no handshake is begun."""
    stage = full(state)
    before = stage.bench.snapshot()
    assert refused(stage.bench.join("x", version=version))
    assert stage.bench.snapshot() == before


@pytest.mark.parametrize("state", [pytest.param(s, id=f"2.10-{s}-member") for s in (COMPLETING, STABLE)])
def test_full_group_accepts_its_members(state: str) -> None:
    """2.10: in CompletingRebalance and Stable a member's id is always accepted."""
    stage = full(state)
    assert stage.bench.join(member_id=stage.follower).joined.error is E.NONE


def test_preparing_counts_those_who_have_joined() -> None:
    """2.10: in PreparingRebalance there is room while fewer than max await the join, new members or known ones."""
    stage = full(PREPARING)
    newcomer = stage.bench.join("x")
    assert is_parked(newcomer)
    assert refused(stage.bench.join("y"))


def test_preparing_accepts_who_is_parked_already() -> None:
    """2.10: a member whose join is parked may send it again though max are parked."""
    stage = full(PREPARING)
    stage.bench.join("x")
    assert is_parked(stage.bench.join(member_id=stage.leader))


def test_last_to_rejoin_is_put_out() -> None:
    """2.10: a member that rejoins when max are parked is refused and removed on the spot."""
    stage = full(PREPARING)
    stage.bench.join("x")
    assert refused(stage.bench.join(member_id=stage.follower))
    assert stage.follower not in [m.member_id for m in stage.bench.snapshot().members]


def test_putting_out_does_not_look_again() -> None:
    """2.10: the removal neither completes the round nor stops the session timer: the round waits for its timer."""
    stage = full(PREPARING)
    parked = stage.bench.join("x")
    stage.bench.join(member_id=stage.follower)
    assert is_parked(parked)
    assert stage.bench.state == PREPARING
    assert stage.deadline_ms(stage.follower) == SESSION_MS
    stage.bench.advance_ms(SESSION_MS)
    assert is_parked(parked)
    stage.bench.advance_ms(REBALANCE_MS - SESSION_MS)
    assert parked.joined.generation_id == 2


def test_pending_ids_are_not_counted() -> None:
    """2.10: more pending ids than the limit can be handed out; the surplus is refused at its second JoinGroup."""
    made = bench({**LIMIT, "group.initial.rebalance.delay.ms": 0})
    ids = [made.join(name, version=4).joined.member_id for name in "abc"]
    sent = [made.join(member_id=one, version=4) for one in ids]
    assert [is_parked(one) for one in sent[:2]] == [True, True]
    assert refused(sent[2])
    assert made.snapshot().pending_join == ()


def test_pending_id_of_a_full_stable_group() -> None:
    """2.10: a pending id handed out while there was room is refused later, and is no longer pending."""
    made = bench(LIMIT)
    made.stable("a", rebalance_ms=10_000)
    late = made.join("x", version=4).joined.member_id
    newcomer = made.join("y", rebalance_ms=10_000)
    made.join(member_id="a-1", rebalance_ms=10_000)
    made.advance_ms(10_000)
    assert newcomer.joined.generation_id == 2
    assert refused(made.join("x", member_id=late, version=4))
    assert made.snapshot().pending_join == ()
    assert len(made.snapshot().members) == 2


@pytest.mark.parametrize("state", [pytest.param(s, id=f"2.10-{s}-static-restart") for s in (COMPLETING, STABLE)])
def test_full_group_refuses_a_static_restart(state: str) -> None:
    """2.10: capacity is checked before the instance: a restarting static member of a full group is refused."""
    stage = full(state, static=True)
    before = stage.bench.snapshot()
    assert refused(stage.bench.join("b", instance="b", version=9))
    assert stage.bench.snapshot() == before


def test_capacity_is_checked_before_protocols() -> None:
    """1.3: a newcomer with foreign protocols to a full group hears of the size."""
    assert refused(full(STABLE).bench.join("x", protocol_type="connect"))


def reloaded(size: int, limit: int) -> Bench:
    """A group of this size, loaded by a coordinator with this limit."""
    made = bench()
    made.stable(*(f"c{number}" for number in range(size)), protocols=BOTH)
    config = CoordinatorConfig.from_properties({"group.max.size": limit})
    return Bench(config, records=made.log, now_us=made.now_us)


def test_loaded_group_over_capacity() -> None:
    """2.10: on load a group above the limit opens a round at once; the last to rejoin are shed."""
    made = reloaded(3, 2)
    assert made.state == PREPARING
    assert causes(made)[-1] == "OVER_CAPACITY"
    ids = [m.member_id for m in made.snapshot().members]
    sent = [made.join(member_id=one, protocols=BOTH) for one in ids]
    assert refused(sent[2])
    assert made.timers()[f"join-{GROUP}"] == REBALANCE_MS
    made.advance_ms(REBALANCE_MS)
    assert (made.state, len(made.snapshot().members)) == (COMPLETING, 2)


def test_loaded_group_at_capacity() -> None:
    """2.10: a loaded group of exactly the limit stays Stable."""
    assert reloaded(2, 2).state == STABLE


def test_default_limit_is_no_limit() -> None:
    """2.10: group.max.size is 2147483647 by default."""
    assert CoordinatorConfig().group_max_size == 2_147_483_647


def test_room_again_after_a_leave() -> None:
    """2.10: once a member has left, a newcomer fits."""
    stage = full(STABLE)
    stage.bench.leave(stage.follower)
    assert is_parked(stage.bench.join("x"))
