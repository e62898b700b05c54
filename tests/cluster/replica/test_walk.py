"""Random walks: produce, crash, pause, cut links and move leaders, and check the invariants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupsim.cluster.config.replica import ReplicaConfig
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import FetchPartition

NODES = (0, 1, 2)
PARTS = (TopicPartition("orders", 0), TopicPartition("orders", 1))
NODE = st.sampled_from(NODES)
PART = st.sampled_from(PARTS)
STEP = st.one_of(
    st.tuples(st.just("produce"), PART, st.integers(1, 5), st.sampled_from((1, -1))),
    st.tuples(st.just("produce"), PART, st.integers(1, 5), st.sampled_from((1, -1))),
    st.tuples(st.just("wait"), st.sampled_from((100, 700, 3_000, 40_000, 600_000, 3_000_000, 40_000_000))),
    st.tuples(st.just("crash"), NODE, st.booleans()),
    st.tuples(st.just("start"), NODE),
    st.tuples(st.just("pause"), NODE),
    st.tuples(st.just("resume"), NODE),
    st.tuples(st.just("stall"), NODE, NODE),
    st.tuples(st.just("heal"), NODE, NODE),
    st.tuples(st.just("move"), PART, NODE),
    st.tuples(st.just("deafen"), NODE),
)


class Walk:
    """One walk; `acked` and `seen` are batches by partition and base offset that must stay for ever."""

    def __init__(self, rig: Any, a_batch: Callable[..., Batch]) -> None:
        self.rig = rig
        self.a_batch = a_batch
        self.sent = 0
        self.kept: dict[tuple[TopicPartition, int], int] = {}
        self.high: dict[tuple[int, TopicPartition, int, int], int] = {}
        self.troubled: set[object] = set()

    # --- steps -------------------------------------------------------------------------------------------------------

    async def step(self, what: str, *args: Any) -> None:
        await getattr(self, what)(*args)
        self.check()

    async def wait(self, us: int) -> None:
        await self.rig.run(us)

    async def produce(self, part: TopicPartition, count: int, acks: int) -> None:
        leader = self.rig.image.partition(part).leader
        if leader < 0 or leader in self.rig.down or self.rig.host(leader).paused:
            return
        self.sent += 1
        mark = self.sent
        batch = self.a_batch(count)
        batch.max_timestamp_ms = mark
        asked = self.rig.produce(leader, part, batch, acks=acks, timeout_ms=2_000)
        inner = asked.answers

        class Kept(list):  # type: ignore[type-arg]
            def append(kept, response: Any) -> None:
                inner_result = response.results[0]
                if acks == -1 and inner_result.error is ErrorCode.NONE:
                    self.kept[part, inner_result.base_offset] = mark
                super().append(response)

        asked.answers = Kept()
        for response in inner:
            asked.answers.append(response)

    def trouble(self, about: object, begun: bool) -> None:
        (self.troubled.add if begun else self.troubled.discard)(about)
        self.rig.trouble(bool(self.troubled))

    async def crash(self, node: int, machine: bool) -> None:
        if node in self.rig.down:
            return
        others = [all(n == node or n in self.rig.down for n in self.rig.image.partition(part).isr) for part in PARTS]
        self.trouble(("down", node), True)
        self.rig.host(node).resume()
        self.trouble(("paused", node), False)
        self.rig.crash(node, machine=machine and not any(others))
        self.fence(node)

    def fence(self, node: int) -> None:
        """Take a broker out of the in-sync replicas, and elect another one of them, or no leader."""
        broker = self.rig.image.brokers[node]
        object.__setattr__(broker, "fenced", True)
        for part in PARTS:
            self.elect(part, without=node)

    def elect(self, part: TopicPartition, without: int = -1, wanted: int = -1) -> None:
        state = self.rig.image.partition(part)
        isr = tuple(n for n in state.isr if n != without) or state.isr
        alive = [n for n in isr if n not in self.rig.down]
        leader = state.leader
        if leader in self.rig.down or leader < 0:
            leader = alive[0] if alive else -1
        if wanted in alive:
            leader = wanted
        if leader != state.leader:
            self.rig.elect(part, leader, isr)
        elif isr != state.isr:
            self.rig.change(part, isr=isr)

    async def start(self, node: int) -> None:
        if node in self.rig.down:
            self.rig.cut_off.discard(node)
            object.__setattr__(self.rig.image.brokers[node], "fenced", False)
            self.rig.start(node)
            self.trouble(("down", node), False)
            for part in PARTS:
                if self.rig.image.partition(part).leader < 0:
                    self.elect(part)

    async def pause(self, node: int) -> None:
        if node not in self.rig.down:
            self.trouble(("paused", node), True)
            self.rig.host(node).pause()

    async def resume(self, node: int) -> None:
        self.rig.host(node).resume()
        self.trouble(("paused", node), False)

    async def stall(self, one: int, other: int) -> None:
        if one != other and {one, other} not in self.rig.stalled:
            self.trouble(("link", one + other), True)
            self.rig.stalled.append({one, other})

    async def heal(self, one: int, other: int) -> None:
        if {one, other} in self.rig.stalled:
            self.rig.stalled.remove({one, other})
            for wire in self.rig.wires:
                wire.release()
            self.trouble(("link", one + other), False)

    async def move(self, part: TopicPartition, node: int) -> None:
        self.elect(part, wanted=node)

    async def deafen(self, node: int) -> None:
        """Cut a broker off from the controller, or connect it again."""
        if node in self.rig.cut_off:
            self.rig.cut_off.discard(node)
            if node not in self.rig.down:
                manager = self.rig.managers[node]
                self.rig.host(node).deliver(lambda _: manager.apply(self.rig.image, list(PARTS)), None)
        else:
            self.rig.cut_off.add(node)

    # --- what must hold ----------------------------------------------------------------------------------------------

    def check(self) -> None:
        for part in PARTS:
            state = self.rig.image.partition(part)
            for node in NODES:
                if node not in self.rig.down and self.rig.managers[node].log(part) is not None:
                    self.check_replica(node, part)
            if state.leader >= 0 and self.rig.managers[state.leader].leads(part) == state.leader_epoch:
                self.check_leader(state, part)

    def check_replica(self, node: int, part: TopicPartition) -> None:
        log = self.rig.managers[node].log(part)
        assert log.start_offset <= log.high_watermark <= log.end_offset
        epoch = self.rig.managers[node].leads(part)
        if epoch is not None:
            key = (node, part, epoch, self.rig.host(node).incarnation)
            assert log.high_watermark >= self.high.get(key, 0), "a high watermark went back at one leader epoch"
            self.high[key] = log.high_watermark
        offset = 0
        while offset < log.high_watermark:
            got = self.rig.fetch(node, FetchPartition(part, offset), max_wait_ms=0).answer.partitions[0]
            assert got.error is ErrorCode.NONE
            assert got.batches
            for one in got.batches:
                assert one.next_offset <= log.high_watermark, "a consumer saw a record above the high watermark"
                mark = self.kept.setdefault((part, one.base_offset), one.max_timestamp_ms)
                assert mark == one.max_timestamp_ms, f"{node}: {part} {one.base_offset} is not what it was"
            offset = got.batches[-1].next_offset

    def check_leader(self, state: Any, part: TopicPartition) -> None:
        log = self.rig.managers[state.leader].log(part)
        have = {one.base_offset: one.max_timestamp_ms for one in log.batches(0, log.end_offset)}
        for (kept, base), mark in self.kept.items():
            if kept == part:
                assert have.get(base) == mark, f"the leader {state.leader} lost {part} {base}"
        for node in state.isr:
            if node not in self.rig.down and node not in self.rig.cut_off and not self.rig.host(node).paused:
                other = self.rig.managers[node].log(part)
                mine = [b for b in other.batches(0, log.high_watermark) if b.base_offset < log.high_watermark]
                assert other.end_offset >= log.high_watermark
                assert all(have.get(b.base_offset) == b.max_timestamp_ms for b in mine), "in-sync logs have parted"

    async def settle(self) -> None:
        """End all faults, after which all replicas must become equal."""
        for node in NODES:
            await self.resume(node)
            if node in self.rig.cut_off:
                await self.deafen(node)
            await self.start(node)
        for pair in [tuple(pair) for pair in self.rig.stalled]:
            await self.heal(*pair)
        await self.rig.run(90_000_000)
        self.check()
        for part in PARTS:
            assert sorted(self.rig.image.partition(part).isr) == [0, 1, 2]
            ends = self.rig.ends(part, *NODES)
            assert len(set(ends)) == 1, ends
            assert ends[0][0] == ends[0][1]


@given(steps=st.lists(STEP, min_size=5, max_size=50), min_isr=st.sampled_from(("1", "2")))
@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_no_committed_record_is_ever_lost(simulate: Any, a_batch: Any, steps: list[Any], min_isr: str) -> None:
    """Clean elections lose nothing acknowledged or seen, in-sync logs agree, and mending brings all together."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2), (1, 2, 0), min_insync_replicas=min_isr)
        walk = Walk(rig, a_batch)
        for what, *args in steps:
            await walk.step(what, *args)
        await walk.settle()

    simulate(story, config=ReplicaConfig(replica_lag_time_max_ms=10_000))
