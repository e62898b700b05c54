"""The writes of a connection under faults stay in order."""

from __future__ import annotations

from typing import Any

from groupsim.cluster.tcp.outbox import Outbox


class Rig:
    """A connection, its stream, its network's links and a loop in one; time and faults are what the test says."""

    conditions = ()
    unsent = 0

    def __init__(self) -> None:
        self.now_us = self.latency_us = 0
        self.plain = True
        self.written: list[bytes] = []
        self.due: list[tuple[int, Any, bytes]] = []
        self.link_faults = self.loop = self
        self.box = Outbox(self, self, self)  # type: ignore[arg-type]

    def stalls_responses(self, line: object) -> bool:
        return False

    def stretch(self, line: object, us: int) -> int:
        return us + self.latency_us

    def bytes_queue_us(self, line: object, to_broker: bool, size: int, now_us: int) -> int:
        return 0

    def call_at(self, when_us: int, callback: Any, arg: bytes) -> None:
        self.due.append((when_us, callback, arg))

    def write(self, data: bytes) -> None:
        self.written.append(data[4:])

    def run(self) -> None:
        """The loop comes to what is due."""
        due = sorted((one for one in self.due if one[0] <= self.now_us), key=lambda one: one[0])
        self.due = [one for one in self.due if one[0] > self.now_us]
        for _, callback, arg in due:
            callback(arg)


def test_without_faults_a_response_is_written_at_once() -> None:
    """A response without faults is written at once, after its length."""
    rig = Rig()
    rig.box.put(b"one")
    assert rig.written == [b"one"]


def test_what_comes_after_a_latency_does_not_overtake_what_is_due_and_not_gone() -> None:
    """The loop is a little late; the fault is over when the next response comes, and it waits for the one before."""
    for plain in (True, False):
        rig = Rig()
        rig.plain, rig.latency_us = False, 5_000
        rig.box.put(b"one")
        assert rig.written == []
        rig.plain, rig.latency_us, rig.now_us = plain, 0, 5_200
        rig.box.put(b"two")
        rig.run()
        rig.box.put(b"three")
        rig.run()
        assert rig.written == [b"one", b"two", b"three"]
