"""Pasted consumer.properties, and secrets that are never shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from groupsim.eventloop.trace.sinks import row
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.language.properties import WITHHELD, is_secret, parse_properties, without_secrets
from groupsim.scenarios.loading.load import load_file, load_text
from groupsim.scenarios.runtime.runner import run_scenario

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
        ("a=x\x85y\rb = = c", {"a": "x\x85y", "b": "= c"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, found: dict[str, str]) -> None:
    """Separators, comments, continuations and escapes; the last of equal keys wins."""
    assert parse_properties(text) == found


def test_a_line_without_a_key_is_an_error() -> None:
    """`=x` names no setting."""
    with pytest.raises(ValueError, match="line 2 of the properties has no key"):
        parse_properties("a=1\n=x\n")


def test_an_incomplete_escape_is_an_error_of_its_line() -> None:
    """java.util.Properties refuses it, too; the value is not shown, because it may be a secret."""
    with pytest.raises(ValueError, match=r"^line 4 of the properties has \\u without four hexadecimal digits; write "):
        parse_properties("a=1,\\\n  2\n\nmy.password=\\u12\n")


@pytest.mark.parametrize(
    "key", ["ssl.key.password", "sasl.jaas.config", "basic.auth.user.info", "my.secret", "api_key"]
)
def test_secrets_are_known_by_their_keys(key: str) -> None:
    """A key whose name suggests a secret is one."""
    assert is_secret(key)
    assert without_secrets({key: SECRET, "client.id": "x"}) == {key: WITHHELD, "client.id": "x"}


@pytest.mark.parametrize("key", ["session.timeout.ms", "key.deserializer", "partition.assignment.strategy", "group.id"])
def test_ordinary_settings_are_no_secrets(key: str) -> None:
    """Settings of the protocol are kept."""
    assert not is_secret(key)


def test_secrets_reach_neither_scenario_nor_trace() -> None:
    """Neither the loaded scenario nor an event of the run has the pasted password."""
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
    """A report on a file with secrets does not print them."""
    with pytest.raises(ScenarioError) as caught:
        load_text(TEXT.replace("session.timeout.ms=10000", "session.timeout.ms=ten"))
    assert SECRET not in str(caught.value)


IN_A_FILE = """\
run-for: 10s
topics: {t: 1}
groups:
  g:
    properties-file: consumer.properties
    properties: {fetch.min.bytes: 3}
    members: {c: 1}
producers:
  p: {topic: t, rate: 1/s, properties-file: producer.properties}
"""


def test_notes_about_a_properties_file_name_its_line(tmp_path: Path) -> None:
    """A note on a setting of a file has its line there, for a consumer and a producer; others have their own."""
    consumer = "# ours\n\nsesion.timeout.ms=9000\nfetch.min.bytes=1\nclient.dns.lookup=use_all_dns_ips\n"
    (tmp_path / "consumer.properties").write_text(consumer)
    (tmp_path / "producer.properties").write_text(f"acks=all\nlingr.ms=5\nsasl.jaas.config={SECRET}\n")
    (tmp_path / "s.yaml").write_text(IN_A_FILE)
    places = {note.message.split("`")[1] if "`" in note.message else note.message.split()[0]: str(note.place)
              for note in load_file(tmp_path / "s.yaml").notes}  # fmt: skip
    assert places == {
        "sesion.timeout.ms": f"{tmp_path / 'consumer.properties'}:3:1",
        "client.dns.lookup": f"{tmp_path / 'consumer.properties'}:5:1",
        "lingr.ms": f"{tmp_path / 'producer.properties'}:2:1",
        "sasl.jaas.config": f"{tmp_path / 'producer.properties'}:3:1",
    }


def test_an_impossible_value_in_a_file_is_an_error_of_that_file(tmp_path: Path) -> None:
    """The report has the line to change."""
    (tmp_path / "consumer.properties").write_text("# ours\nsession.timeout.ms=ten\n")
    (tmp_path / "producer.properties").write_text("")
    (tmp_path / "s.yaml").write_text(IN_A_FILE)
    with pytest.raises(ScenarioError, match=r"consumer\.properties:2:1: error: `session\.timeout\.ms`"):
        load_file(tmp_path / "s.yaml")


def test_what_is_left_out_as_a_secret_is_told() -> None:
    """`sasl.jaas.config` and similar keys have no effect here, and a note gives the reason."""
    reported = {note.message for note in load_text(TEXT).notes}
    for key in ("sasl.jaas.config", "ssl.truststore.password", "my.api.key"):
        assert f"`{key}`: accepted, no effect here: there is no security, and the value is not kept" in reported
