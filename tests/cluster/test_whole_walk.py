"""Random walks of the whole: brokers, controller, producers, pulling groups, transactions, and every kind of fault.

A walk is its seed. First faults come and go while everything is looked at again and again (`whole_checks`); then all is
mended, the producers stop, and everything must come together: replicas, groups, what was delivered.

`WHOLE_WALKS=300 pytest tests/cluster/test_whole_walk.py` goes further than every test run does (`make walks`);
`walk(17)` in a Python prompt does one again.
"""

from __future__ import annotations

import os
from functools import lru_cache
from random import Random

import pytest

from groupsim.cluster.controller.topic_changes import Refused
from groupsim.cluster.network.faults import Break, Direction, Isolate, Match, Stall
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.virtual import run_virtual
from tests.helpers.whole_checks import Checks
from tests.helpers.whole_stage import SECOND, WholeStage

WALKS = int(os.environ.get("WHOLE_WALKS", "3"))
FIRST = int(os.environ.get("FIRST_WALK", "0"))
REMEMBERED = (9, 11, 25, 27)
"""What they found: offsets of a zombie that stayed pending for ever (9, 27); an idempotent producer that wrote twice
after an expiry (11); a leader that proposed its in-sync set again and again at one instant (25)."""


class Walk:
    """One walk. A machine is lost only when other brokers have its records."""

    def __init__(self, stage: WholeStage) -> None:
        self.stage = stage
        self.cluster = stage.cluster
        self.dice = stage.dice
        self.checks = Checks(stage)
        self.stopping: set[int] = set()
        self.lost: int | None = None

    async def story(self) -> None:
        """Trouble, then peace."""
        loop = self.stage.loop
        for app in self.stage.apps:
            app.start()
        for consumer in self.stage.consumers:
            self.stage.start(consumer)
        await loop.sleep(3 * SECOND)
        for _ in range(self.dice.randint(4, 20)):
            self.trouble()
            await loop.sleep(self.dice.choice((1_000, 30_000, SECOND, 4 * SECOND, 12 * SECOND)))
            self.checks.look()
        await self.peace()
        self.checks.look()
        self.checks.converged()

    # --- trouble -----------------------------------------------------------------------------------------------------

    def trouble(self) -> None:
        """One random thing happens."""
        self.dice.choice((self.to_a_broker, self.to_a_broker, self.to_a_leader, self.to_a_link, self.to_a_client))()

    def to_a_broker(self) -> None:
        """It dies, stops, freezes, or comes back."""
        node = self.dice.randrange(len(self.cluster.brokers))
        broker = self.cluster.brokers[node]
        if not broker.host.alive:
            self.restart(node)
        elif broker.host.paused:
            self.cluster.resume_broker(node)
        else:
            what = self.dice.choice(("process", "machine", "stop", "freeze"))
            if what == "stop" and node not in self.stopping:
                self.stopping.add(node)
                self.cluster.stop_broker(node)
            elif what == "freeze":
                self.cluster.pause_broker(node)
            else:
                self.crash(node, machine=what == "machine" and self.is_whole())

    def crash(self, node: int, *, machine: bool) -> None:
        """Kill it. Who may have lost data is in no in-sync set any more when it comes back, and until it is again no
        other broker dies: two losses at once would be more than min.insync.replicas=2 can bear.
        """
        if self.lost is not None and not self.is_whole():
            self.cluster.pause_broker(node)
            return
        self.lost = node if machine else None
        self.cluster.crash_broker(node, machine=machine)

    def is_whole(self) -> bool:
        """Whether every broker runs, and every partition has all its replicas in sync."""
        image = self.cluster.controller.image
        states = [image.partition(partition) for partition in self.stage.partitions()]
        well = all(broker.host.alive and not broker.host.paused for broker in self.cluster.brokers.values())
        return well and all(state is not None and len(state.isr) == len(state.replicas) for state in states)

    def restart(self, node: int) -> None:
        self.stopping.discard(node)
        self.cluster.restart_broker(node)

    def to_a_leader(self) -> None:
        """A leadership moves, a coordinator's as often as another."""
        internal = self.dice.random() < 0.5
        everything = [p for p in self.stage.partitions() if (p.topic == OFFSETS_TOPIC) == internal]
        partition = self.dice.choice(everything)
        state = self.cluster.controller.image.partition(partition)
        assert state is not None
        try:
            self.cluster.controller.move_leader(partition, self.dice.choice(state.isr or state.replicas))
        except Refused:
            pass  # not up just now

    def to_a_link(self) -> None:
        """Cut a broker off from the controller, its peers, clients or all hosts; or break connections."""
        node = self.dice.randrange(len(self.cluster.brokers))
        peer = self.dice.choice(("controller", "broker-*", "g-*", "p*", "app-*", "*"))
        match = Match(host=f"broker-{node}", peer=peer)
        us = self.dice.choice((300_000, 5 * SECOND, 15 * SECOND, 40 * SECOND))
        inject = self.cluster.network.inject
        what = self.dice.choice(("isolate", "stall", "break"))
        if what == "isolate":
            inject(Isolate(match, for_us=us))
        elif what == "stall":
            inject(Stall(match, self.dice.choice((Direction.IN, Direction.OUT)), for_us=us))
        else:
            inject(Break(match))

    def to_a_client(self) -> None:
        """A consumer or a producer dies, stands still, or comes back."""
        us = self.dice.choice((SECOND, 8 * SECOND, 20 * SECOND))
        if self.dice.random() < 0.3:
            producer = self.dice.choice(self.stage.apps).producer
            if not producer.running:
                producer.start()
            elif self.dice.random() < 0.5:
                producer.pause(us)
            else:
                producer.crash()
            return
        consumer = self.dice.choice(self.stage.consumers)
        if not consumer.running:
            self.stage.start(consumer)
        else:
            what = self.dice.choice(("crash", "pause", "close"))
            if what == "crash":
                self.stage.kill(consumer)
            elif what == "pause":
                consumer.pause(us)
            else:
                consumer.begin_close()

    # --- peace -------------------------------------------------------------------------------------------------------

    async def peace(self) -> None:
        """All faults end and everything runs; then producers stop, and there is time to catch up."""
        loop = self.stage.loop
        await loop.sleep(41 * SECOND)
        for node, broker in self.cluster.brokers.items():
            if broker.host.alive and broker.host.paused:
                self.cluster.resume_broker(node)
        self.start_brokers()
        await loop.sleep(20 * SECOND)
        self.start_brokers()  # a controlled stop that was held up has come to its end
        self.start_clients()
        await loop.sleep(60 * SECOND)
        self.start_clients()
        for app in self.stage.apps:
            app.on = False
            app.producer.begin_close()
        await loop.sleep(60 * SECOND)
        self.start_consumers()  # a transactional application that was fenced late is started again, as by its owners
        await loop.sleep(120 * SECOND)

    def start_brokers(self) -> None:
        for node, broker in self.cluster.brokers.items():
            if not broker.host.alive:
                self.restart(node)

    def start_clients(self) -> None:
        for app in self.stage.apps:
            if not app.producer.running:
                app.producer.start()
        self.start_consumers()

    def start_consumers(self) -> None:
        for consumer in self.stage.consumers:
            if not consumer.running:
                self.stage.start(consumer)


