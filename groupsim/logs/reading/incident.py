"""What the records of logs say of an incident, group by group: the headline, the member, the line, what helps.

A sign is judged by itself (`signs.py`), or from the order of lines: who failed while a rebalance was open, what the
coordinator did before, whether many sessions ended at once, which lines of a client are missing in between.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter

from groupsim.logs.reading import signs as table
from groupsim.logs.reading.dialects import JAVA, Dialect, dialect_of
from groupsim.logs.reading.names import group_of, member_of
from groupsim.logs.reading.records import Record
from groupsim.logs.reading.signs import Sign, signs_in
from groupsim.protocol.values import frozen

_AT_ONCE_S = 5
"""Sessions that end within so many seconds end together."""
_MANY = 3
_MOVED_S = 120
"""A member that is removed within so many seconds after a change of its coordinator did not find the next one."""
_BACK_S = 10
"""A coordinator that refuses the member within so many seconds after its silence was there."""
_BUSY_S = 60
"""A rebalance that waits for a member for so long waits for its rebalance timeout; sessions are shorter."""
_ALONE_S = 0.5
"""A rebalance of a group with members that is complete within so many seconds did not wait for their heartbeats."""
_PARKED_S = 5
"""A JoinGroup request that is sent again after so many seconds had waited for the rebalance."""

_OPENS = re.compile(r"Preparing to re(?:balance|stabilize) group")
_CLOSES = re.compile(r"Stabilized group|is now empty")
_OPENED_BY_LOSS = re.compile(r"on heartbeat expiration|LeaveGroup|Removing ")
_FIRST = re.compile(r"with old generation 0\b")
_FAILED = re.compile(r"has failed, removing it from the group")
_LOADS = re.compile(
    r"(?<![Uu]n)[Ll]oading (?:of )?(?:offsets and )?(?:group )?metadata|Loaded (?:classic|consumer|generic) group"
)
_JOINS = re.compile(
    r"oining group|[Jj]oined group|has joined the group|oinGroup (?:response|succeeded)|-> wait-join|re-joining"
)
_GHOST = re.compile(r"in PreparingRebalance state\. Created a new member id (\S+) for this member and add")
_UUID = re.compile(r"-?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
_IN_ORDER = re.compile("|".join(one.pattern for one in (_OPENS, _CLOSES, _LOADS, _JOINS)))
_SENT = re.compile(r"Sent JoinGroupRequest")
_SENT_AGAIN = re.compile(r"Retrying JoinGroupRequest")
_SENDS = re.compile("|".join((_SENT.pattern, _SENT_AGAIN.pattern)))


@frozen
class Seen:
    """A sign in a record, with the group and the member that the record names."""

    sign: Sign
    record: Record
    group: str
    who: str
    held_s: float | None = None


@frozen
class Reading:
    """A record that says something by itself or by its place: its signs, and what it names."""

    record: Record
    text: str
    signs: tuple[Sign, ...]
    group: str
    who: str

    def seen(self, sign: Sign, held_s: float | None = None) -> Seen:
        """Return this line as one that shows a sign."""
        return Seen(sign, self.record, self.group, self.who, held_s)


@frozen
class Finding:
    """A sign of a group: its first line, how often it occurs, who it concerns, in the words of the client's library."""

    group: str
    sign: Sign
    first: Record
    count: int
    who: tuple[str, ...]
    says: str
    why: str
    do: str


