"""Kafka's authorizer in scenario files, by the brokers' properties."""

from __future__ import annotations

import pytest

from groupsim.cluster.acl.config import STANDARD
from groupsim.eventloop.events import Kind
from groupsim.scenarios.load import load_text
from groupsim.scenarios.problems import ScenarioError
from groupsim.scenarios.runner import Run, run_scenario

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
    """Every error that a broker answered."""
    return {event.error for event in run.events if event.kind is Kind.RESPONSE_SENT and event.error}


def test_nobody_may_do_anything_without_an_acl() -> None:
    """Whose broker has an authorizer and no ACL is refused from the first request on, and the trace says so."""
    said = errors(run_with(WHO))
    assert "GROUP_AUTHORIZATION_FAILED" in said
    assert said <= {"GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"}


@pytest.mark.parametrize("more", ['"super.users": "User:ANONYMOUS"', '"allow.everyone.if.no.acl.found": true'])
def test_everybody_may_do_everything_by_a_property(more: str) -> None:
    """Clients are User:ANONYMOUS, and resources without ACLs may be everybody's: a group forms and reads."""
    run = run_with(f"{WHO}, {more}")
    assert not {error for error in errors(run) if error.endswith("AUTHORIZATION_FAILED")}
    assert [event for event in run.events if event.kind is Kind.RECORDS_DELIVERED]


def test_an_authorizer_of_others_is_refused_where_it_stands() -> None:
    """The error names the one that there is."""
    with pytest.raises(ScenarioError) as refused:
        load_text(SCENE.format(properties="authorizer.class.name: com.example.Mine"), "scene.yaml")
    assert STANDARD in str(refused.value)
