"""A segment written by either is read by the other: the same traffic into a real broker and into `groupsim serve`.

Kafka's data directory is read by this project's logs and by `groupsim offsets`, and a log that was appended to here is
gone on with by Kafka; ours is read by Kafka's `DumpLogSegments`. What clients said while the broker lived is the truth.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import kafka_jars
import pytest
from attrs import frozen
from confluent_kafka import KafkaException
from kafka_broker import KafkaBroker

from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log.files.data_dir import DataDir, read_properties, read_topic_id
from groupsim.cluster.log.log import PartitionLog
from groupsim.control import Served
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import LogRecord
from groupsim.protocol.batch.compression import opened
from groupsim.protocol.batch.sizes import batch_of
from tests.helpers.unavailable import unavailable
from tests.interop.log_traffic import BROKER, CODECS, PARTITIONS, RECORDS, Record, Traffic, Truth, until
from tests.interop.tools import _MORE

GROUPS = ("g-moves", "g-again", "g-doomed", "g-leaves", "g-stays")
NEXT = "g-next"
SHORT = {**BROKER, "log.index.interval.bytes": "300"}
"""The internal topics are of short segments, too."""
Producers = dict[int, tuple[int, ...]]
"""By id: epoch, last sequence number, last offset."""
pytestmark = [pytest.mark.slow, pytest.mark.interop]


@frozen
class Left:
    """What a broker left behind: its data directory and what clients had said."""

    data: Path
    truth: Truth
    broker: KafkaBroker | None = None
    traffic: Traffic | None = None


@pytest.fixture(scope="module")
def kafka() -> Iterator[Left]:
    """A real broker that has had the traffic and was stopped."""
    try:
        with KafkaBroker(properties=SHORT) as broker:
            traffic = Traffic(broker.bootstrap)
            traffic.send()
            traffic.send_of_the_new_kind()
            truth = traffic.truth([*GROUPS, NEXT])
            broker.stop()
            truth.close()
            yield Left(broker.data(), truth, broker, traffic)
    except kafka_jars.Unavailable as why:
        unavailable(why, "kafka")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """`groupsim serve` that has had the traffic and was told to stop."""
    folder = tmp_path_factory.mktemp("served") / "data"
    settings = [word for name, value in SHORT.items() for word in ("--broker", f"{name}={value}")]
    with Served("--brokers", "1", "--data-dir", str(folder), *settings) as served:
        traffic = Traffic(served.bootstrap)
        traffic.send()
        truth = traffic.truth(GROUPS)
        assert served.stop() == 0
        truth.close()
    return Left(folder / "broker-0", truth)


# --- Kafka's, read here ----------------------------------------------------------------------------------------------


def fingerprints(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file with the time of its last change and what is in it."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def offsets(*arguments: str) -> dict[str, Any]:
    """What `groupsim offsets --json` says."""
    command = [sys.executable, "-m", "groupsim", "offsets", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def judge_offsets(told: dict[str, Any], truth: Truth) -> None:
    """The live offsets are what OffsetFetch said, the live group has the members that DescribeGroups said."""
    records = told["records"]
    found: dict[str, dict[tuple[str, int], tuple[int, str]]] = {group: {} for group in truth.offsets}
    for row in records:
        if (row["type"], row["state"]) == ("offset", "live"):
            topic, _, number = row["record"]["partition"].rpartition("-")
            said = row["record"]["value"]
            # confluent-kafka sends the end of its C string along, and does not show it.
            found[row["record"]["group_id"]][topic, int(number)] = said["offset"], said["metadata"].rstrip("\0")
    assert found == truth.offsets
    groups = {row["record"]["group_id"]: row["record"]["value"] for row in records if is_live_group(row)}
    members = {
        group: sorted((one["member_id"], one["group_instance_id"], one["client_id"]) for one in value["members"])
        for group, value in groups.items()
    }
    assert members == {group: truth.members[group] for group in ("g-leaves", "g-stays")}
    assert groups["g-leaves"]["generation"] >= 2
    deleted = {(row["type"], row["record"]["group_id"]) for row in records if row["state"] == "tombstone"}
    assert {("group", "g-doomed"), ("offset", "g-doomed"), ("offset", "g-again")} <= deleted


def is_live_group(row: dict[str, Any]) -> bool:
    """Whether a row is the last word on a group."""
    return (row["type"], row["state"]) == ("group", "live")


@pytest.mark.interop_short
def test_the_offsets_in_kafkas_directory_are_those_it_said(kafka: Left) -> None:
    """Live offsets, members, tombstones; consumer groups' records are named; nothing in the directory changes."""
    before = fingerprints(kafka.data)
    told = offsets(str(kafka.data))
    judge_offsets(told, kafka.truth)
    assert told["warnings"] == []
    live = {row["type"] for row in told["records"] if row["state"] == "live"}
    assert {"ConsumerGroupMetadata", "ConsumerGroupMemberMetadata"} <= live
    assert not [row for row in told["records"] if row["state"] == "foreign"]
    assert kafka.truth.offsets[NEXT] == {("plain-none", 1): (77, "")}
    several = [path for path in kafka.data.glob("__consumer_offsets-2/*.log") if path.stat().st_size]
    assert len(several) > 1
    in_files = [row for path in sorted(several) for row in offsets(str(path))["records"]]
    whole = [row for row in told["records"] if row["partition"] == 2]
    assert list(map(said_in, in_files)) == list(map(said_in, whole))
    assert fingerprints(kafka.data) == before