def judge(records: Sequence[Record]) -> list[list[Finding]]:
    """Return the findings of each group, the most decisive first; the groups in the order of their first findings.

    Lines that name no group are counted for the only group of their file, or of all files, if there is one.
    """
    lines = list(_lines(records))
    ordered = list(_from_order(lines))
    seen = [*(line.seen(sign) for line in lines for sign in line.signs), *ordered]
    dialect = dialect_of(one.text for one in records) or JAVA
    by_file: dict[str, set[str]] = {}
    for one in seen:
        by_file.setdefault(one.record.file, set()).update({one.group} - {""})
    only = _only({group for groups in by_file.values() for group in groups})
    by_group: dict[str, list[Seen]] = {}
    for one in seen:
        by_group.setdefault(one.group or _only(by_file[one.record.file]) or only, []).append(one)
    judged = [_findings(group, of_group, dialect) for group, of_group in by_group.items()]
    explained = {id(one.record) for one in ordered}
    together = _together(one for one in seen if id(one.record) not in explained)
    if len({one.group for one in together}) > 1:
        judged.append([_finding("", together, dialect)])
    elif together:
        of_group = next(one for one in judged if one[0].group == (together[0].group or only))
        of_group.append(_finding(of_group[0].group, together, dialect))
        of_group.sort(key=_rank)
    return sorted(judged, key=lambda findings: _rank(findings[0]))


def _only(groups: Collection[str]) -> str:
    return next(iter(groups)) if len(groups) == 1 else ""


def _rank(finding: Finding) -> int:
    return table.SIGNS.index(finding.sign)


def _lines(records: Iterable[Record]) -> Iterator[Reading]:
    for record in records:
        text = record.text
        found = tuple(signs_in(text))
        sent = _SENDS.search(text)
        if found or sent or _IN_ORDER.search(text):
            yield Reading(record, text, found, group_of(text), member_of(text) if found or sent else "")


def _findings(group: str, seen: Sequence[Seen], dialect: Dialect) -> list[Finding]:
    by_sign: dict[str, list[Seen]] = {}
    for one in seen:
        by_sign.setdefault(one.sign.name, []).append(one)
    return sorted((_finding(group, of_sign, dialect) for of_sign in by_sign.values()), key=_rank)


def _finding(group: str, seen: Sequence[Seen], dialect: Dialect) -> Finding:
    sign, first = seen[0].sign, seen[0].record
    names = _members(one.who for one in seen)
    who = names[0] if names else f"a member ({first.file})"
    if len(names) > 1:
        who += f" (and {len(names) - 1} more)"
    held_s = seen[0].held_s
    values = {
        **(dialect_of(one.record.text for one in seen) or dialect).words(),
        "who": who,
        "count": str(len(names) or len(seen)),
        "held": f"{held_s:.1f} s " if held_s is not None else "",
    }
    texts = [text.format(**values) for text in (sign.says, sign.why, sign.do)]
    return Finding(group, sign, first, len(seen), names, *texts)


