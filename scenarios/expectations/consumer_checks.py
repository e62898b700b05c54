"""Expectations about the epochs of a consumer group (KIP-848), and about the step at which a member is.

The epochs are those of the records that the coordinator wrote, so an append that failed does not count. A group of the
classic protocol has none of them.

Source: consumer-protocol reference, 1.2, 1.3 and 1.12.
"""

from __future__ import annotations

from typing import Literal

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.units import show_us
from groupsim.protocol.messages.consumer_group import STATIC_LEAVE_EPOCH
from groupsim.protocol.values import define, frozen
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import Check, Finding, Watch, check
from groupsim.scenarios.language.targets import OneMember, TheGroup
from groupsim.scenarios.language.values import END, CountIs, Moment

RECONCILED, AWAY, NONE = "RECONCILED", "AWAY", "NONE"
MemberStep = Literal["STABLE", "RECONCILED", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS", "AWAY", "NONE"]
_GROUP = "Which group; may be left out when there is one."
_AT = "When: a time since the start, or `end`."
_NO_GROUP = "there is no group of the consumer protocol then"


@define(eq=False)
class _Entry:
    """One record of an epoch. `epoch` is None for a tombstone; `state` is that of a member."""

    t_us: int
    seq: int
    epoch: int | None
    append: tuple[str | None, int | None, int]
    state: str = "STABLE"


class Epochs:
    """The epochs of a group and of its members, as their records were written; those of a failed append are dropped."""

    kinds = frozenset({Kind.RECORD_APPENDED, Kind.APPEND_DONE, Kind.MEMBER_EPOCH, Kind.GROUP_LOADED})

    def __init__(self, evidence: Evidence, group: str | None) -> None:
        self.group: list[_Entry] = []
        self.target: list[_Entry] = []
        self.members: dict[str, list[_Entry]] = {}
        self._evidence = evidence
        self._group = group
        self._open: list[tuple[list[_Entry], _Entry]] = []  # of appends that have not ended

    @property
    def _group_id(self) -> str:
        """The group; the only one is known once the run has begun."""
        return self._evidence.only(self._group)

    def __call__(self, event: TraceEvent) -> None:
        payload = event.payload or {}
        if event.kind is Kind.APPEND_DONE:
            self._ended((event.host, event.partition, int(payload["append"])), failed=event.error is not None)
        elif event.group != self._group_id:
            return
        elif event.kind is Kind.GROUP_LOADED:  # what was not in the log is gone
            for entries, entry in self._open:
                entries.remove(entry)
            self._open = []
        elif event.kind is Kind.MEMBER_EPOCH:
            known = self.members.get(event.member or "")
            if known:
                known[-1].state = str(payload.get("state"))
        else:
            self._appended(event, str(payload.get("type")), str(payload.get("key")), payload.get("value"))

    def _appended(self, event: TraceEvent, record: str, name: str, found: object) -> None:
        if record == "current":
            entries = self.members.setdefault(name.removeprefix(f"{self._group_id}/"), [])
        elif record in ("group-epoch", "target-epoch"):
            entries = self.group if record == "group-epoch" else self.target
        else:
            return
        append = (event.host, event.partition, int((event.payload or {}).get("append", 0)))
        entry = _Entry(event.t_us, event.seq, found if isinstance(found, int) else None, append)
        if record == "current" and entries and entry.epoch is not None:
            entry.state = entries[-1].state if entries[-1].epoch is not None else "STABLE"
        entries.append(entry)
        self._open.append((entries, entry))

    def _ended(self, append: tuple[str | None, int | None, int], *, failed: bool) -> None:
        """Settle the appends up to this one; when it failed, drop it and all later ones of its partition."""
        place, number = append[:2], append[2]
        left = []
        for entries, entry in self._open:
            mine = entry.append[:2] == place
            if mine and failed and entry.append[2] >= number:
                entries.remove(entry)
            elif not (mine and entry.append[2] <= number):
                left.append((entries, entry))
        self._open = left


def _last(entries: list[_Entry], at_us: int) -> _Entry | None:
    """Return the last entry up to an instant; None before the first and after a tombstone."""
    found = next((entry for entry in reversed(entries) if entry.t_us <= at_us), None)
    return None if found is None or found.epoch is None else found


def _since(entry: _Entry) -> str:
    return f"{entry.epoch} since {show_us(entry.t_us)}"


@frozen
class _OfEpochs(Check):
    """A check that reads the epochs of a group."""

    def _name(self) -> str | None:
        return getattr(self, "group", None)

    def watch(self, evidence: Evidence) -> Watch:
        """Keep the epochs of the group."""
        return Epochs(evidence, self._name())

    def _epochs(self, evidence: Evidence) -> Epochs:
        found: Epochs = evidence.watched(self)
        return found


def _compared(what: str, bounds: CountIs, entries: list[_Entry], at_us: int) -> Finding:
    expected = f"{what} at {show_us(at_us)}: {bounds}"
    entry = _last(entries, at_us)
    if entry is None or entry.epoch is None:
        return Finding(False, expected, _NO_GROUP, at_us)
    return Finding(bounds.holds(entry.epoch), expected, _since(entry), entry.t_us, (entry.seq,))


@check("group-epoch")
@frozen
class GroupEpoch(_OfEpochs):
    """The group epoch of a group of the consumer protocol: it rises with members, subscriptions and topics."""

    is_: CountIs = key("The epoch: 3, <= 4, 2..5.", short=True)
    at: Moment = key(_AT, END)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the last epoch that was written."""
        return _compared("group epoch", self.is_, self._epochs(evidence).group, evidence.moment(self.at))


@check("assignment-epoch")
@frozen
class AssignmentEpoch(_OfEpochs):
    """The epoch of the target assignment: below the group epoch while a new target is due."""

    is_: CountIs = key("The epoch: 3, <= 4, 2..5.", short=True)
    at: Moment = key(_AT, END)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the epoch of the last target that was written."""
        return _compared("assignment epoch", self.is_, self._epochs(evidence).target, evidence.moment(self.at))


@check("member-state")
@frozen
class MemberStateCheck(_OfEpochs):
    """The step of a member towards its target, as the coordinator has it, and its epoch.

    STABLE has what it was given, UNREVOKED_PARTITIONS has to revoke, UNRELEASED_PARTITIONS waits for other members.
    RECONCILED is STABLE at the epoch of the target. AWAY is a static member that left for now, NONE no member.
    """

    member: OneMember = key("The process.")
    is_: MemberStep | None = key("Its state.", None)
    epoch: CountIs | None = key("Its member epoch.", None)
    at: Moment = key(_AT, END)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the last record of the member."""
        at, epochs = evidence.moment(self.at), self._epochs(evidence)
        wanted = [str(self.is_)] if self.is_ else []
        wanted += [f"at epoch {self.epoch}"] if self.epoch else []
        expected = f"{self.member} at {show_us(at)}: {' '.join(wanted) or 'a member'}"
        entry, target = self._entry(evidence, epochs, at), _last(epochs.target, at)
        if entry is None or entry.epoch is None:
            found = "no member" if _last(epochs.group, at) else _NO_GROUP
            return Finding(self.is_ == NONE and self.epoch is None, expected, found, at)
        state = AWAY if entry.epoch == STATIC_LEAVE_EPOCH else entry.state
        reconciled = state == "STABLE" and target is not None and entry.epoch == target.epoch
        holds = self.is_ in (None, state) or (self.is_ == RECONCILED and reconciled)
        holds = holds and (self.epoch is None or self.epoch.holds(entry.epoch))
        found = f"{state} at epoch {_since(entry)}"
        if target is not None and entry.epoch != target.epoch:
            found += f"; the target has epoch {target.epoch}"
        return Finding(holds, expected, found, entry.t_us, (entry.seq,))

    def _entry(self, evidence: Evidence, epochs: Epochs, at_us: int) -> _Entry | None:
        """Return the last record of the process's present member; a process may have had several member ids."""
        mine = (known for one, known in epochs.members.items() if evidence.host_of(one) == self.member)
        found = [entry for entry in (_last(known, at_us) for known in mine) if entry is not None]
        return max(found, key=lambda entry: entry.seq, default=None)
