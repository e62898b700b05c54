"""The account of the records: for every partition and group, the fate of each record in the log.

Each record that was ever in the log, as its leaders wrote it, belongs to exactly one figure:

    once, again         delivered to a member of the group, once or more often
    older               not delivered: it lies before every position that the group ever had
    skipped             not delivered, and the group reads further on: a position was reset or committed past it
    expired             not delivered, deleted by retention before the group reached it
    waiting             not delivered yet
    aborted             not delivered, part of an aborted transaction
    truncated           not delivered, truncated from the log after a change of its leader

    once + again + older + skipped + expired + waiting + aborted + (truncated - phantoms) = written

`truncated` counts all truncated records; `phantoms` of these had been delivered, `lost` had been acknowledged to their
producers. Records that compaction removed before the group read them count as skipped: no event lists them.
`Account.lost` is an older, narrower figure: the records between two that were delivered. It needs no log ends, so
traces without them have it as well.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.patterns import InvalidPattern, compile_pattern
from groupsim.scenarios.story.facts import Facts
from groupsim.scenarios.story.model import Account, Gap, GroupAccount, Lag, Records, Standstill
from groupsim.scenarios.story.rebalances.holdings import Holding
from groupsim.scenarios.story.records.delivery_ledger import DeliveryLedger, DeliveryLedgers
from groupsim.scenarios.story.records.lag import CountedWalk, Key, Subscription
from groupsim.scenarios.story.records.leader_log import LeaderLog
from groupsim.scenarios.story.records.leader_log_lag import LeaderLogWalk
from groupsim.scenarios.story.records.log_growth import changes
from groupsim.scenarios.story.records.progress import Step

Owners = Mapping[Key, Sequence[Holding]]
Stops = Mapping[Key, Sequence[Standstill]]


def accounts(
    facts: Facts, ledgers: DeliveryLedgers, owners: Owners, stops: Stops
) -> tuple[tuple[Account, ...], tuple[GroupAccount, ...]]:
    """Return the account of each partition that a group subscribed to or read, and of each group."""
    lags, whole = lags_of(facts, owners)
    by_key: dict[Key, DeliveryLedger] = {
        (group, TopicPartition(*place)): ledger for (group, place), ledger in ledgers.ledgers.items()
    }
    deleted = {e.topic for e in facts.metadata if not (e.payload or {}).get("partitions")} - {
        name.rpartition("-")[0] for name in _ends(facts)
    }
    found = []
    for key in sorted({*lags, *by_key}):
        ledger, log = by_key.get(key) or DeliveryLedger(), ledgers.logs.get(key[1])
        known = facts.log_ends is not None and key[1].topic not in deleted and log is not None
        holes = _holes(ledger, log)
        account = Account(
            *key,
            delivered=ledger.delivered,
            duplicates=ledger.duplicates,
            lost=sum(end - begin for begin, end in holes),
            first_lost=holes[0] if holes else None,
            records=records_of(ledger, log) if known and log is not None else None,
            lag=lags.get(key),
            gap=_gap(facts, key, owners.get(key, ()), stops.get(key, ())),
        )
        found.append(account)
    return tuple(found), tuple(_of_groups(found, whole))


def lags_of(facts: Facts, owners: Owners) -> tuple[dict[Key, Lag], dict[str, Lag]]:
    """Return the lag of every partition and group; both empty if the trace does not have the log ends."""
    if facts.log_ends is None:
        return {}, {}
    walk = _walk_on(facts, owners, facts.ledgers.steps, facts.end_us)
    return walk.finish(facts.end_us)


def sum_up(facts: Facts) -> None:
    """Add the older half of the kept steps to the lag, and drop them.

    The newer half stays: it has the first positions of members, which count for the time before them.
    """
    steps = facts.ledgers.steps
    if not facts.growth.known:
        return
    until = steps[len(steps) // 2][0]
    over = bisect_left(steps, until, key=lambda step: step[0])
    if over:
        _walk_on(facts, facts.holdings.spans, steps[:over], until - 1)
        del steps[:over]


def _walk_on(facts: Facts, owners: Owners, steps: Sequence[Step], end_us: int) -> CountedWalk | LeaderLogWalk:
    """Continue the walk through the run, or begin it."""
    ledgers = facts.ledgers.ledgers
    placed = {(group, TopicPartition(*place)): ledger.places for (group, place), ledger in ledgers.items()}
    growth = facts.growth.listed
    if growth is not None:
        planned = changes(growth)
        counted = facts.walk if isinstance(facts.walk, CountedWalk) else CountedWalk()
        counted.follow(subscriptions(facts, owners, [change.topic for change in planned], end_us), placed)
        counted.through(planned, steps, end_us)
        facts.walk = counted
        return counted
    logs = facts.ledgers.logs
    led = facts.walk if isinstance(facts.walk, LeaderLogWalk) else LeaderLogWalk()
    led.follow(logs, subscriptions(facts, owners, [topic for topic, _ in logs], end_us), placed)
    led.through(steps)
    facts.walk = led
    return led


def subscriptions(facts: Facts, owners: Owners, topics: Sequence[str], until_us: int) -> dict[str, Subscription]:
    """Return what each group subscribed to, or assigned to itself, by the processes that ran by `until_us`."""
    found: dict[str, Subscription] = {}
    for event in facts.starts:
        if event.group is None or event.t_us > until_us:
            continue  # a producer, or started later
        group = found.setdefault(event.group, Subscription())
        payload = event.payload or {}
        group.topics.update(dict.fromkeys(payload.get("topics", ())))
        if "pattern" in payload:
            fits = re.compile(payload["pattern"])
            group.topics.update(dict.fromkeys(topic for topic in topics if fits.fullmatch(topic)))
        if "regex" in payload:
            group.topics.update(dict.fromkeys(topic for topic in topics if _matches(payload["regex"], topic)))
    for (name, tp), spans in owners.items():
        if spans[0].owned_us > until_us:
            continue
        group = found.setdefault(name, Subscription())
        if any(span.generation is not None for span in spans):
            group.topics[tp.topic] = None
        else:
            group.assigned[tp] = None
    for group in found.values():
        group.assigned = {tp: None for tp in group.assigned if tp.topic not in group.topics}
    return found


def _matches(regex: str, topic: str) -> bool:
    """Return whether the broker gives a topic to a subscriber of a regular expression; one that it refuses has none."""
    try:
        return compile_pattern(regex)(topic)
    except InvalidPattern:
        return False


def records_of(ledger: DeliveryLedger, log: LeaderLog) -> Records:
    """Return the account of one log for one group."""
    seen = len(ledger.seen)
    again = len(ledger.again)
    skipped = older = expired = waiting = aborted = 0
    lowest, position = ledger.lowest or 0, ledger.position or 0
    for begin, end in _never(ledger, log):
        hidden = log.aborted.count(begin, end)
        aborted += hidden
        if hidden == end - begin:
            continue
        for piece in log.aborted.gaps(begin, end):
            before = _length(piece, 0, lowest)
            gone = _length(piece, lowest, max(lowest, log.start))
            passed = sum(_length(piece, max(b, lowest), e) for b, e in ledger.passed)
            further = _length(piece, max(lowest, log.start), position)
            older += before
            skipped += passed + further
            expired += gone - passed
            waiting += piece[1] - piece[0] - before - gone - further
    return Records(
        written=len(log.records) + log.truncated,
        once=seen - again + ledger.cut_once,
        again=again + ledger.cut_again,
        skipped=skipped,
        older=older,
        expired=expired,
        waiting=waiting,
        aborted=aborted,
        truncated=log.truncated,
        phantoms=ledger.cut_once + ledger.cut_again,
        lost=log.lost,
        unprocessed=seen - len(ledger.processed),
    )


def _holes(ledger: DeliveryLedger, log: LeaderLog | None) -> list[tuple[int, int]]:
    """Return the ranges of records between delivered ones that were not delivered, without markers and aborted ones."""
    seen = ledger.seen
    if len(seen.begins) < 2:
        return []
    holes = seen.gaps(seen.begins[0], seen.ends[-1])
    if log is None:
        return holes
    theirs = (piece for begin, end in holes for piece in log.records.within(begin, end))
    return [piece for begin, end in theirs for piece in log.aborted.gaps(begin, end)]


def _never(ledger: DeliveryLedger, log: LeaderLog) -> Iterator[tuple[int, int]]:
    """Yield the ranges of records, in the log or deleted from it, that no member of the group received."""
    for begin, end in log.records:
        yield from ledger.seen.gaps(begin, end)


def _length(piece: tuple[int, int], begin: int, end: int) -> int:
    """Return the length of the part of a piece in [begin, end)."""
    return max(0, min(piece[1], end) - max(piece[0], begin))


def _gap(facts: Facts, key: Key, spans: Sequence[Holding], stops: Sequence[Standstill]) -> Gap | None:
    """Return the longest unserved time of a partition after its first owner; the whole time if it never had one."""
    if all(span.fetchable_us is None for span in spans):
        group, partition = key
        began = min((e.t_us for e in facts.starts if (e.group or "?") == group), default=0)
        return Gap(max(began, _made_us(facts, partition)), facts.end_us, open=True)
    longest = max(stops, key=lambda stop: (stop.length_us, -stop.began_us), default=None)
    return None if longest is None else Gap(longest.began_us, longest.ended_us, longest.open)


def _made_us(facts: Facts, partition: TopicPartition) -> int:
    """Return when a partition was created; 0 if it was there from the beginning."""
    grown = (e for e in facts.metadata if e.topic == partition.topic)
    return next((e.t_us for e in grown if (e.payload or {}).get("partitions", 0) > partition.partition), 0)


def _of_groups(found: Sequence[Account], whole: Mapping[str, Lag]) -> Iterator[GroupAccount]:
    for name in sorted({*(one.group for one in found), *whole}):
        mine = [one for one in found if one.group == name]
        gaps = [one for one in mine if one.gap is not None]
        yield GroupAccount(
            name,
            partitions=len(mine),
            delivered=sum(one.delivered for one in mine),
            duplicates=sum(one.duplicates for one in mine),
            lost=sum(one.lost for one in mine),
            records=added(mine),
            lag=whole.get(name),
            gap=max(gaps, key=lambda one: one.gap.length_us if one.gap else 0).partition if gaps else None,
        )


def added(some: Sequence[Account]) -> Records | None:
    """Return the sum of several accounts; None if the trace has the records of none of them."""
    known = [one.records for one in some if one.records is not None]
    return sum(known[1:], known[0]) if known else None


def _ends(facts: Facts) -> Mapping[str, Sequence[int]]:
    return {} if facts.log_ends is None else (facts.log_ends.payload or {}).get("ends", {})
