"""The lag behind logs that leaders wrote: steps up with every append, down with every record that is done.

The rules are those of `lag.py`. A log that is cut off may end below what the group has done; then nothing is behind
until it has grown past that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import merge
from operator import itemgetter

from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story.model import Lag
from groupsim.scenarios.story.records.delivery_ledger import Moments, Partition, Step
from groupsim.scenarios.story.records.lag import Key, Places, Wanted


def led_lags(
    ends: Mapping[Partition, Sequence[tuple[int, int]]],
    groups: Mapping[str, Wanted],
    placed: Places,
    steps: Iterable[Step],
    end_us: int,
) -> tuple[dict[Key, Lag], dict[str, Lag]]:
    """The lag of every partition that counts, by group and partition, and that of each whole group.

    `ends` says when each log ended where; `steps` are in order of time.
    """
    done: dict[tuple[str, Partition], Moments] = {}
    for t_us, group, partition, offset in steps:
        done.setdefault((group, partition), []).append((t_us, offset))
    found: dict[Key, Lag] = {}
    whole: dict[str, Lag] = {}
    for name, wanted in groups.items():
        curves = []
        for partition in sorted(ends):
            tp = TopicPartition(*partition)
            if wanted.wants(tp):
                curve = lag_curve(ends[partition], done.get((name, partition), ()), _first(placed, name, tp))
                curves.append(curve)
                found[name, tp] = summed_up(curve, end_us)
        whole[name] = summed_up(_together(curves), end_us)
    return found, whole


def _first(placed: Places, group: str, tp: TopicPartition) -> int:
    return next((offset for _, offset in placed.get((group, tp), ())), 0)


def lag_curve(ends: Iterable[tuple[int, int]], done: Iterable[tuple[int, int]], first: int) -> Moments:
    """When the lag changed to what; within one instant only the last counts."""
    end, come_to, lag = 0, first, 0
    curve: Moments = []
    told = merge(((t, True, n) for t, n in ends), ((t, False, n) for t, n in done), key=itemgetter(0))
    for t_us, grows, number in told:
        if grows:
            end = number
        elif number > come_to:
            come_to = number
        now = max(0, end - come_to)
        if now != lag:
            lag = now
            if curve and curve[-1][0] == t_us:
                curve.pop()
            curve.append((t_us, lag))
    return curve


def _together(curves: Sequence[Moments]) -> Moments:
    """The sum of several curves."""
    changes = []
    for curve in curves:
        before = 0
        for t_us, lag in curve:
            changes.append((t_us, lag - before))
            before = lag
    total: Moments = []
    lag = 0
    for t_us, change in sorted(changes, key=itemgetter(0)):
        lag += change
        if total and total[-1][0] == t_us:
            total.pop()
        total.append((t_us, lag))
    return total


def summed_up(curve: Moments, end_us: int) -> Lag:
    """A curve's end, maximum and area up to the end of the run."""
    most = most_us = area = lag = since_us = 0
    for t_us, now in curve:
        area += lag * (t_us - since_us)
        lag, since_us = now, t_us
        if lag > most:
            most, most_us = lag, t_us
    return Lag(lag, most, most_us, (area + lag * (end_us - since_us)) // 1000)
