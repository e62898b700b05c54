"""What no client of Kafka's asks of logs, and yet may: odd times, levels, epochs, sizes and batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve

from groupsim.protocol.batch.batch import LogRecord
from groupsim.protocol.batch.codec import encode
from groupsim.protocol.batch.sizes import batch_of
from tests.conformance.bodies import Body
from tests.conformance.script import Actor, Script, Topic, script

MISSING = "UNKNOWN_TOPIC_OR_PARTITION"
TRIPPED = "UNKNOWN_SERVER_ERROR"
IN_2026 = 1_767_225_600_000
_MIB = 1 << 20


def batch(count: int = 3, key: bytes | None = None, **numbered: Any) -> bytes:
    """So many records of one time."""
    made = batch_of([LogRecord(number, key, b"value %d" % number) for number in range(count)], IN_2026)
    return encode(evolve(made, **numbered))


async def produce(
    a: Actor, v: int, topic: Topic, *data: bytes, error: str = "NONE", number: int = 0, acks: int = -1
) -> None:
    """Produce these bytes to one partition, each in an entry of its own."""
    parts = [{"index": number, "records": one} for one in data]
    topics = [{"name": topic.name, "topic_id": topic.topic_id, "partition_data": parts}]
    await a.ask(
        "Produce", v, {"transactional_id": None, "acks": acks, "timeout": 10_000, "topic_data": topics}, error=error
    )


async def ends(
    a: Actor, v: int, parts: Sequence[tuple[int, int, int]], topic: Topic, error: str = "NONE", **more: Any
) -> None:
    """ListOffsets of (partition, leader epoch, time)."""
    asked = [{"partition_index": n, "current_leader_epoch": epoch, "timestamp": time} for n, epoch, time in parts]
    body = {
        "replica_id": -1,
        "isolation_level": 0,
        "timeout": 1_000,
        "topics": [{"name": topic.name, "partitions": asked}],
    }
    await a.ask("ListOffsets", v, {**body, **more}, error=error)


async def consume(a: Actor, v: int, topic: Topic, error: str = "NONE", **more: Any) -> Body:
    """Fetch of one partition; `more` changes fields of the partition or of the request."""
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": _MIB, "current_leader_epoch": -1}
    part |= {"last_fetched_epoch": -1, "log_start_offset": -1}
    part |= {name: more.pop(name) for name in list(more) if name in part}
    topics = [{"topic": topic.name, "topic_id": topic.topic_id, "partitions": [part]}]
    body: Body = {"max_wait": 0, "min_bytes": 0, "max_bytes": _MIB, "replica_id": -1, "isolation_level": 0}
    body |= {"session_id": 0, "session_epoch": -1, "topics": topics, "forgotten_topics_data": [], "rack_id": "", **more}
    return await a.ask("Fetch", v, body, error=error)


@script(rows=["wire-list-offsets"], versions=(1, 4, 6, 7, 8, 9, 11))
async def times_that_mean_something_else(s: Script) -> None:
    a, t = await s.actor(), await s.topic(partitions=2)
    await produce(a, 9, t, batch(3))
    since = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
    for time in (-1, -2, -3, -4, -5, -6, -7, -100, 0, IN_2026, IN_2026 + 1):
        error = "UNSUPPORTED_VERSION" if time < 0 and since.get(time, 99) > s.v else "NONE"
        await ends(a, s.v, [(0, -1, time), (1, -1, time)], t, error)


@script(rows=["wire-list-offsets"], versions=(2, 4, 6, 11))
async def ends_asked_for_in_odd_ways(s: Script) -> None:
    a, t = await s.actor(), await s.topic(partitions=2)
    for level in (2, -1, 100):
        await ends(a, s.v, [(0, -1, -1), (7, -1, -1)], t, TRIPPED, isolation_level=level)
    await ends(a, s.v, [(0, -1, -1), (0, -1, -1), (1, -1, -1)], t, "INVALID_REQUEST")
    await ends(a, s.v, [(-1, -1, -1), (9, -1, -2)], t, MISSING)
    await ends(a, s.v, [], t)
    for replica in (-2, -3, 0, 9):
        await ends(a, s.v, [(0, -1, -1)], t, replica_id=replica)
    if s.v >= 4:
        await ends(a, s.v, [(0, -2, -1)], t, "FENCED_LEADER_EPOCH")
        await ends(a, s.v, [(0, 5, -1)], t, "UNKNOWN_LEADER_EPOCH")


@script(rows=["wire-fetch"], versions=(4, 6, 7, 12, 13, 16))
async def fetches_of_odd_levels_and_sizes(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    await produce(a, 9, t, batch(3))
    for level in (2, -1):
        await consume(a, s.v, t, TRIPPED, isolation_level=level)
    for size in (0, 1, 10):
        await consume(a, s.v, t, partition_max_bytes=size)
        await consume(a, s.v, t, max_bytes=size)
    await consume(a, s.v, t, TRIPPED, partition_max_bytes=-1)
    await consume(a, s.v, t, TRIPPED, max_bytes=-1)
    await consume(a, s.v, t, min_bytes=-1)
    await consume(a, s.v, t, max_wait=-1)
    for offset in (-1, 4):
        await consume(a, s.v, t, "OFFSET_OUT_OF_RANGE", fetch_offset=offset)
    await consume(a, s.v, t, fetch_offset=3)


@script(rows=["wire-fetch"], versions=(9, 12, 14, 16))
async def fetches_of_odd_epochs_and_replicas(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    await produce(a, 9, t, batch(3))
    for epoch in (-2, -1, 0):
        await consume(a, s.v, t, current_leader_epoch=epoch)
    await consume(a, s.v, t, "UNKNOWN_LEADER_EPOCH", current_leader_epoch=1)
    for replica in (-2, -3, -4) if s.v < 15 else ():
        await consume(a, s.v, t, replica_id=replica)
    if s.v >= 12:
        for epoch in (-2, 0):
            await consume(a, s.v, t, last_fetched_epoch=epoch, fetch_offset=3)
        await consume(a, s.v, t, "OFFSET_OUT_OF_RANGE", last_fetched_epoch=5, fetch_offset=3)


@script(rows=["wire-fetch"], versions=(7, 12, 15))
async def sessions_that_were_never_begun(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    for session, epoch in ((0, 1), (77, 0), (77, 1), (77, -2)):
        lost = "FETCH_SESSION_ID_NOT_FOUND" if epoch not in (0, -1) else "NONE"
        await consume(a, s.v, t, lost, session_id=session, session_epoch=epoch)
    await consume(a, s.v, t, session_id=77, session_epoch=-1)


@script(rows=["wire-records-refused"], versions=(3, 8, 9, 12, 13))
async def batches_that_are_none(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    one = batch()
    await produce(a, s.v, t, one + one, error="INVALID_RECORD")
    await produce(a, s.v, t, one[:-3], error="INVALID_RECORD")
    await produce(a, s.v, t, b"", error="INVALID_RECORD")
    await produce(a, s.v, t, one[:-1] + b"\1", error="CORRUPT_MESSAGE")
    await produce(a, s.v, t, batch(base_offset=7), error="INVALID_RECORD")
    await produce(a, s.v, t, one + b"abc")
    await produce(a, s.v, t, one, one)
    await produce(a, s.v, t, one, number=-1, error=MISSING)
    await produce(a, s.v, t, one, acks=2, error="INVALID_REQUIRED_ACKS")
    await ends(a, 6, [(0, -1, -1)], t)


@script(rows=["wire-records-refused"], versions=(3, 8, 9))
async def producers_out_of_order(s: Script) -> None:
    a, t = await s.actor(), await s.topic()

    async def send(producer: int, epoch: int, sequence: int, error: str = "NONE") -> None:
        data = batch(producer_id=producer, producer_epoch=epoch, base_sequence=sequence)
        await produce(a, s.v, t, data, error=error)

    await send(6, 0, 7)
    await send(6, 0, 7)
    await send(6, 0, 11, "OUT_OF_ORDER_SEQUENCE_NUMBER")
    await send(6, 1, 9, "OUT_OF_ORDER_SEQUENCE_NUMBER")
    await send(6, 1, 0)
    await send(6, 0, 10, "INVALID_PRODUCER_EPOCH")
    await send(6, 1, -1, "INVALID_RECORD")
    await send(-1, 0, 0)


@script(rows=["wire-records-refused"], versions=(3, 8, 9))
async def records_that_a_topic_does_not_take(s: Script) -> None:
    a = await s.actor()
    for suffix, name, value in (("compact", "cleanup.policy", "compact"), ("small", "max.message.bytes", "200")):
        topic = s.topics[suffix] = Topic(s.named(f".t{suffix}"))
        new = {"name": topic.name, "num_partitions": 1, "replication_factor": 1, "assignments": ()}
        new["configs"] = ({"name": name, "value": value},)
        await a.ask("CreateTopics", 5, {"topics": [new], "timeout": 10_000, "validate_only": False})
    await s.sleep(300)
    compact, small = s.topics["compact"], s.topics["small"]
    await produce(a, s.v, compact, batch(5), error="INVALID_RECORD")
    await produce(a, s.v, compact, batch(5, b"key"))
    await produce(a, s.v, small, batch(50), error="MESSAGE_TOO_LARGE")
    await produce(a, s.v, small, batch(2))


@script(rows=["wire-epochs"], versions=(2, 3, 4))
async def epochs_that_are_none(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    await produce(a, 9, t, batch(3))

    async def ask(leader: int, epoch: int, error: str = "NONE", number: int = 0) -> None:
        part = {"partition": number, "current_leader_epoch": leader, "leader_epoch": epoch}
        topics = [{"topic": t.name, "partitions": [part]}]
        await a.ask("OffsetForLeaderEpoch", s.v, {"replica_id": -1, "topics": topics}, error=error)

    for epoch in (-(2**31), -2, -1, 0, 1):
        await ask(-1, epoch)
    await ask(-2, 0, "FENCED_LEADER_EPOCH")
    await ask(4, 0, "UNKNOWN_LEADER_EPOCH")
    await ask(-1, 0, MISSING, -1)
    await a.ask("OffsetForLeaderEpoch", s.v, {"replica_id": -1, "topics": []})
