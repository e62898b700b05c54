"""Producer ids: the controller allocates blocks of a thousand to brokers, and a broker allocates single ids.

A block is allocated at once here. In Kafka it takes a round trip (`AllocateProducerIds`), which is made in advance but
for the first block after a start: until that block is there, InitProducerId fails with COORDINATOR_LOAD_IN_PROGRESS.
`first_block_us` is that time: 0 in virtual time, a real broker's in a served cluster. A crash of the broker loses the
rest of its block. If the controller cannot store an allocation, the broker answers COORDINATOR_LOAD_IN_PROGRESS too.

Source: `RPCProducerIdManager`, `ProducerIdControlManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupsim.cluster.transactions.interfaces import NoProducerId

BLOCK: Final = 1_000


class ProducerIdBlocks:
    """The controller's allocation of blocks.

    `keep` stores the next id before a block is allocated; if it raises OSError, the block is not allocated.
    """

    def __init__(self, first: int = 0) -> None:
        self.next_id = first
        self.keep: Callable[[int], None] | None = None

    def take(self) -> int:
        """Allocate a block; return its first id. Raises NoProducerId."""
        first = self.next_id
        if self.keep is not None:
            try:
                self.keep(first + BLOCK)
            except OSError as error:
                raise NoProducerId(f"no block of producer ids can be given: {error.strerror or error}") from error
        self.next_id = first + BLOCK
        return first


class ProducerIds:
    """The ids of one broker, from its start to its crash."""

    def __init__(self, blocks: ProducerIdBlocks, now: Callable[[], int] = lambda: 0, first_block_us: int = 0) -> None:
        """Allocate the first block `first_block_us` after the first request for an id; `now` returns the time in us."""
        self._blocks = blocks
        self._now = now
        self._first_block_us = first_block_us
        self._first_block_at: int | None = None
        self._next = self._end = 0

    def fresh(self) -> int:
        """Allocate a new id. Raises NoProducerId if there is none at the moment."""
        if self._first_block_at is None:
            self._first_block_at = self._now() + self._first_block_us
        if self._now() < self._first_block_at:
            raise NoProducerId("the first block of producer ids has not come yet")
        if self._next == self._end:
            self._next = self._blocks.take()
            self._end = self._next + BLOCK
        self._next += 1
        return self._next - 1
