"""Kafka's settings as deployments spell them: Spring Boot, other frameworks, environment variables, manifests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from groupsim.cli.app import app
from groupsim.scenarios.lint.spellings import is_filled_in, kafka_name, respelt

SESSION = "session.timeout.ms"


def lint(tmp_path: Path, name: str, text: str, *options: str) -> Result:
    """`groupsim lint` on a file of this name."""
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return CliRunner().invoke(app, ["lint", str(path), *options])


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("spring.kafka.consumer.properties.session.timeout.ms", SESSION),
        ("spring.kafka.properties[session.timeout.ms]", SESSION),
        ("spring.kafka.consumer.maxPollRecords", "max.poll.records"),
        ("spring.kafka.bootstrap-servers", "bootstrap.servers"),
        ("mp.messaging.incoming.orders.session.timeout.ms", SESSION),
        ("kafka.consumers.default.session.timeout.ms", SESSION),
        ("consumer.override.max.poll.records", "max.poll.records"),
        ("SESSION_TIMEOUT_MS", SESSION),
        ("KAFKA_CONSUMER_SESSION_TIMEOUT_MS", SESSION),
        ("SPRING_KAFKA_CONSUMER_AUTOOFFSETRESET", "auto.offset.reset"),
        ("data.KAFKA_GROUP_ID", "group.id"),
        ("KAFKA_GROUP_MAX_SESSION_TIMEOUT_MS", "group.max.session.timeout.ms"),
    ],
)
def test_a_name_is_kafkas_behind_what_a_deployment_puts_before_it(name: str, key: str) -> None:
    """Prefixes, kebab and camel case, upper case with underscores: the setting is Kafka's."""
    assert kafka_name(name) == key


@pytest.mark.parametrize(
    "name",
    [
        SESSION,
        "group.max.session.timeout.ms",
        "zookeeper.session.timeout.ms",
        "spring.kafka.producer.properties.request.timeout.ms",
        "SPRING_KAFKA_PRODUCER_PROPERTIES_REQUEST_TIMEOUT_MS",
        "mp.messaging.outgoing.orders.request.timeout.ms",
        "spring.kafka.consumer.session-timeout",
        "AWS_SECURITY_GROUP_ID",
        "schema.registry.url",
    ],
)
def test_a_name_that_only_ends_like_kafkas_is_not(name: str) -> None:
    """Kafka's own names stay; a producer's and other names are not read as a consumer's."""
    assert kafka_name(name) is None


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("spring.kafka.consumer.heartbeat-interval", "3s", "3000"),
        ("spring.kafka.consumer.heartbeat-interval", "PT1M30S", "90000"),
        ("spring.kafka.consumer.isolation-level", "read-committed", "read_committed"),
        ("export", 'KAFKA_GROUP_ID="orders"', "orders"),
        ("spring.kafka.consumer.group-id", "${GROUP:orders}", "orders"),
        ("spring.kafka.consumer.group-id", "${GROUP}", "${GROUP}"),
        (SESSION, "45s", "45s"),
    ],
)
def test_a_value_is_read_as_its_spelling_means_it(name: str, value: str, read: str) -> None:
    """Units and quotes of the spelling are removed, and the default of a placeholder is used; Kafka's own stay."""
    assert [one[2] for one in respelt([(1, name, value)])] == [read]


def test_a_value_that_is_filled_in_later_is_no_mistake(tmp_path: Path) -> None:
    """Templates and secret providers replace them: they are not checked, and the last line lists them."""
    assert all(map(is_filled_in, ("${POLL}", "${file:/a:b}", "{{ .Values.poll }}", "$POLL", "$(POLL)")))
    result = lint(tmp_path, "c.properties", "group.id=g\nsession.timeout.ms=${SESSION}\n")
    assert (result.exit_code, "impossible" in result.stdout) == (0, False)
    assert result.stdout.rstrip().endswith("ok; not judged: session.timeout.ms")


SPRING = """\
spring:
  kafka:
    consumer:
      heartbeat-interval: 10s
      session-timeout: 45s
      properties:
        session.timeout.ms: 10000
    listener: {concurrency: 3}
"""
MANIFEST = """\
kind: Deployment
spec:
  containers:
  - name: app
    env:
    - {name: KAFKA_SESSION_TIMEOUT_MS, value: "10000"}
    - {name: KAFKA_HEARTBEAT_INTERVAL_MS, value: "10000"}
"""


@pytest.mark.parametrize(("text", "line"), [(SPRING, 4), (MANIFEST, 7)])
def test_yaml_of_an_application_is_judged_line_by_line(tmp_path: Path, text: str, line: int) -> None:
    """Spring Boot's file and a manifest with variables are read as what they configure, each finding at its line."""
    result = lint(tmp_path, "app.yaml", text)
    assert f"app.yaml:{line}: error heartbeat-not-below-session" in result.stdout
    assert ("app.yaml:5: warning unknown-to-spring" in result.stdout) == (text is SPRING)
    assert result.exit_code == 1


