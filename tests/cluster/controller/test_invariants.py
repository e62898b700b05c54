"""Invariants of the controller's decisions under any history of brokers, links and leaders."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.cluster.config.controller import ControllerConfig, zookeeper_era
from groupsim.cluster.controller.agent import BrokerLife
from groupsim.cluster.controller.elections import Election
from groupsim.cluster.controller.placement import Refused
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.cluster import ClusterImage, PartitionState

BROKERS, PARTITIONS = 4, 3
SECOND = 1_000_000
CONFIGS = (ControllerConfig(), ControllerConfig(eligible_leader_replicas=False), zookeeper_era())

NODE, PARTITION = st.integers(0, BROKERS - 1), st.integers(0, PARTITIONS - 1)
STEP = st.one_of(
    st.tuples(st.sampled_from(["crash", "restart", "cut", "heal", "stop"]), NODE),
    st.tuples(st.just("wait"), st.integers(1, 22)),
    st.tuples(st.just("alter"), PARTITION, st.sets(NODE)),
    st.tuples(st.just("move"), PARTITION, NODE),
    st.tuples(st.just("elect"), PARTITION),
)


class Watch:
    """Looks at every image that the controller makes."""

    def __init__(self, rig: Any, config: ControllerConfig) -> None:
        self.rig, self.config = rig, config
        self.before: ClusterImage = rig.image
        rig.controller.on_image.append(self.look)

    def look(self, image: ClusterImage) -> None:
        assert image.version == self.before.version + 1
        for node, broker in image.brokers.items():
            assert node not in self.before.brokers or broker.epoch >= self.before.brokers[node].epoch
        for number, state in enumerate(image.topics["t"].partitions):
            before = self.before.partition(TopicPartition("t", number))
            self.one(before, state)
            if before is not None and state is not before:
                self.step(before, state)
        self.before = image

    def one(self, before: PartitionState | None, state: PartitionState) -> None:
        assert set(state.isr) <= set(state.replicas)
        assert state.leader == -1 or state.leader in state.isr
        assert state.isr or (self.config.eligible_leader_replicas and state.leader == -1)
        assert len(set(state.isr)) == len(state.isr)
        assert not set(state.elr) & set(state.isr)

    def step(self, before: PartitionState, state: PartitionState) -> None:
        assert state.partition_epoch > before.partition_epoch
        assert state.leader_epoch >= before.leader_epoch
        if state.leader != before.leader:
            assert state.leader_epoch > before.leader_epoch
            clean = state.leader in (*before.isr, *before.elr, *self.rig.named)
            last = state.leader in before.last_known_elr and state.recovering
            assert state.leader == -1 or clean or last


def act(rig: Any, step: tuple[Any, ...], stopped: set[int]) -> None:
    """Do one step, if it makes sense now."""
    what, which = step[0], step[1]
    alive = rig.loop.host(f"broker-{which}").alive
    if what in ("cut", "heal"):
        rig.links[which].up = what == "heal"
    elif what == "crash" and alive:
        rig.crash(which)
    elif what == "restart" and (not alive or rig.agents[which].life is BrokerLife.SHUTTING_DOWN):
        rig.restart(which)
        stopped.discard(which)
    elif what == "stop" and alive and which not in stopped:
        stopped.add(which)
        rig.agents[which].shut_down(lambda: None)
    elif what == "alter":
        state = rig.state(partition=which)
        if state.leader >= 0:
            others = tuple(node for node in state.replicas if node in step[2] and node != state.leader)
            rig.named = others  # in sync by their leader's word, even before it is in force
            rig.alter((state.leader, *others), partition=which)
            rig.named = ()
    elif what == "move":
        try:
            rig.controller.move_leader(TopicPartition("t", which), step[2])
        except Refused:
            return
    elif what == "elect":
        rig.controller.elect_leaders(Election.PREFERRED, [TopicPartition("t", which)])


@settings(max_examples=60)
@given(config=st.sampled_from(CONFIGS), min_isr=st.integers(1, 3), steps=st.lists(STEP, max_size=25))
def test_the_controllers_promises_hold_in_any_history(
    rig_class: Any, config: ControllerConfig, min_isr: int, steps: list[Any]
) -> None:
    """Leaders are in sync, epochs rise, no replica out of sync is elected, agents converge when links recover.

    Random crashes, restarts, cuts, orderly stops, AlterPartitions, moves and elections, under three controllers. No
    topic allows unclean elections, so only an in-sync, an eligible or the last known leader may follow.
    """

    async def main(loop: VirtualLoop) -> None:
        rig = rig_class(loop, [], BROKERS, config, ())
        await loop.sleep(SECOND)
        lists = [[(p + j) % BROKERS for j in range(3)] for p in range(PARTITIONS)]
        rig.controller.create_topic("t", assignment=lists, config={"min.insync.replicas": str(min_isr)})
        rig.named = ()
        Watch(rig, config)
        stopped: set[int] = set()
        for step in steps:
            if step[0] == "wait":
                await loop.sleep(step[1] * SECOND)
            else:
                act(rig, step, stopped)
                await loop.sleep(1_000)
        for node in range(BROKERS):
            rig.links[node].up = True
        await loop.sleep(60 * SECOND)
        for node in range(BROKERS):
            if not loop.host(f"broker-{node}").alive or node in stopped:
                rig.restart(node)
        await loop.sleep(120 * SECOND)
        assert all(agent.image is rig.image for agent in rig.agents.values())
        assert all(rig.image.is_up(node) for node in range(BROKERS))
        assert all(state.leader >= 0 for state in rig.image.topics["t"].partitions)

    run_virtual(main)
