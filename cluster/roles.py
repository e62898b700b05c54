"""Who plays which part in a group, as the cluster itself can tell; a scenario knows more (its members' numbers)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from groupsim.cluster.network.endpoint import Endpoint
    from groupsim.coordinator.classic.snapshot import GroupSnapshot


class Groups(Protocol):
    """What is needed of a cluster, light or replicated."""

    @property
    def brokers(self) -> Mapping[int, Endpoint]: ...
    def coordinator_of(self, group_id: str) -> tuple[int, Any]: ...
    def snapshot(self, group: str) -> GroupSnapshot | None: ...


class ClusterRoles:
    """`coordinator` is the broker's host, `leader` that of the group's leader; members count in order of joining."""

    def __init__(self, cluster: Groups) -> None:
        self._cluster = cluster

    def role(self, name: str, group: str | None) -> str | None:
        """See `network.Roles.role`. Raises `ValueError` for a role nobody knows, or without a group."""
        if name not in ("coordinator", "leader"):
            raise ValueError(f"unknown role {name!r}: choose coordinator or leader")
        if group is None:
            raise ValueError(f"role {name!r}: of which group? Give `group` with it")
        if name == "coordinator":
            return self._coordinator(group)
        snapshot = self._cluster.snapshot(group)
        if snapshot is None or snapshot.leader is None:
            return None
        hosts = [m.client_host for m in snapshot.members if m.member_id == snapshot.leader]
        return hosts[0].removeprefix("/") if hosts else None

    def _coordinator(self, group: str) -> str | None:
        try:
            node, _ = self._cluster.coordinator_of(group)
        except LookupError:
            return None
        return self._cluster.brokers[node].host.name

    def member(self, index: int, group: str | None) -> str | None:
        """See `network.Roles.member`. Raises `ValueError` without a group."""
        if group is None:
            raise ValueError(f"member {index}: of which group? Give `group` with it")
        snapshot = self._cluster.snapshot(group)
        if snapshot is None or not 0 <= index < len(snapshot.members):
            return None
        return snapshot.members[index].client_host.removeprefix("/")
