"""Replaying the log of any coordinator, compacted or not, into an empty one gives the same state, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.records import (
    ForeignRecord,
    GroupRecord,
    GroupValue,
    Loaded,
    OffsetRecord,
    OffsetValue,
    StoredMember,
)
from groupsim.coordinator.base.serde import Form, decode, encode, form_of
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.classic.states import State
from groupsim.coordinator.testing import Bench, committed, offsets_of
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.embedded.consumer_protocol import Subscription, encode_subscription
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import DeleteGroupsRequest, JoinProtocol, OffsetDeleteRequest, TopicPartition
from tests.helpers.log_replay import compacted, decoded, encoded, everything, group_held, offsets_held

GROUPS = ("g", "h")
PRODUCERS = (7, 8)
SUBSCRIBED = (JoinProtocol("range", encode_subscription(Subscription(("t",)))), JoinProtocol("roundrobin", b"\x00"))
ERRORS = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER)
RETENTION_MS = 60_000
#: What may happen, each as often as it stands here.
STEPS = (
    *("plain", "transactional", "end") * 3,
    *("join", "round", "replication", "commit", "fail") * 2,
    *("leave", "delete offset", "delete group", "time", "fail-over"),
)


class Histories(RuleBasedStateMachine):
    """Groups form, dissolve and commit, plainly and in transactions; appends are slow or fail; things are deleted."""

    def __init__(self) -> None:
        super().__init__()
        config = CoordinatorConfig(offsets_retention_minutes=1, offsets_retention_check_interval_ms=45_000)
        self.bench = Bench(config, now_us=123)
        self.doubtful: set[str] = set()

    def group(self, group_id: str) -> ClassicGroup | None:
        found = self.bench.shard.groups.get(group_id)
        assert found is None or isinstance(found, ClassicGroup)
        return found

    # --- steps ---------------------------------------------------------------------------------------------------

    @rule(
        what=st.sampled_from(STEPS),
        group=st.sampled_from((*GROUPS, "simple")),
        number=st.integers(0, 99),
        producer=st.sampled_from(PRODUCERS),
        flag=st.booleans(),
    )
    def step(self, what: str, group: str, number: int, producer: int, flag: bool) -> None:
        """One rule for all, so that each step is as frequent as it stands in `STEPS`."""
        bench, partition = self.bench, TopicPartition("t", number % 2)
        if what == "plain":
            self.commit(group, number, flag)
        elif what == "transactional":
            bench.commit_in_transaction(number, group=group, partition=partition.partition, producer_id=producer)
        elif what == "end":
            bench.end_transaction(flag, producer_id=producer)
        elif what == "join":
            instance = "i1" if number % 3 == 0 else None
            self.join(GROUPS[number % 2], instance=instance, protocols=SUBSCRIBED[: 1 + flag])
        elif what == "round":
            self.finish_round(GROUPS[number % 2])
        elif what == "leave":
            self.leave(GROUPS[number % 2], everybody=flag)
        elif what == "delete offset":
            bench.send(OffsetDeleteRequest(group, (partition,)))
        elif what == "delete group":
            bench.send(DeleteGroupsRequest((group,)))
        elif what == "time":
            bench.advance_to(bench.now_us + 1_000 * (1, 999, 10_000, RETENTION_MS)[number % 4] + 321)
        elif what == "replication":
            bench.commit()
            bench.auto_commit = flag
        elif what == "fail-over":
            self.fail_over(committed_only=flag)
        elif bench.in_flight and what == "commit":
            bench.commit(1)
        elif bench.in_flight:
            self.fail_append(ERRORS[number % 2])

    def join(self, group: str, **who: Any) -> None:
        self.bench.join("c", group=group, session_ms=30_000, rebalance_ms=9_000, **who)

    def finish_round(self, group: str) -> None:
        found = self.group(group)
        if found is None:
            return
        for one in list(found.members.values()):
            self.join(group, member_id=one.member_id, instance=one.instance_id, protocols=SUBSCRIBED)
        self.bench.advance_ms(10_000)
        members = list(found.members) if found.state is State.AWAITING_SYNC else []
        plan = {member_id: f"{found.generation}/{member_id}".encode() for member_id in members}
        for member_id in sorted(members, key=lambda member_id: member_id == found.leader):
            self.bench.sync(member_id, found.generation, plan if member_id == found.leader else None, group=group)

    def leave(self, group: str, *, everybody: bool) -> None:
        found = self.group(group)
        ids = [] if found is None else list(found.members)
        for member_id in ids if everybody else ids[:1]:
            self.bench.leave(member_id, group=group)

    def commit(self, group: str, number: int, expires: bool) -> None:
        """As the first member, or from outside when there is none."""
        found = self.group(group)
        member = next(iter(found.members), "") if found is not None else ""
        self.bench.commit_offset(
            number,
            group=group,
            partition=number % 2,
            member_id=member,
            generation=found.generation if found is not None and member else -1,
            metadata=f"m{number}",
            version=4 if expires else 9,
            retention_ms=20_000 if expires else -1,
        )

    def fail_append(self, error: ErrorCode) -> None:
        records = self.bench.in_flight[0].records
        self.doubtful |= {record.group_id for record in records if isinstance(record, GroupRecord)}
        self.bench.fail_append(error)

    def fail_over(self, *, committed_only: bool) -> None:
        bench = self.bench
        log = [*bench.log]
        if not committed_only:
            log += [record for append in bench.in_flight for record in append.records]
        bench.fail_over()
        self.bench = Bench(
            bench.config, auto_commit=bench.auto_commit, records=decoded(encoded(log)), now_us=bench.now_us
        )
        self.doubtful.clear()

    # --- what must hold ------------------------------------------------------------------------------------------

    def replayed(self, log: list[Loaded]) -> Bench:
        """Another coordinator that has read this log as bytes."""
        assert decoded(encoded(log)) == log
        return Bench(self.bench.config, records=decoded(encoded(log)), now_us=self.bench.now_us)

    @invariant()
    def offsets_are_those_of_the_log(self) -> None:
        """What is committed follows from the committed log, what is latest from all of it, pending ones included."""
        store = self.bench.shard.partition.offsets
        read = self.replayed(self.bench.log).shard.partition.offsets
        assert offsets_held(read.view) == offsets_held(read.committed_view) == offsets_held(store.committed_view)
        tail = [record for append in self.bench.in_flight for record in append.records]
        latest = self.replayed([*self.bench.log, *tail]).shard.partition.offsets
        assert offsets_held(latest.view) == offsets_held(store.view)

    @invariant()
    def settled_groups_are_those_of_the_log(self) -> None:
        """A group that is Stable, or Empty after a generation, and whose records are committed, is read as it is."""
        if self.bench.in_flight:
            return
        read = self.replayed(self.bench.log).shard.groups
        for group in self.bench.shard.groups:
            assert isinstance(group, ClassicGroup)
            if group.state is State.STABLE:
                self.doubtful.discard(group.group_id)
            settled = group.state is State.STABLE or (group.state is State.EMPTY and group.generation > 0)
            if settled and group.group_id not in self.doubtful:
                again = read.get(group.group_id)
                assert isinstance(again, ClassicGroup)
                assert group_held(again) == group_held(group)

    @invariant()
    def compaction_changes_nothing(self) -> None:
        """A compacted log, with its tombstones or without, tells exactly what the whole one tells."""
        entries = encoded(self.bench.log)
        whole = everything(self.replayed(self.bench.log).shard)
        for drop_tombstones in (False, True):
            left = decoded(compacted(entries, drop_tombstones=drop_tombstones))
            other = Bench(self.bench.config, records=left, now_us=self.bench.now_us)
            assert everything(other.shard) == whole


TestHistories = Histories.TestCase
TestHistories.__doc__ = "Replaying any log, compacted or not, gives the same state, field by field."
TestHistories.settings = settings(
    max_examples=200,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


# --- records as bytes --------------------------------------------------------------------------------------------

MEMBER = StoredMember("m-1", "i", "c", "/h", 60_000, 10_000, b"sub", b"given")


def test_records_survive_their_bytes() -> None:
    """Every record reads back as it was, times before the start of virtual time included; tombstones too."""
    group = GroupRecord("g", GroupValue("consumer", 3, "range", "m-1", 5_000, (MEMBER,)))
    offset = OffsetRecord("g", TopicPartition("t", 1), OffsetValue(7, 2, "m", -3_000))
    gone: list[GroupRecord | OffsetRecord] = [GroupRecord("g", None), OffsetRecord("g", TopicPartition("t", 1), None)]
    for record in (group, offset, *gone):
        assert decode(*encode(record)) == record
    assert [encode(record)[1] for record in gone] == [None, None]


def test_offset_that_expires_by_itself_has_no_leader_epoch() -> None:
    """Version 1 is the only one with a time of expiry, and it cannot carry the epoch, as in Kafka."""
    record = OffsetRecord("g", TopicPartition("t", 1), OffsetValue(7, 2, "m", 1_000, 61_000))
    key, value = encode(record)
    assert value is not None
    assert value[:2] == b"\x00\x01"
    assert record.value is not None
    assert decode(key, value) == evolve(record, value=evolve(record.value, leader_epoch=-1))


def test_release_decides_on_the_version_of_offsets() -> None:
    """Brokers up to 4.0 write offsets in version 3, later ones in version 4."""
    assert [form_of(release).offsets for release in ("2.8.1", "4.0", "4.1", "4.4")] == [3, 3, 4, 4]
    record = OffsetRecord("g", TopicPartition("t", 1), OffsetValue(7, 2, "m", 1_000))
    for version in (3, 4):
        key, value = encode(record, Form(version))
        assert value is not None
        assert value[1] == version
        assert decode(key, value) == record


def test_group_without_a_time_counts_from_its_commits() -> None:
    """Group records of versions 0 and 1 have no time of the state, nor (0) a rebalance timeout of members."""
    key, _ = encode(GroupRecord("g", None))
    value = bytes.fromhex("0000" + "0000" + "00000001" + "ffff" + "ffff" + "00000001") + (
        b"\x00\x01m\x00\x01c\x00\x01h\x00\x00\x27\x10\x00\x00\x00\x00\x00\x00\x00\x00"
    )
    record = decode(key, value)
    member = StoredMember("m", None, "c", "h", 10_000, 10_000, b"", b"")
    assert record == GroupRecord("g", GroupValue("", 1, None, None, None, (member,)))
    assert encode(record)[1] is not None  # type: ignore[arg-type]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_group_with_members_keeps_them_whatever_commits_come_before_or_after(order: Sequence[int]) -> None:
    """Commits make no simple group of it, and its record makes no commit void: 5 of one partition, 7 of another."""
    member = StoredMember("m", None, "c", "/h", 60_000, 10_000, b"", b"plan")
    group = GroupRecord("g", GroupValue("consumer", 3, "range", "m", 1_000, (member,)))
    first, second = TopicPartition("t", 0), TopicPartition("t", 1)
    records = [
        group,
        OffsetRecord("g", first, OffsetValue(5, -1, "", 2_000)),
        OffsetRecord("g", second, OffsetValue(7, -1, "", 3_000)),
    ]
    bench = Bench(records=[records[at] for at in order])
    snapshot = bench.snapshot()
    assert (snapshot.state, snapshot.generation, snapshot.leader) == ("Stable", 3, "m")
    assert [(one.member_id, one.assignment) for one in snapshot.members] == [("m", b"plan")]
    assert bench.heartbeat("m", 3).error is ErrorCode.NONE
    assert offsets_of(bench.fetch_offsets(first, second)) == {first: 5, second: 7}
    assert committed(bench.commit_offset(9, member_id="m", generation=3)) == [ErrorCode.NONE]
    bench.advance_ms(10_000)
    assert bench.state == "Empty"


def test_foreign_records_are_skipped_with_a_note() -> None:
    """Records of share and streams groups, and of unknown types, are left out; a load reports it once for each type."""
    foreign = decode(b"\x00\x0a\x00\x01g\x00\x01m", b"\x00\x00\x01")
    assert foreign == ForeignRecord(10, "ShareGroupMemberMetadata", "g")
    unknown = decode(b"\x00\x63??", None)
    offset = OffsetRecord("g", TopicPartition("t", 0), OffsetValue(7, -1, "", 0))
    made = Bench(records=[foreign, foreign, offset, unknown])
    notes = [note.reason for note in made.emitted if note.kind is Kind.WARNING]
    assert notes == [
        "2 record(s) of ShareGroupMemberMetadata (type 10) skipped in __consumer_offsets-0: not modelled",
        "1 record(s) of unknown (type 99) skipped in __consumer_offsets-0: not modelled",
    ]
    assert made.shard.snapshot("g") is not None
