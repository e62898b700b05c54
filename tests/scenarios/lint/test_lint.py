"""The linter's rules: each has a case with a finding and a similar one without."""

from __future__ import annotations

import pytest

from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING, ScenarioError
from groupsim.scenarios.lint import (
    RULES,
    LintFinding,
    broker_of,
    client_of,
    is_producers,
    lint_broker,
    lint_producer,
    lint_properties,
    lint_scenario,
)
from groupsim.scenarios.lint.rules import migration

JAVA, OLD_JAVA, RD, PYTHON = "java-3.9", "java-1.1", "librdkafka-2.3.0", "kafka-python-2.0"
CLASS = "org.apache.kafka.clients.consumer."

# rule, client, broker's version, text with a finding, text without; lines are separated by " | "
CLIENT_CASES = [
    ("broker-key-on-client", JAVA, None, "group.initial.rebalance.delay.ms=0", "group.id=g"),
    ("broker-key-on-client", RD, None, "group.max.session.timeout.ms=60000", "group.instance.id=a"),
    ("topic-key-on-client", JAVA, None, "retention.ms=1", "metadata.max.age.ms=1"),
    ("producer-key-on-consumer", JAVA, None, "linger.ms=5", "fetch.max.wait.ms=5"),
    ("producer-key-on-consumer", RD, None, "request.timeout.ms=5000", "socket.timeout.ms=5000"),
    ("framework-key-on-consumer", JAVA, None, "rebalance.timeout.ms=60000", "max.poll.interval.ms=60000"),
    ("framework-key-on-consumer", JAVA, None, "num.stream.threads=2", "max.poll.records=2"),
    ("key-of-another-library", RD, None, "max.poll.records=10", "queued.min.messages=10"),
    ("key-of-another-library", JAVA, None, "enable.auto.offset.store=false", "enable.auto.commit=false"),
    ("key-of-another-library", JAVA, None, "session_timeout_ms=10000", "session.timeout.ms=10000"),
    ("key-of-another-library", "kafkajs", None, "session.timeout.ms=10000", "sessionTimeout=10000"),
    ("old-consumer-key", JAVA, None, "zookeeper.connect=z:2181", "bootstrap.servers=b:9092"),
    ("old-consumer-key", JAVA, None, "zookeeper.session.timeout.ms=6000", "session.timeout.ms=6000"),
    ("key-too-new", "java-3.6", None, "retry.backoff.max.ms=1000", "retry.backoff.ms=100"),
    ("key-too-new", "librdkafka-1.5", None, "group.protocol=classic", "group.instance.id=a"),
    ("key-gone", "java-4.2", None, "internal.leave.group.on.close=false", "enable.metrics.push=false"),
    ("key-gone", "librdkafka-2.x", None, "metadata.request.timeout.ms=1000", "metadata.max.age.ms=1000"),
    ("key-deprecated", JAVA, None, "auto.include.jmx.reporter=true", "metric.reporters=a.B"),
    ("key-deprecated", RD, None, "auto.commit.enable=true", "enable.auto.commit=true"),
    ("misspelt-key", JAVA, None, "sesion.timeout.ms=10000", "schema.registry.url=http://registry"),
    ("misspelt-key", RD, None, "fetch.wait.max.mss=100", "fetch.wait.max.ms=100"),
    ("unknown-to-spring", JAVA, None, "spring.kafka.consumer.session-timeout=10s",
     "spring.kafka.consumer.heartbeat-interval=3s"),
    ("repeated-key", JAVA, None, "group.id=a | group.id=b", "group.id=a | client.id=b"),
    ("duration-without-unit", "sarama", None, "Consumer.Group.Heartbeat.Interval=3",
     "Consumer.Group.Heartbeat.Interval=3s"),
    ("impossible-value", JAVA, None, "session.timeout.ms=45s", "session.timeout.ms=45000"),
    ("impossible-value", JAVA, None, "enable.auto.commit=yes", "enable.auto.commit=True"),
    ("impossible-value", JAVA, None, "auto.offset.reset=smallest", "auto.offset.reset=earliest"),
    ("impossible-value", RD, None, "auto.offset.reset=none", "auto.offset.reset=smallest"),
    ("impossible-value", JAVA, None, "auto.offset.reset=by_duration:P1D", ""),
    ("quoted-value", JAVA, None, 'group.id="orders"', "group.id=orders"),
    ("librdkafka-range", RD, None, "fetch.wait.max.ms=400000", "fetch.wait.max.ms=300000"),
    ("assignor-needs-class", JAVA, None, "partition.assignment.strategy=range",
     f"partition.assignment.strategy={CLASS}RangeAssignor"),
    ("assignor-needs-class", JAVA, None, "partition.assignment.strategy=rnge", "partition.assignment.strategy=Fair"),
    ("no-such-assignor", RD, None, "partition.assignment.strategy=sticky", "partition.assignment.strategy=range"),
    ("no-such-assignor", RD, None, f"partition.assignment.strategy={CLASS}RangeAssignor",
     "partition.assignment.strategy=range,roundrobin"),
    ("no-such-assignor", "java-2.3", None, f"partition.assignment.strategy={CLASS}CooperativeStickyAssignor",
     f"partition.assignment.strategy={CLASS}StickyAssignor"),
    ("poll-limit-not-enforced", "kafka-python-1.3", None, "max_poll_interval_ms=600000", "session_timeout_ms=20000"),
    ("commit-interval-unused", JAVA, None, "enable.auto.commit=false | auto.commit.interval.ms=1000",
     "auto.commit.interval.ms=1000"),
    ("classic-key-with-consumer-protocol", "java-4.0", None, "group.protocol=consumer | session.timeout.ms=45000",
     "group.protocol=classic | session.timeout.ms=45000"),
    ("remote-assignor-with-classic", JAVA, None, "group.remote.assignor=uniform",
     "group.remote.assignor=uniform | group.protocol=CONSUMER"),
    ("consumer-protocol-unsupported", "java-4.0", "3.6", "group.protocol=consumer", "group.protocol=classic"),
    ("consumer-protocol-unsupported", "java-3.6", None, "group.protocol=consumer", ""),
    ("static-id-ignored", "kafka-python-2.0", None, "group_instance_id=a", "client_id=a"),
    ("static-id-ignored", "java-2.2", None, "group.instance.id=a", "client.id=a"),
    ("static-needs-broker", JAVA, "2.2", "group.instance.id=a", "client.id=a"),
    ("heartbeat-not-below-session", JAVA, None, "heartbeat.interval.ms=45000", "heartbeat.interval.ms=15000"),
    ("heartbeat-not-below-session", "kafkajs", None, "heartbeatInterval=30000", "heartbeatInterval=3000"),
    ("heartbeat-not-below-session", "java-2.8", None, "heartbeat.interval.ms=10000",
     "group.protocol=classic | heartbeat.interval.ms=9999"),
    ("heartbeat-above-third", JAVA, None, "session.timeout.ms=8999", "session.timeout.ms=9000"),
    ("heartbeat-above-third", "ruby-kafka", None, "heartbeat_interval=11", "heartbeat_interval=10"),
    ("poll-interval-below-session", RD, None, "max.poll.interval.ms=44999", "max.poll.interval.ms=45000"),
    ("poll-interval-below-session", JAVA, None, "max.poll.interval.ms=30000", "max.poll.interval.ms=60000"),
    ("request-timeout-below-join", OLD_JAVA, None, "max.poll.interval.ms=600000", "max.poll.interval.ms=300000"),
    ("request-timeout-below-join", "sarama", None, "Consumer.Group.Rebalance.Timeout=2m",
     "Consumer.Group.Rebalance.Timeout=20s"),
    ("request-timeout-below-join", "sarama", None, "Net.ReadTimeout=10s", "Net.ReadTimeout=61s"),
    ("request-timeout-not-above-session", OLD_JAVA, None, "request.timeout.ms=10000", "request.timeout.ms=305001"),
    ("request-timeout-not-above-session", PYTHON, None, "session_timeout_ms=305000", "session_timeout_ms=60000"),
    ("fetch-wait-not-below-request", JAVA, None, "fetch.max.wait.ms=30000", "fetch.max.wait.ms=29999"),
    ("fetch-wait-not-below-request", PYTHON, None, "fetch_max_wait_ms=305000", "fetch_max_wait_ms=500"),
    ("backoff-above-maximum", JAVA, None, "retry.backoff.ms=2000", "retry.backoff.ms=1000"),
    ("api-timeout-below-request", JAVA, None, "default.api.timeout.ms=20000", "default.api.timeout.ms=30000"),
    ("idle-close-not-above-request", PYTHON, None, "connections_max_idle_ms=300000", "connections_max_idle_ms=540000"),
    ("librdkafka-sizes", RD, None, "fetch.max.bytes=100000", "fetch.max.bytes=1000000"),
    ("librdkafka-sizes", RD, None, "receive.message.max.bytes=1000000", "receive.message.max.bytes=100000000"),
    ("poll-interval-in-seconds", JAVA, None, "max.poll.interval.ms=300", "max.poll.interval.ms=300000"),
    ("reset-none", JAVA, None, "auto.offset.reset=none", "auto.offset.reset=latest"),
    ("mixed-rebalance-protocols", RD, None, "partition.assignment.strategy=range,cooperative-sticky",
     "partition.assignment.strategy=cooperative-sticky"),
    ("mixed-rebalance-protocols", JAVA, None,
     f"partition.assignment.strategy={CLASS}RangeAssignor,{CLASS}CooperativeStickyAssignor",
     f"partition.assignment.strategy={CLASS}CooperativeStickyAssignor"),
    ("static-session-short", "java-2.8", None, "group.instance.id=a",
     "group.instance.id=a | session.timeout.ms=120000"),
    ("session-outside-broker-range", JAVA, "3.9", "session.timeout.ms=5999", "session.timeout.ms=6000"),
    ("session-outside-broker-range", JAVA, "2.2", "session.timeout.ms=300001", "session.timeout.ms=300000"),
    ("commit-interval-above-retention", JAVA, "1.1", "auto.commit.interval.ms=86400000",
     "auto.commit.interval.ms=86399999"),
    ("fetch-min-bytes-above-wait", JAVA, None, "fetch.min.bytes=5000000 | fetch.max.wait.ms=100",
     "fetch.min.bytes=100000 | fetch.max.wait.ms=100"),
]  # fmt: skip

