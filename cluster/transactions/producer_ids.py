"""Producer ids: the controller gives each broker blocks of a thousand, the broker gives them out one by one.

Asked for a block, the controller answers at once here; in Kafka that is one round trip (`AllocateProducerIds`), made
ahead of need, except for the first block of a broker's life: until that has come, InitProducerId is answered
COORDINATOR_LOAD_IN_PROGRESS. `first_block_us` is that time: 0 in virtual time, a real broker's in a served cluster.
What is left of a block is lost with the broker's process. Where the controller has none to give (it cannot keep that it
gave one), the broker tells who asks to come again, as Kafka's does while it waits for a block.

Source: `RPCProducerIdManager`, `ProducerIdControlManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupsim.cluster.transactions.interfaces import NoProducerId

BLOCK: Final = 1_000


class ProducerIdBlocks:
    """The controller's side: blocks, none twice.

    `keep` gets the next id before the block below it is given out; one for which it raises OSError is not given.
    """

    def __init__(self, first: int = 0) -> None:
        self.next_id = first
        self.keep: Callable[[int], None] | None = None

    def take(self) -> int:
        """The first id of a fresh block. Raises `NoProducerId`."""
        first = self.next_id
        if self.keep is not None:
            try:
                self.keep(first + BLOCK)
            except OSError as error:
                raise NoProducerId(f"no block of producer ids can be given: {error.strerror or error}") from error
        self.next_id = first + BLOCK
        return first


class ProducerIds:
    """One life of a broker: ids out of its block."""

    def __init__(self, blocks: ProducerIdBlocks, now: Callable[[], int] = lambda: 0, first_block_us: int = 0) -> None:
        """`now` is the time in microseconds; the first block comes `first_block_us` after the first id is asked for."""
        self._blocks = blocks
        self._now = now
        self._first_block_us = first_block_us
        self._first_block_at: int | None = None
        self._next = self._end = 0

    def fresh(self) -> int:
        """An id that nobody else gets. Raises `NoProducerId` when there is none to be had just now."""
        if self._first_block_at is None:
            self._first_block_at = self._now() + self._first_block_us
        if self._now() < self._first_block_at:
            raise NoProducerId("the first block of producer ids has not come yet")
        if self._next == self._end:
            self._next = self._blocks.take()
            self._end = self._next + BLOCK
        self._next += 1
        return self._next - 1
