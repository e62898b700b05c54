"""One run in numbers: the row of the table `runs`. Sums are sums of the other tables' rows, so that they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from groupsim.pipeline.tables.schemas import TABLES
from groupsim.scenarios.story import GroupStory, Outcome, Story
from groupsim.scenarios.story.many_groups import most_together, without_coordinator

EVICTIONS = ("session-expired", "join-timeout", "sync-timeout")
Tables = Mapping[str, Sequence[tuple[Any, ...]]]


def totals(story: Story, rows: Tables, events: int, expectations_failed: int) -> dict[str, Any]:
    """The totals of a finished run by column name, from its story and the rows of the other tables."""
    return {
        "headline": story.headline,
        "virtual_us": story.end_us,
        "events": events,
        "expectations_failed": expectations_failed,
        **_rebalances(story),
        **_standing(story),
        **_records(story, rows),
        **_silence(story),
        **_ownership(story),
        **_coordinators(story),
        **{name: _sum(column(rows, "members", name)) for name in ("fetches", "fetches_empty")},
    }


def _sum(counts: Sequence[int | None]) -> int | None:
    """Return the sum of the known values; None without any."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def column(rows: Tables, table: str, name: str) -> list[Any]:
    """One column of one table."""
    return list(map(itemgetter(TABLES[table].names.index(name)), rows[table]))


def _rebalances(story: Story) -> dict[str, Any]:
    moves = [move for group in story.groups for one in group.counted for move in one.moves]
    return {
        "rebalances": sum(len(group.rebalances) for group in story.groups),
        "generations": sum(len(group.generations) for group in story.groups),
        "moved": len(moves),
        "moved_back": sum(move.back for move in moves),
        "formed_us": _formed(story),
        "settled_us": _settled(story),
        "rollout_us": _rollout(story),
    }


def _formed(story: Story) -> int | None:
    """How long the slowest group took to form; None when one of them never did."""
    took = [group.formed_us for group in story.groups]
    return max(one for one in took if one is not None) if took and None not in took else None


def _settled(story: Story) -> int:
    """From the first action or fault to the last rebalance's end."""
    began = min((one.t_us for one in (*story.actions, *story.faults)), default=None)
    if began is None:
        return 0
    ends = (
        story.end_us if one.outcome is Outcome.OPEN else one.stable_us
        for group in story.groups
        for one in group.generations
    )
    return max((end - began for end in ends if end is not None and end >= began), default=0)


def _rollout(story: Story) -> int | None:
    """The longest rollout; None when there was none, or one of them was not over."""
    took = [one.took_us for group in story.groups for one in group.rollouts]
    return max(one for one in took if one is not None) if took and None not in took else None


def _standing(story: Story) -> dict[str, Any]:
    return {
        "stopped_us": sum(group.stopped_us for group in story.groups),
        "unserved_us": sum(group.unserved_us for group in story.groups),
        "worst_unserved_us": max((group.worst[1] for group in story.groups if group.worst), default=0),
        "overlap_us": sum(one.ended_us - one.began_us for group in story.groups for one in group.overlaps),
    }


SUMMED = ("delivered", "duplicates", "lost", "lag_area")
FATES = ("once", "again", "skipped", "expired", "waiting", "truncated", "phantoms", "lost_acknowledged")


def _records(story: Story, rows: Tables) -> dict[str, Any]:
    summed = {name: sum(column(rows, "deliveries", name)) for name in SUMMED}
    summed |= {name: sum(number or 0 for number in column(rows, "deliveries", name)) for name in FATES}
    errors, counts = column(rows, "commits", "error"), column(rows, "commits", "n")
    return {
        **summed,
        "lag_max": max((one.lag.most for one in story.totals if one.lag), default=0),
        "gap_us": max(column(rows, "deliveries", "gap_us"), default=0),
        "commits": sum(count for error, count in zip(errors, counts, strict=True) if error is None),
        "commits_failed": sum(count for error, count in zip(errors, counts, strict=True) if error is not None),
    }


def _silence(story: Story) -> dict[str, Any]:
    evicted = [one for group in story.groups for one in group.evictions]
    silent = [one for one in evicted if one.reason in EVICTIONS]
    detected = [one.silent_us for one in silent if one.cause == "crash" and one.silent_us is not None]
    return {
        "evictions": len(silent),
        "false_evictions": sum(one.alive for one in silent),
        "poll_evictions": sum(one.reason == "poll-limit" for one in evicted),
        "crashes": sum(lane.crashes for lane in story.lanes if lane.group is not None),
        "producer_crashes": sum(lane.crashes for lane in story.lanes if lane.group is None),
        "detection_us": max(detected, default=None),
        "undetected": sum(len(group.undetected) for group in story.groups),
    }


def _coordinators(story: Story) -> dict[str, Any]:
    without = without_coordinator(story)
    return {
        "groups_rebalanced": sum(bool(group.rebalances) for group in story.groups),
        "without_coordinator_us": sum(end - begin for spans in without.values() for begin, end in spans),
        "groups_without_at_once": most_together(without)[0],
    }


def _ownership(story: Story) -> dict[str, Any]:
    loads = [_loads(story, group) for group in story.groups]
    return {
        "idle_members": sum(count == 0 for load in loads for count in load.values()),
        "skew": max((max(load.values()) - min(load.values()) for load in loads if load), default=0),
    }


def _loads(story: Story, group: GroupStory) -> dict[str, int]:
    """How many partitions each member alive at the end owns then."""
    alive = {lane.host for lane in story.lanes if lane.alive}
    owned = Counter(span.host for span in group.spans if span.released_us is None)
    return {who.host: owned[who.host] for who in group.present if who.host in alive}
