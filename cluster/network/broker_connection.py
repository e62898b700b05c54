"""A connection as the network, its faults and a broker see it, whatever its client is.

Two kinds exist: `connection.Connection`, to a simulated client, and `tcp.connection.TcpConnection`, to a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from groupsim.eventloop.interface import Host
from groupsim.protocol.messages.group import Request, Response

if TYPE_CHECKING:
    from groupsim.cluster.network.endpoint import Endpoint
    from groupsim.cluster.network.link_faults import Condition


class BrokerConnection(Protocol):
    """One connection, seen from the broker, and the `coordinator.interfaces.Call` of its current request."""

    host_name: str
    client_id: str
    client_host: str
    purpose: str
    broker: Endpoint
    broker_host: Host
    correlation: int
    request: Request
    took_us: int
    cause_seq: int
    give_up: Callable[[], None] | None
    conditions: Sequence[Condition]

    @property
    def busy(self) -> bool:
        """Whether the broker has an unanswered request."""

    def answer(self, response: Response) -> None:
        """Send the response to the current request. Raises RuntimeError without a request."""

    def no_answer(self) -> None:
        """End the current request without a response. Raises RuntimeError without a request."""

    def pass_back(self, response: Response) -> None:
        """Send a response after the message faults have let it pass."""

    def delay(self, response: Response, by_us: int) -> None:
        """Send a response that arrives after `by_us` at the earliest; later responses arrive after it."""

    def drop(self, reason: str) -> None:
        """Emit that the current answer reaches no client."""

    def silence(self) -> None:
        """Send no further responses on this connection, which stays up."""

    def cut(self, reason: str) -> None:
        """Break the connection now."""

    def refuse(self) -> None:
        """Refuse the connection during its handshake."""

    def impose(self, conditions: list[Condition]) -> None:
        """Replace the link faults that affect this connection."""

    def release_from(self, condition: Condition) -> None:
        """Send what an ended fault has stalled, in order."""

    def update_plain(self, message_faults: bool) -> None:
        """Recompute whether the connection is free of faults (`plain`)."""

    def time_long_poll(self) -> None:
        """Turn a Fetch that stands for many long polls into the current one, with its deadline."""
