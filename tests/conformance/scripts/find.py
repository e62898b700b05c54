"""FindCoordinator (reference 1.12)."""

from __future__ import annotations

from tests.conformance.script import Script, script

ALL = (0, 1, 2, 3, 4, 5, 6)
BATCHED = (4, 5, 6)


@script(rows=["1.12-{leader,empty-group-id}"], versions=ALL)
async def find_a_groups_coordinator(s: Script) -> None:
    a = await s.actor()
    await a.find(v=s.v)
    await a.find(v=s.v, keys=[""])


@script(rows=["1.12-cluster"], versions=ALL[1:])
async def find_a_transactions_coordinator(s: Script) -> None:
    a = await s.actor()
    await a.find(v=s.v, key_type=1)
    await a.find(v=s.v, keys=[""], key_type=1)


@script(rows=["1.12-batched-keys"], versions=BATCHED)
async def find_several_coordinators(s: Script) -> None:
    a = await s.actor()
    await a.find(v=s.v, keys=[s.named(".1"), s.named(".2"), "", s.named(".1")])
    await a.find(v=s.v, keys=[s.named(".1"), s.named(".2")], key_type=1)
    await a.ask("FindCoordinator", s.v, {"key_type": 0, "coordinator_keys": []})


@script(rows=["1.12-batched-keys"], versions=ALL[1:])
async def find_with_a_key_type_that_is_none(s: Script) -> None:
    a = await s.actor()
    await a.find(v=s.v, key_type=3, error="INVALID_REQUEST")
    await a.find(v=s.v, key_type=-1, error="INVALID_REQUEST")
