"""DescribeConfigs, IncrementalAlterConfigs and DescribeCluster at a broker."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.log import BROKER_SETTINGS, TOPIC_SETTINGS
from groupsim.cluster.config.setting_texts import WITHOUT_EFFECT
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.admin import (
    APPEND,
    BROKER_RESOURCE,
    DELETE,
    GROUP_RESOURCE,
    SET,
    SUBTRACT,
    TOPIC_RESOURCE,
    AlterConfigsRequest,
    ConfigEntry,
    ConfigsAsked,
    ConfigsToAlter,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from tests.helpers.replicated_stage import Stage, run

E = ErrorCode


async def _describe(stage: Stage, kind: int, name: str, *names: str, node: int = 1) -> dict[str, ConfigEntry]:
    request = DescribeConfigsRequest((ConfigsAsked(kind, name, names or None),), synonyms=True)
    result = (await stage.ask(node, request)).results[0]
    assert result.error is E.NONE, result.message
    return {entry.name: entry for entry in result.entries}


async def _alter(
    stage: Stage, kind: int, name: str, *changes: tuple[str, int, str | None], node: int = 1, **others: Any
) -> tuple[ErrorCode, str | None]:
    request = IncrementalAlterConfigsRequest((ConfigsToAlter(kind, name, changes),), **others)
    found_kind, found_name, error, words = (await stage.ask(node, request)).results[0]
    assert (found_kind, found_name) == (kind, name)
    return error, words


def test_a_topics_settings_say_where_they_come_from() -> None:
    """Own settings, the broker's properties and Kafka's defaults are described with type, source and synonyms."""

    async def story(stage: Stage) -> None:
        assert await _alter(stage, TOPIC_RESOURCE, "t", ("retention.ms", SET, "1000")) == (E.NONE, None)
        described = await _describe(stage, TOPIC_RESOURCE, "t")
        assert list(described) == sorted(described)
        assert len(described) == 37
        retention = described["retention.ms"]
        assert (retention.value, retention.source, retention.type) == ("1000", 1, 5)
        assert retention.synonyms == (("retention.ms", "1000", 1),)  # log.retention.hours comes before its namesake
        segment = described["segment.bytes"]
        assert (segment.value, segment.source) == ("2000000", 4)
        assert segment.synonyms == (("log.segment.bytes", "2000000", 4), ("log.segment.bytes", "1073741824", 5))
        ratio = described["min.cleanable.dirty.ratio"]
        assert (ratio.value, ratio.source, ratio.type) == ("0.5", 5, 6)
        assert ratio.synonyms == (("log.cleaner.min.cleanable.ratio", "0.5", 5),)
        assert set(await _describe(stage, TOPIC_RESOURCE, "t", "segment.ms", "nope")) == {"segment.ms"}

    config = ClusterConfig.from_properties({"log.segment.bytes": 2_000_000}, brokers=4)
    run(story, replica=config.replica, properties=config.properties)


def test_a_change_holds_at_once_in_every_log() -> None:
    """A topic's setting is that of the logs on every replica as soon as the broker that was asked has answered."""

    async def story(stage: Stage) -> None:
        where = TopicPartition("t", 0)
        node = stage.leader(where)
        changes = [("min.insync.replicas", SET, "2"), ("retention.ms", SET, "5000")]
        assert await _alter(stage, TOPIC_RESOURCE, "t", *changes, node=node) == (E.NONE, None)
        log = stage.cluster.log("t", 0).config
        assert (log.min_insync_replicas, log.retention_ms) == (2, 5_000)
        assert await _alter(stage, TOPIC_RESOURCE, "t", ("retention.ms", DELETE, None), node=node) == (E.NONE, None)
        assert stage.cluster.log("t", 0).config.retention_ms == 604_800_000

    run(story)


def test_lists_grow_and_shrink() -> None:
    """APPEND adds to the default where nothing is set and adds nothing twice; SUBTRACT takes away."""

    async def story(stage: Stage) -> None:
        async def policy(operation: int, value: str) -> str | None:
            assert await _alter(stage, TOPIC_RESOURCE, "t", ("cleanup.policy", operation, value)) == (E.NONE, None)
            return (await _describe(stage, TOPIC_RESOURCE, "t"))["cleanup.policy"].value

        assert await policy(APPEND, "compact") == "delete,compact"
        assert await policy(APPEND, "compact") == "delete,compact"
        assert await policy(SUBTRACT, "delete") == "compact"
        assert await _alter(stage, TOPIC_RESOURCE, "t", ("retention.ms", APPEND, "1")) == (
            E.INVALID_CONFIG,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        )

    run(story)


