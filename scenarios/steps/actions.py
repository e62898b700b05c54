"""What a step of the timeline can do to processes, topics and groups.

Each class is one entry of the table: its name stands in the file behind `do:`, its fields are the step's own keys.
`perform` hands it to the stage; what takes time goes on there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from attrs import frozen

from groupsim.eventloop.distributions import Distribution
from groupsim.scenarios.language.acls import AclSpec
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.mistakes import Collector
from groupsim.scenarios.language.raw_requests import HandMadeApi, HandMadeFields, read_fields
from groupsim.scenarios.language.registry import Deed, action
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
    Crowd,
    Duration,
    Names,
    Positive,
    Rate,
    Share,
    Size,
    Version,
    read_share,
)

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage

_MEMBER = "Whom: names, patterns, `leader`, `member 2`, or `all`."
_PROCESS = "Whom: names and patterns of members and producers, `leader`, `member 2`, or `all` (members)."
GRACE = "What has not ended by then is killed, as after terminationGracePeriodSeconds (30s); without it, never."
GROUP = "Which group; may be left out when there is one."


@action("start")
@frozen(kw_only=True)
class Start(Deed):
    """Start processes that do not run: never started, stopped or crashed."""

    member: Processes = key(_PROCESS)

    def perform(self, stage: Stage) -> None:
        """Start each."""
        for actor in stage.processes(self.member):
            actor.start()


@action("stop")
@frozen(kw_only=True)
class Stop(Deed):
    """Close consumers cleanly, as SIGTERM does: commit, leave (or not), end. Producers deliver what they hold."""

    member: Processes = key(_PROCESS)
    leave: bool | None = key("Send LeaveGroup or not; by default as the client library does.", None)
    grace: Duration | None = key(GRACE, None)

    def perform(self, stage: Stage) -> None:
        """Close each, all at once."""
        for actor in stage.processes(self.member):
            if self.grace is not None:
                actor.kill_after(self.grace)
            actor.stop(self.leave)


@action("crash")
@frozen(kw_only=True)
class Crash(Deed):
    """Kill processes at once, as SIGKILL does: no commit, no leave; sockets die."""

    member: Processes = key(_PROCESS)

    def perform(self, stage: Stage) -> None:
        """Kill each."""
        for actor in stage.processes(self.member):
            actor.crash()


@action("pause")
@frozen(kw_only=True)
class Pause(Deed):
    """Stop whole processes for a while, as a long garbage collection does: heartbeats stop too."""

    member: Processes = key(_PROCESS)
    for_: Duration = key("How long.")

    def perform(self, stage: Stage) -> None:
        """Pause each."""
        for actor in stage.processes(self.member):
            actor.pause(self.for_)


@action("restart")
@frozen(kw_only=True)
class Restart(Deed):
    """End processes and start them again."""

    member: Processes = key(_PROCESS)
    how: Literal["stop", "crash"] = key("`stop` closes cleanly, `crash` kills.", "stop")
    leave: bool | None = key("Send LeaveGroup or not; by default as the client library does.", None)
    downtime: Distribution | None = key("Time between the end of the old process and the start of the new one.", None)

    def perform(self, stage: Stage) -> None:
        """Restart each, all at once."""
        for actor in stage.processes(self.member):
            stage.restart(actor, self.how, self.leave, self.downtime)


@action("rolling-restart")
@frozen(kw_only=True)
class RollingRestart(Deed):
    """Replace all members of a group bit by bit, as a Kubernetes rollout does.

    A Deployment starts new pods (new names) while old ones stop, within `max-unavailable` and `surge`; a StatefulSet
    stops and starts the same names one by one, the last first; `recreate` stops all, then starts all.
    """

    group: TheGroup | None = key(GROUP, None)
    kind: Literal["deployment", "statefulset", "recreate"] = key("How pods are replaced.", "deployment")
    max_unavailable: Share = key("Pods that may be missing: a number, or a percentage rounded down.", read_share("25%"))
    surge: Share = key("Pods that may be there in excess: a number, or a percentage rounded up.", read_share("25%"))
    start_time: Distribution | None = key("From the creation of a pod to the start of its consumer.", None)
    ready_time: Distribution | None = key("From the start of the consumer until the pod counts as ready.", None)
    stop_time: Distribution | None = key("From SIGTERM to the last poll, a preStop hook included.", None)
    grace: Duration | None = key(GRACE, None)
    how: Literal["stop", "crash"] = key("`stop` closes cleanly, `crash` kills.", "stop")
    leave: bool | None = key("Send LeaveGroup or not; by default as the client library does.", None)

    @property
    def at_once(self) -> bool:
        """Whether nothing is said of how long a pod takes: then all are replaced within milliseconds."""
        return self.start_time is None and self.ready_time is None and self.stop_time is None

    def perform(self, stage: Stage) -> None:
        """Begin the rollout; it goes on by itself."""
        stage.roll(self)


@action("scale")
@frozen(kw_only=True)
class Scale(Deed):
    """Bring a group to a number of running members: new ones are made like the group's last, the newest stop first."""

    to: Crowd = key("Number of running members afterwards.")
    group: TheGroup | None = key(GROUP, None)
    stagger: Duration = key("Time between one and the next.", 0)
    leave: bool | None = key("Whether stopping members send LeaveGroup.", None)

    def perform(self, stage: Stage) -> None:
        """Begin; it goes on by itself."""
        stage.scale(self)


