"""One play of an operation on both sides: Kafka's shard first, then the core, and what they write, answer and are.

Records have to have the same bytes, in order; answers, groups, members and the deadlines of timers have to be equal.
Offsets are compared as values, since the core leaves a topic's id to the log, and assignments without the order of
their topics. Not compared is the order of offsets and groups that are removed together, and of members that leave
together: Kafka's own differs from run to run, or is no matter of the core.

Every append is committed at once, or fails. Member ids that the coordinator draws are Kafka's on both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import evolve

from groupsim.coordinator.base import serde
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.consumer_records import CurrentRecord, TargetRecord
from groupsim.coordinator.base.group_configs import GroupConfigs
from groupsim.coordinator.base.operation import Arrival
from groupsim.coordinator.base.records import Loaded, OffsetRecord, TransactionEnd
from groupsim.coordinator.base.timers import TimerKind
from groupsim.coordinator.base.topics import KnownTopics
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.consumer.entry_points import ConsumerGroup
from groupsim.coordinator.testing import Bench, Sent
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from groupsim.protocol.messages.group import DeleteGroupsRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from tests.beside_kafka.bodies import ANSWERS, BODIES
from tests.beside_kafka.kafka_shard import Body, KafkaShard

CLIENT, HOST = "c", "/127.0.0.1"
OF_BROKERS = (TimerKind.EXPIRY, TimerKind.WRITE_TIMEOUT)
KEPT_BY_KAFKA = ("group-size-counter", "expire-group-metadata")
BEGIN_MS = 1_000_000
_FAILED = "NOT_ENOUGH_REPLICAS"
_AS_VALUES = (OffsetRecord, TargetRecord, CurrentRecord)
"""The records that are not compared byte for byte."""


class Differs(Exception):
    """Both sides differ; the text says where."""


class OwnSettings:
    """The settings of groups (`interfaces.GroupSettings`)."""

    def __init__(self) -> None:
        self.groups: dict[str, Mapping[str, str]] = {}

    def in_force(self, group_id: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return self.groups.get(group_id, {}), {}


class Play:
    """A partition on both sides. `properties` are settings of the broker."""

    def __init__(self, kafka: KafkaShard, properties: Mapping[str, object]) -> None:
        self.kafka = kafka
        self.now_ms = serde.EPOCH_MS + BEGIN_MS
        self.operations = 0
        self.settings = OwnSettings()
        self._config = CoordinatorConfig.from_properties(properties)
        self._waiting: dict[int, Sent] = {}
        self._members: set[str] = set()
        self._gone: dict[str, int] = {}  # timers that Kafka left to groups that it lost
        self.kafka.ask("new", now=self.now_ms, config={name: str(value) for name, value in properties.items()})
        self.bench = self._loaded([], KnownTopics())

    def _loaded(self, log: Sequence[Loaded], topics: KnownTopics) -> Bench:
        bench = Bench(self._config, now_us=self._now_us, topics=topics)
        bench.shard.op.group_configs = GroupConfigs(self._config, self.settings)
        bench.log = [*log]
        bench.carry_out(bench.shard.load(log, bench.now_us))
        return bench

    @property
    def _now_us(self) -> int:
        return 1_000 * (self.now_ms - serde.EPOCH_MS)

    # --- operations --------------------------------------------------------------------------------------------------

    def change(
        self, changes: Sequence[Body], topics: KnownTopics, names: Collection[str], deleted: Sequence[str]
    ) -> None:
        """Give both other metadata: `topics` from now on, of which these were changed, and others deleted."""
        answer = self.kafka.ask("image", version=topics.version, changes=changes)
        mark = len(self.bench.log)
        self.bench.change_topics(topics, *names)
        for name in deleted:
            self.bench.carry_out(self.bench.shard.topic_deleted(name, self.bench.now_us))
        self._compare(answer, mark, f"other metadata of {names}")

    def advance(self, ms: int) -> None:
        """Let the time pass, with its timers."""
        self.now_ms += ms
        answer = self.kafka.ask("advance", to=self.now_ms)
        mark = len(self.bench.log)
        self.bench.advance_to(self._now_us)
        self._compare(answer, mark, f"{ms} ms", ordered=False)

    def resolve(self) -> None:
        """Finish resolutions of regular expressions."""
        answer = self.kafka.ask("tasks")
        mark = len(self.bench.log)
        self.bench.resolve()
        self._compare(answer, mark, "a resolution")

    def end_transaction(self, producer: int, *, committed: bool) -> None:
        """End the transaction of a producer."""
        answer = self.kafka.ask("marker", pid=producer, epoch=0, committed=committed)
        mark = len(self.bench.log)
        self.bench.end_transaction(committed, producer_id=producer)
        self._compare(answer, mark, "the end of a transaction")

    def configure(self, group_id: str, settings: Mapping[str, str]) -> None:
        """Change the settings of a group."""
        answer = self.kafka.ask("groupConfig", group=group_id, config=settings)
        self.settings.groups[group_id] = settings
        self._compare(answer, len(self.bench.log), "settings of a group")

    def load(self) -> None:
        """Let another coordinator load the log; what was parked is forgotten."""
        answer = self.kafka.ask("load")
        topics = self.bench.shard.op.topics
        assert isinstance(topics, KnownTopics)
        self.bench = self._loaded(self.bench.log, topics)
        self._waiting.clear()
        self._compare({**answer, "answered": []}, len(self.bench.log), "a load")

    def request(self, request: Any, *, fails: bool = False) -> Sent:
        """Send a request to both; with `fails` its append does."""
        api, body = BODIES[type(request)]
        self.operations += 1
        number = self.operations
        answer = self.kafka.ask(
            "request", api=api, version=request.version, id=number, clientId=CLIENT, request=body(request), fail=fails
        )
        sent = Sent(request, CLIENT, HOST, number)
        if isinstance(request, JoinGroupRequest | SyncGroupRequest):
            self._waiting[number] = sent
        bench, mark = self.bench, len(self.bench.log)
        bench.auto_commit = not fails
        arrival = Arrival(sent, CLIENT, HOST, self._drawn(request, number, answer))
        bench.carry_out(bench.shard.handle(arrival, request, bench.now_us))
        while fails and bench.in_flight:
            bench.fail_append()
        bench.auto_commit = True
        self._compare(
            answer, mark, str(request), ordered=not isinstance(request, LeaveGroupRequest | DeleteGroupsRequest)
        )
        if number not in self._waiting and not isinstance(request, JoinGroupRequest | SyncGroupRequest):
            _same_answer(api, sent, answer)
        return sent

    def _drawn(self, request: Any, number: int, answer: Body) -> str:
        """Return the member id that Kafka drew for a request without one."""
        if not isinstance(request, JoinGroupRequest | ConsumerGroupHeartbeatRequest) or request.member_id:
            return ""
        answers = [one.get("response", {}) for one in answer["answered"] if one["id"] == number]
        for response in (*answers, answer.get("response", {})):
            if response.get("memberId"):
                return str(response["memberId"])
        members = {member for group in answer["groups"].values() for member in group["members"]}
        return next(iter(members - self._members), "none")

    # --- comparison --------------------------------------------------------------------------------------------------

    def _compare(self, answer: Body, mark: int, what: str, *, ordered: bool = True) -> None:
        self._members = {member for group in answer["groups"].values() for member in group["members"]}
        self._compare_records(answer.get("records", []), self.bench.log[mark:], what, ordered=ordered)
        for one in answer["answered"]:
            sent = self._waiting.pop(one["id"], None)
            if sent is not None:
                _same_answer(BODIES[type(sent.request)][0], sent, one)
        early = [sent for sent in self._waiting.values() if sent.responses]
        if early:
            raise Differs(f"after {what}: {early[0].request} is answered here alone: {early[0].response}")
        ours = {group.group_id: _shown(group) for group in self.bench.shard.groups}
        theirs = {name: _sorted(group) for name, group in answer["groups"].items()}
        if ours != theirs:
            raise Differs(f"after {what}\n  Kafka {theirs}\n  here  {ours}")
        self._compare_timers(answer["timers"], theirs, what)

    def _compare_records(self, found: Sequence[Body], ours: Sequence[Loaded], what: str, *, ordered: bool) -> None:
        theirs = [_record(one["key"], one["value"]) for one in found]
        mine = [_bytes_of(one) for one in ours if not isinstance(one, TransactionEnd)]
        if theirs == mine:
            return
        equal = sorted(map(str, theirs)) == sorted(map(str, mine))
        if equal and (not ordered or all(isinstance(one, OffsetRecord) for one in theirs)):
            return
        lines = [f"records after {what}", *(f"  Kafka {_readable(one)}" for one in theirs)]
        raise Differs("\n".join([*lines, *(f"  here  {_readable(one)}" for one in mine)]))

    def _compare_timers(self, found: Mapping[str, int], groups: Collection[str], what: str) -> None:
        ours = {
            timer.name: timer.due_us // 1_000 + serde.EPOCH_MS
            for timer in self.bench.shard.op.timers
            if timer.kind not in OF_BROKERS
        }
        theirs = {name: due for name, due in found.items() if name not in KEPT_BY_KAFKA}
        for name, due in theirs.items():
            if name not in ours and not any(name.endswith(f"-{group}") or f"-{group}-" in name for group in groups):
                self._gone[name] = due
        theirs = {name: due for name, due in theirs.items() if name in ours or self._gone.get(name) != due}
        if ours != theirs:
            raise Differs(f"timers after {what}\n  Kafka {theirs}\n  here  {ours}")


def _same_answer(api: str, sent: Sent, theirs: Body) -> None:
    if not sent.responses:
        raise Differs(f"{sent.request} is answered by Kafka alone: {theirs}")
    error = theirs.get("error")
    if error is None:
        ours_of, theirs_of = ANSWERS[api]
        ours, expected = ours_of(sent.response), theirs_of(theirs["response"])
        if ours != expected:
            raise Differs(f"{sent.request}\n  Kafka {expected}\n  here  {ours}")
        return
    # The service above the shard makes an answer of what is thrown.
    expected = {"COORDINATOR_NOT_AVAILABLE" if error == _FAILED else error}
    if {code.name for code in _errors(sent.response)} != expected:
        raise Differs(f"{sent.request}\n  Kafka {expected}: {theirs['message']}\n  here  {sent.response}")


def _errors(response: Any) -> Collection[ErrorCode]:
    """Return the errors of a response, without NONE at its top where it has some for parts."""
    for name in ("partitions", "results"):
        if getattr(response, name, None):
            return {error for _, error in getattr(response, name)}
    parts = {one.error for one in getattr(response, "members", ()) if hasattr(one, "error")}
    top = getattr(response, "error", ErrorCode.NONE)
    return parts if parts and top is ErrorCode.NONE else {top}


def _record(key: str, value: str | None) -> object:
    record = serde.decode(bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    return record if isinstance(record, _AS_VALUES) else (key, value)


def _bytes_of(record: Loaded) -> object:
    if isinstance(record, OffsetRecord):
        return evolve(record, producer=None)
    if isinstance(record, _AS_VALUES):
        return record
    key, value = serde.encode(record)  # type: ignore[arg-type]
    return key.hex(), None if value is None else value.hex()


def _readable(one: Any) -> object:
    return one if isinstance(one, _AS_VALUES) else serde.decode(*(None if x is None else bytes.fromhex(x) for x in one))


def _shown(group: Any) -> Body:
    if isinstance(group, ConsumerGroup):
        data = group.data
        epochs = {"epoch": data.group_epoch, "assignment_epoch": data.assignment_epoch}
        return {"type": "consumer", "state": data.state.value, "members": sorted(data.members), **epochs}
    assert isinstance(group, ClassicGroup)
    state = {"generation": group.generation, "leader": group.leader or None}
    return {"type": "classic", "state": group.state.printed, "members": sorted(group.members), **state}


def _sorted(group: Body) -> Body:
    found = {**group, "members": sorted(group["members"])}
    return {**found, "leader": group["leader"] or None} if "leader" in group else found
