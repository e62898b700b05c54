"""A scenario as values, exactly as the file states it.

The classes are the file format: a class is a mapping of the file, a field is a key, and its text is the key's
description (see `keys.py`). The loader, the JSON Schema and the documentation are generated from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field

from groupsim.eventloop.distributions import Distribution
from groupsim.members.behaviour import CommitPolicy, Stuck
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.acls import AclSpec
from groupsim.scenarios.language.data_values import (
    ProducerProperties,
    RecordSize,
    Skew,
    TopicProperties,
    read_record_size,
)
from groupsim.scenarios.language.defects import BrokerDefects, ClientDefects
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import Check, StepAction
from groupsim.scenarios.language.targets import PartitionName, TopicName
from groupsim.scenarios.language.values import (
    Amount,
    ApiName,
    Brokers,
    Count,
    Duration,
    Moment,
    Names,
    Positive,
    ProcessCount,
    Properties,
    Rate,
    Share,
    Size,
    Version,
    read_rate,
)


@frozen
class BrokerRelease:
    """One broker's release, if it differs from the others'."""

    version: Version | None = key("Kafka version; its request versions must be those of the other brokers.", None)
    defects: BrokerDefects | None = key("Defects of its coordinator by name, beside those of its release.", None)


@frozen
class BrokerSettings:
    """The brokers' version, defects and settings, by Kafka's own names."""

    version: Version | None = None
    properties: Properties = field(factory=lambda: Properties({}))
    defects: BrokerDefects | None = None
    brokers: Mapping[str, BrokerRelease] = field(factory=dict)


@frozen
class ClusterSpec:
    """The brokers and the network between them and the members."""

    brokers: Brokers = key("Number of brokers, whose ids begin at 0, or the list of their ids.", Brokers.counted(3))
    racks: tuple[str, ...] = key("Racks of the brokers, in turn.", ())
    latency: Distribution | None = key("One-way latency of a message.", None)
    processing: Distribution | None = key("Time a broker takes for a request.", None)
    append_latency: Distribution | None = key("Time until an append to `__consumer_offsets` has committed.", None)
    election: Duration | None = key("Gap between the end of a coordinator and the election of the next.", None)
    loading: Duration | None = key("Time a new coordinator takes to load its groups.", None)
    stale_metadata: Duration | None = key("How long brokers still name the old coordinator.", None)
    logs: Literal["counted", "replicated"] = key(
        "Kind of the brokers' logs: replicated logs that producers write to and consumers fetch from, or log ends that "
        "grow at a rate, which is cheaper.",
        "replicated",
    )
    placement: Literal["striped", "zookeeper", "zookeeper-seeded"] | None = key(
        "Placement of replicas: KRaft's striping, or that of ZooKeeper clusters, from broker 0 or a drawn one on.",
        None,
    )
    broker_session: Duration | None = key(
        "How long the controller waits for a silent broker; 9s, or ZooKeeper's 18s before 3.3.", None
    )
    fresh: bool | None = key(
        "Whether the cluster is new: `__consumer_offsets` is created at the first FindCoordinator request.",
        None,
    )
    acls: tuple[AclSpec, ...] = key("ACLs from the beginning of the run on; `broker` must name an authorizer.", ())


@frozen
class RateStep:
    """From `at` on, the topic grows at another rate."""

    at: Moment = key("When the rate changes.")
    rate: Rate = key("The new rate of the whole topic, such as 10/s or 3/min.")


_RECORD_SIZE = "Bytes of a record: 100, or `uniform(100, 300)`."


@frozen
class TopicSpec:
    """A topic and its traffic."""

    partitions: Size = key("Number of partitions.", 1, short=True)
    rate: Rate = key("Records per second of the whole topic, such as 10/s.", factory=lambda: read_rate(0))
    steps: tuple[RateStep, ...] = key("Later changes of the rate.", ())
    replication: Size | None = key("Replicas of each partition; by default `default.replication.factor`, or 1.", None)
    weights: tuple[Amount, ...] | None = key("Shares of the traffic, one number for each partition.", None)
    record_size: RecordSize = key(_RECORD_SIZE, factory=lambda: read_record_size(100))
    properties: TopicProperties = key("The topic's settings by Kafka's own names.", factory=dict)
    replicas: tuple[tuple[Amount, ...], ...] | None = key(
        "The brokers of each partition's replicas, the preferred leader first; by default `placement` decides.", None
    )


@frozen
class KeysSpec:
    """The keys of a producer's records; a key always goes to the same partition."""

    count: Size = key("How many keys.", short=True)
    skew: Skew = key("Zipf's exponent: 0 uses all keys alike, 1 is the classic skew.", "0")
    hot: Share | None = key("Share of the records that have the first key, independent of the skew, such as 20%.", None)


