"""Sends transaction markers to the leaders of the partitions of ended transactions: `MarkerSender`.

At most one WriteTxnMarkers is in flight per broker; later markers go with the next one. A partition is retried after
`marker_retry_ms` if its leader refused, is gone or is unknown; a deleted partition counts as written. If a leader knows
a newer producer epoch or coordinator epoch, the sender gives up: another coordinator has ended the transaction.

Source: `TransactionMarkerChannelManager`, `TransactionMarkerRequestCompletionHandler`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import field

from groupsim.cluster.transactions.effects import SendMarkers
from groupsim.members.interfaces import Connection, Disconnected, Outcome
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.transactions import TxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse
from groupsim.protocol.values import define

if TYPE_CHECKING:
    from groupsim.cluster.config.transactions import TransactionConfig
    from groupsim.cluster.transactions.interfaces import Topics
    from groupsim.eventloop.interface import EventLoop, Host

_CANCELLING = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
_SKIPPED = frozenset({ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION})


@define(eq=False)
class Ending:
    """One transaction whose markers are being written; `left` are the partitions without one."""

    effect: SendMarkers
    coordinator_partition: int
    coordinator_epoch: int
    done: Callable[[], None]
    left: dict[TopicPartition, None] = field(factory=dict)
    cancelled: bool = False


Waiting = list[tuple[Ending, tuple[TopicPartition, ...]]]


class MarkerSender:
    """The markers of one broker's coordinator."""

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        config: TransactionConfig,
        topics: Topics,
        connect: Callable[[int], Connection],
    ) -> None:
        self._loop = loop
        self._host = host
        self._config = config
        self._topics = topics
        self._connect = connect
        self._links: dict[int, Connection] = {}
        self._waiting: dict[int, Waiting] = {}
        self._busy: dict[int, bool] = {}
        self._endings: dict[Ending, None] = {}

    def send(self, effect: SendMarkers, partition: int, epoch: int, done: Callable[[], None]) -> None:
        """Write the markers of one transaction; `done` is called when all are written, but not from within."""
        ending = Ending(effect, partition, epoch, done, dict.fromkeys(effect.partitions))
        self._endings[ending] = None
        self._host.call_at(self._loop.now_us, self._route, (ending, effect.partitions))

    def cancel(self, partition: int) -> None:
        """Stop sending the markers of a partition of `__transaction_state` that the coordinator has unloaded."""
        for ending in [ending for ending in self._endings if ending.coordinator_partition == partition]:
            self._forget(ending)

    @property
    def in_progress(self) -> tuple[str, ...]:
        """The transactional ids whose markers are not all written."""
        return tuple(ending.effect.transactional_id for ending in self._endings)

    def _forget(self, ending: Ending) -> None:
        ending.cancelled = True
        self._endings.pop(ending, None)

    def _route(self, routed: tuple[Ending, tuple[TopicPartition, ...]]) -> None:
        """Group partitions by leader, and send the markers."""
        ending, partitions = routed
        if ending.cancelled:
            return
        by_node: dict[int, list[TopicPartition]] = {}
        for partition in partitions:
            node = self._topics.leader(partition)
            if node is None:
                ending.left.pop(partition, None)
            else:
                by_node.setdefault(node, []).append(partition)
        for node, found in by_node.items():
            if node < 0:
                self._retry_later(ending, tuple(found))
            else:
                self._waiting.setdefault(node, []).append((ending, tuple(found)))
                self._send_next(node)
        self._finish_if_done(ending)

    def _retry_later(self, ending: Ending, partitions: tuple[TopicPartition, ...]) -> None:
        when = self._loop.now_us + self._config.marker_retry_ms * 1_000
        self._host.call_at(when, self._route, (ending, partitions))

    def _finish_if_done(self, ending: Ending) -> None:
        if not ending.left and not ending.cancelled:
            self._forget(ending)
            ending.done()

    def _send_next(self, node: int) -> None:
        waiting = [entry for entry in self._waiting.get(node, []) if not entry[0].cancelled]
        if self._busy.get(node) or not waiting:
            return
        self._waiting[node] = []
        self._busy[node] = True
        markers = tuple(
            TxnMarker(
                ending.effect.producer_id,
                ending.effect.producer_epoch,
                ending.effect.committed,
                partitions,
                ending.coordinator_epoch,
            )
            for ending, partitions in waiting
        )
        link = self._links.get(node)
        if link is None or not link.open:
            link = self._links[node] = self._connect(node)
        timeout_us = self._config.request_timeout_ms * 1_000
        link.send(WriteTxnMarkersRequest(markers), partial(self._answered, node, waiting), timeout_us)

    def _answered(self, node: int, sent: Waiting, outcome: Outcome) -> None:
        self._busy[node] = False
        if isinstance(outcome, WriteTxnMarkersResponse):
            for (ending, _), (_, results) in zip(sent, outcome.markers):
                self._handle(ending, results)
        else:
            assert isinstance(outcome, Disconnected)
            for ending, partitions in sent:
                self._retry_later(ending, partitions)
        self._send_next(node)

    def _handle(self, ending: Ending, results: Any) -> None:
        retry: list[TopicPartition] = []
        for partition, error in results:
            if error in _CANCELLING:
                self._forget(ending)
                return
            if not error or error in _SKIPPED:
                ending.left.pop(partition, None)
            else:
                retry.append(partition)
        if retry:
            self._retry_later(ending, tuple(retry))
        self._finish_if_done(ending)

    def close(self) -> None:
        """Close the connections."""
        for link in self._links.values():
            if link.open:
                link.close()
        self._links.clear()
