"""Random groups, put to Kafka's released classes in the same run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import kafka_jars
import pytest

from groupsim.assignors.server.interface import AssignmentFailed, ServerAssignor, ServerGroup, ServerMember
from groupsim.assignors.server.range import ServerRange
from groupsim.assignors.server.uniform import ServerUniform
from tests.assignors.server.groups import FixedTopics, as_line, changed, drawn, from_line, sorted_targets
from tests.helpers.unavailable import unavailable

PROGRAM = Path(__file__).with_name("ServerAssignors.java")
ASSIGNORS: tuple[ServerAssignor, ...] = (ServerUniform(), ServerRange())
SECONDS = 300


def _answers(lines: list[str]) -> list[str]:
    """What Kafka's classes answer to these lines."""
    command = [kafka_jars.java(), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp"]
    done = subprocess.run(
        [*command, kafka_jars.class_path(kafka_jars.STORAGE), str(PROGRAM)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return done.stdout.splitlines()


def _differences(seeds: range) -> list[str]:
    """The seeds whose targets are not Kafka's: each group from nothing, and after a change of its members."""
    lines, ours, names = [], [], []
    for seed in seeds:
        for assignor in ASSIGNORS:
            group, topics = drawn(seed)
            for step in range(3):
                targets = assignor.assign(group, topics)
                lines.append(as_line(assignor.name, group, topics))
                ours.append(sorted_targets({one.member_id: targets.get(one.member_id, {}) for one in group.members}))
                names.append(f"{assignor.name}, seed {seed}, step {step}")
                group = changed(1_000 * step + seed, group, sorted_targets(targets))
    theirs = []
    for line, mine in zip(_answers(lines), ours, strict=True):
        found = from_line(line)
        theirs.append({member: found.get(member, {}) for member in mine})
    return [name for name, mine, other in zip(names, ours, theirs, strict=True) if mine != other]


PHANTOM = ServerGroup(
    (ServerMember("c1", ("A" * 22,), {"A" * 22: (9, 1)}), ServerMember("c2", ("A" * 22,), {})), homogeneous=True
)


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.interop_short
def test_a_target_with_a_partition_that_does_not_exist_is_treated_as_by_kafkas_class() -> None:
    """`uniform` keeps the partition in a homogeneous group, or fails where partitions are left over."""
    topics = FixedTopics({"A" * 22: 7})
    try:
        (theirs,) = _answers([as_line("uniform", PHANTOM, topics)])
    except kafka_jars.Unavailable as why:
        unavailable(why, "java")
    try:
        ours = sorted_targets(ServerUniform().assign(PHANTOM, topics))
    except AssignmentFailed:
        assert theirs == "failed"
    else:
        assert from_line(theirs) == ours


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.interop_short
def test_targets_of_random_groups_equal_those_of_kafkas_classes() -> None:
    """2,400 targets of 400 random groups: `uniform` and `range`, homogeneous and not, first ones and later ones."""
    try:
        assert _differences(range(400)) == []
    except kafka_jars.Unavailable as why:
        unavailable(why, "java")


@pytest.mark.slow
@pytest.mark.interop
def test_targets_of_many_random_groups_equal_those_of_kafkas_classes() -> None:
    """The long form: 12,000 targets of 2,000 other groups, partition by partition."""
    try:
        assert _differences(range(400, 2_400)) == []
    except kafka_jars.Unavailable as why:
        unavailable(why, "java")
