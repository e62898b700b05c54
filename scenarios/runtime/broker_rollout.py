"""Restart all brokers, one after the other, as operators do.

A broker shuts down (controlled: its leaderships move first), stays down for `downtime`, and restarts; the next one
follows when every partition has all its replicas in sync again. Strimzi's operator is similar: it rolls a broker if
no partition would fall below min.insync.replicas, and waits until it is ready.

Source: Kafka documentation, "Rolling upgrades"; Strimzi, KafkaRoller and KafkaAvailability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.scenarios.language.targets import Broker
from groupsim.scenarios.steps.broker_rollout import RollBrokers

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage

CHECK_US = 500_000
"""Interval of checks whether a broker has ended, and whether the replicas are in sync."""


class BrokerRollout:
    """One rolling restart of the brokers of a stage."""

    def __init__(self, stage: Stage, action: RollBrokers) -> None:
        self._stage = stage
        self._action = action

    async def run(self) -> None:
        """Restart each broker that is up when its turn comes; a broker that a step has ended stays down."""
        for node, broker in self._stage.cluster.brokers.items():
            if broker.host.alive:
                await self._restart(node)
                await self._stage.loop.sleep(self._action.pause)

    async def _restart(self, node: int) -> None:
        stage, action = self._stage, self._action
        loop, host = stage.loop, stage.cluster.brokers[node].host
        target, life = Broker(str(node)), host.incarnation
        if action.how == "crash":
            stage.on_brokers.crash(target, machine=False)
        else:
            stage.on_brokers.stop(target)
        while host.alive and host.incarnation == life:
            await loop.sleep(CHECK_US)
        if action.downtime is not None:
            await loop.sleep(action.downtime.draw(loop.stream("broker-downtime", host.name)))
        if not stage.cluster.brokers[node].host.alive:  # a step may have restarted it already
            stage.on_brokers.restart(target, action.version)
        while action.wait == "in-sync" and not self._in_sync():
            await loop.sleep(CHECK_US)

    def _in_sync(self) -> bool:
        """Return whether the controller has every replica of every partition in sync."""
        topics = self._stage.cluster.replicated.controller.image.topics.values()
        return all(len(state.isr) == len(state.replicas) for topic in topics for state in topic.partitions)
