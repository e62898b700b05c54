"""A network with one scripted coordinator, and topics' data, for tests of a single consumer.

`ScriptedBroker` answers like a healthy group of one member unless a test says otherwise: `broker.reply(Api.X, ...)`
queues answers for the next requests of that kind (an error code, a response, a function of the request, `HOLD` for
never, `DROP` for a broken connection), `broker.follow(partitions)` makes the consumer a follower that is given these
partitions, `broker.rebalance()` lets heartbeats say REBALANCE_IN_PROGRESS until the next JoinGroup.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from groupsim.eventloop.interface import EventLoop, Order
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.members.behaviour import Behaviour
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.failures import PluginErrors
from groupsim.members.interfaces import Disconnected, Fetched, FetchFailed, Outcome
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from
from groupsim.protocol.embedded.consumer_protocol import Assignment, decode_subscription, encode_assignment
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    NO_OFFSET,
    Api,
    FetchedOffset,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    JoinMember,
    LeaveGroupResponse,
    LeftMember,
    MetadataResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    PartitionInfo,
    Request,
    Response,
    SyncGroupResponse,
    TopicInfo,
    TopicPartition,
)
from groupsim.protocol.messages.releases import BASELINE

LATENCY_US = 500
SECOND = 1_000_000
HOLD, DROP = "hold", "drop"
Reply = Any


class FakeConnection:
    """One connection; latency half a millisecond each way, answers through the host (so that a pause delays them)."""

    def __init__(self, net: FakeTransport, host: str, node: int, purpose: str) -> None:
        self.net, self.host, self.node, self.purpose = net, host, node, purpose
        self.open = True
        self._correlation = 0
        self._in_flight: dict[int, tuple[Callable[[Outcome], None], Any]] = {}

    @property
    def next_correlation(self) -> int:
        return self._correlation + 1

    def send(self, request: Request, on_done: Callable[[Outcome], None], timeout_us: int) -> int:
        self._correlation += 1
        loop, number = self.net.loop, self._correlation
        deadline = loop.call_at(loop.now_us + timeout_us, self._timed_out)
        self._in_flight[number] = (on_done, deadline)
        if self.open and not self.net.unreachable:
            loop.call_at(loop.now_us + LATENCY_US, self._arrive, (number, request), order=Order.MESSAGE)
        elif not self.open or self.net.refuses:
            loop.call_at(loop.now_us + 2 * LATENCY_US, self._break, "connection refused")
        return number

    def repeat(self, *_: Any) -> None:
        """Nothing goes by itself here: each heartbeat is sent."""

    def _arrive(self, what: tuple[int, Request]) -> None:
        number, request = what
        if self.open:
            self.net.broker.handle(self, number, request)

    def answer(self, number: int, response: Response) -> None:
        loop = self.net.loop
        loop.call_at(loop.now_us + LATENCY_US, self._deliver, (number, response), order=Order.MESSAGE)

    def _deliver(self, what: tuple[int, Outcome]) -> None:
        number, outcome = what
        found = self._in_flight.pop(number, None)
        if found is not None:
            self.net.loop.cancel(found[1])
            self.net.loop.host(self.host).deliver(found[0], outcome)

    def _timed_out(self, _: Any) -> None:
        self._end(Disconnected("request timed out", timed_out=True))

    def _break(self, reason: str) -> None:
        self._end(Disconnected(reason))

    def break_(self) -> None:
        self._end(Disconnected("connection reset"))

    def _end(self, outcome: Disconnected) -> None:
        self.open = False
        for number in list(self._in_flight):
            self._deliver((number, outcome))

    def close(self) -> None:
        self.open = False
        for _, deadline in self._in_flight.values():
            self.net.loop.cancel(deadline)
        self._in_flight.clear()


class ScriptedBroker:
    """All brokers in one: keeps what was asked, and answers by script or like a healthy group of one."""

    def __init__(self, loop: EventLoop, topics: Mapping[str, int]) -> None:
        self.loop = loop
        self.topics = dict(topics)
        self.committed_epochs: dict[TopicPartition, int] = {}
        self.asked: list[tuple[int, Request]] = []
        self.held: list[tuple[FakeConnection, int, Request]] = []
        self.generation = 0
        self.members_made = 0
        self.rebalancing = False
        self.partitions: tuple[TopicPartition, ...] | None = None
        self.committed: dict[TopicPartition, int] = {}
        self.needs_member_id = True
        self.coordinator_node = 1
        self._script: dict[Api, deque[Reply]] = defaultdict(deque)
        self._last_sync: dict[str, bytes] = {}

    # -- for tests ----------------------------------------------------------------------------------------------

    def reply(self, api: Api, *replies: Reply) -> None:
        self._script[api].extend(replies)

    def follow(self, partitions: Iterable[TopicPartition]) -> None:
        self.partitions = tuple(partitions)

    def rebalance(self) -> None:
        self.rebalancing = True

    def all(self, api: Api) -> list[Any]:
        return [request for _, request in self.asked if request.API is api]

    def times(self, api: Api) -> list[int]:
        return [at for at, request in self.asked if request.API is api]

    def last(self, api: Api) -> Any:
        return self.all(api)[-1]

    def release(self, response: Response) -> None:
        link, number, _ = self.held.pop(0)
        link.answer(number, response)

    # -- answering ----------------------------------------------------------------------------------------------

    def handle(self, link: FakeConnection, number: int, request: Request) -> None:
        self.asked.append((self.loop.now_us, request))
        script = self._script[request.API]
        reply: Reply = script.popleft() if script else None
        if callable(reply):
            reply = reply(request)
        if reply == HOLD:
            self.held.append((link, number, request))
        elif reply == DROP:
            link.break_()
        else:
            link.answer(number, self._response(request, reply))

    def _response(self, request: Any, reply: Reply) -> Response:
        if isinstance(reply, ErrorCode):
            return _error(request, reply)
        if reply is not None:
            return reply  # type: ignore[no-any-return]
        return getattr(self, "_" + request.API.name.lower())(request)  # type: ignore[no-any-return]

    def _find_coordinator(self, request: Any) -> Response:
        return FindCoordinatorResponse(node=self.coordinator_node, host=f"b{self.coordinator_node}")

    def _metadata(self, request: Any) -> Response:
        names = sorted(self.topics if request.topics is None else request.topics)
        return MetadataResponse(((0, "b0"), (1, "b1")), tuple(self._topic(name) for name in names))

    def _topic(self, name: str) -> TopicInfo:
        if name not in self.topics:
            return TopicInfo(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partitions = tuple(PartitionInfo(number, 0, (0,)) for number in range(self.topics[name]))
        return TopicInfo(name, partitions=partitions, internal=name.startswith("__"))

    def _join_group(self, request: Any) -> Response:
        if not request.member_id and request.version >= 4 and request.group_instance_id is None:
            self.members_made += 1
            given = f"m{self.members_made}"
            return JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id=given)
        if not request.member_id:
            self.members_made += 1
        member = request.member_id or f"m{self.members_made}"
        self.generation += 1
        self.rebalancing = False
        protocol = request.protocols[0]
        leads = self.partitions is None
        instance = request.group_instance_id
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type="consumer",
            protocol_name=protocol.name,
            leader=member if leads else "the-leader",
            member_id=member,
            members=(JoinMember(member, instance, protocol.metadata),) if leads else (),
        )

    def _sync_group(self, request: Any) -> Response:
        if self.partitions is not None:
            data = encode_assignment(Assignment(self.partitions))
        else:
            data = next((entry.assignment for entry in request.assignments), b"")
        return SyncGroupResponse(protocol_type="consumer", protocol_name=request.protocol_name, assignment=data)

    def _heartbeat(self, request: Any) -> Response:
        return HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS if self.rebalancing else ErrorCode.NONE)

    def _leave_group(self, request: Any) -> Response:
        return LeaveGroupResponse(members=tuple(LeftMember(entry.member_id) for entry in request.members))

    def _offset_commit(self, request: Any) -> Response:
        self.committed.update({entry.partition: entry.offset for entry in request.offsets})
        self.committed_epochs.update({entry.partition: entry.leader_epoch for entry in request.offsets})
        return OffsetCommitResponse(tuple((entry.partition, ErrorCode.NONE) for entry in request.offsets))

    def _offset_fetch(self, request: Any) -> Response:
        return OffsetFetchResponse(
            offsets=tuple(
                FetchedOffset(
                    partition, self.committed.get(partition, NO_OFFSET), self.committed_epochs.get(partition, -1)
                )
                for partition in request.partitions
            )
        )


def _error(request: Any, error: ErrorCode) -> Response:
    """An error answer to any request."""
    made: dict[Api, Callable[[], Response]] = {
        Api.FIND_COORDINATOR: lambda: FindCoordinatorResponse(error),
        Api.JOIN_GROUP: lambda: JoinGroupResponse(error, member_id=request.member_id),
        Api.SYNC_GROUP: lambda: SyncGroupResponse(error),
        Api.HEARTBEAT: lambda: HeartbeatResponse(error),
        Api.LEAVE_GROUP: lambda: LeaveGroupResponse(error),
        Api.OFFSET_COMMIT: lambda: OffsetCommitResponse(tuple((entry.partition, error) for entry in request.offsets)),
        Api.OFFSET_FETCH: lambda: OffsetFetchResponse(error),
    }
    return made[request.API]()


class FakeTransport:
    """The network: every connection leads to the one scripted broker."""

    def __init__(self, loop: EventLoop, broker: ScriptedBroker) -> None:
        self.loop, self.broker = loop, broker
        self.bootstrap = (0, 1)
        self.release = BASELINE
        self.unreachable = False  # what is sent vanishes
        self.refuses = False  # … or is refused
        self.connections: list[FakeConnection] = []

    def connect(self, host: str, client_id: str, node: int, purpose: str) -> FakeConnection:
        made = FakeConnection(self, host, node, purpose)
        self.connections.append(made)
        return made

    def break_all(self, purpose: str = "coordinator") -> None:
        for link in self.connections:
            if link.purpose == purpose and link.open:
                link.break_()


class FakeReader:
    """One process's fetches."""

    def __init__(self, data: FakeData, host: str, most: int, on_done: Callable[[Any], None]) -> None:
        self.data, self.host, self.most, self.on_done = data, host, most, on_done
        self.positions: Mapping[TopicPartition, int] = {}
        self.number = 0

    def fetch(self, positions: Mapping[TopicPartition, int]) -> None:
        self.positions = positions
        self.number = self.data.wait(self)

    def give_up(self) -> None:
        self.data.forget(self.number)


