"""`groupsim offsets`: the records of `__consumer_offsets`, of a run and of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from groupsim.cli.app import app
from groupsim.cli.offset_rows import rows_of
from groupsim.cluster.broker.offset_batches import to_batch
from groupsim.coordinator.base.consumer_records import (
    ClassicMetadata,
    CurrentRecord,
    CurrentValue,
    EpochRecord,
    EpochValue,
    MemberRecord,
    MemberState,
    MemberValue,
    RegexRecord,
    ResolvedRegex,
    SubscribedTopic,
    TargetEpochRecord,
    TargetEpochValue,
    TargetRecord,
    TopicsRecord,
)
from groupsim.coordinator.base.records import (
    GroupRecord,
    GroupValue,
    OffsetRecord,
    OffsetValue,
    Producer,
    TransactionEnd,
)
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch, LogRecord, timestamp_ms
from groupsim.protocol.batch.codec import encode
from groupsim.protocol.batch.sizes import batch_of
from groupsim.protocol.messages.group import JoinProtocol

SEGMENT = "00000000000000000000.log"
SCENARIO = """\
title: Two commits
shows: Offsets of one consumer.
run-for: 20s
topics:
  orders: {partitions: 1, rate: 10/s}
groups:
  g1:
    client: java-3.9
    members: {c1: 1}
"""


def call(*args: object) -> Result:
    """Run the command in this process."""
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, ["offsets", *map(str, args)])


def document(*args: object) -> dict[str, Any]:
    """What it prints with --json."""
    result = call(*args, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario file."""
    path = tmp_path / "two.yaml"
    path.write_text(SCENARIO)
    return path


def offset(number: int | None, producer: int | None = None, *, group: str = "g", partition: int = 0) -> OffsetRecord:
    """An offset of topic t, or its tombstone."""
    value = None if number is None else OffsetValue(number, -1, "", 1_000)
    return OffsetRecord(
        group, TopicPartition("t", partition), value, None if producer is None else Producer(producer, 0)
    )


def log(*appends: Any) -> list[Batch]:
    """Each append as a placed batch."""
    return [to_batch((one,), timestamp_ms(1_000_000)).placed(place, 0) for place, one in enumerate(appends)]


def states(*appends: Any) -> list[str]:
    """Each record's state, with what superseded it."""
    rows = rows_of(log(*appends), 0)
    return [row.state if row.superseded_by is None else f"{row.state} {row.superseded_by}" for row in rows]


COMMIT, ABORT = TransactionEnd(Producer(7, 0), True), TransactionEnd(Producer(7, 0), False)


@pytest.mark.parametrize(
    ("appends", "shown"),
    [
        ((offset(1), offset(2), offset(2, partition=1)), ["superseded 1", "live", "live"]),
        ((offset(1), offset(None)), ["superseded 1", "tombstone"]),
        ((offset(1), offset(None), offset(3)), ["superseded 1", "superseded 2", "live"]),
        ((offset(1), offset(2, 7)), ["live", "pending"]),
        ((offset(1), offset(2, 7), COMMIT), ["superseded 1", "live", "marker"]),
        ((offset(1), offset(2, 7), ABORT), ["live", "aborted", "marker"]),
        ((offset(1, 7), offset(2), COMMIT), ["superseded 1", "live", "marker"]),
        ((offset(1, 7), offset(None), COMMIT), ["superseded 1", "tombstone", "marker"]),
        ((offset(1), offset(2, group="h")), ["live", "live"]),
    ],
)
def test_what_counts_and_what_superseded_it(appends: tuple[Any, ...], shown: list[str]) -> None:
    """The last word on a key is live; a transaction counts from its place once it is committed."""
    assert states(*appends) == shown


def test_groups_and_foreign_records() -> None:
    """Group records supersede each other by group; records of other kinds of group are named."""
    first, second = GroupValue("", 0, None, None, 0), GroupValue("consumer", 3, "range", "m", 0)
    foreign = batch_of((LogRecord(0, b"\x00\x0b\x00\x01g", b"\x00\x00\x00\x00\x00\x01"),), 0).placed(2, 0)
    rows = rows_of([*log(GroupRecord("g", first), GroupRecord("g", second)), foreign], 0)
    assert [(row.type, row.key, row.state) for row in rows] == [
        ("group", "g", "superseded"),
        ("group", "g", "live"),
        ("ShareGroupMetadata", "g", "foreign"),
    ]
    assert rows[1].value == "generation 3, range, no members"


