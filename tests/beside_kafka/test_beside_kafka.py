"""Random walks on Kafka's own `GroupCoordinatorShard` and on the core, in the same run."""

from __future__ import annotations

import pytest

from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from tests.beside_kafka.kafka_shard import KafkaShard, kafka_jars
from tests.beside_kafka.play import Differs, Play
from tests.beside_kafka.walks import PROFILES, Walk
from tests.helpers.unavailable import unavailable

WALKS, STEPS = 10, 120


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.interop_short
@pytest.mark.parametrize("profile", PROFILES)
def test_the_core_writes_and_answers_what_kafkas_shard_does(profile: str) -> None:
    """Ten walks of a profile: the same bytes of records, answers, groups, and deadlines of timers."""
    try:
        with KafkaShard() as kafka:
            for seed in range(WALKS):
                Walk(kafka, profile, seed).go(STEPS)
    except kafka_jars.Unavailable as why:
        unavailable(why, "java")


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.interop_short
def test_another_answer_is_a_difference() -> None:
    """A core that gives another interval differs from Kafka's shard with the first heartbeat."""
    try:
        with KafkaShard() as kafka:
            play = Play(kafka, {})
            play.settings.groups["g"] = {"consumer.heartbeat.interval.ms": "7000"}
            join = ConsumerGroupHeartbeatRequest(
                "g", "m", 0, rebalance_timeout_ms=1, subscribed_topic_names=("t",), topic_partitions=()
            )
            with pytest.raises(Differs, match="7000"):
                play.request(join)
    except kafka_jars.Unavailable as why:
        unavailable(why, "java")
