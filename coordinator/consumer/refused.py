"""The refusal of a request to a consumer group: an error with Kafka's message.

Kafka throws an exception of the error (`ApiException`), and nothing that the request has done so far is written.
"""

from __future__ import annotations

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import JOIN_EPOCH, ConsumerGroupHeartbeatRequest


class Refused(Exception):
    """The request is refused; the operation leaves no record."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def not_found_message(request: ConsumerGroupHeartbeatRequest, *, classic: bool) -> str:
    """Return the message of GROUP_ID_NOT_FOUND, for an absent group or for a classic one."""
    group_id = request.group_id
    if classic:
        return f"Group {group_id} is not a consumer group."
    return (
        f"Consumer group {group_id} not found." if request.member_epoch > JOIN_EPOCH else f"Group {group_id} not found."
    )
