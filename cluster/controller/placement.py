"""The placement of new partitions' replicas.

Kafka has three algorithms:

* **striped** (KRaft). Replicas go round the racks, and round the brokers of a rack; each partition begins one step
  further. The first steps are drawn. Active brokers precede fenced ones, and the first replica is always on an active
  one. After as many partitions as active brokers, racks and brokers are shuffled, so that the lists do not repeat.
* **rounds** (brokers with ZooKeeper). Partition i's first replica is on broker (start + i) mod n; the others follow
  after a shift that grows by one with every full round. Start and shift are drawn, or 0. With racks, the order of the
  brokers alternates racks, and a replica goes to a rack without one while there is any.
* **manual**: validated lists of the request.

Sources: `StripedReplicaPlacer`, `AdminUtils.assignReplicasToBrokers`,
`ReplicationControlManager.validateManualPartitionAssignment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from typing import Any, Protocol

from attrs import field

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.values import define, frozen

Replicas = tuple[int, ...]


class Refused(ValueError):
    """The controller refused an administrator's request, with Kafka's error and message."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(f"{error.name}: {message}")
        self.error = error
        self.message = message


class PlacementDraws(Protocol):
    """The random draws of a placement; `eventloop.randomness.Stream` implements it."""

    def below(self, bound: int) -> int: ...
    def shuffle(self, items: MutableSequence[Any]) -> None: ...


@frozen
class Candidate:
    """A broker that may get replicas."""

    node: int
    rack: str | None = None
    fenced: bool = False


# --- striped -------------------------------------------------------------------------------------------------------


@define
class _Round:
    """A round of brokers: each turn (one per partition) begins one step further."""

    nodes: list[int] = field(factory=list)
    index: int = 0
    offset: int = 0
    turn: int = 0

    def begin(self, draws: PlacementDraws) -> None:
        if self.nodes:
            self.nodes.sort()
            self.offset = draws.below(len(self.nodes))

    def next(self, turn: int) -> int:
        """Return the next broker of this turn, -1 after the last."""
        size = len(self.nodes)
        if not size:
            return -1
        if self.turn != turn:
            self.turn, self.index, self.offset = turn, 0, (self.offset + 1) % size
        if self.index >= size:
            return -1
        self.index += 1
        return self.nodes[(self.index - 1 + self.offset) % size]


@define
class _Rack:
    up: _Round = field(factory=_Round)
    fenced: _Round = field(factory=_Round)

    def next(self, turn: int) -> int:
        node = self.up.next(turn)
        return node if node >= 0 else self.fenced.next(turn)


class Striped:
    """One run of the striped placement: each `place` returns the replicas of the next partition."""

    def __init__(self, candidates: Iterable[Candidate], draws: PlacementDraws) -> None:
        self._draws = draws
        self._racks: dict[str | None, _Rack] = {}
        self.brokers = self.up = 0
        for candidate in candidates:
            rack = self._racks.setdefault(candidate.rack, _Rack())
            (rack.fenced if candidate.fenced else rack.up).nodes.append(candidate.node)
            self.brokers += 1
            self.up += not candidate.fenced
        self._names = sorted(self._racks, key=lambda name: (name is not None, name or ""))
        self._in_order = [self._racks[name] for name in self._names]
        for rack in self._in_order:
            rack.fenced.begin(draws)
            rack.up.begin(draws)
        self._offset = draws.below(len(self._names)) if self._names else 0
        self._turn = 0

    def place(self, replication: int) -> Replicas:
        """Return the replicas of the next partition. Raises `Refused` like `check`."""
        self.check(replication)
        if self._turn == self.up and self.up > 1:
            self._shuffle()
            self._turn = 0
        self._offset %= len(self._names)
        first = self._offset
        while (leader := self._racks[self._names[first]].up.next(self._turn)) < 0:
            first = (first + 1) % len(self._names)
        replicas = (leader, *self._followers(first, replication - 1))
        self._turn += 1
        self._offset += 1
        return replicas

    def _followers(self, first: int, count: int) -> list[int]:
        """Return the other replicas, rack after rack; the leader's rack is skipped once."""
        found: list[int] = []
        at = self._offset
        while len(found) < count:
            if at == first:
                first = -1
            elif (node := self._racks[self._names[at]].next(self._turn)) >= 0:
                found.append(node)
            at = (at + 1) % len(self._names)
        return found

    def _shuffle(self) -> None:
        self._draws.shuffle(self._names)
        for rack in self._in_order:
            self._draws.shuffle(rack.fenced.nodes)
            self._draws.shuffle(rack.up.nodes)

    def check(self, replication: int) -> None:
        """Raise `Refused` (INVALID_REPLICATION_FACTOR) when there are too few brokers for this many replicas."""
        if replication <= 0:
            raise _factor(f"Invalid replication factor {replication}: the replication factor must be positive.")
        if not self.up:
            raise _factor("All brokers are currently fenced.")
        if replication > self.brokers:
            raise _factor(
                f"The target replication factor of {replication} cannot be reached because only "
                f"{self.brokers} broker(s) are registered or some brokers have all their log directories cordoned."
            )


