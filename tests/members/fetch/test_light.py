"""Fetches from a stand-in for the data, beside look-ups of the log's ends."""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import TopicPartition
from tests.helpers.members_fakes import parts


def test_a_partition_with_a_committed_offset_is_fetched_while_another_is_looked_up(on_bench):
    """Records come from where the group was, though the ends of a partition without an offset are not known yet."""

    async def story(bench):
        bench.data.ends.update(dict.fromkeys(parts(0, 1), 50))
        bench.broker.committed[TopicPartition("t", 0)] = 17
        bench.data.offsets = lambda *_: None  # the ends never come
        bench.consumer.start()
        await bench.run_for(1)
        delivered = [(event.partition, event.payload["base"]) for event in bench.told(Kind.RECORDS_DELIVERED)]
        assert delivered == [(0, 17)]

    on_bench(story, topics={"t": 2})
