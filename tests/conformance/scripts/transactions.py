"""Offsets in transactions: TxnOffsetCommit, and what a transaction does to OffsetFetch (reference 1.8 and 1.9).

Versions below 5 of TxnOffsetCommit: from 5 on the broker itself adds the offsets to the transaction (KIP-890).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define

from tests.conformance.bodies import Body
from tests.conformance.script import NOT_SERVED, Actor, Script, Topic, script

VERSIONS = (0, 2, 3, 4)
MEMBERS = (3, 4)


@define
class Producer:
    """A transactional producer on an actor's connection."""

    script: Script
    actor: Actor
    name: str
    pid: int = -1
    epoch: int = -1
    away: int = 0  #: where the transaction's coordinator is

    async def init(self, v: int = 4, *, error: str = "NONE") -> None:
        """InitProducerId: an open transaction of an older life is aborted."""
        body = {"transactional_id": self.name, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
        answer = await self.actor.ask("InitProducerId", v, body, error=error)
        self.pid, self.epoch = answer["producer_id"], answer["producer_epoch"]

    async def add_offsets(self, v: int = 3, *, error: str = "NONE") -> None:
        """AddOffsetsToTxn."""
        await self.actor.ask("AddOffsetsToTxn", v, {**self._who(), "group_id": self.script.group}, error=error)

    async def commit(
        self, v: int, offsets: Mapping[Topic, Mapping[int, int]], *, error: str = "NONE", **others: Any
    ) -> Body:
        """TxnOffsetCommit."""
        topics = [
            {
                "name": topic.name,
                "partitions": [
                    {
                        "partition_index": number,
                        "committed_offset": offset,
                        "committed_leader_epoch": -1,
                        "committed_metadata": others.get("metadata", ""),
                    }
                    for number, offset in of.items()
                ],
            }
            for topic, of in offsets.items()
        ]
        body = {
            **self._who(),
            "group_id": others.get("group", self.script.group),
            "generation_id": others.get("generation", -1),
            "member_id": others.get("member", ""),
            "group_instance_id": others.get("instance"),
            "topics": topics,
        }
        return await self.actor.ask("TxnOffsetCommit", v, body, error=error)

    async def end(self, v: int = 3, *, commit: bool = True, error: str = "NONE") -> None:
        """EndTxn; the markers follow by themselves."""
        await self.actor.ask("EndTxn", v, {**self._who(), "committed": commit}, error=error)

    def _who(self) -> Body:
        return {"transactional_id": self.name, "producer_id": self.pid, "producer_epoch": self.epoch}


async def begun(s: Script, actor: Actor) -> Producer:
    """A producer whose transaction has the group's offsets in it."""
    producer = Producer(s, actor, s.named(".x"))
    await producer.init()
    await producer.add_offsets()
    return producer


async def ended(s: Script, producer: Producer, *, commit: bool = True) -> None:
    """The transaction is over, and its markers written."""
    await producer.end(commit=commit)
    await s.awaited(*_described(producer.name), _is_complete, producer.away)
    await s.settle()


def _described(name: str) -> tuple[str, int, Body]:
    return "DescribeTransactions", 0, {"transactional_ids": [name]}


def _is_served(told: Body) -> bool:
    """Whether who was asked coordinates the transaction, and has loaded it."""
    return told["transaction_states"][0]["error_code"] not in NOT_SERVED


def _is_complete(told: Body) -> bool:
    """Whether all markers of the transaction that ended last are written."""
    state: str = told["transaction_states"][0]["transaction_state"]
    return state.startswith("Complete")


_NOBODYS_ID = {"transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
"""An InitProducerId that is good as soon as a node has producer ids to give: the first one asks for them."""


async def begun_elsewhere(s: Script, actor: Actor) -> Producer:
    """The same where there are several nodes: begun at the transaction's coordinator, then at the group's."""
    named = await actor.find(keys=[s.named(".x")], key_type=1)
    away = named["coordinators"][0]["node_id"]
    await s.awaited(*_described(s.named(".x")), _is_served, away)  # that coordinator may have moved, too
    await s.awaited("InitProducerId", 4, _NOBODYS_ID, lambda told: told["error_code"] == "NONE", away)
    await actor.go(await s.peer.connect(actor.name, away))
    producer = await begun(s, actor)
    producer.away = away
    await s.follow(actor)
    return producer


async def ended_elsewhere(s: Script, producer: Producer) -> None:
    """The transaction is over; the producer is at its own coordinator again."""
    await producer.actor.go(await s.peer.connect(producer.actor.name, producer.away))
    await ended(s, producer)


@script(rows=["1.8-group-missing", "1.8-pending", "1.8-marker", "1.9-unstable-transactional"], versions=VERSIONS)
async def a_transaction_commits_offsets(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic(partitions=2)
    await a.commit(offsets={t: {0: 1}})
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 5}})
    await a.fetch(topics={t: [0, 1]})
    await a.fetch(topics={t: [0, 1]}, stable=True, error="UNSTABLE_OFFSET_COMMIT")
    await ended(s, producer)
    await a.fetch(topics={t: [0, 1]})
    await a.fetch(topics={t: [0, 1]}, stable=True)


@script(rows=["1.8-marker"], versions=VERSIONS)
async def a_transaction_that_is_aborted(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 5}})
    await ended(s, producer, commit=False)
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["1.8-group-missing", "1.10-list-shows-simple-groups"], versions=VERSIONS)
async def a_transaction_makes_a_simple_group(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 5}})
    await a.describe(v=5)
    await ended(s, producer)
    await a.describe(v=5)
    await a.list()


