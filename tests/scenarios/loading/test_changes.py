"""Paths into a scenario, and changes along them: the right place, or the nearest valid path."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.scenarios.language.document import Document, parse_document
from groupsim.scenarios.language.problems import Place, ScenarioError
from groupsim.scenarios.loading.changes import Change, changed, read_change
from groupsim.scenarios.loading.load import scenario_of

TEXT = """\
run-for: 60s
topics: {orders: 6, my.topic: {partitions: 2}}
groups:
  g1:
    client: kafka-python
    versions: {JoinGroup: 2}
    properties: "session.timeout.ms=9000\\nmax.poll.records=5"
    members: {c: 3, late: {start: 1s}, none: }
  g2: {members: {d: 1}}
timeline:
  - {at: 30s, do: crash, member: c-2}
  - {at: 31s, do: request, api: Heartbeat, group: g1, fields: {group_id: g1, generation_id: 1, member_id: x}}
expect:
  - no-two-owners
  - generations: {is: 2, group: g1}
"""


def document() -> Document:
    """The document of TEXT."""
    return parse_document(TEXT, "s.yaml")


def change(path: str, value: Any) -> Document:
    """TEXT with one change, written at e.yaml:7:3."""
    return changed(document(), [Change(path, value, Place("e.yaml", 7, 3))])


def at(data: Any, *path: Any) -> Any:
    """The value at a path."""
    for key in path:
        data = data[key]
    return data


# (a path, the place of its value)
PATHS = [
    ("run-for", ("run-for",)),
    ("cluster.latency", ("cluster", "latency")),
    ("broker.group.max.size", ("broker", "group.max.size")),
    ("broker.version", ("broker", "version")),
    ("topics.orders.rate", ("topics", "orders", "rate")),
    ("topics.my.topic.rate", ("topics", "my.topic", "rate")),
    ("groups.g1.instance-id", ("groups", "g1", "instance-id")),
    ("groups.g1.versions.SyncGroup", ("groups", "g1", "versions", "SyncGroup")),
    ("groups.g1.properties.session.timeout.ms", ("groups", "g1", "properties", "session.timeout.ms")),
    ("groups.g1.properties.session_timeout_ms", ("groups", "g1", "properties", "session_timeout_ms")),
    ("groups.g1.pauses.every", ("groups", "g1", "pauses", "every")),
    ("groups.g1.members.c.start", ("groups", "g1", "members", "c", "start")),
    ("groups.g1.members.none.count", ("groups", "g1", "members", "none", "count")),
    ("groups.g1.members", ("groups", "g1", "members")),
    ("groups.g2.properties.client.id", ("groups", "g2", "properties", "client.id")),
    ("timeline.0.at", ("timeline", 0, "at")),
    ("timeline.0.every", ("timeline", 0, "every")),
    ("timeline.1.fields.group_instance_id", ("timeline", 1, "fields", "group_instance_id")),
    ("expect.0.because", ("expect", 0, "because")),
    ("expect.1.generations.is", ("expect", 1, "generations", "is")),
]


@pytest.mark.parametrize(("path", "keys"), PATHS)
def test_a_path_leads_to_its_value(path: str, keys: tuple[Any, ...]) -> None:
    """A path leads to an existing value, or one that the model allows; the document's own data stays."""
    made = change(path, "new")
    assert at(made.data, *keys) == "new"
    assert made.at_value(keys) == Place("e.yaml", 7, 3)
    assert document().data == parse_document(TEXT).data


def test_a_short_form_on_the_way_is_spelt_out() -> None:
    """The value of the short form is kept: six partitions, three members, pasted properties."""
    assert change("topics.orders.rate", "1/s").data["topics"]["orders"] == {"partitions": 6, "rate": "1/s"}
    assert change("groups.g1.members.c.start", "2s").data["groups"]["g1"]["members"]["c"] == {"count": 3, "start": "2s"}
    properties = change("groups.g1.properties.max.poll.records", 1).data["groups"]["g1"]["properties"]
    assert properties == {"session.timeout.ms": "9000", "max.poll.records": 1}
    assert change("expect.0.because", "x").data["expect"][0] == {"no-two-owners": None, "because": "x"}