REFUSED = [
    (
        TOPIC_RESOURCE,
        "nope",
        ("retention.ms", SET, "1"),
        E.UNKNOWN_TOPIC_OR_PARTITION,
        "The topic 'nope' does not exist.",
    ),
    (TOPIC_RESOURCE, "", ("retention.ms", SET, "1"), E.INVALID_REQUEST, "Default topic resources are not allowed."),
    (TOPIC_RESOURCE, "t", ("retentionms", SET, "1"), E.INVALID_CONFIG, "Unknown topic config name: retentionms"),
    (
        TOPIC_RESOURCE,
        "t",
        ("min.insync.replicas", SET, "0"),
        E.INVALID_CONFIG,
        "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
    ),
    (
        TOPIC_RESOURCE,
        "t",
        ("min.compaction.lag.ms", SET, "9223372036854775808"),
        E.INVALID_CONFIG,
        "Invalid value 9223372036854775808 for configuration min.compaction.lag.ms: Not a number of type LONG",
    ),
    (
        TOPIC_RESOURCE,
        "t",
        ("remote.storage.enable", SET, "true"),
        E.INVALID_CONFIG,
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
    ),
    (TOPIC_RESOURCE, "t", ("segment.ms", SET, None), E.INVALID_REQUEST, "Null value not supported for : segment.ms"),
    (TOPIC_RESOURCE, "t", ("segment.ms", 9, "1"), E.UNKNOWN_SERVER_ERROR, None),
    (
        TOPIC_RESOURCE,
        "a b",
        ("segment.ms", SET, "1"),
        E.INVALID_TOPIC_EXCEPTION,
        "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
    ),
    (
        TOPIC_RESOURCE,
        "t",
        ("follower.replication.throttled.replicas", SET, "0"),
        E.INVALID_CONFIG,
        "Invalid value [0] for configuration follower.replication.throttled.replicas: "
        "follower.replication.throttled.replicas must be the literal '*' or a list of replicas in the following "
        "format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
    ),
    (
        TOPIC_RESOURCE,
        "t",
        ("compression.zstd.level", SET, "23"),
        E.INVALID_CONFIG,
        "Invalid value 23 for configuration compression.zstd.level: Value must be no more than 22",
    ),
    (
        BROKER_RESOURCE,
        "2",
        ("log.segment.bytes", SET, "1"),
        E.INVALID_REQUEST,
        "Unexpected broker id, expected 1, but received 2",
    ),
    (
        BROKER_RESOURCE,
        "x",
        ("log.segment.bytes", SET, "1"),
        E.INVALID_REQUEST,
        "Node id must be an integer, but it is: x",
    ),
    (
        BROKER_RESOURCE,
        "1",
        ("broker.rack", SET, "a"),
        E.INVALID_REQUEST,
        "Cannot update these configs dynamically: [broker.rack]",
    ),
    (
        BROKER_RESOURCE,
        "1",
        ("message.max.bytes", SET, "many"),
        E.INVALID_REQUEST,
        "Invalid value many for configuration message.max.bytes: Not a number of type INT",
    ),
    (
        BROKER_RESOURCE,
        "1",
        ("min.insync.replicas", SET, "2"),
        E.INVALID_CONFIG,
        "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
    ),
    (77, "x", ("a", SET, "1"), E.INVALID_REQUEST, "Unknown resource type 77"),
]


@pytest.mark.parametrize(("kind", "name", "change", "error", "words"), REFUSED)
def test_a_change_that_cannot_be_is_refused_in_kafkas_words(
    kind: int, name: str, change: tuple[str, int, str | None], error: ErrorCode, words: str | None
) -> None:
    """Names, values, operations and resources are looked at; nothing of a refused change is kept."""

    async def story(stage: Stage) -> None:
        version = stage.cluster.controller.image.version
        assert await _alter(stage, kind, name, change) == (error, words)
        assert stage.cluster.controller.image.version == version

    run(story)


