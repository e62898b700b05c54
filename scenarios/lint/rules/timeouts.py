"""Rules about contradicting times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING
from groupsim.scenarios.lint.librdkafka_keys import LIBRDKAFKA_KEYS
from groupsim.scenarios.lint.rule import Hit, Rule
from groupsim.scenarios.lint.view import ClientView

_SESSION, _BEAT, _POLL, _REQUEST = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "request.timeout.ms",
)


def _beat_not_below(view: ClientView) -> Iterator[Hit]:
    beat, session = view.number(_BEAT), view.number(_SESSION)
    if view.classic and beat >= session and view.written(_BEAT, _SESSION):
        message = f"{view.shown(_BEAT)} is not below {view.shown(_SESSION)}"
        accepts = view.client.library == "librdkafka"
        reason = "librdkafka accepts it; the broker removes the member before its next heartbeat" if accepts else ""
        yield Hit((_BEAT, _SESSION), message, f"set {view.setting(_BEAT, session // 3)}, or less", reason=reason)


def _beat_above_third(view: ClientView) -> Iterator[Hit]:
    beat, session = view.number(_BEAT), view.number(_SESSION)
    if view.classic and beat < session < 3 * beat and view.written(_BEAT, _SESSION):
        message = f"{view.shown(_BEAT)} is more than a third of {view.shown(_SESSION)}"
        remedy = f"set {view.setting(_BEAT, session // 3)}, or {view.setting(_SESSION, 3 * beat)}"
        yield Hit((_BEAT, _SESSION), message, remedy)


def _poll_below_session(view: ClientView) -> Iterator[Hit]:
    poll, session = view.number(_POLL), view.number(_SESSION)
    if not view.classic or not view.has_poll_limit or poll >= session or not view.written(_POLL, _SESSION):
        return
    message = f"{view.shown(_POLL)} is below {view.shown(_SESSION)}"
    remedy = f"set {view.setting(_POLL, session)}, or more"  # brokers refuse a session as short as some limits
    if view.client.library == "librdkafka" and not view.client.before(1, 0):
        reason = "librdkafka refuses it: creating the consumer fails"
        yield Hit((_POLL, _SESSION), message, remedy, ERROR, reason)
    else:
        yield Hit((_POLL, _SESSION), message, remedy)


#: Libraries whose JoinGroup has only its own read timeout, up to a version.
def _waits_for_request_timeout(view: ClientView) -> bool:
    client = view.client
    if client.library in ("sarama", "aiokafka", "ruby-kafka"):
        return True
    return client.is_("java", before=(2, 0)) or client.is_("kafka-python", before=(3, 0))


def _request_below_join(view: ClientView) -> Iterator[Hit]:
    request, hold = view.number(_REQUEST), view.rebalance_ms
    if not _waits_for_request_timeout(view) or request > hold:
        return
    written = view.written(_REQUEST, view.rebalance_key)
    message = f"{view.shown(_REQUEST)} ends a JoinGroup that the broker may hold for {view.shown(view.rebalance_key)}"
    remedy = f"set {view.setting(_REQUEST, hold + 5_000)}, or at least above {view.amount(_REQUEST, hold)}"
    yield Hit((_REQUEST, view.rebalance_key), message, remedy, "" if written else NOTE)


def _request_not_above_session(view: ClientView) -> Iterator[Hit]:
    old = view.client.is_("java", before=(2, 0)) or view.client.is_("kafka-python", (1, 4), (3, 0))
    if old and view.number(_REQUEST) <= view.number(_SESSION) and view.written(_REQUEST, _SESSION):
        message = f"{view.shown(_REQUEST)} is not above {view.shown(_SESSION)}"
        remedy = f"set {view.setting(_REQUEST, view.number(_SESSION) + 5_000)}, or more"
        yield Hit((_REQUEST, _SESSION), message, remedy)


def _fetch_not_below_request(view: ClientView) -> Iterator[Hit]:
    wait, request = _fetch_wait(view), view.number(_REQUEST)
    if wait is None or wait < request or view.client.library not in ("java", "kafka-python", "aiokafka"):
        return
    keys = ("fetch.max.wait.ms", _REQUEST)
    message = f"{view.name(keys[0])} = {wait} is not below {view.shown(_REQUEST)}"
    refuses = view.client.is_("java", before=(2, 0)) or view.client.library == "kafka-python"
    yield Hit(keys, message, f"set {view.name(keys[0])} below {request}; 500 is the default", ERROR if refuses else "")


def _fetch_wait(view: ClientView) -> int | None:
    return view.number("fetch.max.wait.ms") if view.written("fetch.max.wait.ms") else None


def _backoff(view: ClientView) -> Iterator[Hit]:
    for name in ("retry.backoff", "reconnect.backoff"):
        least, most = f"{name}.ms", f"{name}.max.ms"
        known = view.client.is_("java", (3, 7)) or (name == "reconnect.backoff" and view.client.is_("java", (0, 11)))
        if known and view.written(least, most) and view.number(least) > view.number(most):
            message = f"{view.shown(least)} is above {view.shown(most)}: the backoff does not grow"
            yield Hit((least, most), message, f"set {most} to {10 * view.number(least)}, or lower {least}")


def _api_below_request(view: ClientView) -> Iterator[Hit]:
    api = "default.api.timeout.ms"
    if view.client.is_("java", (2, 0)) and view.written(api, _REQUEST) and view.number(api) < view.number(_REQUEST):
        message = f"{view.shown(api)} is below {view.shown(_REQUEST)}"
        level = "" if view.written(api) else NOTE
        yield Hit((api, _REQUEST), message, f"set {api} to {2 * view.number(_REQUEST)}", level)


def _idle_close(view: ClientView) -> Iterator[Hit]:
    idle = "connections.max.idle.ms"
    concerned = view.client.library == "kafka-python" and view.written(idle, _REQUEST)
    if concerned and view.number(idle) <= view.number(_REQUEST):
        message = f"{view.shown(idle)} is not above {view.shown(_REQUEST)}"
        yield Hit((idle, _REQUEST), message, f"set {view.name(idle)} above {view.number(_REQUEST)}")


def _librdkafka_sizes(view: ClientView) -> Iterator[Hit]:
    if view.client.library != "librdkafka" or not view.pasted:
        return
    sizes = _sizes(view)
    fetch, message_max, receive = (sizes.get(name) for name in ("fetch.max.bytes", "message.max.bytes", _RECEIVE))
    if fetch is not None and fetch < (message_max or 1_000_000):
        message = f"`fetch.max.bytes` = {fetch} is below message.max.bytes = {message_max or '1000000 (default)'}"
        yield Hit(("fetch.max.bytes",), message, f"set fetch.max.bytes to at least {message_max or 1_000_000}")
    least = (fetch or 52_428_800) + 512
    if receive is not None and receive < least:
        message = f"`{_RECEIVE}` = {receive} is below fetch.max.bytes + 512 = {least}"
        yield Hit((_RECEIVE,), message, f"set {_RECEIVE} to {least}, or remove it")


_RECEIVE = "receive.message.max.bytes"


def _sizes(view: ClientView) -> Mapping[str, int]:
    names = [name for name in ("fetch.max.bytes", "message.max.bytes", _RECEIVE) if name in view.entries]
    texts = {name: str(view.entries[name].value).strip() for name in names if name in LIBRDKAFKA_KEYS}
    return {name: int(text) for name, text in texts.items() if text.isdecimal()}


def _in_seconds(view: ClientView) -> Iterator[Hit]:
    """Find a poll limit below a second: 300 means five minutes."""
    limit = view.number(_POLL)
    if view.has_poll_limit and view.written(_POLL) and limit < 1_000:
        message = f"{view.shown(_POLL)} is less than a second: were seconds meant?"
        yield Hit((_POLL,), message, f"set {view.setting(_POLL, limit * 1_000)}")


def _reset_none(view: ClientView) -> Iterator[Hit]:
    key = "auto.offset.reset"
    value = view.value(key)
    if view.written(key) and value in ("none", "error"):
        message = f"{view.shown(key)}: without a committed offset every poll() fails"
        yield Hit((key,), message, "set earliest or latest, or commit offsets before the group starts")


RULES: tuple[Rule[ClientView], ...] = (
    Rule(
        "heartbeat-not-below-session",
        ERROR,
        "a heartbeat interval as long as the session, or longer",
        "the client refuses to start: the session would end before the next heartbeat",
        "Heartbeat (`must be set lower than the session timeout`); sarama and kafkajs likewise",
        _beat_not_below,
    ),
    Rule(
        "heartbeat-above-third",
        WARNING,
        "fewer than three heartbeats in a session",
        "one or two late heartbeats end the session, and a rebalance follows",
        "documentation of heartbeat.interval.ms; corda/corda-runtime-os#3964",
        _beat_above_third,
    ),
    Rule(
        "poll-interval-below-session",
        NOTE,
        "a poll limit shorter than the session (librdkafka: error)",
        "in a rebalance the broker waits only for the poll limit, so the session has no effect there",
        "rd_kafka_conf_finalize; KIP-62; classic protocol, join phase",
        _poll_below_session,
    ),
    Rule(
        "request-timeout-below-join",
        WARNING,
        "a read timeout shorter than the broker may hold a JoinGroup",
        "this library times out on the parked JoinGroup and joins again: the rebalance may never complete",
        "zendesk/ruby-kafka#941; bsm/sarama-cluster#43; AbstractCoordinator before 2.0",
        _request_below_join,
    ),
    Rule(
        "request-timeout-not-above-session",
        ERROR,
        "a request timeout not above the session, in clients that require it",
        "ConfigException: request.timeout.ms should be greater than session.timeout.ms",
        "KafkaConsumer 0.9 to 1.1; kafka-python KafkaConsumer.__init__",
        _request_not_above_session,
    ),
    Rule(
        "fetch-wait-not-below-request",
        WARNING,
        "a fetch wait not below the request timeout (error in old clients)",
        "every fetch of an idle partition times out, and the connection is closed",
        "KafkaConsumer 0.9 to 1.1; kafka-python KafkaConsumer.__init__; NetworkClient.handleTimedOutRequests",
        _fetch_not_below_request,
    ),
    Rule(
        "backoff-above-maximum",
        NOTE,
        "a first backoff longer than the maximum",
        "the client uses the maximum from the start",
        "KIP-580; CommonClientConfigs.warnDisablingExponentialBackoff",
        _backoff,
    ),
    Rule(
        "api-timeout-below-request",
        WARNING,
        "default.api.timeout.ms below request.timeout.ms",
        "a blocking call times out before its first request does, so it never retries",
        "KIP-266",
        _api_below_request,
    ),
    Rule(
        "idle-close-not-above-request",
        ERROR,
        "connections_max_idle_ms not above request_timeout_ms (kafka-python)",
        "KafkaConfigurationError when the consumer is created",
        "kafka-python KafkaConsumer.__init__",
        _idle_close,
    ),
    Rule(
        "librdkafka-sizes",
        ERROR,
        "sizes of messages and fetches that exclude each other (librdkafka)",
        "librdkafka refuses them: creating the consumer fails",
        "rd_kafka_conf_finalize",
        _librdkafka_sizes,
    ),
    Rule(
        "poll-interval-in-seconds",
        WARNING,
        "a poll limit below one second, probably meant in seconds",
        "the value is milliseconds: any handler slower than that makes the client leave the group",
        "KIP-62; ConsumerConfig (max.poll.interval.ms)",
        _in_seconds,
    ),
    Rule(
        "reset-none",
        NOTE,
        "no offset reset",
        "a new group, a new partition and expired offsets need a start position",
        "ConsumerConfig.auto.offset.reset (NoOffsetForPartitionException)",
        _reset_none,
    ),
)
