"""From when the offsets of a group count their retention (KIP-211).

    has been joined, and is empty    since it became empty
    consumers, Stable                since the commit, for topics nobody subscribes to any more
    in a rebalance, or not readable  nothing expires
    never joined (simple)            since the commit

A commit of versions 2 to 4 may carry its own time.

Source: `OffsetExpirationConditionImpl`, `ClassicGroup.offsetExpirationCondition`; classic-protocol reference, 2.12.
"""

from __future__ import annotations

from attrs import frozen

from groupsim.coordinator.base.records import OffsetValue
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.states import State
from groupsim.protocol.messages.group import TopicPartition


@frozen
class ExpiryRule:
    """From when offsets count their retention: `since_us`, or with None their own commit; `spared` topics are kept."""

    since_us: int | None = None
    spared: frozenset[str] = frozenset()

    def expired(self, partition: TopicPartition, value: OffsetValue, now_us: int, retention_us: int) -> bool:
        """Whether this offset is due."""
        if partition.topic in self.spared:
            return False
        if value.expire_us is not None:
            return now_us >= value.expire_us
        base_us = value.commit_us if self.since_us is None else self.since_us
        return now_us - base_us >= retention_us


def expiry_rule(group: GroupData, turn: Turn) -> ExpiryRule | None:
    """The rule for a classic group; None when nothing of it may expire now."""
    if not turn.differences.retention_from_empty or group.protocol_type is None:
        return ExpiryRule()
    if group.state is State.EMPTY:
        return ExpiryRule(group.state_us)
    if not (turn.differences.unsubscribed_offsets_expire and group.is_consumer) or group.subscribed is None:
        return None
    stable = group.state is State.STABLE or not turn.differences.expiry_waits_for_stable
    return ExpiryRule(spared=group.subscribed) if stable else None
