"""The consumer protocol of releases 4.0 to 4.4: a scene for each difference, played on a release before and after it.

As in `old_scenes`, `bad` says which of the two plays, and what it answers stands in the scene. An epoch is compared
with the one before it, since a group begins at epoch 0 before 4.3, and at 1 since.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.basics import Topic
from tests.conformance.bodies import Body
from tests.conformance.consumer.classic import classic, subscription
from tests.conformance.consumer.member import Member
from tests.conformance.consumer.verbs import grow, until
from tests.conformance.old_scenes import Node, Scene, expect
from tests.conformance.script import Script

OWN: dict[str, object] = {
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.min.assignment.interval.ms": 0,
    "group.consumer.regex.refresh.interval.ms": 10_000,
}
BATCHED: dict[str, object] = {}
SMALL: dict[str, object] = {**OWN, "group.consumer.max.size": 1}
DISABLED: dict[str, object] = {**OWN, "group.consumer.migration.policy": "disabled"}

TOPICS, EPOCH, TARGET_EPOCH, CURRENT, REGEX = 4, 3, 6, 8, 16
"""Types of records."""


async def _alone(s: Script, partitions: int = 4, **others: str | None) -> tuple[Member, Topic]:
    """One member that owns every partition of a topic."""
    a, t = await s.member("a", **others), await s.topic(partitions=partitions)
    await a.enroll(t)
    return a, t


async def _revoking(s: Script) -> tuple[Member, Member, Topic]:
    """The first of two members has heard that it has to revoke half of a topic, and has not answered yet."""
    a, t = await _alone(s)
    b = await s.member("b")
    await b.enroll(t)
    await a.beat()
    return a, b, t


def _count(partitions: object) -> int:
    """How many partitions an assignment of an answer has; 0 without one."""
    told = partitions["topic_partitions"] if isinstance(partitions, Mapping) else ()
    return sum(len(one["partitions"]) for one in told)


async def _described(a: Member) -> tuple[Body, dict[str, Body]]:
    """The group as ConsumerGroupDescribe shows it, and its members by id."""
    (group,) = (await a.look())["groups"]
    return group, {one["member_id"]: one for one in group["members"]}


async def _written(s: Script, kind: int) -> list[Body | None]:
    """The values of the records of a type, in order."""
    return [record["value"] for record in await s.on_log() if record["key"]["type"] == kind]


async def topics_in_a_record(s: Script, bad: bool, node: Node) -> None:
    """4.0 writes the subscribed topics as a record of their own, later releases a hash with the epoch (KAFKA-17747)."""
    a, t = await _alone(s, 2)
    u, v = await s.topic(".u", 3), await s.topic(".v")
    await a.acknowledge()
    b = await s.member("b")
    await b.enroll(t, u, v, "none")
    await grow(s, t, 3)
    await b.beat()
    await b.retire()
    await a.retire()
    stored = await _written(s, TOPICS)
    expect(s, [None if one is None else len(one["topics"]) for one in stored], [1, 3, 3, 1, 0] if bad else [])
    epochs = [one for one in await _written(s, EPOCH) if one is not None]
    expect(s, sum("metadata_hash" in one for one in epochs), 0 if bad else 4)


async def topics_of_a_pattern_in_a_record(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-17747: the result of a regular expression, and its end, write the topics of 4.0 as well."""
    t = await s.topic("a")
    a = await s.member("a")
    await a.enroll(names=None, regex=f"{s.id}\\.t[a-z]*{s.nonce}")
    await until(s, epoch=1)
    await s.settle()
    await a.beat()
    await a.beat(names=[t], regex="")
    await a.retire()
    stored = await _written(s, TOPICS)
    expect(s, [None if one is None else len(one["topics"]) for one in stored], [1, 0] if bad else [])


