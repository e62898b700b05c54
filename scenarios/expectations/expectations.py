"""The expectations of a scenario about counts, states, owners, times and errors, judged from the trace alone.

Each class is one key of the scenario file, and its fields are the keys below it. A bare value fills the field marked
`short`: `generations: 3`. Every finding has the expected value, the value found and, if there is one, the event.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Literal, NewType, get_args

from groupsim.eventloop.units import show_us
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.expectations.matching import AnyError, KindName, MatchedEvents, Matcher
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.registry import Check, Finding, Watch, check
from groupsim.scenarios.language.targets import GroupName, OneMember, PartitionName, TheGroup, partition_named
from groupsim.scenarios.language.values import (
    END,
    VALUE_TYPES,
    ApiName,
    Count,
    CountIs,
    ErrorName,
    Moment,
    SpanIs,
    ValueType,
    quote,
    read_count_is,
)
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.rebalances.ownership import owned_twice_us

StateName = Literal["Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Stable", "Dead"]
STATES: tuple[str, ...] = get_args(StateName)
"""The states of groups of both protocols, by Kafka's names."""

_ONLY = "Only this group."
_GROUP = "Which group; may be left out when there is one."
_AT = "When: a time since the start, or `end`."


NO_PROCESS = "nobody"
"""The value of `owner: is:` and of `rebalance: held-by:` for no process."""

CauseName = NewType("CauseName", str)
"""A cause of the story's closed list."""

CAUSES = tuple(cause.value for cause in Cause)


def _read_cause(found: object) -> CauseName:
    if found not in CAUSES:
        raise ValueError(f"{quote(found)} is no cause; {suggest(str(found), CAUSES, 'causes')}")
    return CauseName(str(found))


VALUE_TYPES[CauseName] = ValueType(_read_cause, {"enum": list(CAUSES)})


def counted(what: str, bounds: CountIs, number: int, t_us: int | None = None, seqs: tuple[int, ...] = ()) -> Finding:
    """Return the finding about a number."""
    return Finding(bounds.holds(number), f"{what}: {bounds}", str(number), t_us, seqs)


@check("generations")
@frozen
class Generations(Check):
    """The generation that a group has reached."""

    is_: CountIs = key("The generation number: 3, <= 4, 2..5.", short=True)
    at: Moment = key(_AT, END)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the generation of the last state change."""
        change = evidence.state_at(evidence.only(self.group), self.at)
        if change is None:
            return counted("generation", self.is_, 0)
        return counted("generation", self.is_, change.generation, change.t_us, (change.seq,))


@check("rebalances")
@frozen
class Rebalances(Check):
    """The number of rebalances after the group had formed, as the headline counts them."""

    is_: CountIs = key("How many: 2, <= 4, 2..5.", short=True)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the count of the story."""
        found = evidence.group(self.group).rebalances
        return counted("rebalances", self.is_, len(found), found[-1].began_us if found else None)


@check("state")
@frozen
class State(Check):
    """The state of a group at a time."""

    is_: StateName = key("The state, as Kafka's tools print it.", short=True)
    at: Moment = key(_AT, END)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the state after all events of that instant."""
        at = evidence.moment(self.at)
        expected = f"state {self.is_} at {show_us(at)}"
        change = evidence.state_at(evidence.only(self.group), at)
        if change is None:
            return Finding(self.is_ == "Dead", expected, "no such group yet", at)
        found = f"{change.state} since {show_us(change.t_us)}"
        return Finding(change.state == self.is_, expected, found, change.t_us, (change.seq,))


@check("members")
@frozen
class MemberCount(Check):
    """The number of members at the coordinator at a time."""

    is_: CountIs = key("How many.", short=True)
    at: Moment = key(_AT, END)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the number of members added and not removed."""
        at = evidence.moment(self.at)
        members = evidence.members_at(evidence.only(self.group), at)
        return counted(f"members at {show_us(at)}", self.is_, len(members), at)


