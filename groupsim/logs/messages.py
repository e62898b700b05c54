"""The messages of Kafka's error codes, as its exceptions print them."""

from __future__ import annotations

from collections.abc import Mapping

MESSAGES: Mapping[str, str] = {
    "UNKNOWN_MEMBER_ID": "The coordinator is not aware of this member.",
    "ILLEGAL_GENERATION": "Specified group generation id is not valid.",
    "REBALANCE_IN_PROGRESS": "The group is rebalancing, so a rejoin is needed.",
    "MEMBER_ID_REQUIRED": "The group member needs to have a valid member id before actually entering a consumer group.",
    "NOT_COORDINATOR": "This is not the correct coordinator.",
    "COORDINATOR_NOT_AVAILABLE": "The coordinator is not available.",
    "COORDINATOR_LOAD_IN_PROGRESS": "The coordinator is loading and hence can't process requests.",
    "FENCED_INSTANCE_ID": "The broker rejected this static consumer since another consumer with the same "
    "group.instance.id has registered with a different member.id.",
    "GROUP_MAX_SIZE_REACHED": "The consumer group has reached its max size.",
    "INCONSISTENT_GROUP_PROTOCOL": "The group member's supported protocols are incompatible with those of existing "
    "members or first group member tried to join with empty protocol type or empty protocol list.",
    "DISCONNECTED": "The server disconnected before a response was received.",
    "TIMED_OUT": "The request timed out.",
}
