"""Table of the configuration keys of Kafka's consumer, and whether each has an effect here.

A pasted `consumer.properties` is readable as it is. Keys of the group protocol have an effect; those of fetches have
one where consumers pull from brokers' logs, and none on the light cluster. All others are accepted with a note, and
values that may be secrets (`sasl.*`, `ssl.*`) are never read. Source: Kafka's `ConsumerConfig`, `SaslConfigs` and
`SslConfigs` (4.x); defaults are the Java consumer's, milliseconds for `*.ms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from groupsim.protocol.values import frozen

NO_EFFECT = "accepted, no effect here"
PULL_ONLY = "accepted; has an effect only where consumers pull from brokers' logs"
SECRET_PREFIXES = ("sasl.", "ssl.")
NO_SECURITY = "accepted, no effect here: there is no security"
SECRET_NOTE = "accepted, no effect here: there is no security, and the value is not kept"


class KeyType(StrEnum):
    """Type of a key's values."""

    MS = "milliseconds"
    INT = "integer"
    NUMBER = "number"
    BOOL = "boolean"
    STRING = "string"
    LIST = "list"


@frozen
class ClientKey:
    """One key: type, default, allowed values, and whether it has an effect here; if not, `note` explains that.

    `pull` keys have an effect for a consumer that pulls, and none on the light cluster.
    """

    name: str
    type: KeyType
    default: object = None
    effect: bool = False
    note: str = NO_EFFECT
    minimum: int | None = None
    choices: tuple[str, ...] = ()
    pull: bool = False


_MS, _INT, _BOOL, _STR, _LIST = KeyType.MS, KeyType.INT, KeyType.BOOL, KeyType.STRING, KeyType.LIST


def acts(
    name: str, kind: KeyType, default: object, minimum: int | None = None, choices: tuple[str, ...] = ()
) -> ClientKey:
    """Return a key with an effect."""
    return ClientKey(name, kind, default, effect=True, note="", minimum=minimum, choices=choices)


def _pulls(
    name: str, kind: KeyType, default: object, minimum: int = 0, choices: tuple[str, ...] = (), note: str = PULL_ONLY
) -> ClientKey:
    return ClientKey(name, kind, default, note=note, minimum=minimum, choices=choices, pull=True)


