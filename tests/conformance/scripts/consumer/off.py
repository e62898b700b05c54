"""A broker whose `group.coordinator.rebalance.protocols` has the classic protocol alone."""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.script import Script
from tests.conformance.scripts.consumer.validation import JOINING


@claims("2.1-group-version", kind="classic-only", versions=(0, 1))
async def no_group_is_of_the_new_protocol(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic()
    await a.enroll(t, v=s.v, error="UNSUPPORTED_VERSION")
    await a.beat(5, v=s.v, error="UNSUPPORTED_VERSION")
    await a.retire(v=s.v, error="UNSUPPORTED_VERSION")
    await a.look(v=s.v, error="UNSUPPORTED_VERSION")
    await a.ask("ConsumerGroupHeartbeat", s.v, JOINING, error="UNSUPPORTED_VERSION")