@action("subscribe")
@frozen(kw_only=True)
class Subscribe(Deed):
    """Change what consumers subscribe to."""

    member: Members = key(_MEMBER)
    topics: Names | None = key("The new topics.", None)
    pattern: str | None = key("A pattern of topic names instead.", None)

    def perform(self, stage: Stage) -> None:
        """Change each."""
        for actor in stage.actors(self.member):
            actor.subscribe(self.topics, self.pattern)


@action("slow-processing")
@frozen(kw_only=True)
class SlowProcessing(Deed):
    """Make the handling of records slower (or faster)."""

    member: Members = key(_MEMBER)
    processing: Distribution = key("The new time to process one record.")
    for_: Duration | None = key("How long; without it, for good.", None)

    def perform(self, stage: Stage) -> None:
        """Change each."""
        for actor in stage.actors(self.member):
            stage.change_for(actor, self.for_, processing=self.processing)


@action("block-poll")
@frozen(kw_only=True)
class BlockPoll(Deed):
    """Keep the application from calling poll for a while; heartbeats of a background thread go on."""

    member: Members = key(_MEMBER)
    for_: Duration = key("How long, from the end of the current poll on.")

    def perform(self, stage: Stage) -> None:
        """Block each."""
        for actor in stage.actors(self.member):
            actor.block_poll(self.for_)


@action("block-heartbeats")
@frozen(kw_only=True)
class BlockHeartbeats(Deed):
    """Starve the thread that sends heartbeats (a GIL, a lock, native code in a JVM) while the application runs on."""

    member: Members = key(_MEMBER)
    for_: Duration = key("How long no heartbeat goes out, and nobody looks at session and poll limit.")

    def perform(self, stage: Stage) -> None:
        """Block each."""
        for actor in stage.actors(self.member):
            actor.block_heartbeats(self.for_)


@action("block-callback")
@frozen(kw_only=True)
class BlockCallback(Deed):
    """Make the next rebalance callbacks take long."""

    member: Members = key(_MEMBER)
    callback: Literal["assigned", "revoked", "lost"] = key("Which callback.", "revoked")
    for_: Duration = key("How long each call takes.")
    calls: Positive = key("How many calls.", 1)

    def perform(self, stage: Stage) -> None:
        """Block each."""
        for actor in stage.actors(self.member):
            actor.block_callback(self.callback, self.for_, self.calls)


@action("rejoin")
@frozen(kw_only=True)
class Rejoin(Deed):
    """Have the application ask for a rebalance (enforceRebalance)."""

    member: Members = key(_MEMBER)
    reason: str = key("The reason it gives.", "rebalance enforced by user")

    def perform(self, stage: Stage) -> None:
        """Ask each."""
        for actor in stage.actors(self.member):
            actor.rejoin(self.reason)


