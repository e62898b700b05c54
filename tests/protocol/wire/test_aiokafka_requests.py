"""aiokafka's requests, which its own hand-written schemas make, in the versions that it speaks."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from aiokafka.protocol import commit, coordination, group, metadata

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.messages.group import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    Request,
    SyncAssignment,
    SyncGroupRequest,
)
from tests.helpers.wire_samples import understood

O3 = TopicPartition("orders", 3)
PROTOCOLS = (JoinProtocol("range", b"\x01"),)


def sent(request: Any) -> bytes:
    """The bytes of a request, header included: all of these have the one before tagged fields."""
    head = struct.pack(">hhih", request.API_KEY, request.API_VERSION, 9, 2) + b"ai"
    return head + bytes(request.encode())


CASES: list[tuple[Any, Request]] = [
    (
        group.JoinGroupRequest_v0("g", 10_000, "m", "consumer", [("range", b"\x01")]),
        JoinGroupRequest("g", 10_000, -1, "m", None, "consumer", PROTOCOLS, None, 0),
    ),
    (
        group.JoinGroupRequest_v5("g", 10_000, 60_000, "m", "i", "consumer", [("range", b"\x01")]),
        JoinGroupRequest("g", 10_000, 60_000, "m", "i", "consumer", PROTOCOLS, None, 5),
    ),
    (
        group.SyncGroupRequest_v3("g", 4, "m", "i", [("m", b"\x02")]),
        SyncGroupRequest("g", 4, "m", "i", assignments=(SyncAssignment("m", b"\x02"),), version=3),
    ),
    (group.HeartbeatRequest_v1("g", 4, "m"), HeartbeatRequest("g", 4, "m", version=1)),
    (group.LeaveGroupRequest_v1("g", "m"), LeaveGroupRequest("g", (LeavingMember("m"),), 1)),
    (
        commit.OffsetCommitRequest_v3("g", 4, "m", -1, [("orders", [(3, 99, "note")])]),
        OffsetCommitRequest("g", (OffsetToCommit(O3, 99, -1, "note"),), 4, "m", None, -1, 3),
    ),
    (commit.OffsetFetchRequest_v1("g", [("orders", [3])]), OffsetFetchRequest("g", (O3,), False, 1)),
    (commit.OffsetFetchRequest_v3("g", None), OffsetFetchRequest("g", None, False, 3)),
    (coordination.FindCoordinatorRequest_v0("g"), FindCoordinatorRequest("g", 0)),
    (coordination.FindCoordinatorRequest_v1("tx", 1), FindCoordinatorRequest("tx", 1, 1)),
    (metadata.MetadataRequest_v0([]), MetadataRequest(None, 0, True)),
    (metadata.MetadataRequest_v1(None), MetadataRequest(None, 1, True)),
    (metadata.MetadataRequest_v5(["orders"], False), MetadataRequest(("orders",), 5, False)),
]


@pytest.mark.parametrize(("request_sent", "expected"), CASES, ids=lambda value: type(value).__name__)
def test_what_aiokafka_asks_is_understood(request_sent: Any, expected: Request) -> None:
    """Another client's bytes give the values that they mean."""
    found = understood(sent(request_sent))
    assert (found.api, found.correlation, found.client_id) == (Api(request_sent.API_KEY), 9, "ai")
    assert found.exchange.requests == (expected,)
