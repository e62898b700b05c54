"""CreateTopics, DeleteTopics and CreatePartitions at a broker that forwards them."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.network.faults import Isolate, Match
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    MorePartitions,
    NewTopic,
)
from groupsim.protocol.messages.group import MetadataRequest
from tests.helpers.replicated_stage import SECOND, Stage, run

E = ErrorCode


def _create(*topics: NewTopic, **others: Any) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics, **others)


def test_a_topic_that_was_made_is_known_to_the_broker_that_said_so() -> None:
    """A client that asks the same broker for Metadata right after the answer finds the new topic with a leader."""

    async def story(stage: Stage) -> None:
        answer = await stage.ask(2, _create(NewTopic("orders", 3, 2)))
        made = answer.topics[0]
        assert (made.error, made.partitions, made.replication) == (E.NONE, 3, 2)
        broker = stage.cluster.brokers[2]
        assert broker.metadata.topic_id("orders") == made.topic_id
        assert broker.metadata.topic_name(made.topic_id) == "orders"
        answer = await stage.ask(2, MetadataRequest(("orders",)))
        assert [partition.leader >= 0 for partition in answer.topics[0].partitions] == [True] * 3

    run(story)


def test_an_answer_waits_for_a_broker_that_hears_late() -> None:
    """A broker that learns of changes late answers late: at the instant it knows of the topic, not before."""

    async def story(stage: Stage) -> None:
        answers: list[Any] = []
        connection = stage.cluster.network.connect("somebody", "somebody", 1, "admin")
        connection.send(_create(NewTopic("orders")), answers.append, 60 * SECOND)
        await stage.loop.sleep(2 * SECOND)
        assert "orders" in stage.cluster.controller.image.topics
        assert not answers
        await stage.loop.sleep(2 * SECOND)
        assert answers[0].topics[0].error is E.NONE
        assert stage.cluster.brokers[1].metadata.topic_id("orders") is not None

    run(story, metadata_stale_us=3 * SECOND)


def test_defaults_are_those_of_the_broker() -> None:
    """-1 partitions and -1 replicas mean `num.partitions` and `default.replication.factor`."""

    async def story(stage: Stage) -> None:
        made = (await stage.ask(0, _create(NewTopic("orders")))).topics[0]
        assert (made.partitions, made.replication) == (5, 2)

    config = ClusterConfig.from_properties({"num.partitions": "5", "default.replication.factor": "2"}, brokers=4)
    run(story, controller=config.controller, default_replication_factor=config.default_replication_factor)


CASES = [
    (NewTopic("t"), E.TOPIC_ALREADY_EXISTS, "Topic 't' already exists."),
    (NewTopic(""), E.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed"),
    (NewTopic(".."), E.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: '..' is not allowed"),
    (
        NewTopic("a b"),
        E.INVALID_TOPIC_EXCEPTION,
        "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
    ),
    (NewTopic("x.y"), E.INVALID_TOPIC_EXCEPTION, "Topic 'x.y' collides with existing topic: x_y"),
    (NewTopic("n", 0, 1), E.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."),
    (
        NewTopic("n", 1, 0),
        E.INVALID_REPLICATION_FACTOR,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    ),
    (
        NewTopic("n", 1, 9),
        E.INVALID_REPLICATION_FACTOR,
        "Unable to replicate the partition 9 time(s): The target replication factor of 9 cannot be reached because "
        "only 4 broker(s) are registered or some brokers have all their log directories cordoned.",
    ),
    (
        NewTopic("n", 2, -1, ((0, (0,)),)),
        E.INVALID_REQUEST,
        "A manual partition assignment was specified, but numPartitions was not set to -1.",
    ),
    (
        NewTopic("n", -1, 2, ((0, (0,)),)),
        E.INVALID_REQUEST,
        "A manual partition assignment was specified, but replication factor was not set to -1.",
    ),
    (
        NewTopic("n", assignment=((0, (0,)), (2, (1,)))),
        E.INVALID_REPLICA_ASSIGNMENT,
        "partitions should be a consecutive 0-based integer sequence",
    ),
    (
        NewTopic("n", assignment=((0, (7,)),)),
        E.INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes broker 7, but no such broker is registered.",
    ),
    (NewTopic("n", config=(("retention.mss", "1"),)), E.INVALID_CONFIG, "Unknown topic config name: retention.mss"),
    (
        NewTopic("n", config=(("retention.ms", "soon"),)),
        E.INVALID_CONFIG,
        "Invalid value soon for configuration retention.ms: Not a number of type LONG",
    ),
    (
        NewTopic("n", config=(("segment.ms", None),)),
        E.INVALID_CONFIG,
        "Null value not supported for topic configs: segment.ms",
    ),
    (
        NewTopic("__cluster_metadata"),
        E.INVALID_REQUEST,
        "Creation of internal topic __cluster_metadata is prohibited.",
    ),
]


@pytest.mark.parametrize(("topic", "error", "words"), CASES, ids=lambda value: getattr(value, "name", None))
def test_a_topic_that_cannot_be_made_is_refused_in_kafkas_words(topic: NewTopic, error: ErrorCode, words: str) -> None:
    """Every check has Kafka's error and message, and what is beside the refused topic in the request is made."""

    async def story(stage: Stage) -> None:
        stage.cluster.create_topic("x_y", 1)
        answer: CreateTopicsResponse = await stage.ask(1, _create(topic, NewTopic("fine")))
        refused, fine = answer.topics
        assert (refused.error, refused.message, refused.topic_id) == (error, words, None)
        assert fine.error is E.NONE
        assert set(stage.cluster.controller.image.topics) == {"__consumer_offsets", "t", "x_y", "fine"}

    run(story)


