"""Actions on processes, topics and groups.

Each class is one action: its name stands in the file behind `do:`, its fields are the step's own keys.
`perform` passes it to the stage, where long actions continue in the background.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from groupsim.eventloop.distributions import Distribution
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.acls import AclSpec
from groupsim.scenarios.language.data_values import GroupProperties
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.mistakes import Collector
from groupsim.scenarios.language.raw_requests import RawApi, RawFields, read_fields
from groupsim.scenarios.language.registry import StepAction, action
from groupsim.scenarios.language.targets import (
    Broker,
    Members,
    OneMember,
    PartitionName,
    Processes,
    TheGroup,
    TopicName,
)
from groupsim.scenarios.language.values import (
    Count,
    Duration,
    Names,
    Positive,
    ProcessCount,
    Properties,
    Rate,
    Share,
    Size,
    Version,
    read_share,
)

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage

RAW_REQUEST_HOST = "by-hand"
"""Host of raw requests in a trace."""
_MEMBER = "Members: names, patterns, `leader`, `member 2`, or `all`."
PROCESSES = "Processes: names and patterns of members and producers, `leader`, `member 2`, or `all` (members)."
GRACE = "Time after which a process that still runs is killed (terminationGracePeriodSeconds); by default never."
GROUP = "The group; optional if the scenario has only one."
CHANGED_PROPERTIES = "Client settings of the new processes, as `group.protocol: consumer`; null takes one away."


@action("start")
@frozen(kw_only=True)
class Start(StepAction):
    """Start processes that do not run: never started, stopped or crashed."""

    member: Processes = key(PROCESSES)

    def perform(self, stage: Stage) -> None:
        """Start each process."""
        for actor in stage.processes(self.member):
            actor.start()


@action("stop")
@frozen(kw_only=True)
class Stop(StepAction):
    """Close consumers cleanly, as after SIGTERM: commit, leave or not, end. Producers deliver their pending records."""

    member: Processes = key(PROCESSES)
    leave: bool | None = key("Whether to send LeaveGroup; by default as the client library does.", None)
    grace: Duration | None = key(GRACE, None)

    def perform(self, stage: Stage) -> None:
        """Close each process, all at once."""
        for actor in stage.processes(self.member):
            if self.grace is not None:
                actor.kill_after(self.grace)
            actor.stop(self.leave)


@action("crash")
@frozen(kw_only=True)
class Crash(StepAction):
    """Kill processes at once, as SIGKILL does: no commit, no LeaveGroup; their connections break."""

    member: Processes = key(PROCESSES)

    def perform(self, stage: Stage) -> None:
        """Kill each process."""
        for actor in stage.processes(self.member):
            actor.crash()


@action("pause")
@frozen(kw_only=True)
class Pause(StepAction):
    """Stop whole processes for a while, as a long garbage collection does: heartbeats stop too."""

    member: Processes = key(PROCESSES)
    for_: Duration = key("How long.")

    def perform(self, stage: Stage) -> None:
        """Pause each process."""
        for actor in stage.processes(self.member):
            actor.pause(self.for_)


@action("restart")
@frozen(kw_only=True)
class Restart(StepAction):
    """End processes and start them again."""

    member: Processes = key(PROCESSES)
    how: Literal["stop", "crash"] = key("`stop` closes cleanly, `crash` kills.", "stop")
    leave: bool | None = key("Whether to send LeaveGroup; by default as the client library does.", None)
    downtime: Distribution | None = key("Time between the end of the old process and the start of the new one.", None)
    properties: Properties | None = key(CHANGED_PROPERTIES, None)

    def perform(self, stage: Stage) -> None:
        """Restart each process, all at once."""
        for actor in stage.processes(self.member):
            stage.restart(actor, self.how, self.leave, self.downtime, self.properties)


@action("rolling-restart")
@frozen(kw_only=True)
class RollingRestart(StepAction):
    """Replace all members of a group step by step, as a Kubernetes rollout does.

    A Deployment starts new pods (new names) while old ones stop, within `max-unavailable` and `surge`; a StatefulSet
    stops and starts the same names one by one, the last first; `recreate` stops all, then starts all.
    """

    group: TheGroup | None = key(GROUP, None)
    kind: Literal["deployment", "statefulset", "recreate"] = key("How pods are replaced.", "deployment")
    max_unavailable: Share = key("Unavailable pods at most: a number, or a percentage rounded down.", read_share("25%"))
    surge: Share = key("Pods beyond the desired number: a number, or a percentage rounded up.", read_share("25%"))
    start_time: Distribution | None = key("From the creation of a pod to the start of its consumer.", None)
    ready_time: Distribution | None = key("From the start of the consumer until the pod counts as ready.", None)
    stop_time: Distribution | None = key("From SIGTERM to the last poll, a preStop hook included.", None)
    grace: Duration | None = key(GRACE, None)
    how: Literal["stop", "crash"] = key("`stop` closes cleanly, `crash` kills.", "stop")
    leave: bool | None = key("Whether to send LeaveGroup; by default as the client library does.", None)
    properties: Properties | None = key(CHANGED_PROPERTIES, None)

    @property
    def at_once(self) -> bool:
        """Whether no duration is given, so that all pods are replaced within milliseconds."""
        return self.start_time is None and self.ready_time is None and self.stop_time is None

    def perform(self, stage: Stage) -> None:
        """Begin the rollout, which continues in the background."""
        stage.roll(self)


@action("scale")
@frozen(kw_only=True)
class Scale(StepAction):
    """Scale a group to a number of running members: new ones are like the group's last, the newest stop first."""

    to: ProcessCount = key("Number of running members afterwards.")
    group: TheGroup | None = key(GROUP, None)
    stagger: Duration = key("Time between two starts or stops.", 0)
    leave: bool | None = key("Whether stopping members send LeaveGroup.", None)

    def perform(self, stage: Stage) -> None:
        """Begin to scale, which continues in the background."""
        stage.scale(self)


