"""Registration, sessions, fencing, shutdown, and the metadata's way to the brokers."""

from __future__ import annotations

from typing import Any

from groupsim.protocol.basics import TopicPartition

P0 = TopicPartition("t", 0)


def test_a_dead_leader_is_fenced_and_the_next_in_sync_replica_leads(play: Any) -> None:
    """A broker that falls silent is fenced when its session is over, and the next replica in sync leads."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 1, assignment=[[0, 1, 2]])
        rig.crash(0)
        await rig.loop.sleep(9_000_000)
        assert rig.state().leader == 0
        await rig.loop.sleep(2_500_000)
        assert (rig.state().leader, rig.state().isr, rig.state().leader_epoch) == (1, (1, 2), 1)
        assert all(rig.agents[node].image is rig.image for node in (1, 2))

    events = play(story)
    (fenced,) = [event for event in events if event.kind == "broker.fenced"]
    assert fenced.payload == {"node": 0}
    moved = [event for event in events if event.kind == "partition.leader" and event.reason == "clean"]
    assert [(e.from_, e.to, e.payload["epoch"], e.cause) for e in moved] == [("0", "1", 1, fenced.seq)]