def test_every_resource_has_its_own_result_in_the_order_of_the_request() -> None:
    """One resource that is refused here, one by the controller and one that is fine: three results, in order."""

    async def story(stage: Stage) -> None:
        change = (("retention.ms", SET, "7000"),)
        resources = tuple(ConfigsToAlter(TOPIC_RESOURCE, name, change) for name in ("nope", "t", "u", "u"))
        answer = await stage.ask(0, IncrementalAlterConfigsRequest(resources))
        assert [(name, error) for _, name, error, _ in answer.results] == [
            ("nope", E.UNKNOWN_TOPIC_OR_PARTITION),
            ("t", E.NONE),
            ("u", E.INVALID_REQUEST),
            ("u", E.INVALID_REQUEST),
        ]
        assert stage.cluster.controller.image.topics["t"].config == {"retention.ms": "7000"}

    run(story)


def test_who_only_asks_changes_no_setting() -> None:
    """`validate_only` answers with the errors and changes nothing."""

    async def story(stage: Stage) -> None:
        change = ("retention.ms", SET, "7000")
        assert await _alter(stage, TOPIC_RESOURCE, "t", change, validate_only=True) == (E.NONE, None)
        assert stage.cluster.controller.image.topics["t"].config == {}

    run(story)


def test_a_running_broker_takes_settings() -> None:
    """A dynamic setting of one broker changes its logs, one of all brokers changes all logs; both are described."""

    async def story(stage: Stage) -> None:
        where = TopicPartition("t", 0)
        state = stage.cluster.controller.image.partition(where)
        assert state is not None
        node, other = state.replicas[:2]
        everywhere = ("log.retention.ms", SET, "60000")
        assert await _alter(stage, BROKER_RESOURCE, "", everywhere, node=node) == (E.NONE, None)
        here = ("log.retention.ms", SET, "5000")
        assert await _alter(stage, BROKER_RESOURCE, str(node), here, node=node) == (E.NONE, None)
        assert stage.cluster.log("t", 0, node).config.retention_ms == 5_000
        assert stage.cluster.log("t", 0, other).config.retention_ms == 60_000
        described = (await _describe(stage, BROKER_RESOURCE, str(node), node=node))["log.retention.ms"]
        assert (described.value, described.source, described.read_only) == ("5000", 2, False)
        assert described.synonyms == (
            ("log.retention.ms", "5000", 2),
            ("log.retention.ms", "60000", 3),
            ("log.retention.hours", "168", 5),
        )
        topic = (await _describe(stage, TOPIC_RESOURCE, "t", node=node))["retention.ms"]
        assert (topic.value, topic.source) == ("5000", 2)
        assert set(await _describe(stage, BROKER_RESOURCE, "", node=other)) == {
            "log.retention.ms",
            "min.insync.replicas",
        }

    run(story)


def test_the_smallest_in_sync_set_of_all_brokers_is_the_controllers_too() -> None:
    """min.insync.replicas for the whole cluster changes what the logs ask for; it cannot be taken back (KIP-966)."""

    async def story(stage: Stage) -> None:
        node = stage.leader(TopicPartition("t", 0))
        assert await _alter(stage, BROKER_RESOURCE, "", ("min.insync.replicas", SET, "2"), node=node) == (E.NONE, None)
        assert stage.cluster.log("t", 0).config.min_insync_replicas == 2
        assert await _alter(stage, BROKER_RESOURCE, "", ("min.insync.replicas", DELETE, None)) == (
            E.INVALID_CONFIG,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        )

    run(story)


def test_a_broker_tells_its_own_settings_only() -> None:
    """Another broker's settings, an odd resource and an unknown topic are errors; read-only settings are marked."""

    async def story(stage: Stage) -> None:
        described = await _describe(stage, BROKER_RESOURCE, "1")
        assert (described["node.id"].value, described["node.id"].read_only) == ("1", True)
        assert (described["replica.lag.time.max.ms"].value, described["replica.lag.time.max.ms"].source) == ("30000", 5)
        assert not described["log.segment.bytes"].read_only
        asked = (
            ConfigsAsked(BROKER_RESOURCE, "2"),
            ConfigsAsked(TOPIC_RESOURCE, "nope"),
            ConfigsAsked(TOPIC_RESOURCE, "n o"),
            ConfigsAsked(16, "g"),
        )
        results = (await stage.ask(1, DescribeConfigsRequest(asked))).results
        assert [result.error for result in results] == [
            E.INVALID_REQUEST,
            E.UNKNOWN_TOPIC_OR_PARTITION,
            E.INVALID_TOPIC_EXCEPTION,
            E.INVALID_REQUEST,
        ]
        assert results[0].message == "Unexpected broker id, expected 1 or empty string, but received 2"

    run(story)


