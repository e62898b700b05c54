"""The client settings of the new processes of a rollout or a restart are checked before a run."""

from __future__ import annotations

import pytest

from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.load import load_text

TEXT = """\
run-for: 60s
broker: {{version: "{broker}"}}
topics: {{orders: 4}}
groups: {{g1: {{client: {client}, {group}, members: {{c: 2}}}}}}
timeline:
- {step}
"""


def problems(step: str, *, client: str = "java-4.4", group: str = "processing: 1ms", broker: str = "4.4") -> list[str]:
    """What is wrong with a scenario that has this step."""
    try:
        load_text(TEXT.format(step=step, client=client, group=group, broker=broker))
    except ScenarioError as error:
        return [f"{one.place.line}: {one.message}; {one.remedy}" for one in error.problems]
    return []


def test_settings_that_fit_are_no_problem() -> None:
    """Also those with which a member could not have begun, once another is taken away."""
    step = "{at: 20s, do: rolling-restart, start-time: 1s, properties: {group.protocol: consumer}}"
    assert problems(step) == []
    without = step.replace("consumer", "consumer, session.timeout.ms: null")
    assert problems(without, group="properties: {session.timeout.ms: 20000}") == []


@pytest.mark.parametrize(
    ("step", "group", "words"),
    [
        (
            "{at: 20s, do: rolling-restart, start-time: 1s, properties: {group.protocol: consumer}}",
            "properties: {session.timeout.ms: 20000}",
            "`session.timeout.ms`",
        ),
        (
            "{at: 20s, do: restart, member: c-1, properties: {group.protocol: new}}",
            "processing: 1ms",
            "`group.protocol`",
        ),
        (
            "{at: 20s, do: restart, member: leader, properties: {group.protocl: consumer}}",
            "processing: 1ms",
            "did you mean",
        ),
    ],
)
def test_settings_that_do_not_fit_have_their_place(step: str, group: str, words: str) -> None:
    """A value that no process could start with, and a misspelt key, each once for all members."""
    (found,) = problems(step, group=group)
    assert found.startswith("6: ")
    assert words in found


def test_consumers_of_zookeeper_have_none() -> None:
    """A step cannot change the settings of 0.8's consumer."""
    step = "{at: 20s, do: restart, member: c-1, properties: {zookeeper.session.timeout.ms: 9000}}"
    (found,) = problems(step, client="zookeeper-0.8", broker="0.9")
    assert "no settings that a step can change" in found
