"""One member of a classic group. Source: `ClassicGroupMember`."""

from __future__ import annotations

from collections.abc import Container

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.base.timers import Timer
from groupsim.protocol.messages.group import JoinProtocol
from groupsim.protocol.values import define


@define(eq=False)
class Member:
    """A member as in its last JoinGroup, with its assignment and its parked requests.

    `is_new` is True until its first round closes. `join_call` and `sync_call` are the parked requests. `session` is its
    timer, which heartbeats move in place.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[JoinProtocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    join_call: CallToken | None = None
    sync_call: CallToken | None = None
    session: Timer | None = None

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    def matches(self, protocols: tuple[JoinProtocol, ...]) -> bool:
        """Whether these are the same protocols: order, names and bytes."""
        return self.protocols == protocols

    def vote(self, candidates: Container[str]) -> str:
        """Return the first of the member's protocols that is a candidate. Raises IllegalState when none is."""
        for protocol in self.protocols:
            if protocol.name in candidates:
                return protocol.name
        raise IllegalState(f"member {self.member_id} supports none of the candidate protocols")

    def metadata(self, protocol: str | None) -> bytes:
        """Return the member's metadata for `protocol`. Raises IllegalState when it does not offer it."""
        for offered in self.protocols:
            if offered.name == protocol:
                return offered.metadata
        raise IllegalState(f"member {self.member_id} does not offer the protocol {protocol}")

    @property
    def satisfies_heartbeat(self) -> bool:
        """Whether the member needs no heartbeat now, because a request of its is parked. New members always can expire.

        Source: `ClassicGroupMember.hasSatisfiedHeartbeat`, `shouldKeepAlive`.
        """
        return not self.is_new and (self.join_call is not None or self.sync_call is not None)
