"""One member of a consumer group, as a value.

A member that changes is replaced by another value, so that a failed append can restore the former one. The partitions
that it owns and those that it has to revoke are by topic id; each has the assignment epoch at which it was assigned,
which decides whether a commit with an older member epoch counts (KIP-1251).

Source: `ConsumerGroupMember`, `ModernGroupMember`, `MemberState`; consumer-protocol reference, 1.1 and 1.12.
"""

from __future__ import annotations

from groupsim.coordinator.base.consumer_records import ClassicMetadata as ClassicMetadata
from groupsim.coordinator.base.consumer_records import MemberState as MemberState
from groupsim.coordinator.base.consumer_records import Partitions as Partitions
from groupsim.protocol.values import value


@value
class ConsumerMember:
    """One member. `names` are its subscribed topics in sorted order; `regex` is "" without one.

    `member_epoch` -2 is a static member that left and may come back. `classic` is None for a member of the consumer
    protocol.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    names: tuple[str, ...] = ()
    regex: str = ""
    assignor: str | None = None
    classic: ClassicMetadata | None = None
    member_epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Partitions = {}
    pending: Partitions = {}

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether the member owns its target of this epoch (`ConsumerGroupMember.isReconciledTo`)."""
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch
