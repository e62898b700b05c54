"""The lines of brokers that concern no group: start, stop, and elections of the offsets topic's partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import field

from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs.broker_words import BROKER, JAVA_COORDINATOR
from groupsim.logs.layout import stock
from groupsim.logs.wording import Version, wording
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.javahash import JavaHashMap
from groupsim.protocol.values import define

MANAGED = ("LOAD_SCHEDULED", "UNLOAD_SCHEDULED", "OFFSETS_EXPIRED", "GROUP_TO_DEAD")
"""The lines that `GroupMetadataManager` logs in the Scala coordinator."""
SERVICE = ("STARTING", "STARTED")

_Role = tuple[str, TraceEvent]


@define
class BrokerLife:
    """The lines of all brokers of one run that concern no group."""

    version: Version
    stops: dict[int, str]  # the action's seq → the node that it shuts down in a controlled way
    refused: frozenset[int]  # refused actions, by seq
    elections: dict[int, list[_Role]]  # by the seq of the first election in one version of the metadata
    hushed: set[str] = field(factory=set)  # hosts whose logging ended before their process
    loads: set[tuple[str, int | None, object]] = field(factory=set)  # broker, partition, epoch of logged loads

    @classmethod
    def of(cls, version: Version, events: Sequence[TraceEvent]) -> BrokerLife:
        """Make the logs of a trace's brokers, which all have one version."""
        down = [event for event in events if event.kind is Kind.BROKER_FENCED and event.reason == "shut down"]
        refused = frozenset(event.cause for event in events if event.kind is Kind.ACTION_REFUSED)
        return cls(version, {event.cause: _node(event) for event in down}, refused, _elections(events))

    def lines(self, event: TraceEvent) -> Iterator[tuple[str, str]]:
        """Yield host and line for each line of one event."""
        if event.kind is Kind.ACTION and event.seq not in self.refused:
            yield from self._acted(event)
        elif event.kind is Kind.BROKER_FENCED and event.reason == "shut down":
            yield from self._lines_for(event, _node(event), ("STOPPING", "STOPPED"))
        elif event.kind is Kind.GROUP_LOADED and event.partition is not None:
            yield from self._loads(event, (event.host or "0").rsplit("-", 1)[-1])
        for node, election in self.elections.get(event.seq, ()):
            if node == election.to:
                yield from self._loads(election, node)
            else:
                yield from self._lines_for(election, node, _resigns(node, election))

    def _loads(self, event: TraceEvent, node: str) -> Iterator[tuple[str, str]]:
        """Log a load once, at its election; without one, after a broker's restart, at its first loaded group."""
        load = (node, event.partition, (event.payload or {}).get("epoch", 0))
        if load not in self.loads:
            self.loads.add(load)
            yield from self._lines_for(event, node, ("ELECTED", "LOAD_SCHEDULED"))

    def _acted(self, event: TraceEvent) -> Iterator[tuple[str, str]]:
        """Log a broker's start. Since 4.0 log4j2 stops at the signal, so that a broker does not log its shutdown."""
        payload = event.payload or {}
        if event.seq in self.stops and self.version >= JAVA_COORDINATOR:
            self.hushed.add(f"broker-{self.stops[event.seq]}")
        elif payload.get("do") == "restart-broker":
            node = str(payload.get("broker"))
            self.hushed.discard(f"broker-{node}")
            yield from self._lines_for(event, node, ("STARTING", "STARTED"))

    def _lines_for(self, event: TraceEvent, node: str, codes: Iterable[str]) -> Iterator[tuple[str, str]]:
        values = {"op": event.partition, "epoch": (event.payload or {}).get("epoch", 0)}
        for code in codes:
            words = wording(BROKER, code, self.version)
            if words is not None and f"broker-{node}" not in self.hushed:
                prefix, logger = speaker(self.version, node, code)
                yield f"broker-{node}", stock(event.t_us, words.level, prefix + words.text.format_map(values), logger)


def speaker(version: Version, node: str, code: str) -> tuple[str, str]:
    """Return prefix and logger of a line that concerns no group."""
    if version >= JAVA_COORDINATOR:
        package = "org.apache.kafka.coordinator"
        service = "group.GroupCoordinatorService" if code in SERVICE else "common.runtime.CoordinatorRuntime"
        return f"[GroupCoordinator id={node}] ", f"{package}.{service}"
    package = "kafka.coordinator.group" if version >= (0, 11) else "kafka.coordinator"
    if code in MANAGED:
        name = "GroupMetadataManager brokerId={}" if version >= (1, 0) else "Group Metadata Manager on Broker {}"
        return f"[{name.format(node)}]{'' if version >= (1, 0) else ':'} ", f"{package}.GroupMetadataManager"
    return f"[GroupCoordinator {node}]: ", f"{package}.GroupCoordinator"


def _node(event: TraceEvent) -> str:
    return str((event.payload or {}).get("node", "?"))


def _moves(event: TraceEvent) -> bool:
    """Whether an event is the election of a new leader of an offsets partition."""
    led = event.kind is Kind.PARTITION_LEADER and event.topic == OFFSETS_TOPIC
    return led and event.to not in (None, "-1", event.from_)


def _resigns(node: str, event: TraceEvent) -> tuple[str, ...]:
    """Return the lines of a replica that is not elected: the former leader unloads, the others have no groups."""
    return "RESIGNED", "UNLOAD_SCHEDULED", "UNLOAD_STARTED" if node == event.from_ else "UNLOAD_IGNORED"


def _elections(events: Sequence[TraceEvent]) -> dict[int, list[_Role]]:
    """Return the roles of brokers in elections, grouped by version of the metadata.

    A broker handles first the partitions that it leads, then the others, each in the order of a `HashMap` of partitions
    (`LocalReplicaChanges`).
    """
    together: dict[tuple[int, int | None], list[TraceEvent]] = {}
    for event in filter(_moves, events):
        together.setdefault((event.t_us, event.cause), []).append(event)
    return {moved[0].seq: list(_roles(moved)) for moved in together.values()}


def _roles(moved: Sequence[TraceEvent]) -> Iterator[_Role]:
    roles: dict[tuple[bool, str], JavaHashMap[TopicPartition, TraceEvent]] = {}
    for event in moved:
        for node in dict.fromkeys([event.to or "0", *map(str, (event.payload or {}).get("isr") or ())]):
            role = roles.setdefault((node != event.to, node), JavaHashMap())
            role[TopicPartition(OFFSETS_TOPIC, event.partition or 0)] = event
    for resigns, node in sorted(roles):
        for event in roles[resigns, node].values():
            yield node, event