@lru_cache(maxsize=2)
def walked(seed: int) -> list[TraceEvent]:
    """A walk whose trace is looked at again."""
    return walk(seed)


def walk(seed: int) -> list[TraceEvent]:
    """Walk one seed and return the trace. Raises AssertionError with the broken invariant."""
    events: list[TraceEvent] = []
    checks: list[Checks] = []

    def heard(event: TraceEvent) -> None:
        events.append(event)
        if event.kind is Kind.OFFSETS_COMMITTED:
            checks[0].committed(event)

    async def main(loop: object) -> None:
        stage = WholeStage(loop, Random(seed), events)
        one = Walk(stage)
        checks.append(one.checks)
        await one.story()

    trace = Trace()
    trace.subscribe(heard)
    run_virtual(main, seed=seed, trace=trace)
    return events


@pytest.mark.parametrize("seed", [*range(FIRST, FIRST + WALKS), *REMEMBERED])
def test_nothing_that_was_promised_breaks(seed: int) -> None:
    """Under any faults acknowledged records stay, all are delivered in order, and the cluster converges again."""
    walked(seed)


def test_one_seed_one_trace() -> None:
    """The same walk twice is the same trace."""
    assert walk(REMEMBERED[-1]) == walked(REMEMBERED[-1])


def test_the_walk_has_something_to_check() -> None:
    """Faults strike, leaders move, members rebalance, transactions commit and abort: a walk is not an idle cluster."""
    events = [event for seed in REMEMBERED[-2:] for event in walked(seed)]
    kinds = {event.kind for event in events}
    assert {Kind.FAULT_BEGUN, Kind.PARTITION_LEADER, Kind.ISR_CHANGED, Kind.OFFSETS_COMMITTED} <= kinds
    ends = {event.to for event in events if event.kind is Kind.TRANSACTION_STATE}
    assert {"CompleteCommit", "CompleteAbort"} <= ends