def striped(
    candidates: Iterable[Candidate], partitions: int, replication: int, draws: PlacementDraws
) -> tuple[Replicas, ...]:
    """Place new partitions as KRaft does (`StripedReplicaPlacer`). Raises `Refused` (INVALID_REPLICATION_FACTOR)."""
    placer = Striped(candidates, draws)
    placer.check(replication)
    return tuple(placer.place(replication) for _ in range(partitions))


def _factor(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)


# --- rounds --------------------------------------------------------------------------------------------------------


def rounds(
    candidates: Sequence[Candidate],
    partitions: int,
    replication: int,
    draws: PlacementDraws | None,
    *,
    first_partition: int = 0,
    start: int = 0,
) -> tuple[Replicas, ...]:
    """Place new partitions, from `first_partition` on, as with ZooKeeper (`AdminUtils`).

    Start and shift are drawn from `draws`; without it both are `start`. Raises `Refused`: INVALID_PARTITIONS,
    INVALID_REPLICATION_FACTOR, and INVALID_REPLICA_ASSIGNMENT when only some brokers have a rack.
    """
    if partitions <= 0:
        raise Refused(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
    if replication <= 0:
        raise _factor("Replication factor must be larger than 0.")
    if replication > len(candidates):
        raise _factor(f"Replication factor: {replication} larger than available brokers: {len(candidates)}.")
    racks = {candidate.node: candidate.rack for candidate in candidates}
    order, several = _order(candidates)
    begin = start if draws is None else draws.below(len(order))
    shift = start if draws is None else draws.below(len(order))
    found = []
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % len(order) == 0:
            shift += 1
        at = (partition + begin) % len(order)
        found.append(_round_of(order, racks, several, at, shift, replication))
    return tuple(found)


def _order(candidates: Sequence[Candidate]) -> tuple[list[int], int]:
    """Return the brokers in the order of the rounds, and the number of racks (0: none is known)."""
    named = [candidate.rack for candidate in candidates if candidate.rack is not None]
    if not named:
        return [candidate.node for candidate in candidates], 0
    if len(named) < len(candidates):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Not all brokers have rack information for replica rack aware assignment.",
        )
    racks = sorted(set(named))
    return alternated({candidate.node: candidate.rack or "" for candidate in candidates}), len(racks)


def alternated(racks: Mapping[int, str]) -> list[int]:
    """Return the brokers in an order that alternates racks: the first of each rack, the second of each …"""
    by_rack: dict[str, list[int]] = {name: [] for name in sorted(set(racks.values()))}
    for node in sorted(racks):
        by_rack[racks[node]].append(node)
    longest = max(len(nodes) for nodes in by_rack.values())
    return [nodes[i] for i in range(longest) for nodes in by_rack.values() if i < len(nodes)]


def _round_of(
    order: list[int], racks: Mapping[int, str | None], several: int, at: int, shift: int, replication: int
) -> Replicas:
    """Return the replicas of the partition whose first is at `at`; racks with a replica are skipped."""
    replicas = [order[at]]
    taken = [racks[order[at]]]
    step = 0
    while len(replicas) < replication:
        node = order[_after(at, shift * max(several, 1), step, len(order))]
        step += 1
        free_rack = racks[node] not in taken or len(taken) == several
        if not several or (free_rack and node not in replicas):
            replicas.append(node)
            if racks[node] not in taken:
                taken.append(racks[node])
    return tuple(replicas)


def _after(first: int, shift: int, step: int, size: int) -> int:
    return (first + 1 + (shift + step) % (size - 1)) % size


# --- manual --------------------------------------------------------------------------------------------------------


def checked(assignment: Sequence[Sequence[int]], known: Iterable[int], size: int | None = None) -> tuple[Replicas, ...]:
    """Return a manual assignment if it is valid: registered brokers, no duplicates, lists of one length.

    Raises `Refused` (INVALID_REPLICA_ASSIGNMENT). `size` is the number of replicas of the topic's other partitions.
    """
    registered = frozenset(known)
    for replicas in assignment:
        _check_one(replicas, registered, size)
        size = len(replicas)
    return tuple(tuple(replicas) for replicas in assignment)


def _check_one(replicas: Sequence[int], registered: frozenset[int], size: int | None) -> None:
    lead = "The manual partition assignment includes"
    if not replicas:
        raise _assignment(f"{lead} an empty replica list.")
    before: int | None = None
    for node in sorted(replicas):
        if node not in registered:
            raise _assignment(f"{lead} broker {node}, but no such broker is registered.")
        if node == before:
            raise _assignment(f"{lead} the broker {node} more than once.")
        before = node
    if size is not None and len(replicas) != size:
        raise _assignment(
            f"{lead} a partition with {len(replicas)} replica(s), but this is not consistent with previous "
            f"partitions, which have {size} replica(s)."
        )


def _assignment(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
