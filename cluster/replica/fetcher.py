"""One fetch loop per leader: asks for everything that this broker copies from it, takes what comes, asks again.

The loop is a machine with one request under way at most (`num.replica.fetchers` is 1):

* **fetching**: a Fetch is under way or parked at the leader. Its answer is taken partition by partition; what moved is
  named in the next request (see `follower_sessions.py` for the session). Partitions with an error rest for
  `replica.fetch.backoff.ms`, out of the session; a partition whose epoch the leader has overtaken waits for the
  controller's next word.
* **resolving**: some partitions are out of the leader's range. The leader is asked for its end, and, for logs that it
  does not reach back to, its start; then fetching goes on.
* **resting**: the connection broke, or every partition rests; nothing is under way until the first of them may go on.

A fetch of a quiet leader may stay parked for ever, so it has no request timeout. While hosts or links are in trouble
(`Station.clocked`) it has: `replica.socket.timeout.ms`, after which the connection is closed and opened anew.

Source: `AbstractFetcherThread`, `ReplicaFetcherThread`, `RemoteLeaderEndPoint`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from groupsim.cluster.replica import follower
from groupsim.cluster.replica.broker_replicas import Station
from groupsim.cluster.replica.partition import Hosted
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
    """The loop that copies from one leader."""

    def __init__(self, station: Station, leader: int, connect: Connect) -> None:
        self._station = station
        self._leader = leader
        self._connect = connect
        self._connection: Connection | None = None
        self._copied: dict[TopicPartition, Hosted] = {}
        self._moved: dict[TopicPartition, None] = {}  # named in the next request
        self._forgotten: dict[TopicPartition, None] = {}  # dropped from the session by the next request
        self._resting: dict[TopicPartition, int] = {}  # until when
        self._out_of_range: dict[TopicPartition, None] = {}
        self._session_epoch = 0
        self._busy = False
        self._wake: Handle | None = None
        self._watchdog: Handle | None = None

    # --- which partitions --------------------------------------------------------------------------------------------

    def add(self, hosted: Hosted) -> None:
        """Copy a partition from here, at its present leader epoch; `go` when all are added."""
        follower.begin(hosted)
        self._copied[hosted.name] = hosted
        self._resting.pop(hosted.name, None)
        self._out_of_range.pop(hosted.name, None)
        self._moved[hosted.name] = None

    def remove(self, name: TopicPartition) -> None:
        """Copy a partition from here no longer."""
        if self._copied.pop(name, None) is not None:
            self._leave_session(name)
        self._resting.pop(name, None)

    def _leave_session(self, name: TopicPartition) -> None:
        self._moved.pop(name, None)
        self._out_of_range.pop(name, None)
        self._forgotten[name] = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is copied from here."""
        return not self._copied

    def go(self) -> None:
        """Go on, if nothing is under way."""
        if not self._busy:
            self._next()

    def close(self) -> None:
        """End the loop."""
        self._copied.clear()
        self._drop_connection()
        self._set_wake(None)

    # --- the loop ----------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        if self._resting:
            self._end_rests()
        if self._out_of_range:
            self._resolve()
        elif len(self._copied) > len(self._resting):
            self._fetch()
        elif self._resting:
            self._set_wake(min(self._resting.values()))
        else:
            self._drop_connection()

    def _end_rests(self) -> None:
        now = self._station.loop.now_us
        for name in [name for name, until in self._resting.items() if until <= now]:
            del self._resting[name]
            self._moved[name] = None

    def _set_wake(self, when_us: int | None) -> None:
        if self._wake is not None:
            self._station.host.cancel(self._wake)
        self._wake = None if when_us is None else self._station.host.call_at(when_us, self._woken)

    def _woken(self, _: object) -> None:
        self._wake = None
        self.go()

    def _fetch(self) -> None:
        station, copied = self._station, self._copied
        config = station.config
        whole = self._session_epoch == 0
        moved = [name for name in copied if name not in self._resting] if whole else self._moved
        asked = tuple([follower.position(copied[name]) for name in moved])
        forgotten: tuple[TopicPartition, ...] = ()
        if self._forgotten:
            forgotten = () if whole else tuple(name for name in self._forgotten if name not in self._moved)
            self._forgotten.clear()
        self._moved.clear()
        request = FetchRequest(  # by position, for there are two for every append
            config.replica_fetch_wait_max_ms,
            config.replica_fetch_min_bytes,
            asked,
            config.replica_fetch_response_max_bytes,
            READ_UNCOMMITTED,
            station.node,
            station.broker_epoch,
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
        if self._station.clocked:
            self.watch()

    def watch(self) -> None:
        """Something is in trouble: do not wait for ever for what is under way."""
        if self._busy and self._watchdog is None:
            wait = self._station.config.replica_socket_timeout_ms * 1_000
            self._watchdog = self._station.host.call_at(self._station.loop.now_us + wait, self._timed_out)

    def _timed_out(self, _: object) -> None:
        self._watchdog = None
        self._fetched(Disconnected("no answer", timed_out=True))

    def _answered(self) -> None:
        self._busy = False
        if self._watchdog is not None:
            self._station.host.cancel(self._watchdog)
            self._watchdog = None

    def _fetched(self, outcome: FetchResponse | Disconnected) -> None:
        self._answered()
        if isinstance(outcome, Disconnected):
            self._lost()
        elif outcome.error:
            self._session_epoch = 0
        else:
            for data in outcome.partitions:
                self._take(data)
        self._next()

    def _lost(self) -> None:
        """The leader does not answer: all partitions rest, then a new session begins."""
        self._drop_connection()
        until = self._station.loop.now_us + self._station.config.replica_fetch_backoff_ms * 1_000
        self._out_of_range.clear()
        self._moved.clear()
        for name in self._copied:
            self._resting[name] = until

    def _drop_connection(self) -> None:
        self._answered()
        self._session_epoch = 0
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- one partition -----------------------------------------------------------------------------------------------

    def _take(self, data: PartitionData) -> None:
        name = data.partition
        hosted = self._copied.get(name)
        if hosted is None or name in self._moved or name in self._resting:
            return  # not copied from here any more, or asked for anew meanwhile
        if not data.error:
            if data.diverging is not None:
                follower.cut(hosted, data.diverging)
                self._moved[name] = None
            elif not data.batches:
                begins = hosted.log.start_offset
                follower.take(hosted, data)
                if hosted.log.start_offset != begins:
                    self._moved[name] = None  # the leader waits to hear of it
            elif self._follows(hosted, data):
                self._store(hosted, data)
        elif data.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range[name] = None
        elif data.error is ErrorCode.FENCED_LEADER_EPOCH:
            self.remove(name)  # until the controller says who leads
        else:
            self._rest(name)

    def _store(self, hosted: Hosted, data: PartitionData) -> None:
        """Append what was copied; a log that cannot be written rests, and is copied again later."""
        try:
            follower.take(hosted, data)
            self._moved[hosted.name] = None
        except OSError as error:
            self._station.storage_failed(hosted.name, error)
            self._rest(hosted.name)

    def _follows(self, hosted: Hosted, data: PartitionData) -> bool:
        """Whether the records are those asked for: the first batch holds the log's end."""
        log, first = hosted.log, data.batches[0]
        base, end = first.base_offset, log.end_offset
        return base + first.count > end and (base >= end or end == log.start_offset)

    def _rest(self, name: TopicPartition) -> None:
        self._leave_session(name)
        self._resting[name] = self._station.loop.now_us + self._station.config.replica_fetch_backoff_ms * 1_000

    # --- out of range ------------------------------------------------------------------------------------------------

    def _resolve(self) -> None:
        """Ask where the leader's logs end."""
        self._ask_offsets(self._out_of_range, LATEST_TIMESTAMP, self._ends_known)

    def _ask_offsets(self, names: Iterable[TopicPartition], timestamp: int, on_done: Callable[..., None]) -> None:
        asked = tuple(OffsetAsked(name, timestamp, self._copied[name].epoch) for name in names)
        self._send(ListOffsetsRequest(asked, replica_id=self._station.node), on_done)

    def _ends_known(self, outcome: ListOffsetsResponse | Disconnected) -> None:
        """Logs longer than the leader's are cut; of the others the leader's start has to be known."""
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
        """Logs that end before the leader's begin are given up; they begin anew at the leader's start."""
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
        """What was learnt of partitions that still want to know; those with errors rest."""
        usable = []
        for listed in outcome.partitions:
            if listed.partition not in self._out_of_range:
                continue
            if listed.error is ErrorCode.NONE:
                usable.append(listed)
            elif listed.error is ErrorCode.FENCED_LEADER_EPOCH:
                self.remove(listed.partition)
            else:
                self._rest(listed.partition)
        return usable

    def _in_range(self, name: TopicPartition) -> None:
        self._out_of_range.pop(name, None)
        self._moved[name] = None
