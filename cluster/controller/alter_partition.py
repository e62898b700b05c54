"""The changes of in-sync sets that a broker's leaders want: batched, one request in flight, repeated until answered.

One change per partition at a time: while one waits, another for the same partition is refused at once
(OPERATION_NOT_ATTEMPTED). What is submitted while a request is in flight goes with the next one. A lost connection, or
an error of the whole request (STALE_BROKER_EPOCH), leads to the same changes being sent again 50 ms later, with the
epoch the broker has then. A change that was carried out, but whose answer got lost, is refused the second time by the
controller's own rules (INVALID_UPDATE_VERSION).

Source: `DefaultAlterPartitionManager`.
"""

from __future__ import annotations

from collections.abc import Callable

from groupsim.cluster.controller.channel import Channel
from groupsim.eventloop.interface import EventLoop, Host
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrChange,
    PartitionState,
)

OnDone = Callable[[ErrorCode, PartitionState | None], None]

AGAIN_US = 50_000
TIMEOUT_US = 30_000_000


class Alterations:
    """The changes of one broker that have no answer yet."""

    def __init__(self, loop: EventLoop, host: Host, node: int, channel: Channel, epoch: Callable[[], int]) -> None:
        self._loop = loop
        self._host = host
        self._node = node
        self._channel = channel
        self._epoch = epoch
        self._unanswered: dict[TopicPartition, tuple[IsrChange, OnDone]] = {}
        self._resting = False

    def submit(self, change: IsrChange, on_done: OnDone) -> bool:
        """Ask for a change; False, and `on_done` is never called, when one for this partition waits already."""
        if change.partition in self._unanswered:
            return False
        self._unanswered[change.partition] = (change, on_done)
        self._send()
        return True

    def stop(self) -> None:
        """Ask for nothing more; what has no answer yet never gets one."""
        self._unanswered.clear()
        self._channel.close()

    def reset(self) -> None:
        """Forget everything: the process has died."""
        self._unanswered.clear()
        self._resting = False
        self._channel.forget()

    def _send(self) -> None:
        if not self._unanswered or self._channel.busy or self._resting:
            return
        changes = tuple(change for change, _ in self._unanswered.values())
        self._channel.send(AlterPartitionRequest(self._node, self._epoch(), changes), self._answered, TIMEOUT_US)

    def _answered(self, response: AlterPartitionResponse | None) -> None:
        if response is None or response.error:
            self._resting = True
            self._host.call_at(self._loop.now_us + AGAIN_US, self._again)
            return
        for partition, error, state in response.results:
            _, on_done = self._unanswered.pop(partition)
            on_done(error, state)
        self._send()

    def _again(self, _: object) -> None:
        self._resting = False
        self._send()
