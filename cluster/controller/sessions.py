"""Which brokers the controller has heard of lately.

A session belongs to one incarnation: it begins with that one's first heartbeat, every heartbeat renews it, and it ends
when none came for longer than `broker.session.timeout.ms`. The controller looks for ended ones from time to time only
(`session_check_ms`), so a dead broker is fenced between one and one and an eighth timeouts after its last sign.

There is no event per heartbeat: the next look is due for the session that ends first, and a look that finds everybody
alive says when to look again.

Sources: `BrokerHeartbeatTracker`, `BrokerHeartbeatManager`, `QuorumController.maybeFenceStaleBrokerPeriodNs`.
"""

from __future__ import annotations


class BrokerSessions:
    """Last contact of each broker's present incarnation. Times in microseconds."""

    def __init__(self, timeout_us: int, check_us: int) -> None:
        self._timeout_us = timeout_us
        self._check_us = check_us
        self._last: dict[int, tuple[int, int]] = {}

    def contact(self, node: int, epoch: int, now_us: int) -> None:
        """A heartbeat of the incarnation with this broker epoch has come."""
        self._last[node] = (epoch, now_us)

    def end(self, node: int) -> None:
        """Forget a broker's session."""
        self._last.pop(node, None)

    def is_valid(self, node: int, epoch: int, now_us: int) -> bool:
        """Whether that incarnation's session still lives."""
        known = self._last.get(node)
        return known is not None and known[0] == epoch and now_us <= known[1] + self._timeout_us

    def expired(self, now_us: int) -> list[int]:
        """The brokers whose session has ended, the longest silent first."""
        ended = sorted((last, node) for node, (_, last) in self._last.items() if now_us > last + self._timeout_us)
        return [node for _, node in ended]

    def as_now(self) -> dict[int, tuple[int, int]]:
        """All sessions as they are, to go back to."""
        return dict(self._last)

    def go_back(self, then: dict[int, tuple[int, int]]) -> None:
        """Let everything be as it was."""
        self._last = then

    def next_check_us(self) -> int | None:
        """When to look again: the first look of the controller's after a session may have ended; None: nobody lives."""
        if not self._last:
            return None
        ends = min(last for _, last in self._last.values()) + self._timeout_us + 1
        every = self._check_us
        return ends if not every else -(-ends // every) * every
