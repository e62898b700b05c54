"""The stage of a served cluster: a scenario's world in real time, with clients that the scenario does not contain.

Groups, topics and clients come and go by themselves, so names are looked up in the present cluster. Roles
(`leader of g`) are looked up in the group's member list; a real client is named by its client id.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.network.faults import Fault
from groupsim.cluster.network.injection import FaultHandle
from groupsim.cluster.network.link_faults import CLIENTS, has_purpose
from groupsim.coordinator.base.snapshot import GroupSnapshot, MemberSnapshot
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.language.model import Scenario, Step, TopicSpec
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.registry import StepAction
from groupsim.scenarios.language.targets import NUMBERED, ROLE, Broker
from groupsim.scenarios.language.values import Brokers, Rate
from groupsim.scenarios.plans.clusters import replicated_config
from groupsim.scenarios.runtime.stage import Stage
from groupsim.scenarios.runtime.topic_steps import OnTopics
from groupsim.scenarios.steps.describe_step import action_payload, describe_action
from groupsim.scenarios.validation.references import Known

_FIRST_BLOCK_MS: Final = 50
"""How long a fresh 4.4.0 broker answers InitProducerId with COORDINATOR_LOAD_IN_PROGRESS (measured: 30 to 50 ms)."""


class LiveTopics(OnTopics):
    """The topics, with those that real clients created; those of a data directory exist already."""

    def create(self, name: str, spec: TopicSpec) -> None:
        """Create a topic, unless a stored one exists while the cluster is being created."""
        if name not in self._cluster.image.topics:
            super().create(name, spec)
        else:
            raise ValueError(f"topic {name!r} exists already; choose another name, or delete it first")

    def keep(self, name: str, spec: TopicSpec) -> None:
        """Add a topic of the scenario, created now unless a data directory has it; its traffic goes on."""
        if name not in self._cluster.image.topics:
            super().create(name, spec)
            return
        self._cluster.replicated.feed.shape(name, spec.weights, spec.record_size)
        self.set_rate(name, spec.rate)

    def set_rate(self, topic: str, rate: Rate) -> None:
        """Let a topic grow at another rate. Raises ValueError, with a similar topic, for an unknown one."""
        self._look_up(topic)
        super().set_rate(topic, rate)

    def burst(self, topic: str, records: int) -> None:
        """Append so many records at once. Raises ValueError as `set_rate`."""
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
        """The cluster; a served one has replicated logs."""
        return self.cluster

    def _make_cluster(self, data_dir: Path | None) -> Cluster:
        """Create the cluster; with a `data_dir` it continues the last one. Raises DataDirRefused, OSError."""
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
        """Run a step of the timeline; one that fails is reported, and the cluster goes on."""
        try:
            self.carry_out(step.action)
        except (ValueError, LookupError, RuntimeError) as error:
            if step.action.FAULT:  # a refused action is reported by itself
                reason = f"step `{describe_action(step.action)}` was not carried out: {error}"
                self.loop.trace.emit(Kind.WARNING, host="scenario", reason=reason)

    def carry_out(self, action: StepAction) -> list[FaultHandle]:
        """Run a step now. Returns the faults of the network that it began.

        Raises ValueError, LookupError or RuntimeError when the present state does not allow it.
        """
        trace, before = self.loop.trace, self.loop.trace.cause
        self.begun = []
        trace.cause = 0
        try:
            if not action.FAULT:
                group = getattr(action, "group", None)
                seq = trace.emit(
                    Kind.ACTION, group=group, reason=describe_action(action), payload=action_payload(action)
                )
                trace.begin(seq)
            action.perform(self)
            return self.begun
        except (ValueError, LookupError, RuntimeError) as error:
            if not action.FAULT:
                trace.emit(Kind.ACTION_REFUSED, reason=str(error), payload={"action": describe_action(action)})
            raise
        finally:
            trace.cause = before

    def inject(self, fault: Fault) -> None:
        """Begin a fault of the network, and store it for the caller."""
        self.begun.append(self.cluster.network.inject(fault))

    # --- look-ups ------------------------------------------------------------------------------------------

    def group_ids(self) -> list[str]:
        """Return every group with a coordinator now, by name."""
        alive = [broker for broker in self.replicated.brokers.values() if broker.host.alive]
        return sorted(dict.fromkeys(group for broker in alive for group in broker.groups.group_ids()))

    def group_id(self, name: str | None) -> str:
        """Return the named group, or the only one. Raises ValueError when there is none, or more than one."""
        if name is not None:
            return name
        names = list(dict.fromkeys([*self.scenario.groups, *self.group_ids()]))
        if len(names) == 1:
            return names[0]
        here = f"there are {', '.join(names)}" if names else "no group has members yet"
        raise ValueError(f"which group? Set `group`; {here}")

    def broker_node(self, target: Broker | str) -> int:
        """Return the target broker. Raises ValueError for an unknown number."""
        node = super().broker_node(target)
        if node not in self.replicated.brokers:
            raise ValueError(f"there is no broker {node}; brokers are 0 to {len(self.replicated.brokers) - 1}")
        return node

    def connections(self) -> list[Any]:
        """Return the connections of clients, simulated and real, oldest first."""
        return [c for c in self.cluster.network.connections if has_purpose(CLIENTS, c.purpose)]

    def hosts_of_client(self, pattern: str) -> list[str]:
        """Return the hosts connected under this client id, or the pattern itself without any."""
        there = [c.host_name for c in self.connections() if fnmatchcase(c.client_id or "", pattern)]
        return list(dict.fromkeys(there)) or [pattern]

    def member_with_role(self, target: str) -> tuple[GroupSnapshot, MemberSnapshot] | None:
        """Return the member for `leader of g` or `member 2 of g`; None when the text is no role.

        Raises LookupError while no member has it.
        """
        role, number = ROLE.fullmatch(target), NUMBERED.fullmatch(target)
        found = role or number
        if found is None or target.startswith("coordinator"):
            return None
        group = self.group_id(found["group"])
        snapshot = self.cluster.snapshot(group)
        if snapshot is None:
            raise LookupError(f"`{target}`: group {group!r} has no members")
        wanted = [one for one in snapshot.members if one.member_id == snapshot.leader]
        if number is not None:
            wanted = list(snapshot.members[int(number["number"]) - 1 :][:1])
        if not wanted:
            raise LookupError(f"`{target}`: group {group!r} has {len(snapshot.members)} members, none with this role")
        return snapshot, wanted[0]

    def hosts_of_member(self, member: MemberSnapshot) -> list[str]:
        """Return the hosts of a member's process: its name when simulated, else those of its client id."""
        name = member.client_host.removeprefix("/")
        return [name] if name in self.actors_by_name else self.hosts_of_client(member.client_id)

    def known(self, *, named: tuple[str, ...] = ()) -> Known:
        """Return every present name; `named` count as members too."""
        image, brokers = self.replicated.controller.image, self.replicated.brokers
        partitions = {name: len(topic.partitions) for name, topic in image.topics.items()}
        groups = tuple(dict.fromkeys([*self.scenario.groups, *self.group_ids()]))
        return Known(
            groups, (*self.actors_by_name, *named), tuple(self.producers_by_name), partitions, Brokers.listed(brokers)
        )


class _NoTopicsYet(OnTopics):
    """Creates no topic while the stage is being made: `begin` creates them, when the listeners are open."""

    def create(self, name: str, spec: TopicSpec) -> None:
        """Create nothing yet."""