async def topics_of_an_upgraded_group_in_a_record(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-17747: an upgrade writes the topics of the members that the group has."""
    m = await s.actor("m", instance="i")
    t = await s.topic(partitions=2)
    await m.join(protocols={"range": subscription(t)})
    await m.sync(give={m: ""})
    a = await s.member("a", instance="i")
    await a.enroll(t)
    expect(s, a.epoch, 1)
    stored = await _written(s, TOPICS)
    expect(s, [None if one is None else len(one["topics"]) for one in stored], [1] if bad else [])


async def epochs_in_records(s: Script, bad: bool, node: Node) -> None:
    """KIP-1251 and KIP-1263: since 4.3 partitions have assignment epochs in records, and a target has its time."""
    a, b, t = await _revoking(s)
    await a.acknowledge()
    await b.beat()
    assert t.name
    owned = [one for one in await _written(s, CURRENT) if one is not None for one in one["assigned"] + one["pending"]]
    expect(s, {"assignment_epochs" in one for one in owned}, {not bad})
    targets = await _written(s, TARGET_EPOCH)
    expect(s, ["time" in one for one in targets if one is not None], [not bad] * 2)


async def extra_partition_of_an_older_member(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-18688: the member that comes first in Java's order takes the extra partition of another one."""
    b, t = await s.member("b"), await s.topic(partitions=3)
    await b.enroll(t)
    a = await s.member("a")
    await a.enroll(t)
    _, members = await _described(a)
    expect(s, _count(members["b"]["target_assignment"]), 1 if bad else 2)


async def confirmation_with_more_to_revoke(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-19974: a member confirms a revocation when it has to revoke more already."""
    a, t = await _alone(s, 6)
    b, c = await s.member("b"), await s.member("c")
    await b.enroll(t)
    await a.beat()
    await c.enroll(t)
    before = a.epoch
    await a.acknowledge()
    expect(s, a.epoch - before, 1 if bad else 0)
    await a.acknowledge()
    await a.look()


async def known_member_with_epoch_0(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-19233: a member that the group has joins with epoch 0."""
    a, t = await _alone(s)
    u = await s.topic(".u")
    await a.beat(names=[t, u])
    await a.acknowledge()
    await a.enroll(t, u, error="FENCED_MEMBER_EPOCH" if bad else "NONE")
    await a.look()


async def topic_given_up_while_revoking(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-19431: a member that has to revoke gives up a topic; what it has of it goes at once."""
    a = await s.member("a")
    t, u = await s.topic(".t", 2), await s.topic(".u", 2)
    await a.enroll(t, u)
    b = await s.member("b")
    await b.enroll(t, u)
    await a.beat()
    kept = next(iter(a.held))
    told = await a.beat(names=[u if kept == t else t])
    expect(s, told["assignment"] is None, bad)
    await a.look()


async def own_partitions_come_back(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-19449: what a member has to revoke is its own again before it has confirmed the revocation."""
    a, b, _ = await _revoking(s)
    await b.retire()
    told = await a.acknowledge()
    expect(s, _count(told["assignment"]), 0 if bad else 4)
    await a.look()


async def pattern_given_up(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-19891: a member gives up a regular expression that matched no topic."""
    a, t = await s.member("a"), await s.topic()
    await a.enroll(t, regex="nothing")
    await s.sleep(500)
    await a.beat()
    before = a.epoch
    await a.beat(regex="")
    expect(s, a.epoch - before, 0 if bad else 1)


async def pattern_that_is_ten_seconds_old(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-18961: a regular expression is resolved again when its result is older than the refresh interval."""
    await s.topic("a")
    a = await s.member("a")
    await a.enroll(names=None, regex=f"{s.id}\\.t[a-z]*{s.nonce}")
    await s.sleep(11_000)
    await a.beat()
    await s.sleep(500)
    expect(s, len(await _written(s, REGEX)), 1 if bad else 2)


async def first_epoch(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20268: the first target of a group has epoch 1, since 4.3 epoch 2."""
    a, _ = await _alone(s)
    expect(s, a.epoch, 1 if bad else 2)
    await a.look()


async def two_joins_at_once(s: Script, bad: bool, node: Node) -> None:
    """KIP-1263: a second member joins within the assignment interval."""
    a, t = await _alone(s)
    b = await s.member("b")
    await b.enroll(t)
    expect(s, b.epoch > a.epoch, bad)
    group, _ = await _described(a)
    expect(s, group["group_state"], "Reconciling" if bad else "Assigning")


async def commit_with_an_older_epoch(s: Script, bad: bool, node: Node) -> None:
    """KIP-1251: a commit crosses the bump of its member's epoch."""
    a, t = await _alone(s)
    before = a.epoch
    await a.beat(names=[t, "none"])
    await a.commit(9, offsets={t: {0: 5}}, generation=before, error="STALE_MEMBER_EPOCH" if bad else "NONE")
    await a.commit(9, offsets={t: {0: 5}}, generation=a.epoch)


async def classic_member_after_a_leave(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20272: a classic member hears of a bump whose target is not computed yet."""
    a, t = await _alone(s)
    b = await s.member("b")
    await b.enroll(t)
    m = await classic(s, "m", t)
    for member in (a, b, a, b):
        await member.acknowledge()
    await m.join(protocols={"range": subscription(t, generation=m.generation)})
    await m.sync()
    await b.retire()
    await m.heartbeat(error="REBALANCE_IN_PROGRESS" if bad else "NONE")
    await a.beat()
    await m.heartbeat(error="REBALANCE_IN_PROGRESS")


async def another_assignor(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20434: the only member chooses another assignor."""
    a, _ = await _alone(s)
    before = a.epoch
    await a.beat(assignor="range")
    expect(s, a.epoch - before, 0 if bad else 1)


async def description_of_a_revocation(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20431: ConsumerGroupDescribe and what a member has to revoke."""
    a, _, _ = await _revoking(s)
    _, members = await _described(a)
    expect(s, _count(members["a"]["assignment"]), 2 if bad else 4)


async def group_that_all_have_left(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20442: the epoch of the target of a group that has become empty."""
    a, _ = await _alone(s)
    await a.retire()
    group, _ = await _described(a)
    expect(s, group["group_epoch"] - group["assignment_epoch"], 1 if bad else 0)


async def full_group_and_its_static_member(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20601: a static member comes back to a full group with another member id."""
    a, t = await _alone(s, instance="i")
    await a.retire(-2)
    b = await s.member("b", instance="i")
    await b.enroll(t, error="GROUP_MAX_SIZE_REACHED" if bad else "NONE")


async def classic_member_under_a_disabled_policy(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20640: a classic member joins a consumer group that may not be converted."""
    _, t = await _alone(s)
    m = await s.member("m")
    await m.join(protocols={"range": subscription(t)}, error="NONE" if bad else "INCONSISTENT_GROUP_PROTOCOL")


async def classic_member_without_a_subscription(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20662: the subscription of a classic member cannot be read."""
    await _alone(s)
    m = await s.member("m")
    await m.join(protocols={"range": b"\0"}, error="UNKNOWN_SERVER_ERROR" if bad else "INCONSISTENT_GROUP_PROTOCOL")


async def other_topics_of_a_classic_replacement(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-19546: a classic member with other topics replaces the only member, a static one."""
    a, _ = await _alone(s, instance="i")
    u = await s.topic(".u", partitions=2)
    await a.acknowledge()
    m = await s.member("m", instance="i", known_as="")
    answer = await m.join(protocols={"range": subscription(u)})
    expect(s, answer["generation_id"] > 0, bad)
    (told,) = (await m.describe())["groups"]
    expect(s, told["group_state"], "Stable" if bad else "PreparingRebalance")
    await _written(s, TARGET_EPOCH)


async def classic_replacement_after_a_leave(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20273: a classic member replaces the only member, a static one, before a target without another is due."""
    a, t = await _alone(s, instance="i")
    b = await s.member("b")
    await b.enroll(t)
    await a.beat()
    await a.acknowledge()
    await b.retire()
    m = await s.member("m", instance="i", known_as="")
    answer = await m.join(protocols={"range": subscription(t, owned={t: [0, 1]})})
    expect(s, answer["generation_id"] > 0, bad)
    (told,) = (await m.describe())["groups"]
    expect(s, told["group_state"], "Stable" if bad else "PreparingRebalance")
    await _written(s, TARGET_EPOCH)


async def two_instance_ids_of_a_member(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20747: a member takes another instance id twice, and leaves; others come with the former ones."""
    a, t = await _alone(s, instance="i")
    for instance in ("j", "k"):
        await a.enroll(t, instance=instance)
    b, c = await s.member("b", instance="i"), await s.member("c", instance="j")
    await a.beat(instance="j", error="NONE" if bad else "UNKNOWN_MEMBER_ID")
    await a.beat(instance="k")
    await b.enroll(t, error="UNRELEASED_INSTANCE_ID" if bad else "NONE")
    await b.look()
    await a.retire(instance="k")
    gone = "UNKNOWN_MEMBER_ID" if bad else "NONE"
    await c.enroll(t, error=gone)
    await node.restart()
    d, m = await s.member("d", instance="j"), await s.member("m", instance="i", known_as="")
    await d.look()
    await d.enroll(t, error="UNKNOWN_MEMBER_ID" if bad else "UNRELEASED_INSTANCE_ID")
    await d.enroll(t, instance=None)
    await m.join(protocols={"range": subscription(t)}, error=gone)
    await d.look()


async def return_under_a_former_instance_id(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-20747: a member has taken another instance id, and leaves for now; another comes with the former one."""
    a, t = await _alone(s, instance="i")
    await a.enroll(t, instance="j")
    await a.retire(-2, instance="j")
    b, c = await s.member("b", instance="i"), await s.member("c", instance="j")
    await b.enroll(t)
    _, members = await _described(b)
    expect(s, sorted(members), ["b"] if bad else ["a", "b"])
    await c.enroll(t, error="UNRELEASED_INSTANCE_ID" if bad else "NONE")
    await b.look()


SCENES: Mapping[str, tuple[Scene, str, str, Mapping[str, object]]] = {
    "KAFKA-17747": (topics_in_a_record, "4.0.2", "4.1.1", OWN),
    "KAFKA-17747-regex": (topics_of_a_pattern_in_a_record, "4.0.2", "4.1.1", OWN),
    "KAFKA-17747-upgrade": (topics_of_an_upgraded_group_in_a_record, "4.0.2", "4.1.1", OWN),
    "KAFKA-18688": (extra_partition_of_an_older_member, "4.0.0", "4.0.1", OWN),
    "KAFKA-18961": (pattern_that_is_ten_seconds_old, "4.0.2", "4.1.1", OWN),
    "KAFKA-19974": (confirmation_with_more_to_revoke, "4.1.1", "4.2.1", OWN),
    "KAFKA-19233": (known_member_with_epoch_0, "4.1.1", "4.2.1", OWN),
    "KAFKA-19431": (topic_given_up_while_revoking, "4.1.1", "4.2.1", OWN),
    "KAFKA-19449": (own_partitions_come_back, "4.1.1", "4.2.1", OWN),
    "KAFKA-19891": (pattern_given_up, "4.1.1", "4.2.1", OWN),
    "KAFKA-20268": (first_epoch, "4.2.1", "4.3.1", OWN),
    "KIP-1263": (two_joins_at_once, "4.2.1", "4.3.1", BATCHED),
    "KIP-1251": (commit_with_an_older_epoch, "4.2.1", "4.3.1", OWN),
    "KIP-1251-records": (epochs_in_records, "4.2.1", "4.3.1", OWN),
    "KAFKA-20272": (classic_member_after_a_leave, "4.2.1", "4.3.1", OWN),
    "KAFKA-20431": (description_of_a_revocation, "4.2.1", "4.3.1", OWN),
    "KAFKA-20601": (full_group_and_its_static_member, "4.3.1", "4.4.0", SMALL),
    "KAFKA-20640": (classic_member_under_a_disabled_policy, "4.2.1", "4.3.1", DISABLED),
    "KAFKA-20662": (classic_member_without_a_subscription, "4.3.1", "4.4.0", OWN),
    "KAFKA-20434": (another_assignor, "4.3.1", "4.4.0", OWN),
    "KAFKA-20442": (group_that_all_have_left, "4.3.1", "4.4.0", OWN),
    "KAFKA-19546": (other_topics_of_a_classic_replacement, "4.0.1", "4.0.2", OWN),
    "KAFKA-20273": (classic_replacement_after_a_leave, "4.2.1", "4.3.1", OWN),
    "KAFKA-20747": (two_instance_ids_of_a_member, "4.3.1", "4.4.0", OWN),
    "KAFKA-20747-return": (return_under_a_former_instance_id, "4.3.1", "4.4.0", OWN),
}
"""Issue → the scene, a release before the change and one after it, and their settings besides `old.SETTINGS`."""
EARLIER: Mapping[str, tuple[str, ...]] = {
    "KAFKA-19546": ("4.0.0",),
    "KAFKA-20273": ("4.0.0", "4.0.1", "4.0.2", "4.1.1"),
    "KAFKA-20747": ("4.0.0", "4.0.1", "4.0.2", "4.1.1", "4.2.1"),
    "KAFKA-20747-return": ("4.0.0", "4.0.1", "4.0.2", "4.1.1", "4.2.1"),
}
"""Issue → more releases before the change that are asked, too."""