@action("subscribe")
@frozen(kw_only=True)
class Subscribe(StepAction):
    """Change the subscriptions of consumers."""

    member: Members = key(_MEMBER)
    topics: Names | None = key("The new topics.", None)
    pattern: str | None = key("A pattern of topic names instead.", None)
    regex: str | None = key("A regular expression (RE2/J) instead, which the broker resolves.", None)

    def perform(self, stage: Stage) -> None:
        """Change each subscription."""
        for actor in stage.actors(self.member):
            actor.subscribe(self.topics, self.pattern, self.regex)


@action("slow-processing")
@frozen(kw_only=True)
class SlowProcessing(StepAction):
    """Make the handling of records slower (or faster)."""

    member: Members = key(_MEMBER)
    processing: Distribution = key("The new time to process one record.")
    for_: Duration | None = key("How long; by default for good.", None)

    def perform(self, stage: Stage) -> None:
        """Change each member."""
        for actor in stage.actors(self.member):
            stage.change_for(actor, self.for_, processing=self.processing)


@action("block-poll")
@frozen(kw_only=True)
class BlockPoll(StepAction):
    """Keep the application from calling poll for a while; a heartbeat thread still sends heartbeats."""

    member: Members = key(_MEMBER)
    for_: Duration = key("How long, from the end of the current poll on.")

    def perform(self, stage: Stage) -> None:
        """Block each member."""
        for actor in stage.actors(self.member):
            actor.block_poll(self.for_)


@action("block-heartbeats")
@frozen(kw_only=True)
class BlockHeartbeats(StepAction):
    """Block the thread that sends heartbeats (a GIL, a lock, native code in a JVM) while the application runs."""

    member: Members = key(_MEMBER)
    for_: Duration = key("How long no heartbeat is sent, and session and poll limit are not checked.")

    def perform(self, stage: Stage) -> None:
        """Block each member."""
        for actor in stage.actors(self.member):
            actor.block_heartbeats(self.for_)


@action("block-callback")
@frozen(kw_only=True)
class BlockCallback(StepAction):
    """Make the next rebalance callbacks take long."""

    member: Members = key(_MEMBER)
    callback: Literal["assigned", "revoked", "lost"] = key("Which callback.", "revoked")
    for_: Duration = key("How long each call takes.")
    calls: Positive = key("How many calls.", 1)

    def perform(self, stage: Stage) -> None:
        """Block each member."""
        for actor in stage.actors(self.member):
            actor.block_callback(self.callback, self.for_, self.calls)


@action("rejoin")
@frozen(kw_only=True)
class Rejoin(StepAction):
    """Let the application ask for a rebalance (enforceRebalance)."""

    member: Members = key(_MEMBER)
    reason: str = key("The reason it gives.", "rebalance enforced by user")

    def perform(self, stage: Stage) -> None:
        """Let each member rejoin."""
        for actor in stage.actors(self.member):
            actor.rejoin(self.reason)