def test_what_was_not_judged_is_told(tmp_path: Path) -> None:
    """`ok` never means that no setting was recognized."""
    assert "not judged: spring.kafka.listener.concurrency" in lint(tmp_path, "app.yaml", SPRING).stdout
    nothing = lint(tmp_path, "other.properties", "threads=4\n")
    assert nothing.exit_code == 2
    assert "no setting of a consumer, only `threads`" in nothing.stderr


PROFILES = """\
spring.kafka.consumer:
  heartbeat-interval: 3s
  properties: {session.timeout.ms: 45000}
---
spring.config.activate.on-profile: prod
spring.kafka.consumer.properties: {session.timeout.ms: 7000}
---
---
spring.profiles: [test, dev]
spring.kafka.consumer.heartbeat-interval: 50s
"""


def test_profiles_of_an_application_are_read_one_by_one(tmp_path: Path) -> None:
    """A profile's settings override the others; a finding names its profile, the last line all of them."""
    result = lint(tmp_path, "app.yaml", PROFILES)
    assert "session.timeout.ms = 7000 (profile prod)" in result.stdout
    assert re.search(r"app.yaml:10: error heartbeat-not-below-session: .* \(profile test or dev\)", result.stdout)
    assert "app.yaml, as java-3.9, without a profile and with prod, test or dev: " in result.stdout
    assert "repeated-key" not in result.stdout
    assert "not judged" not in result.stdout


def test_what_holds_under_every_profile_names_none(tmp_path: Path) -> None:
    """The mistake is in the document without a profile."""
    result = lint(tmp_path, "app.yaml", PROFILES.replace("3s", "46s"))
    assert re.search(r"app.yaml:2: error heartbeat-not-below-session: [^(]*$", result.stdout, re.MULTILINE)


def test_profiles_in_properties_are_read_too(tmp_path: Path) -> None:
    """Documents of .properties are separated by a comment, with any line ending."""
    text = "{0}=45000\r\n#---\r\nspring.config.activate.on-profile=prod\r\n{0}=2000\r\n"
    result = lint(tmp_path, "a.properties", text.format("spring.kafka.consumer.properties.session.timeout.ms"))
    assert "a.properties:4: error heartbeat-not-below-session" in result.stdout
    assert "without a profile and with prod" in result.stdout


def test_manifests_in_one_file_have_nothing_to_do_with_each_other(tmp_path: Path) -> None:
    """Each is checked by itself: the second deployment does not have the first one's session."""
    other = MANIFEST.replace('"10000"}', '"60000"}', 1)
    result = lint(tmp_path, "app.yaml", f"{MANIFEST}---\n{other}")
    assert "app.yaml:7: error heartbeat-not-below-session" in result.stdout
    assert "app.yaml, as java-3.9: 1 error" in result.stdout


def test_two_scenarios_in_one_file_are_refused(tmp_path: Path) -> None:
    """They are not profiles of each other; the finding has the place of the second."""
    result = lint(tmp_path, "two.yaml", "run-for: 9s\n---\nrun-for: 9s\n")
    assert (result.exit_code, "two.yaml:3:1: error: a second document begins here" in result.stderr) == (2, True)


def test_an_empty_file_is_not_called_well(tmp_path: Path) -> None:
    """A broken pipe, or settings that are all commented out, have no setting to check."""
    result = lint(tmp_path, "a.properties", "# session.timeout.ms=1\n")
    assert (result.exit_code, result.stdout.strip().endswith("a.properties, as java-3.9: no setting in it")) == (
        0,
        True,
    )


def test_two_variables_of_one_setting_are_two_programs(tmp_path: Path) -> None:
    """Each program reads its own variable: neither overrides the other."""
    text = "KAFKA_SESSION_TIMEOUT_MS=10000\nSESSION_TIMEOUT_MS=45000\n"
    assert "repeated-key" not in lint(tmp_path, "c.env", text).stdout


def test_upper_case_is_a_misspelling(tmp_path: Path) -> None:
    """Kafka's names are lower case; the Java consumer only logs any other."""
    assert "did you mean session.timeout.ms?" in lint(tmp_path, "c.properties", "Session.Timeout.Ms=10000\n").stdout


def test_a_scenario_that_is_an_applications_configuration_is_told_the_linter(tmp_path: Path) -> None:
    """`run` and `validate` on Spring Boot's file name the right command in one sentence."""
    path = tmp_path / "app.yaml"
    path.write_text(SPRING, "utf-8")
    result = CliRunner().invoke(app, ["validate", str(path)])
    assert result.exit_code == 2
    assert "`groupsim lint`" in result.stdout
