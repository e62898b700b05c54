"""What must hold of a whole replicated cluster: all along, and when everything is mended.

* A record below a high watermark stays what it is, on every replica, for ever (elections are clean; a machine is lost
  only while another replica in sync has what it had).
* What was acknowledged with acks=all is in the log; of an idempotent producer it is there once.
* An acknowledged commit is a record of `__consumer_offsets` below its high watermark; so it can only be superseded.
* One broker appends to a partition in one leader epoch.
* The owner of a partition gets its records in order and without a gap.
* What a running coordinator has committed is what its log tells, field by field.
* A reader of committed records sees the outputs of a transformed input once, whole transactions or nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import count
from typing import Any

from groupsim.cluster.broker.offset_batches import placed_records, to_records
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.coordinator.base.records import OffsetRecord
from groupsim.coordinator.shard import Shard
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch
from tests.helpers.log_replay import group_held, offsets_held
from tests.helpers.whole_stage import APP, GROUP, INPUT, OTHER, OUTPUT, READERS, WholeStage

_ALL = 1 << 62


def content(batch: Batch) -> tuple[Any, ...]:
    """What a batch says, as a value."""
    records = tuple((record.key, record.value) for record in batch.records or ())
    return batch.last_offset, batch.leader_epoch, batch.producer_id, batch.base_sequence, batch.attributes, records


def values(log: Any) -> list[bytes]:
    """The contents of a log's records, markers left out."""
    batches = [batch for batch in log.batches(log.start_offset, log.end_offset) if not batch.is_control]
    return [record.value for batch in batches for record in batch.records or ()]


