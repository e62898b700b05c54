"""Very long requests beside a witness: `python -m benchmarks.hostile_large [--entries 100000] [--api NAME ...]`.

A broker in a process of its own (that of `benchmarks.hostile`) is sent one request after the other with so many
entries; a witness, the member of a group on another connection, sends heartbeats meanwhile. Printed for each API: how
long the answer took, how many bytes it has, and the witness's slowest heartbeat, beside its slowest in as long a time
with nothing else to do just before, for other programs hold it up, too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import socket
import struct
import sys
import threading
import time
from typing import Any

from benchmarks.hostile import Witness, serve
from groupsim.protocol.basics import Api
from groupsim.protocol.wire.apis import served
from groupsim.protocol.wire.schema import request_shape
from groupsim.protocol.wire.serial import writer

QUIET_S = 0.5
PATIENCE_S = 300.0


Case = tuple[Api, int, dict[str, Any]]


def cases(entries: int) -> dict[str, Case]:
    """Name → API, version and fields of a request with so many entries; topics and groups that are mostly not there."""
    names = [f"name-{number}" for number in range(entries)]
    every = {**_of_names(names), **_of_consumer_groups(names), **_of_offsets(names), **_of_records(entries)}
    return {name: case for name, case in every.items() if case[0] in served()}


def _of_names(names: list[str]) -> dict[str, Case]:
    operations = {"include_cluster_authorized_operations": False, "include_topic_authorized_operations": False}
    topics = {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": False}
    configs = [{"resource_type": 2, "resource_name": name, "configuration_keys": None} for name in names]
    told = {"include_synonyms": False, "include_documentation": False}
    leaving = [{"member_id": name, "group_instance_id": None} for name in names]
    return {
        "DescribeGroups": (Api.DESCRIBE_GROUPS, 5, {"groups": names, "include_authorized_operations": False}),
        "DeleteGroups": (Api.DELETE_GROUPS, 2, {"groups_names": names}),
        "Metadata": (Api.METADATA, 9, {**topics, **operations}),
        "FindCoordinator": (Api.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": names}),
        "LeaveGroup": (Api.LEAVE_GROUP, 4, {"group_id": "g", "members": leaving}),
        "DescribeConfigs": (Api.DESCRIBE_CONFIGS, 4, {**told, "resources": configs}),
    }


def _of_consumer_groups(names: list[str]) -> dict[str, Case]:
    beat = {"group_id": "of-names", "member_id": "m", "member_epoch": 0, "rebalance_timeout": 1_000}
    owned = [{"topic_id": "A" * 21 + "Q", "partitions": list(range(len(names)))}]
    by_topic = [{"topic_id": f"{number:022d}", "partitions": [0]} for number in range(len(names))]
    described = {"group_ids": names, "include_authorized_operations": False}
    heartbeat, described_by = Api.CONSUMER_GROUP_HEARTBEAT, Api.CONSUMER_GROUP_DESCRIBE
    return {
        "ConsumerGroupHeartbeat": (heartbeat, 1, {**beat, "subscribed_topic_names": names, "topic_partitions": ()}),
        "ConsumerGroupHeartbeat, owned": (heartbeat, 1, {**beat, "member_epoch": 2, "topic_partitions": owned}),
        "ConsumerGroupHeartbeat, topics": (heartbeat, 1, {**beat, "member_epoch": 2, "topic_partitions": by_topic}),
        "ConsumerGroupDescribe": (described_by, 1, described),
    }


def _of_offsets(names: list[str]) -> dict[str, Case]:
    numbers = range(len(names))
    offsets = [_offset(number) for number in numbers]
    asked = [{"partition_index": n, "timestamp": -1, "current_leader_epoch": -1} for n in numbers]
    epochs = [{"partition": number, "current_leader_epoch": -1, "leader_epoch": 0} for number in numbers]
    commit = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
    listing = {"replica_id": -1, "isolation_level": 0}
    groups = [{"group_id": "g", "topics": [{"name": "orders", "partition_indexes": list(numbers)}]}]
    by_topic = [_topic(name, offsets[:1]) for name in names]
    return {
        "ListOffsets": (Api.LIST_OFFSETS, 6, {**listing, "topics": [_topic("orders", asked)]}),
        "ListOffsets, topics": (Api.LIST_OFFSETS, 6, {**listing, "topics": [_topic(n, asked[:1]) for n in names]}),
        "OffsetCommit": (Api.OFFSET_COMMIT, 8, {**commit, "topics": [_topic("orders", offsets)]}),
        "OffsetCommit, topics": (Api.OFFSET_COMMIT, 8, {**commit, "topics": by_topic}),
        "OffsetFetch": (Api.OFFSET_FETCH, 8, {"require_stable": False, "groups": groups}),
        "OffsetForLeaderEpoch": (
            Api.OFFSET_FOR_LEADER_EPOCH,
            4,
            {"replica_id": -1, "topics": [{"topic": "orders", "partitions": epochs}]},
        ),
    }


def _of_records(entries: int) -> dict[str, Case]:
    fetch = {"replica_id": -1, "max_wait": 0, "min_bytes": 0, "max_bytes": 1_000, "isolation_level": 0}
    session = {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": (), "rack_id": ""}
    txn = {"v3_and_below_transactional_id": "x", "v3_and_below_producer_id": 1, "v3_and_below_producer_epoch": 0}
    fetched = [{"topic": "orders", "partitions": [_fetched(number) for number in range(entries)]}]
    produced = [{"name": "orders", "partition_data": [{"index": n, "records": None} for n in range(entries)]}]
    produce = {"transactional_id": None, "acks": 1, "timeout": 1_000, "topic_data": produced}
    added = {**txn, "v3_and_below_topics": [_topic("orders", list(range(entries)))]}
    return {
        "Fetch": (Api.FETCH, 12, {**fetch, **session, "topics": fetched}),
        "Produce": (Api.PRODUCE, 9, produce),
        "AddPartitionsToTxn": (Api.ADD_PARTITIONS_TO_TXN, 3, added),
    }


def _topic(name: str, partitions: list[Any]) -> dict[str, Any]:
    return {"name": name, "partitions": partitions}


def _offset(number: int) -> dict[str, Any]:
    return {
        "partition_index": number,
        "committed_offset": 5,
        "committed_leader_epoch": -1,
        "committed_metadata": "",
    }


def _fetched(number: int) -> dict[str, Any]:
    return {
        "partition": number,
        "current_leader_epoch": -1,
        "fetch_offset": 0,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 100,
    }


def frame(api: Api, version: int, fields: dict[str, Any]) -> bytes:
    """A request with its length in front."""
    shape = request_shape(api, version)
    out = bytearray(struct.pack(">hhih", api, version, 1, 5) + b"large")
    if shape.flexible:
        out.append(0)
    writer(shape)(out, fields)
    return len(out).to_bytes(4, "big") + bytes(out)


def ask(port: int, data: bytes) -> tuple[float, int]:
    """Send a request on a connection of its own: how long the answer took, in seconds, and its bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sock:
        begun = time.perf_counter()
        sock.sendall(data)
        size, got = 4, 0
        head = sock.recv(4, socket.MSG_WAITALL)
        if len(head) < 4:
            return time.perf_counter() - begun, 0
        size = int.from_bytes(head, "big")
        while got < size:
            piece = sock.recv(1 << 20)
            if not piece:
                break
            got += len(piece)
        return time.perf_counter() - begun, got


