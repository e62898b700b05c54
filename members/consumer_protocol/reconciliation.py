"""The reconciliation of a member with its target: commit, revoke, assign, acknowledge.

One round at a time; a newer target waits for the end of the round. The steps:

    1  topic ids become names; what metadata do not know yet is left out, and metadata are requested
    2  if that equals what was reconciled last, it is acknowledged without callbacks, once per target
    3  revoked partitions are consumed no more
    4  with auto-commit, the positions of all partitions are committed, and again until max.poll.interval.ms has passed
    5  the revoked callback, if there is something to revoke
    6  the target is owned, and the assigned callback runs, also for no partitions
    7  the member acknowledges with its next heartbeat, which is sent at once

A round begins in `poll`; in the background only if it revokes nothing and nothing has to be committed. The callbacks
run in `poll`. Before each step the round ends if the member has left the state RECONCILING or has joined again. After a
callback that threw it ends, too, without an acknowledgement, and the next `poll` begins another round.

Sources: `AbstractMembershipManager.maybeReconcile`, `revokeAndAssign`, `maybeAbortReconciliation` (4.4.0); KAFKA-20145,
KAFKA-20332.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from groupsim.members.consumer_protocol.assignment import NONE, LocalAssignment
from groupsim.members.consumer_protocol.callbacks import Callbacks
from groupsim.members.consumer_protocol.ownership import ConsumerOwnership
from groupsim.members.consumer_protocol.states import MemberState
from groupsim.members.failures import ClientFailure
from groupsim.members.ports import Ports
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages.group import TopicPartition

if TYPE_CHECKING:
    from groupsim.members.consumer_protocol.parts import MembershipManager

Named = tuple[TopicPartition, ...]
"""The partitions of a target by topic names, sorted."""
_RECONCILING = MemberState.RECONCILING


class Reconciliation:
    """The rounds of one member. `target` is what the coordinator assigned last, `current` what was reconciled."""

    __slots__ = (
        "_callbacks",
        "_finishes",
        "_member",
        "_membership",
        "_names",
        "_ownership",
        "_rejoined",
        "_round",
        "current",
        "in_progress",
        "target",
    )

    def __init__(
        self, member: Ports, membership: MembershipManager, ownership: ConsumerOwnership, callbacks: Callbacks
    ) -> None:
        self._member = member
        self._membership = membership
        self._ownership = ownership
        self._callbacks = callbacks
        self._names: dict[str, str] = {}  # names of assigned topics, by id: metadata may lose them
        self._rejoined = False  # the member has joined again during the round
        self._round = 0
        self._finishes = False  # the round ends with its assigned callback, although the member is fenced
        self.in_progress = False
        self.target = NONE
        self.current = NONE

    @property
    def is_done(self) -> bool:
        """Whether the target is what was reconciled last."""
        return self.current == self.target

    # -- inputs -------------------------------------------------------------------------------------------------

    def rejoined(self) -> None:
        """Forget the target: the member joins again."""
        self._rejoined = self.in_progress
        self.target = NONE
        self._names.clear()

    def clear(self) -> None:
        """Forget the target and what was reconciled: the member owns nothing any more."""
        self.current = self.target = NONE
        self._names.clear()

    def finish_round(self) -> bool:
        """Let a round that waits for its revoked callback end with the assigned one; False where it ends at once."""
        self._finishes = self.in_progress and self._member.profile.consumer_protocol.finishes_rounds
        return self._finishes

    def begin(self, *, in_poll: bool) -> None:
        """Begin a round if the state asks for one, and this thread may."""
        if self._membership.state is not _RECONCILING or self.in_progress or self.is_done:
            return
        row = self._member.profile.consumer_protocol
        resolved, partitions = self._resolve()
        kept = frozenset(partitions)
        revoked = [partition for partition in self._ownership.owned if partition not in kept]
        if row.awaits_names and resolved.partitions != self.target.partitions and not revoked:
            return
        if not self.current.is_none and resolved.partitions == self.current.partitions:
            if row.awaits_names:  # a target that changes nothing is not acknowledged (librdkafka)
                self.target = self.current
                self._membership.become(MemberState.STABLE)
            elif resolved.number != self.current.number:
                self.current = resolved
                self._membership.become(MemberState.ACKNOWLEDGING)
            return
        commits = self._member.commits
        commits_all = commits.auto and not row.commits_revoked
        if not in_poll and ((revoked and row.revokes_in_poll) or commits_all):
            self._member.wake.set()
            return
        self._round += 1
        self.in_progress, self._rejoined = True, False
        if revoked:
            self._ownership.stop_consuming(revoked)
        go_on = partial(self._committed, self._round, resolved, partitions, revoked)
        if commits_all:
            commits.before_reconciliation(go_on)
        else:
            go_on()

    def _resolve(self) -> tuple[LocalAssignment, Named]:
        """Return the part of the target whose topics are known, by ids and by names."""
        metadata = self._member.metadata
        known: dict[str, tuple[int, ...]] = {}
        by_name: dict[str, tuple[int, ...]] = {}
        unknown = False
        for topic_id, numbers in self.target.partitions.items():
            name = metadata.topic_name(topic_id) or self._names.get(topic_id)
            if name is None:
                unknown = True
                continue
            self._names[topic_id] = name
            known[topic_id] = by_name[name] = numbers
        if unknown:
            metadata.outdated()
        partitions = [TopicPartition(name, number) for name in java_sorted(by_name) for number in by_name[name]]
        return LocalAssignment(self.target.number, known), tuple(partitions)

    # -- steps of a round ---------------------------------------------------------------------------------------

    def _committed(
        self,
        number: int,
        resolved: LocalAssignment,
        partitions: Named,
        revoked: list[TopicPartition],
    ) -> None:
        """Go on after the commit, whatever came of it."""
        if self._is_over(number):
            return
        assign = partial(self._revoked, number, resolved, partitions)
        if revoked:
            self._callbacks.ask(partial(self._ownership.revoke, revoked), assign)
        else:
            assign(None)

    def _revoked(
        self,
        number: int,
        resolved: LocalAssignment,
        partitions: Named,
        failure: ClientFailure | None,
    ) -> None:
        if failure is not None:
            self._end(number)
            return
        if self._finishes and self.in_progress:
            self._finishes = False
            work = partial(self._ownership.assign, tuple(self._ownership.owned), [])
            self._callbacks.ask_first(work, lambda failure: self._end(number))
            return
        if self._is_over(number):
            return
        added = [partition for partition in partitions if partition not in self._ownership.owned]
        work = partial(self._ownership.assign, partitions, added)
        self._callbacks.ask(work, partial(self._assigned, number, resolved))

    def _assigned(self, number: int, resolved: LocalAssignment, failure: ClientFailure | None) -> None:
        if failure is not None:
            self._end(number)
            return
        if self._is_over(number):
            return
        topics = resolved.partitions
        self._names = {topic_id: name for topic_id, name in self._names.items() if topic_id in topics}
        self.current = resolved
        self._member.commits.restart_interval()
        self.in_progress = False
        self._membership.become(MemberState.ACKNOWLEDGING)
        self._membership.run()

    def _is_over(self, number: int) -> bool:
        """Whether the round is over: ends it if the member is elsewhere by now."""
        if number != self._round or not self.in_progress:
            return True
        over = self._membership.state is not _RECONCILING or self._rejoined
        if over:
            self._end(number)
        return over

    def _end(self, number: int) -> None:
        """End the round without an acknowledgement."""
        if number == self._round:
            self.in_progress = self._rejoined = False
        self._membership.run()
