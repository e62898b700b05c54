"""One fetch loop per leader, for all partitions that this broker replicates from it.

The loop is a state machine with at most one request in flight (`num.replica.fetchers` is 1):

* **fetching**: a Fetch is in flight or parked at the leader. The response is handled by partition; the next request
  names the partitions with a new position (see `follower_sessions.py` for the session). A partition with an error
  leaves the session for `replica.fetch.backoff.ms`; a partition with an old leader epoch waits for the controller's
  next image.
* **resolving**: some partitions are out of the leader's range. ListOffsets asks the leader for its end offsets, and for
  its start offsets where this broker's logs end below them; then fetching goes on.
* **backing off**: the connection broke, or every partition backs off; nothing is in flight until the first one is due.

A fetch of a quiet leader may stay parked for ever, so it has no request timeout. While a host or a link has a fault
(`BrokerReplicas.clocked`) the timeout is `replica.socket.timeout.ms`; then the connection is closed and opened again.

Source: `AbstractFetcherThread`, `ReplicaFetcherThread`, `RemoteLeaderEndPoint`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from groupsim.cluster.replica import follower
from groupsim.cluster.replica.broker_replicas import BrokerReplicas
from groupsim.cluster.replica.partition import HostedPartition
from groupsim.eventloop.interface import Handle
from groupsim.members.interfaces import Connection, Disconnected
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    READ_UNCOMMITTED,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetAsked,
    OffsetListed,
    PartitionData,
)

FOREVER_US = 1 << 60
_VERSION = FetchRequest(0, 0, ()).version
Connect = Callable[[int], Connection]


class Fetcher:
    """The fetch loop for one leader."""

    def __init__(self, local: BrokerReplicas, leader: int, connect: Connect) -> None:
        self._local = local
        self._leader = leader
        self._connect = connect
        self._connection: Connection | None = None
        self._copied: dict[TopicPartition, HostedPartition] = {}
        self._moved: dict[TopicPartition, None] = {}  # named in the next request
        self._forgotten: dict[TopicPartition, None] = {}  # removed from the session by the next request
        self._backing_off: dict[TopicPartition, int] = {}  # end of the backoff, us
        self._out_of_range: dict[TopicPartition, None] = {}
        self._session_epoch = 0
        self._busy = False
        self._wake: Handle | None = None
        self._watchdog: Handle | None = None

    # --- partitions --------------------------------------------------------------------------------------------------

    def add(self, hosted: HostedPartition) -> None:
        """Add a partition at its current leader epoch; call `go` after the last one."""
        follower.start(hosted)
        self._copied[hosted.name] = hosted
        self._backing_off.pop(hosted.name, None)
        self._out_of_range.pop(hosted.name, None)
        self._moved[hosted.name] = None

    def remove(self, name: TopicPartition) -> None:
        """Remove a partition."""
        if self._copied.pop(name, None) is not None:
            self._leave_session(name)
        self._backing_off.pop(name, None)

    def _leave_session(self, name: TopicPartition) -> None:
        self._moved.pop(name, None)
        self._out_of_range.pop(name, None)
        self._forgotten[name] = None

    @property
    def is_idle(self) -> bool:
        """Whether the loop has no partition."""
        return not self._copied

    def go(self) -> None:
        """Send the next request if none is in flight."""
        if not self._busy:
            self._next()

    def close(self) -> None:
        """End the loop."""
        self._copied.clear()
        self._drop_connection()
        self._set_wake(None)

    # --- the loop ----------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        if self._backing_off:
            self._end_backoffs()
        if self._out_of_range:
            self._resolve()
        elif len(self._copied) > len(self._backing_off):
            self._fetch()
        elif self._backing_off:
            self._set_wake(min(self._backing_off.values()))
        else:
            self._drop_connection()

    def _end_backoffs(self) -> None:
        now = self._local.loop.now_us
        for name in [name for name, until in self._backing_off.items() if until <= now]:
            del self._backing_off[name]
            self._moved[name] = None

    def _set_wake(self, when_us: int | None) -> None:
        if self._wake is not None:
            self._local.host.cancel(self._wake)
        self._wake = None if when_us is None else self._local.host.call_at(when_us, self._woken)

    def _woken(self, _: object) -> None:
        self._wake = None
        self.go()

    def _fetch(self) -> None:
        local, copied = self._local, self._copied
        config = local.config
        whole = self._session_epoch == 0
        moved = [name for name in copied if name not in self._backing_off] if whole else self._moved
        asked = tuple([follower.position(copied[name]) for name in moved])
        forgotten: tuple[TopicPartition, ...] = ()
        if self._forgotten:
            forgotten = () if whole else tuple(name for name in self._forgotten if name not in self._moved)
            self._forgotten.clear()
        self._moved.clear()
        request = FetchRequest(  # positional arguments, because every append makes two of these
            config.replica_fetch_wait_max_ms,
            config.replica_fetch_min_bytes,
            asked,
            config.replica_fetch_response_max_bytes,
            READ_UNCOMMITTED,
            local.node,
            local.broker_epoch,
            "",
            _VERSION,
            self._session_epoch,
            forgotten,
        )
        self._session_epoch += 1
        self._send(request, self._fetched)

    def _send(self, request: FetchRequest | ListOffsetsRequest, on_done: Callable[..., None]) -> None:
        if self._wake is not None:
            self._set_wake(None)
        self._busy = True
        connection = self._connection
        if connection is None or not connection.open:
            connection = self._connection = self._connect(self._leader)
        connection.send(request, on_done, FOREVER_US)
        if self._local.clocked:
            self.watch()

    def watch(self) -> None:
        """Limit the time of the request in flight by `replica.socket.timeout.ms`."""
        if self._busy and self._watchdog is None:
            wait = self._local.config.replica_socket_timeout_ms * 1_000
            self._watchdog = self._local.host.call_at(self._local.loop.now_us + wait, self._timed_out)

    def _timed_out(self, _: object) -> None:
        self._watchdog = None
        self._fetched(Disconnected("no answer", timed_out=True))

    def _answered(self) -> None:
        self._busy = False
        if self._watchdog is not None:
            self._local.host.cancel(self._watchdog)
            self._watchdog = None

    def _fetched(self, outcome: FetchResponse | Disconnected) -> None:
        self._answered()
        if isinstance(outcome, Disconnected):
            self._lost()
        elif outcome.error:
            self._session_epoch = 0
        else:
            for data in outcome.partitions:
                self._handle(data)
        self._next()

    def _lost(self) -> None:
        """Let all partitions back off after a lost connection; the next request begins a new session."""
        self._drop_connection()
        until = self._local.loop.now_us + self._local.config.replica_fetch_backoff_ms * 1_000
        self._out_of_range.clear()
        self._moved.clear()
        for name in self._copied:
            self._backing_off[name] = until

    def _drop_connection(self) -> None:
        self._answered()
        self._session_epoch = 0
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- one partition -----------------------------------------------------------------------------------------------

    def _handle(self, data: PartitionData) -> None:
        name = data.partition
        hosted = self._copied.get(name)
        if hosted is None or name in self._moved or name in self._backing_off:
            return  # removed, or added again since the request was sent
        if not data.error:
            if data.diverging is not None:
                follower.truncate(hosted, data.diverging)
                self._moved[name] = None
            elif not data.batches:
                start = hosted.log.start_offset
                follower.append(hosted, data)
                if hosted.log.start_offset != start:
                    self._moved[name] = None  # the leader's DeleteRecords waits for it
            elif self._follows(hosted, data):
                self._store(hosted, data)
        elif data.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range[name] = None
        elif data.error is ErrorCode.FENCED_LEADER_EPOCH:
            self.remove(name)  # until the image has the new leader (`onPartitionFenced`)
        else:
            self._back_off(name)

    def _store(self, hosted: HostedPartition, data: PartitionData) -> None:
        """Append the leader's records; a partition whose log cannot be written backs off."""
        try:
            follower.append(hosted, data)
            self._moved[hosted.name] = None
        except OSError as error:
            self._local.storage_failed(hosted.name, error)
            self._back_off(hosted.name)

    def _follows(self, hosted: HostedPartition, data: PartitionData) -> bool:
        """Whether the records continue the log: the first batch holds the log's end offset."""
        log, first = hosted.log, data.batches[0]
        base, end = first.base_offset, log.end_offset
        return base + first.count > end and (base >= end or end == log.start_offset)

    def _back_off(self, name: TopicPartition) -> None:
        self._leave_session(name)
        self._backing_off[name] = self._local.loop.now_us + self._local.config.replica_fetch_backoff_ms * 1_000

    # --- out of range ------------------------------------------------------------------------------------------------

    def _resolve(self) -> None:
        """Ask for the end offsets of the leader's logs."""
        self._ask_offsets(self._out_of_range, LATEST_TIMESTAMP, self._ends_known)

    def _ask_offsets(self, names: Iterable[TopicPartition], timestamp: int, on_done: Callable[..., None]) -> None:
        asked = tuple(OffsetAsked(name, timestamp, self._copied[name].epoch) for name in names)
        self._send(ListOffsetsRequest(asked, replica_id=self._local.node), on_done)

    def _ends_known(self, outcome: ListOffsetsResponse | Disconnected) -> None:
        """Truncate logs that are longer than the leader's; ask for the leader's start offsets of the others."""
        if isinstance(outcome, Disconnected):
            self._fetched(outcome)
            return
        self._answered()
        behind = []
        for listed in self._usable(outcome):
            hosted = self._copied[listed.partition]
            if listed.offset < hosted.log.end_offset:
                hosted.truncate(listed.offset, "the leader's log ends there")
                self._in_range(listed.partition)
            else:
                behind.append(listed.partition)
        if behind:
            self._ask_offsets(behind, EARLIEST_TIMESTAMP, self._starts_known)
        else:
            self._next()

    def _starts_known(self, outcome: ListOffsetsResponse | Disconnected) -> None:
        """Restart logs that end below the leader's start offset (`fetchOffsetAndTruncate`)."""
        if isinstance(outcome, Disconnected):
            self._fetched(outcome)
            return
        self._answered()
        for listed in self._usable(outcome):
            hosted = self._copied[listed.partition]
            if listed.offset > hosted.log.end_offset:
                hosted.restart_at(listed.offset, "the leader's log begins there")
            self._in_range(listed.partition)
        self._next()

    def _usable(self, outcome: ListOffsetsResponse) -> list[OffsetListed]:
        """Return the offsets of partitions that are still out of range; those with an error back off."""
        usable = []
        for listed in outcome.partitions:
            if listed.partition not in self._out_of_range:
                continue
            if listed.error is ErrorCode.NONE:
                usable.append(listed)
            elif listed.error is ErrorCode.FENCED_LEADER_EPOCH:
                self.remove(listed.partition)
            else:
                self._back_off(listed.partition)
        return usable

    def _in_range(self, name: TopicPartition) -> None:
        self._out_of_range.pop(name, None)
        self._moved[name] = None