# rule, client, broker's settings, text with a finding, text without
PRODUCER_CASES = [
    ("impossible-producer-value", "java-4.0", "", "acks=two", "acks=-1"),
    ("impossible-producer-value", "java-4.0", "", "linger.ms=-5",
     "linger.ms=3000000000 | delivery.timeout.ms=2147483647"),
    ("idempotence-refused", "java-4.0", "", "enable.idempotence=true | acks=1", "enable.idempotence=true | acks=all"),
    ("idempotence-refused", "java-2.8", "", "enable.idempotence=true", "acks=1"),
    ("idempotence-refused", "java-4.0", "", "transactional.id=a | retries=0", "transactional.id=a | retries=1"),
    ("idempotence-refused", "java-4.0", "", "transactional.id=a | max.in.flight.requests.per.connection=6",
     "transactional.id=a | max.in.flight.requests.per.connection=5"),
    ("idempotence-switched-off", "java-3.9", "", "acks=1", "acks=1 | enable.idempotence=false"),
    ("idempotence-switched-off", "java-3.9", "", "max.in.flight.requests.per.connection=10", "acks=all"),
    ("transaction-without-idempotence", "java-4.0", "", "transactional.id=a | enable.idempotence=false",
     "transactional.id=a | enable.idempotence=true"),
    ("delivery-timeout-below-request", "java-4.0", "", "delivery.timeout.ms=30000", "delivery.timeout.ms=30005"),
    ("delivery-timeout-below-request", "java-3.9", "", "delivery.timeout.ms=29999", "delivery.timeout.ms=30000"),
    ("delivery-timeout-below-request", "java-4.0", "", "request.timeout.ms=120000", "request.timeout.ms=119995"),
    ("transaction-timeout-above-broker", "java-4.0", "", "transactional.id=a | transaction.timeout.ms=900001",
     "transactional.id=a | transaction.timeout.ms=900000"),
    ("transaction-timeout-above-broker", "java-4.0", "transaction.max.timeout.ms=30000", "transactional.id=a",
     "transactional.id=a | transaction.timeout.ms=30000"),
    ("transaction-timeout-unused", "java-4.0", "", "transaction.timeout.ms=30000",
     "transactional.id=a | transaction.timeout.ms=30000"),
]  # fmt: skip