class Checks:
    """The checks of one walk, with what they remember."""

    def __init__(self, stage: WholeStage) -> None:
        self.stage = stage
        self.kept: dict[tuple[TopicPartition, int], tuple[Any, ...]] = {}
        self.looked: dict[tuple[int, TopicPartition, int], int] = {}
        self.appenders: dict[tuple[str, int, int], str] = {}
        self.next: dict[tuple[str, TopicPartition], int] = {}
        self.commits: dict[tuple[str, str], set[int]] = defaultdict(set)
        self.read_to: dict[int, int] = {}
        self.done = 0

    # --- all along ---------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Everything that must hold at any instant."""
        for event in self.stage.events[self.done :]:
            self._event(event)
        self.done = len(self.stage.events)
        for partition in self.stage.partitions():
            for node, broker in self.stage.cluster.brokers.items():
                if broker.host.alive:
                    self._replica(node, broker, partition)

    def _replica(self, node: int, broker: Any, partition: TopicPartition) -> None:
        log = broker.replicas.log(partition)
        if log is None:
            return
        assert log.start_offset <= log.high_watermark <= log.end_offset, f"{node}: {partition}: {log}"
        assert log.last_stable_offset <= log.high_watermark
        key = (node, partition, broker.host.incarnation)
        begin = self.looked.get(key, 0)
        for batch in log.batches(begin, log.high_watermark):
            if batch.next_offset <= log.high_watermark:
                said = self.kept.setdefault((partition, batch.base_offset), content(batch))
                assert said == content(batch), f"broker {node} has another {partition}@{batch.base_offset}"
                begin = batch.next_offset
        self.looked[key] = begin

    def _event(self, event: TraceEvent) -> None:
        kind = event.kind
        if kind is Kind.RECORDS_APPENDED:
            where = (event.topic, event.partition, event.payload["epoch"])  # type: ignore[index]
            first = self.appenders.setdefault(where, event.host)  # type: ignore[arg-type]
            assert first == event.host, f"{event.host} and {first} both appended to {where}"
        elif kind is Kind.PARTITION_OWNED:
            self.next.pop((event.host or "", TopicPartition(event.topic or "", event.partition or 0)), None)
        elif kind is Kind.RECORDS_DELIVERED:
            self._delivered(event)

    def _delivered(self, event: TraceEvent) -> None:
        partition = TopicPartition(event.topic or "", event.partition or 0)
        base, number = event.payload["base"], event.payload["count"]  # type: ignore[index]
        wanted = self.next.get((event.host or "", partition), base)
        gaps = partition.topic == OUTPUT  # markers stand between the records
        went_back = event.group == APP  # after an aborted transaction
        if not went_back:
            assert base >= wanted if gaps else base == wanted, f"{event.host} got {partition}@{base}, not {wanted}"
        self.next[event.host or "", partition] = base + number

    # --- commits -----------------------------------------------------------------------------------------------------

    def committed(self, event: TraceEvent) -> None:
        """A member has just been told that its commit is in: the record is below a high watermark."""
        group, number = event.group or "", partition_for(event.group or "", self.stage.offsets_partitions)
        self._read_on(number)
        for name, offset in event.payload["offsets"].items():  # type: ignore[index]
            assert offset in self.commits[group, name], f"{event.host}: {name}@{offset} is acknowledged, in no log"

    def _read_on(self, number: int) -> None:
        """Take note of what has been committed since, from the replica that knows most of it."""
        part = TopicPartition(OFFSETS_TOPIC, number)
        brokers = [broker for broker in self.stage.cluster.brokers.values() if broker.host.alive]
        logs = [log for broker in brokers if (log := broker.replicas.log(part)) is not None]
        best = max(logs, key=lambda log: log.high_watermark)
        begin = self.read_to.get(number, 0)
        if best.high_watermark <= begin:
            return
        self.read_to[number] = best.high_watermark
        for _, record in placed_records(best.batches(begin, best.high_watermark), number):
            if isinstance(record, OffsetRecord) and record.value is not None:
                self.commits[record.group_id, str(record.partition)].add(record.value.offset)

    def coordinators(self) -> None:
        """What the coordinators have in memory is what their logs tell. For a moment without commits under way."""
        for number in range(self.stage.offsets_partitions):
            part = TopicPartition(OFFSETS_TOPIC, number)
            leader = self.stage.cluster.controller.image.partition(part).leader  # type: ignore[union-attr]
            broker: Any = self.stage.cluster.brokers[leader]
            led = broker.groups._drivers[number]
            assert led.active, f"broker {leader} leads {part}, and serves it not"
            told = Shard(number, led.shard.op.config, count().__next__)
            told.load(to_records(broker.replicas.log(part).batches(0, _ALL), number), self.stage.loop.now_us)
            assert offsets_held(told.partition.offsets.view) == offsets_held(led.shard.partition.offsets.view), part
            for group in led.shard.groups:
                again = told.groups.get(group.group_id)
                assert group_held(again) == group_held(group), f"{part}: the log tells another {group.group_id}"

    # --- at the end --------------------------------------------------------------------------------------------------

    def converged(self) -> None:
        """Everything is mended and nobody produces: all have come together, nothing is missing."""
        self._logs_agree()
        self._acknowledged_is_there()
        self._groups_are_stable()
        self._all_is_delivered()
        if self.stage.transactional:
            self._transactions_are_whole()
        self.coordinators()

    def _logs_agree(self) -> None:
        for partition in self.stage.partitions():
            state = self.stage.cluster.controller.image.partition(partition)
            assert state is not None
            assert sorted(state.isr) == sorted(state.replicas), f"{partition}: {state}"
            logs = [self.stage.cluster.log(partition.topic, partition.partition, node) for node in state.replicas]
            end = min(log.high_watermark for log in logs)
            if not partition.topic.startswith("__"):  # commits of the same offsets go on
                assert {log.end_offset for log in logs} == {end}, f"{partition}: {[str(log) for log in logs]}"
            whole = [[(batch.base_offset, content(batch)) for batch in log.batches(0, end)] for log in logs]
            assert all(one == whole[0] for one in whole), f"{partition}: replicas differ"
            bases = dict(whole[0])
            for (where, base), said in self.kept.items():
                assert where != partition or base >= end or bases.get(base) == said, (
                    f"{partition}@{base} was committed and is lost"
                )

    def _acknowledged_is_there(self) -> None:
        there: Counter[bytes] = Counter()
        for topic in (INPUT, OTHER):
            for number in range(self.stage.topics[topic]):
                there.update(values(self.stage.cluster.log(topic, number)))
        for app in self.stage.apps:
            missing = [name for name in app.acknowledged if name not in there]
            assert not (app.strict and missing), f"acknowledged and lost: {sorted(missing)[:5]}"
            if app.idempotent:
                twice = [name for name, times in there.items() if times > 1 and name.startswith(app.name.encode())]
                assert not twice, f"idempotent and twice: {twice[:5]}"

    def _groups_are_stable(self) -> None:
        groups: dict[str, list[Any]] = defaultdict(list)
        for consumer in self.stage.consumers:
            groups[consumer.settings.group_id].append(consumer)
        for group, consumers in groups.items():
            found = self.stage.cluster.snapshot(group)
            assert found is not None
            assert found.state == "Stable", f"{group}: {found.state}"
            assert {m.member_id for m in found.members} == {c.member_id for c in consumers}
            owned = Counter(partition for consumer in consumers for partition in consumer.assignment)
            assert set(owned.values()) == {1}

    def _all_is_delivered(self) -> None:
        for group, topics in ((GROUP, (INPUT, OTHER)), (APP, (INPUT,))):
            if group == APP and not self.stage.transactional:
                continue
            for topic in topics:
                for number in range(self.stage.topics[topic]):
                    self._delivered_whole(group, TopicPartition(topic, number))

    def _delivered_whole(self, group: str, partition: TopicPartition) -> None:
        log = self.stage.cluster.log(partition.topic, partition.partition)
        seen = self.stage.seen[group][partition]
        here = values(log)
        assert [seen.get(offset) for offset in range(log.end_offset)] == here, f"{group}: {partition} is not delivered"
        committed = self._last_commit(group, partition)
        assert committed in (log.end_offset, None if not log.end_offset else -1), f"{group}: {partition} lags"

    def _last_commit(self, group: str, partition: TopicPartition) -> int | None:
        _, coordinator = self.stage.cluster.coordinator_of(group)
        number = partition_for(group, self.stage.offsets_partitions)
        view: Any = coordinator._drivers[number].shard.partition.offsets.view
        found = dict(view.of(group)).get(partition)
        return None if found is None else int(found.offset)

    def _transactions_are_whole(self) -> None:
        visible: Counter[bytes] = Counter()
        for number in range(self.stage.topics[OUTPUT]):
            log = self.stage.cluster.log(OUTPUT, number)
            assert log.last_stable_offset == log.end_offset, f"{OUTPUT}-{number}: a transaction is still open"
            offsets = self._committed_outputs(log)
            visible.update(offsets.values())
            read = self.stage.seen[READERS][TopicPartition(OUTPUT, number)]
            missing, others = [at for at in offsets if at not in read], [at for at in read if at not in offsets]
            assert not others, f"{OUTPUT}-{number}: read_committed saw {others[:9]}, which never were"
            assert not missing, f"{OUTPUT}-{number}: not read: {missing[0]} to {missing[-1]} of {log.end_offset}"
            assert read == offsets
        inputs = {
            f"{INPUT}-{number}@{offset}".encode()
            for number in range(self.stage.topics[INPUT])
            for offset in range(self.stage.cluster.log(INPUT, number).end_offset)
        }
        assert visible == Counter(dict.fromkeys(inputs, 1)), "an input has not exactly one output"

    def _committed_outputs(self, log: Any) -> dict[int, bytes]:
        """Offset → content of the records of committed transactions."""
        open_: dict[int, dict[int, bytes]] = defaultdict(dict)
        found: dict[int, bytes] = {}
        for batch in log.batches(0, _ALL):
            if batch.is_control:
                mine = open_.pop(batch.producer_id, {})
                if batch.records[0].key[3] == 1:
                    found.update(mine)
            else:
                for record in batch.records:
                    open_[batch.producer_id][batch.base_offset + record.offset_delta] = record.value
        return found
