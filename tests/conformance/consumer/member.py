"""A member of the consumer protocol (KIP-848) as scripts play it: one connection, its epoch, and what it was assigned.

Its member id is the script's own choice (version 1 of the request), so that the order of Java's hash maps is the same
in every play. `beat` sends exactly the fields it is given; the other verbs are what a client sends at such a moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from tests.conformance.actor import LATER, Actor
from tests.conformance.basics import LONG_MS, PATIENCE_US, ScriptFailed, TimingFailed, Topic
from tests.conformance.bodies import Body, decode

Owned: TypeAlias = Mapping[Topic, Sequence[int]]
OWN: Literal["its own"] = "its own"
"""For an instance id: the one that the member was made with."""


class Member(Actor):
    """A connection that sends ConsumerGroupHeartbeat; `epoch` is what it was answered last."""

    epoch = 0
    assigned: dict[str, list[int]] = {}

    def _learn(self, api: str, body: Body) -> None:
        if api != "ConsumerGroupHeartbeat":
            super()._learn(api, body)
        elif body["error_code"] == "NONE":
            self.member_id = body["member_id"] or self.member_id
            self.epoch = body["member_epoch"]
            if body["assignment"] is not None:
                told = body["assignment"]["topic_partitions"]
                self.assigned = {one["topic_id"]: one["partitions"] for one in told}

    @property
    def held(self) -> Owned:
        """What it was assigned last, of the topics that the script knows."""
        known = {topic.topic_id: topic for topic in self._script.topics.values()}
        return {known[one]: numbers for one, numbers in self.assigned.items() if one in known}

    async def beat(
        self,
        epoch: int | None = None,
        *,
        v: int = 1,
        owned: Owned | None = None,
        names: Sequence[Topic | str] | None = None,
        regex: str | None = None,
        assignor: str | None = None,
        instance: str | None = OWN,
        rack: str | None = None,
        rebalance_ms: int = -1,
        member: str | None = None,
        group: str | None = None,
        error: str = "NONE",
        now: int | None = None,
        gives: Owned | None = None,
    ) -> Body:
        """A ConsumerGroupHeartbeat. `now` is the epoch that is answered, `gives` the assignment.

        Raises ScriptFailed where the answer has another.
        """
        body: Body = {
            "group_id": self._script.group if group is None else group,
            "member_id": self.member_id if member is None else member,
            "member_epoch": self.epoch if epoch is None else epoch,
            "instance_id": self.instance if instance == OWN else instance,
            "rack_id": rack,
            "rebalance_timeout": rebalance_ms,
            "subscribed_topic_names": None if names is None else [_name(one) for one in names],
            "subscribed_topic_regex": regex,
            "server_assignor": assignor,
            "topic_partitions": None if owned is None else _owned({one.topic_id: of for one, of in owned.items()}),
        }
        return await self._beat(v, body, error, now, gives)

    async def _beat(self, v: int, body: Body, error: str, now: int | None, gives: Owned | None) -> Body:
        answer = await self.ask("ConsumerGroupHeartbeat", v, body, error=error)
        if error == LATER:
            return answer
        if now is not None and answer["member_epoch"] != now:
            raise ScriptFailed(f"{self._script.id}: {self.name}: expected epoch {now}, got {answer}")
        if gives is not None:
            expected = {one.topic_id: list(of) for one, of in gives.items()}
            there = answer["assignment"] and answer["assignment"]["topic_partitions"]
            if there is None or {one["topic_id"]: sorted(one["partitions"]) for one in there} != expected:
                raise ScriptFailed(f"{self._script.id}: {self.name}: expected {expected}, got {answer}")
        return answer

    async def either(self, error: str) -> Body:
        """The answer to what was posted: NONE, or this error."""
        number, step = self._waiting[0]
        got = await self._line.receive(PATIENCE_US)
        if got is None:
            raise TimingFailed(f"{self._where(step)}: no answer")
        self._waiting.pop(0)
        told, body = decode(step.api, step.version, got[0])
        step.response = body
        if told != number or body["error_code"] not in ("NONE", error):
            raise ScriptFailed(f"{self._where(step)}: expected NONE or {error}, got {body}")
        return body

    async def enroll(
        self,
        *topics: Topic | str,
        owned: Owned | None = None,
        rebalance_ms: int = LONG_MS,
        **others: Any,
    ) -> Body:
        """Join, or join again, with these topics: epoch 0 and every field that a join needs."""
        others.setdefault("names", topics)
        return await self.beat(0, owned=owned or {}, rebalance_ms=rebalance_ms, **others)

    async def acknowledge(self, *, error: str = "NONE", now: int | None = None, gives: Owned | None = None) -> Body:
        """A heartbeat that says the member owns what it was assigned, no more and no less."""
        body: Body = {
            "group_id": self._script.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "instance_id": self.instance,
            "topic_partitions": _owned(self.assigned),
        }
        return await self._beat(1, body, error, now, gives)

    async def retire(self, epoch: int = -1, **others: Any) -> Body:
        """Leave: -1 for good, -2 as a static member that comes back."""
        answer = await self.beat(epoch, **others)
        self.epoch = 0
        return answer

    async def look(
        self,
        v: int = 1,
        groups: Sequence[str] | None = None,
        *,
        error: str = "NONE",
        operations: bool = False,
    ) -> Body:
        """A ConsumerGroupDescribe, of the script's group unless given."""
        named = [self._script.group] if groups is None else list(groups)
        body: Body = {"group_ids": named, "include_authorized_operations": operations}
        return await self.ask("ConsumerGroupDescribe", v, body, error=error)


def _name(topic: Topic | str) -> str:
    return topic if isinstance(topic, str) else topic.name


def _owned(owned: Mapping[str, Sequence[int]]) -> list[Body]:
    return [{"topic_id": topic, "partitions": list(partitions)} for topic, partitions in owned.items()]
