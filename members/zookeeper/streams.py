"""The application's side of 0.8's consumer: it iterates over its stream, record by record.

A rebalance drops fetched records, and those of the iterator, before another consumer may own them; the record in
processing is finished. A process that does not know of its expired session drops nothing: it continues with its
records, and with those that its fetchers bring.

Source: Kafka 0.8.2, `ConsumerIterator`, `KafkaStream.clear`.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.randomness import Stream
from groupsim.members.interfaces import Fetched
from groupsim.members.member import Member
from groupsim.members.zookeeper.offsets import Consumed
from groupsim.protocol.messages.group import TopicPartition


class Streams:
    """The records of one process, and their handler."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._cleared = 0
        self._draws: Stream | None = None
        #: The fetched partitions, with the offsets up to which they are delivered.
        self.fetching: dict[TopicPartition, Consumed] = {}

    def clear(self) -> None:
        """Drop fetched records, and those of the iterator."""
        self._cleared += 1
        self.fetching = {}

    async def next_batch(self) -> bool:
        """Deliver and process fetched records; wait if there are none. False after `clear`, or on closing.

        Raises ClientFailure without a position to begin at.
        """
        member = self._member
        member.wake.clear()
        if member.failure is not None:
            raise member.failure
        records = () if member.closing else member.fetcher.take()
        if not records:
            if not member.closing:
                await member.wake.wait()
            return False
        return await self._iterate(records)

    async def _iterate(self, records: tuple[Fetched, ...]) -> bool:
        member, rounds, version = self._member, self._member.rounds, self._cleared
        for found in records:
            for piece in self._pieces(found):
                if version != self._cleared or member.closing:
                    return False
                rounds.deliver((piece,))
                self.fetching[piece.partition].offset = piece.base + piece.count
                took = rounds.processing_us(piece)
                if took:
                    await member.host.sleep(took)
                rounds.finish(piece)
        await self._gap(member.behaviour.poll_gap)
        return True

    def _pieces(self, found: Fetched) -> Iterator[Fetched]:
        """Split a range into single records, unless processing takes no time."""
        if not self._member.behaviour.processing:
            yield found
            return
        for offset in range(found.base, found.base + found.count):
            yield Fetched(found.partition, offset, 1)

    async def _gap(self, distribution: Distribution | None) -> None:
        if not distribution:
            return
        if self._draws is None:
            self._draws = self._member.loop.stream("poll-gap", self._member.host.name)
        took = distribution.draw(self._draws)
        if took:
            await self._member.host.sleep(took)
