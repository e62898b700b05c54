"""Share groups beside consumer groups (KIP-932), which are not modelled: what a consumer's requests find there."""

from __future__ import annotations

from tests.conformance.bodies import Body
from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import subscription
from tests.conformance.consumer.member import Member
from tests.conformance.consumer.rounds import alone
from tests.conformance.script import Script

NOT_FOUND = "GROUP_ID_NOT_FOUND"
WHY = "share groups are not modelled"


async def shared(s: Script, error: str = "NONE") -> Member:
    """A member of a share group of the script's name."""
    a = await s.member("a")
    body: Body = {"group_id": s.group, "member_id": "a", "member_epoch": 0, "rack_id": None}
    await a.ask("ShareGroupHeartbeat", 1, {**body, "subscribed_topic_names": ["none"]}, error=error)
    return a


@claims("2.2-share", only_real=WHY)
async def a_consumer_in_a_share_group(s: Script) -> None:
    await shared(s)
    b = await s.member("b", instance="i")
    await b.enroll("t", error=NOT_FOUND)
    await b.beat(1, error=NOT_FOUND)
    await b.retire(error=NOT_FOUND)
    await b.retire(-2, error=NOT_FOUND)
    await b.look(error=NOT_FOUND)
    await b.list()


@claims("3.1-share", "4.1-share", only_real=WHY)
async def classic_requests_to_a_share_group(s: Script) -> None:
    await shared(s)
    m = await s.member("m", known_as="")
    t = await s.topic()
    await m.join(protocols={"range": subscription(t)}, error="INCONSISTENT_GROUP_PROTOCOL")
    await m.heartbeat(member="a", generation=1, error="UNKNOWN_MEMBER_ID")
    await m.commit(offsets={t: {0: 1}}, generation=-1, member="", error=NOT_FOUND)
    await m.describe(error=NOT_FOUND)


@claims("2.2-share", only_real=WHY)
async def a_share_group_is_no_consumer_group(s: Script) -> None:
    await alone(s)
    await shared(s, error=NOT_FOUND)
