"""Kafka's authorizer in scenario files, by the brokers' properties."""

from __future__ import annotations

import pytest

from groupsim.cluster.config.acl import STANDARD
from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.problems import WARNING, ScenarioError
from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.loading.load import load_file, load_text
from groupsim.scenarios.runtime.runner import Run, StepError, run_scenario
from groupsim.scenarios.story import tell

SCENE = """
run-for: 60s
cluster: {{ brokers: 1, logs: replicated }}
broker: {{ properties: {{ {properties} }} }}
topics: {{ t: {{ partitions: 2, rate: 10/s }} }}
groups: {{ g: {{ subscribe: [t], members: {{ c: {{ count: 2 }} }} }} }}
"""
WHO = f"authorizer.class.name: {STANDARD}"


def run_with(properties: str) -> Run:
    """A minute of two consumers on such a broker."""
    return run_scenario(load_text(SCENE.format(properties=properties), "scene.yaml"))


def errors(run: Run) -> set[str]:
    """Return every error that a broker answered."""
    return {event.error for event in run.events if event.kind is Kind.RESPONSE_SENT and event.error}


def test_nobody_may_do_anything_without_an_acl() -> None:
    """Without an ACL, a broker with an authorizer refuses the first request, and the trace shows it."""
    words = errors(run_with(WHO))
    assert "GROUP_AUTHORIZATION_FAILED" in words
    assert words <= {"GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"}


@pytest.mark.parametrize("more", ['"super.users": "User:ANONYMOUS"', '"allow.everyone.if.no.acl.found": true'])
def test_everybody_may_do_everything_by_a_property(more: str) -> None:
    """Clients are User:ANONYMOUS, and resources without ACLs may be open to all: a group forms and reads."""
    run = run_with(f"{WHO}, {more}")
    assert not {error for error in errors(run) if error.endswith("AUTHORIZATION_FAILED")}
    assert [event for event in run.events if event.kind is Kind.RECORDS_DELIVERED]


def test_an_authorizer_of_others_is_refused_where_it_stands() -> None:
    """The error names the existing one."""
    with pytest.raises(ScenarioError) as refused:
        load_text(SCENE.format(properties="authorizer.class.name: com.example.Mine"), "scene.yaml")
    assert STANDARD in str(refused.value)


# --- acls of a file --------------------------------------------------------------------------------------------------

ACLS = """
run-for: 30s
broker: {{ {authorizer} }}
cluster: {{ brokers: 1, acls: [{acls}] }}
topics: {{ t: {{ partitions: 2, rate: 10/s }} }}
groups: {{ group-a: {{ members: {{ a: 2 }} }}, other: {{ members: {{ b: 1 }} }} }}
"""
EVERY_TOPIC = '{allow: All, topic: "*"}'


def scene(*acls: str, authorizer: str = WHO) -> Scenario:
    """Two groups on a broker with these ACLs."""
    return load_text(ACLS.format(acls=", ".join(acls), authorizer=authorizer), "scene.yaml")


def failed(*acls: str) -> list[str]:
    """Return the processes that failed."""
    events = run_scenario(scene(*acls)).events
    return sorted(event.host or "" for event in events if event.kind is Kind.PROCESS_FAILED)


def test_what_an_acl_allows_is_allowed_and_nothing_else() -> None:
    """By name, by prefix, and for one process alone; a denial takes precedence."""
    assert failed(EVERY_TOPIC, "{allow: Read, group: group-a}") == ["b"]
    assert failed(EVERY_TOPIC, "{allow: read, group: grou, prefixed: true}") == ["b"]
    assert failed(EVERY_TOPIC, '{allow: [Read], group: "*"}') == []
    assert failed(EVERY_TOPIC, '{allow: All, group: "*"}', "{deny: Read, group: group-a, host: a-2}") == ["a-2"]
    assert failed(EVERY_TOPIC, '{allow: All, group: "*", principal: "User:Bob"}') == ["a-1", "a-2", "b"]


def test_acls_stand_before_the_run_and_are_not_in_the_trace() -> None:
    """No request is refused at the start, and with all operations allowed the group runs as without one."""
    allowed = run_scenario(scene(EVERY_TOPIC, '{allow: All, group: "*"}', "{allow: All, cluster: true}"))
    open_ = run_scenario(load_text(ACLS.replace(", acls: [{acls}]", "").format(authorizer=""), "scene.yaml"))
    differ = [
        (a, b) for a, b in zip(allowed.events, open_.events, strict=True) if a.reason != b.reason or a.t_us != b.t_us
    ]
    assert [a.kind for a, _ in differ if a.kind is not Kind.RUN_STARTED] == []


