"""The sessions of brokers at the controller.

A session belongs to one incarnation: its first heartbeat begins it, every heartbeat renews it, and it ends after
`broker.session.timeout.ms` without one. The controller checks for expired sessions at intervals (`session_check_ms`,
an eighth of the timeout), so it fences a dead broker between 1 and 1.125 timeouts after the last heartbeat.

There is no timer per heartbeat: the next check is due for the session that ends first, and a check without an expired
session schedules the next.

Sources: `BrokerHeartbeatTracker`, `BrokerHeartbeatManager`, `QuorumController.maybeFenceStaleBrokerPeriodNs`.
"""

from __future__ import annotations


class BrokerSessions:
    """The last heartbeat of each broker's current incarnation. Times in microseconds."""

    def __init__(self, timeout_us: int, check_us: int) -> None:
        self._timeout_us = timeout_us
        self._check_us = check_us
        self._last: dict[int, tuple[int, int]] = {}

    def contact(self, node: int, epoch: int, now_us: int) -> None:
        """Record a heartbeat of the incarnation with this broker epoch."""
        self._last[node] = (epoch, now_us)

    def end(self, node: int) -> None:
        """End a broker's session."""
        self._last.pop(node, None)

    def is_valid(self, node: int, epoch: int, now_us: int) -> bool:
        """Whether the incarnation's session has not expired."""
        known = self._last.get(node)
        return known is not None and known[0] == epoch and now_us <= known[1] + self._timeout_us

    def expired(self, now_us: int) -> list[int]:
        """Return the brokers with expired sessions, the earliest heartbeat first."""
        ended = sorted((last, node) for node, (_, last) in self._last.items() if now_us > last + self._timeout_us)
        return [node for _, node in ended]

    def copy(self) -> dict[int, tuple[int, int]]:
        """Return a copy of all sessions, for `restore`."""
        return dict(self._last)

    def restore(self, then: dict[int, tuple[int, int]]) -> None:
        """Restore a copy of all sessions."""
        self._last = then

    def next_check_us(self) -> int | None:
        """Return the time of the first check after a session may expire; None without sessions."""
        if not self._last:
            return None
        ends = min(last for _, last in self._last.values()) + self._timeout_us + 1
        every = self._check_us
        return ends if not every else -(-ends // every) * every