@frozen
class Pauses:
    """Long stops of the whole process, such as garbage collection pauses."""

    every: Distribution = key("Time from the end of one pause to the next.")
    length: Distribution = key("Length of a pause.")


@frozen
class ProducerSpec:
    """Processes that produce to a topic, over replicated logs only."""

    topic: TopicName = key("The topic.")
    rate: Rate = key("Records per second of each process, such as 50/s.", factory=lambda: read_rate(0))
    steps: tuple[RateStep, ...] = key("Later changes of the rate.", ())
    arriving: Literal["steady", "poisson"] = key("Whether records come at even intervals or at random.", "steady")
    record_size: RecordSize = key(_RECORD_SIZE, factory=lambda: read_record_size(100))
    keys: KeysSpec | None = key("Keys of the records; without them a batch is filled, then the next.", None)
    weights: tuple[Amount, ...] | None = key("Shares of the partitions, in the partitioner's place.", None)
    properties: ProducerProperties = key(
        "Settings by Kafka's own names, as a mapping or as the pasted text of a .properties file.", factory=dict
    )
    properties_file: str | None = key("A .properties file to read, relative to the scenario file.", None)
    client_id: str | None = key("client.id; `{name}` and `{n}` are filled in; by default the process's name.", None)
    transactional_id: str | None = key("transactional.id; `{name}` and `{n}` are filled in.", None)
    commit_every: Duration | None = key("How often a transactional producer commits.", None)
    count: ProcessCount = key("How many; more than one are called name-1, name-2 …", 1)
    start: Moment | Literal["never"] = key("When the process starts; `never` waits for a `start` step.", 0)
    stagger: Duration = key("Time between the starts of one and the next of several.", 0)
    start_spread: Distribution | None = key("An extra delay of the start, drawn for each.", None)
    pauses: Pauses | None = key("Long stops of the whole process.", None)
    restart_after: Duration | None = key("A supervisor starts a failed process again after this time.", None)


@frozen
class MemberDefaults:
    """Settings of a whole group, or of one member."""

    client: str | None = key("A client profile, or a release: java-3.9, librdkafka-2.3.0 …; by default `java`.", None)
    defects: ClientDefects | None = key(
        "Defects by name, beside those of the release; docs/defects.md lists them.", None
    )
    properties: Properties = key(
        "Settings by Kafka's own names, as a mapping or as the pasted text of a .properties file.", factory=dict
    )
    properties_file: str | None = key("A .properties file to read, relative to the scenario file.", None)
    subscribe: Names | None = key("Topics to subscribe to; by default every topic of the scenario.", None)
    subscribe_pattern: str | None = key("A pattern of topic names to subscribe to instead.", None)
    subscribe_regex: str | None = key(
        "A regular expression (RE2/J) to subscribe to instead, resolved by the broker of a consumer group.",
        None,
    )
    assignor: Names | None = key("Assignors by name, Java class name or `module:Class`, the preferred first.", None)
    client_id: str | None = key("client.id; `{name}` and `{n}` stand for the member's name and number.", None)
    instance_id: str | None = key("group.instance.id (static membership); `{name}` and `{n}` are filled in.", None)
    versions: Mapping[ApiName, Count] | None = key(
        "Request versions the client speaks, where its profile's differ.", None
    )
    processing: Distribution | None = key("Time to process one record.", None)
    poll_timeout: Distribution | None = key(
        "The timeout passed to poll, after which it returns without records; by default, poll waits for ever.", None
    )
    poll_gap: Distribution | None = key("Time between two polls, with or without records.", None)
    on_assigned: Distribution | None = key("Time the callback for assigned partitions takes.", None)
    on_revoked: Distribution | None = key("Time the callback for revoked partitions takes.", None)
    on_lost: Distribution | None = key("Time the callback for lost partitions takes.", None)
    assignor_time: Distribution | None = key("Time the leader needs to compute an assignment.", None)
    per_batch: Distribution | None = key("Time per batch of a partition, beside that of its records.", None)
    commit: CommitPolicy | None = key("When offsets are committed.", None)
    on_error: OnError | None = key(
        "Reaction of the application to an exception from poll; by default, what is usual with its library (below).",
        None,
    )
    on_commit_failure: OnError | None = key("Reaction of the application when a commit throws.", None)
    error_pause: Duration | None = key("Wait before the next poll; by default, as is usual with its library.", None)
    stuck: tuple[Stuck, ...] | None = key("Deliberate defects of a broken client.", None)
    push_buffer: Positive | None = key(
        "Size of a buffer, in bytes, into which brokers push records as they come, instead of fetches; the process is "
        "killed when it overflows. For comparison only: Kafka has no such clients.",
        None,
    )
    rejoin_every: Distribution | None = key("Interval at which the application asks for a rebalance.", None)
    pauses: Pauses | None = key("Long stops of the whole process.", None)
    restart_after: Duration | None = key("A supervisor starts a failed process again after this time.", None)