# rule, broker's version, settings with a finding, settings without
BROKER_CASES = [
    ("client-key-on-broker", "3.9", "session.timeout.ms=1", "group.min.session.timeout.ms=1"),
    ("broker-key-too-new", "2.1", "group.max.size=5", "group.initial.rebalance.delay.ms=5"),
    ("impossible-broker-value", "3.9", "group.max.size=many", "group.max.size=5"),
    ("min-session-above-max", "3.9", "group.min.session.timeout.ms=1800001", "group.min.session.timeout.ms=1800000"),
    ("consumer-group-range", "4.0", "group.consumer.session.timeout.ms=30000",
     "group.consumer.session.timeout.ms=30000 | group.consumer.min.session.timeout.ms=30000"),
    ("consumer-group-range", "4.0", "group.consumer.heartbeat.interval.ms=20000",
     "group.consumer.heartbeat.interval.ms=15000"),
    ("retention-below-weekend", "1.1", "group.min.session.timeout.ms=6000", "offsets.retention.minutes=10080"),
    ("retention-check-rare", "3.9", "offsets.retention.check.interval.ms=700000000",
     "offsets.retention.check.interval.ms=600000"),
    ("unclean-elections", "3.9", "unclean.leader.election.enable=true", "unclean.leader.election.enable=false"),
    ("offsets-topic-one-replica", "3.9", "offsets.topic.replication.factor=1", "offsets.topic.replication.factor=2"),
    ("offsets-topic-min-insync", "3.9", "min.insync.replicas=3", "min.insync.replicas=2"),
    ("offsets-topic-min-insync", "3.9", "min.insync.replicas=2 | offsets.topic.replication.factor=2",
     "min.insync.replicas=2 | offsets.topic.replication.factor=3"),
    ("replica-lag-below-fetch-wait", "3.9", "replica.lag.time.max.ms=999", "replica.lag.time.max.ms=1000"),
    ("replica-lag-below-fetch-wait", "2.4", "replica.fetch.wait.max.ms=6000", "replica.fetch.wait.max.ms=5000"),
    ("broker-session-below-heartbeats", "3.9", "broker.session.timeout.ms=3999", "broker.session.timeout.ms=4000"),
    ("min-insync-above-replicas", "3.9", "min.insync.replicas=2 | default.replication.factor=1",
     "min.insync.replicas=2 | default.replication.factor=3"),
]  # fmt: skip