@action("remove-member")
@frozen(kw_only=True)
class RemoveMember(StepAction):
    """Remove members as an administrator does: dynamic ones by member id, static ones by instance id."""

    member: Members = key(_MEMBER)
    reason: str | None = key("The administrator's reason.", None)

    def perform(self, stage: Stage) -> None:
        """Send one LeaveGroup for each member."""
        for actor in stage.actors(self.member):
            stage.admin.remove(actor, self.reason)


@action("commit")
@frozen(kw_only=True)
class Commit(StepAction):
    """Commit offsets under a member's id, optionally with a generation that is not the group's."""

    member: OneMember = key("The member whose id is used.")
    offsets: Mapping[PartitionName, Count] = key("Offsets by partition, such as orders-0.")
    generation: Literal["current", "previous", "none"] | Count = key(
        "The group's generation, the one before it, none (-1), or a number.", "current"
    )

    def perform(self, stage: Stage) -> None:
        """Send one OffsetCommit."""
        stage.admin.commit(self.member, {str(name): int(n) for name, n in self.offsets.items()}, self.generation)


@action("request")
@frozen(kw_only=True)
class RawRequest(StepAction):
    """Send one raw request to a group's coordinator.

    Fields are those of Kafka's message in snake case. `{member: c2}` in place of a member id is the id that c2
    has when the step runs; `current` in place of a generation is the group's, `previous` the one before it.
    """

    api: RawApi = key("The API.")
    group: TheGroup | None = key(GROUP, None)
    fields: RawFields = key("The request's fields, such as generation_id.", factory=dict)
    from_: str = key("The host that sends it.", RAW_REQUEST_HOST)
    to: Broker | None = key("The receiving broker; by default the group's coordinator.", None)

    def __attrs_post_init__(self) -> None:
        """Read the fields. Raises ValueError for unknown fields and wrong types."""
        collector = Collector()
        collector.attempt(("fields",), read_fields, self.api, self.fields)
        collector.done()

    def perform(self, stage: Stage) -> None:
        """Send the request."""
        stage.admin.request(self)


@action("create-topic")
@frozen(kw_only=True)
class CreateTopic(StepAction):
    """Create a topic during the run."""

    topic: str = key("Its name.")
    partitions: Size = key("Number of partitions.", 1)
    rate: Rate | None = key("Records per second of the whole topic.", None)

    def perform(self, stage: Stage) -> None:
        """Create the topic."""
        stage.create_topic(self.topic, self.partitions, self.rate)


@action("add-partitions")
@frozen(kw_only=True)
class AddPartitions(StepAction):
    """Raise the number of partitions of a topic."""

    topic: TopicName = key("The topic.")
    to: Size = key("Number of partitions afterwards.")

    def perform(self, stage: Stage) -> None:
        """Add the partitions."""
        stage.cluster.add_partitions(self.topic, self.to)


@action("delete-topic")
@frozen(kw_only=True)
class DeleteTopic(StepAction):
    """Delete a topic."""

    topic: TopicName = key("The topic.")

    def perform(self, stage: Stage) -> None:
        """Delete the topic."""
        stage.cluster.delete_topic(self.topic)


@action("alter-group-config")
@frozen(kw_only=True)
class AlterGroupConfig(StepAction):
    """Set a group's own settings while it runs, as `kafka-configs --entity-type groups` does.

    Members of the consumer protocol follow with their next heartbeats.
    """

    group: TheGroup | None = key(GROUP, None)
    properties: GroupProperties = key("Settings by Kafka's names, as consumer.heartbeat.interval.ms; null resets one.")

    def perform(self, stage: Stage) -> None:
        """Alter the settings. Raises ValueError for one that the brokers refuse."""
        stage.cluster.alter_group_config(stage.group_id(self.group), self.changes())

    def changes(self) -> dict[str, str | None]:
        """Return the settings as texts; None resets one."""
        return {name: None if value is None else str(value).strip() for name, value in self.properties.items()}


@action("move-coordinator")
@frozen(kw_only=True)
class MoveCoordinator(StepAction):
    """Move a group's coordinator to another broker, as a change of leadership in `__consumer_offsets` does."""

    group: TheGroup | None = key(GROUP, None)
    to: Broker | None = key("The new coordinator; by default the next broker.", None)

    def perform(self, stage: Stage) -> None:
        """Move the coordinator."""
        stage.move_coordinator(self.group, self.to)