@script(rows=["1.8-group-missing"], versions=MEMBERS)
async def a_member_in_a_transaction_of_no_group(s: Script) -> None:
    p = await s.actor("p")
    t = await s.topic()
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 5}}, generation=1, member="x", error="ILLEGAL_GENERATION")


@script(rows=["1.8-live", "1.8-session-untouched"], versions=MEMBERS)
async def members_in_a_transaction(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    await s.complete(a)
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 1}}, generation=1, member=a.member_id)
    await s.synced(a)
    await producer.commit(s.v, {t: {0: 2}}, generation=1, member=a.member_id)
    await producer.commit(s.v, {t: {0: 3}}, generation=0, member=a.member_id, error="ILLEGAL_GENERATION")
    await producer.commit(s.v, {t: {0: 3}}, generation=-1, member=a.member_id, error="ILLEGAL_GENERATION")
    await producer.commit(s.v, {t: {0: 3}}, generation=1, member="x", error="UNKNOWN_MEMBER_ID")
    await producer.commit(s.v, {t: {0: 3}}, generation=1, error="UNKNOWN_MEMBER_ID")
    await producer.commit(s.v, {t: {0: 4}})
    await ended(s, producer)
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["1.8-live"], versions=(0, 2))
async def an_old_producer_is_never_fenced(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    await s.form(a)
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 5}}, generation=9, member="x")
    await ended(s, producer)
    await a.fetch(topics={t: [0]})


@script(rows=["1.8-fenced"], versions=MEMBERS)
async def instances_in_a_transaction(s: Script) -> None:
    a, p = await s.actor("a", instance="i"), await s.actor("p")
    t = await s.topic()
    await s.form(a)
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 1}}, generation=1, member=a.member_id, instance="i")
    await producer.commit(s.v, {t: {0: 1}}, generation=1, member="x", instance="i", error="FENCED_INSTANCE_ID")
    await producer.commit(s.v, {t: {0: 1}}, generation=1, member=a.member_id, instance="j", error="UNKNOWN_MEMBER_ID")


@script(rows=["1.8-empty-outside"], versions=MEMBERS)
async def a_transaction_of_an_empty_group(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    await s.emptied(a)
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 5}})
    await producer.commit(s.v, {t: {0: 5}}, generation=1, member=a.member_id, error="UNKNOWN_MEMBER_ID")
    await ended(s, producer)
    await a.fetch(topics={t: [0]})


@script(rows=["1.8-metadata"], versions=VERSIONS)
async def metadata_and_unknown_topics_in_a_transaction(s: Script) -> None:
    p = await s.actor("p")
    t = await s.topic()
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 5}}, metadata="x" * 4097, error="OFFSET_METADATA_TOO_LARGE")
    await producer.commit(s.v, {t: {0: 5, 7: 1}, s.no_topic(): {0: 1}}, error="UNKNOWN_TOPIC_OR_PARTITION")
    await producer.commit(s.v, {t: {0: 5}}, group="", error="INVALID_GROUP_ID")
    await producer.commit(s.v, {})


@script(rows=["1.8-verification"], versions=MEMBERS)
async def a_fenced_producer_commits(s: Script) -> None:
    p, q = await s.actor("p"), await s.actor("q")
    t = await s.topic()
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 5}})
    newer = Producer(s, q, producer.name)
    await newer.init(error="CONCURRENT_TRANSACTIONS")  # the open transaction is aborted first
    await s.sleep(300)
    await newer.init()
    await producer.commit(s.v, {t: {0: 6}}, error="INVALID_PRODUCER_EPOCH")
    await q.fetch(topics={t: [0]}, stable=True)


@script(rows=["1.8-verification"], versions=MEMBERS)
async def offsets_that_are_in_no_transaction(s: Script) -> None:
    p = await s.actor("p")
    t = await s.topic()
    producer = Producer(s, p, s.named(".x"))
    await producer.init()
    error = "TRANSACTION_ABORTABLE" if s.v >= 4 else "INVALID_TXN_STATE"
    await producer.commit(s.v, {t: {0: 5}}, error=error)


@script(rows=["1.7-coexists-with-transactional"], versions=MEMBERS)
async def a_plain_commit_during_a_transaction(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic(partitions=2)
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 5, 1: 5}})
    await a.commit(offsets={t: {0: 9}})
    await a.fetch(topics={t: [0, 1]})
    await ended(s, producer)
    await a.fetch(topics={t: [0, 1]}, stable=True)


@script(rows=["2.12-open-transactions"])
async def a_group_with_an_open_transaction_is_deleted(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    producer = await begun(s, p)
    await producer.commit(3, {t: {0: 5}})
    await a.delete()
    await a.fetch(topics={t: [0]}, stable=True)
    await ended(s, producer)
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["2.12-open-transactions"])
async def pending_offsets_are_deleted(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    producer = await begun(s, p)
    await producer.commit(3, {t: {0: 5}})
    await a.delete_offsets({t: [0]})
    await a.fetch(topics={t: [0]}, stable=True)
    await ended(s, producer)
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["1.12-cluster"], versions=(0, 1, 2, 3, 4))
async def producer_ids(s: Script) -> None:
    p = await s.actor("p")
    body = {"transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    await p.ask("InitProducerId", s.v, body)
    await p.ask("InitProducerId", s.v, body)
    named = {**body, "transactional_id": s.named(".x")}
    await p.ask("InitProducerId", s.v, named)
    await p.ask("InitProducerId", s.v, named)
    await p.ask("InitProducerId", s.v, {**named, "transactional_id": ""}, error="INVALID_REQUEST")
    too_long = {**named, "transaction_timeout": 1_000_000_000}
    await p.ask("InitProducerId", s.v, too_long, error="INVALID_TRANSACTION_TIMEOUT")
