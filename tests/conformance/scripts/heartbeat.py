"""Heartbeat in every state (reference 1.5)."""

from __future__ import annotations

from tests.conformance.script import Script, script

VERSIONS = (0, 4)


@script(rows=["1.5-no-group"], versions=VERSIONS)
async def heartbeat_of_no_group(s: Script) -> None:
    a = await s.actor()
    await a.heartbeat(v=s.v, generation=1, member="nobody", error="UNKNOWN_MEMBER_ID")


@script(rows=["1.5-stable"], versions=(0, 1, 2, 3, 4))
async def heartbeat_in_stable(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await a.heartbeat(v=s.v)
    await a.heartbeat(v=s.v, generation=0, error="ILLEGAL_GENERATION")
    await a.heartbeat(v=s.v, generation=2, error="ILLEGAL_GENERATION")
    await a.heartbeat(v=s.v, member="nobody", error="UNKNOWN_MEMBER_ID")
    await a.heartbeat(v=s.v, member="", error="UNKNOWN_MEMBER_ID")
