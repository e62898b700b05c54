"""What is refused before the group is looked at, in Kafka's order of checks.

Source: `GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid`.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from tests.conformance.bodies import Body
from tests.conformance.consumer.claims import claims
from tests.conformance.script import Script

JOINING: Body = {
    "group_id": "",  # the script's own
    "member_id": "m",
    "member_epoch": 0,
    "instance_id": None,
    "rack_id": None,
    "rebalance_timeout": 60_000,
    "subscribed_topic_names": ["none"],
    "subscribed_topic_regex": None,
    "server_assignor": None,
    "topic_partitions": [],
}
INVALID = "INVALID_REQUEST"
PARTITIONS = [{"topic_id": "11111111-2222-4333-8444-555555555555", "partitions": [0]}]


@frozen
class Refused:
    """A join in which these fields are otherwise; `facts` are the rows it asks about."""

    name: str
    fact: str
    fields: dict[str, Any]
    error: str = INVALID
    versions: tuple[int, ...] = (1,)


GROUP = {"group_id": None}
REFUSED = (
    Refused("no_member_id", "2.1-member-id", {"member_id": ""}),
    Refused("no_member_id_of_a_member", "2.1-member-id", {"member_id": "", "member_epoch": 3}, versions=(0, 1)),
    Refused("no_member_id_of_a_leaver", "2.1-member-id", {"member_id": "", "member_epoch": -1}, versions=(0, 1)),
    Refused("no_group_id", "2.1-group-id", {"group_id": None}, versions=(0, 1)),
    Refused("no_group_id_of_a_member", "2.1-group-id", {"group_id": None, "member_epoch": 2}),
    Refused("no_group_id_of_a_leaver", "2.1-group-id", {"group_id": None, "member_epoch": -1}),
    Refused("an_empty_instance", "2.1-instance-id", {"instance_id": ""}, versions=(0, 1)),
    Refused("an_empty_instance_of_a_member", "2.1-instance-id", {"instance_id": "", "member_epoch": 3}),
    Refused("an_empty_instance_of_a_leaver", "2.1-instance-id", {"instance_id": "", "member_epoch": -2}),
    Refused("an_empty_rack", "2.1-rack-id", {"rack_id": ""}, versions=(0, 1)),
    Refused("an_empty_rack_of_a_member", "2.1-rack-id", {"rack_id": "", "member_epoch": 3}),
    Refused("no_rebalance_timeout", "2.1-rebalance-timeout", {"rebalance_timeout": -1}, versions=(0, 1)),
    Refused("owned_is_null", "2.1-owned", {"topic_partitions": None}, versions=(0, 1)),
    Refused("owned_is_not_empty", "2.1-owned", {"topic_partitions": PARTITIONS}, versions=(0, 1)),
    Refused("no_subscription", "2.1-subscription", {"subscribed_topic_names": None}, versions=(0, 1)),
    Refused("absence_without_an_instance", "2.1-absence", {"member_epoch": -2}, versions=(0, 1)),
    Refused("an_epoch_below_all", "2.1-epoch", {"member_epoch": -3}, versions=(0, 1)),
    Refused("the_lowest_epoch", "2.1-epoch", {"member_epoch": -(2**31)}),
    Refused("an_unknown_assignor", "2.1-assignor", {"server_assignor": "sticky"}, "UNSUPPORTED_ASSIGNOR", (0, 1)),
    Refused("an_assignor_without_letters", "2.1-assignor", {"server_assignor": ""}, "UNSUPPORTED_ASSIGNOR"),
    Refused("an_assignor_in_capitals", "2.1-assignor", {"server_assignor": "Range"}, "UNSUPPORTED_ASSIGNOR"),
    Refused(
        "an_unknown_assignor_of_a_member",
        "2.1-assignor",
        {"server_assignor": "mine", "member_epoch": 7},
        "UNSUPPORTED_ASSIGNOR",
    ),
    # which of two faults is answered
    Refused("nothing_at_all", "2.1-order", {"group_id": None, "member_id": "", "topic_partitions": None}),
    Refused("group_before_instance", "2.1-order", {"group_id": None, "instance_id": ""}),
    Refused("instance_before_rack", "2.1-order", {"instance_id": "", "rack_id": ""}),
    Refused("rack_before_timeout", "2.1-order", {"rack_id": "", "rebalance_timeout": -1}),
    Refused("timeout_before_owned", "2.1-order", {"rebalance_timeout": -1, "topic_partitions": None}),
    Refused("owned_before_subscription", "2.1-order", {"topic_partitions": None, "subscribed_topic_names": None}),
    Refused("subscription_before_assignor", "2.1-order", {"subscribed_topic_names": None, "server_assignor": "x"}),
    Refused("absence_before_assignor", "2.1-order", {"member_epoch": -2, "server_assignor": "x"}),
    Refused("epoch_before_assignor", "2.1-order", {"member_epoch": -4, "server_assignor": "x"}),
)


def _enter(refused: Refused) -> None:
    @claims(
        refused.fact,
        "2.1-error-answer",
        versions=refused.versions,
        name=f"refused-{refused.name.replace('_', '-')}",
    )
    async def play(s: Script) -> None:
        a = await s.member("a")
        fields = {**JOINING, "group_id": s.group, **refused.fields}
        fields["group_id"] = fields["group_id"] or ""
        await a.ask("ConsumerGroupHeartbeat", s.v, fields, error=refused.error)
        await a.look(v=0, error="GROUP_ID_NOT_FOUND")


for _refused in REFUSED:
    _enter(_refused)


@claims("2.1-rebalance-timeout", "2.1-accepted")
async def a_rebalance_timeout_of_nothing_is_one(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic(partitions=2)
    await a.enroll(t, rebalance_ms=0, now=2, gives={t: [0, 1]})
    await s.on_log()


@claims("2.1-v0-member-id", versions=(0,))
async def the_coordinator_makes_the_id(s: Script) -> None:
    a = await s.member("a", known_as="")
    t = await s.topic()
    await a.enroll(t, v=0, now=2, gives={t: [0]})
    await a.beat(v=0, now=2)
    await a.look(v=0)
    await s.on_log()


@claims("2.1-v0-absence", versions=(0,))
async def an_absence_without_an_id(s: Script) -> None:
    a = await s.member("a", instance="i")
    t = await s.topic()
    await a.beat(-2, v=0, member="", error="GROUP_ID_NOT_FOUND")
    await a.enroll(t, v=0, now=2)
    await a.beat(-2, v=0, member="", error="FENCED_INSTANCE_ID")


@claims("2.1-subscription", "2.1-accepted")
async def names_and_a_regex_together(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic()
    await a.enroll(t, regex="", now=2, gives={t: [0]})
    await s.on_log()


@claims("2.1-owned", "2.1-accepted")
async def fields_that_do_not_matter_to_a_leaver(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic()
    await a.enroll(t)
    await a.beat(-1, names=["x"], owned={t: [0]}, rack="r", rebalance_ms=5, now=-1)
    await s.on_log()
