"""What coordinators write here is read by Kafka's own dump tool, with its decoder of `__consumer_offsets`."""

from __future__ import annotations

import os
from pathlib import Path

import kafka_jars
import pytest

from groupsim.cluster.broker.offset_batches import to_batch
from groupsim.coordinator.base.records import (
    GroupRecord,
    GroupValue,
    OffsetRecord,
    OffsetValue,
    Producer,
    Record,
    StoredMember,
    TransactionEnd,
)
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import timestamp_ms
from groupsim.protocol.batch.codec import encode

TP = TopicPartition("events", 7)
MEMBER = StoredMember("m-1", "i-1", "c", "/127.0.0.1", 300_000, 45_000, b"", b"")


@pytest.mark.slow
def test_kafkas_dump_tool_reads_the_records(tmp_path: Path) -> None:
    """Keys and values of every kind of record, tombstones and markers: the tool prints them as they were meant."""
    appends: list[Record] = [
        OffsetRecord("orders", TP, OffsetValue(42, 5, "note", 1_000)),
        OffsetRecord("orders", TP, OffsetValue(43, -1, "", 2_000, 62_000)),
        GroupRecord("orders", GroupValue("consumer", 3, "range", "m-1", 4_000, (MEMBER,))),
        OffsetRecord("orders", TP, OffsetValue(44, -1, "", 5_000), Producer(77, 2)),
        TransactionEnd(Producer(77, 2), True, 9),
        OffsetRecord("orders", TP, None),
    ]
    segment = tmp_path / "00000000000000000000.log"
    batches = (to_batch((one,), timestamp_ms(1_000)).placed(place, 0) for place, one in enumerate(appends))
    segment.write_bytes(b"".join(map(encode, batches)))
    try:
        printed = kafka_jars.dump_log("--offsets-decoder", "--files", str(segment))
    except kafka_jars.Unavailable as why:
        if "kafka" in os.environ.get("GROUPSIM_MUST_RUN", "").split():
            pytest.fail(f"{why}, and GROUPSIM_MUST_RUN names kafka")
        pytest.skip(str(why))
    assert printed.count("isvalid: true") == len(appends)
    for words in (
        '"version":"4","data":{"offset":42,"leaderEpoch":5,"metadata":"note","commitTimestamp":1767225600001',
        '"version":"1","data":{"offset":43,"metadata":"","commitTimestamp":1767225600002,"expireTimestamp":1767225600062',
        '"data":{"protocolType":"consumer","generation":3,"protocol":"range","leader":"m-1"',
        '"memberId":"m-1","groupInstanceId":"i-1","clientId":"c","clientHost":"/127.0.0.1","rebalanceTimeout":300000',
        '"data":{"offset":44,',
        "endTxnMarker: COMMIT coordinatorEpoch: 9",
    ):
        assert words in printed, printed