@action("remove-member")
@frozen(kw_only=True)
class RemoveMember(Deed):
    """Remove members by hand, as an administrator does: dynamic ones by member id, static ones by instance id."""

    member: Members = key(_MEMBER)
    reason: str | None = key("The administrator's words.", None)

    def perform(self, stage: Stage) -> None:
        """Send one LeaveGroup for each."""
        for actor in stage.actors(self.member):
            stage.admin.remove(actor, self.reason)


@action("commit")
@frozen(kw_only=True)
class Commit(Deed):
    """Commit offsets by hand under a member's id, perhaps with a generation that is no longer the group's."""

    member: OneMember = key("Under whose member id.")
    offsets: Mapping[PartitionName, Count] = key("Offsets by partition, such as orders-0.")
    generation: Literal["current", "previous", "none"] | Count = key(
        "The group's generation, the one before it, none (-1), or a number.", "current"
    )

    def perform(self, stage: Stage) -> None:
        """Send one OffsetCommit."""
        stage.admin.commit(self.member, {str(name): int(n) for name, n in self.offsets.items()}, self.generation)


@action("request")
@frozen(kw_only=True)
class HandMadeRequest(Deed):
    """Send one request made by hand to a group's coordinator.

    Fields are those of Kafka's message in snake case. `{member: c2}` in place of a member id stands for the id that c2
    holds when the step runs; `current` in place of a generation for the group's, `previous` for the one before it.
    """

    api: HandMadeApi = key("Which API.")
    group: TheGroup | None = key(GROUP, None)
    fields: HandMadeFields = key("The request's fields, such as generation_id.", factory=dict)
    from_: str = key("The client it comes from.", "by-hand")
    to: Broker | None = key("Which broker; by default the group's coordinator.", None)

    def __attrs_post_init__(self) -> None:
        """Raises ValueError when the API has no such fields, or they cannot hold what stands there."""
        collector = Collector()
        collector.attempt(("fields",), read_fields, self.api, self.fields)
        collector.done()

    def perform(self, stage: Stage) -> None:
        """Send it."""
        stage.admin.request(self)


@action("create-topic")
@frozen(kw_only=True)
class CreateTopic(Deed):
    """Create a topic while the scenario runs."""

    topic: str = key("Its name.")
    partitions: Size = key("Number of partitions.", 1)
    rate: Rate | None = key("Records per second of the whole topic.", None)

    def perform(self, stage: Stage) -> None:
        """Create it."""
        stage.create_topic(self.topic, self.partitions, self.rate)


@action("add-partitions")
@frozen(kw_only=True)
class AddPartitions(Deed):
    """Raise the number of partitions of a topic."""

    topic: TopicName = key("Which topic.")
    to: Size = key("Number of partitions afterwards.")

    def perform(self, stage: Stage) -> None:
        """Add them."""
        stage.cluster.add_partitions(self.topic, self.to)


@action("delete-topic")
@frozen(kw_only=True)
class DeleteTopic(Deed):
    """Delete a topic."""

    topic: TopicName = key("Which topic.")

    def perform(self, stage: Stage) -> None:
        """Delete it."""
        stage.cluster.delete_topic(self.topic)


@action("move-coordinator")
@frozen(kw_only=True)
class MoveCoordinator(Deed):
    """Move a group's coordinator to another broker, as a change of leadership in `__consumer_offsets` does."""

    group: TheGroup | None = key(GROUP, None)
    to: Broker | None = key("Which broker; by default the next one.", None)

    def perform(self, stage: Stage) -> None:
        """Move it."""
        stage.move_coordinator(self.group, self.to)


@action("set-rate")
@frozen(kw_only=True)
class SetRate(Deed):
    """Change how fast a topic grows."""

    topic: TopicName = key("Which topic.")
    rate: Rate = key("The new rate of the whole topic; 0 stops it.")
    producer: Processes | None = key("Of which producers, each; by default of the topic's built-in one.", None)

    def perform(self, stage: Stage) -> None:
        """Change it."""
        if self.producer is None:
            stage.set_rate(self.topic, self.rate)
        for producer in stage.producers(self.producer or ()):
            producer.set_rate(self.rate)


