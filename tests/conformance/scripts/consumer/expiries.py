"""Sessions of a second that end in mixed groups: the last member of the new protocol takes the group along.

Source: `GroupMetadataManager.consumerGroupFenceMember`, `convertToClassicGroup`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import classic, rejoin
from tests.conformance.consumer.rounds import alone
from tests.conformance.script import Script

KIND = "expiring"
SESSION_MS = 1_000


@claims("6.2-fence", "2.9-session", kind=KIND)
async def the_last_session_of_the_new_protocol_ends(s: Script) -> None:
    n, t = await alone(s, 4)
    m = await classic(s, "m", t)
    await n.beat()
    await n.acknowledge()
    seen = n.mark
    await rejoin(m, t)
    await m.sync()
    await s.until("PreparingRebalance", 1, due=(SESSION_MS, seen))
    await m.heartbeat(error="REBALANCE_IN_PROGRESS")
    await m.describe()
    await n.beat(error="GROUP_ID_NOT_FOUND")
    await s.on_log()


@claims("6.2-fence", "2.9-session-static", kind=KIND)
async def an_absent_instance_expires_and_leaves_classic_members(s: Script) -> None:
    n, t = await alone(s, 4, instance="i")
    m = await classic(s, "m", t)
    await n.retire(-2)
    await s.until("PreparingRebalance", 1)
    await m.describe()
    await s.on_log()


@claims("6.2-fence", kind=KIND)
async def one_of_two_of_the_new_protocol_expires(s: Script) -> None:
    n, t = await alone(s, 6)
    m = await classic(s, "m", t)
    c = await s.member("c")
    await c.enroll(t)
    await s.sleep(600)
    await c.beat()
    await s.sleep(600)
    await c.look()
    await m.heartbeat(error="REBALANCE_IN_PROGRESS")
    await c.beat()
    await c.look()
    await s.on_log()
    assert n.epoch
