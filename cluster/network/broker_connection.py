"""What the network, its faults and a broker need of a connection, whoever is at its other end.

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
    """One connection, seen from the broker; it is also the `coordinator.interfaces.Call` of the request in hand."""

    host_name: str
    client_id: str
    client_host: str
    purpose: str
    broker: Endpoint
    broker_host: Host
    correlation: int
    request: Request
    took_us: int
    blame: int
    give_up: Callable[[], None] | None
    conditions: Sequence[Condition]

    @property
    def busy(self) -> bool:
        """Whether the broker has a request in hand."""

    def answer(self, response: Response) -> None:
        """Send the response to the request in hand. Raises RuntimeError when there is none."""

    def no_answer(self) -> None:
        """The request in hand gets none. Raises RuntimeError when there is none in hand."""

    def pass_back(self, response: Response) -> None:
        """Send a response that a fault has looked at."""

    def delay(self, response: Response, by_us: int) -> None:
        """Send a response so late that it arrives after `by_us` at the earliest; what follows stays behind it."""

    def drop(self, reason: str) -> None:
        """Say in the trace that the answer in hand reaches nobody."""

    def hush(self) -> None:
        """Nothing comes back on this connection any more, though it stays up."""

    def cut(self, reason: str) -> None:
        """Break the connection now."""

    def refuse(self) -> None:
        """Let nobody in by this connection."""

    def impose(self, conditions: list[Condition]) -> None:
        """The faults of links that concern this connection from now on."""

    def release_from(self, condition: Condition) -> None:
        """A fault has ended: what it held back goes out, in order."""

    def settle(self, tapped: bool) -> None:
        """See anew whether any fault is near."""

    def go_by_the_clock(self) -> None:
        """Something is wrong: what stood for many long polls is one from now on."""
