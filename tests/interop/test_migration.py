"""The migration of twenty pods: how a time without an owner is found, what the story says, and what the table says."""

from __future__ import annotations

from pathlib import Path

import kafka_jars
import pytest

from groupsim import load_text
from tests.helpers.unavailable import unavailable
from tests.interop.bench import Bench
from tests.interop.clients import CONFLUENT, JAVA
from tests.interop.migration import story
from tests.interop.migration.__main__ import KAFKA, SERVE, VIRTUAL, compared, kept, misses, play, rows_of
from tests.interop.migration.jvm import Jvm
from tests.interop.migration.ownership import Change, gaps, longest, total
from tests.interop.migration.simulated import scenario
from tests.interop.migration.story import PODS, Found
from tests.interop.peers import started

PLACE = ("orders", 0)


def change(at: float, pod: str, gained: bool) -> Change:
    """A change of the one partition."""
    return Change(at, pod, PLACE, gained)


def test_a_partition_is_without_an_owner_from_a_release_to_the_next_assignment() -> None:
    """The longest gap comes first; a partition without a next owner has a gap to the end of the run."""
    changes = [change(1, "a", True), change(5, "a", False), change(5.5, "b", True), change(8, "b", False)]
    assert [(one.released_by, one.began, one.seconds) for one in gaps(changes, 10)] == [("b", 8, 2), ("a", 5, 0.5)]


def test_a_partition_that_has_another_owner_is_not_free() -> None:
    """An owner that comes before the last one has released leaves no gap."""
    changes = [change(1, "a", True), change(3, "b", True), change(4, "a", False), change(6, "a", True)]
    assert gaps(changes, 10) == []


def test_the_longest_gap_is_that_of_the_pods_asked_for_and_of_the_time_asked_for() -> None:
    """What a group did before the roll, and what other pods released, does not count."""
    changes = [change(1, "a", True), change(2, "a", False), change(6, "b", True), change(7, "b", False)]
    found = gaps(changes, 8)
    assert longest(found, 0, ["a", "b"]) == 4
    assert longest(found, 3, ["a", "b"]) == 1
    assert longest(found, 3, ["a"]) == 0
    assert total(found, 0) == 5
    assert total(found, 3) == 1


def test_half_of_the_pods_are_static_and_half_are_java() -> None:
    """Twenty pods, and the scenario in virtual time restarts each of them twice."""
    assert len(PODS) == 20
    assert len({pod.name for pod in PODS if pod.static}) == len({pod.name for pod in PODS if pod.client == story.JAVA})
    restarted = [name for step in load_text(scenario(3)).timeline for name in step.action.member]
    assert restarted == [pod.name for pod in PODS] * 2


def test_each_pod_returns_more_than_an_interval_before_the_next_one_closes() -> None:
    """Every member has heard of it then, at its own heartbeat."""
    assert story.STEP_S - story.DOWN_S > story.HEARTBEAT_MS / 1_000 + 0.5


def test_a_pod_that_leaves_in_the_second_roll_is_followed_by_a_heartbeat_that_computes_a_target() -> None:
    """One of the members that are not rolled yet sends its heartbeat within a second, and not at the same instant."""
    interval = story.HEARTBEAT_MS / 1_000
    first, second = story.SCHEDULE[: len(PODS)], story.SCHEDULE[len(PODS) :]
    for place, close in enumerate(second[:-1]):
        if not close.pod.static:
            begun = [one.after_s + story.DOWN_S for one in first[place + 1 :]]
            assert 0.1 < min((since - close.after_s) % interval for since in begun) < 1, close.pod


@pytest.fixture
def found() -> dict[str, list[Found]]:
    """Three runs of each, in which all is well."""
    return {kind: [Found(3 + n / 10, 1, 20, 0) for n in range(3)] for kind in (SERVE, KAFKA, VIRTUAL)}


def test_the_table_has_medians_with_the_least_and_the_most(found: dict[str, list[Found]]) -> None:
    """A row for each server and for virtual time, and how far one is from another."""
    assert compared(found)[0] == (
        "groupsim serve beside Kafka: longest +0.0%, of a dynamic pod's +0.0%, all partitions +0.0%"
    )
    assert rows_of(found)[0] == (
        "groupsim serve",
        "3",
        "3.10 s (3.00–3.20)",
        "1.00 s (1.00–1.00)",
        "20 s (20–20)",
        "0",
        "0",
    )


def test_what_is_lost_dead_or_mispredicted_is_named(found: dict[str, list[Found]]) -> None:
    """Each is a sentence, and then the tool ends with 1."""
    assert misses(found) == []
    found[KAFKA] = [Found(4, 1, 20, 2, ("p: ended",)), Found(4, 1, 20, 0), Found(4, 1, 20, 0)]
    assert misses(found) == ["Kafka: 2 lost, dead: ('p: ended',)", "virtual time says 3.10 s, Kafka 4.00 s"]


def test_runs_that_were_kept_are_not_played_again(found: dict[str, list[Found]]) -> None:
    """With as many runs in the file as are asked for, nothing is started."""
    assert play([SERVE, KAFKA], 3, found, None) == {SERVE: found[SERVE], KAFKA: found[KAFKA]}
    assert kept(None) == {}


@pytest.mark.slow
@pytest.mark.interop
def test_consumers_of_one_jvm_join_close_and_are_followed(tmp_path: Path) -> None:
    """Two consumers of one process share a topic; when one has closed, one that was held takes its place."""
    try:
        command = JAVA.command()
    except kafka_jars.Unavailable as why:
        unavailable(why, "java")
    with started("groupsim", story.BROKERS, 1) as peer, Bench(CONFLUENT, peer, "jvm", tmp_path) as bench:
        topic = bench.topic(4, 1)
        jvm = Jvm(command, tmp_path)
        try:
            common = {
                "bootstrap": peer.bootstrap,
                "group": bench.group,
                "topics": [topic],
                "assignor": "server:uniform",
            }
            first, second, third = (
                jvm.start({"role": "consumer", "client_id": f"c{number}", "hold": True, **common})
                for number in range(3)
            )
            for member in (first, second):
                member.ready()
                member.tell("subscribe")
            bench.stable(topic, [first, second], 4)
            first.ask("close", "closed")
            third.ready()
            third.tell("subscribe")
            bench.stable(topic, [second, third], 4)
            assert not first.owned
        finally:
            jvm.kill()