def _members(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without a client id whose member id is among them, which begins with it."""
    every = dict.fromkeys(name for name in names if name)
    shorter = {one for one, following in pairwise(sorted(every)) if following.startswith(one)}
    return tuple(one for one in every if one not in shorter)


def _from_order(lines: Iterable[Reading]) -> Iterator[Seen]:
    by_file: dict[str, list[Reading]] = {}
    for line in lines:
        by_file.setdefault(line.record.file, []).append(line)
    for of_file in by_file.values():
        yield from _removed_in_order(of_file)
        yield from _evicted_in_order(of_file)
        yield from _clients_in_order(of_file)


def _removed_in_order(lines: Iterable[Reading]) -> Iterator[Seen]:
    """Judge what coordinators remove: after they moved, or in the middle of a rebalance that another member began.

    A client without KIP-394 that gives its JoinGroup up and sends it again leaves a member at each attempt.
    """
    opened: dict[str, Record | None] = {}
    loaded: dict[str, Record] = {}
    added: dict[tuple[str, str], dict[str, Record]] = {}
    for line in lines:
        text, group = line.text, line.group
        if _LOADS.search(text):
            loaded[group] = line.record
        elif _OPENS.search(text):
            opened[group] = None if _OPENED_BY_LOSS.search(text) else line.record
        elif _CLOSES.search(text):
            opened.pop(group, None)
        elif ghost := _GHOST.search(text):
            added.setdefault((group, _UUID.sub("", ghost[1])), {})[ghost[1]] = line.record
        elif _FAILED.search(text):
            after = _between(loaded.get(group) or loaded.get(""), line.record)
            attempts = added.get((group, _UUID.sub("", line.who)), {})
            begun = opened.get(group)
            held_s = _between(begun, line.record)
            if after is not None and after <= _MOVED_S:
                yield line.seen(table.MOVED_TOO_SLOWLY)
            elif line.who in attempts and _one_after_the_other(attempts.values()):
                yield line.seen(table.JOIN_GIVEN_UP)
            elif begun is not None:
                yield line.seen(table.LATE if (held_s or 0) >= _BUSY_S else table.HELD_OPEN, held_s)


def _one_after_the_other(attempts: Iterable[Record]) -> bool:
    times = [one.at for one in attempts if one.at is not None]
    return len(times) >= _MANY and all(later - earlier >= _PARKED_S for earlier, later in pairwise(times))


def _evicted_in_order(lines: Iterable[Reading]) -> Iterator[Seen]:
    """Find joins that complete at once, one after the other, though the group has members and none of them went."""
    opened: dict[str, Reading] = {}
    alone: dict[str, list[Seen]] = {}
    for line in lines:
        text, group = line.text, line.group
        if _FAILED.search(text) or _OPENED_BY_LOSS.search(text):
            alone.pop(group, None)
        elif _OPENS.search(text) and table.JOINED in line.signs and not _FIRST.search(text):
            opened[group] = line
        elif _CLOSES.search(text) and (begun := opened.pop(group, None)):
            after = _between(begun.record, line.record)
            joins = alone.setdefault(group, [])
            if after is None or after > _ALONE_S:
                joins.clear()
            else:
                joins.append(begun.seen(table.EVICTED))
                if len(joins) >= _MANY:
                    yield from joins if len(joins) == _MANY else joins[-1:]


def _clients_in_order(lines: Iterable[Reading]) -> Iterator[Seen]:
    """Judge what a client was silent of: a rebalance that it did not join, a session in which it did not run."""
    called: set[tuple[str, str]] = set()
    silent: dict[str, Seen] = {}
    sent: dict[str, Record] = {}
    for line in lines:
        text, group, who = line.text, line.group, line.who
        if table.NO_ANSWER in line.signs:
            before = silent.get(group)
            silent[group] = Seen(table.STALLED, before.record if before else line.record, group, who)
        elif table.UNKNOWN_MEMBER in line.signs and (lost := silent.pop(group, None) or silent.pop("", None)):
            after = _between(lost.record, line.record)
            if after is not None and after <= _BACK_S:
                yield lost
        if table.UNKNOWN_MEMBER in line.signs and (group, who) in called:
            called.discard((group, who))
            yield line.seen(table.LATE)
        elif table.REBALANCING in line.signs and not _JOINS.search(text):
            called.add((group, who))
        elif called and _JOINS.search(text):
            called = {key for key in called if group and key[0] and key[0] != group}
        if _SENT.search(text):
            sent[who] = line.record
        elif _SENT_AGAIN.search(text) and (_between(sent.get(who), line.record) or 0) >= _PARKED_S:
            yield line.seen(table.JOIN_GIVEN_UP)


def _together(seen: Iterable[Seen]) -> list[Seen]:
    """Return the first sessions that ended together, of at least three members or clients."""
    timed = ((one.record.at, one) for one in seen if one.sign in (table.REMOVED, table.NO_ANSWER))
    ended = sorted(((at, one) for at, one in timed if at is not None), key=itemgetter(0))
    near: deque[tuple[float, Seen]] = deque()
    for at, one in ended:
        while near and at - near[0][0] > _AT_ONCE_S:
            if len({earlier.who for _, earlier in near if earlier.who}) >= _MANY:
                break
            near.popleft()
        else:
            near.append((at, one))
            continue
        break
    if len({one.who for _, one in near if one.who}) < _MANY:
        return []
    return [Seen(table.TOGETHER, one.record, one.group, one.who) for _, one in near]


def _between(earlier: Record | None, later: Record) -> float | None:
    if earlier is None or earlier.at is None or later.at is None:
        return None
    return later.at - earlier.at
