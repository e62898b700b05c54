"""Random histories of a consumer group: failed appends leave no trace, and the log, compacted or not, has all of it.

Two kinds of logs are read besides the whole one. *Compacted*: up to some append only the last record of each key is
left, as the cleaner leaves a log. *Overtaken*: the cleaner compacts a log that is just being read, so that of some
appends in the middle only the last record of each key is found, but all of those before (KAFKA-19862). Kafka refuses
some of the second kind: where the former owner of a partition has another record before the one that gives it up.

Before 4.4 a member is named by its former instance ids as well (KAFKA-20747). Of those a compacted log may have lost
some: which ids name a member is compared with the whole log alone.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.consumer_records import EpochRecord, MemberRecord
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.base.records import GroupRecord, GroupValue, OffsetRecord, OffsetValue, Record
from groupsim.coordinator.base.serde import decode, encode
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.consumer.entry_points import ConsumerGroup
from groupsim.coordinator.consumer.state import _MEMBERS, _STATIC, GroupState
from groupsim.coordinator.partition.registry import Registry
from groupsim.coordinator.testing import Bench
from groupsim.protocol.basics import TopicPartition
from tests.helpers.consumer_group_author import Author, copied

CLASSIC = GroupRecord("g", GroupValue("consumer", 3, None, None, 0))
STEPS = (
    *("write",) * 14,
    *("commit",) * 8,
    *("convert",) * 3,
    *("fail", "refuse", "offset", "delete", "convert back"),
)
Held = dict[str, Any] | str | None


def held(groups: Registry, *, committed: bool = False) -> Held:
    """All that is known of the group, in the present view or in the committed one."""
    group = groups.get_committed("g") if committed else groups.get("g")
    if isinstance(group, ConsumerGroup):
        return copied(group.data.committed() if committed else group.data)
    return None if group is None else f"classic, generation {group.generation}"


class Histories(RuleBasedStateMachine):
    """One group writes, is deleted and changes its kind; appends are committed, refused, or fail all together."""

    RELEASE = "4.4"

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(CoordinatorConfig(self.RELEASE), auto_commit=False)
        self.random = Random(0)
        self.log: list[tuple[Record, ...]] = []
        #: What was known before the first append under way, and after each of them.
        self.copies: list[Held] = [None]

    # --- steps -------------------------------------------------------------------------------------------------------

    @rule(what=st.sampled_from(STEPS), seed=st.integers(0, 2**20))
    def step(self, what: str, seed: int) -> None:
        """One rule for all, so that each step is as frequent as it stands in `STEPS`."""
        self.random.seed(seed)
        group = self.bench.shard.groups.get("g")
        consumer = group if isinstance(group, ConsumerGroup) else None
        if what == "write" and (group is None or consumer is not None):
            data = self.new_data() if consumer is None else consumer.data
            self.append(tuple(Author(self.random, data).next()))
        elif what == "offset":
            self.append((OffsetRecord("g", TopicPartition("t", 0), OffsetValue(seed, -1, "", 0)),))
        elif what == "commit":
            self.commit()
        elif what == "refuse" and self.bench.in_flight:
            self.bench.refuse_append()
            self.copies.pop()
        elif what == "fail":
            while self.bench.in_flight:
                self.bench.fail_append()
            del self.copies[1:]
        elif what == "delete" and group is not None and group.is_empty:
            self.append(tuple(self.bench.shard.partition.tombstones(group)))
        elif what == "convert" and isinstance(group, ClassicGroup):
            self.append((GroupRecord("g", None), *Author(self.random, self.new_data()).join()))
        elif what == "convert back" and (group is None or consumer is not None):
            self.convert_back(consumer)

    def new_data(self) -> GroupState:
        """A group of this release that has no record yet."""
        return self.bench.shard.partition.new_consumer_group("g").data

    def append(self, records: tuple[Record, ...]) -> None:
        if records:
            self.bench.shard.partition.append(records)
            self.sent()

    def sent(self) -> None:
        self.bench.carry_out(self.bench.shard.op.take())
        self.copies.append(held(self.bench.shard.groups))

    def commit(self) -> None:
        if self.bench.in_flight:
            self.log.append(self.bench.in_flight[0].records)
            self.bench.commit(1)
            self.copies.pop(0)

    def convert_back(self, group: ConsumerGroup | None) -> None:
        """A classic group takes the place of a consumer group, or of none; its caller adds it."""
        tombstones = () if group is None else group.tombstones()
        partition = self.bench.shard.partition
        partition.append((*tombstones, CLASSIC))
        classic = ClassicGroup("g")
        classic.generation = 3
        partition.groups.add(classic)
        partition.groups.created_by("g", self.bench.shard.op.purgatory.last_id)
        self.sent()

    # --- what must hold ----------------------------------------------------------------------------------------------

    @invariant()
    def state_is_that_of_the_appends_that_did_not_fail(self) -> None:
        """The present view is the copy after the last append that counts; the committed one that of the last commit."""
        assert len(self.copies) == 1 + len(self.bench.in_flight)
        groups = self.bench.shard.groups
        if all(isinstance(copy, dict) for copy in self.copies):
            assert held(groups) == self.copies[-1]
        assert shown(held(groups)) == shown(self.copies[-1])
        assert shown(held(groups, committed=True)) == shown(self.copies[0])

    @invariant()
    def every_log_has_the_group(self) -> None:
        """The log as bytes, and each compaction of it, makes the group that is committed."""
        known = shown(held(self.bench.shard.groups, committed=True))
        batches, random = self.log, self.random
        assert known == self.read([record for batch in batches for record in batch])
        cut, at = sorted((random.randrange(len(batches) + 1), random.randrange(len(batches) + 1)))
        known = self.without_former_instances(known)
        less = compacted(batches[:at]) + flat(batches[at:])
        assert known == self.without_former_instances(self.read(less))
        if not self.has_come_back():
            overtaken = flat(batches[:cut]) + compacted(batches[cut:at]) + flat(batches[at:])
            try:
                assert known == self.without_former_instances(self.read(overtaken))
            except IllegalState as problem:
                assert "still owned" in str(problem)  # noqa: PT017 (the load of Kafka fails on it as well)

    def has_come_back(self) -> bool:
        """Whether the group, or a member id, was deleted and is there again: an overtaken log mixes both lives."""
        records, gone = flat(self.log), set[str]()
        for record in records:
            if isinstance(record, OffsetRecord):
                continue
            if gone & {"the group", getattr(record, "member_id", "")}:
                return True
            if isinstance(record, MemberRecord) and record.value is None:
                gone.add(record.member_id)
            elif record in (CLASSIC, EpochRecord("g", None)):
                gone.add("the group")
        return False

    def without_former_instances(self, known: Held) -> Held:
        """What is known but for instance ids that name a member with another one, or none."""
        if not isinstance(known, dict):
            return known
        present = {one.instance_id: member_id for member_id, one in known[table(_MEMBERS)].items() if one.instance_id}
        if self.RELEASE == "4.4":
            assert known[table(_STATIC)] == present
        return {**known, table(_STATIC): present}

    def read(self, records: list[Record]) -> Held:
        """What a coordinator knows of the group that reads these records as bytes."""
        again = [decode(*encode(record)) for record in records]  # type: ignore[arg-type]
        assert again == records
        return shown(held(Bench(CoordinatorConfig(self.RELEASE), records=again).shard.groups))


class HistoriesOf43(Histories):
    """The same at a coordinator whose members keep their former instance ids."""

    RELEASE = "4.3"


def table(index: int) -> str:
    """The name of a table in what is held."""
    return f"table {index}"


def shown(known: Held) -> Held:
    """What is compared with a log: a group of offsets only is none, since it is no consumer group."""
    return None if known == "classic, generation 0" else known


def flat(batches: list[tuple[Record, ...]]) -> list[Record]:
    """The records of these appends."""
    return [record for batch in batches for record in batch]


def compacted(batches: list[tuple[Record, ...]]) -> list[Record]:
    """The last record of each key."""
    last = {encode(record)[0]: place for place, record in enumerate(flat(batches))}  # type: ignore[arg-type]
    return [record for place, record in enumerate(flat(batches)) if last[encode(record)[0]] == place]  # type: ignore[arg-type]


SETTINGS = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("histories", [Histories, HistoriesOf43])
def test_random_histories(histories: type[Histories]) -> None:
    """A failed append leaves no trace, and every log of a consumer group has all of it."""
    run_state_machine_as_test(histories, settings=SETTINGS)  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_many_histories() -> None:
    """The same on many more and longer histories."""
    more = settings(SETTINGS, max_examples=400, stateful_step_count=60)
    for histories in (Histories, HistoriesOf43):
        run_state_machine_as_test(histories, settings=more)  # type: ignore[no-untyped-call]
