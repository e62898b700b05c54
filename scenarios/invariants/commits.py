"""Which commits a consumer group accepts: N19 to N22.

A commit is accepted when its offsets are appended, and refused when it is answered an error of its sender at once.

Source: consumer-protocol reference, 1.21 and 3.1; KIP-1251 for older epochs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from groupsim.coordinator.base.records import OffsetRecord
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import OffsetCommitRequest
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest
from groupsim.protocol.values import frozen
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupChange, GroupModel, Input, Key
from groupsim.scenarios.invariants.violation import Violation

_SENDER = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNSUPPORTED_VERSION,
)


@frozen
class Attempt:
    """A commit to a consumer group: its sender, its partitions, and whether it was accepted."""

    group_id: str
    member_id: str
    epoch: int
    partitions: tuple[Key, ...]
    accepted: bool
    refusal: ErrorCode | None
    transactional: bool
    outside: bool
    version: int


def commit_of(step: Input) -> Attempt | None:
    """Return the commit that the input is; None for another input, and for one whose offsets are all refused."""
    request = step.request
    if not isinstance(request, OffsetCommitRequest | TxnOffsetCommitRequest):
        return None
    written = tuple(_written(step, request.group_id))
    refusal = step.refusal if step.refusal in _SENDER else None
    if refusal is None and not written:
        return None
    asked = tuple(_key(step, entry.partition.topic, entry.partition.partition) for entry in request.offsets)
    in_transaction = isinstance(request, TxnOffsetCommitRequest)
    return Attempt(
        request.group_id,
        request.member_id,
        request.generation_id,
        written or asked,
        bool(written),
        refusal,
        in_transaction,
        request.member_id == "" and request.generation_id < 0 and request.group_instance_id is None,
        request.version,
    )


def _written(step: Input, group_id: str) -> Iterator[Key]:
    for append in step.appends:
        for record in append.records:
            if isinstance(record, OffsetRecord) and record.value is not None and record.group_id == group_id:
                yield _key(step, record.partition.topic, record.partition.partition)


def _key(step: Input, topic: str, number: int) -> Key:
    found = step.shard.op.topics.topic(topic)
    return (topic if found is None else found.topic_id, number)


class AcceptedByEpoch(Checker):
    """N19."""

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Compare the outcome of a commit with the rules."""
        commit = commit_of(step)
        if commit is None or model is None or not commit.partitions:
            return
        expected = _expected(step, model, commit)
        if commit.accepted is (expected is None):
            return
        found = "accepted" if commit.accepted else f"answered {commit.refusal.name if commit.refusal else '?'}"
        what = f"a commit is {found}; the rules answer {'no error' if expected is None else expected}"
        yield _wrong(self, step, commit, model, what)


def _expected(step: Input, model: GroupModel, commit: Attempt) -> str | None:
    """Return why a commit is refused, as text; None when it has to be accepted."""
    if commit.transactional and commit.outside:
        return None
    if commit.epoch < 0 and not model.members:
        return None
    member = model.members.get(commit.member_id)
    if member is None:
        return "UNKNOWN_MEMBER_ID"
    if member.classic is None and not commit.transactional and commit.version < 9:
        return "UNSUPPORTED_VERSION"
    if commit.epoch == member.member_epoch:
        return None
    stale = "STALE_MEMBER_EPOCH or ILLEGAL_GENERATION"
    if commit.epoch > member.member_epoch or not step.shard.op.differences.older_epochs_commit:
        return stale
    return None if all(_since(member, key) <= commit.epoch for key in commit.partitions) else stale


def _since(member: ConsumerMember, key: Key) -> float:
    """Return the assignment epoch of a partition that a member has; infinite for another one."""
    for had in (member.assigned, member.pending):
        since = had.get(key[0], {}).get(key[1])
        if since is not None:
            return since
    return float("inf")


class RemovedCannotCommit(Checker):
    """N20. Keeps the last 10,000 removed members."""

    MOST = 10_000

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._removed: OrderedDict[tuple[str, str], int] = OrderedDict()

    def change(self, change: GroupChange) -> Found:
        """Note the removed members with their last epochs."""
        for member_id, (old, new) in change.members.items():
            if old is not None and new is None:
                self._removed[change.group_id, member_id] = old.member_epoch
                self._removed.move_to_end((change.group_id, member_id))
        while len(self._removed) > self.MOST:
            self._removed.popitem(last=False)
        return ()

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Look for an accepted commit of a removed member, with the epoch that it had."""
        commit = commit_of(step)
        if commit is None or model is None or not commit.accepted:
            return
        had = self._removed.get((commit.group_id, commit.member_id))
        if had is None or had != commit.epoch or had <= 0:
            return
        member = model.members.get(commit.member_id)
        # A target that waits (KIP-1263) lets a member that comes back begin at the epoch that it had.
        waits = step.shard.op.config_of(commit.group_id).consumer_assignment_interval_ms > 0
        if member is not None and waits and step.shard.op.differences.targets_are_batched:
            return
        yield _wrong(self, step, commit, model, "a commit of a removed member is accepted at the epoch that it had")

    def gone(self, step: Input, model: GroupModel) -> Found:
        """Forget the members of a group that is no more: the epochs of another one begin again."""
        for known in [one for one in self._removed if one[0] == model.group_id]:
            del self._removed[known]
        return ()


class NeedsNoOwnership(Checker):
    """N21."""

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Look for a commit at its member's epoch that is refused."""
        commit = commit_of(step)
        if commit is None or model is None or commit.accepted:
            return
        member = model.members.get(commit.member_id)
        if member is None or member.member_epoch != commit.epoch or commit.refusal is ErrorCode.UNSUPPORTED_VERSION:
            return
        yield _wrong(self, step, commit, model, "a commit at the epoch of its member is refused")


class HandedOverRefuses(Checker):
    """N22."""

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Look for an accepted commit at an older epoch for a partition that another member has."""
        commit = commit_of(step)
        if commit is None or model is None or not commit.accepted:
            return
        member = model.members.get(commit.member_id)
        if member is None or not 0 <= commit.epoch < member.member_epoch:
            return
        given = [key for key in commit.partitions if set(model.holders.get(key, ())) - {commit.member_id}]
        if given:
            yield _wrong(self, step, commit, model, "a commit from before a hand-over is accepted", tuple(given))


def _wrong(
    checker: Checker, step: Input, commit: Attempt, model: GroupModel, what: str, partitions: tuple[Key, ...] = ()
) -> Violation:
    member = model.members.get(commit.member_id)
    epochs = {"epoch of the commit": commit.epoch}
    if member is not None:
        epochs["member epoch"] = member.member_epoch
    return checker.at(
        step,
        commit.group_id,
        what,
        members=[commit.member_id],
        partitions=partitions or commit.partitions,
        epochs=epochs,
    )
