"""DeleteGroups and OffsetDelete (reference 1.11)."""

from __future__ import annotations

from tests.conformance.basics import subscription
from tests.conformance.script import Script, script

ALL = (0, 1, 2)


@script(rows=["1.11-delete-missing-group", "1.2-empty-group-id-DeleteGroups"], versions=ALL)
async def delete_no_group(s: Script) -> None:
    a = await s.actor()
    await a.delete(v=s.v, error="GROUP_ID_NOT_FOUND")
    await a.delete(v=s.v, groups=[])


@script(
    rows=[
        "1.11-delete-{Preparing,Completing,Stable,Empty}",
        "2.1-generation-begins-at-zero-after-a-delete",
        "1.11-joining-a-deleted-group-makes-a-new-one",
    ],
    versions=ALL,
)
async def delete_in_every_state(s: Script) -> None:
    a = await s.actor()
    watch = await s.actor("watch")
    t = await s.topic()
    await s.gather(a)
    await watch.delete(v=s.v, error="NON_EMPTY_GROUP")
    await s.still("PreparingRebalance", 1)
    await a.answer()
    await watch.delete(v=s.v, error="NON_EMPTY_GROUP")
    await s.synced(a)
    await watch.delete(v=s.v, error="NON_EMPTY_GROUP")
    await a.commit(offsets={t: {0: 5}})
    await a.leave()
    await s.until("Empty", 0)
    await watch.delete(v=s.v)
    await watch.delete(v=s.v, error="GROUP_ID_NOT_FOUND")
    await watch.describe(error="GROUP_ID_NOT_FOUND")
    await watch.list()
    await watch.fetch(topics={t: [0]})
    b = await s.actor("b")
    await s.gather(b)
    await b.answer()


@script(
    rows=["1.11-delete-ignores-pending-ids-and-stops-timers", "trap-06-pending-ids-in-leave-and-delete"], versions=ALL
)
async def delete_a_group_with_pending_ids(s: Script) -> None:
    a = await s.actor()
    await a.join(error="MEMBER_ID_REQUIRED", session=500)
    await a.delete(v=s.v)
    await a.join(error="UNKNOWN_MEMBER_ID")
    await s.sleep(700)
    await a.describe(error="GROUP_ID_NOT_FOUND")


