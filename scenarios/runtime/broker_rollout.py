"""A rolling restart of all brokers, one after the other, as operators and their tools do it.

A broker stops in good order (its leaderships are moved first), stays away for `downtime`, and comes back; the next one
goes when every partition has all its replicas in sync again. Strimzi's operator waits likewise: it rolls a broker when
no partition would fall below min.insync.replicas, and waits until it is ready.

Source: Kafka documentation, "Rolling upgrades"; Strimzi, KafkaRoller and KafkaAvailability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.scenarios.language.targets import Broker
from groupsim.scenarios.steps.broker_rollout import RollBrokers

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage

LOOK_US = 500_000
"""Time between two looks at whether a broker has ended, or the replicas are in sync."""


class BrokerRollout:
    """One rolling restart of the brokers of a stage."""

    def __init__(self, stage: Stage, deed: RollBrokers) -> None:
        self._stage = stage
        self._deed = deed

    async def run(self) -> None:
        """All brokers that are up when their turn comes; one that a step has ended is left alone."""
        for node, broker in self._stage.cluster.brokers.items():
            if broker.host.alive:
                await self._restart(node)
                await self._stage.loop.sleep(self._deed.pause)

    async def _restart(self, node: int) -> None:
        stage, deed = self._stage, self._deed
        loop, host = stage.loop, stage.cluster.brokers[node].host
        target, life = Broker(str(node)), host.incarnation
        if deed.how == "crash":
            stage.on_brokers.crash(target, machine=False)
        else:
            stage.on_brokers.stop(target)
        while host.alive and host.incarnation == life:
            await loop.sleep(LOOK_US)
        if deed.downtime is not None:
            await loop.sleep(deed.downtime.draw(loop.stream("broker-downtime", host.name)))
        if not stage.cluster.brokers[node].host.alive:  # a step may have brought it back before
            stage.on_brokers.restart(target, deed.version)
        while deed.wait == "in-sync" and not self._in_sync():
            await loop.sleep(LOOK_US)

    def _in_sync(self) -> bool:
        """Whether the controller knows every replica of every partition in sync."""
        topics = self._stage.cluster.replicated.controller.image.topics.values()
        return all(len(state.isr) == len(state.replicas) for topic in topics for state in topic.partitions)
