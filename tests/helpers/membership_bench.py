"""A member of a classic group on a bench: no event loop, no network. Requests, answers and time are the test's.

    bench = MembershipBench()
    bench.poll()                                          # the application calls `poll`: FindCoordinator goes out
    bench.answer(FindCoordinatorResponse(node=1))
    bench.poll()
    assert bench.asked(Api.JOIN_GROUP).member_id == ""

The membership, its ownership of partitions, its connections and metadata are the client's own; of the client the
membership is given its ports alone. What stands in for the rest: connections keep what is sent until the test answers,
timers fire when `advance_ms` passes them, and a user's callback runs inside `poll`, or, where it takes time, until its
time has passed.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any

from groupsim.assignors.registry import resolve
from groupsim.eventloop.heap import HostLife
from groupsim.eventloop.randomness import Stream
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.members.behaviour import Behaviour
from groupsim.members.classic.membership import ClassicMembership
from groupsim.members.classic.ownership import Ownership
from groupsim.members.commit.committer import Committer
from groupsim.members.coordinator_client import CoordinatorClient
from groupsim.members.failures import PluginErrors
from groupsim.members.fetch.positions import Fetcher
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.links import Links
from groupsim.members.member import Member
from groupsim.members.metadata import MetadataView
from groupsim.members.ports import Ports
from groupsim.members.profiles import PROFILES, profile_under
from groupsim.members.settings import settings_from
from groupsim.members.subscription import SubscriptionState, Topics
from groupsim.protocol.embedded.consumer_protocol import Assignment, encode_assignment
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    Api,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    JoinMember,
    MetadataResponse,
    PartitionInfo,
    Request,
    Response,
    SyncGroupResponse,
    TopicInfo,
    TopicPartition,
)
from groupsim.protocol.messages.releases import BASELINE

MS = 1_000


def id_of(topic: str) -> str:
    """The id of a topic on the bench."""
    return f"id-of-{topic}"


Timer = tuple[int, int, Callable[[Any], None], Any]


class BenchHost:
    """What a client takes for its event loop and its host: a clock, timers, luck and the trace."""

    name, incarnation, alive, paused = "c1", 0, True, False

    def __init__(self) -> None:
        self.now_us = 0
        self.life = HostLife(self.name)
        self.trace = Trace(Level.FULL)
        self.trace.attach(self)
        self._timers: list[Timer] = []
        self._cancelled: set[int] = set()
        self._ticket = count(1)
        self._user: Coroutine[Any, Any, None] | None = None

    def call_at(self, when_us: int, callback: Callable[[Any], None], arg: Any = None, **_: Any) -> int:
        ticket = next(self._ticket)
        heappush(self._timers, (max(when_us, self.now_us), ticket, callback, arg))
        return ticket

    def timer_at(self, when_us: int, callback: Callable[[Any], None], arg: Any, life: HostLife) -> int:
        return self.call_at(when_us, callback, arg)

    def cancel(self, handle: int) -> None:
        self._cancelled.add(handle)

    def stream(self, purpose: str, entity: str = "", incarnation: int = 0) -> Stream:
        return Stream(0, purpose, entity, incarnation)

    def advance(self, us: int) -> None:
        """Let time pass: what falls due happens, in order."""
        until_us = self.now_us + us
        while self._timers and self._timers[0][0] <= until_us:
            when_us, ticket, callback, arg = heappop(self._timers)
            if ticket not in self._cancelled:
                self.now_us = when_us
                callback(arg)
        self.now_us = until_us

    # -- user code ----------------------------------------------------------------------------------------------

    @property
    def runs_user_code(self) -> bool:
        return self._user is not None

    def run(self, user: Coroutine[Any, Any, None]) -> None:
        """Run user code as far as it goes without time passing."""
        assert self._user is None, "user code runs already"
        self._user = user
        self._step()

    def _step(self, _: Any = None) -> None:
        assert self._user is not None
        try:
            self._user.send(None)
        except BaseException as end:
            self._user = None
            if not isinstance(end, StopIteration):
                raise

    async def sleep(self, us: int) -> None:
        self.call_at(self.now_us + us, self._step)
        await _Parked()


class _Parked:
    def __await__(self) -> Generator[None, None, None]:
        yield


class Sent:
    """One request, and the way of its outcome to the member."""

    def __init__(self, link: BenchConnection, request: Request, on_done: Callable[[Outcome], None]) -> None:
        self.link, self.request, self._on_done = link, request, on_done

    def ends(self, outcome: Outcome) -> None:
        self.link.bench.unanswered.remove(self)
        self._on_done(outcome)


class BenchConnection:
    """A connection that keeps what is sent until the test answers."""

    def __init__(self, bench: MembershipBench, node: int, purpose: str) -> None:
        self.bench, self.node, self.purpose = bench, node, purpose
        self.open = True
        self.next_correlation = 1

    def send(self, request: Request, on_done: Callable[[Outcome], None], timeout_us: int) -> int:
        sent = Sent(self, request, on_done)
        self.bench.sent.append(request)
        self.bench.unanswered.append(sent)
        self.bench.host.call_at(self.bench.now_us + timeout_us, self._timed_out, sent)
        self.next_correlation += 1
        return self.next_correlation - 1

    def _timed_out(self, sent: Sent) -> None:
        if sent in self.bench.unanswered:
            self.breaks(Disconnected("request timed out", timed_out=True))

    def breaks(self, outcome: Disconnected) -> None:
        self.open = False
        for sent in [one for one in self.bench.unanswered if one.link is self]:
            sent.ends(outcome)

    def close(self) -> None:
        self.open = False
        self.bench.unanswered = [one for one in self.bench.unanswered if one.link is not self]


class BenchTransport:
    """Every broker can be connected to."""

    bootstrap, release = (0, 1), BASELINE

    def __init__(self, bench: MembershipBench) -> None:
        self._bench = bench

    def connect(self, host: str, client_id: str, node: int, purpose: str) -> BenchConnection:
        return BenchConnection(self._bench, node, purpose)


class NoRecords(Fetcher):
    """Nothing is fetched; no positions are known."""

    def has_records(self) -> bool:
        return False

    def take(self) -> tuple[Any, ...]:
        return ()

    def close(self) -> None:
        return

    def _drop_unwanted(self) -> None:
        return

    def _start(self, committed: tuple[Any, ...]) -> None:
        self.positions.update((entry.partition, max(entry.offset, 0)) for entry in committed)


PORTS = {*Ports.__annotations__, *(name for name in vars(Ports) if not name.startswith("_"))}


class OnlyPorts:
    """What `Ports` names of a member: the membership on the bench finds nothing else."""

    def __init__(self, member: Member) -> None:
        object.__setattr__(self, "_of", member)

    def __getattr__(self, name: str) -> Any:
        assert name in PORTS, f"a membership asks for {name!r}, which is no port"
        return getattr(self._of, name)

    def __setattr__(self, name: str, value: Any) -> None:
        assert name in PORTS, f"a membership sets {name!r}, which is no port"
        setattr(self._of, name, value)


class MembershipBench:
    """The member `c1` of group `g`, subscribed to topic `t` of four partitions."""

    def __init__(
        self, profile: str = "java", properties: Mapping[str, Any] | None = None, behaviour: Behaviour | None = None
    ) -> None:
        self.host: Any = BenchHost()
        self.sent: list[Request] = []
        self.unanswered: list[Sent] = []
        self.events: list[TraceEvent] = []
        self.host.trace.subscribe(self.events.append)
        settings, _ = settings_from(PROFILES[profile], {"group.id": "g", **(properties or {})}, pulls=False)
        library = profile_under(PROFILES[profile], settings.group_protocol)
        transport: Any = BenchTransport(self)
        member = self.member = Member(
            self.host, self.host, settings, library, behaviour or Behaviour(), transport, PluginErrors.STOP
        )
        member.subscription = SubscriptionState()
        member.subscription.change(Topics(("t",)))
        member.links = Links(member)
        member.coordinator = CoordinatorClient(member)
        member.metadata = MetadataView(member)
        member.fetcher = NoRecords(member)
        self._join_up(OnlyPorts(member))
        member.metadata.refresh()
        self.topics(t=4)

    def _join_up(self, ports: Any) -> None:
        """Make the membership, and the ownership of partitions that belongs to it."""
        member = self.member
        ownership = member.ownership = Ownership(ports, [resolve(name) for name in member.settings.assignors])
        member.commits = Committer(member)
        member.membership = self.membership = ClassicMembership(ports, ownership)

    # -- inputs -------------------------------------------------------------------------------------------------

    def poll(self) -> None:
        """The application calls `poll`, which goes on as long as something has woken it. Raises what poll throws."""
        member, membership = self.member, self.membership
        membership.enter_poll()
        while True:
            member.wake.clear()
            failure, member.failure = member.failure, None
            if failure is not None:
                raise failure
            membership.polled()
            rest = membership.poll()
            if rest is not None:
                self.host.run(rest)
            if self.host.runs_user_code or not member.wake.up:
                return

    def leave_poll(self) -> None:
        """The application goes off to process records."""
        self.membership.leave_poll()

    def advance_ms(self, ms: int) -> None:
        """Let time pass."""
        self.host.advance(ms * MS)

    def answer(self, response: Response) -> None:
        """Answer the oldest request of that kind that has no answer."""
        self._oldest(response.API).ends(response)

    def error(self, api: Api, error: ErrorCode) -> None:
        """Answer the oldest request of an API with an error."""
        made: dict[Api, Callable[[], Response]] = {
            Api.FIND_COORDINATOR: lambda: FindCoordinatorResponse(error),
            Api.JOIN_GROUP: lambda: JoinGroupResponse(error, member_id=self.asked(api).member_id),
            Api.SYNC_GROUP: lambda: SyncGroupResponse(error),
            Api.HEARTBEAT: lambda: HeartbeatResponse(error),
        }
        self._oldest(api).ends(made[api]())

    def disconnect(self, api: Api) -> None:
        """Break the connection that the oldest request of an API is on."""
        self._oldest(api).link.breaks(Disconnected("connection reset"))

    def topics(self, **partitions: int) -> None:
        """Answer the metadata request with these topics."""
        topics = [
            TopicInfo(
                name,
                partitions=tuple(PartitionInfo(number, 0, (0,)) for number in range(many)),
                topic_id=id_of(name),
            )
            for name, many in sorted(partitions.items())
        ]
        self.answer(MetadataResponse(((0, "b0"), (1, "b1")), tuple(topics)))

    # -- looking ------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        return int(self.host.now_us)

    @property
    def waiting(self) -> list[str]:
        """The APIs of the requests without an answer, in the order they were sent."""
        return [one.request.API.title for one in self.unanswered]

    def asked(self, api: Api) -> Any:
        """The last request of an API."""
        return [request for request in self.sent if request.API is api][-1]

    def count(self, api: Api) -> int:
        """How many requests of an API were sent."""
        return sum(request.API is api for request in self.sent)

    @property
    def callbacks(self) -> list[tuple[str, list[int]]]:
        """The listener's callbacks so far: kind, and the numbers of the partitions it was given."""
        begun = [event for event in self.events if event.kind is Kind.CALLBACK_BEGUN]
        return [(str(event.reason), [int(name[2:]) for name in event.payload["partitions"]]) for event in begun]

    @property
    def owned(self) -> list[int]:
        return [partition.partition for partition in self.member.ownership.owned]

    def _oldest(self, api: Api) -> Sent:
        found = [one for one in self.unanswered if one.request.API is api]
        assert found, f"no {api.title} is unanswered; these are: {self.waiting}"
        return found[0]

    # -- whole phases -------------------------------------------------------------------------------------------

    def find_coordinator(self, node: int = 1) -> None:
        """Poll, and answer the look-up; the JoinGroup goes out."""
        self.poll()
        self.answer(FindCoordinatorResponse(node=node))
        self.poll()

    def joined(self, generation: int = 1, member_id: str = "m1", *, leads: bool = False, protocol: str = "") -> None:
        """Answer the JoinGroup, and poll: the SyncGroup goes out."""
        request = self.asked(Api.JOIN_GROUP)
        offer = request.protocols[0]
        members = (JoinMember(member_id, request.group_instance_id, offer.metadata),) if leads else ()
        leader = member_id if leads else "another"
        self.answer(
            JoinGroupResponse(
                ErrorCode.NONE, generation, "consumer", protocol or offer.name, leader, member_id, members
            )
        )
        self.poll()

    def synced(self, *partitions: int, topic: str = "t") -> None:
        """Answer the SyncGroup with an assignment, and poll: the callbacks run."""
        assigned = tuple(TopicPartition(topic, number) for number in partitions)
        self.answer(SyncGroupResponse(assignment=encode_assignment(Assignment(assigned))))
        self.poll()

    def stable(self, *partitions: int) -> None:
        """From nothing to STABLE in generation 1 as the follower `m1`."""
        self.find_coordinator()
        self.joined()
        self.synced(*(partitions or (0, 1)))
        assert self.member.state == "STABLE"
