"""Public manifests and property files of many projects, restated: each gives a scenario that validates and runs."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from groupsim.scenarios.drafting import DraftedScenario, File, draft_of
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import tell

PUBLIC = Path(__file__).parent / "public"
SHORT_US = 130_000_000  # the rollout begins after two minutes

#: File → the groups with their members, and a part of the text that only this source explains.
EXPECTED = {
    "apache-kafka.properties": ({"test-consumer-group": 3}, "partition.assignment.strategy: org.apache"),
    "batch-consumer.yml": ({"consumer-group-batch-message-consumer": 9}, "max.poll.records: 10"),
    "dissco.json": ({"group": 1}, "lag: 5"),
    "event-hub-load.yaml": ({"testconsumer18": 3}, 'surge: "25%"'),
    "kafka-starter.yml": ({"kafka-starter": 3}, "session.timeout.ms: 15000"),
    "keda-example.yaml": ({"my-group": 3}, "lag: 50"),
    "microcks.properties": ({"microcks": 3}, "subscribe: [microcks-services-updates]"),
    "nav-spesialist.yaml": ({"tbd-spesialist-v1": 6}, "lag: 1000"),
    "notification-hpa.yaml": ({"notification-service-group": 1}, "cpu-percent: 70"),
    "opentelemetry-demo.yaml": ({"accounting": 1, "fraud-detection": 1}, "every-partition-owned: {group: accounting}"),
    "querium-topics.yaml": ({"consumers": 3}, "cleanup.policy: compact"),
    "spring-cloud-stream.yaml": ({"partitioning-consumer3-sample-kafka": 1}, "brokers: 3"),
    "strimzi-client-examples.yaml": ({"java-kafka-consumer": 1}, "subscribe: [my-topic-reversed]"),
    "strimzi-node-pools.yaml": ({"consumers": 3}, 'version: "3.7.1"'),
    "thingsboard.yaml": ({"tb-mqtt-transport": 2}, "ready-time: uniform(0s, 20s)"),
    "ureplicator.properties": ({"kloak-mirrormaker-test": 3}, "zookeeper-0.8"),
}


def draft(name: str) -> DraftedScenario:
    """The scenario of one of the files."""
    path = PUBLIC / name
    return draft_of([File(str(path), path.read_text("utf-8"), path.suffix != ".properties")])


def test_every_public_file_is_in_the_table() -> None:
    """At least twelve sources are tested, and every file of the folder."""
    assert sorted(EXPECTED) == sorted(path.name for path in PUBLIC.iterdir())
    assert len(EXPECTED) >= 12


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_public_file_gives_a_scenario_that_runs(name: str) -> None:
    """The draft has the groups and members that the file declares, and every group forms in a run of it."""
    groups, part = EXPECTED[name]
    drafted = draft(name)
    found = {
        group: sum(member.count for member in spec.members.values()) for group, spec in drafted.scenario.groups.items()
    }
    assert found == groups
    assert part in drafted.text
    assert drafted.questions
    run = run_scenario(attrs.evolve(drafted.scenario, run_for=SHORT_US, expect=()), seed=0)
    assert {group.group for group in tell(run.events).groups} == set(groups)
