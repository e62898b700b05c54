"""One lane per process: its phases in order, as an observer outside the process sees them.

The phases of a member are those of its group's protocol. A producer has no such phases: it works from start to end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import pairwise

from groupsim.scenarios.story.facts import Facts, HostFacts, Stretch, latest
from groupsim.scenarios.story.model import PRODUCER, Lane, Phase, PhaseSpan
from groupsim.scenarios.story.rebalances.silence import first_seen

OF_STATE = {
    "UNJOINED": Phase.OUTSIDE,
    "PREPARING_REBALANCE": Phase.JOINING,
    "COMPLETING_REBALANCE": Phase.SYNCING,
    "STABLE": Phase.WORKING,
    # of the consumer protocol: a member works on while it reconciles
    "JOINING": Phase.JOINING,
    "RECONCILING": Phase.WORKING,
    "ACKNOWLEDGING": Phase.WORKING,
    "FENCED": Phase.EVICTED,
    "STALE": Phase.OUTSIDE,
    "PREPARE_LEAVING": Phase.OUTSIDE,
    "LEAVING": Phase.OUTSIDE,
    "UNSUBSCRIBED": Phase.OUTSIDE,
    "FATAL": Phase.OUTSIDE,
    # in a group without a coordinator (Kafka 0.8)
    "REGISTERED": Phase.JOINING,
    "REBALANCING": Phase.SYNCING,
    "CONSUMING": Phase.WORKING,
}


def lanes(facts: Facts) -> tuple[Lane, ...]:
    """Return one lane per process that started, in the order of the starts."""
    failed = _failed_commits(facts)
    members = [host for host in facts.hosts.values() if host.started]
    return tuple(
        Lane(
            host.name,
            host.group,
            host.profile,
            tuple(phases(host, evictions(facts, host), facts.end_us)),
            host.heartbeats,
            host.delivered,
            host.duplicates,
            tuple(sorted(failed.get(host.name, Counter()).items())),
            host.failure,
            not host.ended or host.started[-1] > host.ended[-1].began_us,
            sum(end.what == "crashed" for end in host.ended),
            host.fetches,
        )
        for host in members
    )


def _failed_commits(facts: Facts) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for event in facts.commits_failed:
        counts.setdefault(event.host or "?", Counter())[event.error or "?"] += 1
    return counts


def evictions(facts: Facts, host: HostFacts) -> list[Stretch]:
    """Return the stretches in which the coordinator had removed the member and its process did not know it.

    A stretch ends when the process learns of it, or when the next coordinator loads a record that still has the member.
    """
    found = []
    for group in facts.groups.values():
        for removal in group.removals:
            if removal.reason == "left" or facts.process.get(removal.member or "") != host.name:
                continue
            if host.end_between(first_seen(facts, removal.member or "", host) - 1, removal.t_us):
                continue  # its process had ended by then; the member id was still in the group
            known = (*(t for t, _ in host.states), *group.restored_us.get(removal.member or "", ()))
            found.append(Stretch(removal.t_us, min((t for t in known if t >= removal.t_us), default=facts.end_us)))
    return found


def phases(host: HostFacts, evicted: list[Stretch], end_us: int) -> list[PhaseSpan]:
    """Return the phases of a process from the begin of the trace to its end."""
    cuts = {0, end_us, *host.started}
    cuts.update(end.began_us for end in host.ended)
    cuts.update(t for t, _ in host.states)
    for stretch in (*host.pauses, *host.callbacks, *evicted):
        cuts.add(stretch.began_us)
        cuts.add(end_us if stretch.ended_us is None else stretch.ended_us)
    moments = sorted(cut for cut in cuts if 0 <= cut <= end_us)
    spans: list[PhaseSpan] = []
    reader = _Reader(host, evicted)
    for begin, end in pairwise(moments):
        phase = reader.phase(begin)
        if spans and spans[-1].phase is phase:
            spans[-1] = PhaseSpan(phase, spans[-1].began_us, end)
        else:
            spans.append(PhaseSpan(phase, begin, end))
    return spans


class _Reader:
    """Finds the phase at moments that come in order: a pause goes before a callback, that before an eviction."""

    def __init__(self, host: HostFacts, evicted: list[Stretch]) -> None:
        self.host = host
        self.evicted = evicted
        self.ends = [end.began_us for end in host.ended]
        self.states = [at for at, _ in host.states]
        claims = ((host.pauses, Phase.PAUSED), (host.callbacks, Phase.CALLBACK), (evicted, Phase.EVICTED))
        self.claims = [(stretches, [stretch.began_us for stretch in stretches], phase) for stretches, phase in claims]

    def phase(self, at_us: int) -> Phase:
        """Return the phase at a moment. Stretches of one kind do not overlap, so the last to begin decides."""
        started = latest(self.host.started, at_us)
        if started is None:
            return Phase.OUTSIDE
        ended = latest(self.ends, at_us)
        if ended is not None and ended >= started:
            return self._after_end(ended)
        for stretches, begins, phase in self.claims:
            index = bisect_right(begins, at_us)
            if index and covers(stretches[index - 1], at_us):
                return phase
        return self._state(started, at_us)

    def _after_end(self, ended: int) -> Phase:
        how = next(end.what for end in reversed(self.host.ended) if end.began_us == ended)
        return Phase.OUTSIDE if how == "stopped" else Phase.DEAD

    def _state(self, started: int, at_us: int) -> Phase:
        if self.host.profile == PRODUCER:
            return Phase.WORKING
        index = bisect_right(self.states, at_us)
        at, state = self.host.states[index - 1] if index else (-1, "")
        return OF_STATE.get(state if at >= started else "UNJOINED", Phase.OUTSIDE)


def covers(stretch: Stretch, at_us: int) -> bool:
    """Return whether a stretch has begun at a moment and still goes on."""
    return stretch.began_us <= at_us and (stretch.ended_us is None or stretch.ended_us > at_us)
