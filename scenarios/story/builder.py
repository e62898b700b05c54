"""`tell`: make the story of one trace."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain

from attrs import evolve

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.facts import Facts, GroupFacts, HostFacts
from groupsim.scenarios.story.headline import headline
from groupsim.scenarios.story.headline_extras import headline_extras
from groupsim.scenarios.story.index_events import finish, read
from groupsim.scenarios.story.lanes import lanes
from groupsim.scenarios.story.model import (
    OF_EPOCHS,
    Generation,
    GroupAccount,
    GroupStory,
    MemberName,
    Move,
    Outcome,
    Standstill,
    Story,
    TimelineEntry,
    Unanswered,
)
from groupsim.scenarios.story.rebalances.assignments import with_assignments
from groupsim.scenarios.story.rebalances.blame import member_name
from groupsim.scenarios.story.rebalances.conversions import note_text
from groupsim.scenarios.story.rebalances.evictions import evictions, undetected_deaths
from groupsim.scenarios.story.rebalances.hindrances import with_hindrances
from groupsim.scenarios.story.rebalances.holdings import Holding, Key
from groupsim.scenarios.story.rebalances.ownership import holdings, moves, overlaps, standstills, union_us
from groupsim.scenarios.story.rebalances.rollouts import headline_part, rollouts
from groupsim.scenarios.story.rebalances.rollouts import timeline_entries as ends_of_rollouts
from groupsim.scenarios.story.rebalances.rounds import generations
from groupsim.scenarios.story.rebalances.stalls import with_stalls
from groupsim.scenarios.story.rebalances.takeovers import take_overs, timeline_entries
from groupsim.scenarios.story.records.accounts import accounts
from groupsim.scenarios.story.records.failed_produces import failed_produces
from groupsim.scenarios.story.records.log_growth import Growth
from groupsim.scenarios.story.records.progress import Progress


class StoryBuilder:
    """Makes the story of a run while it goes: `read` takes all events in order, `story` is the result.

    Its size grows with the changes of the run, not with the run's length. `growth` is the growth of counted logs, from
    the cluster; without it the end of the trace has to state the growth, and the steps of groups are kept until then.
    """

    def __init__(self, growth: Growth | None = None, progress: Progress | None = None) -> None:
        self.facts = Facts(Growth() if growth is None else growth)
        self.facts.ledgers.progress = progress

    @classmethod
    def of(cls, events: Iterable[TraceEvent], progress: Progress | None = None) -> StoryBuilder:
        """Read a whole trace; `progress` keeps its steps."""
        listed = events if isinstance(events, Sequence) else list(events)
        builder = cls(growth_of(listed), progress)
        builder.read(listed)
        return builder

    def read(self, events: Iterable[TraceEvent]) -> None:
        """Read further events."""
        read(self.facts, events)

    @cached_property
    def ended(self) -> Facts:
        """The facts of all events; no further event may be read afterwards."""
        finish(self.facts)
        return self.facts

    @cached_property
    def story(self) -> Story:
        """The story of all events; no further event may be read afterwards."""
        return _story(self.ended)


def growth_of(events: Sequence[TraceEvent]) -> Growth:
    """Return the growth of counted logs from the event `log.ends` of a trace."""
    ends = next((event for event in reversed(events) if event.kind is Kind.LOG_ENDS), None)
    return Growth((ends.payload or {}).get("growth") if ends is not None else None, known=True)


def tell(events: Iterable[TraceEvent]) -> Story:
    """Make the story of one trace.

    Reads the events alone, and does not need the kinds that a trace lists only on demand (quiet heartbeats).
    """
    return StoryBuilder.of(events).story


def _story(facts: Facts) -> Story:
    owners = holdings(facts)
    stops = {key: standstills(spans, facts.end_us) for key, spans in owners.items()}
    accounted, totals = accounts(facts, facts.ledgers, owners, stops)
    totals_by_group = {one.group: one for one in totals}
    groups = tuple(
        _group(facts, group, owners, stops, totals_by_group) for group in facts.groups.values() if group.rounds
    )
    changes = take_overs(facts)
    rollouts_of_all = [one for group in groups for one in group.rollouts]
    failed = [host for host in facts.hosts.values() if host.failure]
    failures = [(host.name, host.failure or "") for host in failed]
    strangers = [(host.name, host.failure or "") for host in failed if _never_in(host)]
    return Story(
        scenario=facts.scenario,
        seed=facts.seed,
        end_us=facts.end_us,
        groups=groups,
        lanes=lanes(facts),
        actions=tuple(TimelineEntry(e.t_us, e.reason or "", e.host) for e in facts.actions),
        faults=_faults(facts),
        notes=(
            *timeline_entries(facts, changes),
            *ends_of_rollouts(rollouts_of_all),
            *(TimelineEntry(e.t_us, _note_text(e), e.host) for e in facts.notes),
        ),
        headline=headline(groups, failures, strangers)
        + headline_part(rollouts_of_all)
        + headline_extras(facts, changes, totals),
        accounts=accounted,
        totals=totals,
        take_overs=changes,
        given_up=failed_produces(facts.produce_failed),
    )


def _never_in(host: HostFacts) -> bool:
    """Return whether a member's process ended without having been in a generation."""
    dead = bool(host.ended) and (not host.started or host.ended[-1].began_us >= host.started[-1])
    wants_in = host.group is not None and not host.assigns_itself
    return wants_in and dead and all(state != "STABLE" for _, state in host.states)


