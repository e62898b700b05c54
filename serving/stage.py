"""The stage of a served cluster: a scenario's world, in real time, with clients in it that the scenario does not know.

Groups, topics and clients come and go by themselves here, so that a name is looked up in the cluster as it stands.
Roles (`leader of g`) are found in the group's own member list; a real client is called by its client id.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.network.faults import Fault
from groupsim.cluster.network.injection import FaultHandle
from groupsim.cluster.network.link_faults import CLIENTS, is_meant
from groupsim.coordinator.classic.snapshot import GroupSnapshot, MemberSnapshot
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.language.model import Scenario, Step, TopicSpec
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.registry import Deed
from groupsim.scenarios.language.targets import NUMBERED, ROLE, Broker
from groupsim.scenarios.language.values import Brokers, Rate
from groupsim.scenarios.plans.clusters import replicated_config
from groupsim.scenarios.runtime.stage import Stage
from groupsim.scenarios.runtime.topic_steps import OnTopics
from groupsim.scenarios.steps.describe_step import deed_data, deed_words
from groupsim.scenarios.validation.references import Known

_FIRST_BLOCK_MS: Final = 50
"""How long a fresh 4.4.0 broker answers InitProducerId with COORDINATOR_LOAD_IN_PROGRESS: 30 to 50 ms as measured."""


class LiveTopics(OnTopics):
    """Topics that real clients make are known too; those that were kept on disk are there already."""

    def create(self, name: str, spec: TopicSpec) -> None:
        """Create a topic, unless a kept one is there while the cluster is being made."""
        if name not in self._cluster.image.topics:
            super().create(name, spec)
        else:
            raise ValueError(f"topic {name!r} exists already; choose another name, or delete it first")

    def keep(self, name: str, spec: TopicSpec) -> None:
        """A topic of the scenario, made now unless it was kept from the run before; its traffic goes on."""
        if name not in self._cluster.image.topics:
            super().create(name, spec)
            return
        self._cluster.replicated.feed.shape(name, spec.weights, spec.record_size)
        self.set_rate(name, spec.rate)

    def set_rate(self, topic: str, rate: Rate) -> None:
        """Let a topic grow at another rate. Raises ValueError, naming a similar topic, for an unknown one."""
        self._look_up(topic)
        super().set_rate(topic, rate)

    def burst(self, topic: str, records: int) -> None:
        """So many records at once. Raises ValueError as `set_rate`."""
        self._look_up(topic)
        super().burst(topic, records)

    def _look_up(self, topic: str) -> None:
        known = self._cluster.image.topics
        if topic not in known:
            raise ValueError(f"there is no topic {topic!r}; {suggest(topic, known, 'topics here')}")


class LiveStage(Stage):
    """The stage; `begin` starts the scenario's processes and its timeline."""

    def __init__(self, loop: EventLoop, scenario: Scenario, data_dir: Path | None = None) -> None:
        self.begun: list[FaultHandle] = []
        super().__init__(loop, scenario, data_dir)

    @property
    def replicated(self) -> Cluster:
        """The cluster; a served one has logs."""
        return self.cluster

    def _make_cluster(self, data_dir: Path | None) -> Cluster:
        """The cluster; with a `data_dir` it goes on where the last one stopped. Raises DataDirRefused, OSError."""
        config = replicated_config(self.scenario)
        config = evolve(config, transactions=evolve(config.transactions, first_block_ms=_FIRST_BLOCK_MS))
        if data_dir is not None:
            config = evolve(config, storage=data_dir, kept=True)
        return Cluster(self.loop, config)

    def _make_topics(self) -> OnTopics:
        return _NoTopicsYet(self)

    def begin(self) -> None:
        """Start every process at its time, and the timeline."""
        self.topics = LiveTopics(self)
        for name, spec in self.scenario.topics.items():
            self.topics.keep(name, spec)
        super().begin()
        for step in self.scenario.timeline:
            if step.at != "never":
                self._plan(step, int(step.at), 1)

    def _plan(self, step: Step, at_us: int, number: int) -> None:
        def due(_: Any) -> None:
            self._due(step)
            if step.every is not None and (step.times is None or number < step.times):
                self._plan(step, at_us + step.every, number + 1)

        self.loop.call_at(at_us, due)

    def _due(self, step: Step) -> None:
        """A step of the timeline; one that cannot be carried out is told, and the cluster goes on."""
        try:
            self.carry_out(step.deed)
        except (ValueError, LookupError, RuntimeError) as error:
            if step.deed.FAULT:  # an action that is refused says so itself
                reason = f"step `{deed_words(step.deed)}` was not carried out: {error}"
                self.loop.trace.emit(Kind.WARNING, host="scenario", reason=reason)

    def carry_out(self, deed: Deed) -> list[FaultHandle]:
        """Carry a step out now. Returns the faults of the network it began.

        Raises ValueError, LookupError or RuntimeError when it cannot be done as things stand.
        """
        trace, before = self.loop.trace, self.loop.trace.cause
        self.begun = []
        trace.cause = 0
        try:
            if not deed.FAULT:
                group = getattr(deed, "group", None)
                seq = trace.emit(Kind.ACTION, group=group, reason=deed_words(deed), payload=deed_data(deed))
                trace.begin(seq)
            deed.perform(self)
            return self.begun
        except (ValueError, LookupError, RuntimeError) as error:
            if not deed.FAULT:
                trace.emit(Kind.ACTION_REFUSED, reason=str(error), payload={"action": deed_words(deed)})
            raise
        finally:
            trace.cause = before

    def inject(self, fault: Fault) -> None:
        """Begin a fault of the network, and remember it for who asked."""
        self.begun.append(self.cluster.network.inject(fault))

    # --- who is there ------------------------------------------------------------------------------------------------

    def group_ids(self) -> list[str]:
        """Every group that a coordinator knows now, by name."""
        alive = [broker for broker in self.replicated.brokers.values() if broker.host.alive]
        return sorted(dict.fromkeys(group for broker in alive for group in broker.groups.group_ids()))

    def group_id(self, name: str | None) -> str:
        """The group named, or the only one. Raises ValueError when there is none, or more than one."""
        if name is not None:
            return name
        names = list(dict.fromkeys([*self.scenario.groups, *self.group_ids()]))
        if len(names) == 1:
            return names[0]
        here = f"there are {', '.join(names)}" if names else "nobody has joined one yet"
        raise ValueError(f"which group? Give `group`; {here}")

    def broker_node(self, target: Broker | str) -> int:
        """The broker meant. Raises ValueError for a number nobody has."""
        node = super().broker_node(target)
        if node not in self.replicated.brokers:
            raise ValueError(f"there is no broker {node}; brokers are 0 to {len(self.replicated.brokers) - 1}")
        return node

    def connections(self) -> list[Any]:
        """The connections of clients, simulated and real, oldest first."""
        return [c for c in self.cluster.network.connections if is_meant(CLIENTS, c.purpose)]

    def hosts_of_client(self, pattern: str) -> list[str]:
        """The hosts that are connected under this client id, or the pattern itself while nobody is."""
        there = [c.host_name for c in self.connections() if fnmatchcase(c.client_id or "", pattern)]
        return list(dict.fromkeys(there)) or [pattern]

    def member_with_role(self, target: str) -> tuple[GroupSnapshot, MemberSnapshot] | None:
        """Who is meant by `leader of g` or `member 2 of g`; None when the text is no role.

        Raises LookupError while nobody plays it.
        """
        role, number = ROLE.fullmatch(target), NUMBERED.fullmatch(target)
        said = role or number
        if said is None or target.startswith("coordinator"):
            return None
        group = self.group_id(said["group"])
        snapshot = self.cluster.snapshot(group)
        if snapshot is None:
            raise LookupError(f"`{target}`: nobody has joined group {group!r}")
        wanted = [one for one in snapshot.members if one.member_id == snapshot.leader]
        if number is not None:
            wanted = list(snapshot.members[int(number["number"]) - 1 :][:1])
        if not wanted:
            raise LookupError(f"`{target}`: group {group!r} has {len(snapshot.members)} members and no such one")
        return snapshot, wanted[0]

    def hosts_of_member(self, member: MemberSnapshot) -> list[str]:
        """The hosts a member's process has: its name when simulated, else those of its client id."""
        name = member.client_host.removeprefix("/")
        return [name] if name in self.actors_by_name else self.hosts_of_client(member.client_id)

    def known(self, *, named: tuple[str, ...] = ()) -> Known:
        """Every name there is now; `named` are taken for members too."""
        image, brokers = self.replicated.controller.image, self.replicated.brokers
        partitions = {name: len(topic.partitions) for name, topic in image.topics.items()}
        groups = tuple(dict.fromkeys([*self.scenario.groups, *self.group_ids()]))
        return Known(
            groups, (*self.actors_by_name, *named), tuple(self.producers_by_name), partitions, Brokers.listed(brokers)
        )


class _NoTopicsYet(OnTopics):
    """While the stage is being made no topic is: `begin` makes them, when the listeners stand."""

    def create(self, name: str, spec: TopicSpec) -> None:
        """Nothing yet."""
