"""`Simulation`: a cluster, groups and members in virtual time. It is the fixture `sim`, and works without pytest too.

    async def scene(sim):
        sim.topic("orders", 4)
        c1, c2 = sim.member("c1"), sim.member("c2")
        await sim.stable("g1", members=2)
        c1.crash()
        await sim.until(lambda: sim.state("g1") == "PreparingRebalance", within="50s")

    Simulation(seed=1).run(scene)

Methods are synchronous, except those that let time pass, which are awaited. No event happens between two awaits.
Methods import modules that few tests need (the cluster, ZooKeeper, the story), so that a test process starts quickly.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast

from attrs import Factory, field, fields_dict, validators

from groupsim.cluster.config.cluster import COUNTED_SETTINGS, ClusterConfig
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.placement import partition_for
from groupsim.coordinator.base.snapshot import GroupSnapshot
from groupsim.coordinator.classic.states import State
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import NORMAL, Level, Trace
from groupsim.eventloop.units import parse_duration, show_us
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.members.consumer.consumer import Consumer, resolve_assignors
from groupsim.members.failures import PluginError, PluginErrors
from groupsim.members.profiles import ClientProfile
from groupsim.members.settings import ConsumerSettings, SettingError
from groupsim.members.subscription import listed, partition_of
from groupsim.members.zookeeper.kinds import client_settings, consumer_for, uses_zookeeper
from groupsim.protocol.messages.group import AnsweredBy, Request, TopicPartition
from groupsim.protocol.values import define
from groupsim.scenarios.language.clients import simulated
from groupsim.scenarios.plans.clusters import COUNTED, ONLY_COUNTED, REPLICATED, brokers_of
from groupsim.testing.application import Application, Strategy, assignors_of, behaviour_of, names_of
from groupsim.testing.found_events import Found, are_listed, as_in_traces, can_be
from groupsim.testing.names import hosts_exist, known, only_known
from groupsim.testing.raw_requests import Answer, Sent, is_awaited, node_for
from groupsim.testing.unawaited import Awaited, complain
from groupsim.testing.whole_trace import log_ends, run_started

if TYPE_CHECKING:
    from groupsim.cluster.cluster import Cluster
    from groupsim.cluster.network.faults import Fault
    from groupsim.cluster.network.injection import FaultHandle
    from groupsim.cluster.zookeeper import ZooKeeperServer
    from groupsim.scenarios.invariants.watch import Invariants
    from groupsim.scenarios.story import Story

__tracebackhide__ = True  # a report ends at the line of the test; `pytest --full-trace` shows the rest
Duration = str | int
Result = TypeVar("Result")
RAW_HOST = "hand"  # the default host of raw requests
MINUTE = "60s"
OWN = (
    "seed",
    "brokers",
    "broker",
    "logs",
    "level",
    "invariants",
)  # arguments of a simulation, besides those of its cluster
_STATES = [state.printed for state in State if state is not State.DEAD]
DRAWN = ("latency", "processing", "append_latency")


def _level(level: Level | str) -> Level:
    names = [one.name.lower() for one in Level]
    return level if isinstance(level, Level) else Level[known(level, names, "level of the trace").upper()]


@define(eq=False)
class Simulation:
    """One simulated cluster. `broker` has broker settings by Kafka's names, and `version` for the broker's version.

    `logs` is "replicated", or "counted" for logs that are numbers and cost less; `config` has other fields of the
    cluster's configuration (`latency`, `racks`, `load_us` …). With `level="full"` the trace lists every heartbeat.
    `invariants` are checked while it runs (docs/invariants.md): a name, several, or "all".

    To inspect: `events`, the trace so far; `members` by name; injected `faults`; `topics`; `cluster`; `now_us`.
    """

    seed: int = 0
    brokers: int = 1
    broker: Mapping[str, object] = Factory(dict)
    config: Mapping[str, Any] = Factory(dict)  # other fields of ClusterConfig or ClusterConfig: latency, racks …
    level: Level = field(default=NORMAL, converter=_level)
    #: The trace so far.
    events: list[TraceEvent] = field(factory=list, init=False, repr=False)
    _loop: VirtualLoop | None = field(default=None, init=False, repr=False)
    #: The ZooKeeper server, made for the first member that needs one (client="zookeeper-0.8").
    zookeeper: ZooKeeperServer | None = field(default=None, init=False, repr=False)
    logs: Literal["replicated", "counted"] = field(default=REPLICATED, validator=validators.in_((REPLICATED, COUNTED)))
    _cluster: Cluster | None = field(default=None, init=False, repr=False)
    #: The members made so far, by name, and the faults injected.
    members: dict[str, Consumer] = field(factory=dict, init=False, repr=False)
    faults: list[FaultHandle] = field(factory=list, init=False, repr=False)
    invariants: str | Sequence[str] = ()
    _watched: Invariants | None = field(default=None, init=False, repr=False)
    #: Makes the report of a failed test, before its members give up their partitions.
    on_failure: Callable[[Simulation], str] | None = field(default=None, init=False, repr=False)
    #: The report that `on_failure` made.
    at_failure: str | None = field(default=None, init=False, repr=False)
    _has_run: bool = field(default=False, init=False, repr=False)
    _raw_hosts: dict[str, None] = field(factory=lambda: {RAW_HOST: None}, init=False, repr=False)
    _forgotten: dict[Awaited[Any], None] = field(factory=dict, init=False, repr=False)
    _config: ClusterConfig = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Build the cluster's configuration. Raises ValueError for an unknown argument, setting or invariant."""
        if not isinstance(self.seed, int):
            raise ValueError(f"seed={self.seed!r}: a seed is a whole number")
        if self.invariants:
            from groupsim.scenarios.invariants.table import ALL, INVARIANTS

            self.invariants = [self.invariants] if isinstance(self.invariants, str) else [*self.invariants]
            for name in self.invariants:
                known(name, [ALL, *(one.name for one in INVARIANTS), *(one.code for one in INVARIANTS)], "invariant")
        self._config = self._replicated() if self.logs == REPLICATED else self._counted()

    # --- life ------------------------------------------------------------------------------------------------

    def run(self, story: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        """Run the async function `story(sim, …)` in virtual time, and return its result; its exceptions propagate."""
        return self.drive(lambda: story(self, *args, **kwargs))

    def drive(self, story: Callable[[], Awaitable[Any]]) -> Any:
        """Run an async function without arguments in virtual time.

        Raises AssertionError if it did not await a step, RuntimeError for a second function: the members have ended.
        """
        __tracebackhide__ = True
        if self._has_run:
            raise RuntimeError("a simulation runs once, and its members have ended; make another Simulation")
        self._has_run = True

        async def main(loop: VirtualLoop) -> Any:
            try:
                result = await story()
                self._hold()
                return result
            except BaseException as error:
                if self.on_failure is not None:  # before the run unwinds and members give up their partitions
                    self.at_failure = self.on_failure(self)
                if str(error) == "no running event loop":  # the message of asyncio
                    error.add_note("a test with `sim` runs in virtual time: `await sim.run_for(…)` lets time pass")
                raise

        try:
            result = self.loop.run(main)
        except PluginError as error:
            raise error.with_traceback(None) from error.__cause__  # only the frames of the plugin are of interest
        self.complain()
        return result

    def _hold(self) -> None:
        """Raise AssertionError if an invariant that is checked was violated."""
        __tracebackhide__ = True
        wrong = self._watched.end() if self._watched is not None else ()
        if wrong:
            raise AssertionError("\n".join(map(str, wrong)))

    def complain(self) -> None:
        """Raise AssertionError if a method that lets time pass was called and not awaited."""
        complain(self._forgotten)

    @property
    def loop(self) -> VirtualLoop:
        """The event loop, made on first use."""
        if self._loop is None:
            trace = Trace(self.level)
            trace.subscribe(self.events.append)
            if self.invariants:
                from groupsim.scenarios.invariants.watch import Invariants

                self._watched = Invariants(self.invariants, trace, self.seed)
            self._loop = VirtualLoop(self.seed, trace)
        return self._loop

    @property
    def cluster(self) -> Cluster:
        """The cluster, made on first use."""
        if self._cluster is None:
            from groupsim.cluster.cluster import Cluster

            self._cluster = Cluster(self.loop, self._config)
        return self._cluster

    def _replicated(self) -> ClusterConfig:
        for name in self.config:
            if name.removesuffix("_us") in ONLY_COUNTED:
                raise ValueError(f"{name} is an argument of counted logs; leave it out, or add logs={COUNTED!r}")
        settings = dict(self.broker)
        version = settings.pop("version", None)
        others = self._others(fields_dict(ClusterConfig))
        return brokers_of(None if version is None else str(version), settings, brokers=self.brokers, **others)

    def _counted(self) -> ClusterConfig:
        settings = dict(self.broker)
        if "version" in settings:
            settings["broker.version"] = settings.pop("version")
        coordinator = CoordinatorConfig.from_properties(settings)
        others = self._others(COUNTED_SETTINGS)
        return ClusterConfig.with_counted_logs(brokers=self.brokers, coordinator=coordinator, **others)

    def _others(self, known: Iterable[str]) -> dict[str, Any]:
        """Return the other fields of the cluster's configuration; distributions may be text."""
        only_known(self.config, [*OWN, *known], "argument of a simulation")
        return {
            name: parse_distribution(value) if name in DRAWN and isinstance(value, str) else value
            for name, value in self.config.items()
        }

    # --- building --------------------------------------------------------------------------------------------

    def topic(self, name: str, partitions: int = 1, *, rate: int | str = 0) -> str:
        """Create a topic that gets `rate` records per second; returns its name."""
        self.cluster.create_topic(name, partitions, rate=rate)
        return name

    @property
    def topics(self) -> dict[str, int]:
        """The number of partitions of each topic, without internal topics."""
        known = self.cluster.image.topics
        return {name: len(topic.partitions) for name, topic in known.items() if not topic.internal}

    def member(
        self,
        name: str,
        group: str = "g1",
        *,
        topics: Iterable[str] | None = None,
        pattern: str | None = None,
        regex: str | None = None,
        assign: Iterable[str | TopicPartition] | None = None,
        client: str | ClientProfile = "java",
        defects: Iterable[str] = (),
        assignors: Sequence[Strategy] | None = None,
        start: bool = True,
        properties: Mapping[str, object] | None = None,
        plugin_errors: Literal["stop", "as-kafka"] = "stop",
        **behaviour: Unpack[Application],
    ) -> Consumer:
        """Make a consumer process, subscribed to `topics` (by default to every topic) and started.

        `pattern` is resolved by the client, `regex` (RE2/J) by the broker. With `assign=["orders-0"]` it has these
        partitions and joins no group.

        `properties` are Kafka's settings; other arguments are fields of `Behaviour`, with distributions and choices as
        text: `processing="5ms"`, `on_revoked="uniform(1s, 30s)"`, `commit="never"`, `stuck="never-sync"`. `client` is a
        library by name or release, or your own `ClientProfile`, with further `defects` by name (docs/defects.md);
        `assignors` are names, or your own classes.
        An assignor that raises or returns an invalid result ends the run (PluginError), except with
        `plugin_errors="as-kafka"`. Raises `ValueError` for an unknown or existing name, `SettingError` for an invalid
        or misspelt setting, `AssignorError` for an invalid assignor.
        """
        if name in self.members:
            raise ValueError(f"the member {name!r} exists; start it again with .start(), or choose another name")
        profile = client.with_defects(defects) if isinstance(client, ClientProfile) else simulated(client, (*defects,))
        by_name = assign is None and pattern is None and regex is None
        wanted = self._topics_for(name, topics) if by_name else None
        chosen = None if assign is None else [partition_of(one) for one in listed(assign, "assign")]
        settings = self._settings(profile, group, properties, assignors)
        consumer = consumer_for(
            self.loop,
            name,
            settings,
            self.cluster.transport,
            self.cluster.data,
            behaviour_of(behaviour),
            profile,
            plugin_errors=PluginErrors(known(plugin_errors, list(PluginErrors), "plugin_errors")),
            assignors=resolve_assignors if assignors is None else assignors_of(assignors),
        )
        if uses_zookeeper(profile) and self.zookeeper is None:
            from groupsim.scenarios.runtime.zookeeper import open_zookeeper

            self.zookeeper = open_zookeeper(self.loop, self.cluster)
        if chosen is not None:
            consumer.assign(chosen)
        else:
            consumer.subscribe(wanted or (), pattern=pattern, regex=regex)
        consumer.awaits = self._awaited
        self.members[name] = consumer
        if start:
            consumer.start()
        return consumer

    def _settings(
        self,
        profile: ClientProfile,
        group: str,
        properties: Mapping[str, object] | None,
        assignors: Sequence[Strategy] | None,
    ) -> ConsumerSettings:
        """Build a member's settings. Raises SettingError for a misspelt one, as in a scenario file."""
        named = {"group.id": group, **(properties or {})}
        if assignors is not None:
            named["partition.assignment.strategy"] = names_of(assignors)
        settings, notes = client_settings(profile, named, pulls=not self.cluster.is_counted)
        for note in notes:
            problem, _, remedy = note.message.partition("; ")
            if "did you mean" in remedy:
                raise SettingError(note.key, named[note.key], problem, remedy)
        return settings

    def _topics_for(self, name: str, topics: Iterable[str] | None) -> tuple[str, ...]:
        wanted = tuple(self.topics) if topics is None else listed(topics, "topics")
        if topics is None and not wanted:
            raise ValueError(f"{name} would subscribe to no topic: make a topic first, or add topics=[…]")
        return wanted

    def inject(self, fault: Fault) -> FaultHandle:
        """Start a fault of the network. Raises ValueError for an unknown host."""
        hosts_exist(fault, self._hosts())
        handle = self.cluster.network.inject(fault)
        self.faults.append(handle)
        return handle

    def _hosts(self) -> list[str]:
        brokers = (broker.host.name for broker in self.cluster.brokers.values())
        return [*self.members, *brokers, "controller", *self._raw_hosts]

    def coordinator(self, group: str = "g1") -> int:
        """Return the node id of a group's coordinator, whose host is `broker-<id>`. Raises LookupError without one."""
        return self.cluster.coordinator_of(group)[0]

    def move_coordinator(self, group: str = "g1") -> int:
        """Move a group's coordinator to the next broker, as an election does; return its node id.

        Raises ValueError if there is only one broker, or if the next one is down or not in sync.
        """
        nodes = list(self.cluster.brokers)
        if len(nodes) == 1:
            raise ValueError("the coordinator cannot move: there is one broker; add brokers=3 to @pytest.mark.sim(…)")
        node = self.coordinator(group)
        following = nodes[(nodes.index(node) + 1) % len(nodes)]
        self.cluster.move_coordinator(partition_for(group, self._config.offsets_partitions), following)
        return following

    # --- time ------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        """Virtual time since the start."""
        return self.loop.now_us

    def run_for(self, duration: Duration) -> Awaited[None]:
        """Let this much virtual time pass."""
        us = parse_duration(duration)
        return Awaited(self._forgotten, f"sim.run_for({duration!r})", lambda: self.loop.sleep(us))

    def until(self, predicate: Callable[[], object], *, within: Duration = MINUTE) -> Awaited[None]:
        """Let time pass until `predicate()` holds; it is evaluated after every event.

        Raises `AssertionError` if it does not hold within the limit.
        """
        if not callable(predicate):
            raise ValueError(
                f"sim.until({predicate!r}): not a function, and cannot be evaluated again; write `lambda: …` around it"
            )
        return self._awaited("sim.until(…)", lambda: self._until(predicate, "did not come true", within))

    async def _until(self, predicate: Callable[[], object], complaint: str, within: Duration) -> None:
        __tracebackhide__ = True
        if not await self.loop.until(lambda: bool(predicate()), parse_duration(within)):
            states = ", ".join(map(self._state_text, self._groups())) or "no group"
            raise AssertionError(f"{complaint} within {within} of virtual time (at {show_us(self.now_us)}: {states})")

    def stable(
        self, group: str = "g1", *, members: int | None = None, within: Duration = "6m"
    ) -> Awaited[GroupSnapshot]:
        """Let time pass until the group is Stable at its coordinator (with `members` members); return its snapshot.

        The answers with the members' assignments are still in flight then: see `settled`.
        """
        return self._awaited(f"sim.stable({group!r})", lambda: self._group_is("Stable", group, members, within))

    def in_state(
        self, state: str, group: str = "g1", *, members: int | None = None, within: Duration = "6m"
    ) -> Awaited[GroupSnapshot]:
        """Let time pass until the group is in a state (with `members` members); return its snapshot.

        States are written as Kafka's tools print them. Raises ValueError for an unknown one and for Dead.
        """
        wanted = known(state, _STATES, "state of a group")
        return self._awaited(f"sim.in_state({state!r})", lambda: self._group_is(wanted, group, members, within))

    def settled(
        self, group: str = "g1", *, members: int | None = None, within: Duration = "6m"
    ) -> Awaited[GroupSnapshot]:
        """Let time pass until the group is Stable and each of its members owns its partitions.

        Then its callbacks have ended, and it needs no further rebalance. Members of raw requests count as settled.
        """
        return self._awaited(f"sim.settled({group!r})", lambda: self._group_is("settled", group, members, within))

    async def _group_is(self, how: str, group: str, members: int | None, within: Duration) -> GroupSnapshot:
        __tracebackhide__ = True
        state = "Stable" if how == "settled" else how

        def reached() -> bool:
            seen = self.group_or_none(group)
            if seen is None or seen.state != state or members not in (None, len(seen.members)):
                return False
            return how != "settled" or all(self._has_settled(member.client_host) for member in seen.members)

        wanted = "" if members is None else f" with {_members(members)}"
        await self._until(reached, f"{group} did not become {how}{wanted}", within)
        found = self.group_or_none(group)
        assert found is not None
        return found

    def _has_settled(self, client_host: str) -> bool:
        member = self.members.get(client_host.removeprefix("/"))
        return member is None or member.settled

    def _awaited(self, words: str, work: Callable[[], Coroutine[Any, Any, Result]]) -> Awaited[Result]:
        return Awaited(self._forgotten, words, work)

    # --- raw requests ----------------------------------------------------------------------------------------

    def send(self, request: AnsweredBy[Answer], *, node: int | None = None, client: str = RAW_HOST) -> Sent[Answer]:
        """Send a request on a new connection, to `node` or by default to its coordinator, without waiting.

        The result's `.answered` and `.answer` have the response when it has arrived.
        """
        target = node if node is not None else node_for(self.cluster, request)
        self._raw_hosts[client] = None
        connection = self.cluster.transport.connect(client, client, target, "hand")
        sent = Sent(request)

        def done(outcome: Any) -> None:
            sent.outcome = outcome

        sent.correlation = connection.send(cast(Request, request), done, parse_duration("1h"))
        return sent

    def request(
        self, request: AnsweredBy[Answer], *, node: int | None = None, client: str = RAW_HOST, within: Duration = "10m"
    ) -> Awaited[Answer]:
        """Send a request and wait for its answer. Raises `AssertionError` if there is none in time."""
        words = f"sim.request({type(request).__name__})"
        return self._awaited(words, lambda: self._request(request, node, client, within))

    async def _request(self, request: AnsweredBy[Answer], node: int | None, client: str, within: Duration) -> Answer:
        __tracebackhide__ = True
        if node is None and is_awaited(self.cluster, request):
            await self._until(lambda: not is_awaited(self.cluster, request), f"no coordinator for {request}", within)
        sent = self.send(request, node=node, client=client)
        await self._until(lambda: sent.outcome is not None, f"no answer to {request}", within)
        return sent.answer

    # --- inspection ------------------------------------------------------------------------------------------

    def group(self, name: str = "g1") -> GroupSnapshot:
        """Return a snapshot of the group at its coordinator, with timers and purgatory.

        Raises LookupError if no coordinator knows the group; `group_or_none` returns None then.
        """
        found = self.group_or_none(name)
        if found is None:
            remedy = "wait for it (await sim.stable(…)), or use sim.group_or_none(…)"
            there = f"groups of this run: {', '.join(self._groups()) or 'none yet'}; {remedy}"
            raise LookupError(f"no coordinator knows a group {name!r} now; {there}")
        return found

    def group_or_none(self, name: str = "g1") -> GroupSnapshot | None:
        """Return a snapshot of the group at its coordinator; None if no coordinator knows it."""
        return self.cluster.snapshot(name)

    def state(self, name: str = "g1") -> str:
        """Return the group's state as Kafka's tools print it; Dead if no coordinator knows it."""
        found = self.group_or_none(name)
        return "Dead" if found is None else found.state

    def find(self, kind: Kind | str, **columns: object) -> list[TraceEvent]:
        """Return the events of one kind whose columns have these values, in order.

        Raises `ValueError` for an unknown kind, column, API, error or host, and for successful heartbeats, which are
        not listed.
        """
        wanted = kind if isinstance(kind, Kind) else Kind(known(kind, [one.value for one in Kind], "kind of event"))
        only_known(columns, TraceEvent._fields, "column of events")
        asked = as_in_traces(columns)
        are_listed(wanted, asked, self.level)
        found = Found.among(self.events, wanted, asked)
        if not found:
            can_be(asked, self.events, [*self._hosts(), *(f"producer-{topic}" for topic in self.topics)])
        return found

    def story(self) -> Story:
        """Return the story of the run so far, with the present log ends."""
        from groupsim.scenarios.story import tell  # most tests read no story

        return tell([*self.events, self._ends()])

    def _repr_html_(self) -> str:
        """Return the headline and the lanes of the story so far, for a notebook."""
        from groupsim.scenarios.pictures.notebook import story_html

        return story_html(self.story())

    def expect(self, check: str, value: object = True, **keys: object) -> None:
        """Check an expectation of scenario files on the run so far: `sim.expect("lost", 0)`.

        Checks and their keys are those of docs/writing-a-scenario.md, with underscores for dashes, and one after
        Python's keywords: `sim.expect("owner", partition="orders-0", is_="c1")`. Raises AssertionError if the check
        does not hold, ValueError for an unknown check or key.
        """
        __tracebackhide__ = True
        from groupsim.testing.expectations import (
            judge,  # a third of a second: most tests need none of the language of files
        )

        events = lambda: [run_started(self.members.values()), *self.events, self._ends()]  # noqa: E731
        judge(check, value, keys, events, self._watched)

    def _ends(self) -> TraceEvent:
        return log_ends(self.cluster, self.events, self.now_us)

    def _state_text(self, name: str) -> str:
        found = self.group_or_none(name)
        return f"{name} Dead" if found is None else f"{name} {found.state} with {_members(len(found.members))}"

    def _groups(self) -> list[str]:
        return list(dict.fromkeys(event.group for event in self.events if event.group))


def _members(count: int) -> str:
    return f"{count} member{'' if count == 1 else 's'}"
