"""What no client of Kafka's asks groups for, and yet may: names twice or without letters, lists without entries."""

from __future__ import annotations

from tests.conformance.script import Script, script

NOT_FOUND = "GROUP_ID_NOT_FOUND"
OTHER_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"
STRANGE = (" ", "ü", "a\nb", "\0", "x" * 300)


@script(rows=["1.11-delete-is-per-group"], versions=(0, 1, 2))
async def groups_named_twice_are_deleted_once(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    other = s.named(".2")
    await a.commit(offsets={t: {0: 1}})
    await a.delete(s.v, [s.group, other, s.group, other], error=NOT_FOUND)
    await a.delete(s.v, [s.group, s.group], error=NOT_FOUND)
    await a.delete(s.v, [])


@script(rows=["1.10-describe-of-several-partitions"], versions=(0, 3, 5, 6))
async def groups_named_twice_are_described_twice(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    other = s.named(".2")
    await a.commit(offsets={t: {0: 1}})
    await a.describe(s.v, [s.group, other, s.group], error=NOT_FOUND if s.v >= 6 else "NONE")
    await a.describe(s.v, [])


@script(rows=["J1-fresh-ids-are-client-id-and-uuid", "1.6-{no-id-no-instance,admin-instance}"], versions=(5, 7, 9))
async def an_instance_without_letters(s: Script) -> None:
    a = await s.actor("a", instance="")
    await a.park_join(s.v)
    await a.answer()
    await a.sync(give={a: "all"})
    await a.describe(5)
    await a.leave(members=[("", None)], error="UNKNOWN_MEMBER_ID")
    await a.heartbeat()
    await a.leave(members=[("", "")])


@script(rows=["J1-fresh-ids-are-client-id-and-uuid"], versions=(3, 4, 9))
async def clients_with_strange_names(s: Script) -> None:
    for number, name in enumerate(("", "ü b", "x" * 1_000)):
        a = await s.actor(name)
        group = s.named(f".{number}")
        if s.v >= 4:
            await a.join(s.v, group=group, error="MEMBER_ID_REQUIRED")
        await a.park_join(s.v, group=group)
        await a.answer()
        await a.describe(5, [group])


@script(rows=["1.3-new-group-gets-its-record", "1.10-describe-unknown-v5"], versions=(4, 9))
async def groups_with_strange_names(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    for strange in STRANGE:
        group = s.named(f".{strange}")
        a.member_id = ""
        await a.join(s.v, group=group, error="MEMBER_ID_REQUIRED")
        await a.commit(offsets={t: {0: 1}}, group=group, generation=-1, member="")
        await a.fetch(8, {t: [0]}, groups=[group])
        await a.find(keys=[group])
        await a.describe(5, [group])
        await a.delete(groups=[group])


@script(rows=["1.12-batched-keys"], versions=(4, 6))
async def coordinators_looked_for_twice(s: Script) -> None:
    a = await s.actor()
    for key_type in (0, 1):
        await a.find(s.v, [s.group, "", s.group, ""], key_type=key_type)
        await a.ask("FindCoordinator", s.v, {"key": "", "key_type": key_type, "coordinator_keys": []})


@script(rows=["1.10-list-{state-trimmed-any-case,state-unknown,type-any-case,type-unknown,both}"], versions=(4, 5))
async def lists_by_strange_states(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    for states in (
        ["EMPTY"],
        [" empty "],
        [""],
        ["Empty", ""],
        ["dead", "eMPTY"],
        ["Preparing Rebalance"],
        ["Assigning"],
    ):
        await a.list(s.v, states=states)
        for types in (["CLASSIC"], ["Classic", "nothing"], [""], ["share"]) if s.v >= 5 else ():
            await a.list(s.v, states=states, types=types)


@script(
    rows=["J1-{Empty-no-protocols,Empty-no-type,Stable-no-protocols,Stable-other-type}"],
    versions=(3, 4, 9),
)
async def strange_types_and_protocols_of_newcomers(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    b = await s.actor("b")
    for kind in ("", "Consumer", " consumer"):
        await b.join(s.v, protocol_type=kind, error=OTHER_PROTOCOL)
    for protocols in ([], [("", "m")], [("Range", "m")], [("range ", "m")]):
        await b.join(s.v, protocols=protocols, error=OTHER_PROTOCOL)
    await a.heartbeat()
    await a.leave()
    await b.join(s.v, protocols=[], error=OTHER_PROTOCOL)
    await b.join(s.v, protocol_type="", error=OTHER_PROTOCOL)
    await b.enter(s.v, protocol_type="Consumer", protocols=[("", "m")])
    await b.answer()
    await b.describe(5)


@script(rows=["J2-{Stable-leader-equal,Stable-leader-changed}", "1.4-protocol-type-differs"], versions=(5, 9))
async def a_sole_member_comes_again_with_other_things(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await a.join(s.v, protocol_type="connect", error=OTHER_PROTOCOL)
    await a.join(s.v, protocols=[], error=OTHER_PROTOCOL)
    await a.join(s.v, protocols=[("other", "m")], error=OTHER_PROTOCOL)
    await a.heartbeat()
    await a.join(s.v, protocols=[("range", ""), ("other", "m" * 5_000)])
    await a.sync(protocol_type="connect", error=OTHER_PROTOCOL)
    await a.sync(protocol="other", error=OTHER_PROTOCOL)
    await a.sync(give={a: ""})
    await a.describe(5)


@script(
    rows=["1.2-session-{too-short,shortest,longest,too-long}", "1.2-rebalance-timeout-is-not-validated"],
    versions=(0, 4, 9),
)
async def extremes_of_timeouts(s: Script) -> None:
    a = await s.actor()
    for session in (-(2**31), -1, 0, 99, 60_001, 2**31 - 1):
        for rebalance in (-(2**31), -1, 0, 2**31 - 1):
            await a.join(s.v, session=session, rebalance=rebalance, error="INVALID_SESSION_TIMEOUT")
    for number, rebalance in enumerate((-(2**31), -1, 0, 2**31 - 1)):
        group = s.named(f".{number}")
        a.member_id = ""
        if s.v >= 4:
            await a.join(s.v, group=group, rebalance=rebalance, error="MEMBER_ID_REQUIRED")
        await a.park_join(s.v, group=group, rebalance=rebalance)
        await a.answer()


@script(
    rows=["1.5-empty-group", "1.4-empty-group", "1.6-unknown-id", "1.7-commit-with-a-generation-to-an-empty-group"],
    versions=(3, 5),
)
async def a_simple_group_is_asked_as_if_it_had_members(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    await a.heartbeat(min(s.v, 4), member="m", generation=1, error="UNKNOWN_MEMBER_ID")
    await a.sync(s.v, member="m", generation=1, protocol="range", error="UNKNOWN_MEMBER_ID")
    await a.leave(s.v, members=[("m", None), ("", "i"), ("m", "i"), ("", None)], error="UNKNOWN_MEMBER_ID")
    await a.leave(s.v, members=[])
    await a.commit(offsets={t: {0: 2}}, member="m", generation=1, error="UNKNOWN_MEMBER_ID")
    await a.commit(offsets={t: {0: 3}}, member="m", generation=-1)
    await a.commit(offsets={t: {0: 4}}, member="", generation=-2)
    await a.join(s.v, member="m", error="UNKNOWN_MEMBER_ID")
    await a.fetch(8, {t: [0]})
    await a.delete_offsets({t: [0, 0, 7]}, error="UNKNOWN_TOPIC_OR_PARTITION")
    await a.describe(5)


@script(rows=["1.6-mixed-batch-keeps-order-and-counts-one-success"], versions=(3, 5))
async def a_batch_names_members_more_than_once(s: Script) -> None:
    a, b = await s.actor("a", instance="i"), await s.actor("b")
    await s.form(a, b)
    batch = [
        (b.member_id, "i"),
        ("", "j"),
        (a.member_id, "j"),
        ("", ""),
        ("nobody", None),
        (b.member_id, None),
        (b.member_id, None),
        ("", "i"),
        (a.member_id, "i"),
        ("", "i"),
    ]
    await a.leave(s.v, members=batch, error="UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID")
    await a.describe(5)


@script(rows=["1.9-{Empty,no-group}"], versions=(1, 2, 5, 7, 8, 9, 10))
async def partitions_of_all_kinds(s: Script) -> None:
    a = await s.actor()
    t, none = await s.topic(partitions=2), s.no_topic()
    await a.commit(offsets={t: {0: 1, 1: 2}}, metadata=None)
    for stable in (False, True):
        await a.fetch(s.v, {t: [1, -1, 9, 0, 0]}, stable=stable)
        await a.fetch(s.v, {t: []}, stable=stable)
        await a.fetch(s.v, {}, stable=stable)
        if s.v >= 2:
            await a.fetch(s.v, None, stable=stable)
        if s.v < 10:
            await a.fetch(s.v, {none: [0], t: [1]}, stable=stable)
    if s.v >= 8:
        await a.fetch(s.v, {t: [0]}, groups=[s.group, s.named(".none"), s.group])


@script(rows=["1.7-metadata-{at-limit,too-large}", "1.7-{topic-unknown,partition-negative}"], versions=(2, 5, 8, 9))
async def a_commit_of_all_kinds(s: Script) -> None:
    a = await s.actor()
    t, none = await s.topic(partitions=2), s.no_topic()
    wrong = "UNKNOWN_TOPIC_OR_PARTITION"
    await a.commit(s.v, {t: {0: -1, 1: -(2**63)}})
    await a.commit(s.v, {t: {0: 2**63 - 1}}, leader_epoch=-5)
    await a.commit(s.v, {t: {0: 5, -1: 5, 2: 5}, none: {0: 1}}, error=wrong)
    await a.commit(s.v, {t: {0: 6}}, metadata="é" * 4_096)
    await a.commit(s.v, {t: {0: 7}}, metadata="é" * 4_097, error="OFFSET_METADATA_TOO_LARGE")
    await a.commit(s.v, {t: {}})
    await a.fetch(8, None)


@script(
    rows=["1.7-Empty-{anonymous,member-ignored,instance-ignored}", "1.7-anonymous-to-a-live-group"], versions=(2, 7, 9)
)
async def commits_from_outside_in_every_state(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    o = await s.actor("o")
    unknown = "UNKNOWN_MEMBER_ID"

    async def commit(error: str) -> None:
        await o.commit(s.v, {t: {0: 1}}, generation=-1, member="", error=error)
        if s.v >= 7:
            await o.commit(s.v, {t: {0: 2}}, generation=-1, member="", instance="i", error=error)

    await commit("NONE")
    await a.enter()
    await s.until("PreparingRebalance", 1)
    await commit(unknown)
    await a.answer()
    await commit(unknown)
    await a.sync(give={a: "all"})
    await commit(unknown)
    await a.leave()
    await commit("NONE")
    await o.fetch(8, None)


@script(rows=["1.11-offset-delete-{PreparingRebalance,CompletingRebalance,Stable}-consumer"])
async def offsets_deleted_twice_and_elsewhere(s: Script) -> None:
    a, t, none = await s.actor(), await s.topic(partitions=2), s.no_topic()
    await a.commit(offsets={t: {0: 1, 1: 1}})
    wrong = "UNKNOWN_TOPIC_OR_PARTITION"
    await a.delete_offsets({t: [0, 0]})
    await a.delete_offsets({t: [-1, 1, 9]}, error=wrong)
    await a.delete_offsets({none: [0], t: [0]}, error=wrong)
    await a.delete_offsets({t: []})
    await a.delete_offsets({})
    await a.fetch(8, None)


@script(rows=["2.8-sync-timer-is-armed-for-the-longest-rebalance-timeout", "J3-Completing-leader"], versions=(7, 9))
async def an_instance_that_is_replaced_lets_the_sync_time_out(s: Script) -> None:
    a, b = await s.actor("a", instance="i"), await s.actor("b")
    await s.gather(a, b, rebalance=700)
    await s.joined(a, b)
    again = await s.actor("again", instance="i")
    await again.park_join(s.v, rebalance=700)
    await s.until("PreparingRebalance", 2)
    await a.heartbeat(error="FENCED_INSTANCE_ID")
    await b.park_join(rebalance=700)
    await b.answer()
    await again.answer()
    await b.heartbeat()
    await s.until("Empty", 0)
    await b.heartbeat(error="UNKNOWN_MEMBER_ID")
    await again.heartbeat(error="UNKNOWN_MEMBER_ID")