LOGS = "// cluster: {logs: replicated"
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
TRANSACTIONS = f"{LOGS}}}\nproducers: {{p: {{topic: t, transactional-id: a, commit-every: 1s}}}}"


def writing(replicas: int, least: int, acks: str = "all") -> str:
    """A producer with these acks, its topic made with the brokers' defaults."""
    brokers = f"default.replication.factor: {replicas}, min.insync.replicas: {least}"
    producer = f"producers: {{p: {{topic: t, properties: {{acks: {acks}}}}}}}"
    return f"{LOGS}}}\nbroker: {{{brokers}}}\n{producer}"


# rule, keys of a group with a finding and without; after " // " other keys of the file
SCENARIO_CASES = [
    ("rebalance-timeout-not-sent", "properties: {rebalance.timeout.ms: 60000}",
     "client: kafkajs, properties: {rebalance.timeout.ms: 60000}"),
    ("poll-limit-not-enforced", "client: sarama, properties: {max.poll.interval.ms: 60000}",
     "client: aiokafka, properties: {max.poll.interval.ms: 60000}"),
    ("request-timeout-below-join", "client: ruby-kafka", "client: ruby-kafka, properties: {request.timeout.ms: 65000}"),
    ("initial-delay-above-request-timeout",
     "client: ruby-kafka // broker: {version: '2.8', group.initial.rebalance.delay.ms: 10000}",
     "client: java // broker: {version: '2.8', group.initial.rebalance.delay.ms: 10000}"),
    ("idle-offsets-expire", "client: librdkafka-1.x // broker: {version: '2.0'}",
     "client: java-2.8 // broker: {version: '2.0'}"),
    ("no-common-assignor", "members: {a: {assignor: range}, b: {assignor: roundrobin}}",
     "members: {a: {assignor: [range, roundrobin]}, b: {assignor: roundrobin}}"),
    ("no-common-assignor", "members: {a: {client: kafkajs}, b: {client: franz-go}}",
     "members: {a: {client: kafkajs}, b: {client: librdkafka-2.x}}"),
    ("shared-instance-id", "instance-id: one, members: {a: 2}", "instance-id: '{name}', members: {a: 2}"),
    ("shared-instance-id", "properties: {group.instance.id: one}, members: {a: 1, b: 1}",
     "properties: {group.instance.id: 'one-{name}'}, members: {a: 1, b: 1}"),
    ("static-away-longer-than-session",
     "instance-id: '{name}' // timeline: [{at: 9s, do: restart, member: c, downtime: 46s}]",
     "instance-id: '{name}' // timeline: [{at: 9s, do: restart, member: c, downtime: 44s}]"),
    ("static-away-longer-than-session",
     "instance-id: '{name}' // timeline: [{at: 9s, do: rolling-restart, kind: statefulset, start-time: 50s}]",
     "instance-id: '{name}', properties: {session.timeout.ms: 60000} "
     "// timeline: [{at: 9s, do: rolling-restart, kind: statefulset, start-time: 50s}]"),
    ("static-id-renamed", "instance-id: '{name}' // timeline: [{at: 9s, do: rolling-restart}]",
     "instance-id: '{name}' // timeline: [{at: 9s, do: rolling-restart, leave: true}]"),
    ("rollout-in-no-time", "members: {c: 3} // timeline: [{at: 9s, do: rolling-restart}]",
     "members: {c: 3} // timeline: [{at: 9s, do: rolling-restart, start-time: 20s}]"),
    ("group-above-max-size", "members: {c: 3} // broker: {version: '3.9', group.max.size: 2}",
     "members: {c: 3} // broker: {version: '3.9', group.max.size: 3}"),
    ("batch-longer-than-poll-interval", "processing: 601ms", "processing: 590ms"),
    ("batch-longer-than-poll-interval", "processing: 'uniform(0s, 1s)'",
     "processing: 'uniform(0s, 1s)', properties: {max.poll.records: 300}"),
    ("record-longer-than-poll-interval", "processing: 'percentiles(p50=1s, p98=301s, max=400s)'",
     "processing: 'percentiles(p50=1ms, p99.9=301s, max=302s)', properties: {max.poll.records: 1}"),
    ("handler-starves-heartbeat", "client: kafka-python-1.3, processing: 61ms", "client: java, processing: 61ms"),
    ("handler-starves-heartbeat", "client: kafkajs, per-batch: 0, processing: 31s", "client: sarama, processing: 31s"),
    ("revoke-longer-than-rebalance", "on-revoked: 'uniform(1s, 310s)'", "on-revoked: 'uniform(1s, 299s)'"),
    ("revoke-longer-than-rebalance", "client: aiokafka, on-revoked: 11s", "client: kafka-python, on-revoked: 11s"),
    ("assigned-callback-starves-heartbeat", "client: ruby-kafka, on-assigned: 31s",
     "client: ruby-kafka, on-assigned: 29s"),
    ("assigned-longer-than-poll-interval", "on-assigned: 301s", "on-assigned: 299s"),
    ("assignor-slower-than-session", "client: librdkafka-1.x, assignor-time: 11s",
     "client: java-2.8, assignor-time: 11s"),
    ("assignor-slower-than-session", "client: java-2.8, assignor-time: 11s // broker: {version: '2.6'}",
     "client: java-2.8, assignor-time: 11s // broker: {version: '2.7'}"),
    ("pause-longer-than-session", "pauses: {every: 10m, length: 50s}", "pauses: {every: 10m, length: 40s}"),
    ("pause-longer-than-session", "pauses: {every: 10m, length: 43s}", "pauses: {every: 10m, length: 200ms}"),
    ("heartbeat-not-below-session", "properties: {session.timeout.ms: 6s, heartbeat.interval.ms: 6s}",
     "properties: {session.timeout.ms: 9s, heartbeat.interval.ms: 3s}"),
    ("session-outside-broker-range", "properties: {session.timeout.ms: 400000} // broker: {version: '2.0'}",
     "properties: {session.timeout.ms: 400000} // broker: {version: '2.3'}"),
    ("min-session-above-max", "// broker: {version: '3.9', group.max.session.timeout.ms: 5000}",
     "// broker: {version: '3.9', group.max.session.timeout.ms: 45000}"),
    ("offsets-topic-one-replica", "// broker: {offsets.topic.replication.factor: 1}",
     "// broker: {offsets.topic.replication.factor: 1}\ncluster: {brokers: 1}"),
    ("rack-without-selector", f"properties: {{client.rack: a}} {LOGS}, racks: [a, b]}}",
     f"properties: {{client.rack: a}} {LOGS}, racks: [a, b]}}\nbroker: {{replica.selector.class: {SELECTOR}}}"),
    ("rack-without-selector",
     f"properties: {{client.rack: a}} {LOGS}}}\nbroker: {{replica.selector.class: {SELECTOR}}}",
     "properties: {client.rack: a} // cluster: {logs: counted}"),
    ("reads-uncommitted", f"{TRANSACTIONS}", f"properties: {{isolation.level: read_committed}} {TRANSACTIONS}"),
    ("reads-uncommitted", f"{TRANSACTIONS}", f"subscribe-pattern: 'u.*' {TRANSACTIONS}"),
    ("min-insync-above-replicas", writing(2, 3), writing(2, 2)),
    ("min-insync-equals-replicas", writing(3, 3), writing(3, 2)),
    ("min-insync-equals-replicas", writing(2, 2), writing(1, 1)),
    ("min-insync-1-with-acks-all", writing(3, 1), writing(3, 2)),
    ("min-insync-1-with-acks-all", writing(2, 1, "all"), writing(2, 1, "1")),
    ("min-insync-without-acks-all", writing(3, 2, "1"), writing(3, 2, "all")),
    ("min-insync-without-acks-all", writing(3, 2, "0"), writing(3, 1, "0")),
    ("idempotence-refused", writing(3, 2, "1, enable.idempotence: true"),
     writing(3, 2, "1, enable.idempotence: false")),
    ("retention-below-weekend", "// broker: {version: '3.9', offsets.retention.minutes: 4319}",
     "// broker: {version: '3.9', offsets.retention.minutes: 4320}"),
]  # fmt: skip


