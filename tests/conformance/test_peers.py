"""The peer behind a socket."""

from __future__ import annotations

from typing import Any

import trio

from tests.conformance.acls import GROUP, entry
from tests.conformance.peers import TcpPeer


class _Line:
    async def close(self) -> None:
        """Nothing is open."""


class _Slow(TcpPeer):
    """A broker that tells of a topic at once, has one log more each time it is asked, and an ACL at the fourth time."""

    def __init__(self, nursery: trio.Nursery) -> None:
        super().__init__([("127.0.0.1", 1)], nursery)
        self.made = 0

    async def connect(self, *_: Any) -> Any:
        return _Line()

    async def _ask(self, line: Any, api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        if api == "DescribeAcls":
            self.made += 1
            return {"resources": ["it"] if self.made > 3 else []}
        if api == "Metadata":
            return {"topics": [{"topic_id": "id", "partitions": [{"leader_id": 1}, {"leader_id": 1}]}]}
        if api != "ListOffsets":
            return {}
        asked = [partition["partition_index"] for partition in body["topics"][0]["partitions"]]
        codes = ["NONE" if number < self.made else "NOT_LEADER_OR_FOLLOWER" for number in asked]
        self.made += 1
        return {"topics": [{"partitions": [{"error_code": code} for code in codes]}]}


def test_a_topic_is_there_when_all_its_logs_are() -> None:
    """Kafka tells of a topic before its logs are made; nobody produces to it, or fetches, until the last one is."""

    async def made() -> int:
        async with trio.open_nursery() as nursery:
            peer = _Slow(nursery)
            assert await peer.create_topic("t", 2) == "id"
            return peer.made

    assert trio.run(made) == 3


def test_acls_are_made_when_they_are_in_force() -> None:
    """CreateAcls is answered before the broker goes by them; a script goes on when it does."""

    async def made() -> int:
        async with trio.open_nursery() as nursery:
            peer = _Slow(nursery)
            await peer.await_acls([entry(GROUP, "g"), entry(GROUP, "h")])
            return peer.made

    assert trio.run(made) == 5
