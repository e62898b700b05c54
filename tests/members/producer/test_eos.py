"""Consume, transform, produce, and commit the offsets in one transaction."""

from __future__ import annotations

from typing import Any

from groupsim.members.interfaces import Fetched, GroupMetadata, Verdict
from groupsim.members.producer.eos import ExactlyOnce, Output
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, TopicPartition
from groupsim.protocol.messages.transactions import EndTxnResponse, InitProducerIdResponse, TxnOffsetCommitResponse
from tests.helpers.producer_fakes import ProducerBench

IN = TopicPartition("in", 2)
GROUP = GroupMetadata("g", 3, "m")
TXN = {"transactional.id": "tx"}


def test_outputs_and_offsets_are_committed_together(on_producer: Any) -> None:
    """Each poll is one transaction: as many outputs as inputs, the next offset of each partition, one commit."""

    async def body(bench: ProducerBench) -> None:
        app = ExactlyOnce(bench.loop, bench.producer, Output("t", same_partition=True))
        bench.producer.start()
        assert await app([Fetched(IN, 10, 5), Fetched(IN, 15, 2)], GROUP) is Verdict.GO_ON
        assert await app([Fetched(IN, 17, 1)], GROUP) is Verdict.GO_ON
        assert (app.committed, app.aborted) == (2, 0)

    bench = on_producer(body, properties=TXN)
    commits = bench.broker.all(Api.TXN_OFFSET_COMMIT)
    assert [entry.offset for request in commits for entry in request.offsets] == [17, 18]
    assert sum(batch.count for batch in bench.broker.logs[TopicPartition("t", 2)]) == 8
    assert [request.committed for request in bench.broker.all(Api.END_TXN)] == [True, True]


def test_an_expelled_member_aborts_and_goes_back(on_producer: Any) -> None:
    """UNKNOWN_MEMBER_ID for the offsets aborts the transaction; the next one succeeds."""

    async def body(bench: ProducerBench) -> None:
        app = ExactlyOnce(bench.loop, bench.producer, Output("t"))
        bench.broker.reply(Api.TXN_OFFSET_COMMIT, TxnOffsetCommitResponse(((IN, ErrorCode.UNKNOWN_MEMBER_ID),)))
        bench.producer.start()
        assert await app([Fetched(IN, 0, 5)], GROUP) is Verdict.GO_BACK
        assert await app([Fetched(IN, 0, 5)], GROUP) is Verdict.GO_ON
        assert (app.committed, app.aborted) == (1, 1)

    bench = on_producer(body, properties=TXN)
    assert [request.committed for request in bench.broker.all(Api.END_TXN)] == [False, True]


def test_a_fenced_application_ends(on_producer: Any) -> None:
    """PRODUCER_FENCED, at the start or at the commit, ends the application."""

    async def body(bench: ProducerBench) -> None:
        app = ExactlyOnce(bench.loop, bench.producer, Output("t"))
        bench.producer.start()
        await app([Fetched(IN, 0, 1)], GROUP)
        bench.broker.reply(Api.END_TXN, EndTxnResponse(ErrorCode.INVALID_PRODUCER_EPOCH))
        assert await app([Fetched(IN, 1, 1)], GROUP) is Verdict.END
        assert await app([Fetched(IN, 1, 1)], GROUP) is Verdict.END
        bench.broker.reply(Api.INIT_PRODUCER_ID, InitProducerIdResponse(ErrorCode.PRODUCER_FENCED))
        bench.producer.start()
        assert await app([Fetched(IN, 1, 1)], GROUP) is Verdict.END

    on_producer(body, properties=TXN)