def of_client(text: str, client: str = JAVA, broker: str | None = None) -> tuple[LintFinding, ...]:
    """The findings in a client's own configuration, its lines separated by " | "."""
    return lint_properties(text.replace(" | ", "\n"), "client.properties", client_of(client), broker_of(broker))


def of_broker(text: str, version: str) -> tuple[LintFinding, ...]:
    """The findings in a broker's configuration."""
    return lint_broker(broker_of(version, text.replace(" | ", "\n"), "server.properties"))


def scenario(words: str) -> str:
    """Return a scenario whose one group has these keys; after " // " a line of the file's own."""
    group, _, rest = words.partition("//")
    group = group.strip()
    members = "" if "members:" in group else f"{', ' if group else ''}members: {{c: 1}}"
    return f"run-for: 60s\ntopics: {{t: 1}}\ngroups:\n  g: {{{group}{members}}}\n{rest.strip()}\n"


def of_scenario(text: str) -> tuple[LintFinding, ...]:
    """The findings in a scenario."""
    return lint_scenario(parse_document(text, "scenario.yaml"))


def rules_in(findings: tuple[LintFinding, ...]) -> list[str]:
    """Return the ids of the rules with a finding."""
    return [finding.rule for finding in findings]


@pytest.mark.parametrize(("rule", "client", "broker", "speaks", "silent"), CLIENT_CASES)
def test_a_rule_on_a_clients_own_configuration(
    rule: str, client: str, broker: str | None, speaks: str, silent: str
) -> None:
    """The rule has a finding in the one configuration and none in the other."""
    assert rule in rules_in(of_client(speaks, client, broker))
    assert rule not in rules_in(of_client(silent, client, broker))


