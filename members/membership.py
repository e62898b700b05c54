"""The interface of a group membership to the rest of its client.

A membership does no I/O of its own. Its inputs are these methods, answers and timers; its outputs go through its ports
(`ports.py`): requests on the coordinator's connection, timers of the host, the flag that `poll` waits for. It returns
user code to `poll` as a coroutine. `classic/membership.py` implements the classic protocol,
`consumer_protocol/membership.py` that of KIP-848; tests run both without an event loop
(`tests/helpers/membership_bench.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from groupsim.members.interfaces import Outcome


class Membership(Protocol):
    """The membership of one process in one group."""

    # -- the application's thread -------------------------------------------------------------------------------

    def enter_poll(self) -> None:
        """Record that the application has entered `poll`."""
        ...

    def leave_poll(self) -> None:
        """Record that the application has left `poll`: max.poll.interval.ms counts from now."""
        ...

    @property
    def in_poll(self) -> bool:
        """Whether the application is inside `poll`."""
        ...

    @property
    def resolves_in_poll(self) -> bool:
        """Whether a pattern is matched against new metadata in `poll`, and not when they come."""
        ...

    @property
    def away_since_us(self) -> int:
        """When the application last left `poll`, in microseconds."""
        ...

    @property
    def owes_heartbeat(self) -> bool:
        """Whether an overdue heartbeat waits for the application to call `poll`."""
        ...

    def polled(self) -> None:
        """Send an overdue heartbeat: the application has called `poll`, or is between two batches."""
        ...

    def poll(self) -> Coroutine[Any, Any, None] | None:
        """Advance the rebalance as far as possible without an answer. Raises ClientFailure, PluginError.

        Returns None, or, where user code may take time, the rest of the work as a coroutine to await.
        """
        ...

    def go_on(self) -> None:
        """Advance the rebalance while the application is away from `poll`, as far as the library does that."""
        ...

    # -- inputs from elsewhere ----------------------------------------------------------------------------------

    def metadata_changed(self) -> None:
        """Handle new metadata."""
        ...

    def coordinator_found(self) -> None:
        """Handle a successful look-up of the coordinator."""
        ...

    def coordinator_lost(self) -> None:
        """Handle a coordinator that was marked unknown."""
        ...

    def pausing(self) -> None:
        """Prepare for a pause of the whole process."""
        ...

    def block_heartbeats(self, us: int) -> None:
        """Keep the heartbeat thread from running for `us` microseconds."""
        ...

    # -- requests of other parts --------------------------------------------------------------------------------

    def request_rejoin(self, reason: str, payload: Mapping[str, Any] | None = None) -> None:
        """Request a rebalance; JoinGroup v8 and later carries the `reason` (KIP-800)."""
        ...

    def reset(self, reason: str, *, member_id_too: bool) -> None:
        """Reset the generation, and the member id if `member_id_too`, and join again."""
        ...

    def prepare_leave(self) -> None:
        """Prepare for a leave, before the callbacks for the partitions that are given up."""
        ...

    def leave(self, reason: str, *, on_done: Callable[[Outcome], None] | None = None, static_too: bool = False) -> bool:
        """Leave the group and reset the membership; True if a request was sent, whose outcome `on_done` gets."""
        ...

    def resign(self) -> None:
        """Stop acting as the leader."""
        ...

    def stop_heartbeats(self) -> None:
        """Send no more heartbeats in this generation."""
        ...

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def in_group(self) -> bool:
        """Whether the member is in the group, as far as it knows, or on its way into it."""
        ...

    @property
    def commit_refusal(self) -> str | None:
        """The exception of a commit that is refused without a request in the current state; None: it is sent."""
        ...

    @property
    def stays_by_request(self) -> bool:
        """Whether a member that is to stay reports that it will come back."""
        ...

    @property
    def rejoin_needed(self) -> bool:
        """Whether a rejoin was requested."""
        ...

    @property
    def rebalances(self) -> bool:
        """Whether a rejoin was requested or a rebalance is under way."""
        ...

    @property
    def busy(self) -> bool:
        """Whether user code of a rebalance is running."""
        ...

    @property
    def assigns_next(self) -> bool:
        """Whether the next step runs an assignor, which takes time and may wait for metadata."""
        ...

    @property
    def sends_heartbeats(self) -> bool:
        """Whether heartbeats are enabled."""
        ...

    @property
    def quiet_heartbeats(self) -> int:
        """Number of heartbeats answered without an error."""
        ...