def slowest(witness: Witness) -> float:
    """The witness's slowest heartbeat since this was last asked, in ms."""
    took_s, witness.slowest_s = witness.slowest_s, 0.0
    return took_s * 1e3


def measure(port: int, entries: int, wanted: list[str]) -> None:
    """Ask each, and print what came of it."""
    witness = Witness(port)
    thread = threading.Thread(target=witness.run, daemon=True)
    thread.start()
    print(f"{'':22}{'answered, ms':>14}{'bytes':>12}{'witness, ms':>13}{'alone, ms':>11}")
    for name, case in cases(entries).items():
        if wanted and name.partition(",")[0] not in wanted:
            continue
        data = frame(*case)
        time.sleep(0.1)
        slowest(witness)
        time.sleep(QUIET_S)
        alone_ms = slowest(witness)
        took_s, size = ask(port, data)
        time.sleep(0.05)
        print(f"{name:22}{took_s * 1e3:14.0f}{size:12,}{slowest(witness):13.0f}{alone_ms:11.0f}", flush=True)
    witness.stop.set()
    thread.join(PATIENCE_S)
    print(f"witness: {witness.beats:,} heartbeats; {witness.trouble or 'served'}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile_large", description="Very long requests.")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--api", action="append", default=[], help="only this one; may be given again")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    (port_end, port_start), (_, report_start) = context.Pipe(False), context.Pipe(False)
    counts = context.Value("q", 0), context.Value("q", 0)
    process = context.Process(target=serve, args=(port_start, *counts, report_start), daemon=True)
    process.start()
    try:
        measure(port_end.recv(), options.entries, options.api)
        os.kill(process.pid or 0, signal.SIGTERM)
        process.join(60)
    finally:
        process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
