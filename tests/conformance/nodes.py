"""What scripts of several nodes do to them: stop, pause, move a leadership, change a setting of the offsets topic.

Each peer does it its own way. The real one: processes and signals; a leadership moves by AlterPartitionReassignments
(the new leader first among the same replicas) and ElectLeaders. `groupsim serve`: its control port. The core: the
cluster's own methods. Settings are changed by IncrementalAlterConfigs on all three.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import trio
from attrs import define, field

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.control import Control, Served
from groupsim.eventloop.virtual import VirtualLoop
from tests.conformance.bodies import Body, decode, encode
from tests.conformance.peers import Address, Line, Peer
from tests.conformance.servers import KafkaBroker
from tests.conformance.stored import batch_of, offset_record

OFFSETS = "__consumer_offsets"
TOPIC = 2
ADMINISTRATOR = "__admin_client"  # the one client id that may write to internal topics
_LOOK_EVERY_US = 50_000
_PATIENCE_US = 60_000_000


@define
class Handled:
    """What has been done to the nodes so far, and not undone."""

    up: set[int]
    down: set[int] = field(factory=set)
    paused: set[int] = field(factory=set)
    settings: dict[str, int | None] = field(factory=dict)
    own: dict[str, object] = field(factory=dict)  # what a node was started with besides the settings of all
    written: bool = False  # whether others than coordinators have written to the offsets topic
    orphaned: list[int] = field(factory=list)  # partitions that one node alone was left


class Nodes(Protocol):
    """How a peer's nodes are handled. Each method returns when it is done, not when the cluster has noticed."""

    @property
    def handled(self) -> Handled: ...
    @property
    def long_log(self) -> tuple[int, int]:
        """Records in a batch, and batches, that take seconds to load."""
        ...

    async def stop(self, node: int) -> None: ...
    async def kill(self, node: int) -> None: ...
    async def start(self, node: int) -> None: ...
    async def pause(self, node: int) -> None: ...
    async def resume(self, node: int) -> None: ...
    async def move(self, hands: Hands, partition: int, to: int) -> None: ...
    async def restart(self, own: Mapping[str, object]) -> None: ...
    async def orphan(self, hands: Hands, partition: int, node: int) -> None: ...
    async def adopt(self, hands: Hands, partition: int) -> None: ...


class RealNodes:
    """The nodes of a real cluster."""

    long_log = (30_000, 12)  # on a busy machine it reads some 100,000 records a second

    def __init__(self, kafka: KafkaBroker) -> None:
        self._kafka = kafka
        self._settings = dict(kafka.properties)
        self.handled = Handled(set(kafka.nodes))

    async def stop(self, node: int) -> None:
        await trio.to_thread.run_sync(self._kafka.stop, node)

    async def kill(self, node: int) -> None:
        await trio.to_thread.run_sync(self._kafka.kill, node)

    async def start(self, node: int) -> None:
        await trio.to_thread.run_sync(self._kafka.start, node)

    async def pause(self, node: int) -> None:
        self._kafka.pause(node)

    async def resume(self, node: int) -> None:
        self._kafka.resume(node)

    async def move(self, hands: Hands, partition: int, to: int) -> None:
        others = sorted(hands.up | hands.down)
        replicas = [to, *(node for node in others if node != to)]
        one = {"name": OFFSETS, "partitions": [{"partition_index": partition, "replicas": replicas}]}
        await hands.ask("AlterPartitionReassignments", 0, {"timeout": 20_000, "topics": [one]})
        elected = {"topic_partitions": [{"topic": OFFSETS, "partitions": [partition]}], "timeout": 20_000}
        await hands.ask("ElectLeaders", 2, {"election_type": 0, **elected})

    async def restart(self, own: Mapping[str, object]) -> None:
        await self.stop(0)
        self._kafka.properties = {**self._settings, **own}
        await self.start(0)

    async def orphan(self, hands: Hands, partition: int, node: int) -> None:
        """It is the only replica, and is killed; with two of three nodes there is still a controller."""
        await self._replicas(hands, partition, [node])
        hands.gone(node)
        await self.kill(node)

    async def adopt(self, hands: Hands, partition: int) -> None:
        await self._replicas(hands, partition, sorted(hands.up | hands.down))

    async def _replicas(self, hands: Hands, partition: int, nodes: Sequence[int]) -> None:
        one = {"name": OFFSETS, "partitions": [{"partition_index": partition, "replicas": list(nodes)}]}
        await hands.ask("AlterPartitionReassignments", 0, {"timeout": 20_000, "topics": [one]})
        await hands.until(lambda told: told["partition_index"] != partition or set(told["isr_nodes"]) == set(nodes))


