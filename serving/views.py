"""The present state as JSON data: the cluster, its clients, a group with its timers and its purgatory."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import attrs

from groupsim.coordinator.base.snapshot import GroupSnapshot, MemberSnapshot
from groupsim.protocol.embedded import consumer_protocol as embedded
from groupsim.protocol.messages.group import TopicPartition
from groupsim.serving.stage import LiveStage

Addresses = Mapping[int, tuple[str, int]]


def plain(value: Any) -> Any:
    """Convert any value of the rooms to JSON data; bytes become hexadecimal text."""
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if attrs.has(type(value)):
        return {field.name.rstrip("_"): plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else value.name
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def group(seen: GroupSnapshot, coordinator: int, now_us: int) -> dict[str, Any]:
    """Return a group in its coordinator's view; `in_us` is the time until each deadline."""
    found: dict[str, Any] = plain(attrs.evolve(seen, members=()))
    found["coordinator"] = coordinator
    found["now_us"] = now_us
    found["members"] = [_member(one, seen) for one in seen.members]
    for timer in found["timers"]:
        timer["in_us"] = timer["due_us"] - now_us
    return found


def _member(one: MemberSnapshot, seen: GroupSnapshot) -> dict[str, Any]:
    found: dict[str, Any] = plain(one)
    del found["assignment"]
    assigned = None if one.epoch is None else [str(partition) for partition in one.epoch.assigned]
    partitions = _partitions(one.assignment) if assigned is None else assigned
    return {**found, "leader": one.member_id == seen.leader, "partitions": partitions}


def _partitions(assignment: bytes) -> list[str] | None:
    """Return the partitions of an assignment; None when it is not in the consumers' own format."""
    try:
        return [str(one) for one in embedded.decode_assignment(assignment).partitions] if assignment else []
    except ValueError:
        return None


def group_line(seen: GroupSnapshot | None, name: str, coordinator: int | None) -> dict[str, Any]:
    """Return a group as an entry of a list."""
    if seen is None:
        return {"group_id": name, "state": None, "members": 0, "generation": None, "coordinator": coordinator}
    return {
        "group_id": name,
        "state": seen.state,
        "members": len(seen.members),
        "generation": seen.generation,
        "coordinator": coordinator,
    }


def cluster(stage: LiveStage, addresses: Addresses, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the present brokers, topics and clients."""
    return {
        **about,
        "now_us": stage.loop.now_us,
        "brokers": [_broker(stage, node, addresses) for node in stage.replicated.brokers],
        "topics": _topics(stage),
        "clients": _clients(stage),
        "simulated": [
            {"name": name, "group": actor.group, "running": actor.running}
            for name, actor in stage.actors_by_name.items()
        ],
    }


def _broker(stage: LiveStage, node: int, addresses: Addresses) -> dict[str, Any]:
    broker = stage.replicated.brokers[node]
    host, port = addresses.get(node, (None, None))
    state = "frozen" if broker.host.paused else "up" if broker.is_open else "down"
    return {"id": node, "state": state, "host": host, "port": port, "rack": broker.rack}


def _topics(stage: LiveStage) -> list[dict[str, Any]]:
    image = stage.replicated.controller.image
    return [
        {
            "name": name,
            "internal": topic.internal,
            "partitions": len(topic.partitions),
            "leaders": [state.leader for state in topic.partitions] if not topic.internal else None,
        }
        for name, topic in image.topics.items()
    ]


def _clients(stage: LiveStage) -> list[dict[str, Any]]:
    """Return the connected clients, real and simulated, by the name that faults use."""
    found: dict[str, dict[str, Any]] = {}
    for connection in stage.connections():
        name = connection.host_name
        one = found.setdefault(
            name,
            {
                "name": name,
                "client_id": connection.client_id,
                "host": connection.client_host,
                "real": not hasattr(connection, "client"),
                "connections": [],
            },
        )
        one["connections"].append({"broker": connection.broker_host.name, "for": connection.purpose})
    return list(found.values())
