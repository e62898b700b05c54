"""An initial delay of more than five minutes (reference 2.5)."""

from __future__ import annotations

from tests.conformance.script import Script, script

FIVE_MINUTES = 300_000


@script(rows=["2.5-expiry-of-a-member-can-end-the-delay"], long=True, kind="patient")
async def an_expiring_member_ends_the_delay(s: Script) -> None:
    a, b = await s.pair()
    await a.park_join(v=3, rebalance=900_000)
    mark = await s.until("PreparingRebalance", 1)
    await s.sleep(10_000)
    await b.park_join(v=3, rebalance=900_000)
    await s.until("PreparingRebalance", 2)
    await s.after(FIVE_MINUTES - 5_000, mark)
    await a.silence(4_000)
    await a.answer(error="UNKNOWN_MEMBER_ID", due=(FIVE_MINUTES, mark))
    await b.answer()
