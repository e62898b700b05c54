"""Commits and transactions by hand, for the tests of this folder."""

from __future__ import annotations

from groupsim import ErrorCode, Simulation, TopicPartition
from groupsim.requests import (
    AddOffsetsToTxnRequest,
    InitProducerIdRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetInTxn,
    OffsetToCommit,
    TxnOffsetCommitRequest,
)

FIRST = TopicPartition("orders", 0)


def commit(offset: int) -> OffsetCommitRequest:
    """A commit of orders-0 from outside of any group."""
    return OffsetCommitRequest("g1", (OffsetToCommit(FIRST, offset),))


async def committed(sim: Simulation) -> list[int]:
    """The group's committed offsets, as a stable fetch sees them."""
    answer = await sim.request(OffsetFetchRequest("g1"))
    assert {one.error for one in answer.offsets} <= {ErrorCode.NONE}
    return [one.offset for one in answer.offsets]


async def transaction(sim: Simulation, offset: int) -> tuple[str, int, int]:
    """A transaction that is open, with an offset of orders-0 in it; how its producer calls itself."""
    given = await sim.request(InitProducerIdRequest("t"))
    who = ("t", given.producer_id, given.producer_epoch)
    await sim.request(AddOffsetsToTxnRequest(*who, "g1"))
    await sim.request(TxnOffsetCommitRequest("t", "g1", *who[1:], (OffsetInTxn(FIRST, offset),)))
    return who
