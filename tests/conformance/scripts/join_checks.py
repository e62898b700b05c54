"""JoinGroup before the group is looked at, and the order of evaluation (reference 1.2 and 1.3)."""

from __future__ import annotations

from tests.conformance.script import Script, script

ALL = tuple(range(10))
SHAPES = (0, 1, 4, 5, 7, 9)


@script(rows=["1.2-empty-group-id-JoinGroup"], versions=SHAPES)
async def join_without_a_group_id(s: Script) -> None:
    a = await s.actor()
    await a.join(v=s.v, group="", error="INVALID_GROUP_ID")
    await a.join(v=s.v, group="", member="somebody", error="INVALID_GROUP_ID")


@script(rows=["1.2-session-too-short", "1.2-session-too-long"], versions=SHAPES)
async def join_with_a_session_out_of_bounds(s: Script) -> None:
    a = await s.actor()
    await a.join(v=s.v, session=99, error="INVALID_SESSION_TIMEOUT")
    await a.join(v=s.v, session=60_001, error="INVALID_SESSION_TIMEOUT")
    await a.join(v=s.v, session=-1, error="INVALID_SESSION_TIMEOUT")
    await a.join(v=s.v, session=99, member="somebody", error="INVALID_SESSION_TIMEOUT")
    await a.describe(v=5)


@script(rows=["1.2-session-shortest", "1.2-session-longest"], versions=(4, 9))
async def join_with_a_session_at_the_bounds(s: Script) -> None:
    a, b = await s.pair()
    await a.join(v=s.v, session=100, error="MEMBER_ID_REQUIRED")
    await b.join(v=s.v, session=60_000, error="MEMBER_ID_REQUIRED")


@script(rows=["1.2-rebalance-timeout-is-not-validated"], versions=(1, 9))
async def join_with_any_rebalance_timeout(s: Script) -> None:
    a, b = await s.pair()
    await a.enter(v=s.v, rebalance=-1)
    await s.until("PreparingRebalance", 1)
    await a.answer()
    await b.enter(v=s.v, rebalance=2**31 - 1)
    await s.until("PreparingRebalance")
    if s.v == 1:
        await s.settle()


@script(rows=["1.3-unknown-group-with-member-id"], versions=ALL)
async def join_with_an_id_to_no_group(s: Script) -> None:
    a = await s.actor()
    await a.join(v=s.v, member="somebody", error="UNKNOWN_MEMBER_ID")
    await a.describe(v=5)
    await a.list()


@script(rows=["1.3-unknown-group-with-member-id"], versions=(5, 9))
async def join_of_an_instance_with_an_id_to_no_group(s: Script) -> None:
    a = await s.actor(instance="i")
    await a.join(v=s.v, member="somebody", error="UNKNOWN_MEMBER_ID")
    await a.describe(v=5)


@script(rows=["1.3-record-despite-inconsistent", "J1-Empty-no-protocols"], versions=SHAPES)
async def join_without_protocols_makes_the_group(s: Script) -> None:
    a = await s.actor()
    await a.join(v=s.v, protocols={}, error="INCONSISTENT_GROUP_PROTOCOL")
    await s.until("Empty", 0)
    await a.describe(v=6)
    await a.list()
    await a.join(v=s.v, protocol_type="", error="INCONSISTENT_GROUP_PROTOCOL")
    await a.join(v=s.v, protocols={}, member="somebody", error="INCONSISTENT_GROUP_PROTOCOL")
    await a.join(v=s.v, member="somebody", error="UNKNOWN_MEMBER_ID")


@script(rows=["1.3-record-despite-handshake", "J1-Empty-dynamic-handshake"], versions=(4, 5, 6, 7, 8, 9))
async def join_handshake_makes_the_group(s: Script) -> None:
    a = await s.actor()
    await a.join(v=s.v, error="MEMBER_ID_REQUIRED")
    await s.until("Empty", 0)
    await a.describe(v=6)
    await a.list()
    await a.join(v=s.v, member="somebody", error="UNKNOWN_MEMBER_ID")


@script(rows=["1.3-sole-member-cannot-change-its-protocol"], versions=(3, 9))
async def join_of_a_sole_member_with_another_protocol(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await a.join(v=s.v, protocols={"roundrobin": "x"}, error="INCONSISTENT_GROUP_PROTOCOL")
    await a.heartbeat()


@script(rows=["1.3-one-common-protocol-is-enough", "1.3-a-protocol-that-only-some-offer-is-not-enough"])
async def join_with_one_common_protocol(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await a.enter(protocols={"range": "a", "roundrobin": "aa"})
    await s.until("PreparingRebalance", 1)
    await b.enter(protocols={"roundrobin": "b", "sticky": "bb"})
    await s.until("PreparingRebalance", 2)
    await c.join(protocols={"sticky": "c", "range": "cc"}, error="INCONSISTENT_GROUP_PROTOCOL")
    await s.joined(a, b)


@script(rows=["1.3-matches-{equal,order,number,bytes,names}"])
async def join_again_with_what_counts_as_changed(s: Script) -> None:
    a, b = await s.pair()
    both = {"range": "1", "roundrobin": "2"}
    await s.gather(a, b, protocols=both)
    await s.joined(a, b)
    await s.synced(a, b)
    await b.join(protocols=both)
    for changed in (
        {"roundrobin": "2", "range": "1"},
        {"range": "1"},
        {"range": "1", "roundrobin": "3"},
        {"range": "1", "sticky": "2"},
    ):
        await b.park_join(protocols=changed)
        await s.until("PreparingRebalance", 2)
        await a.park_join(protocols=both)
        await s.joined(a, b)
        await s.synced(a, b)
        await b.park_join(protocols=both)
        await s.until("PreparingRebalance", 2)
        await a.park_join(protocols=both)
        await s.joined(a, b)
        await s.synced(a, b)