class FakeData:
    """Logs as numbers: `append` makes records; a fetch answers when there are any."""

    def __init__(self, loop: EventLoop) -> None:
        self.loop = loop
        self.ends: dict[TopicPartition, int] = defaultdict(int)
        self.fails = 0
        self.fetches = 0
        self._waiting: dict[int, FakeReader] = {}

    def append(self, partition: TopicPartition, count: int) -> None:
        self.ends[partition] += count
        for number in list(self._waiting):
            self._look(number)

    def reader(
        self, host: str, max_records: int, on_done: Callable[[tuple[Fetched, ...] | FetchFailed], None]
    ) -> FakeReader:
        return FakeReader(self, host, max_records, on_done)

    def wait(self, reader: FakeReader) -> int:
        self.fetches += 1
        self._waiting[self.fetches] = reader
        self.loop.call_at(self.loop.now_us + 2 * LATENCY_US, self._look, self.fetches)
        return self.fetches

    def forget(self, number: int) -> None:
        self._waiting.pop(number, None)

    def _look(self, number: int) -> None:
        if number not in self._waiting:
            return
        reader = self._waiting[number]
        if self.fails:
            self.fails -= 1
            self._answer(number, FetchFailed("the leader could not be reached"))
            return
        found, room = [], reader.most
        for partition, at in reader.positions.items():
            count = min(self.ends[partition] - at, room)
            if count > 0:
                found.append(Fetched(partition, at, count))
                room -= count
        if found:
            self._answer(number, tuple(found))

    def _answer(self, number: int, found: tuple[Fetched, ...] | FetchFailed) -> None:
        reader = self._waiting.pop(number)
        self.loop.host(reader.host).deliver(reader.on_done, found)

    def offsets(self, host: str, partitions: tuple[TopicPartition, ...], on_done: Callable[[Any], None]) -> None:
        ends = {partition: (0, self.ends[partition]) for partition in partitions}
        deliver = self.loop.host(host).deliver
        self.loop.call_at(self.loop.now_us + 2 * LATENCY_US, lambda _: deliver(on_done, ends))


