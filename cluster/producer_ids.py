"""Producer ids: the controller gives each broker blocks of a thousand, the broker gives them out one by one.

Asked for a block, the controller answers at once here; in Kafka that is one round trip (`AllocateProducerIds`), made
ahead of need. What is left of a block is lost with the broker's process.

Source: `RPCProducerIdManager`, `ProducerIdControlManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

BLOCK: Final = 1_000


class ProducerIdBlocks:
    """The controller's side: blocks, none twice. `on_take` is called before a block is given out."""

    def __init__(self, first: int = 0) -> None:
        self.next_id = first
        self.on_take: Callable[[], None] | None = None

    def take(self) -> int:
        """The first id of a fresh block."""
        first = self.next_id
        self.next_id += BLOCK
        if self.on_take is not None:
            self.on_take()
        return first


class ProducerIds:
    """One life of a broker: ids out of its block."""

    def __init__(self, blocks: ProducerIdBlocks) -> None:
        self._blocks = blocks
        self._next = self._end = 0

    def fresh(self) -> int:
        """An id that nobody else gets."""
        if self._next == self._end:
            self._next = self._blocks.take()
            self._end = self._next + BLOCK
        self._next += 1
        return self._next - 1