def test_a_name_that_comes_twice_is_refused_once() -> None:
    """Two topics of one name in a request: neither is made, and one result says so."""

    async def story(stage: Stage) -> None:
        answer = await stage.ask(1, _create(NewTopic("a", 1), NewTopic("b"), NewTopic("a", 2)))
        assert [(one.name, one.error, one.message) for one in answer.topics] == [
            ("b", E.NONE, None),
            ("a", E.INVALID_REQUEST, "Duplicate topic name."),
        ]
        assert "a" not in stage.cluster.controller.image.topics

    run(story)


def test_who_only_asks_changes_nothing() -> None:
    """`validate_only` answers as if the topic were made; image, trace and the id of a later topic are as without it."""

    ids = []
    for rehearse in (True, False):

        async def story(stage: Stage, rehearse: bool = rehearse) -> None:
            version = stage.cluster.controller.image.version
            if rehearse:
                answer = await stage.ask(1, _create(NewTopic("orders", 3), validate_only=True))
                assert (answer.topics[0].error, answer.topics[0].partitions) == (E.NONE, 3)
                assert stage.cluster.controller.image.version == version
                assert not stage.said("metadata.changed", since_us=0)
            ids.append((await stage.ask(1, _create(NewTopic("orders", 3)))).topics[0].topic_id)

        run(story)
    assert ids[0] == ids[1]


def test_a_new_topics_settings_are_told() -> None:
    """The answer has every setting, the topic's own and Kafka's defaults, each with its source."""

    async def story(stage: Stage) -> None:
        made = (await stage.ask(0, _create(NewTopic("orders", config=(("retention.ms", "1000"),))))).topics[0]
        described = {entry.name: (entry.value, entry.source) for entry in made.config}
        assert described["retention.ms"] == ("1000", 1)
        assert described["segment.bytes"] == ("1073741824", 5)
        assert len(described) == 37

    run(story)


def test_a_deleted_topic_is_gone_when_the_answer_comes() -> None:
    """DeleteTopics answers with the id when the broker no longer knows the topic; an unknown one has Kafka's error."""

    async def story(stage: Stage) -> None:
        broker = stage.cluster.brokers[3]
        there = broker.metadata.topic_id("t")
        answer = await stage.ask(3, DeleteTopicsRequest(("t", "nope", "two", "two")))
        assert [(one.name, one.error, one.topic_id) for one in answer.topics] == [
            ("two", E.INVALID_REQUEST, None),
            ("t", E.NONE, there),
            ("nope", E.UNKNOWN_TOPIC_OR_PARTITION, None),
        ]
        assert broker.metadata.topic_id("t") is None
        assert there is not None
        assert broker.metadata.topic_name(there) is None

    run(story)


def test_a_topic_made_again_has_another_id() -> None:
    """A new topic has another id than an earlier topic of the same name."""

    async def story(stage: Stage) -> None:
        first = (await stage.ask(0, _create(NewTopic("orders")))).topics[0].topic_id
        await stage.ask(0, DeleteTopicsRequest(("orders",)))
        second = (await stage.ask(0, _create(NewTopic("orders")))).topics[0].topic_id
        assert first != second

    run(story)


