"""`groupsim lint --target group.protocol=consumer`: findings in a classic configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from groupsim.cli.app import app
from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.lint import LintFinding, broker_of, client_of, lines_of, lint_scenario, lint_settings
from groupsim.scenarios.lint.rules import migration

JAVA, RD = "java-4.0", "librdkafka-2.12"

# rule, client, broker, a configuration with a finding, one without
CASES = [
    ("target-unsupported", "kafka-python-2.0", None, "", None),
    ("target-unsupported", "java-3.9", None, "", None),
    ("target-unsupported", "franz-go", None, "", None),
    ("target-unsupported", JAVA, "3.9", "", None),
    ("target-refuses-setting", JAVA, None, "session.timeout.ms=50000", "max.poll.records=5"),
    ("target-refuses-setting", RD, None, "partition.assignment.strategy=range", "fetch.wait.max.ms=50"),
    ("target-refuses-setting", RD, None, "group.protocol.type=consumer", ""),
    ("target-default-assignor", JAVA, None, "", "group.remote.assignor=range"),
    ("target-slower-detection", JAVA, None, "session.timeout.ms=10000", "session.timeout.ms=45000"),
    ("target-callbacks", JAVA, None, "", None),
    ("target-poll-limit", JAVA, None, "max.poll.interval.ms=60000", ""),
    ("target-static-restart", RD, None, "group.instance.id=pod-1", ""),
    ("target-stale-commit", JAVA, None, "enable.auto.commit=false", "enable.auto.commit=true"),
    ("target-tools", JAVA, None, "", None),
]


def findings(text: str, client: str = JAVA, broker: str | None = None) -> tuple[LintFinding, ...]:
    """Return the findings in a configuration."""
    name = "c.properties"
    return lint_settings(lines_of(text, name), name, client_of(client), broker_of(broker), for_target=True)


def rules_in(found: tuple[LintFinding, ...]) -> set[str]:
    """Return the rules with a finding."""
    return {one.rule for one in found}


@pytest.mark.parametrize(("rule", "client", "broker", "speaks", "silent"), CASES)
def test_a_rule_of_the_target(rule: str, client: str, broker: str | None, speaks: str, silent: str | None) -> None:
    """The rule has a finding in the one configuration and none in the other."""
    assert rule in rules_in(findings(speaks, client, broker))
    if silent is not None:
        assert rule not in rules_in(findings(silent, client, broker))
    elif rule == "target-unsupported":
        assert rule not in rules_in(findings("", JAVA, "4.0"))


def test_every_rule_of_the_target_has_a_case() -> None:
    """No rule is without a test; the one about patterns needs a scenario."""
    assert {case[0] for case in CASES} | {"target-pattern"} == {rule.id for rule in migration.RULES}


@pytest.mark.parametrize(("client", "words"), [(RD, "the whole name must match"), (JAVA, "SubscriptionPattern")])
def test_a_pattern_of_a_scenario_is_matched_elsewhere(client: str, words: str) -> None:
    """librdkafka's patterns go to the broker; Java's stay with the client unless they are a SubscriptionPattern."""
    group = f"{{client: {client}, subscribe-pattern: '^order', members: {{c: 1}}}}"
    text = f"run-for: 60s\ntopics: {{t: 1}}\ngroups: {{g: {group}}}\n"
    found = lint_scenario(parse_document(text, "s.yaml"), for_target=True)
    (pattern,) = [one for one in found if one.rule == "target-pattern"]
    assert words in f"{pattern.message} {pattern.remedy}"


def test_a_library_without_the_protocol_hears_of_nothing_else() -> None:
    """kafkajs has one finding, that it lacks the protocol, whatever is set."""
    assert [one.rule for one in findings("sessionTimeout=10000", "kafkajs")] == ["target-unsupported"]


LINE = "\nkafka-configs.sh --bootstrap-server HOST:9092 --alter --entity-type groups --entity-name orders --add-config "


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (45_000, "the broker's group.consumer.session.timeout.ms (45000) is the same"),
        (50_000, f"to keep 50000:{LINE}consumer.session.timeout.ms=50000"),
        (
            10_000,
            "the broker's 45000 holds; 10000 is outside group.consumer.min.session.timeout.ms (45000): "
            f"change that limit on the brokers, then{LINE}consumer.session.timeout.ms=10000",
        ),
    ],
)
def test_a_setting_that_moves_to_the_broker_has_the_line_that_sets_it(value: int, remedy: str) -> None:
    """The remedy is the kafka-configs line of the group, with the limit that prevents it."""
    found = findings(f"group.id=orders\nsession.timeout.ms={value}")
    assert [one.remedy for one in found if one.rule == "target-refuses-setting"] == [f"remove it; {remedy}"]


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ("org.apache.kafka.clients.consumer.RangeAssignor", "set group.remote.assignor=range"),
        ("org.apache.kafka.clients.consumer.StickyAssignor", "set group.remote.assignor=uniform"),
        ("com.example.Mine", "ConsumerGroupPartitionAssignor for the brokers"),
    ],
)
def test_an_assignor_of_the_client_has_its_nearest_on_the_broker(strategy: str, words: str) -> None:
    """`range` stays range, the others become uniform; a user's own assignor needs one for the broker."""
    (refused,) = [one for one in findings(f"partition.assignment.strategy={strategy}") if one.severity == "error"]
    assert words in refused.remedy


def test_the_command_prints_a_line_that_can_be_pasted(tmp_path: Path) -> None:
    """The kafka-configs line is one line; another target is refused with the valid one."""
    file = tmp_path / "c.properties"
    file.write_text("group.id=orders\nsession.timeout.ms=50000\n", "utf-8")
    runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"})
    done = runner.invoke(app, ["lint", str(file), "--client", JAVA, "--target", migration.TARGET])
    assert done.exit_code == 1
    assert f"{LINE.strip()} consumer.session.timeout.ms=50000" in [line.strip() for line in done.stdout.splitlines()]
    refused = runner.invoke(app, ["lint", str(file), "--target", "group.protocol=share"])
    assert refused.exit_code == 2
    assert f"write --target {migration.TARGET}" in refused.output
