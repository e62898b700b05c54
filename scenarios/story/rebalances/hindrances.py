"""Hindrances of a group, apart from the member that began a rebalance and the one that held it open.

    a JoinGroup or SyncGroup timed out   the client's request timeout is shorter than the coordinator holds the request
    offsets refused after a rebalance    an open transaction has pending offsets: the new owner waits until it ends
    an assignment is not written         the coordinator has it, and its append is delayed
    a partition has no owner             in a stable group: no member subscribes to it, or a rebalance did not follow
    a member owns no partition           in a stable group: there are mostly more members than partitions
    offsets expired                      the next owner begins at auto.offset.reset

None of these begins a rebalance, so none is the cause of a generation. Each is listed with the generation in which it
began, and the headline names the worst.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from attrs import evolve

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.units import SECOND_US
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.facts import Facts, latest
from groupsim.scenarios.story.model import Generation, Hindrance, Span
from groupsim.scenarios.story.rebalances.silence import lost_answer
from groupsim.scenarios.story.words import count, listed, span

OWNERLESS_US = 10_000_000
"""So long without an owner in a stable group is a hindrance."""
REFUSED = 3
LONG_WRITE_US = 1_000_000
_UNSTABLE = "UNSTABLE_OFFSET_COMMIT"
_HELD = ("JoinGroup", "SyncGroup")


def is_timed_out(event: TraceEvent) -> bool:
    """Return whether a request timed out at the client that the coordinator holds on purpose."""
    return event.error == "TIMED_OUT" and event.api in _HELD


def is_unstable_offset(event: TraceEvent) -> bool:
    """Return whether a client received UNSTABLE_OFFSET_COMMIT: a transaction has pending offsets (KIP-447)."""
    return event.error == _UNSTABLE


def with_hindrances(
    facts: Facts, group: str, generations: Sequence[Generation], spans: Iterable[Sequence[Span]]
) -> list[Generation]:
    """Return the generations of a group, each with its hindrances."""
    begins = [one.began_us for one in generations]
    found: list[list[Hindrance]] = [[] for _ in generations]
    requests = (*_timed_out(facts, group, begins), *_pending(facts, group, begins))
    for one in (*requests, *_expired(facts, group, begins), *_unwritten(facts, generations)):
        found[_index(begins, one.began_us)].append(one)
    owned = [list(own) for own in spans]
    for one in (*_ownerless(facts, generations, owned), *_idle(facts, generations, owned)):
        found[_index(begins, one.began_us)].append(one)
    return [evolve(one, hindrances=tuple(its)) if its else one for one, its in zip(generations, found, strict=True)]


def _index(begins: Sequence[int], at_us: int) -> int:
    return max(0, bisect_right(begins, at_us) - 1)


def _windows(events: Iterable[TraceEvent], begins: Sequence[int]) -> Iterator[list[TraceEvent]]:
    """Yield the events in order, as one list for each generation."""
    for _, together in groupby(events, key=lambda event: _index(begins, event.t_us)):
        yield list(together)


def _timed_out(facts: Facts, group: str, begins: Sequence[int]) -> Iterator[Hindrance]:
    for events in _windows((one for one in facts.timed_out_requests if one.group == group), begins):
        names = listed(sorted({one.host or "?" for one in events}))
        api, _ = Counter(one.api for one in events).most_common(1)[0]
        after = span(max(int((one.payload or {}).get("took_us", 0)) for one in events))
        words = f"{names} gave up waiting for {api} {count(len(events), 'time')}, after {after}"
        # Java waits for JoinGroup max.poll.interval.ms + 5 s (AbstractCoordinator.sendJoinGroupRequest). Other clients
        # wait for their request timeout alone, which may be shorter than the coordinator holds the request.
        inverted = api == "JoinGroup"
        lost = _lost(facts, events)
        if lost is not None:
            yield Hindrance(events[0].t_us, events[-1].t_us, f"{words} ({lost})")
            continue
        words += f" ({Cause.TIMEOUT_INVERSION.value})" if inverted else ": the leader's assignment did not arrive"
        yield Hindrance(events[0].t_us, events[-1].t_us, words, Cause.TIMEOUT_INVERSION if inverted else None)


def _lost(facts: Facts, events: Iterable[TraceEvent]) -> str | None:
    """Return the fault that lost or delayed one of these requests or its answer; None for none."""
    for one in events:
        host = facts.hosts.get(one.host or "")
        asked = one.t_us - int((one.payload or {}).get("took_us", 0))
        fault = lost_answer(facts, host, one.api, asked, one.t_us) if host is not None else None
        if fault is not None:
            return fault.what
    return None


def _pending(facts: Facts, group: str, begins: Sequence[int]) -> Iterator[Hindrance]:
    for events in _windows((one for one in facts.pending if one.group == group), begins):
        began, ended = events[0].t_us, events[-1].t_us
        if len(events) >= REFUSED:
            names = listed(sorted({one.host or "?" for one in events}))
            lasted = span(ended - began)
            words = f"an open transaction held back the offsets of {names} for {lasted} ({_UNSTABLE})"
            yield Hindrance(began, ended, words)


def _expired(facts: Facts, group: str, begins: Sequence[int]) -> Iterator[Hindrance]:
    gone = (one for one in facts.notes if one.kind is Kind.OFFSET_EXPIRED and one.group == group)
    for events in _windows(gone, begins):
        names = listed([f"{one.topic}-{one.partition}" for one in events])
        words = f"the committed offsets of {names} were deleted ({Cause.OFFSET_EXPIRY.value})"
        yield Hindrance(events[0].t_us, events[-1].t_us, words, Cause.OFFSET_EXPIRY)


def _unwritten(facts: Facts, generations: Sequence[Generation]) -> Iterator[Hindrance]:
    """Yield assignments that the coordinator had and did not write, because a fault delayed its appends."""
    for one in generations:
        if one.completing_us is None or one.ended_us - one.completing_us < LONG_WRITE_US:
            continue
        for fault in facts.faults.values():
            begin = max(fault.began_us, one.completing_us)
            end = one.ended_us if fault.ended_us is None else min(fault.ended_us, one.ended_us)
            if "append" in fault.what and end - begin >= LONG_WRITE_US:
                words = (
                    f"the assignment of generation {one.number} was not written for {span(end - begin)} ({fault.what})"
                )
                yield Hindrance(begin, end, words)


# --- partitions without an owner -------------------------------------------------------------------------------------


def _ownerless(facts: Facts, generations: Sequence[Generation], spans: Iterable[Sequence[Span]]) -> Iterator[Hindrance]:
    """Yield times in which released partitions had no owner while the group was stable."""
    deleted = {one.topic for one in facts.metadata if (one.payload or {}).get("partitions") == 0}
    quiet = list(stable_times(facts, generations))
    together: dict[tuple[int, int], list[tuple[Span, int, int]]] = {}
    for own in spans:
        for old, new in pairwise((*own, None)):
            if old is None or old.released_us is None or old.release == "crashed" or old.partition.topic in deleted:
                continue
            until = facts.end_us if new is None else new.owned_us
            if until - old.released_us < OWNERLESS_US:  # nearly always: the next owner takes it at once
                continue
            for begin, end in _within(facts, quiet, old, until):
                together.setdefault((begin // SECOND_US, end // SECOND_US), []).append((old, begin, end))
    for _, gaps in sorted(together.items()):
        begin, end = min(begin for _, begin, _ in gaps), max(end for _, _, end in gaps)
        names = listed([str(partition) for partition in sorted(old.partition for old, _, _ in gaps)])
        yield Hindrance(begin, end, f"{names} had no owner for {span(end - begin)} while the group was stable")


def stable_times(facts: Facts, generations: Sequence[Generation]) -> Iterator[tuple[int, int]]:
    """Yield the times in which a group was stable."""
    for this, following in pairwise((*generations, None)):
        if this is not None and this.stable_us is not None:
            yield this.stable_us, facts.end_us if following is None else following.began_us


def _within(facts: Facts, quiet: Sequence[tuple[int, int]], old: Span, until_us: int) -> Iterator[tuple[int, int]]:
    """Yield long stretches in which the group was stable and a partition had no owner.

    A process that ends when it releases a partition stays a member until its LeaveGroup or the end of its session. The
    group is stable so long because the coordinator does not know; the story of that end covers it.
    """
    released = old.released_us or 0
    gone = facts.host(old.host).end_between(released - 1, released + SECOND_US) is not None
    for begin, end in quiet:
        if begin < released and (gone or old.release != "revoked"):
            continue
        first, last = max(begin, released), min(end, until_us)
        if last - first >= OWNERLESS_US:
            yield first, last


def _idle(facts: Facts, generations: Sequence[Generation], spans: Sequence[Sequence[Span]]) -> Iterator[Hindrance]:
    """Yield the members without a partition in a stable group: further members do not help."""
    before: set[str] = set()
    for this, (begin, end) in zip(
        (one for one in generations if one.stable_us is not None), stable_times(facts, generations), strict=True
    ):
        middle = (begin + end) // 2
        busy = {one.host for own in spans for one in own if one.owned_us <= middle < (one.released_us or end + 1)}
        idle = {one.host for one in this.members if _runs(facts, one.host, middle)} - busy
        if end - begin >= OWNERLESS_US and busy and idle - before:
            words = f"{listed(sorted(idle))} of {len(this.members)} members had no partition"
            yield Hindrance(begin, end, words, minor=True)
        before = idle


def _runs(facts: Facts, name: str, at_us: int) -> bool:
    """Return whether a process is known to run at a moment."""
    host = facts.hosts.get(name)
    started = latest(host.started, at_us) if host is not None else None
    return host is not None and started is not None and host.end_between(started - 1, at_us) is None


# --- in the headline -------------------------------------------------------------------------------------------------


def worst_hindrance(generations: Sequence[Generation], main: Generation) -> Hindrance | None:
    """Return the hindrance for the headline beside its main generation: deleted offsets first, then the longest."""
    besides = (one for generation in generations for one in generation.hindrances)
    found = [one for one in besides if not one.minor and one.cause is not main.cause]
    return max(found, key=lambda one: (one.cause is Cause.OFFSET_EXPIRY, one.ended_us - one.began_us), default=None)
