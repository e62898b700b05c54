"""A cluster, groups and members in a few lines, in virtual time: what the `sim` fixture is, usable without pytest too.

    async def story(sim):
        sim.topic("orders", 4)
        c1, c2 = sim.member("c1"), sim.member("c2")
        await sim.stable("g1", members=2)
        c1.crash()
        await sim.until(lambda: sim.state("g1") == "PreparingRebalance", within="50s")

    Simulation(seed=1).run(story)

The object itself is plain and synchronous; only what lets time pass is awaited. Nothing happens between two awaits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal

from attrs import Factory, define, field, validators

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config import ClusterConfig
from groupsim.cluster.faults import Fault
from groupsim.cluster.injection import FaultHandle
from groupsim.cluster.replicated import ReplicatedCluster
from groupsim.cluster.zookeeper import ZooKeeperServer
from groupsim.coordinator.config import CoordinatorConfig
from groupsim.coordinator.snapshot import GroupSnapshot
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.eventloop.trace import NORMAL, Level, Trace
from groupsim.eventloop.units import parse_duration, show_us
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.members.ancestors.kinds import CLIENTS, client_settings, consumer_for, uses_zookeeper
from groupsim.members.behaviour import Behaviour, CommitPolicy, OnError, Stuck
from groupsim.members.consumer import Consumer
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.protocol.messages import Request, Response, TopicPartition
from groupsim.scenarios.clusters import COUNTED, ONLY_COUNTED, REPLICATED, brokers_of
from groupsim.scenarios.old_cluster import open_zookeeper
from groupsim.scenarios.problems import suggest
from groupsim.scenarios.story import Story, tell

Duration = str | int
HAND = "hand"  # the host that requests by hand come from
MINUTE = "60s"


@define
class Sent:
    """A request sent by hand; `outcome` is None until it is answered (or its connection breaks)."""

    request: Request
    correlation: int = -1
    outcome: Outcome | None = None

    @property
    def answered(self) -> bool:
        """Whether an answer came. A parked request is not answered."""
        return self.outcome is not None and not isinstance(self.outcome, Disconnected)


@define
class Simulation:
    """One simulated cluster. `broker` are broker settings by Kafka's names, with `version` for the broker's version.

    `logs` are those of scenario files: brokers that keep logs, or "counted" ones, which are cheaper.
    """

    seed: int = 0
    brokers: int = 1
    broker: Mapping[str, object] = Factory(dict)
    config: Mapping[str, Any] = Factory(dict)  # other fields of ReplicatedConfig or ClusterConfig: latency, racks …
    level: Level = NORMAL
    events: list[TraceEvent] = Factory(list)
    _loop: VirtualLoop | None = None
    #: The ZooKeeper beside the cluster, once a member needs one (client="zookeeper-0.8").
    zookeeper: ZooKeeperServer | None = None
    logs: Literal["replicated", "counted"] = field(default=REPLICATED, validator=validators.in_((REPLICATED, COUNTED)))
    _cluster: ReplicatedCluster | Cluster | None = None

    # --- life ------------------------------------------------------------------------------------------------

    def run(self, story: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        """Run `story(sim, …)` in virtual time and return what it returns; raises what it raises."""
        return self.drive(lambda: story(self, *args, **kwargs))

    def drive(self, story: Callable[[], Awaitable[Any]]) -> Any:
        """Run a story that has this simulation already."""

        async def main(loop: VirtualLoop) -> Any:
            return await story()

        return self.loop.run(main)

    @property
    def loop(self) -> VirtualLoop:
        """The event loop, made on first use."""
        if self._loop is None:
            trace = Trace(self.level)
            trace.subscribe(self.events.append)
            self._loop = VirtualLoop(self.seed, trace)
        return self._loop

    @property
    def cluster(self) -> ReplicatedCluster | Cluster:
        """The cluster, made on first use. Raises ValueError for a setting that it does not have."""
        if self._cluster is None:
            self._cluster = self._replicated() if self.logs == REPLICATED else self._counted()
        return self._cluster

    def _replicated(self) -> ReplicatedCluster:
        for name in self.config:
            if name.removesuffix("_us") in ONLY_COUNTED:
                raise ValueError(f"{name} is a figure of counted logs; leave it out, or say logs={COUNTED!r}")
        settings = dict(self.broker)
        version = settings.pop("version", None)
        config = brokers_of(None if version is None else str(version), settings, brokers=self.brokers, **self.config)
        return ReplicatedCluster(self.loop, config)

    def _counted(self) -> Cluster:
        settings = dict(self.broker)
        if "version" in settings:
            settings["broker.version"] = settings.pop("version")
        coordinator = CoordinatorConfig.from_properties(settings)
        return Cluster(self.loop, ClusterConfig(brokers=self.brokers, coordinator=coordinator, **self.config))

    # --- building --------------------------------------------------------------------------------------------

    def topic(self, name: str, partitions: int = 1, *, rate: int | str = 0) -> str:
        """Create a topic that gets `rate` records per second; returns its name."""
        self.cluster.create_topic(name, partitions, rate=rate)
        return name

    @property
    def topics(self) -> dict[str, int]:
        """The topics there are, internal ones left out, each with its number of partitions."""
        cluster = self.cluster
        if isinstance(cluster, Cluster):
            return {topic.name: topic.partitions for topic in cluster.topics}
        known = cluster.controller.image.topics
        return {name: len(topic.partitions) for name, topic in known.items() if not topic.internal}

    def member(
        self,
        name: str,
        group: str = "g1",
        *,
        topics: Iterable[str] | None = None,
        pattern: str | None = None,
        assign: Iterable[str] | None = None,
        client: str = "java",
        start: bool = True,
        properties: Mapping[str, object] | None = None,
        **behaviour: Any,
    ) -> Consumer:
        """A consumer process of this name, subscribed (to every topic there is, unless told) and started.

        `assign=["orders-0"]` makes it one that chooses its partitions itself and joins no group.

        `properties` are Kafka's settings; anything else is a field of `Behaviour`, with distributions as text:
        `processing="5ms"`, `on_revoked="uniform(1s, 30s)"`, and choices too: `commit="never"`, `stuck="never-sync"`.
        Raises `ValueError` for an unknown client profile and `SettingError` for an impossible setting.
        """
        profile = CLIENTS[_known(client, CLIENTS, "client profile")]
        cluster = self.cluster
        named = {"group.id": group, **(properties or {})}
        settings, _ = client_settings(profile, named, pulls=isinstance(cluster, ReplicatedCluster))
        if uses_zookeeper(profile) and self.zookeeper is None:
            self.zookeeper = open_zookeeper(self.loop, cluster)
        consumer = consumer_for(
            self.loop,
            name,
            settings,
            cluster.transport,
            cluster.data,
            Behaviour(**{key: _value(key, value) for key, value in behaviour.items()}),
            profile,
        )
        if assign is not None:
            consumer.assign(map(_partition, assign))
        else:
            consumer.subscribe(self.topics if topics is None else topics, pattern=pattern)
        if start:
            consumer.start()
        return consumer

    def inject(self, fault: Fault) -> FaultHandle:
        """Begin a fault of the network."""
        return self.cluster.network.inject(fault)

    # --- time ------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        """Virtual time since the start."""
        return self.loop.now_us

    async def run_for(self, duration: Duration) -> None:
        """Let this much virtual time pass."""
        await self.loop.sleep(parse_duration(duration))

    async def until(self, predicate: Callable[[], object], *, within: Duration = MINUTE) -> None:
        """Let time pass until `predicate()` holds, looked at after every event.

        Raises `AssertionError` when it does not within the limit.
        """
        await self._until(predicate, "did not come true", within)

    async def _until(self, predicate: Callable[[], object], complaint: str, within: Duration) -> None:
        if not await self.loop.until(lambda: bool(predicate()), parse_duration(within)):
            states = ", ".join(map(self._state_told, self._groups())) or "no group"
            raise AssertionError(f"{complaint} within {within} of virtual time (at {show_us(self.now_us)}: {states})")

    async def stable(self, group: str = "g1", *, members: int | None = None, within: Duration = "6m") -> GroupSnapshot:
        """Let time pass until the group is Stable (with so many members); returns its snapshot."""

        def settled() -> bool:
            seen = self.group(group)
            return seen is not None and seen.state == "Stable" and members in (None, len(seen.members))

        wanted = "" if members is None else f" with {_members(members)}"
        await self._until(settled, f"{group} did not become Stable{wanted}", within)
        found = self.group(group)
        assert found is not None
        return found

    # --- requests by hand ------------------------------------------------------------------------------------

    def send(self, request: Request, *, node: int | None = None, client: str = HAND) -> Sent:
        """Send a request on a connection of its own, to the coordinator of its group unless told; does not wait."""
        target = node if node is not None else self._coordinator(request)
        connection = self.cluster.transport.connect(client, client, target, "hand")
        sent = Sent(request)

        def done(outcome: Outcome) -> None:
            sent.outcome = outcome

        sent.correlation = connection.send(request, done, parse_duration("1h"))
        return sent

    async def request(
        self, request: Request, *, node: int | None = None, client: str = HAND, within: Duration = "10m"
    ) -> Response:
        """Send a request and wait for its answer. Raises `AssertionError` when there is none in time."""
        sent = self.send(request, node=node, client=client)
        await self.until(lambda: sent.outcome is not None, within=within)
        if sent.outcome is None or isinstance(sent.outcome, Disconnected):
            raise AssertionError(f"no answer to {request}: {sent.outcome}")
        return sent.outcome

    def _coordinator(self, request: Request) -> int:
        group = getattr(request, "group_id", None) or getattr(request, "key", None)
        if group is None:
            group = next(iter(getattr(request, "groups", ()) or ()), None)
        return self.cluster.coordinator_of(group)[0] if group is not None else self.cluster.transport.bootstrap[0]

    # --- looking ---------------------------------------------------------------------------------------------

    def group(self, name: str = "g1") -> GroupSnapshot | None:
        """The group as its coordinator sees it now, with timers and purgatory; None when nobody knows it."""
        return self.cluster.snapshot(name)

    def state(self, name: str = "g1") -> str:
        """The group's state as Kafka's tools print it; Dead when nobody knows it."""
        found = self.group(name)
        return "Dead" if found is None else found.state

    def find(self, kind: Kind | str, **columns: object) -> list[TraceEvent]:
        """The events of one kind whose columns have these values, in order.

        Raises `ValueError` for a kind or a column that no event has.
        """
        wanted = kind if isinstance(kind, Kind) else Kind(_known(kind, [one.value for one in Kind], "kind of event"))
        for name in columns:
            _known(name, TraceEvent._fields, "column of events")
        return [
            event
            for event in self.events
            if event.kind is wanted and all(getattr(event, name) == value for name, value in columns.items())
        ]

    def story(self) -> Story:
        """What happened so far, told; the logs end where they do now."""
        cluster, last = self.cluster, self.events[-1] if self.events else None
        told: dict[str, Any] = {"ends": cluster.log_ends()}
        if isinstance(cluster, Cluster):
            told["growth"] = cluster.data.growth
        seq = last.seq + 1 if last is not None else 1
        now = TraceEvent(seq=seq, t_us=self.now_us, cause=0, kind=Kind.LOG_ENDS, payload=told)
        return tell([*self.events, now])

    def _state_told(self, name: str) -> str:
        found = self.group(name)
        return f"{name} Dead" if found is None else f"{name} {found.state} with {_members(len(found.members))}"

    def _groups(self) -> list[str]:
        return list(dict.fromkeys(event.group for event in self.events if event.group))


def _known(name: str, known: Iterable[str], what: str) -> str:
    """The name, if it is one of these. Raises ValueError with the nearest otherwise."""
    names = list(known)
    if name not in names:
        raise ValueError(f"no {what} {name!r}; {suggest(name, names)}")
    return name


def _members(count: int) -> str:
    return f"{count} member{'' if count == 1 else 's'}"


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


_CHOICES: dict[str, Callable[[str], Any]] = {
    "commit": CommitPolicy,
    "on_error": OnError,
    "on_commit_failure": OnError,
    "stuck": lambda text: frozenset({Stuck(text)}),
}


def _value(field: str, value: Any) -> Any:
    """A field of `Behaviour` from text: one of its choices, or a distribution."""
    return _CHOICES.get(field, parse_distribution)(value) if isinstance(value, str) else value
