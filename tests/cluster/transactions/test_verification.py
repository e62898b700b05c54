"""Offsets are written to a partition only in an open transaction that has the partition (KIP-890)."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from groupsim.cluster.transactions.verification import Verification
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest
from tests.helpers.txn_fakes import NAME, TxnBench

OFFSETS = TopicPartition("__consumer_offsets", ord("g") % 50)
E = ErrorCode


class NoLogs:
    """Logs without records."""

    def log(self, partition: TopicPartition) -> None:
        return None


def _request(who: Any, **others: Any) -> TxnOffsetCommitRequest:
    asked = TxnOffsetCommitRequest(NAME, "g", who.producer_id, who.producer_epoch, (), version=4)
    return evolve(asked, **others)


def test_offsets_that_are_in_no_transaction_are_refused(on_txn: Any) -> None:
    """Before the group's partition is added, after the end, under another epoch or producer id."""

    async def story(bench: TxnBench) -> None:
        verify = Verification(NoLogs(), lambda name: bench.coordinator)
        who = await bench.init()
        assert verify(_request(who), OFFSETS) is E.TRANSACTION_ABORTABLE
        assert verify(_request(who, version=3), OFFSETS) is E.INVALID_TXN_STATE
        assert await bench.add_offsets(who) is E.NONE
        assert verify(_request(who), OFFSETS) is E.NONE
        assert verify(_request(who), TopicPartition(OFFSETS.topic, 0)) is E.TRANSACTION_ABORTABLE
        assert verify(_request(who, producer_epoch=5), OFFSETS) is E.INVALID_PRODUCER_EPOCH
        assert verify(_request(who, producer_id=5), OFFSETS) is E.INVALID_PRODUCER_ID_MAPPING
        assert await bench.end(who) is E.NONE
        assert verify(_request(who), OFFSETS) is E.TRANSACTION_ABORTABLE

    on_txn(story)


def test_without_a_coordinator_offsets_are_accepted(on_txn: Any) -> None:
    """So are those of version 5, in which the broker adds the partition to the transaction."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        assert Verification(NoLogs(), lambda name: None)(_request(who), OFFSETS) is E.NONE
        verify = Verification(NoLogs(), lambda name: bench.coordinator)
        assert verify(_request(who, version=5), OFFSETS) is E.NONE

    on_txn(story)


@pytest.mark.parametrize(("release", "does"), [((3, 9), False), ((4, 0), True), ((4, 4), True)])
def test_an_older_broker_verifies_nothing(release: tuple[int, ...], does: bool) -> None:
    """Only brokers from 4.0 on verify."""
    assert Verification.is_done_by(release) is does
