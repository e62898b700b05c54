"""The application around a consumer: how long it works, sleeps and blocks, and when it commits.

Durations are distributions that are drawn from named streams, so two runs that differ in one setting draw the same
values. The processing time of a record depends on partition and offset alone, not on the member or the batch. Sources:
user-needs reference, sections 4.1 and 4.2; classic-protocol reference, sections 4.3, 4.8, 4.10.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from attrs import field
from attrs.converters import optional

from groupsim.eventloop.distributions import Distribution, parse_distribution
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop
    from groupsim.eventloop.randomness import Stream
    from groupsim.members.interfaces import InTransaction

_BLOCK = 64  # records that share one stream of processing times
_AHEAD = 7  # times drawn ahead with each one that is needed
_LARGEST_WORD = (1 << 64) - 1


class CommitPolicy(StrEnum):
    """When the application commits offsets. AUTO leaves that to enable.auto.commit."""

    AUTO = "auto"
    SYNC_AFTER_BATCH = "sync-after-batch"
    ASYNC_AFTER_BATCH = "async-after-batch"
    ON_REVOKE = "on-revoke"
    NEVER = "never"


class Stuck(StrEnum):
    """Deliberate defects, for incidents that a broken client caused."""

    NEVER_HEARTBEAT = "never-heartbeat"
    NEVER_SYNC = "never-sync"
    NEVER_REJOIN = "never-rejoin"


def _distribution(given: Distribution | str | None) -> Distribution | None:
    return parse_distribution(given) if isinstance(given, str) else given


@frozen
class Behaviour:
    """One application. None means no time. Durations are drawn in microseconds, and may be written as text:
    `processing="5ms"`, `on_revoked="uniform(1s, 30s)"`.

        processing         time for each record
        per_batch          time for a batch of a partition, on top of its records
        poll_timeout       timeout after which `poll` returns no records; None: one long wait
        poll_gap           between a batch (with `poll_timeout` set: between any two polls) and the next poll
        on_assigned, on_revoked, on_lost    time that the callback takes
        assignor_time      how long the leader computes an assignment
        commit             when it commits: "auto", "sync-after-batch", "async-after-batch", "on-revoke", "never"
        on_error           reaction to an exception out of poll: "stop", "retry", "retry-all"; None: that of the
                           usual application of the library (`ClientProfile.error_loop`)
        error_pause_us     wait before the next poll after such an exception; None: likewise
        on_commit_failure  reaction to an exception out of commitSync; by default it is logged and polling goes on
        enforce_rebalance_every    interval at which the application enforces a rebalance (ClickHouse #33433)
        stuck              deliberate defects: "never-heartbeat", "never-sync", "never-rejoin"
        push_buffer        bytes of a buffer that records are pushed into; the process dies when it overflows
                           (`fetch.push_fetcher`)
        exactly_once       awaited with the records of each poll; it commits in place of the consumer (`producer.eos`)
    """

    processing: Distribution | None = field(default=None, converter=_distribution)
    per_batch: Distribution | None = field(default=None, converter=_distribution)
    poll_timeout: Distribution | None = field(default=None, converter=_distribution)
    poll_gap: Distribution | None = field(default=None, converter=_distribution)
    on_assigned: Distribution | None = field(default=None, converter=_distribution)
    on_revoked: Distribution | None = field(default=None, converter=_distribution)
    on_lost: Distribution | None = field(default=None, converter=_distribution)
    assignor_time: Distribution | None = field(default=None, converter=_distribution)
    commit: CommitPolicy = field(default=CommitPolicy.AUTO, converter=CommitPolicy)
    on_error: OnError | None = field(default=None, converter=optional(OnError))
    error_pause_us: int | None = None
    on_commit_failure: OnError = field(default=OnError.RETRY, converter=OnError)
    enforce_rebalance_every: Distribution | None = field(default=None, converter=_distribution)
    stuck: frozenset[Stuck] = frozenset()
    push_buffer: int | None = None
    exactly_once: InTransaction | None = None


class ProcessingTimes:
    """Processing times of records, by partition and offset."""

    __slots__ = ("_blocks", "_known", "_loop")

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._blocks: dict[TopicPartition, tuple[int, Distribution, Stream, list[int]]] = {}
        self._known: tuple[Distribution, int | None] | None = None

    def records_us(self, distribution: Distribution, partition: TopicPartition, base: int, count: int) -> int:
        """Return the time that offsets `base` … `base + count - 1` take together."""
        known = self._known
        if known is None or known[0] is not distribution:
            known = self._known = distribution, _constant_us(distribution)
        if known[1] is not None:
            return known[1] * count
        if count == 1:
            number, at = divmod(base, _BLOCK)
            return self._block(distribution, partition, number, at + 1)[at]
        total, offset, end = 0, base, base + count
        while offset < end:
            number, at = divmod(offset, _BLOCK)
            upto = min(_BLOCK, at + end - offset)
            total += sum(self._block(distribution, partition, number, upto)[at:upto])
            offset += upto - at
        return total

    def batch_us(self, distribution: Distribution, partition: TopicPartition, base: int) -> int:
        """Return the time that a batch starting at `base` takes on top of its records."""
        return distribution.draw(self._loop.stream("per-batch", f"{partition}@{base}"))

    def _block(self, distribution: Distribution, partition: TopicPartition, number: int, upto: int) -> list[int]:
        """Return the times of a block's records, at least the first `upto`: a new owner needs only a few of them."""
        held = self._blocks.get(partition)
        if held is None or held[0] != number or held[1] is not distribution:
            stream = self._loop.stream("processing", f"{partition}@{number * _BLOCK}")
            held = self._blocks[partition] = (number, distribution, stream, [])
        drawn = held[3]
        if len(drawn) < upto:
            drawn += distribution.draws(held[2], min(upto + _AHEAD, _BLOCK) - len(drawn))
        return drawn


def _constant_us(distribution: Distribution) -> int | None:
    """Return the duration of a constant distribution, which needs no draw; None for others."""
    least, most = distribution.quantile(0), distribution.quantile(_LARGEST_WORD)
    return least if least == most else None
