"""Rules of `--target group.protocol=consumer`: a classic configuration in the consumer protocol (KIP-848).

The settings are checked as if `group.protocol=consumer` were set, before a deployment changes. Three
things happen to a classic setting: the client refuses it, the broker decides it for the whole group, or it
still has an effect, but another one.

Sources: KIP-848; `ConsumerConfig` 4.0 (`checkUnsupportedConfigsPostProcess`), `GroupConfig`, `GroupCoordinatorConfig`;
librdkafka's INTRODUCTION.md and rdkafka_conf.c; the fact tables of the consumer protocol, sections 5.9 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING
from groupsim.scenarios.lint.rule import Hit, Rule
from groupsim.scenarios.lint.view import ClientView

TARGET = "group.protocol=consumer"

#: First release whose consumer of the new protocol is ready for production; Java and librdkafka had previews before.
_READY: Mapping[str, tuple[int, int]] = {"java": (4, 0), "librdkafka": (2, 12)}
_PREVIEW: Mapping[str, tuple[int, int]] = {"java": (3, 7), "librdkafka": (2, 4)}
#: Classic setting of a client → its config of one group; with the prefix `group.`, the broker setting of all groups.
_MOVED: Mapping[str, str] = {
    "session.timeout.ms": "consumer.session.timeout.ms",
    "heartbeat.interval.ms": "consumer.heartbeat.interval.ms",
}
_STRATEGY = "partition.assignment.strategy"
#: A client's assignor → the most similar one of the broker.
_SERVER_SIDE: Mapping[str, str] = {
    "range": "range",
    "roundrobin": "uniform",
    "sticky": "uniform",
    "cooperative-sticky": "uniform",
}


def _unsupported(view: ClientView) -> Iterator[Hit]:
    library, keys = view.client.library, ("group.protocol",)
    if library == "franz-go":
        message = "franz-go uses the new protocol only after an opt-in, and otherwise falls back to classic"
        yield Hit(keys, message, "opt in on every member, and check the group's type after the rollout", WARNING)
    elif library not in _READY:
        others = "java 4.0, librdkafka 2.12"
        yield Hit(keys, f"{view.client.name} has no {TARGET}", f"stay with classic, or change the library ({others})")
    elif view.client.before(*_PREVIEW[library]) or view.client.before(*_READY[library]):
        ready = ".".join(map(str, _READY[library]))
        preview = "only a preview of" if not view.client.before(*_PREVIEW[library]) else "no"
        yield Hit(keys, f"{view.client.name} has {preview} {TARGET}", f"upgrade to {library} {ready} first")
    if view.broker.before(4, 0):
        message = f"brokers {view.broker.version_text} have at most a preview of {TARGET}"
        yield Hit(keys, message, "upgrade the brokers to 4.0 first")


def _refused(view: ClientView) -> Iterator[Hit]:
    for key, config in _MOVED.items():
        if view.written(key):
            message = f"`{view.name(key)}` is refused: the broker decides it for the group"
            yield Hit((key,), message, f"remove it; {_group_config(view, config, view.number(key))}")
    if view.written(_STRATEGY):
        message = f"`{view.name(_STRATEGY)}` is refused: the broker computes the assignment"
        yield Hit((_STRATEGY,), message, f"remove it; {_remote(view)}")
    if "group.protocol.type" in view.entries:
        yield Hit(("group.protocol.type",), "`group.protocol.type` is refused", "remove it")


def _group_config(view: ClientView, config: str, wanted: int) -> str:
    """Return the command that gives a group its own value, or the limit that prevents it."""
    name = config.removeprefix("consumer.")
    low, high = (f"group.consumer.{bound}.{name}" for bound in ("min", "max"))
    default, least, most = (view.broker.number(key) for key in (f"group.consumer.{name}", low, high))
    if wanted == default:
        return f"the broker's group.consumer.{name} ({default}) is the same"
    bound, limit = (low, least) if wanted < least else (high, most)
    if least <= wanted <= most:
        return f"to keep {wanted}:{_command(view, config, wanted)}"
    return (
        f"the broker's {default} holds; {wanted} is outside {bound} ({limit}): change that limit on the brokers, then"
        f"{_command(view, config, wanted)}"
    )


def _command(view: ClientView, config: str, value: int) -> str:
    return (
        "\nkafka-configs.sh --bootstrap-server HOST:9092 --alter --entity-type groups "
        f"--entity-name {_group(view)} --add-config {config}={value}"
    )


def _group(view: ClientView) -> str:
    written = view.entries.get("group.id") or view.entries.get("group_id") or view.entries.get("groupId")
    return str(written.value) if written is not None else "GROUP"


def _remote(view: ClientView) -> str:
    custom = [name for name in view.assignors if name not in _SERVER_SIDE]
    if custom:
        return (
            f"`{custom[0]}` runs in the client: write a ConsumerGroupPartitionAssignor for the brokers "
            "(group.consumer.assignors); if its assignments have user data, a rolling upgrade is refused"
        )
    nearest = _SERVER_SIDE[view.assignors[0]]
    return f"set group.remote.assignor={nearest}" + ("" if nearest == "range" else ", the brokers' default")


def _default_range(view: ClientView) -> Iterator[Hit]:
    if not view.written(_STRATEGY) and view.assignors[:1] == ("range",) and not view.written("group.remote.assignor"):
        message = "the default assignor changes from range to uniform"
        remedy = "set group.remote.assignor=range where partitions of several topics must stay together (joins)"
        yield Hit((_STRATEGY,), message, remedy)


def _session(view: ClientView) -> Iterator[Hit]:
    key = "session.timeout.ms"
    new = view.broker.number("group.consumer.session.timeout.ms")
    if view.written(key) and view.number(key) < new:
        message = f"a dead member is noticed after {new} ms instead of {view.number(key)} ms"
        least = view.broker.number("group.consumer.min.session.timeout.ms")
        yield Hit((key,), message, f"plan with {new} ms; brokers allow {least} ms and more")


def _callbacks(view: ClientView) -> Iterator[Hit]:
    message = "rebalance callbacks get only the partitions that change, from every member at its own time"
    librdkafka = "; in librdkafka call rd_kafka_incremental_assign and _unassign (incremental_assign in bindings)"
    remedy = "do not treat onPartitionsRevoked as the end of all work" + (
        librdkafka if view.client.library == "librdkafka" else ""
    )
    yield Hit((_STRATEGY, "group.protocol"), message, remedy)


def _poll_limit(view: ClientView) -> Iterator[Hit]:
    key = "max.poll.interval.ms"
    if view.written(key):
        message = f"{view.shown(key)} is also the broker's limit for giving up a revoked partition"
        remedy = "a member that holds a partition in its callback for longer is fenced; only that partition waits"
        yield Hit((key,), message, remedy)


def _static(view: ClientView) -> Iterator[Hit]:
    if view.instance_id is not None:
        session = view.broker.number("group.consumer.session.timeout.ms")
        message = f"a static member that was killed cannot come back before its session of {session} ms is over"
        remedy = "restart the process on UNRELEASED_INSTANCE_ID, or close it on SIGTERM (static leave)"
        yield Hit(("group.instance.id",), message, remedy)


def _commits(view: ClientView) -> Iterator[Hit]:
    if view.written("enable.auto.commit") and not view.value("enable.auto.commit"):
        message = "a commit with an epoch that has just risen is refused (STALE_MEMBER_EPOCH) by brokers 4.0 to 4.2"
        remedy = (
            "commit again after the next poll, or use brokers 4.3, which accept it while the member owns the partition"
        )
        yield Hit(("enable.auto.commit",), message, remedy)


def _pattern(view: ClientView) -> Iterator[Hit]:
    if view.spec is None or view.spec.subscribe_pattern is None:
        return
    if view.client.library == "librdkafka":
        message = "the pattern goes to the broker: the whole name must match, in RE2/J's syntax"
        yield Hit(("subscribe-pattern",), message, "write ^topic.* for a prefix")
    else:
        message = "subscribe(java.util.regex.Pattern) is still matched by the client"
        yield Hit(("subscribe-pattern",), message, "use SubscriptionPattern for RE2/J on the broker", NOTE)


def _tools(view: ClientView) -> Iterator[Hit]:
    message = "DescribeGroups answers Dead without members for the group (v6: GROUP_ID_NOT_FOUND)"
    remedy = (
        "check that exporters and UIs send ConsumerGroupDescribe: AKHQ (#2720), kafka_exporter (#533) and tools on "
        "sarama (#3746) showed such groups as dead; kafka-consumer-groups.sh of 4.0 sends both"
    )
    yield Hit(("group.id", "group.protocol"), message, remedy)


def has_protocol(view: ClientView) -> bool:
    """Return whether the client's library has the target's protocol, so that the other rules apply."""
    return view.client.library in (*_READY, "franz-go")


RULES: tuple[Rule[ClientView], ...] = (
    Rule(
        "target-unsupported",
        ERROR,
        "a client or brokers without the target's protocol",
        "the new protocol is ready for production in the Java client and brokers from 4.0, in librdkafka from 2.12",
        "KIP-848; librdkafka INTRODUCTION.md; confluentinc/librdkafka#5210",
        _unsupported,
    ),
    Rule(
        "target-refuses-setting",
        ERROR,
        "a classic setting that the client refuses beside the target",
        "creating the consumer fails (ConfigException): the broker decides sessions, heartbeats and assignments",
        "ConsumerConfig of 4.0; rd_kafka_conf_finalize; JasperFx/wolverine#3473",
        _refused,
    ),
    Rule(
        "target-default-assignor",
        WARNING,
        "a default that moves from range to uniform",
        "range keeps equal partition numbers of several topics together; uniform, the brokers' first, does not",
        "group.consumer.assignors; PostHog/posthog#94498; apache/kafka#19856",
        _default_range,
    ),
    Rule(
        "target-slower-detection",
        WARNING,
        "a session that becomes longer",
        "the broker's session holds, 45 s and more by its default bounds",
        "GroupCoordinatorConfig; line/decaton#240",
        _session,
    ),
    Rule(
        "target-callbacks",
        NOTE,
        "callbacks that change their meaning",
        "every rebalance is incremental: no barrier, no revocation of kept partitions, lost only after a fence",
        "KIP-848; getsentry/arroyo#419",
        _callbacks,
    ),
    Rule(
        "target-poll-limit",
        NOTE,
        "a poll limit that becomes the rebalance timeout of each partition",
        "the heartbeat sends max.poll.interval.ms as RebalanceTimeoutMs; the broker fences a member that exceeds it",
        "KIP-848; thomhurst/Dekaf#2767",
        _poll_limit,
    ),
    Rule(
        "target-static-restart",
        WARNING,
        "static members that are killed",
        "the new process is refused with UNRELEASED_INSTANCE_ID, which ends the consumer, until the session is over",
        "KIP-848; PostHog/posthog#65809; jitsucom/jitsu#1491",
        _static,
    ),
    Rule(
        "target-stale-commit",
        NOTE,
        "explicit commits of the application",
        "a commit has the member epoch, and the broker raises it between two heartbeats of the member",
        "KIP-1251; Blizzard/node-rdkafka#1146",
        _commits,
    ),
    Rule(
        "target-pattern",
        WARNING,
        "a pattern that the broker or the client matches",
        "the broker matches whole names with RE2/J; Java's own Pattern stays with the client",
        "KIP-848; librdkafka INTRODUCTION.md; KAFKA-18961",
        _pattern,
    ),
    Rule(
        "target-tools",
        NOTE,
        "tools that show the group as dead",
        "DescribeGroups finds only classic groups",
        "KIP-1043; tchiotludo/akhq#2720; danielqsj/kafka_exporter#533; IBM/sarama#3746",
        _tools,
    ),
)
