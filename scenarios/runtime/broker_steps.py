"""Steps that act on brokers and their logs.

A fault of appends has the cause that slows or fails them in a real cluster: followers that stop fetching, or a leader
that refuses the append.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.controller.controller import CONTROLLER_HOST
from groupsim.cluster.controller.elections import Election
from groupsim.cluster.network import faults as net
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import show_us
from groupsim.protocol.errors import ErrorCode
from groupsim.scenarios.language.acls import acls_of
from groupsim.scenarios.language.targets import partition_named
from groupsim.scenarios.plans.clusters import upgraded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groupsim.cluster.replicated.logs import ReplicatedLogs
    from groupsim.scenarios.language.acls import AclSpec
    from groupsim.scenarios.language.targets import Broker, PartitionName
    from groupsim.scenarios.runtime.stage import Stage


_CLIENT_PURPOSES = ("coordinator", "data", "produce")


class OnBrokers:
    """Actions and faults for the brokers of one stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._loop = stage.loop

    @property
    def _cluster(self) -> Cluster:
        return self._stage.cluster

    @property
    def _replicated(self) -> ReplicatedLogs:
        """The replicated logs. Raises ValueError for counted logs, which the loader refuses."""
        return self._cluster.replicated

    # --- actions -----------------------------------------------------------------------------------------------------

    def crash(self, target: Broker, *, machine: bool, restart_after: int | None = None) -> None:
        """Kill a broker, or its machine. Raises ValueError if it is down already.

        It restarts after `restart_after` (µs), unless a step restarts it before.
        """
        node = self._node_up(target)
        self._cluster.crash_broker(node, machine=machine)
        self._supervise(node, restart_after)

    def _supervise(self, node: int, after_us: int | None) -> None:
        """Restart a broker after a while, unless a step has restarted it before."""
        host = self._cluster.brokers[node].host
        life = host.incarnation

        def restart(_: Any) -> None:
            if not host.alive and host.incarnation == life:
                self._cluster.restart_broker(node)

        if after_us is not None:
            self._loop.call_at(self._loop.now_us + after_us, restart)

    def restart(self, target: Broker, version: str | None = None) -> None:
        """Restart a broker, optionally with another release.

        Raises ValueError if it runs.
        """
        node = self._stage.broker_node(target)
        if self._cluster.brokers[node].host.alive:
            down = [str(number) for number, broker in self._cluster.brokers.items() if not broker.host.alive]
            remedy = "end it first with `crash-broker` or `stop-broker`"
            if down:
                remedy = f"brokers that are down: {', '.join(down)}"
            raise ValueError(f"broker {node} is running; {remedy}")
        cluster = self._cluster
        if version is None:
            cluster.restart_broker(node)
        else:
            coordinators = upgraded(cluster.config, node, version)
            cluster.restart_broker(node, evolve(cluster.config, coordinators=coordinators))

    def _node_up(self, target: Broker) -> int:
        node = self._stage.broker_node(target)
        if not self._cluster.brokers[node].host.alive:
            raise ValueError(f"broker {node} is down already; restart it first with `restart-broker`")
        return node

    def stop(self, target: Broker, *, restart_after: int | None = None) -> None:
        """Begin a controlled shutdown. Raises ValueError if the broker is down, or shuts down already.

        It restarts `restart_after` (µs) after its end.
        """
        node = self._node_up(target)
        try:
            self._cluster.stop_broker(node, lambda: self._supervise(node, restart_after))
        except RuntimeError as error:
            raise ValueError(str(error)) from error

    def move_leader(self, partition: PartitionName, to: Broker) -> None:
        """Move a leadership. Raises ValueError for a broker that cannot lead."""
        self._replicated.controller.move_leader(partition_named(partition), self._stage.broker_node(to))

    def elect_leaders(self, kind: str, partitions: tuple[PartitionName, ...] | None) -> None:
        """Elect leaders of the named partitions, or of all."""
        wanted = None if partitions is None else [partition_named(name) for name in partitions]
        self._replicated.controller.elect_leaders(Election(kind), wanted)

    def add_acls(self, acls: Iterable[AclSpec]) -> None:
        """Create ACLs."""
        self._replicated.make_acls(acls_of(acls))

    def remove_acls(self, acls: Iterable[AclSpec]) -> None:
        """Delete ACLs. Raises ValueError for one that does not exist."""
        existing = self._replicated.controller.image.acls
        for acl in acls:
            if not acls_of([acl]) <= existing:
                raise ValueError(f"there is no ACL `{acl}`; write it as it was created")
        self._replicated.controller.remove_acls(acls_of(acls))

    def matches(self, target: Broker, others: str) -> list[net.Match]:
        """Return the links between a broker and the controller, the other brokers, the clients, or all of these.

        The purpose of a connection identifies clients, so that later connections match, too.
        """
        host = self._stage.broker_host(target)
        if others == "all":
            return [net.Match(host=host)]
        if others == "controller":
            return [net.Match(host=host, peer=CONTROLLER_HOST)]
        if others == "brokers":
            return [net.Match(host=host, peer="broker-*", purpose="replication")]
        return [net.Match(host=host, purpose=purpose) for purpose in _CLIENT_PURPOSES]

    def between(self, racks: Sequence[str], controller: str | None) -> list[net.Match]:
        """Return the links between two racks, of brokers and of members (by client.rack).

        `controller` is the rack of the controllers; brokers of the other one lose their links to it.
        """
        one, other = (self._in_rack(rack) for rack in racks)
        pairs = [(host, peer) for host in one[0] for peer in other[0]]
        for (_, members), (brokers, _) in ((one, other), (other, one)):
            pairs += [(member, broker) for member in members for broker in brokers]
        if controller is not None:
            cut = other if controller == racks[0] else one
            pairs += [(host, CONTROLLER_HOST) for host in cut[0]]
        return [net.Match(host=host, peer=peer) for host, peer in pairs]

    def _in_rack(self, rack: str) -> tuple[list[str], list[str]]:
        """Return the hosts of the brokers and of the members in a rack."""
        cluster = self._cluster
        hosts = [broker.host.name for node, broker in cluster.brokers.items() if cluster.rack_of(node) == rack]
        actors = self._stage.actors_by_name.values()
        return hosts, [actor.name for actor in actors if actor.consumer.settings.client_rack == rack]

    # --- faults of appends -------------------------------------------------------------------------------------------

    def fail_appends(self, group: str | None, error: ErrorCode, times: int) -> None:
        """Let the next appends of a group's partition fail. Raises LookupError if the partition has no leader."""
        stage, cluster = self._stage, self._cluster
        self._begin_fault(f"the next {times} appends of {stage.group_id(group)} fail with {error.name}")
        cluster.fail_appends(stage.group_id(group), error, times)

    def hold_appends(self, group: str | None, for_us: int) -> None:
        """Stop commits of appends to a group's partition for a while."""
        stage = self._stage
        words = f"appends of {stage.group_id(group)} do not commit for {show_us(for_us)}"
        span = self._begin_fault(words, lasting=True)
        self._cluster.hold_appends(stage.offsets_partition(group), for_us)
        self._end_fault(span, for_us)

    # --- faults of brokers -------------------------------------------------------------------------------------------

    def freeze(self, target: Broker, for_us: int) -> None:
        """Pause a whole broker."""
        node = self._stage.broker_node(target)
        cluster = self._cluster
        host = cluster.brokers[node].host
        span = self._begin_fault(f"{host.name} stands still for {show_us(for_us)}", host=host.name, lasting=True)
        cluster.pause_broker(node)
        self._loop.call_at(self._loop.now_us + for_us, lambda _: cluster.resume_broker(node))
        self._end_fault(span, for_us)

    def _begin_fault(self, words: str, host: str | None = None, *, lasting: bool = False) -> int:
        trace = self._loop.trace
        span = trace.span() if lasting else None
        trace.begin(trace.emit(Kind.FAULT_BEGUN, host=host, reason=words, span=span, payload={"fault": words}))
        return span or 0

    def _end_fault(self, span: int, for_us: int) -> None:
        trace = self._loop.trace

        def ended(_: Any) -> None:
            trace.emit(Kind.FAULT_ENDED, span=span)

        self._loop.call_at(self._loop.now_us + for_us, ended)
