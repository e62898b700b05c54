"""Requests about logs: DeleteRecords, DescribeLogDirs.

Sources: `DeleteRecordsRequest.json`, `DescribeLogDirsRequest.json`; KIP-107, KIP-113, KIP-827.
"""

from __future__ import annotations

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.messages.operator import (
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    LogDir,
)
from groupsim.protocol.wire.by_topic import Topic, grouped
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import one


def _delete(fields: Fields, header: Header, directory: Directory) -> Exchange:
    offsets = {
        TopicPartition(topic["name"], part["partition_index"]): part["offset"]
        for topic in fields["topics"]
        for part in topic["partitions"]
    }
    return one(header, DeleteRecordsRequest(tuple(offsets.items()), fields["timeout"], header.version), _encode_deleted)


def _encode_deleted(answer: DeleteRecordsResponse) -> Fields:
    pairs = (
        (
            Topic(partition.topic),
            {"partition_index": partition.partition, "low_watermark": low_watermark, "error_code": error},
        )
        for partition, error, low_watermark in answer.results
    )
    return {"throttle_time": 0, "topics": grouped(pairs, "name", "partitions")}


def _describe(fields: Fields, header: Header, directory: Directory) -> Exchange:
    topics = fields["topics"]
    partitions = None
    if topics is not None:
        partitions = tuple(
            [TopicPartition(topic["topic"], number) for topic in topics for number in topic["partitions"]]
        )
    return one(header, DescribeLogDirsRequest(partitions, header.version), _encode_dirs)


def _encode_dirs(answer: DescribeLogDirsResponse) -> Fields:
    return {"throttle_time": 0, "error_code": answer.error, "results": [_dir(found) for found in answer.dirs]}


def _dir(found: LogDir) -> Fields:
    pairs = (
        (
            Topic(partition.topic),
            {
                "partition_index": partition.partition,
                "partition_size": size,
                "offset_lag": lag,
                "is_future_key": False,
            },
        )
        for partition, size, lag in found.logs
    )
    return {
        "error_code": 0,
        "log_dir": found.path,
        "topics": grouped(pairs, "name", "partitions"),
        "total_bytes": found.total_bytes,
        "usable_bytes": found.usable_bytes,
        "is_cordoned": False,
    }


READERS = {Api.DELETE_RECORDS: _delete, Api.DESCRIBE_LOG_DIRS: _describe}
"""API → the function that makes an exchange from a request's fields."""
