"""Forwarding of clients' requests from a broker to the controller.

One request is in flight at a time and the others wait in a queue, as in Kafka's channel for forwarding. After a lost
answer the request is sent again until its timeout, so a request that took effect may be refused the second time
(TOPIC_ALREADY_EXISTS), as in Kafka.

An answer names the version of the image with the change. The broker answers the client when its own image has that
version, or at the timeout, so the client's next request to this broker finds the change. Brokers with ZooKeeper waited
likewise (`DelayedCreatePartitions`); KRaft brokers do not, and their clients retry.

Source: `NodeToControllerChannelManagerImpl`, `ForwardingManager`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from groupsim.cluster.controller.admin_requests import Decided
from groupsim.cluster.controller.channel import Channel, ControllerChannel
from groupsim.eventloop.interface import EventLoop, Host

OnAnswer = Callable[[Any], None]

_RETRY_US = 100_000


class Forwarding:
    """The forwarded requests of one life of a broker; `version` returns the version of the broker's image."""

    def __init__(
        self, loop: EventLoop, host: Host, connect: Callable[[], ControllerChannel], version: Callable[[], int]
    ) -> None:
        self._loop = loop
        self._host = host
        self._channel = Channel(connect)
        self._version = version
        self._queue: deque[tuple[Any, OnAnswer, int]] = deque()
        self._waiting: dict[int, list[Callable[[], None]]] = {}
        self._backing_off = False

    def send(self, request: Any, on_answer: OnAnswer, timeout_us: int) -> None:
        """Send a request to the controller; `on_answer` gets the answer, or None at the timeout."""
        self._queue.append((request, on_answer, self._loop.now_us + timeout_us))
        self._send()

    def _send(self) -> None:
        if self._channel.busy or self._backing_off:
            return
        while self._queue and self._queue[0][2] <= self._loop.now_us:
            self._queue.popleft()[1](None)
        if self._queue and not self._channel.busy:  # a callback at its timeout may have sent again
            request, _, deadline_us = self._queue[0]
            self._channel.send(request, self._answered, deadline_us - self._loop.now_us)

    def _answered(self, decided: Decided | None) -> None:
        if decided is None:
            self._backing_off = True
            self._host.call_at(self._loop.now_us + _RETRY_US, self._retry)
            return
        _, on_answer, deadline_us = self._queue.popleft()
        self._when_known(decided, on_answer, deadline_us)
        self._send()

    def _retry(self, _: object) -> None:
        self._backing_off = False
        self._send()

    # --- answers that wait for the image ---------------------------------------------------------------------

    def _when_known(self, decided: Decided, on_answer: OnAnswer, deadline_us: int) -> None:
        if self._version() >= decided.version:
            on_answer(decided.response)
            return
        answered: list[bool] = []

        def answer(_: object = None) -> None:
            if not answered:
                answered.append(True)
                on_answer(decided.response)

        self._waiting.setdefault(decided.version, []).append(answer)
        self._host.call_at(max(deadline_us, self._loop.now_us), answer)

    def known(self) -> None:
        """Answer what waited for the broker's new image."""
        version = self._version()
        for awaited in sorted(self._waiting):
            if awaited <= version:
                for answer in self._waiting.pop(awaited):
                    answer()
