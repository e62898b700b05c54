"""Random walks: small groups under random faults, and what must hold of every one of them.

A walk has two phases. In the first, members crash, pause, close, come back, lose answers and connections, and the
coordinator moves. In the second, every fault has ended and every process runs. What must hold then is liveness: the
group is Stable with exactly the running members, who agree on its generation and own each partition once. What must
hold all the time is safety, judged from the trace:

* no request is answered twice;
* a group's generation only goes up, as long as one coordinator has it (a fail-over may use a number again);
* no two processes own a partition in the same generation (an expelled one that does not know it yet, a zombie, owns in
  an older generation);
* records are delivered for owned partitions only;
* nobody commits beyond what has been delivered.

A walk is its seed: `walk(17)` in a Python prompt does it again. `WALKS=2000 pytest tests/stories/test_random_walks.py`
goes further than the few that every test run does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import pytest

from groupsim import CommitPolicy, Consumer, ErrorCode, Kind, OnError, Simulation, TraceEvent
from groupsim.coordinator.base.placement import partition_for
from groupsim.faults import (
    After,
    AnswerError,
    Break,
    DelayResponse,
    Direction,
    Isolate,
    LoseResponse,
    Match,
    Refuse,
    Stall,
)
from groupsim.requests import Api

SECOND = 1_000_000
WALKS = int(os.environ.get("WALKS", "20"))
FIRST = int(os.environ.get("FIRST_WALK", "0"))
ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky", "cooperative-sticky")
LOST = (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.LEAVE_GROUP)
ERRORS = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
)


class Walk:
    """One walk: the simulation, its processes, and its dice."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        delay = self.dice.choice((0, 0, 3000))
        # Counted logs: hundreds of walks of members and coordinator; tests/cluster walks whole clusters.
        self.sim = Simulation(seed, brokers=3, broker={"group.initial.rebalance.delay.ms": delay}, logs="counted")
        self.down: set[int] = set()
        self.members: list[Consumer] = []
        self.static = False

    # --- making ----------------------------------------------------------------------------------------------

    def build(self) -> None:
        """A topic or two and two to five processes."""
        dice = self.dice
        for name in ("orders", "bills")[: dice.randint(1, 2)]:
            self.sim.topic(name, dice.randint(1, 5), rate=dice.choice((0, 5, 40)))
        assignor = dice.choice(ASSIGNORS)
        static = self.static = dice.random() < 0.4
        client = dice.choice(("java", "java", "java-2.8", "java-4.x"))
        session = dice.choice((6_000, 10_000))
        self.members += [self.member(n, assignor, client, session, static) for n in range(dice.randint(2, 5))]

    def member(self, number: int, assignor: str, client: str, session: int, static: bool) -> Consumer:
        """One process that will be started during the walk."""
        dice = self.dice
        properties: dict[str, object] = {
            "partition.assignment.strategy": assignor,
            "session.timeout.ms": session,
            "heartbeat.interval.ms": dice.choice((500, 2_000)),
            "max.poll.records": 20,
            "max.poll.interval.ms": dice.choice((8_000, 20_000, 60_000)),
            "request.timeout.ms": dice.choice((4_000, 15_000)),
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": dice.choice((1_000, 5_000)),
        }
        if static:
            properties["group.instance.id"] = f"i{number}"
        return self.sim.member(
            f"c{number}",
            client=client,
            start=False,
            properties=properties,
            processing=dice.choice((None, "1ms", "uniform(1ms, 200ms)")),
            on_revoked=dice.choice((None, None, "uniform(10ms, 3s)")),
            on_assigned=dice.choice((None, None, "500ms")),
            assignor_time=dice.choice((None, None, "uniform(10ms, 4s)")),
            commit=dice.choice(tuple(CommitPolicy)),
            on_error=dice.choice((OnError.STOP, OnError.RETRY)),
        )

    # --- the two phases --------------------------------------------------------------------------------------

    async def story(self) -> None:
        """Trouble, then peace."""
        self.build()
        for _ in range(self.dice.randint(5, 40)):
            self.trouble()
            await self.sim.loop.sleep(self.dice.randint(0, 4 * SECOND))
        await self.peace()

    def trouble(self) -> None:
        """One random thing happens."""
        dice, member = self.dice, self.dice.choice(self.members)
        if not member.running:
            member.start()
            return
        what = dice.choice((self.to_a_process, self.to_a_process, self.to_a_message, self.to_a_link, self.to_a_broker))
        what(member)

    def to_a_process(self, member: Consumer) -> None:
        """Something happens to one process."""
        dice = self.dice
        us = dice.randint(1, 15 * SECOND)
        dice.choice(
            (
                lambda: member.crash(),
                lambda: member.begin_close(dice.choice((None, True, False))),
                lambda: member.pause(us),
                lambda: member.block_poll(us),
                lambda: member.enforce_rebalance(),
                lambda: member.block_callback(dice.choice(("assigned", "revoked", "lost")), us),
                lambda: member.subscribe([dice.choice(list(self.sim.topics))]),
                lambda: member.subscribe(list(self.sim.topics)),
                lambda: member.unsubscribe(),
            )
        )()

    def to_a_message(self, member: Consumer) -> None:
        """An answer is lost, late, or an error that the coordinator did not mean."""
        dice = self.dice
        who = dice.choice((member.host.name, None))
        match = Match(host=who, api=dice.choice(LOST), nth=dice.randint(1, 2), times=dice.randint(1, 2))
        if dice.random() < 0.3:
            self.sim.inject(AnswerError(match, dice.choice(ERRORS), for_us=30 * SECOND))
        elif dice.random() < 0.3:
            self.sim.inject(DelayResponse(match, by_us=dice.randint(1, 12 * SECOND), for_us=30 * SECOND))
        else:
            self.sim.inject(LoseResponse(match, dice.choice(tuple(After)), for_us=30 * SECOND))

    def to_a_link(self, member: Consumer) -> None:
        """A connection breaks, or a host is hard to reach for a while."""
        dice = self.dice
        us = dice.randint(1, 14 * SECOND)
        match = Match(host=member.host.name, purpose=dice.choice(("coordinator", None)))
        fault = dice.choice((Break, Stall, Isolate, Refuse))
        if fault is Break:
            self.sim.inject(Break(match))
        elif fault is Stall:
            self.sim.inject(Stall(match, dice.choice(tuple(Direction)), for_us=us))
        else:
            self.sim.inject(fault(match, for_us=us))

    def to_a_broker(self, member: Consumer) -> None:
        """The coordinator moves, a broker dies or comes back, a topic grows."""
        dice, cluster = self.dice, self.sim.cluster
        if self.down and dice.random() < 0.7:
            cluster.restart_broker(self.down.pop())
            return
        node = dice.randrange(3)
        if dice.random() < 0.5 and node not in self.down:
            cluster.move_coordinator(partition_for("g1"), node)
        elif not self.down:
            cluster.crash_broker(node)
            self.down.add(node)
        else:
            name, count = next(iter(self.sim.topics.items()))
            cluster.add_partitions(name, count + 1)

    async def peace(self) -> None:
        """All brokers and processes run, all subscribe to everything; faults have ended."""
        while self.down:
            self.sim.cluster.restart_broker(self.down.pop())
        await self.sim.loop.sleep(31 * SECOND)
        everything = list(self.sim.topics)
        for member in self.members:
            member.change_behaviour(processing=None)  # else max.poll.interval.ms goes on biting
            if not member.running:
                member.start()
            member.subscribe(everything)
        calm = 0
        for round_ in range(100):
            await self.sim.run_for("6s")
            for member in self.members:
                if not member.running:
                    member.start()
            calm = 0 if list(self.unrest()) else calm + 1
            if calm == 4:
                return
            if self.static and round_ == 20:
                # Two holes of Kafka's: a static member back between the two rounds of a cooperative rebalance gets its
                # old assignment and no second round, so what was withheld is nobody's; and before KIP-814 a static
                # leader that came back watches no partitions. The next rebalance mends both; only the leader's own
                # rejoin makes one.
                for member in self.members:
                    member.enforce_rebalance()
        assert list(self.unrest()) == []

    def unrest(self) -> Iterator[str]:
        """What is not yet as it should be in the end."""
        group = self.sim.group_or_none("g1")
        if group is None or group.state != "Stable":
            yield f"the group is {group.state if group else 'unknown'}"
            return
        if sorted(m.member_id for m in group.members) != sorted(m.member_id for m in self.members):
            yield f"members {[m.member_id for m in group.members]}"
        if group.parked or group.pending_join:
            yield f"still waiting: {group.parked} {group.pending_join}"
        for member in self.members:
            if (member.state, member.generation) != ("STABLE", group.generation):
                yield f"{member} in generation {group.generation}"
        owned = sorted(str(partition) for member in self.members for partition in member.assignment)
        wanted = sorted(f"{name}-{p}" for name, count in self.sim.topics.items() for p in range(count))
        if owned != wanted:
            yield f"owned {owned}, wanted {wanted}"


