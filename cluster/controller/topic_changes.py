"""The controller's changes of topics, partitions, settings and reassignments.

Each change is validated before it is made; an invalid one raises `Refused` with Kafka's error and message.

Sources: `ReplicationControlManager` (createTopics, createPartitions, deleteTopics, alterPartitionReassignments),
`Topic.validate`, `AdminZkClient.createNewPartitionsAssignment`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from attrs import evolve

from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.controller.elections import Election, Reassignment, Wanted
from groupsim.cluster.controller.image import Draft
from groupsim.cluster.controller.partitions import MIN_ISR, UNCLEAN, Partitions
from groupsim.cluster.controller.placement import Candidate, Refused, Replicas, checked, rounds, striped
from groupsim.cluster.controller.trace import ControllerEvents
from groupsim.eventloop.randomness import Stream
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import PartitionState, TopicState
from groupsim.protocol.topic_ids import random_uuid

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_MAX_NAME_LENGTH = 249
_NONE_ACTIVE = "All brokers are currently fenced or in controlled shutdown."


class TopicChanges:
    """Topics of a draft, which is not committed here. `stream(purpose, topic, number)` returns a random stream."""

    def __init__(
        self,
        draft: Draft,
        config: ControllerConfig,
        partitions: Partitions,
        events: ControllerEvents,
        stream: Callable[[str, str, int], Stream],
    ) -> None:
        self._draft = draft
        self._config = config
        self._partitions = partitions
        self._events = events
        self._stream_of = stream
        self._lives = 0
        self._times: dict[tuple[str, str], int] = {}
        self._drawn: list[tuple[str, str]] = []

    def begin(self) -> None:
        """Begin a transaction, which may be rolled back."""
        self._drawn.clear()

    def roll_back(self) -> None:
        """Restore the random streams of the transaction's begin."""
        for spent in self._drawn:
            self._times[spent] -= 1
        self._drawn.clear()

    @property
    def draws(self) -> dict[tuple[str, str], int]:
        """Number of streams drawn by purpose and topic; set it back to undo draws."""
        return dict(self._times)

    @draws.setter
    def draws(self, times: dict[tuple[str, str], int]) -> None:
        self._times = dict(times)

    def begin_life(self, number: int) -> None:
        """Use the random streams of the cluster's life with this number."""
        self._lives = number

    def _stream(self, purpose: str, topic: str) -> Stream:
        """Return the next random stream of a purpose and topic; a topic that is created again gets another."""
        time = self._times.get((purpose, topic), 0)
        self._times[purpose, topic] = time + 1
        self._drawn.append((purpose, topic))
        return self._stream_of(purpose, topic, (self._lives << 32) + time)

    # --- topics ----------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        partitions: int,
        replication: int,
        assignment: Sequence[Sequence[int]] | None,
        config: Mapping[str, str],
        internal: bool,
    ) -> None:
        """Create a topic; `assignment` replaces the two numbers."""
        self.check_name(name)
        check_settings(config)
        if assignment is None:
            if partitions <= 0:
                text = "Number of partitions was set to an invalid non-positive value."
                raise Refused(ErrorCode.INVALID_PARTITIONS, text)
            if replication <= 0:
                text = "Replication factor must be larger than 0, or -1 to use the default value."
                raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, text)
            lists = self._place(name, partitions, replication)
        else:
            lists = checked(assignment, self._registered())
        states = self._new_partitions(lists, manual=assignment is not None)
        topic = TopicState(name, topic_id(self._stream("topic-id", name)), states, dict(config), internal)
        self._draft.set_topic(topic)
        self._emit_new(name, states, 0)

    def check_name(self, name: str) -> None:
        """Raise `Refused`: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS."""
        illegal = illegal_name(name)
        if illegal:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)
        if self._draft.topic(name) is not None:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        # Metric names have "_" in the place of ".", so Kafka refuses names that differ in these alone (`Topic`).
        plain = name.replace(".", "_")
        for other in self._draft.image.topics:
            if other.replace(".", "_") == plain:
                text = f"Topic '{name}' collides with existing topic: {other}"
                raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, text)

    def grow(self, name: str, total: int, assignment: Sequence[Sequence[int]] | None) -> None:
        """Add partitions to a topic."""
        topic = self._known(name)
        count, added = len(topic.partitions), total - len(topic.partitions)
        if added == 0:
            raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {count} partition(s).")
        if added < 0:
            text = f"The topic {name} currently has {count} partition(s); {total} would not be an increase."
            raise Refused(ErrorCode.INVALID_PARTITIONS, text)
        first = topic.partitions[0].replicas
        if assignment is None:
            lists = self._place(name, added, len(first), count, first[0])
        elif len(assignment) != added:
            text = f"Attempted to add {added} additional partition(s), but only {len(assignment)} assignment(s) were "
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text + "specified.")
        else:
            lists = checked(assignment, self._registered(), len(first))
        states = self._new_partitions(lists, manual=assignment is not None, start=count)
        self._draft.set_topic(evolve(topic, partitions=(*topic.partitions, *states)))
        self._emit_new(name, states, count)

    def delete(self, name: str) -> None:
        """Remove a topic and all its partitions."""
        topic = self._known(name)
        self._draft.drop_topic(name)
        for number in range(len(topic.partitions)):
            self._draft.set_reassignment(TopicPartition(name, number), None)
        self._events.topic(name, 0, len(topic.partitions))

    def configure(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set settings of a topic; None resets one to its default."""
        topic = self._known(name)
        merged: dict[str, str | None] = {**topic.config, **changes}
        config = {key: value for key, value in merged.items() if value is not None}
        check_settings(config)
        if config != topic.config:
            self._draft.set_topic(evolve(topic, config=config))
            self._events.topic(name, len(topic.partitions), len(topic.partitions))
        if config.get(MIN_ISR) != topic.config.get(MIN_ISR):
            self._partitions.recompute_eligible(name)

    def configure_broker(self, name: str, settings: Mapping[str, str]) -> None:
        """Replace the dynamic settings of a broker ("": of all brokers)."""
        before = self._draft.config(name)
        self._draft.set_config(name, settings)
        if not name and settings.get(MIN_ISR) != before.get(MIN_ISR):
            for topic in self._draft.image.topics:
                self._partitions.recompute_eligible(topic)

    def _known(self, name: str) -> TopicState:
        topic = self._draft.topic(name)
        if topic is None:
            there = ", ".join(self._draft.image.topics) or "none"
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}; there are: {there}")
        return topic

    # --- placement -------------------------------------------------------------------------------------------

    def _registered(self) -> list[int]:
        return [broker.node for broker in self._draft.brokers()]

    def _place(
        self, name: str, count: int, replication: int, first: int = 0, first_node: int = -1
    ) -> Sequence[Replicas]:
        """Return replicas of `count` partitions from `first` on; `first_node` is the first replica of partition 0."""
        usable = [
            Candidate(broker.node, broker.rack, broker.fenced)
            for broker in self._draft.brokers()
            if not broker.in_controlled_shutdown
        ]
        stream = self._stream("placement", name)
        if self._config.placement == "striped":
            try:
                return striped(usable, count, replication, stream)
            except Refused as refused:
                text = f"Unable to replicate the partition {replication} time(s): {refused.message}"
                raise Refused(refused.error, text) from None
        up = [candidate for candidate in usable if not candidate.fenced]
        if first:
            start = next((i for i, candidate in enumerate(up) if candidate.node >= first_node), 0)
            return rounds(up, count, replication, None, first_partition=first, start=start)
        return rounds(up, count, replication, stream if self._config.placement == "zookeeper" else None)

    def _new_partitions(self, lists: Sequence[Replicas], *, manual: bool, start: int = 0) -> tuple[PartitionState, ...]:
        """Return new partitions: the active replicas are in sync, and the first of them leads."""
        states = []
        for number, replicas in enumerate(lists, start):
            isr = tuple(node for node in replicas if self._draft.is_active(node))
            if isr:
                states.append(PartitionState(replicas, isr, isr[0]))
            # A manual assignment to fenced brokers only is an INVALID_REPLICA_ASSIGNMENT (`ReplicationControlManager`).
            elif manual:
                text = f"All brokers specified in the manual partition assignment for partition {number} are fenced or "
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text + "in controlled shutdown.")
            else:
                text = f"Unable to replicate the partition {len(replicas)} time(s): {_NONE_ACTIVE}"
                raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, text)
        return tuple(states)

    def _emit_new(self, name: str, states: Sequence[PartitionState], before: int) -> None:
        self._events.topic(name, before + len(states), before)
        for number, state in enumerate(states, before):
            self._events.changed(TopicPartition(name, number), None, state, "created", "created")

    def checked_manual(self, lists: Sequence[Sequence[int]]) -> Sequence[Replicas]:
        """Return a valid manual assignment. Raises `Refused` (INVALID_REPLICA_ASSIGNMENT)."""
        return checked(lists, self._registered())

    # --- replicas and leaders --------------------------------------------------------------------------------

    def state_of(self, partition: TopicPartition) -> PartitionState:
        """Return the partition. Raises `Refused` (UNKNOWN_TOPIC_OR_PARTITION)."""
        state = self._draft.partition(partition)
        if state is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {partition}")
        return state

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """Change the replicas of a partition: the added ones catch up before the removed ones leave.

        Adding or removing replicas of a reassignment in progress remain where the new one has none. So a reassignment
        back to the original replicas waits, as in Kafka, for a replica that is to be removed, and ends only by a
        cancellation (`ReplicationControlManager.changePartitionReassignment` of 4.4.0).
        """
        state, before = self.state_of(partition), self._draft.reassignment(partition) or Reassignment()
        (target,) = checked([replicas], self._registered())
        adding = tuple(sorted(node for node in target if node not in state.replicas))
        removing = tuple(sorted(node for node in state.replicas if node not in target))
        moving = Reassignment(adding or before.adding, removing or before.removing)
        wanted = Wanted(replicas=(*target, *removing), reassignment=moving if moving != Reassignment() else None)
        self._partitions.change(partition, wanted, "reassigned")

    def move(self, partition: TopicPartition, node: int) -> None:
        """Make `node` the leader (see `Controller.move_leader`)."""
        state = self.state_of(partition)
        if node == state.leader:
            return
        if node not in state.replicas:
            gone = state.leader if state.leader in state.replicas else state.replicas[-1]
            self.reassign(partition, (node, *(other for other in state.replicas if other != gone)))
            return
        if node not in state.isr or not self._draft.is_active(node):
            text = f"broker {node} cannot lead {partition}: in sync are {list(state.isr)}, and it must be up"
            raise Refused(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, text)
        self.reassign(partition, (node, *(other for other in state.replicas if other != node)))
        self._partitions.change(partition, Wanted(election=Election.PREFERRED), "moved")


def illegal_name(name: str) -> str | None:
    """Return Kafka's message for an invalid topic name; None for a valid one (`Topic.validate`)."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > _MAX_NAME_LENGTH:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {_MAX_NAME_LENGTH}"
    if not _LEGAL.fullmatch(name):
        characters = "ASCII alphanumerics, '.', '_' and '-'"
        return f"Topic name is invalid: '{name}' contains one or more characters other than {characters}"
    return None


def check_settings(config: Mapping[str, str]) -> None:
    """Raise `Refused` (INVALID_CONFIG) for an invalid value of a setting that the controller uses."""
    replicas = config.get(MIN_ISR, "1")
    if not replicas.isdecimal() or int(replicas) < 1:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{MIN_ISR}: {replicas!r} is not a whole number of 1 or more")
    unclean = config.get(UNCLEAN, "false")
    if unclean.strip().lower() not in ("true", "false"):
        raise Refused(ErrorCode.INVALID_CONFIG, f"{UNCLEAN}: {unclean!r} is neither true nor false")


def topic_id(stream: Stream) -> str:
    """Return a random id of a topic, as Kafka prints it."""
    return random_uuid(stream.word)
