"""What the application around a consumer does: how long it works, sleeps and blocks, and when it commits.

Durations are distributions, drawn from named streams, so that two runs that differ in one setting see the same luck.
The time one record takes belongs to its partition and offset: whoever processes it, and in whatever batch, it takes
as long. Sources: user-needs reference, sections 4.1 and 4.2; classic-protocol reference, sections 4.3, 4.8, 4.10.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from attrs import field, frozen
from attrs.converters import optional

from groupsim.eventloop.distributions import Distribution, parse_distribution
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.messages.group import TopicPartition

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop
    from groupsim.eventloop.randomness import Stream
    from groupsim.members.interfaces import InTransaction

_BLOCK = 64  # records whose times come from one stream
_AHEAD = 7  # how many more are drawn, when one is
_LARGEST_WORD = (1 << 64) - 1


class CommitPolicy(StrEnum):
    """When offsets are committed. AUTO leaves it to enable.auto.commit."""

    AUTO = "auto"
    SYNC_AFTER_BATCH = "sync-after-batch"
    ASYNC_AFTER_BATCH = "async-after-batch"
    ON_REVOKE = "on-revoke"
    NEVER = "never"


class Stuck(StrEnum):
    """Deliberate defects of a client, for incidents whose client was broken."""

    NEVER_HEARTBEAT = "never-heartbeat"
    NEVER_SYNC = "never-sync"
    NEVER_REJOIN = "never-rejoin"


def _distribution(said: Distribution | str | None) -> Distribution | None:
    return parse_distribution(said) if isinstance(said, str) else said


@frozen
class Behaviour:
    """One application. None means: takes no time. Durations are drawn in microseconds, and may be written as text:
    `processing="5ms"`, `on_revoked="uniform(1s, 30s)"`.

        processing         time for each record
        per_batch          time for a batch of a partition, on top of its records
        poll_timeout       `poll` returns empty-handed after this; None: one long wait
        poll_gap           between a batch (with `poll_timeout` set: between any two polls) and the next poll
        on_assigned, on_revoked, on_lost    time that the callback takes
        assignor_time      how long the leader computes an assignment
        commit             when it commits: "auto", "sync-after-batch", "async-after-batch", "on-revoke", "never"
        on_error           what it does about an exception out of poll: "stop", "retry", "retry-all"; None: what
                           the usual application of its library does (`ClientProfile.error_loop`)
        error_pause_us     how long it waits then, before it polls again; None: likewise
        on_commit_failure  what it does when commitSync throws: logs that and goes on polling, unless told
        enforce_rebalance_every    it asks for a rebalance again and again, with this time between (ClickHouse #33433)
        stuck              defects on purpose: "never-heartbeat", "never-sync", "never-rejoin"
        push_buffer        records are pushed, not pulled, into so many bytes; the process dies of more (`pull.pushed`)
        exactly_once       awaited with the records of each poll, in whose place it commits (`producer.eos`)
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
    """How long records take, by partition and offset."""

    __slots__ = ("_blocks", "_known", "_loop")

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._blocks: dict[TopicPartition, tuple[int, Distribution, Stream, list[int]]] = {}
        self._known: tuple[Distribution, int | None] | None = None

    def records_us(self, distribution: Distribution, partition: TopicPartition, base: int, count: int) -> int:
        """The time that offsets `base` … `base + count - 1` take together."""
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
        """The time a batch that begins at `base` takes on top of its records."""
        return distribution.draw(self._loop.stream("per-batch", f"{partition}@{base}"))

    def _block(self, distribution: Distribution, partition: TopicPartition, number: int, upto: int) -> list[int]:
        """The times of a block's records, the first `upto` at least: who takes a partition over needs a few of them."""
        held = self._blocks.get(partition)
        if held is None or held[0] != number or held[1] is not distribution:
            stream = self._loop.stream("processing", f"{partition}@{number * _BLOCK}")
            held = self._blocks[partition] = (number, distribution, stream, [])
        drawn = held[3]
        if len(drawn) < upto:
            drawn += distribution.draws(held[2], min(upto + _AHEAD, _BLOCK) - len(drawn))
        return drawn


def _constant_us(distribution: Distribution) -> int | None:
    """The one duration of a constant distribution, which needs no luck; None for others."""
    least, most = distribution.quantile(0), distribution.quantile(_LARGEST_WORD)
    return least if least == most else None