# --- safety, from the trace --------------------------------------------------------------------------------------


def answered_twice(events: list[TraceEvent]) -> Iterator[str]:
    """Requests with more than one answer."""
    for kind, end in ((Kind.RESPONSE_SENT, "sent"), (Kind.RESPONSE_RECEIVED, "received")):
        seen = set()
        for event in events:
            if event.kind is kind and event.correlation:
                who = (event.payload or {}).get("to") if kind is Kind.RESPONSE_SENT else event.host
                if (who, event.correlation) in seen:
                    yield f"{event.api} {event.correlation} of {who}: a second answer {end} at {event.t_us}"
                seen.add((who, event.correlation))


def generations_that_fell(events: list[TraceEvent]) -> Iterator[str]:
    """A generation below the one before, with no load between."""
    latest: dict[str | None, int] = {}
    for event in events:
        if event.kind is Kind.GROUP_LOADED or event.kind is Kind.GROUP_UNLOADED or event.kind is Kind.GROUP_DELETED:
            latest.clear()
        elif event.kind is Kind.GROUP_STATE and event.generation is not None:
            if event.generation < latest.get(event.host, 0):
                yield f"generation {event.generation} after {latest[event.host]} at {event.t_us}"
            latest[event.host] = event.generation


def owned_twice(events: list[TraceEvent]) -> Iterator[str]:
    """Two processes that own a partition, both in the same generation of the same coordinator."""
    owners: dict[tuple[str | None, int | None], dict[str | None, tuple[int, int | None]]] = {}
    loads = 0
    for event in events:
        place = (event.topic, event.partition)
        if event.kind is Kind.GROUP_LOADED:
            loads += 1
        elif event.kind is Kind.PARTITION_OWNED:
            here = owners.setdefault(place, {})
            for other, since in here.items():
                if other != event.host and since == (loads, event.generation):
                    yield f"{place} owned by {event.host} and {other} in generation {event.generation} at {event.t_us}"
            here[event.host] = (loads, event.generation)
        elif event.kind is Kind.PARTITION_RELEASED:
            owners.get(place, {}).pop(event.host, None)