@pytest.mark.parametrize(
    ("acl", "words"),
    [
        ("{group: a}", "an ACL allows or denies"),
        ("{allow: Read, deny: Write, topic: t}", "an ACL allows or denies"),
        ("{allow: Read}", "has one resource, this one has none"),
        ("{allow: Read, topic: t, group: g}", "this one has 2"),
        ("{allow: Raed, topic: t}", "did you mean `Read`"),
        ("{allow: Write, group: g}", "a group has no operation `Write`"),
        ("{allow: Read, transactional-id: x}", "a transactional-id has no operation `Read`"),
        ("{allow: Create, cluster: true, prefixed: true}", "the cluster has no name"),
        ('{allow: Read, topic: ""}', "the name of its resource"),
        ("{allow: Read, topic: t, principal: Bob}", "`Bob` is not a principal"),
        ("{alow: Read, topic: t}", "did you mean `allow`"),
    ],
)
def test_an_acl_that_cannot_be_is_refused_at_its_place(acl: str, words: str) -> None:
    """The error has the line and the remedy."""
    with pytest.raises(ScenarioError) as refused:
        scene(acl)
    assert words in str(refused.value)
    assert str(refused.value).startswith("scene.yaml:4:")


def test_acls_that_nobody_asks_about_are_noted() -> None:
    """Without an authorizer they have no effect, which is a warning; an unknown host is a note."""
    (warning,) = [note for note in scene(EVERY_TOPIC, authorizer="").notes if note.severity == WARNING]
    assert "ACLs without an authorizer have no effect" in warning.message
    (note,) = [note for note in scene("{allow: Read, topic: t, host: a-3}").notes if "a-3" in note.message]
    assert "did you mean" in note.remedy


# --- acls that come and go ------------------------------------------------------------------------------------------

STEP = "timeline: [{{at: 10s, do: {do}, acls: [{acl}]}}]"


def changed(do: str, acl: str, *acls: str, authorizer: str = WHO) -> Scenario:
    """The two groups, and one step on ACLs."""
    text = ACLS.format(acls=", ".join(acls), authorizer=authorizer) + STEP.format(do=do, acl=acl)
    return load_text(text, "scene.yaml")


def test_an_acl_that_is_taken_away_is_missed_from_then_on() -> None:
    """Heartbeats and commits of its group are refused from that second on, those of the other group are not."""
    events = run_scenario(changed("remove-acls", "{allow: Read, group: group-a}", *(
        EVERY_TOPIC, "{allow: Read, group: group-a}", "{allow: Read, group: other}"))).events  # fmt: skip
    refused = [event for event in events if event.error == "GROUP_AUTHORIZATION_FAILED" and event.host in ("a-1", "b")]
    assert {event.host for event in refused} == {"a-1"}
    assert min(event.t_us for event in refused) > 10_000_000
    assert {"Heartbeat", "OffsetCommit"} <= {event.api for event in refused}
    (reported,) = [event.reason for event in events if event.kind is Kind.ACTION]
    assert reported == "remove-acls: allow Read of group group-a"


def test_an_acl_that_is_made_allows_from_then_on() -> None:
    """A denial by a new ACL affects one process and not the other; refused operations may be allowed after it."""
    everything = (EVERY_TOPIC, '{allow: All, group: "*"}')
    events = run_scenario(changed("add-acls", "{deny: Read, group: group-a, host: a-2}", *everything)).events
    assert {event.host for event in events if event.error == "GROUP_AUTHORIZATION_FAILED" and event.kind is
            Kind.RESPONSE_RECEIVED} == {"a-2"}  # fmt: skip


def test_an_acl_that_is_not_there_cannot_be_taken_away() -> None:
    """The error has the ACL in the words of the file."""
    with pytest.raises(StepError, match=r"there is no ACL `deny Read, Write of topic t \(prefix\) from a-1`"):
        run_scenario(changed("remove-acls", "{deny: [Read, Write], topic: t, prefixed: true, host: a-1}", EVERY_TOPIC))


def test_acls_of_steps_are_judged_as_those_of_the_cluster() -> None:
    """A wrong operation at its place; a warning without an authorizer."""
    with pytest.raises(ScenarioError, match=r"scene.yaml:7:.*a group has no operation `Write`"):
        changed("add-acls", "{allow: Write, group: g}", EVERY_TOPIC)
    notes = changed("add-acls", "{allow: Read, group: g}", EVERY_TOPIC, authorizer="").notes
    assert [note.place.line for note in notes if "without an authorizer" in note.message] == [4, 7]


def test_a_session_that_ends_because_heartbeats_are_refused_says_so() -> None:
    """The story blames the refusal, not the handler that was busy meanwhile."""
    run = run_scenario(load_file(find("acl-withdrawn")))
    removed = tell(run.events).groups[0].generations[1]
    assert removed.cause == "session-expiry"
    assert "got GROUP_AUTHORIZATION_FAILED for its heartbeats from 0:30." in removed.why


def test_counted_logs_have_no_authorizer() -> None:
    """Counted logs have no authorizer: ACLs are an error."""
    text = ACLS.format(acls=EVERY_TOPIC, authorizer="").replace("brokers: 1", "logs: counted")
    with pytest.raises(ScenarioError, match="no authorizer"):
        load_text(text, "scene.yaml")
