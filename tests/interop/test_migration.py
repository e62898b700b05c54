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
from tests.interop.migration.ownership import Change, gaps, longest
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


def test_half_of_the_pods_are_static_and_half_are_java() -> None:
    """Twenty pods, and the scenario in virtual time restarts each of them twice."""
    assert len(PODS) == 20
    assert len({pod.name for pod in PODS if pod.static}) == len({pod.name for pod in PODS if pod.client == story.JAVA})
    restarted = [name for step in load_text(scenario()).timeline for name in step.action.member]
    assert restarted == [pod.name for pod in PODS] * 2


@pytest.fixture
def found() -> dict[str, list[Found]]:
    """Three runs of each, in which all is well."""
    return {kind: [Found(3 + n / 10, 1, 0) for n in range(3)] for kind in (SERVE, KAFKA, VIRTUAL)}


def test_the_table_has_medians_with_the_least_and_the_most(found: dict[str, list[Found]]) -> None:
    """A row for each server and for virtual time, and how far one is from another."""
    assert compared(found)[0] == "groupsim serve beside Kafka: +0.0%"
    assert rows_of(found)[0] == ("groupsim serve", "3", "3.10 s (3.00–3.20)", "1.00 s (1.00–1.00)", "0", "0")


def test_what_is_lost_dead_or_mispredicted_is_named(found: dict[str, list[Found]]) -> None:
    """Each is a sentence, and then the tool ends with 1."""
    assert misses(found) == []
    found[KAFKA] = [Found(4, 1, 2, ("p: ended",)), Found(4, 1, 0), Found(4, 1, 0)]
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
