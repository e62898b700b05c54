"""Expectations on the epochs of a consumer group: each holds, and fails with what was found."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim import load_text, run_scenario
from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.language.registry import Finding
from groupsim.scenarios.loading.converters import structure_check
from groupsim.scenarios.runtime.runner import Run
from tests.scenarios.expectations.test_expectations import RecordContext

GROUP = """
run-for: 60s
topics: {orders: {partitions: 4}}
groups:
  g1:
    properties: {group.protocol: PROTOCOL}
    client: java-4.4
    members:
      c: {count: 2, instance-id: "{name}"}
      late: {start: 20s}
timeline:
  - {at: 40s, do: stop, member: c-2}
expect: [EXPECTED]
"""


def found(run: Run) -> list[tuple[bool, str]]:
    """Return what the checks found."""
    return [(one.holds, one.finding.found) for one in run.checks]


def played(*expected: str, protocol: str = "consumer") -> Run:
    """Run a group whose third member comes at 20 s, and whose second one, a static one, closes at 40 s."""
    text = GROUP.replace("PROTOCOL", protocol).replace("EXPECTED", ", ".join(expected))
    return run_scenario(load_text(text))


def test_epochs_and_states_of_a_run() -> None:
    """Epochs rise with members; a member reconciles, waits for partitions, and is away after a static leave."""
    run = played(
        "group-epoch: 4",
        "{group-epoch: {is: 3, at: 19s}}",
        "assignment-epoch: 4",
        "{member-state: {member: c-1, is: RECONCILED, at: 19s}}",
        "{member-state: {member: c-1, is: STABLE, epoch: 4}}",
        "{member-state: {member: late, is: UNRELEASED_PARTITIONS, at: 20100ms}}",
        "{member-state: {member: late, is: NONE, at: 19s}}",
        "{member-state: {member: c-2, is: AWAY}}",
    )
    assert [one.finding for one in run.checks if not one.holds] == []


def test_what_fails_says_what_was_found() -> None:
    """The finding has the epoch and the state, and since when."""
    run = played(
        "group-epoch: 9",
        "assignment-epoch: 9",
        "{group-epoch: {is: 1, at: 0s}}",
        "{member-state: {member: late, is: RECONCILED, at: 20100ms}}",
        "{member-state: {member: c-1, is: STABLE, epoch: 2}}",
    )
    (epoch, target, none, waits, behind) = found(run)
    assert epoch[1].startswith("4 since 20")
    assert target[1].startswith("4 since 20")
    assert none == (False, "there is no group of the consumer protocol then")
    assert waits[1].startswith("UNRELEASED_PARTITIONS at epoch 4 since 20")
    assert behind[1].startswith("STABLE at epoch 4 since 2")
    assert not any(holds for holds, _ in found(run))


def test_a_classic_group_has_no_epochs() -> None:
    """A group of the classic protocol has no epoch, and the scenario gets a warning for the expectation."""
    run = played("group-epoch: 1", protocol="classic")
    assert found(run) == [(False, "there is no group of the consumer protocol then")]
    noted = [note.message for note in run.scenario.notes]
    assert any("whose members all use the classic protocol" in message for message in noted)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("{member-state: {member: nix, is: STABLE}}", "nix"),
        ("{member-state: {member: c-1, is: UNREVOKED}}", "UNREVOKED_PARTITIONS"),
        ("{group-epoch: {is: 3, group: other}}", "other"),
        ("{group-epoch: {is: many}}", "many"),
        ("{assignment-epoch: {is: 3, at: 90s}}", "after the end"),
    ],
)
def test_mistakes_have_a_place_and_a_remedy(expected: str, message: str) -> None:
    """A wrong name, state, number or time is an error."""
    with pytest.raises(ScenarioError, match=message):
        load_text(
            GROUP.replace("PROTOCOL", "consumer").replace("EXPECTED", expected).replace(", revoked-callback: 0s", "")
        )


def record(context: RecordContext, append: int, kind: str, value: Any, host: str = "broker-0") -> None:
    """Append a record of the group g."""
    payload = {"append": append, "type": kind, "key": "g", "value": value}
    context.add(Kind.RECORD_APPENDED, host=host, group="g", topic="__consumer_offsets", partition=3, payload=payload)


def done(context: RecordContext, append: int, error: str | None = None) -> None:
    """End an append."""
    context.add(
        Kind.APPEND_DONE,
        host="broker-0",
        topic="__consumer_offsets",
        partition=3,
        error=error,
        payload={"append": append},
    )


def judged(context: RecordContext, name: str, **fields: Any) -> Finding:
    """Judge an expectation on a constructed trace."""
    context.add(Kind.RUN_ENDED)
    return structure_check(name, {"group": "g", **fields}).judge(Evidence(context.events))


def test_an_append_that_failed_does_not_count() -> None:
    """The epochs of a failed append and of later ones are dropped, those before it stay."""
    context = RecordContext()
    for append, epoch in ((1, 2), (2, 3), (3, 4)):
        record(context.at(append), append, "group-epoch", epoch)
    done(context, 1)
    done(context, 2, "NOT_COORDINATOR")
    assert judged(context, "group-epoch", **{"is": 2}).holds


def test_what_a_load_does_not_find_does_not_count() -> None:
    """The epoch of an append that had not ended when another broker loaded the group is dropped."""
    context = RecordContext()
    record(context.at(1), 1, "group-epoch", 2)
    done(context, 1)
    record(context.at(2), 2, "group-epoch", 3)
    context.at(3).add(Kind.GROUP_LOADED, host="broker-1", group="g", payload={"members": 1})
    assert judged(context, "group-epoch", **{"is": 2}).holds


def test_a_group_that_becomes_classic_has_no_epoch() -> None:
    """After the tombstone of its epoch a group has none."""
    context = RecordContext()
    record(context.at(1), 1, "group-epoch", 2)
    record(context.at(2), 2, "group-epoch", None)
    finding = judged(context, "group-epoch", **{"is": 2})
    assert not finding.holds
    assert finding.found == "there is no group of the consumer protocol then"