def delivered_beside_another(events: list[TraceEvent]) -> Iterator[str]:
    """Records delivered while another member, settled in the same generation, owns their partition too."""
    owners: dict[tuple[str | None, int | None], set[str | None]] = {}
    joined: dict[str | None, tuple[int, int | None]] = {}
    settled: dict[str | None, tuple[int, int | None]] = {}
    loads = 0  # a fail-over may use a generation again: what counts is the round, a load and a generation
    for event in events:
        place = (event.topic, event.partition)
        if event.kind is Kind.GROUP_LOADED:
            loads += 1
        elif event.kind is Kind.CLIENT_STATE and event.to == "COMPLETING_REBALANCE":
            joined[event.host] = (loads, event.generation)
        elif event.kind is Kind.CALLBACK_ENDED and event.reason == "assigned":
            settled[event.host] = joined.get(event.host, (loads, event.generation))
        elif event.kind is Kind.CLIENT_STATE and event.to in ("PREPARING_REBALANCE", "UNJOINED"):
            settled.pop(event.host, None)
        elif event.kind is Kind.PARTITION_OWNED:
            owners.setdefault(place, set()).add(event.host)
        elif event.kind is Kind.PARTITION_RELEASED:
            owners.get(place, set()).discard(event.host)
        elif event.kind is Kind.RECORDS_DELIVERED and event.generation is not None:  # without one it is a zombie
            for other in sorted(map(str, owners.get(place, set()) - {event.host})):
                if settled.get(other) == joined.get(event.host, (loads, event.generation)):
                    yield f"{place} delivered by {event.host}, owned by {other}, both in {event.generation}"