@pytest.mark.parametrize(("rule", "client", "broker", "speaks", "silent"), PRODUCER_CASES)
def test_a_rule_on_a_producers_own_configuration(rule: str, client: str, broker: str, speaks: str, silent: str) -> None:
    """The rule has a finding in the one producer.properties and none in the other."""

    def found(text: str) -> list[str]:
        lines = text.replace(" | ", "\n")
        return rules_in(lint_producer(lines, "producer.properties", client_of(client), broker_of(None, broker)))

    assert rule in found(speaks)
    assert rule not in found(silent)


@pytest.mark.parametrize("client", ["java-2.8", "java-3.9", "java-4.x"])
def test_a_producers_defaults_are_no_finding(client: str) -> None:
    """An empty producer.properties has no finding, in any release."""
    assert lint_producer("", "p.properties", client_of(client), broker_of()) == ()


def test_a_producers_properties_are_known_by_their_keys() -> None:
    """A file with only settings for writing is a producer's; a shared one is a consumer's."""
    assert is_producers("acks=1\nvalue.serializer=x")
    assert not is_producers("acks=1\ngroup.id=g")
    assert not is_producers("bootstrap.servers=b:9092")


def test_min_insync_above_the_replicas_is_an_error_before_3_7() -> None:
    """KAFKA-15583: older brokers refuse every acks=all write, newer ones use the number of replicas."""
    words = "min.insync.replicas=2 | default.replication.factor=1"
    level = {
        version: next(one.severity for one in of_broker(words, version) if one.rule == "min-insync-above-replicas")
        for version in ("3.6", "3.7")
    }
    assert level == {"3.6": ERROR, "3.7": WARNING}


@pytest.mark.parametrize(("rule", "version", "speaks", "silent"), BROKER_CASES)
def test_a_rule_on_the_broker(rule: str, version: str, speaks: str, silent: str) -> None:
    """The rule has a finding in the one server.properties and none in the other."""
    assert rule in rules_in(of_broker(speaks, version))
    assert rule not in rules_in(of_broker(silent, version))


@pytest.mark.parametrize(("rule", "speaks", "silent"), SCENARIO_CASES)
def test_a_rule_on_a_scenario(rule: str, speaks: str, silent: str) -> None:
    """The rule has a finding in the one scenario and none in the other."""
    assert rule in rules_in(of_scenario(scenario(speaks)))
    assert rule not in rules_in(of_scenario(scenario(silent)))


