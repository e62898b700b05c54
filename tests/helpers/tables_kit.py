"""What the tests of the reference's tables share: a group in a wanted state, and a broker around the core.

Every expected outcome in this folder was written from the classic-protocol reference, not from the code. Row ids (the
`id=` of parameters) are those of docs/fidelity/.

`scene("Stable")` is a bench (`groupsim.coordinator.testing`) with a group `g` of two members in that state:

    Empty     generation 2, one member came and left
    Preparing generation 1, leader and follower have not joined again, the newcomer `c` has
    Completing generation 1, nobody has sent SyncGroup
    Stable    generation 1
    Dead      as Stable, then the partition was given up
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from attrs import frozen

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.snapshot import MemberSnapshot
from groupsim.coordinator.service import GroupCoordinator
from groupsim.coordinator.testing import GROUP, RANGE, Bench, Sent
from groupsim.eventloop.trace.events import TraceEvent
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.protocol.embedded.consumer_protocol import Subscription, encode_subscription
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    DescribedGroup,
    DescribeGroupsRequest,
    JoinGroupRequest,
    JoinProtocol,
    ListGroupsRequest,
    Request,
    Response,
)
from tests.helpers.coordinator_fakes import FakeCall, MemoryLog, Topics

E = ErrorCode
SESSION_MS = 45_000
REBALANCE_MS = 300_000
NEW_MEMBER_MS = 300_000
EMPTY, PREPARING, COMPLETING, STABLE, DEAD = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"
LIVE = (PREPARING, COMPLETING, STABLE)
CHANGED = (JoinProtocol("range", b"changed"),)
ROUNDROBIN = (JoinProtocol("roundrobin", b""),)
BOTH = (JoinProtocol("range", b""), JoinProtocol("roundrobin", b""))


def bench(properties: Mapping[str, object] | None = None, **options: Any) -> Bench:
    """A bench with these broker settings."""
    return Bench(CoordinatorConfig.from_properties(properties or {}), **options)


def broker(version: str) -> Bench:
    """A bench with the coordinator of this broker version."""
    return bench({"broker.version": version})


@frozen
class Scene:
    """A bench whose group `g` is in a known state."""

    bench: Bench
    leader: str
    follower: str
    generation: int

    def id_of(self, who: str) -> str:
        """The id of LEADER, FOLLOWER or PENDING, an id that is handed out just now; any other stands for itself."""
        if who == "PENDING":
            return self.bench.join("x", version=4).joined.member_id
        return {"LEADER": self.leader, "FOLLOWER": self.follower}.get(who, who)

    def member(self, member_id: str) -> MemberSnapshot:
        """A member as it is now."""
        return self.bench.snapshot().member(member_id)

    def deadline_ms(self, member_id: str) -> int | None:
        """Milliseconds until the session of a member or pending id ends; None when no timer runs."""
        return self.bench.timers().get(f"heartbeat-{GROUP}-{member_id}")


def scene(state: str, *, properties: Mapping[str, object] | None = None, static: bool = False, **join: Any) -> Scene:
    """The group `g` in this state, with dynamic members (clients a, b) or static ones (instances a, b)."""
    made = bench(properties)
    if state == EMPTY:
        (gone,) = made.stable("a", **join)
        made.leave(gone)
        return Scene(made, gone, gone, 2)
    names = ("a", "b")
    sent = [made.join(name, instance=name if static else None, **join) for name in names]
    made.finish_round()
    leader, follower = (one.joined.member_id for one in sent)
    if state != COMPLETING:
        made.assign()
    if state == PREPARING:
        made.join("c", **join)
    elif state == DEAD:
        made.carry_out(made.shard.unload(made.now_us))
    assert made.state == state
    assert made.snapshot().leader == leader
    return Scene(made, leader, follower, 1)


def subscribed(*topics: str, name: str = "range") -> tuple[JoinProtocol, ...]:
    """One protocol with a consumer's subscription to these topics."""
    return (JoinProtocol(name, encode_subscription(Subscription(topics))),)


def offering(*names: str) -> tuple[JoinProtocol, ...]:
    """These protocols without metadata."""
    return tuple(JoinProtocol(name, b"") for name in names)


def describe(made: Bench, group: str = GROUP, version: int = 5) -> DescribedGroup:
    """One group of a DescribeGroups."""
    return made.shard.describe(group, DescribeGroupsRequest((group,), version=version))


def listed(made: Bench, **filters: Any) -> list[tuple[str, str, str]]:
    """The partition's ListGroups: group, protocol type, state."""
    return [(g.group_id, g.protocol_type, g.state) for g in made.shard.list_groups(ListGroupsRequest(**filters))]


def is_parked(sent: Sent) -> bool:
    """Whether the request is kept without an answer and not forgotten."""
    return sent.parked is not None and not sent.answered and sent.dropped is None


def causes(made: Bench) -> list[str | None]:
    """The causes of the group's changes of state so far."""
    return [cause for _, _, cause in made.states()]


# --- a broker ----------------------------------------------------------------------------------------------------


class Broker:
    """A coordinator on the event loop that leads all partitions unless told otherwise, with topic `t` of 3."""

    def __init__(self, loop: VirtualLoop, properties: Mapping[str, object], latency_us: int) -> None:
        self.loop = loop
        self.log = MemoryLog(loop, latency_us)
        self.config = CoordinatorConfig.from_properties(properties)
        self.coordinator = self.another(1)

    def another(self, node: int) -> GroupCoordinator:
        """A further broker's coordinator over the same log."""
        topics = Topics({"t": 3})
        return GroupCoordinator(self.loop, self.loop.host(f"broker-{node}"), node, self.config, self.log, topics)

    def lead_all(self, epoch: int = 0, *, load_us: int = 0) -> None:
        """Lead every partition."""
        for partition in range(self.config.offsets_topic_num_partitions):
            self.coordinator.elect(partition, epoch, load_us=load_us)

    def send(self, request: Request, client_id: str = "client") -> FakeCall:
        """Hand a request to the coordinator."""
        call = FakeCall(request, client_id)
        self.coordinator.handle(call)
        return call

    def ask(self, request: Request) -> Response:
        """The same for a request that is answered at once."""
        return self.send(request).response

    def join(self, group: str = GROUP, member_id: str = "", **changes: Any) -> FakeCall:
        """A JoinGroup."""
        return self.send(JoinGroupRequest(group, 10_000, 60_000, member_id, **{"protocols": RANGE, **changes}))


def on_broker(
    story: Callable[[Broker], Awaitable[None]],
    *,
    properties: Mapping[str, object] | None = None,
    lead: bool = True,
    latency_us: int = 1_000,
    trace: Trace | None = None,
) -> None:
    """Run a story with a broker in virtual time."""

    async def main(loop: VirtualLoop) -> None:
        made = Broker(loop, properties or {}, latency_us)
        if lead:
            made.lead_all()
        await story(made)

    VirtualLoop(seed=1, trace=trace).run(main)


def watched(story: Callable[[Broker], Awaitable[None]], level: Level = Level.NORMAL) -> list[TraceEvent]:
    """Run a story with a broker, and return its trace."""
    events: list[TraceEvent] = []
    trace = Trace(level)
    trace.subscribe(events.append)
    on_broker(story, trace=trace)
    return events
