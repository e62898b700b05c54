"""The controller's changes of partitions: for brokers that leave or return, and for requests of leaders.

`elections.decide` makes every change; this module selects the partitions and the wanted change.

AlterPartition comes from a leader that wants another in-sync set. It is refused for an old leader epoch
(FENCED_LEADER_EPOCH), an old partition epoch (INVALID_UPDATE_VERSION), a newer epoch (NOT_CONTROLLER), a broker that
does not lead (INVALID_REQUEST), and a set with a broker that is fenced, in controlled shutdown or unknown
(INELIGIBLE_REPLICA). The replicas' broker epochs (version 3) are not modelled.

Sources: `ReplicationControlManager` (generateLeaderAndIsrUpdates, alterPartition, electLeaders).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.controller.elections import Decision, Election, Rules, Wanted, decide
from groupsim.cluster.controller.image import Draft
from groupsim.cluster.controller.trace import ControllerEvents
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import (
    NO_LEADER,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrChange,
    PartitionState,
    TopicState,
)

MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"

Result = tuple[TopicPartition, ErrorCode, PartitionState | None]


class Partitions:
    """The partitions of a draft."""

    def __init__(self, draft: Draft, config: ControllerConfig, events: ControllerEvents) -> None:
        self._draft = draft
        self._config = config
        self._events = events

    # --- settings --------------------------------------------------------------------------------------------

    def allows_unclean(self, topic: TopicState) -> bool:
        """Whether the topic allows unclean elections."""
        text = topic.config.get(UNCLEAN, self._draft.config("").get(UNCLEAN))
        return self._config.unclean_leader_election_enable if text is None else text.strip().lower() == "true"

    def _rules(self, topic: TopicState, state: PartitionState, may_lead: Callable[[int], bool] | None) -> Rules:
        default = self._draft.config("").get(MIN_ISR, self._config.min_insync_replicas)
        min_isr = int(topic.config.get(MIN_ISR, default))
        return Rules(
            may_lead or self._draft.is_active,
            min(min_isr, len(topic.partitions[0].replicas) if topic.partitions else len(state.replicas)),
            self._config.eligible_leader_replicas,
            self._config.epoch_for_shrink,
        )

    # --- one change ------------------------------------------------------------------------------------------

    def change(
        self,
        partition: TopicPartition,
        wanted: Wanted,
        reason: str,
        may_lead: Callable[[int], bool] | None = None,
    ) -> Decision | None:
        """Change an existing partition; return None when nothing changed."""
        topic, state = self._draft.topic(partition.topic), self._draft.partition(partition)
        assert topic is not None
        assert state is not None
        rules = self._rules(topic, state, may_lead)
        decision = decide(state, wanted, rules, self._draft.reassignment(partition))
        if decision is None:
            return None
        self._draft.set_partition(partition, decision.state)
        self._draft.set_reassignment(partition, decision.reassignment)
        self._events.changed(partition, state, decision.state, decision.reason, reason)
        return decision

    def _election(self, partition: TopicPartition) -> Election:
        topic = self._draft.topic(partition.topic)
        return Election.UNCLEAN if topic is not None and self.allows_unclean(topic) else Election.ONLINE

    # --- brokers that leave and return -----------------------------------------------------------------------

    def leads_any(self, node: int) -> bool:
        """Whether a broker leads a partition."""
        return any(state.leader == node for _, state in self._draft.partitions())

    def without(self, node: int, reason: str, *, unclean: bool = False) -> None:
        """Remove a broker from every in-sync set and every leadership.

        After an `unclean` stop remove it from the eligible replicas too: it may have lost unflushed records.
        """

        def may_lead(other: int) -> bool:
            return other != node and self._draft.is_active(other)

        for partition, state in list(self._draft.partitions()):
            if node in state.isr or (unclean and node in state.elr):
                isr = tuple(other for other in state.isr if other != node)
                wanted = Wanted(isr, self._election(partition), unclean_stop=node if unclean else None)
                self.change(partition, wanted, reason, may_lead)

    def with_broker(self, node: int) -> None:
        """Elect leaders of partitions without one, now that a broker may lead again."""

        def may_lead(other: int) -> bool:
            return other == node or self._draft.is_active(other)

        for partition, state in list(self._draft.partitions()):
            if state.leader == NO_LEADER:
                self.change(partition, Wanted(election=self._election(partition)), "unfenced", may_lead)

    def recompute_eligible(self, topic: str) -> None:
        """Recompute the eligible replicas of a topic after a change of its `min.insync.replicas`."""
        for partition, state in list(self._draft.partitions()):
            if partition.topic == topic and state.elr:
                self.change(partition, Wanted(election=self._election(partition)), MIN_ISR)

    # --- AlterPartition --------------------------------------------------------------------------------------

    def alter(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """Handle a leader's changes, partition by partition; the broker epoch was checked before."""
        return AlterPartitionResponse(results=tuple(self._alter(request.node, change) for change in request.changes))

    def _alter(self, node: int, change: IsrChange) -> Result:
        partition = change.partition
        if self._draft.topic(partition.topic) is None:
            return partition, ErrorCode.UNKNOWN_TOPIC_ID, None
        state = self._draft.partition(partition)
        if state is None:
            return partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        error = self._alter_error(node, state, change)
        if error:
            return partition, error, state
        wanted = Wanted(change.isr, self._election(partition), recovering=change.recovering)
        reason = "shrunk" if len(change.isr) < len(state.isr) else "expanded"
        decision = self.change(partition, wanted, reason)
        if decision is None:
            return partition, ErrorCode.NONE, state
        # The change completed a reassignment that removes the leader (`ReplicationControlManager.alterPartition`).
        moved = decision.state.leader_epoch != state.leader_epoch and decision.state.leader != node
        return partition, ErrorCode.NEW_LEADER_ELECTED if moved else ErrorCode.NONE, decision.state

    def _alter_error(self, node: int, state: PartitionState, change: IsrChange) -> ErrorCode:
        """Return the error of a change, in Kafka's order of checks; NONE for a valid change."""
        # Newer epochs than the controller's mean that the broker has heard of a newer controller.
        if change.leader_epoch > state.leader_epoch or change.partition_epoch > state.partition_epoch:
            return ErrorCode.NOT_CONTROLLER
        if change.leader_epoch < state.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if node != state.leader:
            return ErrorCode.INVALID_REQUEST
        if change.partition_epoch < state.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        known = all(other in state.replicas for other in change.isr)
        if not change.isr or not known or len(set(change.isr)) != len(change.isr) or state.leader not in change.isr:
            return ErrorCode.INVALID_REQUEST
        if change.recovering and (len(change.isr) > 1 or not state.recovering):
            return ErrorCode.INVALID_REQUEST
        if not all(self._draft.is_active(other) for other in change.isr):
            return ErrorCode.INELIGIBLE_REPLICA
        return ErrorCode.NONE

    # --- requested elections ---------------------------------------------------------------------------------

    def elect(self, kind: Election, partition: TopicPartition) -> ErrorCode:
        """Hold a preferred or unclean election of one partition; return NONE when a leader was elected."""
        state = self._draft.partition(partition)
        if state is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        preferred = kind is Election.PREFERRED
        if state.leader == state.replicas[0] if preferred else state.leader != NO_LEADER:
            return ErrorCode.ELECTION_NOT_NEEDED
        if self.change(partition, Wanted(election=kind), kind.value) is not None:
            return ErrorCode.NONE
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE

    def elect_unclean(self) -> None:
        """Elect an active replica for partitions without a leader whose topic allows unclean elections."""
        for partition, state in list(self._draft.partitions()):
            if state.leader == NO_LEADER and self._election(partition) is Election.UNCLEAN:
                self.elect(Election.UNCLEAN, partition)

    # --- balance ---------------------------------------------------------------------------------------------

    def any_led_by_another(self) -> bool:
        """Whether the leader of any partition is not the first replica, or missing."""
        topics = self._draft.image.topics.values()
        return any(state.leader != state.replicas[0] for topic in topics for state in topic.partitions)

    def imbalanced(self) -> list[TopicPartition]:
        """Return partitions whose leader is not the first replica (of brokers above the percentage, if there is one).

        KRaft ignores `leader.imbalance.per.broker.percentage`; `KafkaController` counted, per broker, the partitions
        whose first replica it is, and those of them that it does not lead.
        """
        away: dict[int, list[TopicPartition]] = {}
        own: dict[int, int] = {}
        for partition, state in self._draft.partitions():
            first = state.replicas[0]
            own[first] = own.get(first, 0) + 1
            if state.leader != first:
                away.setdefault(first, []).append(partition)
        percentage = self._config.leader_imbalance_per_broker_percentage
        if percentage is not None:
            away = {node: found for node, found in away.items() if len(found) * 100 > percentage * own[node]}
        return [partition for found in away.values() for partition in found]

    def balance(self, partitions: Iterable[TopicPartition]) -> None:
        """Elect the first replica of each partition where it may lead."""
        for partition in partitions:
            self.change(partition, Wanted(election=Election.PREFERRED), "preferred")
