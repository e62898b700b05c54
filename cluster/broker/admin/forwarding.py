"""What a broker passes on to the controller for somebody else, and when the answer may be told.

One request is on its way at a time, the others wait in a row, as on Kafka's channel for forwarding. An answer that got
lost is asked for anew until the requester's time is over, so what was carried out once may be refused the second time
("already exists"), as in Kafka.

An answer names the version of the image in which it holds. The broker tells it when it has that image itself, so that a
client that asks the same broker next finds what it made; Kafka's brokers of the ZooKeeper era waited likewise, KRaft's
do not, and their clients ask again. Whoever waits longer than its time gets the answer all the same.

Source: `NodeToControllerChannelManagerImpl`, `ForwardingManager`, `DelayedCreatePartitions`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from groupsim.cluster.controller.admin_requests import Decided
from groupsim.cluster.controller.channel import Channel, ControllerChannel
from groupsim.eventloop.interface import EventLoop, Host

OnAnswer = Callable[[Any], None]

_AGAIN_US = 100_000


class Forwarding:
    """The requests of one life of a broker that are the controller's to answer; `version` is of the broker's image."""

    def __init__(
        self, loop: EventLoop, host: Host, connect: Callable[[], ControllerChannel], version: Callable[[], int]
    ) -> None:
        self._loop = loop
        self._host = host
        self._channel = Channel(connect)
        self._version = version
        self._row: deque[tuple[Any, OnAnswer, int]] = deque()
        self._told_from: dict[int, list[Callable[[], None]]] = {}
        self._resting = False

    def ask(self, request: Any, on_answer: OnAnswer, timeout_us: int) -> None:
        """Ask the controller; `on_answer` gets its answer, or None when none came in time."""
        self._row.append((request, on_answer, self._loop.now_us + timeout_us))
        self._send()

    def _send(self) -> None:
        if self._channel.busy or self._resting:
            return
        while self._row and self._row[0][2] <= self._loop.now_us:
            self._row.popleft()[1](None)
        if self._row and not self._channel.busy:  # whoever was told that time is over may have asked again
            request, _, deadline_us = self._row[0]
            self._channel.send(request, self._answered, deadline_us - self._loop.now_us)

    def _answered(self, decided: Decided | None) -> None:
        if decided is None:
            self._resting = True
            self._host.call_at(self._loop.now_us + _AGAIN_US, self._again)
            return
        _, on_answer, deadline_us = self._row.popleft()
        self._when_known(decided, on_answer, deadline_us)
        self._send()

    def _again(self, _: object) -> None:
        self._resting = False
        self._send()

    # --- answers that are told later -------------------------------------------------------------------------

    def _when_known(self, decided: Decided, on_answer: OnAnswer, deadline_us: int) -> None:
        if self._version() >= decided.version:
            on_answer(decided.response)
            return
        told: list[bool] = []

        def tell(_: object = None) -> None:
            if not told:
                told.append(True)
                on_answer(decided.response)

        self._told_from.setdefault(decided.version, []).append(tell)
        self._host.call_at(max(deadline_us, self._loop.now_us), tell)

    def known(self) -> None:
        """This broker has a newer image: tell what was waiting for it."""
        version = self._version()
        for awaited in sorted(self._told_from):
            if awaited <= version:
                for tell in self._told_from.pop(awaited):
                    tell()