def test_every_rule_has_a_case_and_says_why() -> None:
    """No rule without a test, a reason, a source and a severity; no id twice."""
    cases = {case[0] for case in (*CLIENT_CASES, *PRODUCER_CASES, *BROKER_CASES, *SCENARIO_CASES)}
    ids = [rule.id for rule in RULES if rule not in migration.RULES]  # those have cases in test_lint_target.py
    assert sorted(cases) == sorted(ids)
    for rule in RULES:
        assert rule.severity in (ERROR, WARNING, NOTE)
        assert rule.about
        assert rule.reason
        assert rule.source


@pytest.mark.parametrize("speaks", [case[3] for case in CLIENT_CASES], ids=str)
def test_no_rule_speaks_twice_of_one_thing(speaks: str) -> None:
    """A rule has one finding for one place, whatever the client."""
    for client in (JAVA, RD, PYTHON):
        findings = of_client(speaks, client)
        assert len({(str(one.place), one.rule, one.message) for one in findings}) == len(findings)


@pytest.mark.parametrize(
    "client",
    ["java-0.9", "java-0.11", "java-2.8", JAVA, "java-4.x", "librdkafka-1.x", RD, "kafka-python-1.3", PYTHON,
     "aiokafka", "kafkajs", "sarama", "franz-go", "brod", "kafka-python-3.0", "librdkafka-0.11"],
)  # fmt: skip
def test_a_librarys_defaults_are_no_finding(client: str) -> None:
    """An empty configuration has no finding, except for known bad defaults of a library (sarama's note)."""
    findings = of_client("", client)
    assert [one.rule for one in findings if one.severity != NOTE] == []
    assert rules_in(findings) == (["request-timeout-below-join"] if client == "sarama" else [])


def test_a_finding_stands_at_its_line() -> None:
    """The place is the line of the setting, continuation lines and comments counted."""
    text = "# mine\ngroup.id=a\nclient.id=b\\\n  c\nheartbeat.interval.ms=45000\n"
    (finding,) = lint_properties(text, "c.properties", client_of(JAVA), broker_of())
    assert str(finding.place) == "c.properties:5:1"
    assert finding.severity == ERROR
    assert finding.remedy == "set heartbeat.interval.ms = 15000, or less"


@pytest.mark.parametrize("client", [JAVA, RD])
def test_a_poll_limit_is_raised_and_no_session_lowered_to_it(client: str) -> None:
    """Beside a poll limit of 300 ms every broker would refuse a session as short: the remedy raises the limit."""
    found = of_client("max.poll.interval.ms=300\nsession.timeout.ms=10000", client)
    (finding,) = [one for one in found if one.rule == "poll-interval-below-session"]
    assert finding.remedy == "set max.poll.interval.ms = 10000, or more"


@pytest.mark.parametrize(
    ("client", "level", "words"),
    [("kafka-python", ERROR, "Unrecognized configs"), ("aiokafka", ERROR, "TypeError"), ("sarama", WARNING, "no field"),
     ("kafkajs", WARNING, "ignores"), (RD, ERROR, "refuses an unknown property")],
)  # fmt: skip
def test_another_librarys_name_is_told_as_this_library_takes_it(client: str, level: str, words: str) -> None:
    """Some refuse to start, others ignore it; either way the value of an unknown name is not checked."""
    foreign = "max.poll.records=1" if client == RD else "session.timeout.ms=30"
    found = [one for one in of_client(foreign, client) if one.rule != "request-timeout-below-join"]  # sarama's default
    assert [(one.rule, one.severity) for one in found] == [("key-of-another-library", level)]
    assert words in found[0].reason


def test_what_refuses_a_value_is_named_after_the_library() -> None:
    """ConfigException is Java's; librdkafka has another error."""
    (java,), (rd,) = of_client("enable.auto.commit=yes"), of_client("socket.keepalive.enable=yes", RD)
    assert "ConfigException" in java.reason
    assert "rd_kafka_conf_set" in rd.reason


def test_findings_speak_the_users_names() -> None:
    """Message and remedy use the library's own names and units."""
    ruby = {one.rule: one for one in of_client("heartbeat_interval=11", "ruby-kafka")}["heartbeat-above-third"]
    sarama = {one.rule: one for one in of_client("Net.ReadTimeout=10s", "sarama")}["request-timeout-below-join"]
    assert ruby.message == "heartbeat_interval = 11 is more than a third of session_timeout = 30 (default)"
    assert ruby.remedy == "set heartbeat_interval = 10, or session_timeout = 33"
    assert sarama.remedy == "set Net.ReadTimeout = 65s, or at least above 60s"


