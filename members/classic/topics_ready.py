"""Whether the topics are known that a member joins for.

Sources: `ConsumerCoordinator.poll`, which waits for fresh metadata where there is a pattern; librdkafka's
`rdkafka_cgrp.c`, which tells the application of a pattern without a match (docs/twins.md).
"""

from __future__ import annotations

from groupsim.members.ports import Ports
from groupsim.members.profiles.defects import Defect
from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode


class TopicsReady:
    """Looked at before each JoinGroup."""

    __slots__ = ("_member", "_stale_version", "_warned")

    def __init__(self, member: Ports) -> None:
        self._member = member
        self._stale_version: int | None = None
        self._warned = False

    def are_known(self, *, first: bool) -> bool:
        """A pattern subscriber looks at all topics anew `first` in each rebalance, not to join with an old list."""
        member = self._member
        if not (member.subscription.by_pattern or member.profile.reports.consumer_errors):
            return True  # as nearly always
        return not self._finds_nothing() and self._is_fresh(first)

    def _finds_nothing(self) -> bool:
        """Whether it has no topic to join for, where a library waits for one and tells the application so."""
        member = self._member
        if not member.profile.reports.consumer_errors or member.subscription.topics or not member.metadata.version:
            return False
        if not self._warned:
            self._warned = True
            member.report_error(
                exception_name(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), "no topic matches the subscription"
            )
        return True

    def _is_fresh(self, first: bool) -> bool:
        member, metadata = self._member, self._member.metadata
        if not member.subscription.by_pattern or not first or Defect.KAFKA_7126 in member.profile.defects:
            return True
        if self._stale_version is None:
            self._stale_version = metadata.version
            metadata.refresh()
        if metadata.version == self._stale_version:
            return False
        self._stale_version = None
        return True
