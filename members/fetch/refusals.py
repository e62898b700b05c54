"""A pulling consumer's reactions to a refused partition of a Fetch.

Most refusals mean outdated metadata: they are refreshed, and the partition is fetched again. An offset out of range is
reset, unless a follower refused it, which may be behind: then the leader is asked.

Source: `FetchCollector.handleInitializeErrors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from groupsim.members.failures import ClientFailure
from groupsim.members.fetch.state import NO_REPLICA, PartitionState
from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from groupsim.members.member import Member

_E = ErrorCode

NAMES_LEADER: Final = frozenset({_E.NOT_LEADER_OR_FOLLOWER, _E.FENCED_LEADER_EPOCH})
"""Refusals that may name the leader (KIP-951)."""

_OLD_VIEW = frozenset(
    {
        _E.NOT_LEADER_OR_FOLLOWER,
        _E.KAFKA_STORAGE_ERROR,
        _E.FENCED_LEADER_EPOCH,
        _E.OFFSET_NOT_AVAILABLE,
        _E.UNKNOWN_TOPIC_OR_PARTITION,
        _E.UNKNOWN_TOPIC_ID,
    }
)
_ONLY_AGAIN = frozenset({_E.UNKNOWN_LEADER_EPOCH, _E.UNKNOWN_SERVER_ERROR})


class Refused(Protocol):
    """The fetcher whose fetch was refused."""

    def wait(self, state: PartitionState) -> None: ...
    def reset(self, state: PartitionState) -> None: ...


def handle(fetcher: Refused, member: Member, state: PartitionState, error: ErrorCode, offset: int) -> None:
    """React to the refusal of a fetch at an offset."""
    if error in _OLD_VIEW:
        state.preferred = NO_REPLICA
        fetcher.wait(state)
        member.metadata.outdated()
    elif error in _ONLY_AGAIN:
        fetcher.wait(state)
    elif error is _E.OFFSET_OUT_OF_RANGE:
        _out_of_range(fetcher, member, state, offset)
    else:
        _throw(member, state, error, offset)
        fetcher.wait(state)


def _out_of_range(fetcher: Refused, member: Member, state: PartitionState, offset: int) -> None:
    # A follower may lag behind: `handleInitializeErrors` clears the preferred replica, and asks the leader (KIP-392).
    if state.preferred != NO_REPLICA:
        state.preferred = NO_REPLICA
        return
    # The position has moved since the fetch was sent: a stale answer.
    if state.offset != offset:
        return
    problem = f"Fetch position {offset} is out of range for partition {state.partition}"
    if member.settings.auto_offset_reset == "none":
        reason = f"{problem}, and no reset policy is configured"
        member.fail(ClientFailure("OffsetOutOfRangeException", reason))
        fetcher.wait(state)
        return
    member.warn(f"{problem}, resetting offset")
    fetcher.reset(state)
    member.wake.set()


def _throw(member: Member, state: PartitionState, error: ErrorCode, offset: int) -> None:
    place = f"offset {offset} of partition {state.partition}"
    if error is _E.TOPIC_AUTHORIZATION_FAILED:
        reason = f"Not authorized to access topics: [{state.partition.topic}]"
        member.fail(ClientFailure(exception_name(error), reason))
    elif error is _E.CORRUPT_MESSAGE:
        member.fail(ClientFailure("KafkaException", f"Encountered corrupt message when fetching {place}"))
    else:
        member.fail(ClientFailure("IllegalStateException", f"Unexpected error {error.name} while fetching {place}"))
