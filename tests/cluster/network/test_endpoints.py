"""Brokers connect to brokers and to the controller; Produce with acks=0; what the trace leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.network.endpoint import Endpoint
from groupsim.cluster.network.faults import Isolate, Match
from groupsim.cluster.network.network import Network, Timing
from groupsim.eventloop.distributions import constant
from groupsim.eventloop.trace.trace import Level
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from groupsim.protocol.messages.data import FetchRequest, FetchResponse, ProduceRequest, ProduceResponse
from groupsim.protocol.messages.group import FindCoordinatorRequest, FindCoordinatorResponse, TopicPartition

T0 = TopicPartition("t", 0)
BATCH = Batch(0, 1, 70, 0, 0)


class Desk(Endpoint):
    """An endpoint that records arriving requests, answers those in `replies` and parks the others."""

    def __init__(self, loop: Any, name: str) -> None:
        super().__init__(loop, name)
        self.got: list[tuple[int, Any]] = []
        self.parked: list[Any] = []
        self.given_up: list[int] = []

    def receive(self, call: Any) -> None:
        request = call.request
        self.got.append((self._loop.now_us, request))
        if isinstance(request, BrokerHeartbeatRequest):
            call.answer(BrokerHeartbeatResponse(is_fenced=False))
        elif isinstance(request, FindCoordinatorRequest):
            self.emit_received(call)
            call.answer(FindCoordinatorResponse())
        elif isinstance(request, ProduceRequest) and request.acks == 0:
            call.no_answer()
        else:
            self.parked.append(call)
            call.give_up = lambda: self.given_up.append(self._loop.now_us)


class Net:
    """Two brokers and a controller."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.desks = {0: Desk(loop, "broker-0"), 1: Desk(loop, "broker-1")}
        self.controller = Desk(loop, "controller")
        self.network = Network(loop, Timing(constant(1_000), constant(0)))
        self.network.attach(self.desks, {3_000: self.controller})
        self.got: list[tuple[int, str, Any]] = []

    def send(self, connection: Any, request: Any, label: str = "") -> None:
        connection.send(request, lambda outcome: self.got.append((self.loop.now_us, label, outcome)), 30_000_000)


def test_a_broker_reaches_the_controller_that_no_client_is_told_of(play: Any) -> None:
    """Node 3000 can be connected to, and is not among the brokers that a client begins with."""

    async def story(rig: Any) -> None:
        net = Net(rig.loop)
        assert net.network.bootstrap == (0, 1)
        net.send(net.network.connect("broker-1", "broker-1", 3_000, "controller"), BrokerHeartbeatRequest(1, 7, 0))
        await rig.loop.sleep(10_000)
        assert [outcome for _, _, outcome in net.got] == [BrokerHeartbeatResponse(is_fenced=False)]
        with pytest.raises(LookupError, match="broker 9"):
            net.network.connect("broker-1", "broker-1", 9, "replication")

    play(story)


def test_an_answer_to_a_heartbeat_shows_the_new_epoch(play: Any) -> None:
    """The member id and the epoch of the answer, of a member that joins; with an error, and to a leave, no epoch."""
    answers = [
        ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=8),
        ConsumerGroupHeartbeatResponse(ErrorCode.FENCED_MEMBER_EPOCH),
        ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=-1),
    ]

    async def story(rig: Any) -> None:
        net = Net(rig.loop)
        net.desks[1].receive = lambda call: call.answer(answers.pop(0))  # type: ignore[method-assign]
        for member, epoch in (("", 0), ("m", 8), ("m", -1)):
            connection = net.network.connect("c", "c", 1, "coordinator")
            net.send(connection, ConsumerGroupHeartbeatRequest("g", member, epoch))
            await rig.loop.sleep(10_000)

    events = [event for event in play(story) if event.kind.value == "response.sent"]
    assert [(event.group, event.member, event.generation, event.error) for event in events] == [
        ("g", "m", 8, None),
        ("g", "m", 8, "FENCED_MEMBER_EPOCH"),
        ("g", "m", None, None),
    ]


@pytest.mark.parametrize(
    ("match", "arrived"),
    [
        (Match(host="broker-1", peer="controller"), ["broker-0"]),
        (Match(host="broker-1", peer="broker-*"), ["controller"]),
        (Match(host="broker-1"), []),
    ],
    ids=["from the controller", "from its peers", "from everybody"],
)
def test_a_broker_is_isolated_as_any_host_is(play: Any, match: Match, arrived: list[str]) -> None:
    """The faults of links name a broker as the client side, too; what waited arrives when they end."""

    async def story(rig: Any) -> None:
        net = Net(rig.loop)
        net.send(net.network.connect("broker-1", "broker-1", 3_000, "controller"), BrokerHeartbeatRequest(1, 7, 0))
        net.send(net.network.connect("broker-1", "broker-1", 0, "replication"), FetchRequest(500, 1, ()))
        net.network.inject(Isolate(match, for_us=1_000_000))
        await rig.loop.sleep(500_000)
        desks = [net.desks[0], net.controller]
        sent_before = {desk.host.name for desk in desks if desk.got}
        # what was on the wire already arrives; answers, and what is sent from now on, do not
        net.send(net.network.connect("broker-1", "b", 3_000, "controller"), BrokerHeartbeatRequest(1, 7, 1))
        net.send(net.network.connect("broker-1", "b", 0, "replication"), FetchRequest(501, 1, ()))
        await rig.loop.sleep(400_000)
        later = [desk.host.name for desk in desks if len(desk.got) > (desk.host.name in sent_before)]
        assert later == arrived
        await rig.loop.sleep(1_000_000)
        assert [len(desk.got) for desk in desks] == [2, 2]

    play(story)