def delivered_unowned(events: list[TraceEvent]) -> Iterator[str]:
    """Records delivered by a process that does not own their partition."""
    owned: set[tuple[str | None, str | None, int | None]] = set()
    for event in events:
        place = (event.host, event.topic, event.partition)
        if event.kind is Kind.PARTITION_OWNED:
            owned.add(place)
        elif event.kind is Kind.PARTITION_RELEASED:
            owned.discard(place)
        elif event.kind is Kind.RECORDS_DELIVERED and place not in owned:
            yield f"{place} delivered without ownership at {event.t_us}"


def committed_beyond(events: list[TraceEvent]) -> Iterator[str]:
    """Commits of offsets that nobody has been given the records before."""
    delivered: dict[str, int] = {}
    for event in events:
        payload = event.payload or {}
        if event.kind is Kind.RECORDS_DELIVERED:
            name = f"{event.topic}-{event.partition}"
            delivered[name] = max(delivered.get(name, 0), payload["base"] + payload["count"])
        elif event.kind is Kind.OFFSETS_COMMITTED:
            for name, offset in payload["offsets"].items():
                if offset > delivered.get(name, 0):
                    yield f"{name}: {event.host} committed {offset}, delivered {delivered.get(name, 0)}, {event.t_us}"


SAFETY = (
    answered_twice,
    generations_that_fell,
    owned_twice,
    delivered_beside_another,
    delivered_unowned,
    committed_beyond,
)


def walk(seed: int) -> list[TraceEvent]:
    """Do one walk; returns its trace. Raises AssertionError when something does not hold."""
    made = Walk(seed)
    made.sim.drive(made.story)
    assert [wrong for rule in SAFETY for wrong in rule(made.sim.events)] == []
    return made.sim.events


@pytest.mark.parametrize("seed", range(FIRST, FIRST + WALKS))
def test_whatever_happens_the_group_comes_together_again(seed: int) -> None:
    """Under random faults nothing unsafe happens, and once they end the group converges."""
    assert walk(seed)


def test_the_judges_see_what_is_wrong() -> None:
    """Each rule finds the trace that breaks it, and none is broken by a trace in order."""
    own = {"kind": Kind.PARTITION_OWNED, "topic": "t", "partition": 0, "generation": 3}
    events = [
        TraceEvent(1, 1, Kind.GROUP_STATE, host="b0", generation=3),
        TraceEvent(2, 2, host="c1", **own),
        TraceEvent(3, 3, host="c2", **own),
        TraceEvent(4, 4, Kind.RECORDS_DELIVERED, host="c3", topic="t", partition=0, payload={"base": 0, "count": 2}),
        TraceEvent(5, 5, Kind.OFFSETS_COMMITTED, host="c1", payload={"offsets": {"t-0": 3}}),
        TraceEvent(6, 6, Kind.RESPONSE_SENT, api="JoinGroup", correlation=7, payload={"to": "c1"}),
        TraceEvent(7, 7, Kind.RESPONSE_SENT, api="JoinGroup", correlation=7, payload={"to": "c1"}),
        TraceEvent(8, 8, Kind.GROUP_STATE, host="b0", generation=2),
        TraceEvent(9, 9, Kind.CALLBACK_ENDED, host="c1", generation=3, reason="assigned"),
        TraceEvent(10, 10, host="c2", **own | {"kind": Kind.RECORDS_DELIVERED}, payload={"base": 0, "count": 2}),
    ]
    assert [len(list(rule(events))) for rule in SAFETY] == [1] * len(SAFETY)
    assert [len(list(rule(events[:2]))) for rule in SAFETY] == [0] * len(SAFETY)
