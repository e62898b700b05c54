"""Virtual time as pixels, and the labels of its axis."""

from __future__ import annotations

from groupsim.protocol.values import frozen

SECOND = 1_000_000
LONG_US = 600 * SECOND  # what is longer is labelled in minutes
_MOST_LABELS = 7  # of an axis


@frozen
class TimeScale:
    """The time up to `end_us` on the pixels from `left` on, `width` of them."""

    end_us: int
    left: float
    width: float

    def x(self, us: int) -> float:
        """Where an instant is drawn."""
        return self.left + self.width * min(us, self.end_us) / max(self.end_us, 1)

    def length(self, us: int) -> float:
        """How long a stretch of time is drawn."""
        return self.width * us / max(self.end_us, 1)

    @property
    def ticks(self) -> list[tuple[int, str]]:
        """The instants that the axis labels, with their labels."""
        step = nice_step(self.end_us, _MOST_LABELS)
        return [(us, label(us, self.end_us)) for us in range(0, self.end_us + 1, step)]


def label(us: int, end_us: int) -> str:
    """An instant on an axis: seconds; of a run of more than ten minutes, hours, minutes and seconds."""
    if end_us <= LONG_US:
        return f"{us / SECOND:g} s"
    minutes, seconds = divmod(us // SECOND, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours or end_us >= 3600 * SECOND else f"{minutes}:{seconds:02d}"


def nice_step(end_us: int, labels: int) -> int:
    """The shortest round step (1, 2, 5, 10, 15, 30 … s, min, h) that gives no more than `labels` ticks."""
    steps = [1, 2, 5, 10, 20, 50, 100, 200, 500]
    steps = [ms * 1000 for ms in steps]
    steps += [s * SECOND for s in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200)]
    day = 86_400 * SECOND
    while end_us // steps[-1] > labels:
        steps.append(max(day, steps[-1] * 2))
    return next(step for step in steps if end_us // step <= labels)
