"""The rule by which the offsets of a group expire (KIP-211); each kind of group makes its own.

Source: `OffsetExpirationConditionImpl`; classic-protocol reference, 2.12.
"""

from __future__ import annotations

from groupsim.coordinator.base.records import OffsetValue
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen


@frozen
class ExpiryRule:
    """The start of a retention: `since_us`, or with None each offset's commit; `spared` topics do not expire."""

    since_us: int | None = None
    spared: frozenset[str] = frozenset()

    def expired(self, partition: TopicPartition, value: OffsetValue, now_us: int, retention_us: int) -> bool:
        """Whether this offset has expired."""
        if partition.topic in self.spared:
            return False
        if value.expire_us is not None:
            return now_us >= value.expire_us
        base_us = value.commit_us if self.since_us is None else self.since_us
        return now_us - base_us >= retention_us
