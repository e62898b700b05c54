"""Rules about settings of the library that have no effect, or are refused, beside another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupsim.members.profiles import RebalanceTimeout
from groupsim.scenarios.language.clients import ANY
from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING
from groupsim.scenarios.lint.places import Version
from groupsim.scenarios.lint.rule import Hit, Rule
from groupsim.scenarios.lint.rules.names import shown
from groupsim.scenarios.lint.view import ClientView

_CLASSIC_ONLY = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
_NEVER: Version = (ANY, ANY)
#: First version that sends group.instance.id (KIP-345); `_NEVER` if no version does.
STATIC_SINCE: Mapping[str, Version] = {
    "java": (2, 3),
    "librdkafka": (1, 4),
    "kafka-python": (2, 3),
    "aiokafka": (0, 5),
    "sarama": (1, 34),
    "franz-go": (0,),
    "kafkajs": _NEVER,
    "ruby-kafka": _NEVER,
}
#: First version with a consumer for KIP-848 groups.
_NEW_PROTOCOL: Mapping[str, Version] = {"java": (3, 7), "librdkafka": (2, 4)}


def _poll_limit(view: ClientView) -> Iterator[Hit]:
    key = "max.poll.interval.ms"
    if view.written(key) and not view.has_poll_limit and view.rebalance_key != key and _knows(view, key):
        message = f"`{view.name(key)}` has no effect: {view.client.name} never leaves for a slow handler"
        instead = view.name("session.timeout.ms")
        more = "" if view.beats_alone else "; a slow handler must end within it, or send heartbeats"
        yield Hit((key,), message, f"remove it; {instead} ends a membership here{more}")


def _rebalance_timeout(view: ClientView) -> Iterator[Hit]:
    key, kind = "rebalance.timeout.ms", view.client.profile.rebalance_timeout
    if not view.written(key) or kind not in (RebalanceTimeout.MAX_POLL, RebalanceTimeout.UNSENT) or view.pasted:
        return
    own = "max.poll.interval.ms" if kind is RebalanceTimeout.MAX_POLL else "session.timeout.ms"
    message = f"`{key}` has no effect: {view.client.name} sends {own} as rebalance timeout"
    yield Hit((key,), message, f"set {view.name(own)} = {view.number(key)}")


def _knows(view: ClientView, key: str) -> bool:
    """Return whether the library has the key; `key-of-another-library` and `key-too-new` report other keys."""
    return not view.pasted or view.name(key) != key or view.client.library == "librdkafka"


def _commit_interval(view: ClientView) -> Iterator[Hit]:
    key = "auto.commit.interval.ms"
    if view.written(key) and not view.value("enable.auto.commit"):
        message = f"`{view.name(key)}` has no effect while {view.shown('enable.auto.commit')}"
        yield Hit((key,), message, f"remove it, or set {view.name('enable.auto.commit')} = true")


def _classic_key(view: ClientView) -> Iterator[Hit]:
    refuses = view.client.is_("java", (4, 0)) or view.client.is_("librdkafka", (2, 10))
    level = "" if refuses else WARNING
    for key in _CLASSIC_ONLY if not view.classic else ():
        if view.written(key):
            remedy = {
                "session.timeout.ms": "remove it; the broker's group.consumer.session.timeout.ms (45000) holds",
                "heartbeat.interval.ms": "remove it; the broker's group.consumer.heartbeat.interval.ms (5000) holds",
            }.get(key, "remove it; set group.remote.assignor = uniform or range")
            yield Hit((key,), f"`{key}` belongs to group.protocol = classic, but consumer is set", remedy, level)


def _remote_assignor(view: ClientView) -> Iterator[Hit]:
    written = view.entries.get("group.remote.assignor")
    if written is not None and str(written.value).strip() and view.classic:
        refuses = view.client.is_("java", (3, 7))
        message = f"`group.remote.assignor` needs group.protocol = consumer; here it is {view.value('group.protocol')}"
        remedy = "set group.protocol = consumer, or remove it and set partition.assignment.strategy"
        yield Hit(("group.remote.assignor",), message, remedy, "" if refuses else WARNING)


def _new_protocol(view: ClientView) -> Iterator[Hit]:
    if view.classic:
        return
    since = _NEW_PROTOCOL.get(view.client.library)
    if since is None or view.client.before(*since):
        message = f"{view.client.name} has no group.protocol = consumer (KIP-848)"
        newest = f"upgrade to {view.client.library} {shown(since)}" if since else "remove it"
        yield Hit(("group.protocol",), message, f"{newest}, or use classic", WARNING)
    elif view.broker.before(4, 0):
        refuses = view.broker.before(3, 7)
        message = f"group.protocol = consumer on a broker {view.broker.version_text}"
        remedy = "upgrade the brokers to 4.0, or use classic"
        yield Hit(("group.protocol",), message, remedy, "" if refuses else WARNING)


def _static_id(view: ClientView) -> Iterator[Hit]:
    since = STATIC_SINCE.get(view.client.library)
    if view.instance_id is None or since is None or not view.client.before(*since):
        return
    message = f"{view.client.name} does not send `group.instance.id`: its members are dynamic"
    upgrade = f"; {view.client.library} {shown(since)} has it" if since != _NEVER else ""
    yield Hit(("group.instance.id",), message, f"remove it{upgrade}")


def _static_broker(view: ClientView) -> Iterator[Hit]:
    if view.instance_id is not None and view.broker.before(2, 3):
        message = f"a broker {view.broker.version_text} has no static members"
        yield Hit(("group.instance.id",), message, "remove group.instance.id, or upgrade the brokers to 2.3")


RULES: tuple[Rule[ClientView], ...] = (
    Rule(
        "poll-limit-not-enforced",
        WARNING,
        "max.poll.interval.ms with a library that has no such limit",
        "the client enforces KIP-62's limit, and this library does not",
        "KIP-62; user needs, defaults by library; dpkp/kafka-python#1896",
        _poll_limit,
    ),
    Rule(
        "rebalance-timeout-not-sent",
        WARNING,
        "rebalance.timeout.ms with a library that does not send it",
        "JoinGroup has another setting of the library as rebalance timeout",
        "KIP-62; kafka4beam/brod#465; JoinGroupRequest v0",
        _rebalance_timeout,
    ),
    Rule(
        "commit-interval-unused",
        NOTE,
        "auto.commit.interval.ms without auto-commit",
        "nothing is committed at an interval while auto-commit is off",
        "ConsumerCoordinator.maybeAutoCommitOffsetsAsync",
        _commit_interval,
    ),
    Rule(
        "classic-key-with-consumer-protocol",
        ERROR,
        "session, heartbeat or assignor settings with group.protocol = consumer",
        "with KIP-848 the broker decides them: the client refuses to start, or (3.7 to 3.9) ignores them",
        "KIP-848; ConsumerConfig of 4.0; rd_kafka_conf_finalize of 2.10",
        _classic_key,
    ),
    Rule(
        "remote-assignor-with-classic",
        ERROR,
        "group.remote.assignor with the classic protocol",
        "the assignor runs on the broker only in KIP-848 groups; the Java client refuses to start",
        "KIP-848; ConsumerConfig.checkGroupRemoteAssignor",
        _remote_assignor,
    ),
    Rule(
        "consumer-protocol-unsupported",
        ERROR,
        "group.protocol = consumer where client or broker has none",
        "KIP-848 groups are in preview from 3.7 and complete in 4.0; older brokers do not know the request",
        "KIP-848; confluentinc/librdkafka#5210",
        _new_protocol,
    ),
    Rule(
        "static-id-ignored",
        WARNING,
        "group.instance.id with a client that does not send it",
        "the client requests static membership: JoinGroup v5 has the id",
        "KIP-345; tulios/kafkajs, zendesk/ruby-kafka (JoinGroup v1)",
        _static_id,
    ),
    Rule(
        "static-needs-broker",
        ERROR,
        "group.instance.id on a broker older than 2.3",
        "JoinGroup v5 does not exist there: UnsupportedVersionException out of poll()",
        "KIP-345; AbstractCoordinator (UNSUPPORTED_VERSION)",
        _static_broker,
    ),
)
