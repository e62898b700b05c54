"""A member's part in a group protocol, as the rest of its client knows it.

A membership is a machine without I/O of its own. Its inputs are the methods here, the answers to what it has sent and
its timers; what it wants done goes through its ports (`ports.py`): requests to the coordinator's connection, timers to
the host, the flag that `poll` waits for. User code it hands to `poll` as something to await. The classic protocol
implements it (`classic/membership.py`); tests run one without an event loop (`tests/helpers/membership_bench.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from groupsim.members.interfaces import Outcome


class Membership(Protocol):
    """One member of one group, in one life of its process."""

    # -- the application's thread -------------------------------------------------------------------------------

    def enter_poll(self) -> None:
        """The application is inside `poll` from now on."""
        ...

    def leave_poll(self) -> None:
        """The application is away from `poll` from now on: max.poll.interval.ms counts."""
        ...

    @property
    def in_poll(self) -> bool:
        """Whether the application is inside `poll`."""
        ...

    @property
    def away_since_us(self) -> int:
        """When the application left `poll` last."""
        ...

    @property
    def owes_heartbeat(self) -> bool:
        """Whether a heartbeat waits for the application to come to `poll`."""
        ...

    def polled(self) -> None:
        """The application has come to `poll`, or between two batches: send a heartbeat that waited for it."""
        ...

    def poll(self) -> Coroutine[Any, Any, None] | None:
        """Go on with a rebalance as far as that needs no answer. Raises ClientFailure, PluginError.

        Returns None, or, where user code runs that may take time, the rest of the way, which is to be awaited.
        """
        ...

    def go_on(self) -> None:
        """The same while the application is away, as far as the library does so without it."""
        ...

    # -- inputs from elsewhere ----------------------------------------------------------------------------------

    def metadata_changed(self) -> None:
        """New metadata arrived."""
        ...

    def coordinator_found(self) -> None:
        """A look-up has found the coordinator."""
        ...

    def coordinator_lost(self) -> None:
        """There is no coordinator to send to any more."""
        ...

    def pausing(self) -> None:
        """The whole process is about to be paused."""
        ...

    def block_heartbeats(self, us: int) -> None:
        """Starve the thread that sends heartbeats for so many microseconds."""
        ...

    # -- wishes -------------------------------------------------------------------------------------------------

    def request_rejoin(self, reason: str, payload: Mapping[str, Any] | None = None) -> None:
        """Ask for a rebalance; `reason` goes to the coordinator, where the version carries it (KIP-800)."""
        ...

    def reset(self, reason: str, *, member_id_too: bool) -> None:
        """The membership is gone: forget the generation, and the member id if asked to, and join again."""
        ...

    def leave(self, reason: str, *, on_done: Callable[[Outcome], None] | None = None, static_too: bool = False) -> bool:
        """Leave the group and forget the membership; True when a request went out, whose outcome `on_done` gets."""
        ...

    def resign(self) -> None:
        """Lead no longer."""
        ...

    def stop_heartbeats(self) -> None:
        """Send no more heartbeats in this generation."""
        ...

    # -- looking ------------------------------------------------------------------------------------------------

    @property
    def rejoin_needed(self) -> bool:
        """Whether a rebalance is wanted."""
        ...

    @property
    def under_way(self) -> bool:
        """Whether a rebalance is in the works."""
        ...

    @property
    def rebalances(self) -> bool:
        """Whether a rebalance is wanted or in the works."""
        ...

    @property
    def busy(self) -> bool:
        """Whether user code of a rebalance runs."""
        ...

    @property
    def assigns_next(self) -> bool:
        """Whether the next step runs an assignor: it takes as long as that, and may wait for metadata."""
        ...

    @property
    def sends_heartbeats(self) -> bool:
        """Whether there is a membership to keep alive."""
        ...

    @property
    def quiet_heartbeats(self) -> int:
        """How many heartbeats were answered without an error."""
        ...
