"""The start of the retention of a group's offsets (KIP-211).

    has been joined, and is empty    since it became empty
consumers, Stable                since the commit, for topics without a subscription
    in a rebalance, or not readable  nothing expires
    never joined (simple)            since the commit

A commit of versions 2 to 4 may set its own time.

Source: `OffsetExpirationConditionImpl`, `ClassicGroup.offsetExpirationCondition`; classic-protocol reference, 2.12.
"""

from __future__ import annotations

from groupsim.coordinator.base.expiry import ExpiryRule
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.states import State


def expiry_rule(group: GroupData, op: Operation) -> ExpiryRule | None:
    """Return the rule for a classic group; None when no offset of it may expire now."""
    # Before 2.1 retention counts from the commit in every state (KAFKA-4682); so it does without a protocol type.
    if not op.differences.retention_from_empty or group.protocol_type is None:
        return ExpiryRule()
    if group.state is State.EMPTY:
        return ExpiryRule(group.state_us)
    # Offsets of topics without a subscription expire only since 2.4 (KIP-496), and only in a consumer group.
    if not (op.differences.unsubscribed_offsets_expire and group.is_consumer) or group.subscribed is None:
        return None
    # Outside Stable the subscriptions are unknown. Some 2.x and 3.x releases missed that check (KAFKA-13636).
    stable = group.state is State.STABLE or not op.differences.expiry_waits_for_stable
    return ExpiryRule(spared=group.subscribed) if stable else None