def test_the_cluster_is_who_is_up() -> None:
    """DescribeCluster names brokers that are up, and fenced ones when asked for; clients are sent to the lowest."""

    async def story(stage: Stage) -> None:
        stage.cluster.crash_broker(0)
        await stage.loop.sleep(15_000_000)
        assert (await stage.ask(1, DescribeClusterRequest())).brokers == ((1, False), (2, False), (3, False))
        answer = await stage.ask(1, DescribeClusterRequest(include_fenced=True))
        assert answer.brokers == ((0, True), (1, False), (2, False), (3, False))
        assert stage.cluster.brokers[1].metadata.controller == 1

    run(story)


def test_no_setting_is_without_a_text() -> None:
    """Every setting of a broker, a topic and a group has a documentation; one that has an effect has its own."""

    async def story(stage: Stage) -> None:
        for kind, name, count in ((BROKER_RESOURCE, "1", 350), (TOPIC_RESOURCE, "t", 37), (GROUP_RESOURCE, "g", 21)):
            described = await _describe(stage, kind, name)
            assert len(described) == count
            assert all(entry.documentation for entry in described.values())
            plain = {key for key, entry in described.items() if entry.documentation == WITHOUT_EFFECT}
            assert not plain & {*BROKER_SETTINGS, *TOPIC_SETTINGS, "group.max.size", "num.partitions"}

    run(story)


def test_replacing_settings_drops_what_is_not_named() -> None:
    """AlterConfigs sets the named settings and resets all other settings of the resource to their defaults."""

    async def story(stage: Stage) -> None:
        for kind, name, one, other in (
            (TOPIC_RESOURCE, "t", "retention.ms", "segment.ms"),
            (BROKER_RESOURCE, "1", "log.retention.ms", "log.roll.ms"),
            (GROUP_RESOURCE, "g", "consumer.session.timeout.ms", "share.session.timeout.ms"),
        ):
            before = (await _describe(stage, kind, name))[one].value
            assert await _alter(stage, kind, name, (one, SET, "50000")) == (E.NONE, None)
            resource = ConfigsToAlter(kind, name, ((other, SET, "50000"),))
            (result,) = (await stage.ask(1, AlterConfigsRequest((resource,)))).results
            assert result == (kind, name, E.NONE, None)
            described = await _describe(stage, kind, name)
            assert (described[one].value, described[other].value) == (before, "50000")

    run(story)


def test_settings_of_groups_are_kept_and_described() -> None:
    """A group's setting stands before the broker's; one out of the broker's bounds is refused in Kafka's words."""

    async def story(stage: Stage) -> None:
        session = "consumer.session.timeout.ms"
        assert await _alter(stage, GROUP_RESOURCE, "g", (session, SET, "50000")) == (E.NONE, None)
        described = (await _describe(stage, GROUP_RESOURCE, "g", session))[session]
        assert described.synonyms == ((session, "50000", 8), (f"group.{session}", "45000", 5))
        words = f"{session} must be in the range 45000 to 60000 inclusive."
        assert await _alter(stage, GROUP_RESOURCE, "g", (session, SET, "1")) == (E.INVALID_CONFIG, words)

    run(story)


def test_a_list_of_a_broker_grows_from_its_default() -> None:
    """APPEND to a broker's list begins with Kafka's default, so that SUBTRACT of the same value leaves the default."""

    async def story(stage: Stage) -> None:
        name = "log.cleanup.policy"
        for operation, expected in ((APPEND, "delete,compact"), (SUBTRACT, "delete")):
            assert await _alter(stage, BROKER_RESOURCE, "1", (name, operation, "compact")) == (E.NONE, None)
            assert (await _describe(stage, BROKER_RESOURCE, "1", name))[name].value == expected
            assert (await _describe(stage, TOPIC_RESOURCE, "t"))["cleanup.policy"].value == expected

    run(story)
