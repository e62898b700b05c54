"""Pasted consumer.properties, and what must never be seen of them."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from groupsim.eventloop.sinks import row
from groupsim.scenarios.load import load_text
from groupsim.scenarios.problems import ScenarioError
from groupsim.scenarios.properties import WITHHELD, is_secret, parse_properties, without_secrets
from groupsim.scenarios.runner import run_scenario

SECRET = "hunter2"
TEXT = f"""\
run-for: 10s
topics: {{t: 1}}
groups:
  g:
    properties: |
      bootstrap.servers=kafka:9093
      sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
          username="me" password="{SECRET}";
      ssl.truststore.password = {SECRET}
      my.api.key: {SECRET}
      session.timeout.ms=10000
    members: {{c: 1}}
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=1\nb: 2\nc 3\n", {"a": "1", "b": "2", "c": "3"}),
        ("# no\n! no\n\n  a = x y \n", {"a": "x y"}),
        ("a=1,\\\n   2\n", {"a": "1,2"}),
        ("a\\:b=c\\u0041\\n", {"a:b": "cA\n"}),
        ("a=\na=2", {"a": "2"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, found: dict[str, str]) -> None:
    """Separators, comments, continuations and escapes; the last of equal keys wins."""
    assert parse_properties(text) == found


def test_a_line_without_a_key_is_an_error() -> None:
    """`=x` names no setting."""
    with pytest.raises(ValueError, match="line 2 of the properties has no key"):
        parse_properties("a=1\n=x\n")


@pytest.mark.parametrize(
    "key", ["ssl.key.password", "sasl.jaas.config", "basic.auth.user.info", "my.secret", "api_key"]
)
def test_secrets_are_known_by_their_keys(key: str) -> None:
    """Whatever sounds like a secret is one."""
    assert is_secret(key)
    assert without_secrets({key: SECRET, "client.id": "x"}) == {key: WITHHELD, "client.id": "x"}


@pytest.mark.parametrize("key", ["session.timeout.ms", "key.deserializer", "partition.assignment.strategy", "group.id"])
def test_ordinary_settings_are_no_secrets(key: str) -> None:
    """Settings of the protocol are kept."""
    assert not is_secret(key)


def test_secrets_reach_neither_scenario_nor_trace() -> None:
    """The pasted password is nowhere in what was loaded, nor in any event of the run."""
    scenario = load_text(TEXT)
    assert SECRET not in str(attrs.asdict(scenario.groups["g"]))
    assert SECRET not in " ".join(str(note) for note in scenario.notes)
    events = run_scenario(scenario).events
    assert SECRET not in json.dumps([row(event) for event in events], default=str)
    assert any(event.payload and "session.timeout.ms" in _config(event.payload) for event in events)


def _config(payload: Any) -> dict[str, Any]:
    config: dict[str, Any] = payload.get("config", {})
    return config


def test_secrets_reach_no_error_report() -> None:
    """A report about a file with secrets does not print them."""
    with pytest.raises(ScenarioError) as caught:
        load_text(TEXT.replace("session.timeout.ms=10000", "session.timeout.ms=ten"))
    assert SECRET not in str(caught.value)