@action("set-rate")
@frozen(kw_only=True)
class SetRate(StepAction):
    """Change how fast a topic grows."""

    topic: TopicName = key("The topic.")
    rate: Rate = key("The new rate of the whole topic; 0 stops it.")
    producer: Processes | None = key("Producers to change; by default the topic's own `rate` changes.", None)

    def perform(self, stage: Stage) -> None:
        """Change the rate."""
        if self.producer is None:
            stage.set_rate(self.topic, self.rate)
        for producer in stage.producers(self.producer or ()):
            producer.set_rate(self.rate)


@action("crash-broker")
@frozen(kw_only=True)
class CrashBroker(StepAction):
    """Kill a broker: its connections break, and other brokers take over its leaderships.

    On replicated logs they do so when its session with the controller ends.
    """

    broker: Broker = key("The broker: a number, or `coordinator`.")
    machine: bool = key("Whether the whole machine fails: data that is not flushed is lost, too.", False)
    restart_after: Duration | None = key("A supervisor restarts it after this time.", None)

    def perform(self, stage: Stage) -> None:
        """Kill the broker."""
        stage.on_brokers.crash(self.broker, machine=self.machine, restart_after=self.restart_after)


@action("restart-broker")
@frozen(kw_only=True)
class RestartBroker(StepAction):
    """Restart a broker that crashed or was stopped."""

    broker: Broker = key("The broker, by number.")
    version: Version | None = key("Kafka version after the restart, as in a rolling upgrade.", None)

    def perform(self, stage: Stage) -> None:
        """Restart the broker."""
        stage.on_brokers.restart(self.broker, self.version)


@action("stop-broker")
@frozen(kw_only=True)
class StopBroker(StepAction):
    """Stop a broker by a controlled shutdown: its leaderships move before it ends."""

    broker: Broker = key("The broker: a number, or `coordinator`.")
    restart_after: Duration | None = key("A supervisor restarts it this long after its end.", None)

    def perform(self, stage: Stage) -> None:
        """Begin the shutdown; the broker ends when the controller has moved its leaderships."""
        stage.on_brokers.stop(self.broker, restart_after=self.restart_after)


@action("move-leader")
@frozen(kw_only=True)
class MoveLeader(StepAction):
    """Move the leadership of a partition to an in-sync replica, or the partition to a broker without a replica."""

    partition: PartitionName = key("The partition, such as orders-0.")
    to: Broker = key("The new leader.")

    def perform(self, stage: Stage) -> None:
        """Move the leadership."""
        stage.on_brokers.move_leader(self.partition, self.to)


@action("elect-leaders")
@frozen(kw_only=True)
class ElectLeaders(StepAction):
    """Let the controller elect leaders, as `kafka-leader-election` does."""

    kind: Literal["preferred", "unclean"] = key(
        "The preferred replicas, or for partitions without a leader any replica that is up.", "preferred"
    )
    partitions: tuple[PartitionName, ...] | None = key("The partitions; by default all.", None)

    def perform(self, stage: Stage) -> None:
        """Elect the leaders."""
        stage.on_brokers.elect_leaders(self.kind, self.partitions)


@action("add-acls")
@frozen(kw_only=True)
class AddAcls(StepAction):
    """Create ACLs during the run, as `kafka-acls --add` does; brokers get them with the next metadata."""

    acls: tuple[AclSpec, ...] = key("The ACLs, as in `cluster`.")

    def perform(self, stage: Stage) -> None:
        """Create the ACLs."""
        stage.on_brokers.add_acls(self.acls)


@action("remove-acls")
@frozen(kw_only=True)
class RemoveAcls(StepAction):
    """Delete ACLs, as `kafka-acls --remove` does; members notice at their next request."""

    acls: tuple[AclSpec, ...] = key("The ACLs, written as they were created.")

    def perform(self, stage: Stage) -> None:
        """Delete the ACLs. Raises ValueError for one that does not exist."""
        stage.on_brokers.remove_acls(self.acls)


@action("burst")
@frozen(kw_only=True)
class Burst(StepAction):
    """Produce many records at once."""

    topic: TopicName = key("The topic.")
    records: Positive = key("How many, distributed over the partitions like the topic's traffic.")
    producer: Processes | None = key("Producers that send this number each; by default the topic itself grows.", None)

    def perform(self, stage: Stage) -> None:
        """Produce the records."""
        if self.producer is None:
            stage.topics.burst(self.topic, self.records)
        for producer in stage.producers(self.producer or ()):
            producer.burst(self.records)


NEED_LOGS = (StopBroker, MoveLeader, ElectLeaders, AddAcls, RemoveAcls)
"""Actions that need brokers with logs."""
