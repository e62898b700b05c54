"""The figures that compare runs: those of a group, and those of a fleet as a whole.

A figure of a fleet is the sum over its groups, or the largest for times to form, lags and longest durations. A fleet
also has figures of its own: how many groups rebalanced or stood still, how long groups had no coordinator, and how many
at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from groupsim.protocol.values import frozen
from groupsim.scenarios.story import GroupAccount, GroupStory, Story
from groupsim.scenarios.story.many_groups import fleets, most_together, without_coordinator

Known = tuple[int | None, str]  # a value and its unit


@frozen
class Bundle:
    """One group, or the groups of a fleet, with the prefix of its figures."""

    name: str
    groups: tuple[str, ...]
    fleet: bool = False


def bundles(names: Iterable[str], group: str | None = None, *, each: bool = False) -> tuple[Bundle, ...]:
    """Return the bundles of these groups: fleets and single groups; or one `group`; or with `each` every group."""
    known = tuple(dict.fromkeys(names))
    if group is not None:
        return (Bundle(group, (group,)),)
    found = {} if each else {name: Bundle(key, ids, fleet=True) for key, ids in fleets(known).items() for name in ids}
    return tuple(dict.fromkeys(found.get(name, Bundle(name, (name,))) for name in known))


def _longest_rollout(group: GroupStory) -> int | None:
    """Return the longest rollout of a group; None without one, or if one is not over."""
    took = [one.took_us for one in group.rollouts]
    return max(one for one in took if one is not None) if took and None not in took else None


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _most(values: Sequence[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


Together = Callable[[Sequence[int | None]], int | None]
FIGURES: tuple[tuple[str, str, Callable[[GroupStory], int | None], Together], ...] = (
    ("rebalances", "", lambda group: len(group.rebalances), _sum),
    ("stopped", "us", lambda group: group.stopped_us, _sum),
    ("unserved, summed over partitions", "us", lambda group: group.unserved_us, _sum),
    ("longest unserved partition", "us", lambda group: group.worst[1] if group.worst else 0, _most),
    ("longest rebalance", "us", lambda group: max((g.duration_us for g in group.rebalances), default=0), _most),
    ("partitions moved", "", lambda group: group.moved, _sum),
    ("time to form", "us", lambda group: group.formed_us, _most),
    ("rollout, first stop to group stable", "us", _longest_rollout, _most),
    ("records delivered", "", lambda group: group.delivered, _sum),
    ("records delivered twice", "", lambda group: group.duplicates, _sum),
    ("commits failed", "", lambda group: sum(number for _, number in group.commits_failed), _sum),
)
ACCOUNTED: tuple[tuple[str, str, Callable[[GroupAccount], int | None], Together], ...] = (
    ("largest lag", "", lambda total: total.lag.most if total.lag is not None else None, _most),
    ("lag at the end", "", lambda total: total.lag.end if total.lag is not None else None, _sum),
    (
        "records never delivered",
        "",
        lambda total: total.records.never if total.records is not None else total.lost,
        _sum,
    ),
)
OF_FLEETS = (
    "groups that rebalanced",
    "groups that stood still",
    "time without a coordinator",
    "groups without a coordinator at once",
)
TITLES = (*OF_FLEETS, *(title for title, *_ in FIGURES), *(title for title, *_ in ACCOUNTED))


def figures_of(story: Story, bundle: Bundle) -> dict[str, Known]:
    """Compute the figures of a group or a fleet by title, without groups that the story lacks."""
    groups = [group for group in story.groups if group.group in bundle.groups]
    if not groups:
        return {}
    totals = {one.group: one for one in story.totals}
    found: dict[str, Known] = _of_many(story, groups) if bundle.fleet else {}
    for title, unit, figure, together in FIGURES:
        if figure is not _longest_rollout or any(group.rollouts for group in groups):
            found[title] = together([figure(group) for group in groups]), unit
    accounts = [totals.get(group.group) for group in groups]
    for title, unit, account, together in ACCOUNTED:
        found[title] = together([None if one is None else account(one) for one in accounts]), unit
    return found


def _of_many(story: Story, groups: Sequence[GroupStory]) -> dict[str, Known]:
    names = {group.group for group in groups}
    without = {name: spans for name, spans in without_coordinator(story).items() if name in names}
    values = (
        sum(bool(group.rebalances) for group in groups),
        sum(bool(group.stopped_us) for group in groups),
        sum(end - begin for spans in without.values() for begin, end in spans),
        most_together(without)[0],
    )
    return dict(
        zip(OF_FLEETS, ((value, "us" if number == 2 else "") for number, value in enumerate(values)), strict=True)
    )


def figures(story: Story, shown: Sequence[Bundle]) -> Mapping[str, Known]:
    """Compute the figures of all bundles; with several bundles the names begin with the group or fleet."""
    several = len(shown) > 1 or any(bundle.fleet for bundle in shown)
    return {
        (f"{bundle.name}: " if several else "") + title: known
        for bundle in shown
        for title, known in figures_of(story, bundle).items()
    }