async def leave_alone(nodes: Nodes, hands: Hands, node: int) -> None:
    """Where the controller is none of the nodes: the others go first, then this one; they come back without it."""
    others = sorted(hands.up - {node})
    for other in others:
        await hands.kill(other)
    hands.gone(node)
    await nodes.kill(node)
    for other in others:
        await hands.start(other)


class ServedNodes:
    """The brokers of a `groupsim serve`, by way of its control port."""

    long_log = (1_500, 1)  # a model has 500 us for each of the kind's small reads

    def __init__(self, control: Control, brokers: int) -> None:
        self._control = control
        self.handled = Handled(set(range(brokers)))

    async def stop(self, node: int) -> None:
        await self._do("stop-broker", broker=node)
        await self._until(node, "down")

    async def kill(self, node: int) -> None:
        await self._do("crash-broker", broker=node)
        await self._until(node, "down")

    async def start(self, node: int) -> None:
        await self._do("restart-broker", broker=node)
        await self._until(node, "up")

    async def _until(self, node: int, state: str) -> None:
        end_s = trio.current_time() + _PATIENCE_US / 1e6
        while await trio.to_thread.run_sync(self._state, node) != state:
            if trio.current_time() > end_s:
                raise TimeoutError(f"broker {node} is not {state} after {_PATIENCE_US // 1_000_000} s")
            await trio.sleep(_LOOK_EVERY_US / 1e6)

    def _state(self, node: int) -> str:
        return next(str(broker["state"]) for broker in self._control.cluster()["brokers"] if broker["id"] == node)

    async def pause(self, node: int) -> None:
        await self._do("freeze-broker", broker=node)

    async def resume(self, node: int) -> None:
        await self._do("thaw-broker", broker=node)

    async def move(self, hands: Hands, partition: int, to: int) -> None:
        await self._do("move-leader", partition=f"{OFFSETS}-{partition}", to=to)

    async def restart(self, own: Mapping[str, object]) -> None:
        raise RuntimeError("only a play with one broker restarts it with settings of its own")

    async def orphan(self, hands: Hands, partition: int, node: int) -> None:
        await leave_alone(self, hands, node)

    async def adopt(self, hands: Hands, partition: int) -> None:
        """All replicas are where they were."""

    async def _do(self, action: str, **said: Any) -> None:
        await trio.to_thread.run_sync(lambda: self._control.do(action, **said))


class ServedOne(ServedNodes):
    """The one broker of a `groupsim serve` that keeps its data: it can be started again with other settings.

    `addresses`: where it listens, always in the same list.
    """

    def __init__(self, begin: Callable[[Mapping[str, object]], Served], settings: Mapping[str, object]) -> None:
        self._begin = begin
        self._settings = dict(settings)
        self._process = begin(settings)
        self.addresses: list[Address] = []
        super().__init__(self._process.control, 1)
        self._tell_address()

    def _tell_address(self) -> None:
        host, _, port = self._process.bootstrap.rpartition(":")
        self.addresses[:] = [(host, int(port))]

    async def restart(self, own: Mapping[str, object]) -> None:
        await trio.to_thread.run_sync(self._process.stop)
        self._process = await trio.to_thread.run_sync(self._begin, {**self._settings, **own})
        self._control = self._process.control
        self._tell_address()

    def end(self) -> None:
        """Stop it."""
        self._process.stop()


class CoreNodes:
    """The brokers of a cluster in virtual time."""

    long_log = ServedNodes.long_log

    def __init__(
        self,
        loop: VirtualLoop,
        cluster: Cluster,
        config_of: Callable[[Mapping[str, object]], ClusterConfig],
        settings: Mapping[str, object],
    ) -> None:
        self._loop = loop
        self._cluster = cluster
        self._config_of = config_of
        self._settings = dict(settings)
        self.handled = Handled(set(cluster.brokers))

    async def stop(self, node: int) -> None:
        down: list[int] = []
        self._cluster.stop_broker(node, lambda: down.append(node))
        await self._loop.until(lambda: bool(down), _PATIENCE_US)

    async def kill(self, node: int) -> None:
        self._cluster.crash_broker(node)

    async def start(self, node: int) -> None:
        self._cluster.restart_broker(node)
        await self._opened(node)

    async def _opened(self, node: int) -> None:
        await self._loop.until(lambda: self._cluster.brokers[node].is_open, _PATIENCE_US)

    async def pause(self, node: int) -> None:
        self._cluster.pause_broker(node)

    async def resume(self, node: int) -> None:
        self._cluster.resume_broker(node)

    async def move(self, hands: Hands, partition: int, to: int) -> None:
        self._cluster.move_coordinator(partition, to)

    async def restart(self, own: Mapping[str, object]) -> None:
        await self.stop(0)
        self._cluster.restart_broker(0, self._config_of({**self._settings, **own}))
        await self._opened(0)

    async def orphan(self, hands: Hands, partition: int, node: int) -> None:
        await leave_alone(self, hands, node)

    async def adopt(self, hands: Hands, partition: int) -> None:
        """All replicas are where they were."""


