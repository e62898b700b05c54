"""Defects of old client releases as scenes: a story for each, a release with the defect and one with its fix."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from groupsim.protocol.messages.releases import BASELINE
from tests.twins.story import (
    COMMIT,
    HEARTBEAT,
    JOIN,
    SYNC,
    Story,
    answer,
    breaks,
    slow,
    then,
)

COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
AUTO = {"enable.auto.commit": True, "auto.commit.interval.ms": 60_000}
QUICK = {"fetch.max.wait.ms": 30}
#: 2.4 alone calls a commit that was told of a rebalance so; 2.5 does not (asked).
_OF_2_4 = {"CommitFailedException": "RebalanceInProgressException"}
#: 3.2.0 alone quotes the error's message in its reason.
_OF_3_2_0 = {
    "'The group member needs to have a valid member id before actually entering a consumer group.' "
    "(MemberIdRequiredException)": "MemberIdRequiredException"
}
#: It writes the fields of version 0 of a subscription and calls them version 1, which Java could not read. Its leader
#: sends no assignment to a member without partitions.
_OF_KAFKAJS = {"(v1 [": "(v0 [", "O1=[t-0] -> nothing": "M1=[] O1=[t-0] -> []"}
#: The profile is that of later releases, and has Java's reasons. Its sticky subscription is of version 0, and has user
#: data in its first JoinGroup, too.
_OF_FRANZ_GO = {
    "sticky(v0 ": "sticky(v3 ",
    " data 0000000000000000)": ")",
    '"rejoining from normal rebalance" sticky(v3 [t] owned [] of -1': '"rejoining" sticky(v3 [t] owned [] of 1',
    '"rejoining"': '"group is already rebalancing"',
    'member - timeouts 6000/60000 "beginning to manage the group lifecycle"': 'member - timeouts 6000/60000 ""',
    '"beginning to manage the group lifecycle"': '"need to re-join with the given member-id: M1"',
    "OffsetFetch v8 [t-0 t-1] unstable too": "OffsetFetch v9 [t-0 t-1]",
}


@frozen
class Scene:
    """A story, and the two releases of a library between which the fix lies.

    `broker` is the release whose versions of requests they are offered. `leaves`: words of the real one that the
    simulated one has otherwise. `repeats`: how often a request is sent in a row is not compared; `bursts`: nor are
    heartbeats.
    """

    story: Story
    library: str
    bad: str
    good: str
    broker: str = BASELINE
    leaves: Mapping[str, str] = {}
    repeats: bool = False
    bursts: bool = False

    @property
    def defect(self) -> str:
        """Its name (`members/profiles/defects.py`); a second scene of the same one has more words."""
        return self.story.name.split()[0]

    @property
    def releases(self) -> tuple[str, str]:
        """The bad one and the good one."""
        return self.bad, self.good


_ALL = (
    Scene(
        Story(
            "KAFKA-12983",
            (answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"), answer(JOIN, 3, "UNKNOWN_MEMBER_ID")),
            1500,
            COOPERATIVE,
        ),
        "java",
        "2.8.0",
        "2.8.1",
    ),
    Scene(
        Story("KAFKA-13214", (breaks(SYNC, 1),), 2000),
        "java",
        "2.8.0",
        "2.8.1",
    ),
    Scene(
        Story("KAFKA-13419", (answer(HEARTBEAT, 1, "ILLEGAL_GENERATION"),), 1500),
        "java",
        "3.1.2",
        "3.2.3",
    ),
    Scene(
        Story(
            "KAFKA-8487",
            (answer(COMMIT, 1, "REBALANCE_IN_PROGRESS"),),
            1500,
            records=3,
            policy="sync-after-batch",
            stubborn=True,
        ),
        "java",
        "2.3.1",
        "2.4.1",
        leaves=_OF_2_4,
    ),
    Scene(
        Story(
            "KAFKA-13891",
            (answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"), answer(SYNC, 2, "REBALANCE_IN_PROGRESS")),
            1500,
            COOPERATIVE,
        ),
        "java",
        "3.3.1",
        "3.3.2",
    ),
    Scene(
        Story(
            "KAFKA-14024",
            (answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"), slow(COMMIT, 1, 1_000, 3)),
            6500,
            {**AUTO, **QUICK, **COOPERATIVE},
            records=3,
            poll_ms=400,
        ),
        "java",
        "3.2.0",
        "3.2.1",
        leaves=_OF_3_2_0,
        bursts=True,
    ),
    Scene(
        Story(
            "KAFKA-14024 eager",
            (answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"), slow(COMMIT, 1, 1_000, 9)),
            4500,
            {**AUTO, **QUICK},
            records=3,
            poll_ms=400,
        ),
        "java",
        "3.2.0",
        "3.2.1",
        leaves=_OF_3_2_0,
    ),
    Scene(
        Story(
            "KAFKA-14196",
            (
                answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"),
                slow(COMMIT, 1, 2_000),
                then(COMMIT, 1, 500, "records", count=2),
            ),
            5500,
            {**AUTO, **QUICK},
            records=3,
            poll_ms=100,
            tells=True,
        ),
        "java",
        "3.2.2",
        "3.2.3",
    ),
    Scene(
        Story("KAFKA-10870", (answer(JOIN, 2, "REBALANCE_IN_PROGRESS"),), 1200),
        "java",
        "2.7.2",
        "2.8.0",
    ),
    Scene(
        Story(
            "KAFKA-7961",
            (then(JOIN, 2, 200, "subscribe", topics=("u",)),),
            3000,
            topics=("t", "u"),
            partner=True,
            stubborn=True,
        ),
        "java",
        "2.2.2",
        "2.3.1",
    ),
    Scene(
        Story("KAFKA-5154", (breaks(SYNC, 1),), 8500),
        "java",
        "0.10.2.2",
        "0.11.0.3",
        broker="2.0",
    ),
    Scene(
        Story(
            "KAFKA-20778",
            (then(HEARTBEAT, 1, 400, "broker-ends"), then(HEARTBEAT, 5, 400, "broker-begins")),
            9000,
            {"client.rack": "east", "metadata.max.age.ms": 1300, **QUICK},
            replicas=2,
        ),
        "java",
        "4.3.1",
        "4.4.0",
        bursts=True,
    ),
    Scene(
        Story(
            "KAFKA-3117",
            (slow(SYNC, 1, 3_000), then(SYNC, 1, 100, "partitions", total=4)),
            7500,
            {"metadata.max.age.ms": 1_000, "session.timeout.ms": 10_000},
        ),
        "java",
        "0.9.0.1",
        "0.10.0.1",
        broker="2.0",
    ),
    Scene(
        Story(
            "KAFKA-6362",
            (answer(COMMIT, 2, "NOT_COORDINATOR"),),
            7000,
            {"enable.auto.commit": True, "auto.commit.interval.ms": 1_000},
            records=3,
            assigns=("t-0",),
        ),
        "java",
        "1.0.2",
        "1.1.1",
        broker="2.0",
    ),
    Scene(
        Story(
            "KAFKA-7126",
            (then(HEARTBEAT, 1, 0, "topic", name="more"), answer(HEARTBEAT, 2, "REBALANCE_IN_PROGRESS")),
            3500,
            pattern=".*",
        ),
        "java",
        "2.0.0",
        "2.0.1",
        broker="2.0",
    ),
    Scene(
        Story(
            "kafkajs-1361",
            (then(HEARTBEAT, 1, 100, "partner"),),
            14_000,
            {"partition.assignment.strategy": "roundrobin", "fetch.max.wait.ms": 200},
            partitions=1,
            partner_id="a partner",
        ),
        "kafkajs",
        "2.0.0",
        "2.0.1",
        leaves=_OF_KAFKAJS,
        repeats=True,
    ),
    Scene(
        Story("sarama-1462", (then(HEARTBEAT, 1, 100, "partitions", total=4),), 5000, {"metadata.max.age.ms": 1_000}),
        "sarama",
        "1.24.0",
        "1.24.1",
        broker="2.0",
        repeats=True,
    ),
    Scene(
        Story("sarama-1608", (answer(HEARTBEAT, 2, "REBALANCE_IN_PROGRESS"),), 6000, clean_up_ms=3_000),
        "sarama",
        "1.31.0",
        "1.31.1",
        broker="2.0",
        repeats=True,
    ),
    Scene(
        Story(
            "franz-go-dcfcacb5",
            (answer(HEARTBEAT, 2, "REBALANCE_IN_PROGRESS"),),
            4000,
            {"partition.assignment.strategy": "sticky"},
        ),
        "franz-go",
        "1.9.1",
        "1.10.0",
        leaves=_OF_FRANZ_GO,
        repeats=True,
    ),
    Scene(
        Story("librdkafka-3818", (), 2500, {"partition.assignment.strategy": "roundrobin,range"}),
        "librdkafka",
        "1.8.2",
        "1.9.0",
    ),
)

SCENES: Mapping[str, Scene] = {scene.story.name: scene for scene in _ALL}
"""By the name of the defect (`members/profiles/defects.py`)."""
