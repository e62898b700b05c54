"""A client may be named by its exact release: it runs as the profile that covers it, and is linted as itself."""

from __future__ import annotations

import re

import pytest

from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.lint import lint_scenario
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.plans.members import plans


def scenario(client: str, properties: str = "{}") -> str:
    """A small scenario with members of one client."""
    return f"""
run-for: 60s
topics: {{orders: 4}}
groups:
  billing:
    client: {client}
    properties: {properties}
    members: {{c: 2}}
"""


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("java-3.6.1", "java-3.5"),
        ("java-3.4.0", "java-3.4"),
        ("java-3.3.0", "java-3.3"),
        ("java-3.3.2", "java-3.2"),
        ("confluent-kafka-go-1.9.2", "librdkafka-1.9"),
        ("Java-2.8", "java-2.8"),
    ],
)
def test_a_scenario_takes_an_exact_release(name: str, profile: str) -> None:
    """A member of a release behaves as the profile that covers it, and a note names it; a profile needs no note."""
    found = load_text(scenario(name))
    assert [plan.profile.name for plan in plans(found)][:1] == [profile]
    words = [note.message for note in found.notes]
    assert len(words) == (name != "Java-2.8")
    assert all(name in one and f" as `{profile}`" in one.replace("the profile ", "") for one in words)


def test_a_release_in_a_scenario_is_judged_as_that_release() -> None:
    """A defect of one release is a finding if that release is named, and none if a whole line is meant."""
    cooperative = "{partition.assignment.strategy: cooperative-sticky}"
    found = {
        name: [one.rule for one in lint_scenario(parse_document(scenario(name, cooperative)))]
        for name in ("java-2.3", "java-2.8")
    }
    assert found == {"java-2.3": ["no-such-assignor"], "java-2.8": []}


@pytest.mark.parametrize(("name", "words"), [("java-3.10", "write `java-3.9`"), ("librdkafka-0.11", "librdkafka-1.x")])
def test_a_release_that_cannot_be_simulated_is_refused_with_the_nearest(name: str, words: str) -> None:
    """A release that does not exist, or that only the linter knows, is an error with valid releases."""
    with pytest.raises(ScenarioError, match=re.escape(words)):
        load_text(scenario(name))