@frozen
class MemberSpec(MemberDefaults):
    """One member, or several equal ones."""

    assign: tuple[PartitionName, ...] | None = key(
        "Partitions (orders-0) for `assign`: the consumer commits offsets in the group and does not join it.", None
    )
    count: ProcessCount = key("How many; more than one are called name-1, name-2 …", 1, short=True)
    start: Moment | Literal["never"] = key("When the process starts; `never` waits for a `start` step.", 0)
    stagger: Duration = key("Time between the starts of one and the next of several.", 0)
    start_spread: Distribution | None = key("An extra delay of the start, drawn for each.", None)


@frozen
class ProducesSpec:
    """Consume, transform, produce: the records of each poll become records of another topic, exactly once."""

    to: TopicName = key("The topic.", short=True)
    transactional_id: str = key("transactional.id; `{name}`, `{n}` and `{group}` are filled in.", "{group}-{name}")
    record_size: Amount = key("Bytes of an output record.", 100)
    same_partition: bool = key("Whether a record keeps its partition number.", False)
    properties: ProducerProperties = key("Settings of the producers by Kafka's own names.", factory=dict)


@frozen
class GroupSpec(MemberDefaults):
    """A consumer group; a setting of the group holds for each member that does not set it."""

    count: ProcessCount = key(
        "How many groups; more than one are called name-1, name-2 …, and their members name-1-c, or name-1-c-1 …", 1
    )
    members: Mapping[str, MemberSpec] = key("Members by name; `{n}` in a name is the member's number.", factory=dict)
    produces: ProducesSpec | None = key(
        "Records that each member produces from what it consumes, in transactions.", None
    )


@frozen(kw_only=True)
class Step:
    """One step of the timeline: an action or a fault, and its time."""

    at: Moment | Literal["never"] = key("Time since the start of the run; `never` if an experiment sets the time.")
    action: StepAction
    every: Duration | None = key("Repeat at this interval.", None)
    times: Positive | None = key("How often in all; by default until the run ends.", None)
    line: int = 0


@frozen
class Expectation:
    """One expectation, and its reason."""

    check: Check
    because: str | None = key("Reason: the setting or rule it follows from.", None)
    line: int = 0


@frozen(kw_only=True)
class Scenario:
    """A whole scenario."""

    name: str = key("Short name; the file's name when left out.", "")
    title: str = key("What happens, in one line.", "")
    shows: str = key("What it shows, in one sentence.", "")
    source: str | None = key("Where it comes from: a public thread (owner/repo#number), a KIP, a page.", None)
    known: str | None = key("What the source states, and what was assumed.", None)
    run_for: Duration = key("How long to run, in virtual time.")
    plugin_errors: Literal["stop", "as-kafka"] = key(
        "Reaction to an assignor that raises or returns nonsense: stop the run, or go on as the Java client does.",
        "stop",
    )
    broker: BrokerSettings = key("Broker version and settings by Kafka's own names.", factory=BrokerSettings)
    cluster: ClusterSpec = key("Brokers, racks, latency.", factory=ClusterSpec)
    topics: Mapping[str, TopicSpec] = key("Topics by name.", factory=dict)
    producers: Mapping[str, ProducerSpec] = key(
        "Processes that produce, by name; a topic's `rate` needs none.", factory=dict
    )
    groups: Mapping[str, GroupSpec] = key("Consumer groups by name.", factory=dict)
    timeline: tuple[Step, ...] = key("Actions and faults.", ())
    shift_steps: bool = key(
        "Each step, and each later start of a member, is delayed by up to a heartbeat interval, drawn from the seed.",
        False,
    )
    expect: tuple[Expectation, ...] = key("Expectations, judged from the trace.", ())
    file: str = ""
    notes: tuple[Any, ...] = ()
    #: The ids of the groups of each key of `groups` with a `count` (see `scenarios/plans/fleets.py`).
    fleets: Mapping[str, tuple[str, ...]] = field(factory=dict)
