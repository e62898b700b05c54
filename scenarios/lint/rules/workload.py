"""Rules about a scenario's application times against its settings: handlers, callbacks, pauses.

A distribution is read at its mean and at its 99th percentile. A batch of many records takes about their number times
the mean; their number times the 99th percentile is possible, and only a note.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.units import show_us
from groupsim.scenarios.language.model import MemberDefaults
from groupsim.scenarios.language.problems import NOTE, WARNING
from groupsim.scenarios.lint.rule import Hit, Rule
from groupsim.scenarios.lint.view import ClientView

_SESSION, _POLL, _RECORDS = "session.timeout.ms", "max.poll.interval.ms", "max.poll.records"
_WORD = 1 << 64
_POINTS = 1_000
_ENDLESS = 1_000_000  # records; a higher number means no limit


def p99_us(distribution: Distribution | None) -> int:
    """Return the 99th percentile, in µs; 0 without a distribution."""
    return distribution.quantile(99 * _WORD // 100) if distribution is not None else 0


def mean_us(distribution: Distribution | None) -> int:
    """Return the mean, in µs, from a thousand quantiles."""
    if distribution is None:
        return 0
    return sum(distribution.quantile((2 * at + 1) * _WORD // (2 * _POINTS)) for at in range(_POINTS)) // _POINTS


def about(us: int) -> str:
    """Format a duration, to a tenth of a second if it is longer than one second."""
    return show_us(us if us < 1_000_000 else us // 100_000 * 100_000).replace("00 s", " s")


def _spec(view: ClientView) -> MemberDefaults:
    return view.spec or MemberDefaults()


def _batch(view: ClientView) -> Iterator[Hit]:
    """Compare a full batch with the poll limit."""
    spec, limit, records = _spec(view), view.number(_POLL) * 1_000, view.number(_RECORDS)
    if not view.has_poll_limit or records > _ENDLESS or p99_us(spec.processing) > limit:
        return
    usual = records * mean_us(spec.processing) + mean_us(spec.per_batch) + mean_us(spec.poll_gap)
    if usual > limit:
        yield _batch_hit(view, usual, "takes about", "")
    elif (most := records * p99_us(spec.processing) + p99_us(spec.per_batch) + p99_us(spec.poll_gap)) > limit:
        yield _batch_hit(view, most, "may take up to", NOTE)


def _batch_hit(view: ClientView, us: int, words: str, level: str) -> Hit:
    records, limit = view.number(_RECORDS), view.number(_POLL)
    message = f"a full batch of {records} records {words} {about(us)}, above {view.shown(_POLL)}"
    fewer = max(1, records * limit * 1_000 * 2 // (us * 3))
    remedy = f"set {_RECORDS} to {fewer}" if records > 1 else ""
    longer = f"{_POLL} to {us * 3 // 2_000}"
    return Hit((_RECORDS, _POLL, "processing"), message, f"{remedy}, or {longer}" if remedy else f"set {longer}", level)


def _record(view: ClientView) -> Iterator[Hit]:
    """Compare a single record with the poll limit."""
    slow, limit = p99_us(_spec(view).processing), view.number(_POLL)
    if view.has_poll_limit and slow > limit * 1_000:
        message = f"one record in a hundred takes {about(slow)} or more, above {view.shown(_POLL)}"
        remedy = f"set {_POLL} to {slow * 3 // 2_000}, or process outside poll() and pause the partition"
        yield Hit((_POLL, "processing"), message, remedy)


def _starved(view: ClientView) -> Iterator[Hit]:
    """Find long handlers of clients without a heartbeat thread."""
    spec, session = _spec(view), view.number(_SESSION)
    if view.beats_alone:
        return
    records = view.number(_RECORDS)
    batch = records * mean_us(spec.processing) + mean_us(spec.per_batch) if records <= _ENDLESS else 0
    parts = (("one record in a hundred", spec.processing, p99_us(spec.processing)), ("a full batch", None, batch))
    for what, _, us in parts:
        if us > session * 1_000:
            message = f"{what} takes {about(us)}, above {view.shown(_SESSION)}, and no heartbeat is sent meanwhile"
            remedy = f"set {_SESSION} to {us * 3 // 2_000}, or process smaller batches"
            yield Hit((_SESSION, "processing"), message, remedy)
            return


def _revoked(view: ClientView) -> Iterator[Hit]:
    slow, hold = p99_us(_spec(view).on_revoked), view.rebalance_ms
    if slow > hold * 1_000:
        message = f"on-revoked takes up to {about(slow)}, above {view.shown(view.rebalance_key)}"
        remedy = f"set {view.rebalance_key} to {slow * 3 // 2_000}, or flush less in the callback"
        yield Hit(("on-revoked", view.rebalance_key), message, remedy)


def _callback_starves(view: ClientView) -> Iterator[Hit]:
    spec, session = _spec(view), view.number(_SESSION)
    slow = p99_us(spec.on_assigned)
    if not view.beats_alone and slow > session * 1_000:
        message = f"on-assigned takes up to {about(slow)} without a heartbeat, above {view.shown(_SESSION)}"
        yield Hit(("on-assigned", _SESSION), message, f"set {_SESSION} to {slow * 3 // 2_000}, or seek later")


def _assigned(view: ClientView) -> Iterator[Hit]:
    slow, limit = p99_us(_spec(view).on_assigned), view.number(_POLL)
    if view.has_poll_limit and view.beats_alone and slow > limit * 1_000:
        message = f"on-assigned takes up to {about(slow)}, above {view.shown(_POLL)}"
        yield Hit(("on-assigned", _POLL), message, f"set {_POLL} to {slow * 3 // 2_000}")


def _assignor(view: ClientView) -> Iterator[Hit]:
    slow, session = p99_us(_spec(view).assignor_time), view.number(_SESSION)
    silent = not view.client.profile.heartbeats.while_syncing or view.broker.before(2, 7)
    if silent and slow > session * 1_000:
        message = f"computing an assignment takes {about(slow)}, above {view.shown(_SESSION)}"
        yield Hit(("assignor-time", _SESSION), message, f"set {_SESSION} to {slow * 3 // 2_000}")


def _pause(view: ClientView) -> Iterator[Hit]:
    pauses = _spec(view).pauses
    if pauses is None:
        return
    length, session = p99_us(pauses.length), view.number(_SESSION) * 1_000
    gap = length + view.number("heartbeat.interval.ms") * 1_000
    if length > session:
        words, level = "one pause in a hundred takes", ""
    elif gap > session:
        words, level = "a pause and the heartbeat interval before it may take", NOTE
    else:
        return
    message = f"{words} {about(length if level == '' else gap)} or more, above {view.shown(_SESSION)}"
    yield Hit((_SESSION, "pauses"), message, f"set {_SESSION} to {-(-gap // 1_000_000) * 1_000 + 5_000}", level)


RULES: tuple[Rule[ClientView], ...] = (
    Rule(
        "batch-longer-than-poll-interval",
        WARNING,
        "a full batch that takes longer than max.poll.interval.ms",
        "the client leaves during the batch, its commit fails, and the next owner gets the same records",
        "KIP-62; dpkp/kafka-python#1418; aio-libs/aiokafka#848",
        _batch,
    ),
    Rule(
        "record-longer-than-poll-interval",
        WARNING,
        "single records that take longer than max.poll.interval.ms",
        "the record is delivered again and again, to one member after the other",
        "aio-libs/aiokafka#848; confluentinc/confluent-kafka-python#552",
        _record,
    ),
    Rule(
        "handler-starves-heartbeat",
        WARNING,
        "a handler longer than the session in a client without a heartbeat thread",
        "its heartbeats wait for the handler, and the broker removes the member meanwhile",
        "dpkp/kafka-python#1896; zendesk/ruby-kafka#767; KIP-62",
        _starved,
    ),
    Rule(
        "revoke-longer-than-rebalance",
        WARNING,
        "a revoke callback longer than the rebalance timeout",
        "the member joins only after it: the broker closes the rebalance without it",
        "confluentinc/parallel-consumer#646; snowflakedb/snowflake-kafka-connector#101",
        _revoked,
    ),
    Rule(
        "assigned-callback-starves-heartbeat",
        WARNING,
        "an assigned callback longer than the session in a client without a heartbeat thread",
        "no heartbeat is sent between the join and the end of the callback: the member is removed and joins again",
        "zendesk/ruby-kafka#767",
        _callback_starves,
    ),
    Rule(
        "assigned-longer-than-poll-interval",
        WARNING,
        "an assigned callback longer than max.poll.interval.ms",
        "the callback runs inside poll(): the client leaves before the next one",
        "KIP-62; AbstractCoordinator (poll timeout)",
        _assigned,
    ),
    Rule(
        "assignor-slower-than-session",
        WARNING,
        "a leader that computes for longer than the session",
        "without heartbeats between JoinGroup and SyncGroup the leader is removed every time",
        "KAFKA-10134; confluentinc/librdkafka#4629",
        _assignor,
    ),
    Rule(
        "pause-longer-than-session",
        WARNING,
        "pauses longer than the session",
        "a paused process sends no heartbeats: the broker removes it, and the group rebalances twice",
        "corda/corda-runtime-os#3964; odpi/egeria#5066",
        _pause,
    ),
)
