"""Faults concern the connections of real clients as they do simulated ones."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

from groupsim.cluster.network.faults import (
    After,
    AnswerError,
    Break,
    DelayResponse,
    Direction,
    Isolate,
    Latency,
    Limit,
    LoseResponse,
    Match,
    Refuse,
    Stall,
)
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from tests.helpers.tcp_stage import Client, Stage, serving


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A served cluster of one broker."""
    with serving() as made:
        yield made


@pytest.fixture
def member(stage: Stage) -> Iterator[Client]:
    """A client "raw" that is the member of group g."""
    with stage.client() as client:
        assert client.join("g") == 0
        yield client


def inject(stage: Stage, fault: Any) -> Any:
    """Make a fault happen."""
    return stage.do(lambda cluster, _: cluster.network.inject(fault))


def is_silent(client: Client, for_s: float = 0.4) -> bool:
    """Whether no byte arrives for a while."""
    client.socket.settimeout(for_s)
    try:
        return not client.socket.recv(1) and False
    except TimeoutError:
        return True
    finally:
        client.socket.settimeout(20)


def is_turned_away(stage: Stage) -> bool:
    """Whether a new connection is reset unasked; a reset that is quick enough strikes while it is still being made."""
    try:
        with stage.client() as refused:
            return refused.is_closed()
    except ConnectionResetError:
        return True


def test_answer_error_strikes_the_member_it_names(stage: Stage, member: Client) -> None:
    """A fault that names a member id answers that member's heartbeats, those of another go through."""
    with stage.client() as other:
        assert other.join("h") == 0
        match = Match(member_id=member.member, api=Api.HEARTBEAT, times=2)
        handle = inject(stage, AnswerError(match, ErrorCode.REBALANCE_IN_PROGRESS))
        assert other.heartbeat("h") == 0
        assert member.heartbeat("g") == ErrorCode.REBALANCE_IN_PROGRESS
        assert other.heartbeat("h") == 0
        assert member.heartbeat("g") == ErrorCode.REBALANCE_IN_PROGRESS
        assert member.heartbeat("g") == 0
    assert (handle.hits, handle.over) == (2, True)


def test_latency_delays_both_ways(stage: Stage, member: Client) -> None:
    """With a latency on the link a round trip takes twice as long; without it, it is quick again."""
    handle = inject(stage, Latency(Match(host="raw"), add_us=200_000))
    begun = time.monotonic()
    assert member.heartbeat("g") == 0
    assert time.monotonic() - begun > 0.39
    stage.do(lambda *_: handle.end())
    assert member.heartbeat("g") == 0


@pytest.mark.parametrize("host", ["raw", "*", "broker-0"])
def test_bandwidth_delays_both_ways(stage: Stage, member: Client, host: str) -> None:
    """At 200 bytes a second a heartbeat and its answer take as long as their bytes, and two answers share the link."""
    body = member.heartbeat_body("g")
    handle = inject(stage, Limit(Match(host=host), 200))
    begun = time.monotonic()
    sent = [member.send(Api.HEARTBEAT, 1, body) for _ in range(2)]
    assert [member.receive()[0] for _ in sent] == sent
    assert time.monotonic() - begun > 2 * len(body) / 200
    stage.do(lambda *_: handle.end())
    assert member.heartbeat("g") == 0


@pytest.mark.parametrize("direction", list(Direction))
def test_a_stall_holds_what_is_sent_until_it_ends(stage: Stage, member: Client, direction: Direction) -> None:
    """A stall, whichever way, lets nothing come back; at its end the answers come, in order."""
    handle = inject(stage, Stall(Match(host="raw"), direction))
    sent = [member.send(Api.HEARTBEAT, 1, member.heartbeat_body("g")) for _ in range(3)]
    assert is_silent(member)
    stage.do(lambda *_: handle.end())
    assert [member.receive()[0] for _ in sent] == sent
    assert member.heartbeat("g") == 0


def test_isolate_cuts_one_client_off(stage: Stage, member: Client) -> None:
    """A client that is isolated hears nothing, another client does."""
    with stage.client(client_id="other") as other:
        assert other.join("h") == 0
        handle = inject(stage, Isolate(Match(host="raw")))
        sent = member.send(Api.HEARTBEAT, 1, member.heartbeat_body("g"))
        assert other.heartbeat("h") == 0
        assert is_silent(member)
        stage.do(lambda *_: handle.end())
        assert member.receive()[0] == sent


def test_break_resets_connections(stage: Stage, member: Client) -> None:
    """Connections that a break concerns are reset; others stay, and a new one is let in."""
    with stage.client(client_id="other") as other:
        assert other.join("h") == 0
        handle = inject(stage, Break(Match(host="raw")))
        assert member.is_closed()
        assert other.heartbeat("h") == 0
    assert handle.hits == 1
    with stage.client() as again:
        assert again.ask(Api.METADATA, 1, struct.pack(">i", -1))


def test_refuse_turns_a_client_away(stage: Stage) -> None:
    """New connections of a refused client are reset at its first request; other clients connect."""
    handle = inject(stage, Refuse(Match(host="raw")))
    with stage.client() as refused, stage.client(client_id="other") as other:
        with pytest.raises(ConnectionResetError):
            refused.ask(Api.METADATA, 1, struct.pack(">i", -1))
        assert other.ask(Api.METADATA, 1, struct.pack(">i", -1))
    stage.do(lambda *_: handle.end())
    with stage.client() as welcome:
        assert welcome.ask(Api.METADATA, 1, struct.pack(">i", -1))


def test_refuse_for_all_resets_new_connections(stage: Stage, member: Client) -> None:
    """When every connection is refused, a new one is reset before its first request; open connections stay."""
    inject(stage, Refuse(Match()))
    assert is_turned_away(stage)
    assert member.heartbeat("g") == 0


def test_a_lost_response_breaks_the_connection(stage: Stage, member: Client) -> None:
    """The request is carried out, its response never comes, the connection is reset."""
    inject(stage, LoseResponse(Match(api=Api.LEAVE_GROUP)))
    body = member.heartbeat_body("g")[:3] + member.heartbeat_body("g")[7:]  # group, member: LeaveGroup 0
    with pytest.raises(ConnectionResetError):
        member.ask(Api.LEAVE_GROUP, 0, body)
    assert stage.do(lambda cluster, _: cluster.snapshot("g").members) == ()
    dropped = [event for event in stage.events.events if event.kind is Kind.REQUEST_DROPPED]
    assert [event.api for event in dropped] == ["LeaveGroup"]


def test_a_connection_falls_silent_for_good(stage: Stage, member: Client) -> None:
    """After a lost response that silences it nothing comes back, though requests are carried out; a new one works."""
    inject(stage, LoseResponse(Match(api=Api.HEARTBEAT), After.SILENCE))
    member.send(Api.HEARTBEAT, 1, member.heartbeat_body("g"))
    member.send(Api.HEARTBEAT, 1, member.heartbeat_body("g"))
    assert is_silent(member)
    with stage.client() as again:
        again.member, again.generation = member.member, member.generation
        assert again.heartbeat("g") == 0


def test_a_delayed_response_keeps_its_place(stage: Stage, member: Client) -> None:
    """A response that is delayed holds up those behind it on its connection."""
    inject(stage, DelayResponse(Match(api=Api.HEARTBEAT), 500_000))
    begun = time.monotonic()
    sent = [member.send(Api.HEARTBEAT, 1, member.heartbeat_body("g")) for _ in range(2)]
    assert [member.receive()[0] for _ in sent] == sent
    assert time.monotonic() - begun > 0.49