def test_acks_0_is_done_when_it_is_sent(play: Any) -> None:
    """The sender goes on at once, the broker reads the next request without having answered."""

    async def story(rig: Any) -> None:
        net = Net(rig.loop)
        connection = net.network.connect("producer", "p", 0, "produce")
        await rig.loop.sleep(10_000)
        net.send(connection, ProduceRequest(0, 1_000, ((T0, BATCH),)), "first")
        net.send(connection, ProduceRequest(0, 1_000, ((T0, BATCH),)), "second")
        assert net.got == []  # never from within `send`
        net.send(connection, FindCoordinatorRequest("g"), "third")
        await rig.loop.sleep(10_000)
        assert net.got == [
            (10_000, "first", ProduceResponse()),
            (10_000, "second", ProduceResponse()),
            (12_000, "third", FindCoordinatorResponse()),
        ]
        assert [at for at, _ in net.desks[0].got] == [11_000] * 3

    play(story)


def test_acks_0_into_a_cut_connection_is_lost_in_silence(play: Any) -> None:
    """The sender of a Produce with acks=0 does not notice that it was lost; its next request does."""

    async def story(rig: Any) -> None:
        net = Net(rig.loop)
        connection = net.network.connect("producer", "p", 0, "produce")
        await rig.loop.sleep(10_000)
        connection.cut("reset")
        net.send(connection, ProduceRequest(0, 1_000, ((T0, BATCH),)), "lost")
        await rig.loop.sleep(10_000)
        net.send(connection, ProduceRequest(0, 1_000, ((T0, BATCH),)), "refused")
        await rig.loop.sleep(10_000)
        assert [(label, type(outcome)) for _, label, outcome in net.got] == [
            ("lost", ProduceResponse),
            ("refused", Disconnected),
        ]
        assert net.desks[0].got == []

    play(story)


@pytest.mark.parametrize("how", ["cut", "close"])
def test_a_parked_fetch_is_given_up_with_its_connection(play: Any, how: str) -> None:
    """When the connection ends, the handler of the parked request is notified, once."""

    async def story(rig: Any) -> None:
        net = Net(rig.loop)
        connection = net.network.connect("member", "m", 0, "data")
        net.send(connection, FetchRequest(500, 1, ()))
        await rig.loop.sleep(10_000)
        connection.cut("reset") if how == "cut" else connection.close()
        await rig.loop.sleep(10_000)
        assert net.desks[0].given_up == [10_000]
        net.desks[0].parked[0].answer(FetchResponse())
        await rig.loop.sleep(10_000)
        assert net.desks[0].given_up == [10_000]

    events = play(story)
    assert [event for event in events if event.api == "Fetch"] == []


def test_an_answered_fetch_is_not_given_up(play: Any) -> None:
    """The end of a connection concerns only what is still parked."""

    async def story(rig: Any) -> None:
        net = Net(rig.loop)
        connection = net.network.connect("member", "m", 0, "data")
        net.send(connection, FetchRequest(500, 1, ()))
        await rig.loop.sleep(10_000)
        net.desks[0].parked[0].answer(FetchResponse())
        await rig.loop.sleep(10_000)
        connection.cut("reset")
        assert net.desks[0].given_up == []
        assert [outcome for _, _, outcome in net.got] == [FetchResponse()]

    play(story)


@pytest.mark.parametrize("level", [Level.NORMAL, Level.FULL])
def test_machinery_is_told_only_in_a_full_trace(play: Any, level: Level) -> None:
    """Answers to fetches and brokers' heartbeats are in a full trace only; FindCoordinator is always listed."""

    async def story(rig: Any) -> None:
        net = Net(rig.loop)
        net.send(net.network.connect("broker-1", "b", 3_000, "controller"), BrokerHeartbeatRequest(1, 7, 0))
        net.send(net.network.connect("member", "m", 0, "data"), FetchRequest(500, 1, ()))
        net.send(net.network.connect("member", "m", 0, "coordinator"), FindCoordinatorRequest("g"))
        await rig.loop.sleep(10_000)
        net.desks[0].parked[0].answer(FetchResponse())

    answered = [event.api for event in play(story, level=level) if event.kind.value == "response.sent"]
    assert answered == (
        ["FindCoordinator"] if level is Level.NORMAL else ["BrokerHeartbeat", "FindCoordinator", "Fetch"]
    )