@action("crash-broker")
@frozen(kw_only=True)
class CrashBroker(Deed):
    """Kill a broker: its connections break, other brokers take over what it led.

    On replicated logs they do when its session with the controller is over.
    """

    broker: Broker = key("Which broker: a number, or `coordinator`.")
    machine: bool = key("The whole machine dies: what the broker has not flushed is lost, too.", False)
    restart_after: Duration | None = key("A supervisor starts it again after this time.", None)

    def perform(self, stage: Stage) -> None:
        """Kill it."""
        stage.on_brokers.crash(self.broker, machine=self.machine, restart_after=self.restart_after)


@action("restart-broker")
@frozen(kw_only=True)
class RestartBroker(Deed):
    """Bring back a broker that crashed or was stopped."""

    broker: Broker = key("Which broker, by number.")
    version: Version | None = key("Kafka version it comes back with, as in a rolling upgrade.", None)

    def perform(self, stage: Stage) -> None:
        """Start it."""
        stage.on_brokers.restart(self.broker, self.version)


@action("stop-broker")
@frozen(kw_only=True)
class StopBroker(Deed):
    """Stop a broker in good order (controlled shutdown): it hands over what it leads, then goes."""

    broker: Broker = key("Which broker: a number, or `coordinator`.")
    restart_after: Duration | None = key("A supervisor starts it again this long after it has gone.", None)

    def perform(self, stage: Stage) -> None:
        """Begin; it goes when the controller has moved its leaderships."""
        stage.on_brokers.stop(self.broker, restart_after=self.restart_after)


@action("move-leader")
@frozen(kw_only=True)
class MoveLeader(Deed):
    """Move the leadership of a partition to a replica in sync, or the partition to a broker without a replica."""

    partition: PartitionName = key("Which partition, such as orders-0.")
    to: Broker = key("Which broker.")

    def perform(self, stage: Stage) -> None:
        """Move it."""
        stage.on_brokers.move_leader(self.partition, self.to)


@action("elect-leaders")
@frozen(kw_only=True)
class ElectLeaders(Deed):
    """Have the controller elect leaders, as `kafka-leader-election` does."""

    kind: Literal["preferred", "unclean"] = key(
        "The preferred replicas, or any that is up where nobody leads.", "preferred"
    )
    partitions: tuple[PartitionName, ...] | None = key("Which partitions; without it, all.", None)

    def perform(self, stage: Stage) -> None:
        """Elect."""
        stage.on_brokers.elect_leaders(self.kind, self.partitions)


@action("add-acls")
@frozen(kw_only=True)
class AddAcls(Deed):
    """Make ACLs while the run goes on, as `kafka-acls --add` does; brokers hear of them with the next metadata."""

    acls: tuple[AclSpec, ...] = key("Which, as in `cluster`.")

    def perform(self, stage: Stage) -> None:
        """Make them."""
        stage.on_brokers.add_acls(self.acls)


@action("remove-acls")
@frozen(kw_only=True)
class RemoveAcls(Deed):
    """Delete ACLs, as `kafka-acls --remove` does; members find out by their next request."""

    acls: tuple[AclSpec, ...] = key("Which: written as those that are there.")

    def perform(self, stage: Stage) -> None:
        """Delete them. Raises ValueError for one that is not there."""
        stage.on_brokers.remove_acls(self.acls)


@action("burst")
@frozen(kw_only=True)
class Burst(Deed):
    """Produce many records at once."""

    topic: TopicName = key("Which topic.")
    records: Positive = key("How many; shared out as the topic's traffic is.")
    producer: Processes | None = key("Which producers send so many each; by default the topic's built-in one.", None)

    def perform(self, stage: Stage) -> None:
        """Produce them."""
        if self.producer is None:
            stage.topics.burst(self.topic, self.records)
        for producer in stage.producers(self.producer or ()):
            producer.burst(self.records)


NEED_LOGS = (StopBroker, MoveLeader, ElectLeaders, AddAcls, RemoveAcls)
"""Actions that make no sense without logs on brokers."""
