"""A play as plain lines, such that what differs from one run to the next by its nature does not.

Member ids are M1, M2 … in the order in which the consumer was given them (or made them, in the consumer protocol),
those of others O1 …; names of topics and of the group lose the story's prefix; topics have names in the place of ids;
pauses are classes. A pause is the time since the last request or answer, and of a heartbeat since the last heartbeat or
the answer to the last JoinGroup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from groupsim.protocol.embedded.consumer_protocol import Subscription, decode_assignment, decode_subscription
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from groupsim.protocol.messages.group import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupsim.protocol.messages.response_errors import error_in
from tests.twins.story import Story
from tests.twins.tap import Play, Seen

#: Up to so many milliseconds a pause is called this. With `story.SETTINGS` what is meant lies well inside.
CLASSES: Sequence[tuple[int, str]] = (
    (100, "at once"),
    (320, "0.2 s"),
    (600, "0.4 s"),
    (1_100, "0.8 s"),
    (1_850, "1.5 s"),
    (2_500, "2 s"),
    (4_000, "3 s"),
)

_AT_ONCE_US = 60_000


def pause(us: int) -> str:
    """The class of a pause."""
    return next((name for upto, name in CLASSES if us < upto * 1_000), "long")


@frozen
class Told:
    """A play as it is compared: each request with the class of its pause, and what the application went through.

    `held_up_us` is how long the machine held it up at most (`held_up`); in virtual time nothing does.
    """

    pauses: tuple[str, ...]
    requests: tuple[str, ...]
    application: tuple[str, ...]
    held_up_us: int = field(default=0, eq=False)


def written(play: Play, lived: Sequence[str]) -> Told:
    """A play in plain words; `lived` is what its application said."""
    symbols = _symbols(play.seen)
    order = _ordered(play.seen) if play.coordinator is not None else range(len(play.seen))
    pauses = _pauses(play.seen, play.began_us)
    topics = {} if play.coordinator is None else play.coordinator.symbols()
    return Told(
        tuple(pause(pauses[at]) for at in order),
        tuple(_said(_told(play.seen[at], topics), symbols, play.story) for at in order),
        tuple(application(lived, play.story)),
        play.held_up_us,
    )


def _pauses(seen: Sequence[Seen], began_us: int | None) -> list[int]:
    found: list[int] = []
    last = began_us
    beat: int | None = None
    for one in seen:
        beats = isinstance(one.request, HeartbeatRequest | ConsumerGroupHeartbeatRequest)
        since = beat if beats and beat is not None else last
        found.append(0 if since is None else one.at_us - since)
        ended = one.at_us if one.answered_us is None else one.answered_us
        last = max(last or 0, ended)
        if beats:
            beat = one.at_us
        elif isinstance(one.request, JoinGroupRequest):
            beat = ended
    return found


def _ordered(seen: Sequence[Seen]) -> Sequence[int]:
    """The places of requests, a heartbeat before a look-up of offsets that goes out at the same time.

    In the consumer protocol one thread sends both, and the two events that it handles come from another one.
    """
    order = list(range(len(seen)))
    for at in range(1, len(seen)):
        before, one = seen[order[at - 1]], seen[order[at]]
        if (
            isinstance(before.request, OffsetFetchRequest)
            and isinstance(one.request, ConsumerGroupHeartbeatRequest)
            and one.at_us - before.at_us < _AT_ONCE_US
        ):
            order[at - 1 : at + 1] = [order[at], order[at - 1]]
    return order


def _symbols(seen: Sequence[Seen]) -> dict[str, str]:
    """Raw member id → M1 …, O1 …"""
    symbols: dict[str, str] = {}
    for one in seen:
        if isinstance(one.request, ConsumerGroupHeartbeatRequest):
            _name(symbols, one.request.member_id, "M")
        elif isinstance(one.response, JoinGroupResponse):
            _name(symbols, one.response.member_id, "M")
            _name(symbols, one.response.leader, "O")
            for member in one.response.members:
                _name(symbols, member.member_id, "O")
    return symbols


def _name(symbols: dict[str, str], raw: str, letter: str) -> None:
    if raw and raw not in symbols:
        symbols[raw] = f"{letter}{1 + sum(name[0] == letter for name in symbols.values())}"


def _said(line: str, symbols: Mapping[str, str], story: Story) -> str:
    for raw, symbol in symbols.items():
        line = line.replace(raw, symbol)
    return line.replace(f"{story.slug}.", "").rstrip()


def _told(seen: Seen, topics: Mapping[str, str]) -> str:
    request: Any = _with_names(seen.request, topics)
    said = _REQUESTS[type(request)](request)
    return f"{request.API.title} v{request.version} {said} -> {_answered(seen, topics)}"


def _answered(seen: Seen, topics: Mapping[str, str]) -> str:
    if seen.response is None:
        return seen.struck or "waiting"
    error = error_in(seen.response)
    more = _RESPONSES.get(type(seen.response))
    return error.name if error or more is None else more(_with_names(seen.response, topics))


def _with_names(message: Any, topics: Mapping[str, str]) -> Any:
    """A message of the consumer protocol with names of topics in the place of ids."""
    if isinstance(message, ConsumerGroupHeartbeatRequest):
        return evolve(message, topic_partitions=_renamed(message.topic_partitions, topics))
    if isinstance(message, ConsumerGroupHeartbeatResponse):
        return evolve(message, assignment=_renamed(message.assignment, topics))
    return message


def _renamed(parts: Sequence[TopicPartitions] | None, topics: Mapping[str, str]) -> tuple[TopicPartitions, ...] | None:
    if parts is None:
        return None
    return tuple(TopicPartitions(topics.get(one.topic_id, one.topic_id), one.partitions) for one in parts)


def _member(request: Any) -> str:
    instance = f" instance {request.group_instance_id}" if request.group_instance_id is not None else ""
    return f"generation {request.generation_id} member {request.member_id or '-'}{instance}"


def _partitions(partitions: Any) -> str:
    return "[" + " ".join(map(str, partitions)) + "]"


def _assignment(data: bytes) -> str:
    return _partitions(decode_assignment(data).partitions) if data else "nothing"


def _protocol(name: str, metadata: bytes) -> str:
    said = _subscription(metadata)
    generation = -1 if said.generation is None else said.generation
    data = "" if said.user_data is None else f" data {said.user_data.hex()}"
    rack = "" if said.rack is None else f" rack {said.rack}"
    version = int.from_bytes(metadata[:2])
    return f"{name}(v{version} {_partitions(said.topics)} owned {_partitions(said.owned)} of {generation}{data}{rack})"


def _subscription(metadata: bytes) -> Subscription:
    """What is in it; kafkajs calls the fields of version 0 version 1."""
    try:
        return decode_subscription(metadata)
    except ProtocolError:
        return decode_subscription(bytes(2) + metadata[2:])


def _join(request: JoinGroupRequest) -> str:
    instance = f" instance {request.group_instance_id}" if request.group_instance_id is not None else ""
    protocols = " ".join(_protocol(one.name, one.metadata) for one in request.protocols)
    rebalance = request.rebalance_timeout_ms if request.version else "-"  # there is none in version 0
    timeouts = f"{request.session_timeout_ms}/{rebalance}"
    return f'member {request.member_id or "-"}{instance} timeouts {timeouts} "{request.reason}" {protocols}'


def _joined(response: JoinGroupResponse) -> str:
    leads = "leads" if response.leader == response.member_id else "follows"
    skips = ", without assigning" if response.skip_assignment else ""
    members = " ".join(sorted(member.member_id for member in response.members))
    return f"generation {response.generation_id}, {leads} {members}{skips}".rstrip()


def _sync(request: SyncGroupRequest) -> str:
    given = " ".join(f"{one.member_id}={_assignment(one.assignment)}" for one in request.assignments)
    return f"{_member(request)} {request.protocol_type}/{request.protocol_name} {given}".rstrip()


def _leave(request: LeaveGroupRequest) -> str:
    said = [(one.member_id or "-", one.group_instance_id or "-", one.reason) for one in request.members]
    return " ".join(f'member {member} instance {instance} "{reason}"' for member, instance, reason in said)


def _commit(request: OffsetCommitRequest) -> str:
    offsets = sorted(f"{one.partition}@{one.offset}/{one.leader_epoch}" for one in request.offsets)
    return f"{_member(request)} {' '.join(offsets)}"


def _fetch(request: OffsetFetchRequest) -> str:
    return _partitions(sorted(request.partitions or ())) + ("" if request.require_stable else " unstable too")


def _fetched(response: OffsetFetchResponse) -> str:
    return " ".join(f"{one.partition}@{one.offset}" for one in sorted(response.offsets, key=lambda one: one.partition))


def _beat(request: ConsumerGroupHeartbeatRequest) -> str:
    given = {
        "instance": request.instance_id,
        "rack": request.rack_id,
        "timeout": request.rebalance_timeout_ms if request.rebalance_timeout_ms >= 0 else None,
        "topics": _sorted(request.subscribed_topic_names),
        "regex": None if request.subscribed_topic_regex is None else f'"{request.subscribed_topic_regex}"',
        "assignor": request.server_assignor,
        "owns": None if request.topic_partitions is None else _by_topic(request.topic_partitions),
    }
    fields = " ".join(f"{name} {value}" for name, value in given.items() if value is not None)
    return f"member {request.member_id or '-'} epoch {request.member_epoch} {fields}".rstrip()


def _sorted(names: Sequence[str] | None) -> str | None:
    return None if names is None else _partitions(sorted(names))


def _beaten(response: ConsumerGroupHeartbeatResponse) -> str:
    assignment = "" if response.assignment is None else f" {_by_topic(response.assignment)}"
    return f"epoch {response.member_epoch}{assignment}"


def _by_topic(topics: Sequence[TopicPartitions]) -> str:
    return _partitions(sorted(f"{one.topic_id}-{number}" for one in topics for number in one.partitions))


def _metadata(request: MetadataRequest) -> str:
    return "of all topics" if request.topics is None else _partitions(sorted(request.topics))


_REQUESTS: Mapping[type, Callable[[Any], str]] = {
    FindCoordinatorRequest: lambda request: "of the group" if request.key_type == 0 else "of a transaction",
    JoinGroupRequest: _join,
    SyncGroupRequest: _sync,
    HeartbeatRequest: _member,
    LeaveGroupRequest: _leave,
    OffsetCommitRequest: _commit,
    OffsetFetchRequest: _fetch,
    MetadataRequest: _metadata,
    ConsumerGroupHeartbeatRequest: _beat,
}
_RESPONSES: Mapping[type, Callable[[Any], str]] = {
    JoinGroupResponse: _joined,
    SyncGroupResponse: lambda response: _assignment(response.assignment),
    OffsetFetchResponse: _fetched,
    ConsumerGroupHeartbeatResponse: _beaten,
}


def application(lived: Sequence[str], story: Story) -> list[str]:
    """What the application went through, a line each; exceptions alike in a row are one."""
    lines = [line.replace(f"{story.slug}.", "").rstrip() for line in lived]
    return [line for at, line in enumerate(lines) if not line.startswith("threw") or lines[at - 1 : at] != [line]]