@script(rows=["1.11-delete-is-per-group", "1.11-delete-writes-tombstones"], versions=ALL)
async def delete_several_groups(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.form(a)
    await a.commit(offsets={t: {0: 5}}, group=s.named(".simple"), member="", generation=-1)
    await a.delete(
        v=s.v, groups=[s.named(".none"), s.named(".simple"), s.group], error="GROUP_ID_NOT_FOUND NON_EMPTY_GROUP"
    )
    await a.fetch(topics={t: [0]}, groups=[s.named(".simple")])
    await a.list()


@script(rows=["1.11-offset-delete-no-group", "1.2-empty-group-id-OffsetDelete"])
async def delete_offsets_of_no_group(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.delete_offsets({t: [0]}, error="GROUP_ID_NOT_FOUND")
    await a.delete_offsets({t: [0]}, group="", error="INVALID_GROUP_ID")


@script(rows=["1.11-offset-delete-of-unknown-topics"])
async def delete_offsets_of_unknown_topics_of_no_group(s: Script) -> None:
    a = await s.actor()
    await a.delete_offsets({s.no_topic(): [0]}, error="GROUP_ID_NOT_FOUND")
    await a.delete_offsets({}, error="GROUP_ID_NOT_FOUND")


@script(rows=["1.11-offset-delete-of-unknown-topics", "1.11-offset-delete-Empty-consumer"])
async def delete_offsets_of_a_simple_group(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=3)
    await a.commit(offsets={t: {0: 5, 1: 6}})
    await a.delete_offsets({s.no_topic(): [0], t: [0, 2, 9]}, error="UNKNOWN_TOPIC_OR_PARTITION")
    await a.fetch(topics={t: [0, 1, 2]})
    await a.delete_offsets({s.no_topic(): [0, 1]}, error="UNKNOWN_TOPIC_OR_PARTITION")
    await a.delete_offsets({t: [1]})
    await a.fetch(topics={t: [0, 1, 2]})
    await a.describe(v=5)


@script(
    rows=[
        "1.11-offset-delete-{PreparingRebalance,CompletingRebalance,Stable}-other-type",
        "1.11-offset-delete-Empty-connect",
    ]
)
async def delete_offsets_of_another_type(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.gather(a, protocol_type="connect", protocols={"default": "x"})
    watch = await s.actor("watch")
    await watch.delete_offsets({t: [0]}, error="NON_EMPTY_GROUP")
    await s.still("PreparingRebalance", 1)
    await a.answer()
    await watch.delete_offsets({t: [0]}, error="NON_EMPTY_GROUP")
    await a.sync(give={a: "all"}, protocol_type="connect")
    await watch.delete_offsets({t: [0]}, error="NON_EMPTY_GROUP")
    await a.leave()
    await s.until("Empty", 0)
    await watch.delete_offsets({t: [0]})


@script(rows=["1.11-offset-delete-{PreparingRebalance,CompletingRebalance,Stable}-consumer"])
async def delete_offsets_of_subscribed_topics(s: Script) -> None:
    a, b = await s.pair()
    watch = await s.actor("watch")
    t, u = await s.topic("1"), await s.topic("2")
    await watch.commit(offsets={t: {0: 1}, u: {0: 2}})
    offered = {"range": subscription(t.name)}
    await s.gather(a, protocols=offered)
    await watch.delete_offsets({t: [0]}, error="GROUP_SUBSCRIBED_TO_TOPIC")
    await s.still("PreparingRebalance", 1)
    await a.answer()
    await watch.delete_offsets({t: [0]}, error="GROUP_SUBSCRIBED_TO_TOPIC")
    await s.synced(a)
    await watch.delete_offsets({t: [0], u: [0]}, error="GROUP_SUBSCRIBED_TO_TOPIC")
    await watch.fetch(topics={t: [0], u: [0]})
    await b.enter(protocols={"range": subscription(u.name)})
    await s.until("PreparingRebalance", 2)
    await watch.delete_offsets({t: [0]}, error="GROUP_SUBSCRIBED_TO_TOPIC")
    await a.leave()
    await b.answer()
    await b.leave()
    await s.until("Empty", 0)
    await watch.delete_offsets({t: [0]})
    await watch.fetch(topics={t: [0], u: [0]})


@script(
    rows=["1.11-delete-offsets-when-the-subscription-is-unknown", "2.3-malformed-subscription-makes-the-topics-unknown"]
)
async def delete_offsets_when_the_subscription_is_unknown(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.form(a, protocols={"range": "x"})
    await a.delete_offsets({t: [0]}, error="GROUP_SUBSCRIBED_TO_TOPIC")


@script(rows=["2.1-completion-computes-protocol-and-subscription"])
async def what_a_round_subscribes(s: Script) -> None:
    a, b = await s.pair()
    t, u, other = await s.topic(), await s.topic("2"), await s.topic("3")
    watch = await s.actor("watch")
    await a.enter(protocols={"range": subscription(t.name)})
    await s.until("PreparingRebalance", 1)
    await b.enter(protocols={"range": subscription(u.name)})
    await s.joined(a, b)
    await s.synced(a, b)
    await watch.delete_offsets({t: [0], u: [0], other: [0]}, error="GROUP_SUBSCRIBED_TO_TOPIC")
    await a.leave()
    await s.until("PreparingRebalance", 1)
    await watch.delete_offsets({t: [0], u: [0], other: [0]}, error="GROUP_SUBSCRIBED_TO_TOPIC")
    await b.park_join(protocols={"range": subscription(u.name)})
    await b.answer()
    await watch.delete_offsets({t: [0], u: [0], other: [0]}, error="GROUP_SUBSCRIBED_TO_TOPIC")
    await b.leave()
    await s.until("Empty", 0)
    await watch.delete_offsets({t: [0], u: [0], other: [0]})
    await watch.describe()
