"""Check before a join that the member's topics are known.

Sources: `ConsumerCoordinator.poll`, which waits for fresh metadata with a pattern; librdkafka's `rdkafka_cgrp.c`, which
reports a pattern without a match to the application (docs/twins.md).
"""

from __future__ import annotations

from groupsim.members.ports import Ports
from groupsim.members.profiles.defects import Defect
from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode


class TopicsReady:
    """The check, which precedes each JoinGroup."""

    __slots__ = ("_member", "_stale_version", "_warned")

    def __init__(self, member: Ports) -> None:
        self._member = member
        self._stale_version: int | None = None
        self._warned = False

    def are_known(self, *, first: bool) -> bool:
        """Whether the topics are known; a pattern subscriber refreshes them `first` in a rebalance (KAFKA-7126)."""
        member = self._member
        if not (member.subscription.by_pattern or member.profile.reports.consumer_errors):
            return True  # the usual case
        return not self._has_no_topic() and self._is_fresh(first)

    def _has_no_topic(self) -> bool:
        """Whether librdkafka has no topic to join for, which it reports once."""
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
