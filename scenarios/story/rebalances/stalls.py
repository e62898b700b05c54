"""Stalls in a stable group: the owner of a partition is a member, sends heartbeats, and processes no record.

A stall begins no rebalance and is not in the coordinator's log: the committed offset stays while the log grows. A slow
handler is lag and no stall. It is a stall if one of these explains why no record was processed:

    a worker         a step `stuck` blocks it; the client polls on
    a callback       the poll thread is in it
    the poll thread  a step `block-poll` keeps it from poll
    a commit         fails and is retried before the member joins

A stall is a hindrance of the generation in which it began, with a cause of the closed list.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.eventloop.units import parse_duration
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.facts import Facts, HostFacts, Stretch
from groupsim.scenarios.story.model import Generation, Hindrance
from groupsim.scenarios.story.rebalances.hindrances import stable_times
from groupsim.scenarios.story.rebalances.holdings import STALL_US, Holding
from groupsim.scenarios.story.rebalances.silence import aims_at, committing
from groupsim.scenarios.story.words import listed, span

_APART_US = 1_000_000  # stalls of one owner that begin or end within this are one


@frozen
class _Stall:
    """One partition that one owner did not process."""

    partition: TopicPartition
    host: str
    began_us: int
    ended_us: int
    why: str


def with_stalls(
    facts: Facts, group: str, generations: Sequence[Generation], spans: Iterable[Sequence[Holding]]
) -> list[Generation]:
    """Return the generations of a group, each with the stalls that began in it."""
    begins = [one.began_us for one in generations]
    found: dict[int, list[Hindrance]] = {}
    for stall in _together(_stalls(facts, group, generations, spans)):
        found.setdefault(max(0, bisect_right(begins, stall.began_us) - 1), []).append(stall)
    return [
        evolve(one, hindrances=(*one.hindrances, *found[at])) if at in found else one
        for at, one in enumerate(generations)
    ]


def _together(stalls: Iterable[_Stall]) -> Iterator[Hindrance]:
    """Yield one hindrance for all partitions of an owner that stalled at the same time for the same reason."""
    alike: dict[tuple[str, str, int], list[_Stall]] = {}
    for one in stalls:
        alike.setdefault((one.host, one.why, (one.ended_us + _APART_US // 2) // _APART_US), []).append(one)
    for (host, why, _), its in alike.items():
        began, ended = min(one.began_us for one in its), max(one.ended_us for one in its)
        names = listed([str(one.partition) for one in sorted(its, key=lambda one: one.partition)])
        owner = "its owner" if len(its) == 1 else "their owner"
        stood = f"{names} stood still for {span(ended - began)} while {owner}, {host}, sent heartbeats"
        yield Hindrance(began, ended, f"{stood}: {why}", Cause.STUCK)


def _stalls(
    facts: Facts, group: str, generations: Sequence[Generation], spans: Iterable[Sequence[Holding]]
) -> Iterator[_Stall]:
    quiet = list(stable_times(facts, generations))
    for holding in (one for own in spans for one in own):
        for since, ended in _gaps(facts, holding, quiet):
            why = _why(facts, facts.host(holding.host), since, ended)
            if why:
                yield _Stall(holding.partition, holding.host, since, ended, why)


def _gaps(facts: Facts, holding: Holding, quiet: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the times in which a stable group had waiting records and the owner processed none."""
    for idle in holding.idle:
        since = idle.since_us
        if since is None:  # the log's end was not known when the time was kept
            log = facts.ledgers.logs.get(holding.partition)
            if log is None or log.listed or log.end <= idle.done:
                continue
            since = idle.began_us
        for first, last in quiet:
            began, ended = max(since, first), min(idle.ended_us, last)
            if ended - began >= STALL_US:
                yield began, ended


def _why(facts: Facts, host: HostFacts, since: int, until: int) -> str:
    """Return why the owner processed no record; empty for a slow handler, a pause, or an unknown reason."""
    half = (until - since) // 2
    if any(pause.overlaps(since, until) for pause in host.pauses):
        return ""
    if _mostly(_steps(facts, host, "stuck"), since, until) >= half:
        return "its worker was stuck"
    callback = max(host.callbacks, key=lambda one: one.within_us(since, until), default=None)
    if callback is not None and callback.within_us(since, until) >= half:
        return f"it was in its {callback.what or 'rebalance'} callback"
    if _mostly(_steps(facts, host, "block-poll"), since, until) >= half:
        return "it did not call poll()"
    tried = committing(facts, host, since, until)
    return f"it {tried.why}" if tried is not None else ""


def _steps(facts: Facts, host: HostFacts, do: str) -> Iterator[Stretch]:
    """Yield the steps of a kind that blocked the application of this process, as stretches."""
    for step in facts.actions:
        payload = step.payload or {}
        if payload.get("do") == do and payload.get("where", "worker") == "worker" and aims_at(step, host):
            yield Stretch(step.t_us, step.t_us + _lasted(step))


def _lasted(step: TraceEvent) -> int:
    return parse_duration(str((step.payload or {})["for"]))


def _mostly(stretches: Iterable[Stretch], since: int, until: int) -> int:
    return max((one.within_us(since, until) for one in stretches), default=0)