def test_partitions_are_added() -> None:
    """CreatePartitions adds partitions, also with a manual assignment; wrong counts have Kafka's error and message."""

    async def story(stage: Stage) -> None:
        async def grow(*topics: MorePartitions, **others: Any) -> Any:
            return (await stage.ask(1, CreatePartitionsRequest(topics, **others))).topics

        assert await grow(MorePartitions("t", 8)) == (("t", E.NONE, None),)
        assert stage.cluster.brokers[1].metadata.partition_count("t") == 8
        assert await grow(MorePartitions("t", 9, ((3, 1, 0),))) == (("t", E.NONE, None),)
        assert stage.cluster.controller.image.topics["t"].partitions[8].replicas == (3, 1, 0)
        assert await grow(MorePartitions("t", 99), validate_only=True) == (("t", E.NONE, None),)
        assert await grow(
            MorePartitions("t", 9), MorePartitions("nope", 3), MorePartitions("x", 1), MorePartitions("x", 2)
        ) == (
            ("x", E.INVALID_REQUEST, "Duplicate topic name."),
            ("t", E.INVALID_PARTITIONS, "Topic already has 9 partition(s)."),
            ("nope", E.UNKNOWN_TOPIC_OR_PARTITION, None),
        )
        assert await grow(MorePartitions("t", 2)) == (
            ("t", E.INVALID_PARTITIONS, "The topic t currently has 9 partition(s); 2 would not be an increase."),
        )
        assert await grow(MorePartitions("t", 11, ((0, 1, 2),))) == (
            (
                "t",
                E.INVALID_REPLICA_ASSIGNMENT,
                "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
            ),
        )

    run(story)


def test_a_broker_that_cannot_reach_the_controller_says_so_in_time() -> None:
    """Cut off from the controller a broker answers REQUEST_TIMED_OUT when the request's time is over."""

    async def story(stage: Stage) -> None:
        stage.cluster.network.inject(Isolate(Match(host="broker-1", purpose="controller")))
        began = stage.loop.now_us
        answer = await stage.ask(1, _create(NewTopic("orders"), timeout_ms=4_000))
        assert answer.topics[0].error is E.REQUEST_TIMED_OUT
        assert 4 * SECOND <= stage.loop.now_us - began < 6 * SECOND
        assert "orders" not in stage.cluster.controller.image.topics

    run(story)


MANY, LARGE, MORE = (
    "Excessively large number of partitions per request.",
    "Unable to perform excessively large batch operation.",
    "Excessively large number of additional partitions per request.",
)


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        ([NewTopic("n", 9_999)], [None]),
        ([NewTopic("n", 10_000)], [LARGE]),
        ([NewTopic("n", 10_001)], [MANY]),
        ([NewTopic("n", 5_000), NewTopic("m", 4_998)], [None, None]),
        ([NewTopic("n", 5_000), NewTopic("m", 4_999)], [LARGE, LARGE]),
        ([NewTopic("n", 5_000), NewTopic("m", 5_001)], [MANY, MANY]),
        ([NewTopic("n", 9_998, config=(("cleanup.policy", "compact"),))], [None]),
        ([NewTopic("n", 9_999, config=(("cleanup.policy", "compact"),))], [LARGE]),
        ([NewTopic("t", 10_000)], ["Topic 't' already exists."]),
        ([NewTopic("n", 6_000), NewTopic("n", 6_000)], ["Duplicate topic name."]),
        ([NewTopic("n", 10_000), NewTopic("m"), NewTopic("m")], [LARGE, LARGE, LARGE]),
    ],
)
def test_one_request_makes_so_much_and_no_more(topics: list[NewTopic], words: list[str | None]) -> None:
    """10,000 partitions may be asked for, and 10,000 records made of what can be done; beyond, nothing is (4.4.0)."""

    async def story(stage: Stage) -> None:
        answer = await stage.ask(0, _create(*topics, validate_only=True))
        assert [topic.message for topic in answer.topics] == words
        assert {topic.error for topic in answer.topics if topic.message in (MANY, LARGE)} <= {E.POLICY_VIOLATION}

    run(story)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"t": 10_006}, [None]),
        ({"t": 10_007}, [MORE]),
        ({"t": 5_006, "u": 5_001}, [None, None]),
        ({"t": 5_006, "u": 5_002}, [MORE, MORE]),
        ({"nowhere": 20_000, "t": 7}, ["nowhere", None]),
    ],
)
def test_one_request_adds_so_many_partitions_and_no_more(counts: dict[str, int], words: list[str | None]) -> None:
    """10,000 over all topics that there are; beyond, every topic is refused (4.4.0)."""

    async def story(stage: Stage) -> None:
        stage.cluster.create_topic("u", 1)
        more = tuple(MorePartitions(name, count) for name, count in counts.items())
        answer = await stage.ask(0, CreatePartitionsRequest(more, validate_only=True))
        expected = [
            ("nowhere", E.UNKNOWN_TOPIC_OR_PARTITION, None)
            if said == "nowhere"
            else (name, E.POLICY_VIOLATION if said else E.NONE, said)
            for name, said in zip(counts, words, strict=True)
        ]
        assert list(answer.topics) == expected

    run(story)