def test_records_of_consumer_groups() -> None:
    """Records of a consumer group have Kafka's names, their own keys, and a short text of their value."""
    topic = "AAAAAAAAAAAAAAAAAAAAAQ"
    value = CurrentValue(3, 2, MemberState.UNREVOKED_PARTITIONS, {topic: {0: 3}}, {topic: {1: 2, 2: 2}})
    classic = ClassicMetadata(45_000, (JoinProtocol("range", b""),))
    batches = log(
        CurrentRecord("g", "m", CurrentValue(2)),
        EpochRecord("g", EpochValue(3, 99)),
        TopicsRecord("g", (SubscribedTopic(topic, "t", 6), SubscribedTopic(topic, "u", 1))),
        MemberRecord("g", "m", MemberValue(names=("t", "u"))),
        MemberRecord("g", "n", MemberValue(regex="t.*", classic=classic)),
        TargetEpochRecord("g", TargetEpochValue(3, 1_000_000)),
        TargetRecord("g", "m", {topic: (0,)}),
        RegexRecord("g", "t.*", ResolvedRegex(("t", "u"), 5, 1_000_000)),
        CurrentRecord("g", "m", value),
        CurrentRecord("g", "n", None),
    )
    assert [(row.type.removeprefix("ConsumerGroup"), row.key, row.state, row.value) for row in rows_of(batches, 0)] == [
        ("CurrentMemberAssignment", "g m", "superseded", "epoch 2, 0 partitions"),
        ("Metadata", "g", "live", "epoch 3"),
        ("PartitionMetadata", "g", "live", "t with 6 partitions, u with 1 partition"),
        ("MemberMetadata", "g m", "live", "t, u"),
        ("MemberMetadata", "g n", "live", "no topic by name; regex t.*; classic protocol"),
        ("TargetAssignmentMetadata", "g", "live", "epoch 3"),
        ("TargetAssignmentMember", "g m", "live", "1 partition"),
        ("RegularExpression", "g t.*", "live", "2 topics"),
        ("CurrentMemberAssignment", "g m", "live", "epoch 3, 1 partition, 2 to be revoked"),
        ("CurrentMemberAssignment", "g n", "tombstone", "deleted"),
    ]


def test_run_at_a_moment(scenario: Path) -> None:
    """The log of a run as it is at that moment: the group's record and its commits, oldest first, then a summary."""
    result = call(scenario, "--at", "12s")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("__consumer_offsets-")
    assert max(map(len, lines)) <= 80
    assert "generation 1, range, 1" in result.stdout
    assert "g1 orders-0" in result.stdout
    assert lines[-1].startswith("3 records in 1 partition: 2 live, 1 superseded; ")
    later = call(scenario, "--live").stdout
    assert "until" not in later
    assert later.splitlines()[-1].startswith("2 records in 1 partition: 2 live; ")
    changed = call(scenario, "--set", "groups.g1.assignor=roundrobin").stdout
    assert "roundrobin" in changed


def test_run_on_replicated_logs() -> None:
    """With logs: replicated the records are those of the leader's log, written when they were committed."""
    result = call("acks-1-leader-dies", "--at", "20s", "--json")
    assert result.exit_code == 0, result.output
    records = json.loads(result.stdout)["records"]
    assert [record["offset"] for record in records] == list(range(len(records)))
    states = [(record["type"], record["state"]) for record in records]
    assert states.count(("offset", "live")) == states.count(("group", "live")) == 1
    assert ("offset", "superseded") in states


def test_run_as_json(scenario: Path) -> None:
    """With --json every record with all its fields; filters by group and topic apply."""
    found = document(scenario, "--topic", "orders", "--group", "g1")
    assert found["summary"]["records"] == len(found["records"])
    last = found["records"][-1]
    assert (last["type"], last["state"], last["record"]["partition"]) == ("offset", "live", "orders-0")
    assert {record["type"] for record in found["records"]} == {"offset"}


def test_instants_in_json_are_kafkas(tmp_path: Path) -> None:
    """Committed one second into 2026: `commit_timestamp` is what the record's bytes say, ms since 1970."""
    value = OffsetValue(5, 0, "", commit_us=1_000_000, expire_us=3_000_000)
    members = GroupValue("consumer", 1, None, None, 2_000_000, ())
    batch = log(OffsetRecord("g", TopicPartition("t", 0), value), GroupRecord("g", members))
    offset_, group = (one["record"]["value"] for one in document(write(tmp_path, batch))["records"])
    assert (offset_["commit_timestamp"], offset_["expire_timestamp"]) == (1_767_225_601_000, 1_767_225_603_000)
    assert group["current_state_timestamp"] == 1_767_225_602_000
    assert not [name for name in (*offset_, *group) if name.endswith("_us")]


