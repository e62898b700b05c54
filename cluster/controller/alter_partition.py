"""A broker's AlterPartition requests: batched, one in flight, retried until answered.

Each partition has one change at a time: a second one is refused at once (OPERATION_NOT_ATTEMPTED). Changes submitted
while a request is in flight go with the next request. After a lost connection, or an error of the whole request
(STALE_BROKER_EPOCH), the same changes are sent again 50 ms later, with the broker's epoch of that time. A change that
took effect before its answer was lost is refused the second time by the controller (INVALID_UPDATE_VERSION).

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

RETRY_US = 50_000
TIMEOUT_US = 30_000_000


class AlterPartitionManager:
    """The unanswered changes of one broker."""

    def __init__(self, loop: EventLoop, host: Host, node: int, channel: Channel, epoch: Callable[[], int]) -> None:
        self._loop = loop
        self._host = host
        self._node = node
        self._channel = channel
        self._epoch = epoch
        self._unanswered: dict[TopicPartition, tuple[IsrChange, OnDone]] = {}
        self._backing_off = False

    def submit(self, change: IsrChange, on_done: OnDone) -> bool:
        """Submit a change; return False, and never call `on_done`, when the partition has an unanswered one."""
        if change.partition in self._unanswered:
            return False
        self._unanswered[change.partition] = (change, on_done)
        self._send()
        return True

    def stop(self) -> None:
        """Send no further request; unanswered changes stay unanswered."""
        self._unanswered.clear()
        self._channel.close()

    def reset(self) -> None:
        """Drop all changes after the death of the process."""
        self._unanswered.clear()
        self._backing_off = False
        self._channel.reset()

    def _send(self) -> None:
        if not self._unanswered or self._channel.busy or self._backing_off:
            return
        changes = tuple(change for change, _ in self._unanswered.values())
        self._channel.send(AlterPartitionRequest(self._node, self._epoch(), changes), self._answered, TIMEOUT_US)

    def _answered(self, response: AlterPartitionResponse | None) -> None:
        if response is None or response.error:
            self._backing_off = True
            self._host.call_at(self._loop.now_us + RETRY_US, self._retry)
            return
        for partition, error, state in response.results:
            _, on_done = self._unanswered.pop(partition)
            on_done(error, state)
        self._send()

    def _retry(self, _: object) -> None:
        self._backing_off = False
        self._send()
