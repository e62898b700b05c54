"""Deliberate defects of members: single stages of a membership left out, rebalances enforced by the clock."""

from __future__ import annotations

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour, Stuck
from groupsim.protocol.messages.group import Api
from tests.helpers.members_fakes import SECOND


def test_never_heartbeat(on_bench):
    """A client with this defect joins and sends nothing afterwards."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(60)
        assert bench.broker.all(Api.HEARTBEAT) == []

    on_bench(body, behaviour=Behaviour(stuck=frozenset({Stuck.NEVER_HEARTBEAT})))


def test_never_sync(on_bench):
    """A client with this defect heartbeats after its join but never sends SyncGroup."""

    async def body(bench):
        bench.consumer.start()
        await bench.run_for(60)
        assert bench.broker.all(Api.SYNC_GROUP) == []
        assert len(bench.broker.all(Api.HEARTBEAT)) == 19

    on_bench(body, behaviour=Behaviour(stuck=frozenset({Stuck.NEVER_SYNC})))


def test_never_sync_is_not_woken_up(on_bench):
    """A new connection to the coordinator does not make the client with this defect send SyncGroup."""

    async def body(bench):
        bench.consumer.start()
        await bench.run_for(10)
        bench.net.break_all()
        await bench.run_for(10)
        assert bench.emitted(Kind.COORDINATOR_FOUND)[-1].t_us > 10 * SECOND
        assert len(bench.broker.all(Api.JOIN_GROUP)) == 2  # the second with the id that the first was given

    on_bench(body, behaviour=Behaviour(stuck=frozenset({Stuck.NEVER_SYNC})))


def test_never_rejoin(on_bench):
    """A client with this defect requests a rejoin every 3 s and does not join (knative #4179)."""

    async def body(bench):
        await bench.stable()
        joined = len(bench.broker.all(Api.JOIN_GROUP))
        bench.broker.rebalance()
        await bench.run_for(10)
        assert bench.reasons(Kind.REJOIN_REQUESTED).count("group is already rebalancing") == 3
        assert len(bench.broker.all(Api.JOIN_GROUP)) == joined

    on_bench(body, behaviour=Behaviour(stuck=frozenset({Stuck.NEVER_REJOIN})))


def test_enforced_rebalances_come_at_their_period(on_bench):
    """An application that enforces a rebalance every 8 s makes a leader rejoin every 8 s (ClickHouse #33433)."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(40)
        assert bench.consumer.generation == 6
        assert bench.broker.last(Api.JOIN_GROUP).reason == "rebalance enforced by user"

    on_bench(body, behaviour=Behaviour(enforce_rebalance_every=parse_distribution("8s")))
