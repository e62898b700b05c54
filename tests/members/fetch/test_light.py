"""Fetches on the light cluster, during look-ups of the log's ends."""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import TopicPartition
from tests.helpers.members_fakes import parts


def test_a_partition_with_a_committed_offset_is_fetched_while_another_is_looked_up(on_bench):
    """Records of partitions with a committed offset arrive before the log ends of others are known."""

    async def body(bench):
        bench.data.ends.update(dict.fromkeys(parts(0, 1), 50))
        bench.broker.committed[TopicPartition("t", 0)] = 17
        bench.data.offsets = lambda *_: None  # the ends never come
        bench.consumer.start()
        await bench.run_for(1)
        delivered = [(event.partition, event.payload["base"]) for event in bench.emitted(Kind.RECORDS_DELIVERED)]
        assert delivered == [(0, 17)]

    on_bench(body, topics={"t": 2})