def write(folder: Path, batches: list[Batch], name: str = SEGMENT) -> Path:
    """A segment file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(b"".join(map(encode, batches)))
    return path


def test_files_of_a_data_directory(tmp_path: Path) -> None:
    """A data directory, a partition's folder and a segment show the same records, and are only read."""
    batches = log(offset(1), offset(2), offset(5, 7))
    segment = write(tmp_path / "__consumer_offsets-12", batches)
    (tmp_path / "orders-0").mkdir()
    before = segment.read_bytes()
    shown = [document(path) for path in (tmp_path, segment.parent, segment)]
    assert shown[0] == shown[1] == shown[2]
    records = shown[0]["records"]
    assert [(one["partition"], one["offset"], one["state"]) for one in records] == [
        (12, 0, "superseded"),
        (12, 1, "live"),
        (12, 2, "pending"),
    ]
    assert shown[0]["summary"]["bytes"] == len(before)
    assert "2026-01-01 00:00:01" in " ".join(call(segment).stdout.split())
    assert segment.read_bytes() == before
    assert sorted(path.name for path in segment.parent.iterdir()) == [SEGMENT]


def test_segments_follow_each_other(tmp_path: Path) -> None:
    """Segments of one folder are one log: a later one supersedes what an earlier one says."""
    batches = log(offset(1), offset(2))
    folder = tmp_path / "__consumer_offsets-3"
    write(folder, batches[:1])
    write(folder, batches[1:], "00000000000000000001.log")
    assert [one["superseded_by"] for one in document(folder)["records"]] == [1, None]


def test_a_half_written_tail_is_left_out_with_a_warning(tmp_path: Path) -> None:
    """What is whole is printed; stderr, or `warnings`, has the file and the byte; the exit code is 0."""
    segment = write(tmp_path / "__consumer_offsets-0", log(offset(1), offset(2)))
    first = log(offset(1))[0].size
    whole = segment.read_bytes()
    for end in (len(whole) - 3, first + 5):
        segment.write_bytes(whole[:end])
        shown = document(segment)
        assert len(shown["records"]) == 1
        assert shown["warnings"] == [f"{segment}: half written from byte {first} on, {end - first} bytes are omitted"]
        assert f"half written from byte {first} on" in " ".join(call(segment).stderr.split())


@pytest.mark.parametrize(
    ("args", "message", "remedy"),
    [
        (["{run}", "--at", "1h"], "after the end of the run", "an earlier time"),
        (["{run}", "--at", "soon"], "--at soon", "unit"),
        (["{run}", "--group", "g2"], "no record of group 'g2'", "g1"),
        (["{run}", "--topic", "t2"], "no record of topic 't2'", "topics with records"),
        (["{dir}/none.log"], "there is no such file", "existing segment"),
        (["{dir}"], "has no partition of __consumer_offsets", "log.dirs"),
        (["{dir}/hurt/" + SEGMENT], "hurt/" + SEGMENT + ": record batch at byte 17", "truncates such a tail"),
        (["{dir}/torn", "--at", "3s"], "--at is valid for a run", "leave the option out"),
        (["{dir}/torn", "--seed", "3"], "--seed is valid for a run", "leave the option out"),
        (["{dir}/torn", "--set", "run-for=3s"], "--set is valid for a run", "leave the option out"),
        (["{dir}/strange/" + SEGMENT], "offset 0: a key of __consumer_offsets at byte 0", "kafka-dump-log"),
        (["{dir}/strange"], "strange: __consumer_offsets-0, offset 0", "if this is a log of __consumer_offsets"),
        (["{dir}/bare"], "__consumer_offsets-4 has no segment", "20 digits"),
    ],
)
def test_bad_input_is_named_with_the_remedy(
    scenario: Path, tmp_path: Path, args: list[str], message: str, remedy: str
) -> None:
    """Exit code 2, one sentence with the place, one with the remedy."""
    torn = write(tmp_path / "torn", log(offset(1), offset(2)))
    torn.write_bytes(torn.read_bytes()[:-3])
    hurt = write(tmp_path / "hurt", log(offset(1), offset(2)))
    hurt.write_bytes(hurt.read_bytes()[:70] + b"!!" + hurt.read_bytes()[72:])
    (tmp_path / "bare" / "__consumer_offsets-4").mkdir(parents=True)
    write(tmp_path / "strange", [batch_of((LogRecord(0, b"?", b""),), 0)])
    result = call(*(arg.format(run=scenario, dir=tmp_path) for arg in args))
    assert result.exit_code == 2
    shown = " ".join(result.stderr.split())
    assert message in shown
    assert remedy in shown