def _group(
    facts: Facts,
    group: GroupFacts,
    owners: dict[Key, list[Holding]],
    stops: dict[Key, list[Standstill]],
    totals_by_group: dict[str, GroupAccount],
) -> GroupStory:
    keys = sorted(key for key in owners if key[0] == group.name)
    mine = [owners[key] for key in keys]
    still = [one for key in keys for one in stops[key]]
    frozen = [[one.frozen() for one in spans] for spans in mine]
    found = generations(facts, group)
    unanswered = tuple(_unanswered(facts, found, still))
    answered = [one for one in still if all(one is not other.stop for other in unanswered)]
    found = _with_costs(found, [m for spans in mine for m in moves(spans)], answered)
    found = with_hindrances(facts, group.name, found, frozen)
    found = with_stalls(facts, group.name, found, mine)
    found = with_assignments(facts, group.name, found, mine)
    still = list(_after_forming(found, still))
    return GroupStory(
        group=group.name,
        formed_us=_formed(found),
        generations=tuple(found),
        spans=tuple(chain.from_iterable(frozen)),
        standstills=tuple(still),
        unanswered=unanswered,
        overlaps=tuple(one for spans in mine for one in overlaps(spans)),
        stopped_us=union_us((s.began_us, s.ended_us) for s in still),
        unserved_us=sum(s.length_us for s in still),
        worst=_worst(still),
        delivered=totals_by_group[group.name].delivered if group.name in totals_by_group else 0,
        duplicates=totals_by_group[group.name].duplicates if group.name in totals_by_group else 0,
        commits_failed=_failed_commits(facts, group.name),
        fenced=tuple((instance, len(members)) for instance, members in group.fenced.items()),
        evictions=tuple(evictions(facts, group)),
        present=tuple(member_name(facts, member) or MemberName(member) for member in group.members),
        undetected=tuple(undetected_deaths(facts, group)),
        rollouts=tuple(rollouts(facts, group, found)),
        static=tuple(host.name for host in facts.hosts.values() if host.instance and host.group == group.name),
    )


def _with_costs(
    rounds: list[Generation], moved: Sequence[tuple[int | None, int, Move]], still: Sequence[Standstill]
) -> list[Generation]:
    """Return the generations, each with the moves and standstills that it caused."""
    moves_of: dict[int, list[Move]] = {}
    still_of: dict[int, list[tuple[int, int]]] = {}
    by_number = {generation.number: index for index, generation in enumerate(rounds)}
    begins = [generation.began_us for generation in rounds]
    for number, at_us, move in moved:
        index = by_number.get(number or -1, max(0, bisect_right(begins, at_us) - 1))
        moves_of.setdefault(index, []).append(move)
    for stop in still:
        for index, piece in _pieces(rounds, begins, stop):
            still_of.setdefault(index, []).append(piece)
    return [
        evolve(generation, moves=tuple(moves_of.get(index, ())), stopped_us=union_us(still_of.get(index, ())))
        for index, generation in enumerate(rounds)
    ]


