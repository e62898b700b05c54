"""The full reason in the Java consumer's line "Request joining group due to: …".

The next JoinGroup has a short reason (KIP-800); the log has the full one. Sources: the constants of
`AbstractCoordinator`, `ConsumerCoordinator` and its `MetadataSnapshot` and `PartitionRackInfo` in the jars of 3.3.1,
3.5.2 and 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groupsim.logs.messages import MESSAGES
from groupsim.logs.wording import Version
from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.javahash import java_set_order

_FAILED = "rebalance failed due to "
_MESSAGES = {exception_name(ErrorCode[name]): text for name, text in MESSAGES.items() if name in ErrorCode.__members__}
_RACKS_SINCE = (3, 5)


def full_reason(
    reason: str, payload: Mapping[str, Any], version: Version, given: Sequence[str] | None, revoked: str
) -> str:
    """Return the full reason for a short one.

    `given` is the assignment, `revoked` the partitions of the last callback, `payload` that of `rejoin.requested`.
    """
    if reason.startswith(_FAILED):
        exception = reason.removeprefix(_FAILED)
        return f"{_FAILED}'{_message(exception, payload)}' ({exception})"
    if reason == "need to revoke partitions and re-join":
        return f"need to revoke partitions [{revoked}] as indicated by the current assignment and re-join"
    if reason == "received assignment does not match the current subscription":
        return (
            f"received assignment [{', '.join(given or ())}] does not match the current subscription "
            f"Subscribe({payload.get('subscribed', '')}); it is likely that the subscription has changed since we "
            "joined the group, will re-join with current subscription"
        )
    if "before" in payload:
        before, now = (_shown(payload[one], version) for one in ("before", "now"))
        return f"{reason} from {before} at the beginning of the rebalance to {now}"
    return reason


def _message(exception: str, payload: Mapping[str, Any]) -> str:
    """Return the message of an exception; an exception without one prints null."""
    if exception == "KafkaException":
        api, error = payload.get("refused") or ("", "")
        text = MESSAGES.get(error, error)
        return f"Unexpected error from SyncGroup: {text}" if api == "SyncGroup" else f"{_UNEXPECTED}{text}"
    return _MESSAGES.get(exception, "null")


_UNEXPECTED = "Unexpected error in join group response: "


def _shown(value: Any, version: Version) -> str:
    """Format a subscription as a set, or a snapshot of metadata: partitions by topic, with racks since 3.5."""
    if not isinstance(value, Mapping):
        return f"[{', '.join(java_set_order(value))}]"
    topics = value["topics"]
    shown = [f"{topic}={_partitions(topics[topic], version)}" for topic in java_set_order(topics)]
    return f"(version{value['version']}: {{{', '.join(shown)}}})"


def _partitions(racks: Sequence[Sequence[str]], version: Version) -> str:
    if version < _RACKS_SINCE:
        return str(len(racks))
    shown = (f"racks=[{', '.join(java_set_order(one))}]" if one else "NO_RACKS" for one in racks)
    return f"[{', '.join(shown)}]"