def subscription_of(request: Any) -> Any:
    """The subscription a JoinGroup carries for its first assignor."""
    return decode_subscription(request.protocols[0].metadata)


class Bench:
    """A consumer `c1` of group `g` on topic `t` (4 partitions), with everything it talks to."""

    def __init__(self, loop: Any, **options: Any) -> None:
        self.loop = loop
        self.broker = self.make_broker(options)
        self.net = self.make_net(options)
        self.data: Any = self.make_data()
        self.events: list[TraceEvent] = []
        loop.trace.subscribe(self.events.append)
        profile = PROFILES[options.pop("profile", "java")]
        properties = {"group.id": "g", "auto.offset.reset": "earliest"} | options.pop("properties", {})
        settings, self.notes = settings_from(profile, properties, pulls=self.data is None)
        self.consumer = Consumer(
            loop,
            "c1",
            settings,
            self.net,
            self.data,
            options.pop("behaviour", Behaviour()),
            profile,
            plugin_errors=options.pop("plugin_errors", PluginErrors.STOP),
            **({"assignors": options.pop("assignors")} if "assignors" in options else {}),
        )
        self.consumer.subscribe(**options.pop("subscribe", {"topics": ["t"]}))
        assert not options, f"unknown options {options}"

    def make_broker(self, options: dict[str, Any]) -> Any:
        return ScriptedBroker(self.loop, options.pop("topics", {"t": 4}))

    def make_net(self, options: dict[str, Any]) -> Any:
        return FakeTransport(self.loop, self.broker)

    def make_data(self) -> Any:
        return FakeData(self.loop)

    async def run_for(self, seconds: float) -> None:
        await self.loop.sleep(round(seconds * SECOND))

    async def stable(self) -> None:
        """Start if need be, and wait until the consumer has its assignment and positions."""
        if not self.consumer.running:
            self.consumer.start()
        done = await self.loop.until(self._settled, 60 * SECOND)
        assert done, self.consumer

    def _settled(self) -> bool:
        consumer = self.consumer
        return consumer.state == "STABLE" and len(consumer.positions) == len(consumer.assignment) > 0

    def emitted(self, kind: Kind) -> list[TraceEvent]:
        return [event for event in self.events if event.kind is kind]

    def reasons(self, kind: Kind) -> list[str | None]:
        return [event.reason for event in self.emitted(kind)]

    def shape(self, *kinds: Kind) -> list[str]:
        """The events of some kinds, in order, as `kind` or `kind:reason`."""
        return [
            f"{event.kind}:{event.reason}" if event.reason else str(event.kind)
            for event in self.events
            if event.kind in kinds
        ]


def parts(*numbers: int, topic: str = "t") -> tuple[TopicPartition, ...]:
    """Partitions of a topic by number."""
    return tuple(TopicPartition(topic, number) for number in numbers)


def error_answer(request: Any, error: ErrorCode) -> OffsetCommitResponse:
    """The answer to a commit with this error for every partition."""
    return OffsetCommitResponse(tuple((entry.partition, error) for entry in request.offsets))
