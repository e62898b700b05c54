"""Markers on their way to the partitions of ended transactions: `MarkerSender`.

Per broker one WriteTxnMarkers request is in flight; what comes meanwhile goes with the next. A partition whose leader
refused, has gone or is not known is tried again after `marker_retry_ms`; one that no longer exists counts as written.
A leader that has seen a newer producer or coordinator ends the sending: somebody else has ended that transaction.

Source: `TransactionMarkerChannelManager`, `TransactionMarkerRequestCompletionHandler`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, field

from groupsim.cluster.transactions.effects import SendMarkers
from groupsim.members.interfaces import Connection, Disconnected, Outcome
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.transactions import TxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse

if TYPE_CHECKING:
    from groupsim.cluster.config.transactions import TransactionConfig
    from groupsim.cluster.transactions.interfaces import Topics
    from groupsim.eventloop.interface import EventLoop, Host

_CANCELLING = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
_SKIPPED = frozenset({ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION})


@define(eq=False)
class Ending:
    """One transaction whose markers are under way; `left` are the partitions without one."""

    what: SendMarkers
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

    def send(self, what: SendMarkers, partition: int, epoch: int, done: Callable[[], None]) -> None:
        """Have the markers of one transaction written; `done` when all are. Never called from within."""
        ending = Ending(what, partition, epoch, done, dict.fromkeys(what.partitions))
        self._endings[ending] = None
        self._host.call_at(self._loop.now_us, self._route, (ending, what.partitions))

    def cancel(self, partition: int) -> None:
        """The coordinator gives a partition of its log up: its markers are no longer this one's business."""
        for ending in [ending for ending in self._endings if ending.coordinator_partition == partition]:
            self._forget(ending)

    @property
    def under_way(self) -> tuple[str, ...]:
        """The transactional ids whose markers are not all written."""
        return tuple(ending.what.transactional_id for ending in self._endings)

    def _forget(self, ending: Ending) -> None:
        ending.cancelled = True
        self._endings.pop(ending, None)

    def _route(self, what: tuple[Ending, tuple[TopicPartition, ...]]) -> None:
        """Sort partitions by leader, and send."""
        ending, partitions = what
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
                self._again(ending, tuple(found))
            else:
                self._waiting.setdefault(node, []).append((ending, tuple(found)))
                self._send_next(node)
        self._settle(ending)

    def _again(self, ending: Ending, partitions: tuple[TopicPartition, ...]) -> None:
        when = self._loop.now_us + self._config.marker_retry_ms * 1_000
        self._host.call_at(when, self._route, (ending, partitions))

    def _settle(self, ending: Ending) -> None:
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
                ending.what.producer_id,
                ending.what.producer_epoch,
                ending.what.committed,
                partitions,
                ending.coordinator_epoch,
            )
            for ending, partitions in waiting
        )
        link = self._links.get(node)
        if link is None or not link.open:
            link = self._links[node] = self._connect(node)
        timeout_us = self._config.request_timeout_ms * 1_000
        link.send(WriteTxnMarkersRequest(markers), partial(self._heard, node, waiting), timeout_us)

    def _heard(self, node: int, sent: Waiting, outcome: Outcome) -> None:
        self._busy[node] = False
        if isinstance(outcome, WriteTxnMarkersResponse):
            for (ending, _), (_, results) in zip(sent, outcome.markers):
                self._take(ending, results)
        else:
            assert isinstance(outcome, Disconnected)
            for ending, partitions in sent:
                self._again(ending, partitions)
        self._send_next(node)

    def _take(self, ending: Ending, results: Any) -> None:
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
            self._again(ending, tuple(retry))
        self._settle(ending)

    def close(self) -> None:
        """The process is gone."""
        for link in self._links.values():
            if link.open:
                link.close()
        self._links.clear()