@check("owner")
@frozen
class Owner(Check):
    """The owner of a partition at a time."""

    partition: PartitionName = key("The partition, such as orders-0.")
    is_: OneMember = key(f"The process, or `{NO_PROCESS}`.")
    at: Moment = key(_AT, END)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the owners after all events of that instant."""
        at = evidence.moment(self.at)
        spans = evidence.owners(partition_named(self.partition), at, evidence.only(self.group))
        owners = sorted({span.host for span in spans})
        wanted = [] if self.is_ == NO_PROCESS else [self.is_]
        expected = f"{self.partition} owned by {self.is_} at {show_us(at)}"
        return Finding(owners == wanted, expected, ", ".join(owners) or NO_PROCESS, at)


@check("every-partition-owned")
@frozen
class EveryPartitionOwned(Check):
    """Every partition of the topics to which a group subscribes has exactly one owner at a time."""

    at: Moment = key(_AT, END, short=True)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """List the partitions without an owner or with several."""
        at, group = evidence.moment(self.at), evidence.only(self.group)
        expected = f"every partition owned once at {show_us(at)}"
        wrong = badly_owned(evidence, group, at)
        if not evidence.partitions(group, at):
            return Finding(False, expected, "the group subscribes to no partition", at)
        return Finding(not wrong, expected, "; ".join(wrong) or "every one", at)


@check("no-two-owners")
@frozen
class NoTwoOwners(Check):
    """Two processes of a group never own the same partition at the same time."""

    group: GroupName | None = key(_ONLY, None)
    after: Moment = key("Only from then on.", 0)

    def judge(self, evidence: Evidence) -> Finding:
        """Find the first two spans of one partition that overlap."""
        expected = "no partition with two owners"
        spans = sorted(evidence.spans(self.group), key=lambda s: (s.partition, s.owned_us))
        for earlier, later in pairwise(spans):
            until = evidence.end_us if earlier.released_us is None else earlier.released_us
            both = later.partition == earlier.partition and later.host != earlier.host and later.owned_us < until
            if both and until > self.after:
                found = f"{later.partition}: {later.host} while {earlier.host} held it until {show_us(until)}"
                return Finding(False, expected, found, later.owned_us)
        return Finding(True, expected, "none")


@check("assignment")
@frozen
class AssignmentCheck(Check):
    """The partitions of each member at a time."""

    is_: Mapping[OneMember, tuple[PartitionName, ...]] = key("Partitions by member; [] for none.")
    at: Moment = key(_AT, END)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the partitions of the named members as sets."""
        at = evidence.moment(self.at)
        found = evidence.assignment(at, evidence.only(self.group))
        wanted = {str(name): tuple(sorted(map(partition_named, parts))) for name, parts in self.is_.items()}
        actual = {name: found.get(name, ()) for name in wanted}
        return Finding(actual == wanted, f"at {show_us(at)} {_listed(wanted)}", _listed(actual), at)


@check("load")
@frozen
class Load(Check):
    """The number of partitions of each member at a time."""

    is_: Mapping[OneMember, CountIs] = key("Number of partitions by member.")
    at: Moment = key(_AT, END)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the numbers for the named members."""
        at = evidence.moment(self.at)
        found = evidence.assignment(at, evidence.only(self.group))
        actual = {name: len(found.get(name, ())) for name in self.is_}
        holds = all(bounds.holds(actual[name]) for name, bounds in self.is_.items())
        wanted = ", ".join(f"{name} {bounds}" for name, bounds in self.is_.items())
        return Finding(holds, f"load at {show_us(at)}: {wanted}", ", ".join(f"{n} {c}" for n, c in actual.items()), at)


@check("moved")
@frozen
class Moved(Check):
    """The number of moves of partitions from one process to another."""

    is_: CountIs = key("How many moves.", short=True)
    after: Moment = key("Only moves later than this.", 0)
    before: Moment = key("Only moves earlier than this.", END)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Count the moves in the story's generations."""
        moves = [
            move
            for generation in evidence.group(self.group).counted
            if self.after < generation.ended_us <= evidence.moment(self.before)
            for move in generation.moves
        ]
        shown = ", ".join(f"{m.partition} {m.origin}→{m.target}" for m in moves[:6])
        finding = counted("moved partitions", self.is_, len(moves))
        return Finding(finding.holds, finding.expected, f"{len(moves)} ({shown})" if moves else "0")


@check("stopped")
@frozen
class Stopped(Check):
    """The time in which at least one partition of the group was unserved: no process could work on it."""

    is_: SpanIs = key("How long: <= 3s, 1s..2s.", short=True)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the figure of the story."""
        stopped = evidence.group(self.group).stopped_us
        return Finding(self.is_.holds(stopped), f"stopped: {self.is_}", show_us(stopped))


@check("converges")
@frozen
class Converges(Check):
    """The group is Stable from a time on, and every partition has one owner at the end."""

    by: Moment = key("From when on.", short=True)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Look for a state other than Stable after that time, and for partitions without one owner."""
        group = evidence.only(self.group)
        expected = f"stable from {show_us(self.by)} on, every partition owned"
        at = evidence.state_at(group, self.by)
        later = [change for change in evidence.states(group) if change.t_us > self.by]
        wrong = next((c for c in ([at] if at else []) + later if c.state != "Stable"), None)
        if at is None or wrong is not None:
            found = f"{wrong.state} at {show_us(wrong.t_us)}" if wrong else "no group at that time"
            return Finding(False, expected, found, wrong.t_us if wrong else self.by, (wrong.seq,) if wrong else ())
        unowned = badly_owned(evidence, group, evidence.end_us)
        return Finding(not unowned, expected, "; ".join(unowned) or "it does", evidence.end_us)


