"""What an administrator may ask of the controller: topics, partitions, settings, reassignments.

Everything is checked before anything is changed; what cannot be done is `Refused` with Kafka's error and words.

Sources: `ReplicationControlManager` (createTopics, createPartitions, deleteTopics, alterPartitionReassignments),
`Topic.validate`, `AdminZkClient.createNewPartitionsAssignment`.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence

from attrs import evolve

from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.controller.elections import Election, Reassignment, Wanted
from groupsim.cluster.controller.image import Draft
from groupsim.cluster.controller.partitions import MIN_ISR, UNCLEAN, Partitions
from groupsim.cluster.controller.placement import Candidate, Refused, Replicas, checked, rounds, striped
from groupsim.cluster.controller.trace import Teller
from groupsim.eventloop.randomness import Stream
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import PartitionState, TopicState

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST = 249
_NONE_ACTIVE = "All brokers are currently fenced or in controlled shutdown."


class Admin:
    """Topics of a draft. Nothing here commits the draft. `luck(purpose, topic, time)` gives a stream."""

    def __init__(
        self,
        draft: Draft,
        config: ControllerConfig,
        partitions: Partitions,
        teller: Teller,
        luck: Callable[[str, str, int], Stream],
    ) -> None:
        self._draft = draft
        self._config = config
        self._partitions = partitions
        self._teller = teller
        self._luck = luck
        self._lives = 0
        self._times: dict[tuple[str, str], int] = {}
        self._drawn: list[tuple[str, str]] = []

    def begin(self) -> None:
        """A doing begins, which may have to be taken back."""
        self._drawn.clear()

    def take_back(self) -> None:
        """What was done since `begin` has not happened: it has spent no luck."""
        for spent in self._drawn:
            self._times[spent] -= 1
        self._drawn.clear()

    @property
    def luck_spent(self) -> dict[tuple[str, str], int]:
        """How often there was luck for a purpose and a topic: to be set back to when nothing was done with it."""
        return dict(self._times)

    @luck_spent.setter
    def luck_spent(self, times: dict[tuple[str, str], int]) -> None:
        self._times = dict(times)

    def begin_life(self, number: int) -> None:
        """The cluster goes on for the `number`th time: it has other luck than before."""
        self._lives = number

    def _stream(self, purpose: str, topic: str) -> Stream:
        """The luck of this purpose and topic; a topic made again has new luck."""
        time = self._times.get((purpose, topic), 0)
        self._times[purpose, topic] = time + 1
        self._drawn.append((purpose, topic))
        return self._luck(purpose, topic, (self._lives << 32) + time)

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
        """Make a topic; with `assignment` the two numbers do not count."""
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
        states = self._fresh(lists, by_hand=assignment is not None)
        topic = TopicState(name, topic_id(self._stream("topic-id", name)), states, dict(config), internal)
        self._draft.set_topic(topic)
        self._tell_fresh(name, states, 0)

    def check_name(self, name: str) -> None:
        """Raise `Refused`: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS."""
        illegal = illegal_name(name)
        if illegal:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)
        if self._draft.topic(name) is not None:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        plain = name.replace(".", "_")
        for other in self._draft.image.topics:
            if other.replace(".", "_") == plain:
                text = f"Topic '{name}' collides with existing topic: {other}"
                raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, text)

    def grow(self, name: str, total: int, assignment: Sequence[Sequence[int]] | None) -> None:
        """Give a topic more partitions."""
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
        states = self._fresh(lists, by_hand=assignment is not None, start=count)
        self._draft.set_topic(evolve(topic, partitions=(*topic.partitions, *states)))
        self._tell_fresh(name, states, count)

    def delete(self, name: str) -> None:
        """Remove a topic and all its partitions."""
        topic = self._known(name)
        self._draft.drop_topic(name)
        for number in range(len(topic.partitions)):
            self._draft.set_reassignment(TopicPartition(name, number), None)
        self._teller.topic(name, 0, len(topic.partitions))

    def configure(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set settings of a topic; None takes one back to its default."""
        topic = self._known(name)
        merged: dict[str, str | None] = {**topic.config, **changes}
        config = {key: value for key, value in merged.items() if value is not None}
        check_settings(config)
        if config != topic.config:
            self._draft.set_topic(evolve(topic, config=config))
            self._teller.topic(name, len(topic.partitions), len(topic.partitions))
        if config.get(MIN_ISR) != topic.config.get(MIN_ISR):
            self._partitions.count_eligible_anew(name)

    def configure_broker(self, name: str, settings: Mapping[str, str]) -> None:
        """Put settings of a running broker ("": of all) in the place of those it was given before."""
        before = self._draft.config(name)
        self._draft.set_config(name, settings)
        if not name and settings.get(MIN_ISR) != before.get(MIN_ISR):
            for topic in self._draft.image.topics:
                self._partitions.count_eligible_anew(topic)

    def configure_group(self, name: str, settings: Mapping[str, str]) -> None:
        """Put settings of a group in the place of those it was given before."""
        self._draft.set_group_config(name, settings)

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
        """Replica lists of `count` partitions from number `first` on; `first_node`: where partition 0 begins."""
        usable = [
            Candidate(broker.node, broker.rack, broker.fenced)
            for broker in self._draft.brokers()
            if not broker.in_controlled_shutdown
        ]
        luck = self._stream("placement", name)
        if self._config.placement == "striped":
            try:
                return striped(usable, count, replication, luck)
            except Refused as refused:
                text = f"Unable to replicate the partition {replication} time(s): {refused.message}"
                raise Refused(refused.error, text) from None
        up = [candidate for candidate in usable if not candidate.fenced]
        if first:
            start = next((i for i, candidate in enumerate(up) if candidate.node >= first_node), 0)
            return rounds(up, count, replication, None, first_partition=first, start=start)
        return rounds(up, count, replication, luck if self._config.placement == "zookeeper" else None)

    def _fresh(self, lists: Sequence[Replicas], *, by_hand: bool, start: int = 0) -> tuple[PartitionState, ...]:
        """New partitions: in sync is who is active, and the first of them leads."""
        states = []
        for number, replicas in enumerate(lists, start):
            isr = tuple(node for node in replicas if self._draft.is_active(node))
            if isr:
                states.append(PartitionState(replicas, isr, isr[0]))
            elif by_hand:
                text = f"All brokers specified in the manual partition assignment for partition {number} are fenced or "
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text + "in controlled shutdown.")
            else:
                text = f"Unable to replicate the partition {len(replicas)} time(s): {_NONE_ACTIVE}"
                raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, text)
        return tuple(states)

    def _tell_fresh(self, name: str, states: Sequence[PartitionState], before: int) -> None:
        self._teller.topic(name, before + len(states), before)
        for number, state in enumerate(states, before):
            self._teller.changed(TopicPartition(name, number), None, state, "created", "created")

    def checked_by_hand(self, lists: Sequence[Sequence[int]]) -> Sequence[Replicas]:
        """Replica lists that somebody gives. Raises `Refused` (INVALID_REPLICA_ASSIGNMENT)."""
        return checked(lists, self._registered())

    # --- where replicas and leaders are ----------------------------------------------------------------------

    def state_of(self, partition: TopicPartition) -> PartitionState:
        """The partition as it is. Raises `Refused` (UNKNOWN_TOPIC_OR_PARTITION)."""
        state = self._draft.partition(partition)
        if state is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {partition}")
        return state

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """Give a partition other replicas: those who come first catch up, then those who go leave.

        Of a reassignment under way stays who comes, or who goes, where the new one names none. So one that is taken
        back by naming the replicas of before waits, in Kafka as here, for a replica that is to go: it is never over
        until it is called off (`ReplicationControlManager.changePartitionReassignment` of 4.4.0).
        """
        state, before = self.state_of(partition), self._draft.reassignment(partition) or Reassignment()
        (target,) = checked([replicas], self._registered())
        adding = tuple(sorted(node for node in target if node not in state.replicas))
        removing = tuple(sorted(node for node in state.replicas if node not in target))
        moving = Reassignment(adding or before.adding, removing or before.removing)
        wanted = Wanted(replicas=(*target, *removing), reassignment=moving if moving != Reassignment() else None)
        self._partitions.change(partition, wanted, "reassigned")

    def move(self, partition: TopicPartition, node: int) -> None:
        """Let `node` lead: as `Controller.move_leader` says."""
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
    """What is wrong with the name of a topic, in Kafka's words; None when nothing is."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > _LONGEST:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {_LONGEST}"
    if not _LEGAL.fullmatch(name):
        characters = "ASCII alphanumerics, '.', '_' and '-'"
        return f"Topic name is invalid: '{name}' contains one or more characters other than {characters}"
    return None


def check_settings(config: Mapping[str, str]) -> None:
    """Raise `Refused` (INVALID_CONFIG) for a value that the controller itself could not go by."""
    replicas = config.get(MIN_ISR, "1")
    if not replicas.isdecimal() or int(replicas) < 1:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{MIN_ISR}: {replicas!r} is not a whole number of 1 or more")
    unclean = config.get(UNCLEAN, "false")
    if unclean.strip().lower() not in ("true", "false"):
        raise Refused(ErrorCode.INVALID_CONFIG, f"{UNCLEAN}: {unclean!r} is neither true nor false")


def topic_id(luck: Stream) -> str:
    """A random id as Kafka prints it: a version 4 UUID, 22 characters of URL-safe base64, the first of them no `-`."""
    while True:
        raw = bytearray(luck.word().to_bytes(8, "big") + luck.word().to_bytes(8, "big"))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = urlsafe_b64encode(raw).decode().rstrip("=")
        if not text.startswith("-"):
            return text
