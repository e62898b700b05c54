"""Shift steps by a part of a heartbeat interval, so that the seeds of a run differ in phase.

Heartbeats of a group keep the phase that its last rebalance gave them. A step at a fixed time therefore meets them in
one phase with every seed: a join takes 2.0, 1.5 or 1.0 s because it is written at 43, 43.5 or 44 s. With `shift-steps`
each step of the timeline, and each start of a member after the beginning, is delayed by a part of an interval that is
drawn from the seed.

Steps closer together than one interval are a sequence (a crash and the restart a second later), which is
shifted as a whole. So the order of steps never changes, and steps at the beginning are not shifted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from groupsim.scenarios.language.model import MemberSpec, Scenario, Step

Item = int | tuple[str, str]
"""A step by its index in the timeline, or members by their group and their key in the file."""

BEAT_US = 3_000_000  # heartbeat.interval.ms if no client has one


def shifts(scenario: Scenario, beat_us: int, below: Callable[[str, int], int]) -> Mapping[Item, int]:
    """Return the delay of each step and each start, in µs.

    `below(name, bound)` draws from [0, bound). A step that is due within the run stays within it.
    """
    first = dict(_firsts(scenario))
    found: dict[Item, int] = {}
    for number, bunch in enumerate(_bunches(_times(scenario, beat_us), beat_us)):
        room = min((scenario.run_for - first[item] for item in bunch if first[item] <= scenario.run_for), default=0)
        shift = below(str(number), max(1, min(beat_us, room + 1)))
        found.update(dict.fromkeys(bunch, shift))
    return found


def _bunches(times: Iterable[tuple[int, int, Item | None]], beat_us: int) -> list[list[Item]]:
    """Group the items that are closer together than an interval, by their begin; without those at time 0."""
    bunch_of: dict[Item | None, list[Item | None]] = {}
    reached, last = 0, None
    bunch_of[None] = [None]
    for begin, end, item in sorted(times, key=lambda one: one[:2]):
        bunch_of.setdefault(item, [item])
        if begin - reached < beat_us and bunch_of[item] is not bunch_of[last]:
            joined = bunch_of[last] + bunch_of[item]
            bunch_of.update(dict.fromkeys(joined, joined))
        if end >= reached:
            reached, last = end, item
    different = {id(bunch): bunch for bunch in bunch_of.values() if None not in bunch}
    return [[item for item in bunch if item is not None] for bunch in different.values()]


def _firsts(scenario: Scenario) -> Iterator[tuple[Item, int]]:
    for place, step in enumerate(scenario.timeline):
        if step.at != "never":
            yield place, step.at
    for item, spec in _late_starts(scenario):
        yield item, int(spec.start)


def _times(scenario: Scenario, beat_us: int) -> Iterator[tuple[int, int, Item]]:
    """Yield when each item is due, as intervals; a step that repeats faster than `beat_us` is due all the time."""
    for place, step in enumerate(scenario.timeline):
        if step.at != "never":
            yield from ((begin, end, place) for begin, end in _of_step(step, step.at, scenario.run_for, beat_us))
    for item, spec in _late_starts(scenario):
        begin = int(spec.start)
        yield begin, begin + spec.stagger * (spec.count - 1), item


def _of_step(step: Step, at_us: int, end_us: int, beat_us: int) -> Iterator[tuple[int, int]]:
    if step.every is None:
        yield at_us, at_us
        return
    times = max(1, (end_us - at_us) // step.every + 1)
    times = times if step.times is None else min(times, step.times)
    if step.every < beat_us:
        yield at_us, at_us + step.every * (times - 1)
    else:
        yield from ((at_us + step.every * n, at_us + step.every * n) for n in range(times))


def _late_starts(scenario: Scenario) -> Iterator[tuple[Item, MemberSpec]]:
    for group, spec in scenario.groups.items():
        for key, member in spec.members.items():
            if member.start != "never" and member.start:
                yield (group, key), member
