"""Exactly once: consume, transform, produce, and commit the offsets in the same transaction.

`ExactlyOnce` handles the records of one poll: begin, send the outputs, send the offsets with the consumer's group
metadata (so that an expelled member cannot commit, KIP-447), commit. After a failure it aborts, and the consumer
returns to the committed offsets and reads the records again. After fencing the application closes.

The consumer awaits this object between two polls, and continues, returns or ends by the result. It does not poll
meanwhile, so no rebalance takes a partition away in the middle; `transaction.timeout.ms` and the session timeout bound
the delay by a member that hangs. No other commits are allowed: `enable.auto.commit=false`.

Source: `ExactlyOnceMessageProcessor` of Kafka's examples; KIP-98, KIP-447.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from groupsim.members.interfaces import Fetched, GroupMetadata, Verdict
from groupsim.members.producer.transactions import TxnState
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.transactions import OffsetInTxn
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop
    from groupsim.members.producer.producer import Producer
    from groupsim.members.producer.transactions import Transaction


@frozen
class Output:
    """The output for each record: one record of `value_bytes` to `topic`, `same_partition` or by partitioner."""

    topic: str
    value_bytes: int = 100
    same_partition: bool = False


class ExactlyOnce:
    """The transactions of a consume-transform-produce application. Start the producer before the first poll."""

    def __init__(self, loop: EventLoop, producer: Producer, output: Output) -> None:
        self._loop = loop
        self._producer = producer
        self._output = output
        #: Numbers of committed and aborted transactions.
        self.committed = self.aborted = 0

    async def __call__(self, records: Sequence[Fetched], group: GroupMetadata) -> Verdict:
        """Handle the records of one poll in one transaction."""
        if not self._producer.running:
            return Verdict.END
        transaction = self._producer.transaction
        if transaction.state is not TxnState.READY and not await self._ready(transaction):
            return Verdict.END
        transaction.begin()
        self._send(records)
        error = await self._done(lambda on_done: transaction.send_offsets(_offsets(records), group, on_done))
        if error is None:
            error = await self._done(transaction.commit)
        if error is None:
            self.committed += 1
            return Verdict.GO_ON
        return await self._abort(transaction)

    def _send(self, records: Sequence[Fetched]) -> None:
        output = self._output
        for found in records:
            partition = found.partition.partition if output.same_partition else None
            for _ in range(found.count):
                self._producer.send(output.topic, output.value_bytes, partition=partition)

    async def _abort(self, transaction: Transaction) -> Verdict:
        if self._is_over(transaction):
            return Verdict.END
        await self._done(transaction.abort)
        if self._is_over(transaction):
            return Verdict.END
        self.aborted += 1
        return Verdict.GO_BACK

    def _is_over(self, transaction: Transaction) -> bool:
        return not self._producer.running or transaction.state is TxnState.FATAL_ERROR

    async def _ready(self, transaction: Transaction) -> bool:
        """Wait for the producer's id; False if the producer ended."""
        await self._done(lambda on_done: transaction.when_ready(lambda: on_done(None)))
        return self._producer.running and transaction.state is TxnState.READY

    async def _done(self, ask: Callable[[Callable[[ErrorCode | None], None]], None]) -> ErrorCode | None:
        """Call `ask` and wait until it is done or the producer has ended; return the error, if any."""
        results: list[ErrorCode | None] = []
        flag = self._loop.event()

        def on_done(error: ErrorCode | None) -> None:
            results.append(error)
            flag.set()

        self._producer.when_ended(flag.set)
        ask(on_done)
        await flag.wait()
        return results[0] if results else self._producer.failed or ErrorCode.PRODUCER_FENCED


def _offsets(records: Sequence[Fetched]) -> tuple[OffsetInTxn, ...]:
    ends = {found.partition: found.base + found.count for found in records}
    return tuple(OffsetInTxn(partition, offset) for partition, offset in ends.items())
