"""TxnOffsetCommit of members of a consumer group, versions 3 and 4: old names of errors, the same window.

Source: `OffsetMetadataManager.validateTransactionalOffsetCommit`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import classic
from tests.conformance.consumer.rounds import alone, two
from tests.conformance.script import Script
from tests.conformance.scripts.transactions import begun, ended

ILLEGAL, UNKNOWN = "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"


@claims("4.1-txn", "0-txn-v6", versions=(3, 4))
async def a_member_commits_in_a_transaction(s: Script) -> None:
    a, t = await alone(s)
    p = await begun(s, await s.actor("p"))
    await p.commit(s.v, {t: {0: 5}}, member="a", generation=2)
    await p.commit(s.v, {t: {0: 5}}, member="a", generation=3, error=ILLEGAL)
    await p.commit(s.v, {t: {0: 5}}, member="a", generation=-1, error=ILLEGAL)
    await p.commit(s.v, {t: {0: 5}}, member="z", generation=2, error=UNKNOWN)
    await p.commit(s.v, {t: {0: 5}}, member="", generation=2, error=UNKNOWN)
    await ended(s, p)
    await a.fetch(topics={t: [0]})
    await s.on_log()


@claims("4.1-txn-window", versions=(3, 4))
async def a_transaction_of_an_older_epoch(s: Script) -> None:
    a, _, t = await two(s)
    p = await begun(s, await s.actor("p"))
    await p.commit(s.v, {t: {0: 5}}, member="a", generation=2)
    await p.commit(s.v, {t: {2: 5}}, member="a", generation=2, error=ILLEGAL)
    await p.commit(s.v, {t: {1: 6, 3: 5}}, member="a", generation=2, error=ILLEGAL)
    await p.commit(s.v, {t: {1: 6}}, member="a", generation=1, error=ILLEGAL)
    await ended(s, p)
    await a.fetch(topics={t: [0, 1, 2, 3]})


@claims("4.1-txn-outside", versions=(0, 2, 3, 4))
async def a_transaction_from_outside(s: Script) -> None:
    a, t = await alone(s)
    p = await begun(s, await s.actor("p"))
    await p.commit(s.v, {t: {0: 5}})
    await ended(s, p)
    await a.fetch(topics={t: [0]})


@claims("4.1-txn", versions=(3, 4))
async def a_transaction_of_an_instance(s: Script) -> None:
    a, t = await alone(s, instance="i")
    p = await begun(s, await s.actor("p"))
    await p.commit(s.v, {t: {0: 5}}, member="a", generation=2, instance="i")
    await p.commit(s.v, {t: {0: 5}}, member="b", generation=2, instance="i", error="UNKNOWN_MEMBER_ID")
    await p.commit(s.v, {t: {0: 5}}, member="a", generation=2, instance="j")
    await a.retire(-2)
    await p.commit(s.v, {t: {0: 6}}, member="a", generation=2, instance="i", error=ILLEGAL)
    await p.commit(s.v, {t: {0: 6}}, member="a", generation=-2, instance="i")
    await ended(s, p, commit=False)
    await a.fetch(topics={t: [0]})


@claims("4.1-txn", versions=(3, 4))
async def a_transaction_of_an_emptied_consumer_group(s: Script) -> None:
    a, t = await alone(s)
    await a.retire()
    p = await begun(s, await s.actor("p"))
    await p.commit(s.v, {t: {0: 5}}, member="a", generation=2, error=UNKNOWN)
    await p.commit(s.v, {t: {0: 5}})
    await ended(s, p)
    await a.fetch(topics={t: [0]})


@claims("4.1-txn", "4.1-classic", versions=(3,))
async def a_transaction_of_a_classic_member(s: Script) -> None:
    n, t = await alone(s, 4)
    m = await classic(s, "m", t)
    p = await begun(s, await s.actor("p"))
    await p.commit(s.v, {t: {0: 5}}, member="m", generation=m.generation)
    await p.commit(s.v, {t: {0: 5}}, member="m", generation=m.generation - 1, error=ILLEGAL)
    await p.commit(s.v, {t: {0: 5}}, member="m", generation=m.generation + 1, error=ILLEGAL)
    await ended(s, p)
    await n.fetch(topics={t: [0]})


@claims("4.1-fetch", "4.1-txn")
async def a_stable_fetch_of_a_member(s: Script) -> None:
    a, t = await alone(s)
    p = await begun(s, await s.actor("p"))
    await p.commit(3, {t: {0: 5}}, member="a", generation=2)
    await a.fetch(topics={t: [0]}, stable=True, member=("a", 2), error="UNSTABLE_OFFSET_COMMIT")
    await a.fetch(topics={t: [0]}, stable=True, member=("a", 1), error="STALE_MEMBER_EPOCH")
    await a.fetch(topics={t: [0]}, member=("a", 2))
    await ended(s, p)
    await a.fetch(topics={t: [0]}, stable=True, member=("a", 2))


@claims("3.2-DeleteGroups", "4.1-txn")
async def a_consumer_group_with_an_open_transaction_is_deleted(s: Script) -> None:
    a, t = await alone(s)
    p = await begun(s, await s.actor("p"))
    await p.commit(3, {t: {0: 5}}, member="a", generation=2)
    await a.retire()
    await a.delete()
    await ended(s, p)
    await a.fetch(topics={t: [0]})
    await a.look(error="GROUP_ID_NOT_FOUND")
    await a.list()
    await s.on_log()