def _pieces(
    rounds: Sequence[Generation], begins: Sequence[int], stop: Standstill
) -> Iterable[tuple[int, tuple[int, int]]]:
    """Cut a standstill where a later rebalance begins; yield each piece with the index of its generation.

    The time before the first of those rebalances belongs to it, except after a rebalance that left the group empty: the
    partition then stands still because of that one, until a member joins. If the partition still stands when the group
    is stable, its new owner never took it, and the rest of the time belongs to the next rebalance.
    """
    last = max(0, bisect_right(begins, stop.ended_us) - 1)
    first = max(0, bisect_right(begins, stop.began_us) - 1)
    if first < last and rounds[first].ended_us <= stop.began_us and rounds[first].outcome is not Outcome.EMPTY:
        first += 1
    begin = stop.began_us
    for index in range(first, last + 1):
        stable = rounds[index].stable_us
        end = begins[index + 1] if index < last else stop.ended_us
        if index < last and stable is not None:
            end = max(begin, min(end, stable))
        yield index, (begin, end)
        begin = end


def _after_forming(rounds: Sequence[Generation], still: Iterable[Standstill]) -> Iterator[Standstill]:
    """Yield the standstills of a group, without the time in which it formed if it is a consumer group.

    Until the group is first Stable, or another round overtakes the first one, members only share partitions out.
    A group that has reached neither does not form: its standstills are counted.
    """
    first = rounds[0] if rounds else None
    if first is None or first.words is not OF_EPOCHS or first.cause is not Cause.FIRST_START:
        yield from still
        return
    overtaken_us = rounds[1].began_us if len(rounds) > 1 else None
    formed_us = overtaken_us if first.stable_us is None else first.stable_us
    for one in still:
        lasts = one.open if overtaken_us is None else one.ended_us > overtaken_us
        if formed_us is None or one.began_us >= formed_us:
            yield one
        elif lasts:
            yield one if overtaken_us is None else evolve(one, began_us=overtaken_us)


def _formed(rounds: Sequence[Generation]) -> int | None:
    stable = next((g for g in rounds if g.stable_us is not None), None)
    if stable is None or stable.stable_us is None or rounds[0].cause is not Cause.FIRST_START:
        return None
    return stable.stable_us - rounds[0].began_us


def _worst(still: Sequence[Standstill]) -> tuple[TopicPartition, int] | None:
    totals: Counter[TopicPartition] = Counter()
    for one in still:
        totals[one.partition] += one.length_us
    return min(totals.items(), key=lambda item: (-item[1], item[0]), default=None)


def _failed_commits(facts: Facts, group: str) -> tuple[tuple[str, int], ...]:
    counts = Counter(
        event.error or "?"
        for event in facts.commits_failed
        if (event.group or facts.host(event.host or "?").group) == group
    )
    return tuple(sorted(counts.items()))


def _faults(facts: Facts) -> tuple[TimelineEntry, ...]:
    return tuple(
        TimelineEntry(e.t_us, e.reason or "", e.host, facts.faults[e.span or e.seq].ended_us)
        for e in facts.fault_events
    )


FAILURES = {"FencedInstanceId": Cause.STATIC_FENCE, "InconsistentGroupProtocol": Cause.PROTOCOL}


def _note_text(event: TraceEvent) -> str:
    words = event.reason or event.error or ""
    if event.kind is Kind.OFFSET_EXPIRED:
        return f"{Cause.OFFSET_EXPIRY.value}: {event.group} {event.topic}-{event.partition} {words}".rstrip()
    if event.kind is Kind.GROUP_CONVERTED:
        return note_text(event)
    if event.kind is Kind.MEMBER_FENCED:
        instance = (event.payload or {}).get("instance_id", "?")
        return f"{Cause.STATIC_FENCE.value}: {event.member} in {words}; {instance} belongs to another member now"
    if event.kind is Kind.PROCESS_FAILED:
        error = event.error or ""
        name = next((cause.value for part, cause in FAILURES.items() if part in error), "failed")
        return f"{name}: {error} {event.reason or ''}".rstrip()
    return f"{event.kind.value}: {words}"


_ENDED = {"crashed": "crashed", "stopped": "stopped without leaving", "failed": "failed"}


def _unanswered(facts: Facts, rounds: Sequence[Generation], still: Iterable[Standstill]) -> Iterator[Unanswered]:
    """Yield the standstills that began with the end of a process and that no rebalance followed, in order.

    The session of the process lasts beyond the trace, or it is that of a static member. The last rebalance had ended in
    a stable group, so it is not the cause.
    """
    if not rounds or rounds[-1].outcome is not Outcome.STABLE:
        return
    for one in still:
        ends = facts.host(one.origin).ended
        if one.open and ends and ends[-1].began_us >= one.began_us >= rounds[-1].ended_us:
            yield Unanswered(one, _ENDED[ends[-1].what], ends[-1].began_us)
