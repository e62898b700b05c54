"""Rules about the brokers' replicas: elections that lose records, `__consumer_offsets`, sessions and lags."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.scenarios.language.problems import ERROR, WARNING
from groupsim.scenarios.lint.brokers import BrokerView
from groupsim.scenarios.lint.rule import Hit, Rule

_UNCLEAN, _LEAST, _FACTOR = "unclean.leader.election.enable", "min.insync.replicas", "offsets.topic.replication.factor"
_LAG, _WAIT = "replica.lag.time.max.ms", "replica.fetch.wait.max.ms"
_SESSION, _BEAT = "broker.session.timeout.ms", "broker.heartbeat.interval.ms"


def _unclean(broker: BrokerView) -> Iterator[Hit]:
    given = broker.settings.get(_UNCLEAN)
    if given is not None and str(given.value).strip().lower() == "true":
        yield Hit((_UNCLEAN,), f"{_UNCLEAN} = true for every topic, `__consumer_offsets` too",
                  "remove it; set it for a topic that may lose records, if any")  # fmt: skip


def _single(broker: BrokerView) -> Iterator[Hit]:
    if broker.written(_FACTOR) and broker.number(_FACTOR) == 1 and broker.brokers != 1:
        message = f"{_FACTOR} = 1: each group depends on one broker"
        yield Hit((_FACTOR,), message, f"set {_FACTOR} = 3 before the topic is created, or reassign its partitions")


def _offsets_in_sync(broker: BrokerView) -> Iterator[Hit]:
    factor, least = broker.number(_FACTOR), broker.number(_LEAST)
    if broker.brokers is not None:
        factor = min(factor, broker.brokers)
    if not broker.written(_LEAST) or least < factor or least == 1:
        return
    default = "" if broker.written(_FACTOR) else " (default)"
    message = f"{_LEAST} = {least} holds for `__consumer_offsets` too, which has {_FACTOR} = {factor}{default}"
    refuses = least > factor and broker.before(3, 7)
    reason = "no commit and no generation of a group is ever acknowledged" if refuses else ""
    remedy = f"set {_LEAST} = {max(1, factor - 1)}, or {_FACTOR} = {least + 1}"
    yield Hit((_LEAST, _FACTOR), message, remedy, ERROR if refuses else "", reason)


def _lag(broker: BrokerView) -> Iterator[Hit]:
    lag, wait = broker.number(_LAG), broker.number(_WAIT)
    if not (broker.written(_LAG) or broker.written(_WAIT)) or lag >= 2 * wait:
        return
    message = f"{_LAG} = {lag} is less than twice {_WAIT} = {wait}"
    remedy = f"set {_LAG} = {max(10_000, 4 * wait)}, or {_WAIT} = {min(500, lag // 4)}"
    if wait > lag:
        yield Hit((_LAG, _WAIT), message, remedy, ERROR, "the broker refuses to start")
    else:
        yield Hit((_LAG, _WAIT), message, remedy)


def _session(broker: BrokerView) -> Iterator[Hit]:
    session, beat = broker.number(_SESSION), broker.number(_BEAT)
    if (broker.written(_SESSION) or broker.written(_BEAT)) and session < 2 * beat:
        message = f"{_SESSION} = {session} is less than twice {_BEAT} = {beat}"
        yield Hit((_SESSION, _BEAT), message, f"set {_BEAT} = {session // 4}, or {_SESSION} = {4 * beat}")


RULES: tuple[Rule[BrokerView], ...] = (
    Rule(
        "unclean-elections",
        WARNING,
        "unclean leader elections on every topic",
        "a replica that lags may lead: acknowledged records are truncated, and so are committed offsets of groups",
        "documentation of unclean.leader.election.enable; KIP-106; KIP-966",
        _unclean,
    ),
    Rule(
        "offsets-topic-one-replica",
        WARNING,
        "one replica of __consumer_offsets",
        "while its broker is down, its groups have no coordinator; if the disk fails, their offsets are lost",
        "documentation of offsets.topic.replication.factor; KIP-115",
        _single,
    ),
    Rule(
        "offsets-topic-min-insync",
        WARNING,
        "min.insync.replicas of the brokers not below the replicas of __consumer_offsets (above, before 3.7: error)",
        "commits and generations are acks=all writes: with one broker down none is acknowledged",
        "CoordinatorPartitionWriter (acks -1); GroupCoordinatorConfig; KAFKA-15583",
        _offsets_in_sync,
    ),
    Rule(
        "replica-lag-below-fetch-wait",
        WARNING,
        "a lag limit shorter than two waits of a follower (shorter than one: error)",
        "an idle follower fetches once per wait: one late response puts it out of sync, which the controller "
        "records each time",
        "KafkaConfig.validateValues (`to prevent frequent changes in ISR`); KIP-537",
        _lag,
    ),
    Rule(
        "broker-session-below-heartbeats",
        WARNING,
        "a broker's session shorter than two of its heartbeats",
        "one late heartbeat fences the broker: it loses its leaderships, and each election moves clients",
        "KIP-631; KRaftConfigs; BrokerHeartbeatManager",
        _session,
    ),
)
