"""The loader reports every mistake of a file at once, with place and remedy, before a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.scenarios.language.problems import WARNING, ScenarioError
from groupsim.scenarios.loading.load import load_file, load_text

GOOD = """\
title: a crash
run-for: 60s
broker: {version: "3.9"}
topics:
  orders: {partitions: 6, rate: 10/s}
groups:
  g1:
    client: java-3.9
    properties:
      session.timeout.ms: 10000
    members:
      c: {count: 3, start: 1s}
timeline:
  - {at: 30s, do: crash, member: c-2}
expect:
  - generations: 2
"""


def wrong(text: str) -> str:
    """The report on a bad file."""
    with pytest.raises(ScenarioError) as caught:
        load_text(text, "f.yaml")
    return str(caught.value)


def test_a_good_file_becomes_a_scenario() -> None:
    """Names, durations and steps arrive as the file has them."""
    scenario = load_text(GOOD, "f.yaml")
    assert (scenario.name, scenario.run_for, scenario.topics["orders"].partitions) == ("f", 60_000_000, 6)
    assert scenario.timeline[0].at == 30_000_000
    assert scenario.timeline[0].action.NAME == "crash"
    assert (scenario.timeline[0].line, scenario.expect[0].line) == (14, 16)


# (replaced text, new text, message, remedy, line)
MISTAKES = [
    ("title", "titel", "unknown key `titel`", "did you mean `title`?", 1),
    ("run-for: 60s", "run-for: 60", "a duration needs a unit", "write 60s or 60ms", 2),
    ("run-for: 60s", "run-for: -5s", "not negative", "", 2),
    ("run-for: 60s", "run-for: 60 parsecs", "unknown unit 'parsecs'", "", 2),
    ("run-for: 60s", "run-for: 0", "the run has no duration", "run-for: 60s", 2),
    ("run-for: 60s\n", "", "the key `run-for` is missing: consumers poll for ever", "add `run-for: 90s`", 1),
    ('"3.9"', "three", "expected a version such as 3.9", "", 3),
    ('"3.9"', '"0.1"', "has no group coordinator", "write 0.9 or newer", 3),
    ('version: "3.9"', "group.max.sise: 3", "unknown broker setting 'group.max.sise'", "group.max.size", 3),
    ('version: "3.9"', "group.max.size: many", "must be a whole number", "", 3),
    ('"3.9"', '"33.9"', "is newer than any modelled release", "or older", 3),
    ("title: a crash", "title: {a: crash}", "expected text, found a mapping", "", 1),
    ("client: java-3.9", "instance-id: {name}", "expected text, found a mapping", 'write "{name}" with the', 8),
    ("session.timeout.ms: 10000", "client.id: {n}", "`client.id` is a mapping", 'write "{n}" with the', 10),
    ("do: crash, member: c-2", "do: stop, member: c-2, leave: maybe", "expected true or false, found `maybe`", "", 14),
    ("do: crash", "every: 1us, do: crash", "30,000,000 repetitions are too many", "longer interval", 14),
    ("client: java-3.9", "rejoin-every: 0", "60,000,000 repetitions", "longer interval", 8),
    ("client: java-3.9", "pauses: {every: 1us, length: 2us}", "20,000,000 repetitions", "longer interval", 8),
    ("orders:", "'my orders':", "`my orders` is not a valid topic name", "at most 249 of letters", 5),
    ("partitions: 6", "partitions: 0", "a whole number of at least 1, found `0`", "", 5),
    ("partitions: 6", "partitions: six", "a whole number of at least 1, found `six`", "", 5),
    ("partitions: 6", "partition: 6", "unknown key `partition`", "did you mean `partitions`?", 5),
    ("rate: 10/s", "rate: 10", "expected a rate such as 10/s", "", 5),
    ("rate: 10/s", "rate: 10/s, replication: 9", "9 replicas on 3 brokers", "write 1 to 3", 5),
    ("rate: 10/s", "rate: 10/s, weights: [1]", "1 weights for 6 partitions", "", 5),
    ("java-3.9", "jawa-3.9", "no client profile `jawa-3.9`", "did you mean `java-3.9`?", 8),
    ("client: java-3.9", "assignor: rangee", "assignor `rangee`", "", 8),
    ("client: java-3.9", "assignor: nowhere:Nothing", "nowhere", "", 8),
    ("client: java-3.9", "subscribe: ordres", "there is no topic `ordres`", "did you mean `orders`?", 8),
    ("client: java-3.9", "subscribe-pattern: '['", "is not a pattern", "orders-.*", 8),
    ("client: java-3.9", "subscribe-regex: 'o.*'", "the classic protocol cannot subscribe", "`subscribe-pattern`", 8),
    ("count: 3", "count: 3, subscribe-regex: o, subscribe: orders", "a regex and another", "keep one", 12),
    ("session.timeout.ms: 10000", "session.timeout.ms: ten", "not a time", "milliseconds", 10),
    ("session.timeout.ms: 10000", "heartbeat.interval.ms: 45000", "not below session.timeout.ms = 45000", "third", 10),
    ("session.timeout.ms: 10000", "sesion.timeout.ms: 10000", "sesion.timeout.ms", "did you mean", 10),
    ("session.timeout.ms: 10000", "session: {timeout: 3}", "`session` is a mapping", "", 10),
    ("count: 3", "count: -3", "a whole number of at least 0", "", 12),
    ("count: 3", "count: 1000000", "1,000,000 processes are more than a run can hold", "at most 10,000 in all", 12),
    ("start: 1s", "start: later", "not a duration", "", 12),
    ("count: 3", "count: 3, processing: 'uniform(5ms)'", "uniform", "", 12),
    ("count: 3", "count: 3, stuck: [asleep]", "`asleep` is not allowed here", "never-heartbeat", 12),
    ("do: crash", "do: crush", "`crush` is neither an action nor a fault", "did you mean `crash`?", 14),
    ("do: crash", "do: OOM-kill", "`OOM-kill` is neither an action nor a fault", "did you mean `crash`?", 14),
    ("crash, member: c-2", "rolling-restart, maxSurge: 1", "unknown key `maxSurge`", "did you mean `surge`?", 14),
    ("c-2", "c-2, terminationGracePeriodSeconds: 30", "unknown key", "keys here: member", 14),
    ("crash, member: c-2", "stop, member: c-2, graceperiod: 30s", "unknown key", "did you mean `grace`?", 14),
    ("broker: {v", "cluster: {v", "`cluster`: unknown key `version`", "`broker: {version", 3),
    ("client: java-3.9", "version: 3.9", "`g1`: unknown key `version`", "`client: java-3.9`", 8),
    ("crash, member: c-2", "restart, broker: 1", "unknown key `broker`", "`stop-broker` and `restart-broker`", 14),
    ("do: crash, ", "", "a step needs the keys `at` and `do`", "", 14),
    ("at: 30s", "at: 90s", "90.000 s is after the end of the run", "raise `run-for`", 14),
    ("at: 30s", "at: 30s, times: 3", "`times` without `every`", "add `every`", 14),
    ("at: 30s", "at: 30s, every: 0", "endless repetition", "", 14),
    ("member: c-2", "member: c-4", "no member has this name: `c-4`", "did you mean", 14),
    ("member: c-2", "member: 'x*'", "no member matches", "", 14),
    ("member: c-2", "member: c-2, for: 3s", "unknown key `for`", "keys here: member", 14),
    (", member: c-2", "", "the key `member` is missing", "", 14),
    ("crash, member: c-2", "scale, to: 20000", "20,000 processes are more", "at most 10,000 in all", 14),
    ("do: crash, member: c-2", "do: freeze-broker, broker: 7, for: 1s", "there is no broker 7", "0 to 2", 14),
    ("do: crash, member: c-2", "do: add-partitions, topic: orders, to: 4", "has 6 partitions already", "7", 14),
    ("do: crash, member: c-2", "do: lose-response, to: join of c-2", "`join` is not an API", "JoinGroup", 14),
    ("do: crash, member: c-2", "do: lose-response, to: c-2", "expected requests such as", "", 14),
    ("do: crash, member: c-2", "do: request, api: Heartbeat, fields: {gen: 3}", "no field `gen`", "generation_id", 14),
    ("do: crash, member: c-2", "do: request, api: Heartbeat", "Heartbeat needs `member_id`", "", 14),
    ("generations: 2", "generation: 2", "unknown expectation `generation`", "did you mean `generations`?", 16),
    ("generations: 2", "generations: about 3", "expected a whole number", "", 16),
    ("generations: 2", "generations: 5..2", "is empty", "", 16),
    ("generations: 2", "state: Stabel", "`Stabel` is not allowed here", "did you mean `Stable`?", 16),
    ("generations: 2", "state: {is: Stable, group: g2}", "there is no group `g2`", "g1", 16),
    ("generations: 2", "owner: {partition: orders-9, is: c-1}", "`orders` has no partition 9", "0 to 5", 16),
    ("generations: 2", "owner: {partition: orders, is: c-1}", "expected a partition such as orders-0", "", 16),
    ("generations: 2", "error: {is: ILEGAL_GENERATION}", "is not an error code", "ILLEGAL_GENERATION", 16),
    ("generations: 2", "event: {kind: group.stat}", "no kind of event", "group.state", 16),
    ("generations: 2", "rebalance: {to: 2, cause: bad luck}", "is no cause", "", 16),
    ("generations: 2", "state: {is: Stable, at: 70s}", "after the end of the run", "", 16),
    ("generations: 2", "time-between: {from: {}, to: {}, is: 10 ± 5ms}", "not a duration", "", 16),
    ("- generations: 2", "- {generations: 2, rebalances: 3}", "an expectation has one check", "", 16),
]


@pytest.mark.parametrize(("old", "new", "words", "remedy", "line"), MISTAKES, ids=[f"{n}" for _, n, *_ in MISTAKES])
def test_each_mistake_has_place_and_remedy(old: str, new: str, words: str, remedy: str, line: int) -> None:
    """Misspelt keys, wrong units, impossible values and unknown names are errors with their line."""
    assert old in GOOD
    report = wrong(GOOD.replace(old, new, 1))
    assert words in report
    assert remedy in report
    assert any(part.startswith(f"f.yaml:{line}:") for part in report.splitlines()), report


def test_all_mistakes_are_reported_at_once() -> None:
    """Three mistakes in three places make one report of three, in the order of the file."""
    report = wrong(GOOD.replace("60s", "60").replace("rate: 10/s", "rte: 10/s").replace("crash, m", "crush, m"))
    lines = [line for line in report.splitlines() if line.startswith("f.yaml")]
    assert [line.split(":")[1] for line in lines] == ["2", "5", "14"]


@pytest.mark.parametrize("kind", ["members", "producers"])
def test_the_processes_of_a_file_are_counted_together(kind: str) -> None:
    """Two numbers that are valid alone are too many together: the larger one has the error."""
    many = "groups: {g: {members: {a: 5000, b: 6000}}}" if kind == "members" else (
        "groups: {g: {members: {c: 1}}}\nproducers: {a: {topic: t, count: 5000}, b: {topic: t, count: 6000}}"
    )  # fmt: skip
    report = wrong(f"title: x\nrun-for: 1s\ntopics: {{t: 1}}\n{many}\n")
    assert f"f.yaml:{4 if kind == 'members' else 5}:" in report
    assert f"11,000 {kind} in all are more than a run can hold" in report
    assert "write at most 10,000 in all" in report


@pytest.mark.parametrize("text", ["- a\n", "a\n", "42\n", "[1, 2]\n"])
def test_a_scenario_is_a_mapping(text: str) -> None:
    """A list or a bare word is an error that names the shape."""
    assert "a scenario must be a mapping" in wrong(text)


def test_sections_of_the_wrong_shape_are_told_their_shape() -> None:
    """A number where a mapping belongs, a mapping where a list belongs."""
    report = wrong("run-for: 1m\ngroups: 3\ntopics: []\ntimeline: {}\nexpect: 3\n")
    assert report.count("expected a mapping of names") == 2
    assert report.count("expected a list") == 2


def test_a_scenario_without_members_is_an_error() -> None:
    """Such a run would have no events."""
    assert "the scenario has no group" in wrong("run-for: 1m\n")
    assert "no group has a member" in wrong("run-for: 1m\ngroups: {g: {}}\n")


def test_two_processes_cannot_have_one_name() -> None:
    """Names are hosts: the second group needs another one."""
    text = "run-for: 1m\ntopics: {t: 1}\ngroups: {a: {members: {c: 2}}, b: {members: {c-1: 1}}}\n"
    assert "`c-1` is a member of `a` already" in wrong(text)


def test_with_several_groups_a_step_says_which() -> None:
    """`leader` and checks of one group are ambiguous with two."""
    text = """\
