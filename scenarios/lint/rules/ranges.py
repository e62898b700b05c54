"""Rules about the broker: its limits for clients, its own settings, its retention of offsets."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.members.keys import CONSUMER_KEYS
from groupsim.protocol.messages.group import Api
from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING
from groupsim.scenarios.lint.brokers import BrokerView, is_number
from groupsim.scenarios.lint.places import BROKER_SINCE
from groupsim.scenarios.lint.rule import Hit, Rule
from groupsim.scenarios.lint.rules.names import shown
from groupsim.scenarios.lint.view import ClientView

_SESSION, _LOW, _HIGH = "session.timeout.ms", "group.min.session.timeout.ms", "group.max.session.timeout.ms"
_DELAY, _RETENTION = "group.initial.rebalance.delay.ms", "offsets.retention.minutes"
_CHECK = "offsets.retention.check.interval.ms"
_WEEKEND_MINUTES = 4_320
#: Prefixes of consumer keys that no broker key has.
_CLIENTS_OWN = ("session.", "heartbeat.", "max.poll.", "partition.assignment.", "group.i", "auto.commit.", "auto.off")


def _outside(view: ClientView) -> Iterator[Hit]:
    session, low, high = view.number(_SESSION), view.broker.number(_LOW), view.broker.number(_HIGH)
    concerned = (
        view.written(_SESSION) or view.broker.written(_LOW) or view.broker.written(_HIGH) or view.broker.version_given
    )
    if view.classic and concerned and not low <= session <= high:
        message = f"{view.shown(_SESSION)} is outside the broker's {low} to {high}"
        remedy = f"set {view.setting(_SESSION, min(max(session, low), high))}, or {_bound(session, low)} on the brokers"
        yield Hit((_SESSION,), message, remedy)


def _bound(session: int, low: int) -> str:
    return f"{_LOW} = {session}" if session < low else f"{_HIGH} = {session}"


def _delay_above_request(view: ClientView) -> Iterator[Hit]:
    request, delay = view.number("request.timeout.ms"), view.broker.number(_DELAY)
    if Api.JOIN_GROUP not in view.client.profile.parked and view.broker.written(_DELAY) and delay >= request:
        message = f"{view.shown('request.timeout.ms')} ends the first join, which waits {_DELAY} = {delay}"
        yield Hit(("request.timeout.ms",), message, f"set {_DELAY} below {request}, or the read timeout above {delay}")


def _commit_above_retention(view: ClientView) -> Iterator[Hit]:
    key = "auto.commit.interval.ms"
    interval, kept = view.number(key), view.broker.number(_RETENTION) * 60_000
    if view.broker.before(2, 1) and view.value("enable.auto.commit") and view.written(key) and interval >= kept:
        message = f"{view.shown(key)} is not below {_RETENTION} = {kept // 60_000}"
        yield Hit((key,), message, f"set {view.setting(key, 5_000)}, or {_RETENTION} = 10080 on the brokers")


def _idle_expiry(view: ClientView) -> Iterator[Hit]:
    """Find clients that do not commit unchanged offsets, on brokers before 2.1 (KIP-211)."""
    if view.broker.before(2, 1) and not view.client.profile.commits.unchanged:
        minutes = view.broker.number(_RETENTION)
        message = f"a partition without records for {minutes // 60} h loses its offset while the group runs"
        yield Hit((), message, f"set {_RETENTION} to 10080 on the brokers, or upgrade them to 2.1")


# --- the broker alone --------------------------------------------------------------------------------------------


def _client_key(broker: BrokerView) -> Iterator[Hit]:
    for name in broker.settings:
        if name in CONSUMER_KEYS and name.startswith(_CLIENTS_OWN):
            remedy = "remove it here; set it for the consumers"
            yield Hit((name,), f"`{name}` is a consumer's setting: on a broker it has no effect", remedy)


def _impossible(broker: BrokerView) -> Iterator[Hit]:
    for name, written in broker.settings.items():
        text = str(written.value).strip().removeprefix("-")
        if is_number(name) and not text.isdecimal():
            yield Hit((name,), f"`{name}` = {written.value}: not a number", "write a bare number")


def _too_new(broker: BrokerView) -> Iterator[Hit]:
    for name in broker.settings:
        since = BROKER_SINCE.get(name)
        if since is not None and broker.before(*since):
            message = f"`{name}` came with broker {shown(since)}; {broker.version_text} ignores it"
            yield Hit((name,), message, "remove it, or upgrade the brokers")


def _min_above_max(broker: BrokerView) -> Iterator[Hit]:
    low, high = broker.number(_LOW), broker.number(_HIGH)
    if low > high and (broker.written(_LOW) or broker.written(_HIGH)):
        yield Hit((_LOW, _HIGH), f"{_LOW} = {low} is above {_HIGH} = {high}", f"set {_LOW} to 6000")


def _ranges_848(broker: BrokerView) -> Iterator[Hit]:
    for what in ("session.timeout.ms", "heartbeat.interval.ms"):
        own, low, high = (f"group.consumer.{part}{what}" for part in ("", "min.", "max."))
        if not any(broker.written(key) for key in (own, low, high)):
            continue
        value, least, most = (broker.number(key) for key in (own, low, high))
        if not least <= value <= most:
            message = f"{own} = {value} is outside {low} = {least} to {high} = {most}"
            yield Hit(
                (own, low, high), message, f"set {own} to {min(max(value, least), most)}, or change the limit too"
            )
    session, beat = "group.consumer.session.timeout.ms", "group.consumer.heartbeat.interval.ms"
    if (broker.written(session) or broker.written(beat)) and broker.number(beat) >= broker.number(session):
        message = f"{beat} = {broker.number(beat)} is not below {session} = {broker.number(session)}"
        yield Hit((beat, session), message, f"set {beat} to {broker.number(session) // 3}")


def _short_retention(broker: BrokerView) -> Iterator[Hit]:
    minutes = broker.number(_RETENTION)
    if minutes < _WEEKEND_MINUTES and (broker.version_given or broker.written(_RETENTION)):
        default = "" if broker.written(_RETENTION) else " (default)"
        message = f"{_RETENTION} = {minutes}{default}: a group that is idle over a weekend loses its offsets"
        yield Hit((_RETENTION,), message, f"set {_RETENTION} to 10080")


def _rare_check(broker: BrokerView) -> Iterator[Hit]:
    interval, minutes = broker.number(_CHECK), broker.number(_RETENTION)
    if broker.written(_CHECK) and interval > minutes * 60_000:
        message = f"{_CHECK} = {interval} is longer than {_RETENTION} = {minutes}"
        yield Hit((_CHECK,), message, f"set {_CHECK} to 600000: offsets outlive their retention by the interval")


CLIENT_RULES: tuple[Rule[ClientView], ...] = (
    Rule(
        "session-outside-broker-range",
        ERROR,
        "a session that the broker refuses",
        "JoinGroup is answered INVALID_SESSION_TIMEOUT, and poll() throws",
        "GroupCoordinator.handleJoinGroup; group.max.session.timeout.ms is 1800000 since 2.3, 300000 before",
        _outside,
    ),
    Rule(
        "initial-delay-above-request-timeout",
        WARNING,
        "an initial rebalance delay longer than the client waits for JoinGroup",
        "the first join of the group times out on the socket every time",
        "KIP-134; zendesk/ruby-kafka#941",
        _delay_above_request,
    ),
    Rule(
        "commit-interval-above-retention",
        ERROR,
        "offsets that expire before they are committed again (brokers before 2.1)",
        "before KIP-211 an offset ages from its commit, even while its group runs",
        "KIP-211",
        _commit_above_retention,
    ),
    Rule(
        "idle-offsets-expire",
        NOTE,
        "offsets of idle partitions that expire in a running group (brokers before 2.1)",
        "this library does not commit unchanged offsets again, and an offset ages from its commit",
        "KIP-211; confluentinc/librdkafka#1442",
        _idle_expiry,
    ),
)
BROKER_RULES: tuple[Rule[BrokerView], ...] = (
    Rule(
        "impossible-broker-value",
        ERROR,
        "a value that the broker cannot read",
        "the broker refuses to start (ConfigException)",
        "ConfigDef.parseType",
        _impossible,
    ),
    Rule(
        "client-key-on-broker",
        WARNING,
        "a consumer's setting in the broker's configuration",
        "the broker ignores it; every consumer keeps its own",
        "KafkaConfig; AbstractConfig.logUnused",
        _client_key,
    ),
    Rule(
        "broker-key-too-new",
        WARNING,
        "a setting newer than the broker",
        "an older broker ignores it and keeps its old behaviour",
        "KIP-134 (0.11), KIP-389 (2.2), KIP-848 (3.7)",
        _too_new,
    ),
    Rule(
        "min-session-above-max",
        ERROR,
        "the shortest session above the longest",
        "no session is between the two: every JoinGroup is answered INVALID_SESSION_TIMEOUT",
        "GroupCoordinatorConfig",
        _min_above_max,
    ),
    Rule(
        "consumer-group-range",
        ERROR,
        "settings of KIP-848 groups outside their own limits",
        "the broker refuses to start",
        "KIP-848; GroupCoordinatorConfig.validate",
        _ranges_848,
    ),
    Rule(
        "retention-below-weekend",
        NOTE,
        "offsets kept for less than three days",
        "the retention of an empty group begins when its last member leaves, and auto.offset.reset decides afterwards",
        "KIP-186 (1440 to 10080 in 2.0), KIP-211; thomhurst/Dekaf#2259",
        _short_retention,
    ),
    Rule(
        "retention-check-rare",
        NOTE,
        "a check for expired offsets less often than they expire",
        "only the next check deletes an expired offset",
        "GroupMetadataManager (expiry task)",
        _rare_check,
    ),
)
