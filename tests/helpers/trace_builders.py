"""Hand-made traces: the few events a story needs, written as one would tell it."""

from __future__ import annotations

from typing import Any

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.units import SECOND_US


class Tape:
    """A trace being written: `at` moves the clock, everything else adds events."""

    def __init__(self, group: str = "g1", broker: str = "broker-1") -> None:
        self.group = group
        self.broker = broker
        self.now = 0
        self.events: list[TraceEvent] = []
        self.generation = 0
        self.members: dict[str, str] = {}
        self.state = "Empty"

    def at(self, seconds: float) -> Tape:
        """Move to this second."""
        self.now = round(seconds * SECOND_US)
        return self

    def add(self, kind: Kind, **columns: Any) -> int:
        """Add one event; returns its seq."""
        seq = len(self.events) + 1
        self.events.append(TraceEvent(seq, self.now, kind, **columns))
        return seq

    def client(self, kind: Kind, host: str, **columns: Any) -> int:
        """An event of a member's process."""
        return self.add(kind, host=host, group=self.group, member=self.members.get(host), **columns)

    def coordinator(self, kind: Kind, **columns: Any) -> int:
        """An event of the coordinator."""
        return self.add(kind, host=self.broker, group=self.group, **columns)

    # --- processes ---

    def start(self, *hosts: str) -> Tape:
        """Processes start."""
        for host in hosts:
            self.client(Kind.PROCESS_STARTED, host, payload={"client_id": host, "profile": "java"})
        return self

    def crash(self, host: str) -> Tape:
        """A process dies; what it owned is released by that."""
        self.client(Kind.PROCESS_CRASHED, host, reason="killed")
        return self

    def state_of(self, host: str, state: str) -> Tape:
        """A client's own state changes."""
        self.client(Kind.CLIENT_STATE, host, to=state)
        return self

    # --- the group ---

    def join(self, host: str, incarnation: int = 1, session_s: int = 45, cause: int = 0) -> Tape:
        """A member is added (its first join) and its client knows the id."""
        self.members[host] = f"{host}-{incarnation}"
        self.coordinator(
            Kind.MEMBER_ADDED,
            member=self.members[host],
            cause=cause,
            payload={"session_timeout_ms": session_s * 1000, "client_id": host},
        )
        self.client(Kind.CLIENT_STATE, host, to="PREPARING_REBALANCE")
        return self

    def rejoin(self, host: str) -> Tape:
        """A known member's JoinGroup arrives."""
        self.coordinator(Kind.REQUEST_RECEIVED, member=self.members[host], api="JoinGroup")
        return self

    def remove(self, host: str, reason: str) -> Tape:
        """The coordinator removes a member."""
        self.coordinator(Kind.MEMBER_REMOVED, member=self.members[host], reason=reason)
        return self

    def prepare(self, host: str, code: str, words: str | None = None, cause: int = 0) -> Tape:
        """A rebalance begins."""
        self.coordinator(
            Kind.GROUP_STATE,
            from_=self.state,
            to="PreparingRebalance",
            generation=self.generation,
            member=self.members.get(host),
            cause=cause,
            payload={"cause_code": code, "client_reason": words},
        )
        self.state = "PreparingRebalance"
        return self

    def complete(self, *hosts: str, protocol: str = "range") -> Tape:
        """Everybody is there: the next generation."""
        self.generation += 1
        ids = [self.members[host] for host in hosts]
        self.coordinator(
            Kind.GROUP_STATE,
            from_=self.state,
            to="CompletingRebalance",
            generation=self.generation,
            payload={"members": ids, "leader": ids[0], "protocol": protocol},
        )
        self.state = "CompletingRebalance"
        return self

    def stable(self) -> Tape:
        """The leader's assignment is stored."""
        self.coordinator(Kind.GROUP_STATE, from_=self.state, to="Stable", generation=self.generation)
        self.state = "Stable"
        for host in self.members:
            self.client(Kind.CLIENT_STATE, host, to="STABLE")
        return self

    # --- partitions ---

    def own(self, host: str, *partitions: int, fetchable: bool = True) -> Tape:
        """A member owns partitions of `orders` and can fetch them at once."""
        for partition in partitions:
            at = {"topic": "orders", "partition": partition}
            self.client(Kind.PARTITION_OWNED, host, generation=self.generation, **at)
            if fetchable:
                self.client(Kind.POSITION_SET, host, **at, payload={"offset": 0})
        return self

    def release(self, host: str, *partitions: int, reason: str = "revoked") -> Tape:
        """A member gives partitions up."""
        for partition in partitions:
            self.client(Kind.PARTITION_RELEASED, host, topic="orders", partition=partition, reason=reason)
        return self

    def work(self, host: str, partition: int, base: int, count: int) -> Tape:
        """Records are delivered and processed in one go."""
        at = {"topic": "orders", "partition": partition, "payload": {"base": base, "count": count}}
        self.client(Kind.RECORDS_DELIVERED, host, **at)
        self.client(Kind.RECORDS_PROCESSED, host, **at)
        return self

    def end(self, **heartbeats: int) -> list[TraceEvent]:
        """The run ends; returns the trace."""
        self.add(Kind.RUN_ENDED, payload={"heartbeats": heartbeats})
        return self.events


def formed(*hosts: str, session_s: int = 45, group: str = "g1") -> Tape:
    """A group of these processes, formed at 0:03 with one partition of `orders` each, in the order given."""
    tape = Tape(group)
    tape.add(Kind.RUN_STARTED, payload={"scenario": "by hand", "seed": 7})
    tape.start(*hosts)
    tape.join(hosts[0], session_s=session_s).prepare(hosts[0], "ADD_MEMBER")
    for host in hosts[1:]:
        tape.join(host, session_s=session_s)
    tape.at(3).complete(*hosts).at(3.1).stable()
    for partition, host in enumerate(hosts):
        tape.own(host, partition)
    return tape


def computed(tape: Tape, **given: list[int]) -> Tape:
    """The leader has computed the next assignment of `orders`; to be followed by `stable`."""
    assignment = {tape.members[host]: [f"orders-{n}" for n in numbers] for host, numbers in given.items()}
    leader = next(iter(given))
    tape.client(Kind.ASSIGNMENT_COMPUTED, leader, generation=tape.generation, payload={"assignment": assignment})
    return tape
