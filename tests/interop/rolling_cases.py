"""A group rolls from `group.protocol=classic` to `consumer` and back, a process at a time, while records come.

Each process closes before its successor starts, as in a deployment without surge. A dynamic member leaves; a static one
stays in the group until its successor takes its instance id over, in the other protocol (KIP-848, online migration).

Kafka refuses the upgrade of a group whose assignment has user data in it, and librdkafka's cooperative-sticky writes
some: its first member of the consumer protocol ends with GROUP_ID_NOT_FOUND, and the group stays as it was. The row
says "not offered" where that is what happened.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.interop.bench import Bench, records, until
from tests.interop.cases import Case
from tests.interop.consumer_cases import UNIFORM
from tests.interop.members import Event, Member, Place, Record, Unsupported

SIZE = 3
CLASSIC, CONSUMER = "CLASSIC", "CONSUMER"


def rolls_there_and_back(assignor: str, static: bool, bench: Bench) -> None:
    """The group's kind follows its members, all records are read, and every partition has an owner after each step."""
    roll = Roll(bench, assignor, static)
    roll.expect(CLASSIC)
    for number in range(SIZE):
        roll.replace(number, UNIFORM)
        roll.expect(CONSUMER)
    for number in range(SIZE):
        roll.replace(number, assignor)
        roll.expect(CLASSIC if number == SIZE - 1 else CONSUMER)
    bench.all_read(roll.sent, roll.everyone)


class Roll:
    """The members that run, all that ever ran, and what was sent to them."""

    def __init__(self, bench: Bench, assignor: str, static: bool) -> None:
        self._bench = bench
        self._static = static
        self._topic = bench.topic()
        self._producer = bench.producer(idempotent=True)
        self.sent: dict[Place, Record] = {}
        self._running = [self._start(number, assignor) for number in range(SIZE)]
        self.everyone = list(self._running)
        bench.stable(self._topic, self._running)

    def replace(self, number: int, assignor: str) -> None:
        """One member closes, and its successor starts; records are sent before, between and after."""
        self._send(f"before-{len(self.everyone)}-")
        self._running[number].close()
        self._send(f"between-{len(self.everyone)}-")
        self._running[number] = self._start(number, assignor)
        self.everyone.append(self._running[number])
        self._not_refused(number)
        self._bench.stable(self._topic, self._running)
        self._send(f"after-{len(self.everyone)}-")

    def expect(self, kind: str) -> None:
        """Wait until the group is of that kind, and has all its members."""

        def is_so() -> bool:
            return self._bench.kind() == kind and self._bench.state() == ("STABLE", SIZE)

        until(is_so, f"the group's kind is {kind}, and it is Stable", self._bench.told, seconds=30)

    def _not_refused(self, number: int) -> None:
        """Wait until the successor is in. Raises Unsupported when the upgrade is refused and the group works on."""
        left = [member for at, member in enumerate(self._running) if at != number]
        event = self._running[number].wait(lambda event: "owned" in event or _is_refusal(event), 60, "assignment")
        if _is_refusal(event):
            self._bench.stable(self._topic, left)
            assert self._bench.kind() == CLASSIC
            self._bench.all_read(self.sent, self.everyone)
            raise Unsupported("an upgrade of its group: the assignor writes user data into assignments")

    def _start(self, number: int, assignor: str) -> Member:
        instance: dict[str, Any] = {"instance_id": f"i-{number}"} if self._static else {}
        return self._bench.consumer(self._topic, assignor, **instance)

    def _send(self, tag: str) -> None:
        self.sent |= self._producer.send(self._topic, records(30, tag))


def _is_refusal(event: Event) -> bool:
    return (
        event["event"] == "error" and "ConsumerGroupHeartbeat fatal error: Broker: The group id does" in event["error"]
    )


_ROLLS: tuple[tuple[str, str, str, bool], ...] = (
    ("eager", "eager members", "range", False),
    ("cooperative", "cooperative members", "cooperative-sticky", False),
    ("eager-static", "eager static members", "range", True),
    ("cooperative-static", "cooperative static members", "cooperative-sticky", True),
)


def _case(name: str, who: str, assignor: str, static: bool) -> Case:
    play: Callable[[Bench], None] = partial(rolls_there_and_back, assignor, static)
    return Case(f"roll-{name}", f"rolls to group.protocol=consumer and back: {who}", play)


ROLLING_CASES = tuple(_case(*roll) for roll in _ROLLS)
"""The rows of the table, in order; none is in the short form."""