def test_a_setting_nobody_can_read_still_counts_as_what_was_meant() -> None:
    """`45s` is an error in Java's own file, and forty-five seconds to the other rules."""
    assert rules_in(of_client("session.timeout.ms=45s")) == ["impossible-value"]
    assert "heartbeat-above-third" in rules_in(of_client("session.timeout.ms=6s"))


def test_a_key_that_two_tables_know_is_told_once() -> None:
    """`zookeeper.connect` is a broker's setting, and was the Scala consumer's: one finding."""
    assert rules_in(of_client("zookeeper.connect=z:2181")) == ["old-consumer-key"]


def test_a_comment_behind_a_value_belongs_to_the_value() -> None:
    """As Java reads it: the number cannot be parsed, and the remedy moves the comment."""
    (finding,) = of_client("max.poll.interval.ms=60000  # a minute")
    assert finding.rule == "impossible-value"
    assert "a line of its own" in finding.remedy


def test_severity_follows_the_library() -> None:
    """A key that Java ignores and librdkafka refuses is a warning there and an error here."""
    assert of_client("group.max.size=3", JAVA)[0].severity == WARNING
    assert of_client("group.max.size=3", RD)[0].severity == ERROR


def test_a_version_that_is_not_certain_silences() -> None:
    """`librdkafka-2.x` may have a key that 2.3 lacks: no finding."""
    assert rules_in(of_client("metadata.recovery.strategy=none", "librdkafka-2.x")) == []
    assert rules_in(of_client("metadata.recovery.strategy=none", RD)) == ["key-too-new"]


@pytest.mark.parametrize(
    ("name", "profile"),
    [("java", "java-4.x"), ("java-2.4", "java-2.4"), ("java-1.0.2", "java-0.11"), ("java-0.10.0", "java-0.9"),
     ("librdkafka-1.6.2", "librdkafka-1.x"), ("confluent-kafka-python-2.3.0", "librdkafka-2.x"),
     ("kafka-python-1.4.7", "kafka-python-2.x"), ("spring-kafka-3.1", "java-4.x"), ("KafkaJS", "kafkajs")],
)  # fmt: skip
def test_a_client_is_found_by_library_and_version(name: str, profile: str) -> None:
    """Each version of a library has its own defaults."""
    assert client_of(name).profile.name == profile


@pytest.mark.parametrize(
    ("name", "words"),
    [("jaba-3.9", "did you mean"), ("java-0.8", "older than any"), ("java-99", r"no release .*; write `java-4\.x`"),
     ("java-3.10", r"the last of java 3\.x is 3\.9; write `java-3\.9`"),
     ("librdkafka-1.10.0", r"write `librdkafka-1\.9`"),
     ("confluent-kafka-python-7.1", r"librdkafka is 2\.x; write `librdkafka-2\.x`")],
)  # fmt: skip
def test_a_client_nobody_knows(name: str, words: str) -> None:
    """A misspelt library gets the nearest one as remedy, an unknown release the newest line."""
    with pytest.raises(ValueError, match=words):
        client_of(name)


def test_a_scenario_that_cannot_run_for_other_reasons_is_refused() -> None:
    """Undefined names are errors of `validate`: the linter reports the same."""
    with pytest.raises(ScenarioError, match="no client profile"):
        of_scenario(scenario("client: jaba"))
    with pytest.raises(ScenarioError, match="no topic"):
        of_scenario(scenario("subscribe: other"))


def test_an_impossible_setting_of_a_scenario_is_a_finding_at_its_place() -> None:
    """An error that prevents a run is a finding if a rule covers it, with line and column."""
    (finding,) = of_scenario(scenario("properties: {heartbeat.interval.ms: 50000}"))
    assert (finding.rule, finding.place.line, finding.severity) == ("heartbeat-not-below-session", 4, ERROR)
    (reset,) = of_scenario(scenario("properties: {auto.offset.reset: smallest}"))
    assert (reset.rule, reset.place.line) == ("impossible-value", 4)


def test_members_alike_are_judged_once() -> None:
    """Fifty members of one kind make one finding; so do two kinds with the same mistake, and it names both."""
    assert len(of_scenario(scenario("processing: 601s, members: {c: 50}"))) == 1
    (one,) = of_scenario(scenario("members: {a: {processing: 601s}, b: {processing: 601s}}"))
    assert (one.subject, one.subjects) == ("a", ("a", "b"))
    assert len(of_scenario(scenario("members: {a: {processing: 601s}, b: {processing: 602s}}"))) == 2