def said_in(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row says, whatever comes after it in another segment."""
    return row["partition"], row["offset"], row["type"], row["timestamp_ms"], row["record"]


def read(log: PartitionLog, number: int) -> Iterator[Record]:
    """The records of a log as a client would get them, whatever their codec."""
    for batch in log.batches(0, log.end_offset):
        records = opened(batch)
        assert records is not None
        for one in () if batch.is_control else records:
            headers = tuple((name, value) for name, value in one.headers)
            place = (number, batch.base_offset + one.offset_delta, batch.timestamp_ms + one.timestamp_delta)
            yield Record(*place, one.key, one.value, headers)


def in_use(folder: Path) -> DataDir:
    """A data directory that this process takes over, as its meta.properties say."""
    said = read_properties(folder / "meta.properties")
    return DataDir(folder, cluster_id=said["cluster.id"], node=int(said["node.id"]), sync=False)


def producers(data: Path, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Producers]:
    """What Kafka's last snapshots say of the producers."""
    newest = {max((data / str(one)).glob("*.snapshot")): one for one in partitions}
    found: dict[TopicPartition, Producers] = {one: {} for one in newest.values()}
    for told in dump("--files", ",".join(map(str, newest))).split("Dumping ")[1:]:
        path, *lines = told.splitlines()
        for line in lines:
            said = re.match(
                r"producerId: (\d+) producerEpoch: (\d+) .*?lastSequence: (-?\d+) lastOffset: (-?\d+)", line
            )
            if said:
                producer, *state = map(int, said.groups())
                found[newest[Path(path)]][producer] = tuple(state)
    return found


def judge_log(log: PartitionLog, truth: Truth, place: tuple[str, int]) -> None:
    """Ends, records and lookups by time are what clients had been told."""
    assert (log.end_offset, log.high_watermark, log.latest_epoch) == (truth.ends[place], truth.ends[place], 0)
    assert list(read(log, place[1])) == [one for one in truth.records[place[0]] if one.partition == place[1]]
    for at, expected in truth.times[place]:
        found = log.find_time(at)
        assert (-1 if found is None else found[0]) == expected, (place, at)


def test_kafkas_logs_are_read_here_and_go_on_there(kafka: Left) -> None:
    """Every partition, its indexes, times, epochs and producers; then Kafka reads what was appended here, and more."""
    before = {name: mark for name, mark in fingerprints(kafka.data).items() if name.endswith((".log", "index"))}
    snapshots = producers(kafka.data, [TopicPartition(*place) for place in kafka.truth.ends])
    assert sum(map(bool, snapshots.values())) == 6  # of gzip, of lz4 and of the transactions, in two partitions each
    data, appended = in_use(kafka.data), {}
    assert data.clean
    for place in [*data.partitions()]:
        store = data.open(place)
        log = PartitionLog(store, LogConfig(), now_ms=0)
        assert [*log.batches(0, log.end_offset)] or not log.end_offset
        if tuple(place) in kafka.truth.ends:
            judge_log(log, kafka.truth, tuple(place))
            states = {
                one: (entry.epoch, entry.last_sequence, entry.batches[-1].last_offset)
                for one, entry in log.producers.entries.items()
            }
            assert states == snapshots[place]
            assert read_topic_id(store.folder)
            appended[place] = log
        assert [str(one) for one in store.repairs if ".deleted" not in str(one)] == []
    unchanged = {name: fingerprints(kafka.data).get(name) for name in before}
    assert unchanged == before
    mine = [went_on(log, place) for place, log in appended.items()]
    data.close()
    goes_on_in_kafka(kafka, mine)


def went_on(log: PartitionLog, place: TopicPartition) -> tuple[str, Record]:
    """A record appended here."""
    now_ms = int(time.time() * 1000)
    (batch,) = log.append([batch_of((LogRecord(0, b"new", b"written here", 0),), now_ms)], 0, now_ms)
    return place.topic, Record(place.partition, batch.base_offset, now_ms, b"new", b"written here", ())


def goes_on_in_kafka(kafka: Left, mine: Iterable[tuple[str, Record]]) -> None:
    """The broker starts on the directory, and clients get everything."""
    assert kafka.broker is not None
    assert kafka.traffic is not None
    kafka.broker.start()
    found = kafka.traffic.consumed("read_uncommitted")
    wanted = {topic: [*records] for topic, records in kafka.truth.records.items()}
    for topic, record in mine:
        wanted[topic].append(record)
    assert found == {topic: sorted(records, key=lambda one: one[:2]) for topic, records in wanted.items()}
    until(lambda: offsets_now(kafka) == kafka.truth.offsets, "the groups' offsets are there again")
    log = kafka.broker.log()
    assert "Found an orphaned" not in log
    assert "unclean shutdown" not in log.rpartition("Kafka Server started")[2]
    assert re.search(r"ERROR|Corrupt", log) is None, re.findall(r".*(?:ERROR|Corrupt).*", log)[:5]


def offsets_now(kafka: Left) -> dict[str, dict[tuple[str, int], tuple[int, str]]] | None:
    """All groups' offsets, asked for anew; None while a coordinator loads."""
    assert kafka.broker is not None
    traffic = Traffic(kafka.broker.bootstrap)
    try:
        return {group: traffic.offsets(group) for group in kafka.truth.offsets}
    except KafkaException:
        return None


# --- ours, read by Kafka ---------------------------------------------------------------------------------------------


def dump(*arguments: object) -> str:
    """What Kafka's dump-log tool prints; the codecs' libraries are there."""
    try:
        main = "org.apache.kafka.tools.DumpLogSegments"
        return kafka_jars.run((*kafka_jars.TOOLS, *_MORE), main, *map(str, arguments))
    except kafka_jars.Unavailable as why:
        unavailable(why, "kafka")


def files(data: Path, pattern: str) -> str:
    """As `--files` wants them, those with something in them."""
    return ",".join(str(path) for path in sorted(data.glob(pattern)) if path.stat().st_size)


def dumped(told: str) -> dict[str, list[tuple[Any, ...]]]:
    """By topic: partition, offset, time, key, payload and names of headers of every record that is no marker."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    name, number = "", 0
    for line in told.splitlines():
        place = re.match(r"Dumping .*/([^/]+)-(\d+)/\d+\.log", line)
        record = re.match(
            r"\| offset: (\d+) CreateTime: (\d+) keySize: (-?\d+) valueSize: (-?\d+) .*?(?=headerKeys)", line
        )
        if place:
            name, number = place[1], int(place[2])
        elif record and "endTxnMarker" not in line:
            rest = re.match(r"headerKeys: \[(.*?)\](?: key: (\S*))?(?: payload: (.*))?$", line[record.end() :])
            assert rest, line
            key = None if record[3] == "-1" else rest[2]
            value = None if record[4] == "-1" else rest[3] or ""
            row = (number, int(record[1]), int(record[2]), key, value, rest[1])
            found.setdefault(name, []).append(row)
    return {topic: sorted(rows, key=lambda one: one[:2]) for topic, rows in found.items()}


def as_dumped(one: Record) -> tuple[Any, ...]:
    """A client's record as the tool prints it."""
    key, value = (None if field is None else field.decode() for field in (one.key, one.value))
    return one.partition, one.offset, one.timestamp_ms, key, value, ",".join(name for name, _ in one.headers)


@pytest.mark.interop_short
def test_kafkas_tool_finds_our_records(ours: Left) -> None:
    """Every record of every codec, offset, time, key, payload and header; checksums are right, markers as meant."""
    told = dump("--deep-iteration", "--print-data-log", "--files", files(ours.data, "[!_]*/*.log"))
    wanted = {topic: list(map(as_dumped, records)) for topic, records in ours.truth.records.items()}
    assert dumped(told) == wanted
    assert len(ours.truth.records["plain-zstd"]) == RECORDS
    assert len(ours.truth.committed["moved"]) == 60
    assert "isvalid: false" not in told
    codecs = Counter(re.findall(r"compresscodec: (\w+)", told))
    assert {*codecs} == {*CODECS}
    ends = Counter(re.findall(r"endTxnMarker: (\w+)", told))
    assert ends == {"COMMIT": 3 * PARTITIONS, "ABORT": 2 * PARTITIONS}
    assert len(re.findall(r"Dumping .*/plain-gzip-0/", told)) > 3


def test_kafkas_tool_finds_nothing_wrong_with_our_indexes(ours: Left) -> None:
    """Those of all topics, the internal ones as well, are sane and point to what is there."""
    indexes = files(ours.data, "*/*index")
    verified = dump("--verify-index-only", "--files", indexes)
    sane = dump("--index-sanity-check", "--files", indexes)
    entries = dump("--files", indexes)
    assert sane.count("passed sanity check") == indexes.count(",") + 1
    assert entries.count("offset: ") > 100
    for told in (verified, sane, entries):
        assert re.search(r"[Mm]ismatch|Found|out of order|corrupt", told) is None, told[-2000:]


def test_kafkas_tool_decodes_what_our_coordinators_wrote(ours: Left) -> None:
    """The last word on every offset and group is what clients were told; the transactions ended as they did."""
    told = dump("--offsets-decoder", "--files", files(ours.data, "__consumer_offsets-*/*.log"))
    assert "isvalid: false" not in told
    offsets_said = re.findall(
        r'"type":"1","data":\{"group":"([^"]+)","topic":"([^"]+)","partition":(\d+)\}\} payload: '
        r'(?:<DELETE>|\{"version":"\d","data":\{"offset":(\d+),.*?"metadata":"([^"]*)")',
        told,
    )
    last = {(group, topic, int(number)): (offset, text) for group, topic, number, offset, text in offsets_said}
    for group, places in ours.truth.offsets.items():
        for (topic, number), (offset, text) in places.items():
            assert last[group, topic, number] == (str(offset), f"{text}\\u0000" if text else ""), group
    for member, instance, client in ours.truth.members["g-stays"]:
        said = f'"memberId":"{member}","groupInstanceId":{json.dumps(instance)},"clientId":"{client}"'
        assert said in told
    transactions = dump("--transaction-log-decoder", "--files", files(ours.data, "__transaction_state-*/*.log"))
    ended = re.findall(r'"transactionalId":"mover".*?"transactionStatus":([45])', transactions)
    assert ended[-1] == "4"
    assert "isvalid: false" not in transactions


def test_the_offsets_in_our_directory_are_those_it_said(ours: Left) -> None:
    """As with Kafka's directory, of one broker or of the whole cluster."""
    before = fingerprints(ours.data)
    for folder in (ours.data, ours.data.parent):
        judge_offsets(offsets(str(folder)), ours.truth)
    assert fingerprints(ours.data) == before
    assert os.listdir(ours.data.parent)
