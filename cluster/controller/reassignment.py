"""The controller's handlers of elections and reassignments (begin, cancel, list).

A cancellation restores the original replicas: added ones leave, and the ones to be removed stay. When all in-sync
replicas were added ones, it needs an unclean election and is refused unless the topic allows one.

Sources: `ReplicationControlManager` (electLeaders, alterPartitionReassignments, listPartitionReassignments),
`PartitionReassignmentRevert`; KIP-455, KIP-460, KIP-860.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.controller.elections import Election, Reassignment, Wanted
from groupsim.cluster.controller.image import Draft
from groupsim.cluster.controller.partitions import Partitions
from groupsim.cluster.controller.placement import Refused
from groupsim.cluster.controller.topic_changes import TopicChanges
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import PartitionState
from groupsim.protocol.messages.operator import (
    PREFERRED_ELECTION,
    UNCLEAN_ELECTION,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    UnderWay,
)
from groupsim.protocol.messages.refusals import refusal

_KINDS: Final = {PREFERRED_ELECTION: Election.PREFERRED, UNCLEAN_ELECTION: Election.UNCLEAN}
_MESSAGES: Final = {
    ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
}

_NO_SUCH_ELECTION: Final = "Unknown election type {}"

Elected = tuple[int, ErrorCode, str | None]


class ReassignmentRequests:
    """Handlers by request type (`handlers`) on a draft, which is not committed here."""

    def __init__(self, draft: Draft, partitions: Partitions, admin: TopicChanges) -> None:
        self._draft = draft
        self._partitions = partitions
        self._admin = admin
        self.handlers: dict[type, Callable[[Any], Any]] = {
            ElectLeadersRequest: self._elect_all,
            AlterPartitionReassignmentsRequest: self._alter_all,
            ListPartitionReassignmentsRequest: self._list,
        }

    # --- elections -------------------------------------------------------------------------------------------

    def _elect_all(self, request: ElectLeadersRequest) -> ElectLeadersResponse:
        kind = _KINDS.get(request.election)
        if kind is None:
            return _no_such_election(request)
        topics: dict[str, list[Elected]] = {}
        if request.partitions is None:
            for partition, _ in list(self._draft.partitions()):
                outcome = self._elect(kind, partition)
                topics.setdefault(partition.topic, [])
                if outcome[1] is not ErrorCode.ELECTION_NOT_NEEDED:
                    topics[partition.topic].append(outcome)
        else:
            for partition in request.partitions:
                topics.setdefault(partition.topic, []).append(self._elect(kind, partition))
        return ElectLeadersResponse(topics=tuple((topic, tuple(results)) for topic, results in topics.items()))

    def _elect(self, kind: Election, partition: TopicPartition) -> Elected:
        error = self._partitions.elect(kind, partition)
        message = _MESSAGES.get(error)
        if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            known = self._draft.topic(partition.topic) is not None
            message = f"No such partition as {partition}" if known else f"No such topic as {partition.topic}"
        return partition.partition, error, message

    # --- reassignments ---------------------------------------------------------------------------------------

    def _alter_all(self, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
        if not request.targets:
            return AlterPartitionReassignmentsResponse(message="")
        results = tuple(
            (partition, *self._altered(partition, replicas, request.other_factor))
            for partition, replicas in request.targets
        )
        return AlterPartitionReassignmentsResponse(results=results, other_factor=request.other_factor)

    def _altered(
        self, partition: TopicPartition, replicas: tuple[int, ...] | None, other_factor: bool
    ) -> tuple[ErrorCode, str | None]:
        try:
            state = self._known(partition)
            if replicas is None:
                return self._cancel(partition, state), None
            (wanted,) = self._admin.checked_manual([replicas])
            if not other_factor:
                self._check_factor(partition, state, len(wanted))
            self._admin.reassign(partition, wanted)
        except Refused as refused:
            return refused.error, refused.message
        return ErrorCode.NONE, None

    def _known(self, partition: TopicPartition) -> PartitionState:
        state = self._draft.partition(partition)
        if state is None:
            topic, number = partition
            known = self._draft.topic(topic) is not None
            what = f"partition {topic}:{number}" if known else f"a topic named {topic}"
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find {what}.")
        return state

    def _check_factor(self, partition: TopicPartition, state: PartitionState, wanted: int) -> None:
        moving = self._draft.reassignment(partition) or Reassignment()
        now = len({*state.replicas, *moving.adding} - {*moving.removing})
        if now != wanted:
            text = f"The replication factor is changed from {now} to {wanted}"
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, text)

    def _cancel(self, partition: TopicPartition, state: PartitionState) -> ErrorCode:
        moving = self._draft.reassignment(partition)
        if moving is None:
            return ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        replicas = tuple(node for node in state.replicas if node not in moving.adding)
        isr = tuple(node for node in state.isr if node in replicas)
        topic = self._draft.topic(partition.topic)
        unclean = topic is not None and self._partitions.allows_unclean(topic)
        if not isr and not unclean:
            text = f"Unable to revert partition assignment for {partition.topic}:{partition.partition} because "
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text + "it would require an unclean leader election.")
        election = Election.UNCLEAN if unclean else Election.ONLINE
        wanted = Wanted(isr or replicas[:1], election, replicas=replicas, reassignment=Reassignment())
        self._partitions.change(partition, wanted, "reassignment called off")
        return ErrorCode.NONE

    def _list(self, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        in_progress = self._draft.reassignments
        wanted: Iterable[TopicPartition] = request.partitions or ()
        if request.partitions is None and in_progress:
            wanted = (partition for partition, _ in self._draft.partitions())
        moves = []
        for partition in wanted:
            moving, state = in_progress.get(partition), self._draft.partition(partition)
            if moving is not None and state is not None:
                moves.append(UnderWay(partition, state.replicas, moving.adding, moving.removing))
        return ListPartitionReassignmentsResponse(moves=tuple(moves))


def _no_such_election(request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Return the answer to an unknown kind of election; without an error for an empty list of partitions."""
    if request.partitions is not None and not request.partitions:
        return ElectLeadersResponse()
    words = _NO_SUCH_ELECTION.format(request.election)
    answer: ElectLeadersResponse = refusal(request, ErrorCode.INVALID_REQUEST)
    topics = ((topic, tuple((number, error, words) for number, error, _ in of)) for topic, of in answer.topics)
    return evolve(answer, topics=tuple(topics))