# (an invalid path, the message, the remedy)
NOWHERE = [
    ("run-fro", "there is no `run-fro` in a scenario", "did you mean `run-for`?"),
    ("groups.g3.assignor", "there is no `g3` below `groups`", "did you mean `groups.g"),
    ("groups.g1.asignor", "there is no `asignor` below `groups.g1`", "did you mean `groups.g1.assignor`?"),
    ("session.timeout.ms", "there is no `session`", "did you mean `groups.g1.properties.session.timeout.ms`?"),
    ("g2.session.timeout.ms", "there is no `g2`", "did you mean `groups.g2.properties.session.timeout.ms`?"),
    ("g2.assignor", "there is no `g2`", "did you mean `groups.g2.assignor`?"),
    ("groups.g2.properties.sesion.timeout.ms", "of Kafka's consumer", "`groups.g2.properties.session.timeout.ms`?"),
    ("groups.g2.properties.session_timeout_ms", "of Kafka's consumer", "did you mean"),
    ("broker.group.max.sise", "of a broker", "did you mean `broker.group.max.size`?"),
    ("topics.orders.partition", "no `partition` below `topics.orders`", "did you mean `topics.orders.partitions`?"),
    ("topics.payments", "no `payments` below `topics`", "topics"),
    ("groups.g1.versions.JoinGroups", "no `JoinGroups`", "did you mean `groups.g1.versions.JoinGroup`?"),
    ("timeline.0.membre", "no `membre` below `timeline.0`", "did you mean `timeline.0.member`?"),
    ("timeline.2.at", "'2' is not an item of the 2 in `timeline`", "items count from 0"),
    ("timeline.first.at", "'first' is not an item of the 2 in `timeline`", "items count from 0"),
    ("run-for.ms", "`run-for` has no keys", "did you mean `run-for`?"),
    ("groups..assignor", "there is no `` below `groups`", "assignor`?"),
    ("xyzzy", "there is no `xyzzy` in a scenario", "known in a scenario: broker, cluster"),
]


@pytest.mark.parametrize(("path", "message", "remedy"), NOWHERE)
def test_a_path_that_leads_nowhere_is_refused(path: str, message: str, remedy: str) -> None:
    """The nearest valid path is the remedy, at the place where the path was written."""
    with pytest.raises(ScenarioError) as caught:
        change(path, 1)
    (problem,) = caught.value.problems
    assert message in problem.message
    assert remedy in problem.remedy
    assert problem.place == Place("e.yaml", 7, 3)


def test_every_path_that_leads_nowhere_is_told() -> None:
    """One report for all changes; a path's own place precedes its value's."""
    first, second = Change("a.b", 1, Place("e", 2), Place("e", 1)), Change("run-for", "9s", Place("e", 3))
    with pytest.raises(ScenarioError) as caught:
        changed(document(), [first, second, read_change("c=1")])
    assert [str(problem.place) for problem in caught.value.problems] == ["--set c=1", "e:1:0"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("run-for=yesterday", "'yesterday' is not a duration"),
        ("groups.g2.properties.session.timeout.ms=soon", "not a time"),
        ("groups.g2.properties={session.timeout.ms: soon}", "not a time"),
        ("groups.g2.assignor=rangee", "assignor `rangee`"),
        ("timeline.0.member=nobody", "`nobody`"),
        ("timeline=[{at: 90s, do: crash, member: c-1}]", "after the end of the run"),
        ("topics.orders={partitions: none}", "expected a whole number"),
        ("topics.orders={partition: 3}", "unknown key `partition`"),
        ("broker.group.max.size=many", "must be a whole number"),
    ],
)
def test_a_bad_value_is_told_where_it_was_written(setting: str, message: str) -> None:
    """The place is that of the change, not of the changed file."""
    with pytest.raises(ScenarioError) as caught:
        scenario_of(changed(document(), [read_change(setting)]), "s")
    assert message in str(caught.value)
    assert [problem.place.file for problem in caught.value.problems] == [f"--set {setting}"]


def test_what_was_not_changed_keeps_its_place() -> None:
    """A mistake elsewhere in the file still has its file and line."""
    bad = parse_document(TEXT.replace("g2: {members: {d: 1}}", "g2: {members: {d: x}}"), "s.yaml")
    with pytest.raises(ScenarioError) as caught:
        scenario_of(changed(bad, [read_change("groups.g2.assignor=range")]), "s")
    assert [str(problem.place) for problem in caught.value.problems] == ["s.yaml:9:21"]


def test_a_step_from_elsewhere_has_no_line_of_the_file() -> None:
    """A failing step does not have the line of another one."""
    scenario = scenario_of(changed(document(), [read_change("timeline=[{at: 1s, do: crash, member: c-1}]")]), "s")
    assert [step.line for step in scenario.timeline] == [0]
    assert [one.line for one in scenario.expect] == [14, 15]


def test_values_are_yaml() -> None:
    """Numbers, lists and mappings too; nothing after the sign is an empty text; the last of two wins."""
    assert [read_change(f"x={text}").value for text in ("3", "[a, b]", "{a: 1}", "", "'3'", "null")] == [
        *(3, ["a", "b"], {"a": 1}, "", "3", None)
    ]
    made = changed(document(), [read_change("run-for=1s"), read_change("run-for=2s")])
    assert made.data["run-for"] == "2s"