#: Keys of the consumer that the producer has too.
OF_EVERY_CLIENT = (
    acts("client.id", _STR, ""),
    acts("request.timeout.ms", _MS, 30_000, 0),
    acts("retry.backoff.ms", _MS, 100, 0),
    acts("retry.backoff.max.ms", _MS, 1_000, 0),
    acts("reconnect.backoff.ms", _MS, 50, 0),
    acts("reconnect.backoff.max.ms", _MS, 1_000, 0),
    acts("metadata.max.age.ms", _MS, 300_000, 0),
    ClientKey("bootstrap.servers", _LIST, None),
    ClientKey("auto.include.jmx.reporter", _BOOL, True),
    ClientKey("client.dns.lookup", _STR, "use_all_dns_ips"),
    ClientKey("config.providers", _LIST, ""),
    ClientKey("connections.max.idle.ms", _MS, 540_000),
    ClientKey("enable.metrics.push", _BOOL, True),
    ClientKey("interceptor.classes", _LIST, ""),
    ClientKey("metadata.recovery.rebootstrap.trigger.ms", _MS, 300_000),
    ClientKey("metadata.recovery.strategy", _STR, "rebootstrap"),
    ClientKey("metric.reporters", _LIST, ""),
    ClientKey("metrics.num.samples", _INT, 2),
    ClientKey("metrics.recording.level", _STR, "INFO"),
    ClientKey("metrics.sample.window.ms", _MS, 30_000),
    ClientKey("security.protocol", _STR, "PLAINTEXT", note=NO_SECURITY),
    ClientKey("security.providers", _STR, None, note=NO_SECURITY),
    ClientKey("send.buffer.bytes", _INT, 131_072),
    ClientKey("socket.connection.setup.timeout.max.ms", _MS, 30_000),
    ClientKey("socket.connection.setup.timeout.ms", _MS, 10_000),
)
_WITH_EFFECT = (
    acts("group.id", _STR, None),
    acts("group.instance.id", _STR, None),
    acts("client.rack", _STR, ""),
    acts("session.timeout.ms", _MS, 45_000, 1),
    acts("heartbeat.interval.ms", _MS, 3_000, 1),
    acts("max.poll.interval.ms", _MS, 300_000, 1),
    acts("max.poll.records", _INT, 500, 1),
    acts("partition.assignment.strategy", _LIST, "range,cooperative-sticky"),
    acts("enable.auto.commit", _BOOL, True),
    acts("auto.commit.interval.ms", _MS, 5_000, 0),
    acts("auto.offset.reset", _STR, "latest", choices=("latest", "earliest", "none")),
    acts("default.api.timeout.ms", _MS, 60_000, 0),
    acts("exclude.internal.topics", _BOOL, True),
    acts("internal.leave.group.on.close", _BOOL, None),
    acts("group.protocol", _STR, "classic", choices=("classic", "consumer")),
    acts("group.remote.assignor", _STR, None),
    # not a Kafka key: one name for the rebalance timeout that other libraries send
    acts("rebalance.timeout.ms", _MS, None, 1),
)
_WHERE_CONSUMERS_PULL = (
    _pulls("fetch.min.bytes", _INT, 1),
    _pulls("fetch.max.wait.ms", _MS, 500, note=f"{PULL_ONLY}; elsewhere a fetch waits until records arrive"),
    _pulls("fetch.max.bytes", _INT, 52_428_800),
    _pulls("max.partition.fetch.bytes", _INT, 1_048_576),
    _pulls("isolation.level", _STR, "read_uncommitted", choices=("read_uncommitted", "read_committed")),
)
_WITHOUT_EFFECT = (
    ClientKey("key.deserializer", _STR, None),
    ClientKey("value.deserializer", _STR, None),
    ClientKey("allow.auto.create.topics", _BOOL, True),
    ClientKey("check.crcs", _BOOL, True),
    ClientKey("internal.throw.on.fetch.stable.offset.unsupported", _BOOL, False),
    ClientKey("receive.buffer.bytes", _INT, 65_536),
    ClientKey("share.acknowledgement.mode", _STR, "implicit", note="accepted; belongs to share groups"),
    # keys of librdkafka, often pasted
    ClientKey("enable.auto.offset.store", _BOOL, True),
    ClientKey("enable.partition.eof", _BOOL, False),
    ClientKey("metadata.broker.list", _LIST, None),
    ClientKey("queued.min.messages", _INT, 100_000),
    ClientKey("queued.max.messages.kbytes", _INT, 65_536),
    ClientKey("socket.keepalive.enable", _BOOL, False),
    ClientKey("statistics.interval.ms", _MS, 0),
)
_SECRET = """
sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
sasl.login.callback.handler.class sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism
sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include
sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
sasl.oauthbearer.assertion.template.file sasl.oauthbearer.client.credentials.client.id
sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.clock.skew.seconds
sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode
sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope
sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url
ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class
ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location
ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location ssl.truststore.password
ssl.truststore.type
"""

#: The known keys by name.
CONSUMER_KEYS: Mapping[str, ClientKey] = {
    key.name: key
    for key in (
        *_WITH_EFFECT,
        *OF_EVERY_CLIENT,
        *_WHERE_CONSUMERS_PULL,
        *_WITHOUT_EFFECT,
        *(ClientKey(name, _STR, note=SECRET_NOTE) for name in _SECRET.split()),
    )
}

#: Java class names of the built-in assignors, as written in properties.
JAVA_ASSIGNORS: Mapping[str, str] = {
    f"org.apache.kafka.clients.consumer.{name}": assignor
    for name, assignor in (
        ("RangeAssignor", "range"),
        ("RoundRobinAssignor", "roundrobin"),
        ("StickyAssignor", "sticky"),
        ("CooperativeStickyAssignor", "cooperative-sticky"),
    )
}