@check("error")
@frozen
class ErrorAnswered(Check):
    """The number of answers with an error."""

    is_: ErrorName = key("The error.")
    api: ApiName | None = key("Only answers to this API.", None)
    count: CountIs = key("How often; at least once when left out.", factory=lambda: read_count_is(">= 1"))
    member: OneMember | None = key("Only answers to this process.", None)
    group: GroupName | None = key(_ONLY, None)
    after: Moment = key("Only later than this.", 0)

    def watch(self, evidence: Evidence) -> Watch:
        """Keep the answers with this error."""
        return MatchedEvents(evidence, Matcher(kind=KindName("response.sent"), error=AnyError(self.is_)))

    def judge(self, evidence: Evidence) -> Finding:
        """Count the answers that brokers sent."""
        found = [
            event
            for event in evidence.watched(self).events
            if self.api in (None, event.api)
            and self.group in (None, event.group)
            and event.t_us >= self.after
            and (self.member is None or evidence.is_about(event, self.member) or _goes_to(event.payload, self.member))
        ]
        what = f"{self.api or 'any request'} answered {self.is_}" + (f" to {self.member}" if self.member else "")
        first = found[0] if found else None
        return counted(what, self.count, len(found), first.t_us if first else None, tuple(e.seq for e in found[:5]))


@check("rebalance")
@frozen
class RebalanceCheck(Check):
    """One rebalance: its cause, the member that held it open, its duration."""

    to: Count = key("The generation that it led to.")
    cause: CauseName | None = key("Its cause, by the story's closed list: deploy-join, session-expiry (crash) …", None)
    by: OneMember | None = key("The member that caused it.", None)
    held_by: OneMember | None = key("The member that it waited for longest.", None)
    took: SpanIs | None = key("From PreparingRebalance to Stable.", None)
    members: CountIs | None = key("Members afterwards.", None)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare each given value."""
        found = next((g for g in evidence.group(self.group).generations if g.number == self.to), None)
        if found is None:
            return Finding(False, f"a rebalance to generation {self.to}", "there was none")
        facts: list[tuple[str, object, str, bool]] = []
        culprit = found.culprit.host if found.culprit else NO_PROCESS
        holder = found.held_by.name.host if found.held_by else NO_PROCESS
        for name, wanted, seen in (
            ("cause", self.cause, found.cause.value),
            ("by", self.by, culprit),
            ("held by", self.held_by, holder),
        ):
            if wanted is not None:
                facts.append((name, wanted, seen, wanted == seen))
        if self.took is not None:
            took = found.duration_us
            facts.append(("took", self.took, show_us(took), self.took.holds(took)))
        if self.members is not None:
            facts.append(("members", self.members, str(found.size), self.members.holds(found.size)))
        expected = ", ".join(f"{name} {wanted}" for name, wanted, _, _ in facts)
        seen_all = ", ".join(f"{name} {seen}" for name, _, seen, _ in facts)
        return Finding(all(ok for *_, ok in facts), f"generation {self.to}: {expected}", seen_all, found.began_us)


def badly_owned(evidence: Evidence, group: str, at_us: int) -> list[str]:
    """Return the partitions of a group without an owner or with several, as text."""
    owners: dict[TopicPartition, list[str]] = {}
    for host, partitions in evidence.assignment(at_us, group).items():
        for partition in partitions:
            owners.setdefault(partition, []).append(host)
    wrong: list[str] = []
    for partition in evidence.partitions(group, at_us):
        names = owners.get(partition, [])
        if len(names) != 1:
            wrong.append(f"{partition}: {' and '.join(names) or 'no owner'}")
    return wrong[:8]


def _listed(assignment: Mapping[str, tuple[TopicPartition, ...]]) -> str:
    return "; ".join(f"{name}: {' '.join(map(str, parts)) or '-'}" for name, parts in assignment.items())


def _goes_to(payload: Mapping[str, object] | None, member: str) -> bool:
    return (payload or {}).get("to") == member


@check("owned-twice")
@frozen
class OwnedTwice(Check):
    """The time in which partitions had two owners, summed over partitions."""

    is_: SpanIs = key("How long, summed over partitions: <= 3s, 1s..2s.", short=True)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Add up the times in which spans of one partition overlap."""
        twice = owned_twice_us(evidence.group(self.group).spans, evidence.end_us)
        return Finding(self.is_.holds(twice), f"partitions owned twice: {self.is_}", show_us(twice))
