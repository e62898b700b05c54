"""The first line of a report: N rebalances, S seconds stopped, M partitions moved, and the main cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.many_groups import MANY
from groupsim.scenarios.story.model import Generation, GroupStory, LateMember, Outcome, Span
from groupsim.scenarios.story.rebalances.hindrances import worst_hindrance
from groupsim.scenarios.story.rebalances.ownership import union_us
from groupsim.scenarios.story.rebalances.silence import DROPPED_ID, NO_ID_YET
from groupsim.scenarios.story.words import clock, count, listed, span

HELD_US = 1_000_000  # a rebalance that was open for less was not held open by a member
OFTEN = 3

ASKED_FOR = frozenset(
    {Cause.FIRST_START, Cause.DEPLOY_JOIN, Cause.DEPLOY_LEAVE, Cause.METADATA, Cause.SUBSCRIPTION_MIX}
)
"""Causes of rebalances that a step of the scenario intends."""

_COMMON = ({Cause.SESSION_STALL}, {Cause.SESSION_NETWORK}, {Cause.COORDINATOR_MOVE}, {Cause.COORDINATOR_BACK})
"""Causes at the coordinator or in the network, which may affect several groups at once."""

REMOVALS = {
    "session-expired": "until its session ended",
    "join-timeout": "until the rebalance timeout",
    "rebalance-timeout": "until the rebalance timeout",
    "pending-expired": "until its pending id expired",
    "sync-timeout": "until the rebalance timeout",
    "left": "until it left",
}


def headline(
    groups: Sequence[GroupStory], failures: Sequence[tuple[str, str]] = (), strangers: Sequence[tuple[str, str]] = ()
) -> str:
    """Return one sentence about the group that was stopped longest, followed by counts of the others.

    `failures` are processes with the error that ended them. They are named if no group formed, or if the group neither
    rebalanced nor stopped. `strangers` are those of them that never had a generation; the first is always named.
    """
    known = [group for group in groups if group.generations]
    if not known:
        return f"no group formed{_failed(failures).replace(';', ':', 1)}"
    if len(known) > 1 and all(_is_calm(group) for group in known):
        return _all_calm(known) + _failed(failures)
    worst = max(known, key=lambda g: (g.stopped_us, len(g.rebalances), _stuck_us(g)))
    others = [g for g in known if g is not worst and g.rebalances]
    alike = _alike(worst, others)
    many = len(known) >= MANY and bool(worst.rebalances)
    text = _of_many(known, worst) if many else of_group(worst, others if alike else ())
    if not (worst.rebalances or worst.stopped_us or worst.moved):
        text += _failed(failures)
    elif strangers:
        text += f"{_failed(strangers)} and never became a member"
    never = [g.group for g in known if g is not worst and g.formed_us is None and not g.rebalances]
    text += f"; {listed(never)} never became stable" if never else ""
    if others and not alike and not many:
        total = sum(len(g.rebalances) for g in others)
        text += f" (and {count(total, 'rebalance')} of {', '.join(g.group for g in others[:3])}"
        text += ", …)" if len(others) > 3 else ")"
    return text


def _of_many(groups: Sequence[GroupStory], worst: GroupStory) -> str:
    """Return the sentence about many groups: rebalances, groups hit, causes, and the group that was hit hardest."""
    hit = [group for group in groups if group.rebalances]
    causes = Counter(one.cause for group in hit for one in group.rebalances)
    total = causes.total()
    text = f"{count(total, 'rebalance')} in {len(hit)} of {len(groups)} groups: {_often(causes.most_common(3), total)}"
    return f"{text}; hardest hit: {of_group(worst)}"


def _alike(worst: GroupStory, others: Sequence[GroupStory]) -> bool:
    """Return whether several groups rebalanced for one common cause, such as a paused coordinator."""
    if not others or not worst.rebalances:
        return False
    return {_main(group.rebalances).cause for group in (worst, *others)} in _COMMON


def _failed(failures: Sequence[tuple[str, str]]) -> str:
    if not failures:
        return ""
    (host, error), others = failures[0], len(failures) - 1
    return f"; {host} failed with {error}" + (f", as did {count(others, 'other')}" if others else "")


def of_group(group: GroupStory, others: Sequence[GroupStory] = ()) -> str:
    """Return the sentence about one group; `others` rebalanced for the same cause."""
    if not group.rebalances:
        return _calm(group) + _besides(group, group.generations[0])
    every = (group, *others)
    number = _counted([change for one in every for change in one.rebalances])
    cost = f"up to {_cost(group)}" if others and group.stopped_us else _cost(group)
    text = f"{number} of {listed(sorted(one.group for one in every))}, {cost}: {_reasons(group.rebalances)}"
    ended = _ended(group)
    text += f"; {ended}" if ended else ""
    return text + _besides(group, _main(group.rebalances))


def _counted(changes: Sequence[Generation]) -> str:
    """Return the number of changes, those of each protocol in its own word."""
    numbers = Counter(one.words.change for one in changes)
    return " and ".join(count(number, word) for word, number in numbers.items())


def _besides(group: GroupStory, main: Generation) -> str:
    """Return the worst hindrance, apart from the cause of the main rebalance and the member that held it open."""
    worst = worst_hindrance(group.generations, main)
    return f"; {worst.words}" if worst is not None else ""


def _ended(group: GroupStory) -> str:
    """Return the end of a process, after the last rebalance, that left partitions unserved longest; "" for none."""
    found = group.unanswered
    if union_us((one.stop.began_us, one.stop.ended_us) for one in found) < HELD_US:
        return ""
    worst = max(found, key=lambda one: one.stop.length_us)
    others = len({one.stop.origin for one in found}) - 1
    also = f", as did {count(others, 'other')}" if others else ""
    return f"{worst.stop.origin} {worst.how} at {clock(worst.ended_us)}{also}, and no rebalance followed"


def _cost(group: GroupStory) -> str:
    stopped = f"{span(group.stopped_us)} stopped" if group.stopped_us else "nothing stopped"
    return f"{stopped}, {count(group.moved, 'partition')} moved"


def _without(group: GroupStory) -> str:
    """Return why partitions stopped or moved without a rebalance."""
    if group.fenced:
        instance, times = max(group.fenced, key=lambda item: item[1])
        return f"{times} × {Cause.STATIC_FENCE.value}, two processes use group.instance.id {instance}"
    doubled = _doubled(group.spans)
    if doubled:
        return f"{' and '.join(doubled)} own the same partitions"
    ended = _ended(group)
    if ended:
        return ended
    names = list(dict.fromkeys(s.origin for s in group.standstills if s.target == s.origin))
    if not names:
        return "static members took over from others" if group.static else "members joined while the group formed"
    again = [name for name in names if name not in group.static]
    if again:
        return f"{listed(again)} joined again and kept {'its' if len(again) == 1 else 'their'} partitions"
    return f"its partitions waited for the static member{'s' if len(names) > 1 else ''} {listed(names)} to return"


def _doubled(spans: Sequence[Span]) -> list[str]:
    """Return two processes that own one partition, as a faulty assignor makes them; [] for none."""
    for old, new in pairwise(spans):
        if old.partition == new.partition and old.host != new.host and old.released_us is None:
            return sorted((old.host, new.host))
    return []


def _is_calm(group: GroupStory) -> bool:
    """Return whether a group formed at the first attempt and had no trouble since."""
    troubled = group.rebalances or group.stopped_us or group.moved or len(group.forming) > 1
    return (
        group.formed_us is not None
        and not troubled
        and worst_hindrance(group.generations, group.generations[0]) is None
    )


def _all_calm(groups: Sequence[GroupStory]) -> str:
    longest = max(group.formed_us or 0 for group in groups)
    if len(groups) >= MANY:
        return f"no rebalance in any of {len(groups)} groups: all formed, the last in {span(longest)}"
    return f"no rebalance: {listed(sorted(group.group for group in groups))} formed, the last in {span(longest)}"


def _stuck_us(group: GroupStory) -> int:
    """Return the length of the longest stall of a stable group."""
    stalls = (one for each in group.generations for one in each.hindrances if one.cause is Cause.STUCK)
    return max((one.ended_us - one.began_us for one in stalls), default=0)


def _calm(group: GroupStory) -> str:
    tried = group.forming[1:] or group.forming
    if group.formed_us is None:
        attempts = f" in {len(group.forming)} attempts" if len(group.forming) > 1 else ""
        return f"{group.group} never became stable{attempts}: {_reasons(tried)}"
    if group.stopped_us or group.moved:
        return f"no {group.words.change} of {group.group}, {_cost(group)}: {_without(group)}"
    if _stuck_us(group):
        return f"no {group.words.change} of {group.group}"
    members = count(tried[-1].size, "member")
    text = f"no {group.words.change}: {group.group} formed in {span(group.formed_us)} with {members}"
    return text + (f": {_reasons(tried)}" if len(group.forming) > 1 else "")


def _reasons(rebalances: Sequence[Generation]) -> str:
    main = _main(rebalances)
    text = clause(main)
    often = Counter(g.cause for g in rebalances).most_common(3)
    mixed = next((g for g in rebalances if g.cause is Cause.SUBSCRIPTION_MIX), main)
    if len(rebalances) >= OFTEN:
        text = f"{_often(often, len(rebalances))}; longest: {text}"
    elif mixed.cause is not main.cause:  # a lasting mistake in the configuration is named beside the main cause
        text = f"{mixed.cause.value}, {clause(mixed)}; longest: {text}"
    return text


def _main(rebalances: Sequence[Generation]) -> Generation:
    """Return the rebalance that cost most; of fewer than `OFTEN`, an unintended one goes before the others."""
    cost = {id(g): max(g.stopped_us, g.duration_us) for g in rebalances}
    if len(rebalances) < OFTEN:
        return max(rebalances, key=lambda g: (_went_wrong(g), cost[id(g)]))
    return max(rebalances, key=lambda g: cost[id(g)])


def _went_wrong(generation: Generation) -> bool:
    """Return whether a generation began, or lasted, for a reason that no step asked for."""
    return generation.cause not in ASKED_FOR or _is_held(generation) or NO_ID_YET in generation.why


def _often(often: list[tuple[Cause, int]], total: int) -> str:
    parts = [f"{number} × {cause.value}" for cause, number in often]
    rest = total - sum(number for _, number in often)
    return " + ".join(parts) + (f" + {count(rest, 'other')}" if rest else "")


def clause(generation: Generation) -> str:
    """Return the member and the cause of one generation."""
    held = generation.delayed_by
    if held is not None and _is_held(generation):
        return _held(held, generation)
    if generation.outcome is Outcome.OPEN:
        return f"{_subject(generation)}; {generation.words.number} {generation.number} never became stable"
    return _subject(generation)


def _is_held(generation: Generation) -> bool:
    """Return whether a member held a generation open for most of its time."""
    held = generation.delayed_by
    return held is not None and held.after_us >= max(HELD_US, generation.duration_us // 2)


def _held(held: LateMember, generation: Generation) -> str:
    culprit = generation.culprit
    if held.why.startswith(DROPPED_ID) and culprit is not None and culprit.host == held.name.host:
        return f"{_subject(generation)}; {generation.words.number} {generation.number} waited for its former member id"
    aside = f" ({held.why})" if held.why else ""
    name = f"{held.name.host}{aside} held {generation.words.number} {generation.number} open"
    if held.came:
        return f"{name} for {span(held.after_us)}"
    return f"{name} {REMOVALS.get(held.removal or '', 'for ' + span(held.after_us))}"


def _subject(generation: Generation) -> str:
    if generation.culprit is None:
        return f"{generation.cause.value}{': ' + generation.why if generation.why else ''}"
    ended = f" and its session ended at {clock(generation.began_us)}" if generation.cause.is_session else ""
    if ", " in generation.why:
        ended = ended.replace(" and", ";", 1)
    returned = generation.why.startswith("joined")
    return f"{generation.culprit.host} {generation.why}{'' if returned else ended}"
