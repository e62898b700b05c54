"""The running scenario: the cluster, the processes, and the operations that steps perform on them.

Actions and faults are data (`scenarios/steps/`); the stage performs them, and a step that takes time
continues in a task of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.network.faults import Fault
from groupsim.cluster.zookeeper import ZooKeeperServer
from groupsim.coordinator.base.placement import partition_for
from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.interface import EventLoop
from groupsim.members.failures import PluginErrors
from groupsim.members.settings import ConsumerSettings
from groupsim.members.zookeeper.kinds import client_settings, consumer_for, uses_zookeeper
from groupsim.scenarios.language.acls import acls_of
from groupsim.scenarios.language.model import Scenario, TopicSpec
from groupsim.scenarios.language.targets import NUMBERED, ROLE, Broker, group_named, matches, partition_named
from groupsim.scenarios.language.values import Rate, Size, read_rate
from groupsim.scenarios.plans.clusters import counted_config, is_replicated, replicated_config
from groupsim.scenarios.plans.members import MemberPlan, plans, properties_of, with_properties
from groupsim.scenarios.plans.phase_shifts import BEAT_US, Item, shifts
from groupsim.scenarios.plans.producers import producer_plans, with_transactions
from groupsim.scenarios.runtime.admin import Admin
from groupsim.scenarios.runtime.autoscaling import Autoscale, Autoscaler
from groupsim.scenarios.runtime.broker_rollout import BrokerRollout
from groupsim.scenarios.runtime.broker_steps import OnBrokers
from groupsim.scenarios.runtime.member_process import Actor, behaviour_of
from groupsim.scenarios.runtime.producers import ProducerActor, transforming
from groupsim.scenarios.runtime.rollout import RolloutRunner, scale
from groupsim.scenarios.runtime.topic_steps import OnTopics
from groupsim.scenarios.runtime.zookeeper import freeze, open_zookeeper
from groupsim.scenarios.steps.actions import RollingRestart, Scale
from groupsim.scenarios.steps.broker_rollout import RollBrokers


class Stage:
    """The cluster and the processes of one run."""

    def __init__(self, loop: EventLoop, scenario: Scenario, data_dir: Path | None = None) -> None:
        self.loop = loop
        self.scenario = scenario
        self.host = loop.host("scenario")
        self._folder = Path(scenario.file).parent if scenario.file else Path()
        self.cluster = self._make_cluster(data_dir)
        self.zookeeper: ZooKeeperServer | None = None
        self.actors_by_name: dict[str, Actor] = {}
        self.producers_by_name: dict[str, ProducerActor] = {}
        self.awaited: set[str] = set()  # pods that a rollout is about to start
        self.admin = Admin(self)
        self.on_brokers = OnBrokers(self)
        self.topics = self._make_topics()
        if scenario.cluster.acls:
            self.cluster.replicated.make_acls(acls_of(scenario.cluster.acls))
        for name, topic in scenario.topics.items():
            self.topics.create(name, topic)
            for step in topic.steps:
                self.loop.call_at(step.at, self._set_rate_later, (name, step.rate))
        for one in producer_plans(scenario):
            self.producers_by_name[one.name] = ProducerActor(loop, one, self.cluster.transport)
        for plan in plans(scenario):
            self.add(plan)
        self.shifts = self._drawn_shifts() if scenario.shift_steps else {}

    def _drawn_shifts(self) -> Mapping[Item, int]:
        settings = (actor.consumer.settings for actor in self.actors_by_name.values())
        beats = [one.heartbeat_interval_ms * 1000 for one in settings]
        return shifts(
            self.scenario, max(beats, default=BEAT_US), lambda name, bound: self.loop.stream("shift", name).below(bound)
        )

    def _make_cluster(self, data_dir: Path | None) -> Cluster:
        """Return the cluster, started; a replicated one keeps its logs in files below `data_dir`, if given."""
        if not is_replicated(self.scenario):
            return Cluster(self.loop, counted_config(self.scenario))
        config = replicated_config(self.scenario)
        replica = evolve(config.replica, storage_failure_ends_run=data_dir is not None)
        return Cluster(self.loop, evolve(config, storage=data_dir, replica=replica))

    def _make_topics(self) -> OnTopics:
        return OnTopics(self)

    def close(self) -> None:
        """Close the files of the run."""
        self.cluster.close_files()

    # --- processes -------------------------------------------------------------------------------------------------

    def add(self, plan: MemberPlan) -> Actor:
        """Add a process, not started yet."""
        behaviour, producer = behaviour_of(plan.spec), None
        produces = self.scenario.groups[plan.group].produces
        if produces is not None:
            producer, exactly_once = transforming(self.loop, plan, produces, self.cluster.transport)
            behaviour = evolve(behaviour, exactly_once=exactly_once)
        settings = self._settings_of(plan)
        if uses_zookeeper(plan.profile) and self.zookeeper is None:
            self.zookeeper = open_zookeeper(self.loop, self.cluster)
        consumer = consumer_for(
            self.loop,
            plan.name,
            settings,
            self.cluster.transport,
            self.cluster.data,
            behaviour,
            plan.profile,
            plugin_errors=PluginErrors(self.scenario.plugin_errors),
        )
        if plan.spec.assign is not None:
            consumer.assign(map(partition_named, plan.spec.assign))
        elif plan.spec.subscribe_pattern is not None:
            consumer.subscribe(pattern=plan.spec.subscribe_pattern)
        elif plan.spec.subscribe_regex is not None:
            consumer.subscribe(regex=plan.spec.subscribe_regex)
        else:
            consumer.subscribe(plan.spec.subscribe or tuple(self.scenario.topics))
        actor = self.actors_by_name[plan.name] = Actor(self.loop, plan, consumer, producer)
        return actor

    def _settings_of(self, plan: MemberPlan) -> ConsumerSettings:
        properties = properties_of(plan, self._folder)
        if self.scenario.groups[plan.group].produces is not None:
            properties = with_transactions(properties)
        settings, _ = client_settings(plan.profile, properties, pulls=is_replicated(self.scenario))
        return settings

    def changed(self, plan: MemberPlan, properties: Mapping[str, object] | None) -> MemberPlan:
        """Return the plan with other client settings, if any are given."""
        return plan if properties is None else with_properties(plan, properties, self._folder)

    def reconfigure(self, actor: Actor, properties: Mapping[str, object] | None) -> None:
        """Let further starts of a process that has ended have other client settings, if any are given."""
        if properties is not None and not actor.running:
            actor.plan = self.changed(actor.plan, properties)
            actor.consumer.reconfigure(self._settings_of(actor.plan), actor.plan.profile)

    def begin(self) -> None:
        """Schedule the start of every process."""
        for actor in tuple(self.actors_by_name.values()):
            spec = actor.plan.spec
            if spec.start == "never":
                continue
            at = int(spec.start) + spec.stagger * (actor.plan.number - 1)
            at += self.shifts.get((actor.group, actor.plan.key), 0)
            if spec.start_spread is not None:
                at += spec.start_spread.draw(self.loop.stream("start", actor.name))
            self.loop.call_at(at, _start, actor)
        for producer in self.producers_by_name.values():
            planned = producer.plan.spec
            if planned.start != "never":
                at = int(planned.start) + planned.stagger * (producer.plan.number - 1)
                if planned.start_spread is not None:
                    at += planned.start_spread.draw(self.loop.stream("start", producer.name))
                self.loop.call_at(at, _start, producer)

    def processes(self, targets: Iterable[str]) -> list[Actor | ProducerActor]:
        """Return the target processes, members first; `all` means the members."""
        return [*self.actors(targets), *self.producers(targets)]

    def producers(self, targets: Iterable[str]) -> list[ProducerActor]:
        """Return the target producers, each once, in the order of the file."""
        wanted = [target for target in targets if target != "all"]
        return [one for name, one in self.producers_by_name.items() if any(matches(t, name) for t in wanted)]

    def actors(self, targets: Iterable[str]) -> list[Actor]:
        """Return the target members, each once, in the order of the file."""
        wanted: dict[str, None] = {}
        for target in targets:
            wanted.update(dict.fromkeys(self._names(target)))
        return [actor for name, actor in self.actors_by_name.items() if name in wanted]

    def hosts(self, targets: Iterable[str]) -> list[str]:
        """Return the hosts of the target processes."""
        return [actor.name for actor in self.processes(targets)]

    def of_group(self, group: str) -> list[Actor]:
        """Return the processes of a group, in the order of the file."""
        return [actor for actor in self.actors_by_name.values() if actor.group == group]

    def _names(self, target: str) -> list[str]:
        if target in self.actors_by_name:
            return [target]
        group = self.group_id(group_named(target))
        if ROLE.fullmatch(target):
            host = self.cluster.network.roles.role("leader", group)
            return [host] if host is not None else []
        number = NUMBERED.fullmatch(target)
        if number:
            return [actor.name for actor in self.of_group(group)][int(number["number"]) - 1 :][:1]
        return [name for name in self.actors_by_name if matches(target, name)]

    def restart(
        self,
        actor: Actor | ProducerActor,
        how: str,
        leave: bool | None,
        downtime: Distribution | None,
        properties: Mapping[str, object] | None = None,
    ) -> None:
        """End a process, wait, and start it again; a consumer, with other client settings if any are given."""

        async def restart() -> None:
            if how == "crash":
                actor.crash()
            else:
                actor.stop(leave)
            await actor.ended()
            if downtime is not None:
                await self.loop.sleep(downtime.draw(self.loop.stream("downtime", actor.name)))
            if isinstance(actor, Actor):
                self.reconfigure(actor, properties)
            actor.start()

        self.start_task(restart, f"restart of {actor.name}")

    def change_for(self, actor: Actor, for_us: int | None, **changes: Any) -> None:
        """Change a behaviour, for `for_us` or for good."""
        before = {name: getattr(actor.consumer.behaviour, name) for name in changes}
        actor.consumer.change_behaviour(**changes)
        if for_us is not None:
            self.loop.call_at(self.loop.now_us + for_us, lambda _: actor.consumer.change_behaviour(**before))

    def roll(self, action: RollingRestart) -> None:
        """Begin a rollout."""
        rollout = RolloutRunner(self, action, self.group_id(action.group))
        self.start_task(rollout.run, f"rollout of {rollout.group}")

    def roll_brokers(self, action: RollBrokers) -> None:
        """Begin to restart all brokers, one after the other."""
        self.start_task(BrokerRollout(self, action).run, "rollout of the brokers")

    def scale(self, action: Scale) -> None:
        """Begin to scale a group."""
        self.start_task(lambda: scale(self, action, self.group_id(action.group)), "scaling")

    def autoscale(self, action: Autoscale) -> None:
        """Start an autoscaler of a group."""
        scaler = Autoscaler(self, action, self.group_id(action.group))
        self.start_task(scaler.run, "autoscaler")

    def start_task(self, task: Any, name: str) -> None:
        """Run an async function as a task; the present event is the cause of its events."""
        self.host.start_soon(task, name=name)

    # --- groups, brokers, topics -----------------------------------------------------------------------------------

    def group_id(self, name: str | None) -> str:
        """Return the named group, or the only one."""
        return name if name is not None else next(iter(self.scenario.groups))

    def broker_node(self, target: Broker | str) -> int:
        """Return the target broker's id. Raises LookupError if the group has no coordinator."""
        if target.isdecimal():
            return int(target)
        node, _ = self.cluster.coordinator_of(self.group_id(group_named(target)))
        return node

    def broker_host(self, target: Broker | str) -> str:
        """Return the host of the target broker."""
        return self.cluster.brokers[self.broker_node(target)].host.name

    def offsets_partition(self, group: str | None) -> int:
        """Return the partition of `__consumer_offsets` that a group belongs to."""
        return partition_for(self.group_id(group), self.cluster.config.offsets_partitions)

    def move_coordinator(self, group: str | None, to: Broker | None) -> None:
        """Move a group's coordinator to a broker, by default the next one.

        Raises ValueError if there is only one broker, LookupError if the group has no coordinator.
        """
        if to is None and len(self.cluster.brokers) == 1:
            raise ValueError("the coordinator cannot move, there is no other broker; set `cluster.brokers`")
        partition = self.offsets_partition(group)
        here, _ = self.cluster.coordinator_of(self.group_id(group))
        nodes = list(self.cluster.brokers)
        node = self.broker_node(to) if to is not None else nodes[(nodes.index(here) + 1) % len(nodes)]
        self.cluster.move_coordinator(partition, node)

    def create_topic(self, name: str, partitions: int, rate: Rate | None) -> None:
        """Create a topic."""
        self.topics.create(name, TopicSpec(Size(partitions), rate or read_rate(0)))

    def set_rate(self, topic: str, rate: Rate) -> None:
        """Change the rate at which a topic grows."""
        self.topics.set_rate(topic, rate)

    def _set_rate_later(self, change: tuple[str, Rate]) -> None:
        self.set_rate(*change)

    # --- faults ----------------------------------------------------------------------------------------------------

    def inject(self, fault: Fault) -> None:
        """Begin a fault of the network, which emits its own events."""
        self.cluster.network.inject(fault)

    def freeze_zookeeper(self, for_us: int) -> None:
        """Pause ZooKeeper for a while. Raises ValueError if no member uses it."""
        if self.zookeeper is None:
            raise ValueError("no member uses ZooKeeper; add one with `client: zookeeper-0.8`")
        freeze(self.loop, self.zookeeper, for_us)


def _start(actor: Actor | ProducerActor) -> None:
    actor.start()
