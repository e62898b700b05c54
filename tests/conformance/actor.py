"""One connection of a script, and the requests that a script sends on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tests.conformance.basics import (
    LONG_MS,
    PATIENCE_US,
    Mark,
    ScriptFailed,
    Step,
    TimingFailed,
    Topic,
    in_time,
    newest,
)
from tests.conformance.bodies import Body, decode, encode
from tests.conformance.peers import Closed, Line

if TYPE_CHECKING:
    from tests.conformance.script import Script

LATER = "later"
"""In the place of an expected error: the request may have to wait, `answer()` reads what becomes of it."""


def errors_in(value: object) -> list[str]:
    """Every error code of a response but NONE, each once."""
    found: list[str] = []
    if isinstance(value, Mapping):
        for name, item in value.items():
            found += [item] if name == "error_code" and item != "NONE" else errors_in(item)
    elif isinstance(value, list):
        for item in value:
            found += errors_in(item)
    return list(dict.fromkeys(found))


class Actor:
    """One connection, and what its user has learnt: member id, generation, leader, protocol."""

    def __init__(self, script: Script, name: str, line: Line, instance: str | None) -> None:
        self.name = name
        self.client_id: str | None = name
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.protocol: str | None = None
        self.leads = False
        self.mark = Mark(0, 0)
        self._script = script
        self._line = line
        self._correlation = 0
        self._waiting: list[tuple[int, Step]] = []

    # --- any request ---------------------------------------------------------------------------------------------

    async def post(
        self, api: str, version: int, body: Body, edit: Callable[[bytes], bytes] = lambda frame: frame
    ) -> None:
        """Send a request and go on; `edit` makes of its bytes what the schemas' own types cannot hold."""
        version = min(version, newest(self._script.case.release).get(api, version))
        self._correlation += 1
        step = Step(self.name, api, version, body)
        self._script.steps.append(step)
        self._waiting.append((self._correlation, step))
        self.mark = Mark(self._script.peer.now_us, self._script.peer.now_us)
        self._script.last_sent_us = self.mark.lo_us
        try:
            await self._line.send(edit(encode(api, version, self._correlation, self.client_id, body)))
        except Closed:
            step.response = "closed"

    async def answer(self, *, error: str = "NONE", due: tuple[int, Mark] | None = None) -> Body:
        """The answer to the oldest request that waits. `due`: so many ms after that mark, never early, 250 ms late.

        `error`: the error codes in it, each once, with blanks between. Raises ScriptFailed, TimingFailed.
        """
        correlation, step = self._waiting.pop(0)
        try:
            got = await self._line.receive(PATIENCE_US)
        except Closed as closed:
            step.response = "closed"
            raise ScriptFailed(f"{self._where(step)}: the connection was closed {closed}") from None
        if got is None:
            raise TimingFailed(f"{self._where(step)}: no answer in {PATIENCE_US // 1_000_000} s")
        told, body = decode(step.api, step.version, got[0])
        step.response = body
        self.mark = Mark(self.mark.lo_us, got[1])
        if told != correlation:
            raise ScriptFailed(f"{self._where(step)}: correlation id {told}, expected {correlation}")
        if sorted(errors_in(body)) != sorted(error.replace("NONE", "").split()):
            raise ScriptFailed(f"{self._where(step)}: expected {error}, got {body}")
        self._learn(step.api, body)
        if due is not None:
            in_time(self._where(step), got[1], *due)
        return body

    async def ask(self, api: str, version: int, body: Body, *, error: str = "NONE") -> Body:
        """A request that is answered at once; when `error` is LATER, its answer is read by `answer()`."""
        await self.post(api, version, body)
        return {} if error == LATER else await self.answer(error=error)

    async def silence(self, ms: int) -> None:
        """Nothing comes for so long. Raises ScriptFailed when something does."""
        try:
            got = await self._line.receive(ms * 1_000)
        except Closed:
            raise ScriptFailed(f"{self.name}: the connection was closed") from None
        if got is not None:
            step = self._waiting[0][1]
            raise ScriptFailed(f"{self._where(step)}: answered {decode(step.api, step.version, got[0])[1]}, too early")

    async def go(self, line: Line) -> None:
        """On another connection from now on; what was still awaited on the old one is lost."""
        await self._line.close()
        self._line = line
        self._waiting.clear()

    async def hang_up(self) -> None:
        """Close the connection; what the broker still answers reaches nobody."""
        await self._line.close()

    async def closed(self) -> None:
        """The broker closes the connection instead of an answer. Raises ScriptFailed when it does not."""
        _, step = self._waiting.pop(0)
        try:
            got = None if step.response == "closed" else await self._line.receive(PATIENCE_US)
        except Closed:
            step.response = "closed"
        if step.response != "closed":
            raise ScriptFailed(f"{self._where(step)}: expected the connection to be closed, got {got!r}")

    def _where(self, step: Step) -> str:
        return f"{self._script.id}: {self.name}: {step.api} {step.version}"

    def _learn(self, api: str, body: Body) -> None:
        if api == "JoinGroup":
            self.member_id = body["member_id"] or self.member_id
            if body["error_code"] == "NONE":
                self.generation = body["generation_id"]
                self.protocol = body["protocol_name"]
                self.leads = body["leader"] == body["member_id"]

    # --- membership ----------------------------------------------------------------------------------------------

    async def park_join(
        self,
        v: int = 9,
        *,
        protocols: Mapping[str, str | bytes] | Sequence[tuple[str, str | bytes]] | None = None,
        protocol_type: str = "consumer",
        member: str | None = None,
        instance: str | None = None,
        session: int = LONG_MS,
        rebalance: int = LONG_MS,
        reason: str = "",
        group: str | None = None,
    ) -> None:
        """Send a JoinGroup."""
        offered: Any = {"range": f"of {self.name}"} if protocols is None else protocols
        pairs = offered.items() if isinstance(offered, Mapping) else offered
        body = {
            "group_id": self._script.group if group is None else group,
            "session_timeout": session,
            "rebalance_timeout": rebalance,
            "member_id": self.member_id if member is None else member,
            "group_instance_id": self.instance if instance is None else instance,
            "protocol_type": protocol_type,
            "protocols": [{"name": name, "metadata": metadata} for name, metadata in pairs],
            "reason": reason,
        }
        await self.post("JoinGroup", v, body)

    async def join(self, v: int = 9, *, error: str = "NONE", **others: Any) -> Body:
        """A JoinGroup that is answered without anybody else's doing."""
        await self.park_join(v, **others)
        return await self.answer(error=error)

    async def enter(self, v: int = 9, **others: Any) -> None:
        """Send what makes a newcomer a member: the handshake where there is one, then the JoinGroup that parks."""
        if v >= 4 and self.instance is None and not self.member_id:
            await self.join(v, error="MEMBER_ID_REQUIRED", **others)
        await self.park_join(v, **others)

    async def park_sync(
        self,
        v: int = 5,
        *,
        give: Mapping[Actor, str | bytes] | None = None,
        generation: int | None = None,
        member: str | None = None,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol: str | None = "",
        group: str | None = None,
    ) -> None:
        """Send a SyncGroup; `give` is what a leader gives to whom. `protocol` "" is the one the member was told."""
        body = {
            "group_id": self._script.group if group is None else group,
            "generation_id": self.generation if generation is None else generation,
            "member_id": self.member_id if member is None else member,
            "group_instance_id": self.instance if instance is None else instance,
            "protocol_type": protocol_type,
            "protocol_name": self.protocol if protocol == "" else protocol,
            "assignments": [{"member_id": to.member_id, "assignment": what} for to, what in (give or {}).items()],
        }
        await self.post("SyncGroup", v, body)

    async def sync(self, v: int = 5, *, error: str = "NONE", **others: Any) -> Body:
        """A SyncGroup that is answered without anybody else's doing."""
        await self.park_sync(v, **others)
        return await self.answer(error=error)

    async def heartbeat(
        self,
        v: int = 4,
        *,
        error: str = "NONE",
        generation: int | None = None,
        member: str | None = None,
        instance: str | None = None,
        group: str | None = None,
    ) -> Body:
        """A Heartbeat."""
        body = {
            "group_id": self._script.group if group is None else group,
            "generation_id": self.generation if generation is None else generation,
            "member_id": self.member_id if member is None else member,
            "group_instance_id": self.instance if instance is None else instance,
        }
        return await self.ask("Heartbeat", v, body, error=error)

    async def leave(
        self,
        v: int = 5,
        *,
        error: str = "NONE",
        members: Sequence[tuple[str, str | None]] | None = None,
        group: str | None = None,
    ) -> Body:
        """A LeaveGroup of (member id, instance id), of the actor alone unless given."""
        leaving = [(self.member_id, None)] if members is None else members
        body = {
            "group_id": self._script.group if group is None else group,
            "member_id": leaving[0][0] if leaving else "",
            "members": [{"member_id": m, "group_instance_id": i, "reason": "it was time"} for m, i in leaving],
        }
        return await self.ask("LeaveGroup", v, body, error=error)

    # --- offsets -------------------------------------------------------------------------------------------------

    async def commit(
        self,
        v: int = 9,
        offsets: Mapping[Topic, Mapping[int, int]] | None = None,
        *,
        error: str = "NONE",
        generation: int | None = None,
        member: str | None = None,
        instance: str | None = None,
        metadata: str | None = "",
        retention: int = -1,
        leader_epoch: int = -1,
        group: str | None = None,
    ) -> Body:
        """An OffsetCommit of {topic: {partition: offset}}."""
        topics = [
            {"name": topic.name, "topic_id": topic.topic_id, "partitions": _commits(of, metadata, leader_epoch)}
            for topic, of in (offsets or {}).items()
        ]
        epoch = self.generation if generation is None else generation
        body = {
            "group_id": self._script.group if group is None else group,
            "generation_id_or_member_epoch": epoch,
            "member_id": self.member_id if member is None else member,
            "group_instance_id": self.instance if instance is None else instance,
            "retention_time": retention,
            "topics": topics,
        }
        return await self.ask("OffsetCommit", v, body, error=error)

    async def fetch(
        self,
        v: int = 9,
        topics: Mapping[Topic, Sequence[int]] | None = None,
        *,
        error: str = "NONE",
        stable: bool = False,
        groups: Sequence[str] | None = None,
        member: tuple[str | None, int] = (None, -1),
    ) -> Body:
        """An OffsetFetch of {topic: partitions}, of all that is committed when None."""
        asked = [
            {"name": topic.name, "topic_id": topic.topic_id, "partition_indexes": list(partitions)}
            for topic, partitions in (topics or {}).items()
        ]
        named = groups or [self._script.group]
        each = {"member_id": member[0], "member_epoch": member[1], "topics": None if topics is None else asked}
        body: Body = {
            "group_id": named[0],
            "topics": None if topics is None else asked,
            "groups": [{"group_id": group, **each} for group in named],
            "require_stable": stable,
        }
        return await self.ask("OffsetFetch", v, body, error=error)

    async def delete_offsets(
        self, topics: Mapping[Topic, Sequence[int]], *, error: str = "NONE", group: str | None = None
    ) -> Body:
        """An OffsetDelete of {topic: partitions}."""
        asked = [
            {"name": topic.name, "partitions": [{"partition_index": number} for number in partitions]}
            for topic, partitions in topics.items()
        ]
        body = {"group_id": self._script.group if group is None else group, "topics": asked}
        return await self.ask("OffsetDelete", 0, body, error=error)

    # --- administration ------------------------------------------------------------------------------------------

    async def describe(
        self, v: int = 6, groups: Sequence[str] | None = None, *, error: str = "NONE", operations: bool = False
    ) -> Body:
        """A DescribeGroups, of the script's group unless given."""
        body = {
            "groups": [self._script.group] if groups is None else list(groups),
            "include_authorized_operations": operations,
        }
        return await self.ask("DescribeGroups", v, body, error=error)

    async def list(self, v: int = 5, *, states: Sequence[str] = (), types: Sequence[str] = ()) -> Body:
        """A ListGroups; what is compared are the groups of this script."""
        return await self.ask("ListGroups", v, {"states_filter": list(states), "types_filter": list(types)})

    async def delete(self, v: int = 2, groups: Sequence[str] | None = None, *, error: str = "NONE") -> Body:
        """A DeleteGroups, of the script's group unless given."""
        named = [self._script.group] if groups is None else list(groups)
        return await self.ask("DeleteGroups", v, {"groups_names": named}, error=error)

    async def find(self, v: int = 6, keys: Sequence[str] = (), *, key_type: int = 0, error: str = "NONE") -> Body:
        """A FindCoordinator, of the script's group unless given; before v4 of one key."""
        named = list(keys) or [self._script.group]
        body = {"key": named[0], "key_type": key_type, "coordinator_keys": named}
        return await self.ask("FindCoordinator", v, body, error=error)


def _commits(offsets: Mapping[int, int], metadata: str | None, leader_epoch: int) -> list[Body]:
    return [
        {
            "partition_index": number,
            "committed_offset": offset,
            "committed_leader_epoch": leader_epoch,
            "committed_metadata": metadata,
            "commit_timestamp": -1,
        }
        for number, offset in offsets.items()
    ]