run-for: 1m
topics: {t: 1}
groups: {a: {members: {c: 1}}, b: {members: {d: 1}}}
timeline:
  - {at: 1s, do: crash, member: leader}
  - {at: 1s, do: move-coordinator}
  - {at: 1s, do: crash, member: leader of a}
expect:
  - state: Stable
"""
    report = wrong(text)
    assert "the group of `leader` is missing" in report
    assert report.count("the group is missing") == 2


def test_names_that_later_steps_make_are_known() -> None:
    """Scaling and rollouts add members, create-topic adds topics."""
    text = GOOD.replace(
        "timeline:\n",
        "timeline:\n  - {at: 5s, do: scale, to: 5}\n  - {at: 20s, do: crash, member: c-5}\n"
        "  - {at: 6s, do: create-topic, topic: more, partitions: 2}\n",
    ).replace("  - generations: 2", "  - owner: {partition: more-1, is: nobody}")
    assert len(load_text(text).timeline) == 4


def test_a_session_the_broker_refuses_is_a_warning() -> None:
    """The broker refuses it with INVALID_SESSION_TIMEOUT at run time, so it is only a warning."""
    scenario = load_text(GOOD.replace("session.timeout.ms: 10000", "session.timeout.ms: 5000"))
    warning = next(note for note in scenario.notes if "outside the broker's" in note.message)
    assert (warning.severity, warning.place.line) == (WARNING, 10)
    assert "INVALID_SESSION_TIMEOUT" in warning.remedy


def test_unknown_keys_in_pasted_properties_warn() -> None:
    """A consumer.properties may have unknown keys; a misspelt one has a warning with the nearest name."""
    pasted = "properties: |\n      sesion.timeout.ms=10000\n      my.own.key=1\n"
    text = GOOD.replace("properties:\n      session.timeout.ms: 10000\n", pasted)
    notes = load_text(text).notes
    assert [note.severity for note in notes] == [WARNING, WARNING]
    assert "did you mean session.timeout.ms?" in notes[0].remedy


def test_a_properties_file_is_read_beside_the_scenario(tmp_path: Path) -> None:
    """The path is relative to the scenario; a missing file is an error with that remedy."""
    (tmp_path / "consumer.properties").write_text("session.timeout.ms=9000\n# comment\n", encoding="utf-8")
    good = GOOD.replace("properties:\n      session.timeout.ms: 10000", "properties-file: consumer.properties")
    (tmp_path / "s.yaml").write_text(good, encoding="utf-8")
    assert load_file(tmp_path / "s.yaml").groups["g1"].properties_file == "consumer.properties"
    (tmp_path / "s.yaml").write_text(good.replace("consumer.prop", "konsumer.prop"), encoding="utf-8")
    with pytest.raises(ScenarioError, match="cannot be read: no such file"):
        load_file(tmp_path / "s.yaml")