def fetch_from(partition: int, offset: int, size: int) -> Body:
    """A Fetch of a partition of the offsets topic, of so many bytes."""
    one = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": size}
    return {
        "max_wait": 0,
        "min_bytes": 0,
        "rack_id": "",
        "topics": [{"topic": OFFSETS, "partitions": [one]}],
        "forgotten_topics_data": [],
    }


class Hands:
    """The nodes of a cluster in the hands of one play."""

    def __init__(self, peer: Peer, nodes: Nodes) -> None:
        self._peer = peer
        self._nodes = nodes
        self._handled = nodes.handled
        self._lines: dict[int, Line] = {}
        self.started_us = 0  #: when the node of `restart` was stopped at the latest

    @property
    def up(self) -> set[int]:
        """The nodes that run."""
        return self._handled.up

    @property
    def down(self) -> set[int]:
        """Those that were stopped or killed."""
        return self._handled.down

    @property
    def listening(self) -> set[int]:
        """Those that run and do not stand still."""
        return self.up - self._handled.paused

    # --- doing ---------------------------------------------------------------------------------------------------

    async def stop(self, node: int) -> None:
        """A controlled shutdown; returns when the others have noticed."""
        await self._gone(node, self._nodes.stop)

    async def kill(self, node: int) -> None:
        """No word to anybody; returns when the controller has noticed."""
        await self._gone(node, self._nodes.kill)

    async def _gone(self, node: int, how: Callable[[int], Awaitable[None]]) -> None:
        self.gone(node)
        await how(node)
        await self.until(lambda partition: node not in partition["isr_nodes"] and partition["leader_id"] in self.up)

    def gone(self, node: int) -> None:
        """It is not up any more."""
        self.up.remove(node)
        self.down.add(node)
        self._lines.pop(node, None)

    async def start(self, node: int) -> None:
        """Start one that is down; returns when it runs."""
        await self._nodes.start(node)
        self.down.discard(node)
        self.up.add(node)

    async def restart(self, own: Mapping[str, object]) -> None:
        """The one node stops in good order and starts on its data, with these settings besides those of all."""
        self._lines.clear()
        self.started_us = self._peer.now_us
        self._handled.own = dict(own)
        await self._nodes.restart(own)

    async def orphan(self, partition: int, node: int) -> None:
        """A node is killed which alone has a partition: nobody leads it. Returns when the others tell so."""
        self._handled.orphaned.append(partition)
        await self._nodes.orphan(self, partition, node)
        await self.until(lambda told: told["partition_index"] != partition or told["leader_id"] == -1)

    async def pause(self, node: int) -> None:
        """It stands still until `resume`."""
        self._handled.paused.add(node)
        await self._nodes.pause(node)

    async def resume(self, node: int) -> None:
        """It goes on."""
        self._handled.paused.discard(node)
        await self._nodes.resume(node)

    async def move(self, partition: int, to: int) -> None:
        """Another replica leads a partition of the offsets topic; returns when a broker tells so."""
        await self._nodes.move(self, partition, to)
        await self.until(lambda told: told["partition_index"] != partition or told["leader_id"] == to)

    async def configure(self, setting: str, value: int | None) -> None:
        """A setting of the offsets topic, from now on; None: the default."""
        if self._handled.settings.get(setting) == value:
            return
        one = {
            "name": setting,
            "config_operation": 1 if value is None else 0,
            "value": None if value is None else str(value),
        }
        resource = {"resource_type": TOPIC, "resource_name": OFFSETS, "configs": [one]}
        await self.ask("IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False})
        self._handled.settings[setting] = value
        await self._peer.sleep(700_000)  # until the brokers have heard

    async def whole(self, without: int | None = None) -> None:
        """All nodes are up, in sync and answer (but `without`, which is stopped), and the settings are as they were."""
        for node in sorted(self._handled.paused):
            await self.resume(node)
        for setting in list(self._handled.settings):
            await self.configure(setting, None)
        if self._handled.written:
            await self._remake()
        elif self._handled.own:
            await self.restart({})
        for node in sorted(self.down - {without}):
            await self.start(node)
        while self._handled.orphaned:
            await self._nodes.adopt(self, self._handled.orphaned.pop())
        if without is not None and without in self.up:
            await self.stop(without)
        await self.until(lambda partition: set(partition["isr_nodes"]) == self.up)

    async def _remake(self) -> None:
        """All that was ever written is gone: the topic is deleted, and made when a coordinator is looked for.

        A coordinator keeps what it knows when its topic is deleted, so the node is started again.
        """
        await self._peer.delete_topic(OFFSETS)
        self._handled.written = False
        body: Body = {"key_type": 0, "coordinator_keys": ["anybody"]}
        while (await self.ask("FindCoordinator", 4, body))["coordinators"][0]["error_code"] != "NONE":
            await self._peer.sleep(_LOOK_EVERY_US)
        await self.restart({})

    # --- asking --------------------------------------------------------------------------------------------------

    async def leader(self, partition: int) -> int:
        """Who leads a partition of the offsets topic, as soon as somebody does."""
        await self.until(lambda told: told["partition_index"] != partition or told["leader_id"] >= 0)
        return int(next(one["leader_id"] for one in await self._partitions() if one["partition_index"] == partition))

    async def write(self, partition: int, batch: bytes, *, error: str = "NONE", version: int = 9) -> None:
        """Produce a batch to a partition of the offsets topic. Raises RuntimeError when the answer is another."""
        self._handled.written = True
        data = [{"name": OFFSETS, "partition_data": [{"index": partition, "records": batch}]}]
        body = {"transactional_id": None, "acks": 1, "timeout": 20_000, "topic_data": data}
        told = await self.ask("Produce", version, body)
        (one,) = told["responses"][0]["partition_responses"]
        if one["error_code"] != error:
            raise RuntimeError(f"Produce to partition {partition} of {OFFSETS}: expected {error}, got {one}")

    async def lengthen(self, partition: int, version: int = 9) -> None:
        """Write so much to a partition of the offsets topic that a load of it takes seconds.

        `version` is that of the Produce.
        """
        count, batches = self._nodes.long_log
        now_ms = round(self._peer.now_us / 1e3)
        records = [offset_record("filler", "filled", number % 1_000, number, now_ms) for number in range(count)]
        batch = batch_of(records, now_ms, compressed=batches > 1)
        for _ in range(batches):
            await self.write(partition, batch, version=version)

    async def high_watermark(self, partition: int) -> int:
        """How far a partition of the offsets topic is committed, as its leader knows it; -1 when it says nothing."""
        told = await self.ask("Fetch", 12, fetch_from(partition, 0, 1), await self.leader(partition))
        return int(told["responses"][0]["partitions"][0]["high_watermark"])

    async def ask(self, api: str, version: int, body: Body, node: int | None = None) -> Body:
        """A request of an administrator, to some node that is up unless one is given."""
        node = min(self.up - self._handled.paused) if node is None else node
        if node not in self._lines:
            self._lines[node] = await self._peer.connect(ADMINISTRATOR, node)
        line = self._lines[node]
        await line.send(encode(api, version, 1, ADMINISTRATOR, body))
        got = await line.receive(_PATIENCE_US)
        if got is None:
            raise TimeoutError(f"{api} was not answered in {_PATIENCE_US // 1_000_000} s")
        return decode(api, version, got[0])[1]

    async def _partitions(self) -> list[Body]:
        body: Body = {"topics": [{"topic_id": None, "name": OFFSETS}], "allow_auto_topic_creation": False}
        body |= {"include_cluster_authorized_operations": False, "include_topic_authorized_operations": False}
        (topic,) = (await self.ask("Metadata", 10, body))["topics"]
        return list(topic["partitions"])

    async def until(self, good: Callable[[Body], bool]) -> None:
        """Wait until this holds for every partition of the offsets topic. Raises TimeoutError after a minute."""
        end_us = self._peer.now_us + _PATIENCE_US
        while True:
            told = await self._partitions()
            if told and all(good(partition) for partition in told):
                return
            if self._peer.now_us > end_us:
                raise TimeoutError(f"{OFFSETS} did not get there in {_PATIENCE_US // 1_000_000} s: {told}")
            await self._peer.sleep(_LOOK_EVERY_US)
