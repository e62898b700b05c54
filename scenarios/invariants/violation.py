"""A violation of an invariant: the instant, and what it is about."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.eventloop.units import show_us
from groupsim.protocol.values import frozen


@frozen(kw_only=True)
class Violation:
    """The first violation of an invariant in a run, or one of the later ones.

    `seq` is the last event of the trace before it. `partitions` are by name, `epochs` by what they are the epoch of.
    """

    invariant: str
    t_us: int
    seq: int
    what: str
    group: str | None = None
    members: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    epochs: Mapping[str, int] = {}
    seed: int | None = None

    def __str__(self) -> str:
        parts = [f"{self.invariant} is violated at {show_us(self.t_us)} (event {self.seq}): {self.what}"]
        if self.group is not None:
            parts.append(f"group {self.group}")
        if self.members:
            parts.append(f"members {', '.join(self.members)}")
        if self.partitions:
            parts.append(f"partitions {_shortened(self.partitions)}")
        if self.epochs:
            parts.append(", ".join(f"{name} {epoch}" for name, epoch in self.epochs.items()))
        if self.seed is not None:
            parts.append(f"seed {self.seed}")
        return "; ".join(parts)


def _shortened(partitions: tuple[str, ...], most: int = 8) -> str:
    more = len(partitions) - most
    return ", ".join(partitions[:most]) + (f" and {more} more" if more > 0 else "")
