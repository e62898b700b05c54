"""What a consumer group has besides its records: it is lost with the broker, and no failed append takes it back.

Source: `ModernGroup.metadataRefreshDeadline`; consumer-protocol reference, 1.5.
"""

from __future__ import annotations

from attrs import Factory

from groupsim.coordinator.base.timers import Timer
from groupsim.protocol.values import define

_REFRESH_US = 1_000 * (2**31 - 1)


@define
class SoftState:
    """The deadline of the metadata, since when a group epoch waits for its target, and the members' sessions."""

    #: When the metadata has to be looked at again; 0: at the next heartbeat.
    metadata_due_us: int = 0
    #: The group epoch at which it was looked at last; a lower one has been taken back, so that it is due again.
    metadata_epoch: int = 0
    #: The instant of the first bump since the last target; None when none waits.
    waiting_since_us: int | None = None
    #: The session of each member whose timer this group has set.
    sessions: dict[str, Timer] = Factory(dict)

    def is_metadata_due(self, group_epoch: int, now_us: int) -> bool:
        """Whether a heartbeat has to compute the hash of the group's topics."""
        return now_us >= self.metadata_due_us or group_epoch < self.metadata_epoch

    def metadata_seen(self, group_epoch: int, now_us: int) -> None:
        """Set the deadline after the hash was computed: 25 days, in which events of the broker come first."""
        self.metadata_due_us = now_us + _REFRESH_US
        self.metadata_epoch = group_epoch

    def bumped(self, group_epoch: int, now_us: int) -> None:
        """Note a bump with a new hash."""
        self.metadata_seen(group_epoch, now_us)
        if self.waiting_since_us is None:
            self.waiting_since_us = now_us

    def request_metadata(self) -> None:
        """Make the metadata due: a topic of the group has changed."""
        self.metadata_due_us = self.metadata_epoch = 0
