"""`groupsim lint` as people call it: what it prints, how it ends, what it never prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from groupsim.cli.app import app
from groupsim.scenarios.lint import RULES

ROOT = Path(__file__).resolve().parents[4]
SECRET = "hunter2"


def call(*args: object, stdin: str | None = None) -> Result:
    """Run `groupsim lint` in this process."""
    runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"})
    return runner.invoke(app, ["lint", *(str(arg) for arg in args)], input=stdin)


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    """A consumer.properties with a warning and a note."""
    path = tmp_path / "consumer.properties"
    path.write_text("group.id=orders\nenable.auto.commit=false\nauto.commit.interval.ms=5000\nlog.dirs=/data\n")
    return path


def test_a_finding_names_place_severity_rule_reason_and_remedy(properties: Path) -> None:
    """The first line is `file:line: severity rule: message`; why and what to do stand below, 80 columns wide."""
    result = call(properties)
    lines = result.stdout.splitlines()
    head = (
        f"{properties}:4: warning broker-key-on-client: `log.dirs` is a broker setting: on a consumer it has no effect"
    )
    assert head in lines
    assert lines[lines.index(head) + 1].startswith("    why: the consumer ignores it")
    assert any(line.startswith("    do:  remove it here") for line in lines)
    assert all(len(line) <= 80 for line in lines if line.startswith("    "))
    assert lines[-1] == f"{properties}, as java-3.9: 1 warning, 1 note"


def test_the_exit_code_says_what_was_found(properties: Path, tmp_path: Path) -> None:
    """1 for errors and warnings, 0 for notes alone, which `--strict` counts too, 2 for what cannot be read."""
    note = tmp_path / "note.properties"
    note.write_text("auto.offset.reset=none\n")
    assert call(properties).exit_code == 1
    assert call(note).exit_code == 0
    assert call(note, "--strict").exit_code == 1
    assert call(tmp_path / "nowhere.properties").exit_code == 2
    assert call(note, tmp_path / "nowhere.properties").exit_code == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe", "not text"), (b"=5\n", "has no key"), (b"x" * 8_000_001, "has 8,000,001 bytes")],
)
def test_an_unreadable_file_is_an_error(tmp_path: Path, content: bytes, words: str) -> None:
    """No traceback: the file, what is wrong with it, exit code 2."""
    path = tmp_path / "broken.properties"
    path.write_bytes(content)
    result = call(path)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "broken.properties" in result.stderr


def test_standard_input_is_read_and_recognised() -> None:
    """`-` takes properties and scenarios alike."""
    assert "<stdin>:2: error" in call("-", stdin="group.id=g\nheartbeat.interval.ms=45000\n").stdout
    text = "run-for: 60s\ntopics: {t: 1}\ngroups: {g: {processing: 400s, members: {c: 1}}}\n"
    assert "<stdin>:3: warning record-longer-than-poll-interval" in call("-", stdin=text).stdout


def test_client_and_broker_are_given_on_the_command_line(tmp_path: Path) -> None:
    """The same line is right for one library, wrong for another; the broker's bounds come from file, --set, version."""
    path, server = tmp_path / "client.conf", tmp_path / "server.properties"
    path.write_text("session.timeout.ms=600000\nmax.poll.interval.ms=600000\n")
    server.write_text("group.max.session.timeout.ms=60000\nbroker.id=1\n")
    assert call(path, "--client", "librdkafka-2.3").exit_code == 0
    assert "session-outside-broker-range" in call(path, "--broker", "2.2").stdout
    assert "6000 to 60000" in call(path, "--broker-properties", server).stdout
    assert "6000 to 70000" in call(path, "--set", "group.max.session.timeout.ms=70000").stdout
    assert "min-session-above-max" in call(path, "--set", "group.max.session.timeout.ms=1").stdout


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--client", "jaba"), "did you mean `java`"),
        (("--broker", "99"), "newer than any modelled release"),
        (("--set", "group.max.sise=3"), "did you mean `group.max.size`"),
        (("--set", "group.max.size"), "no value"),
    ],
)
def test_a_wrong_option_is_an_error_with_the_nearest_one(properties: Path, option: tuple[str, str], words: str) -> None:
    """Bad input is exit code 2 and says what to write."""
    result = call(properties, *option)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_an_option_that_says_nothing_is_refused() -> None:
    """A scenario names its own clients: `--client` beside it is an error."""
    result = call("demo", "--client", "kafkajs")
    assert result.exit_code == 2
    assert "a scenario names its" in result.stderr


def test_no_secret_is_printed(tmp_path: Path) -> None:
    """Passwords, keys and tokens stay unseen, quoted or misspelt, in text and in JSON."""
    path = tmp_path / "secret.properties"
    path.write_text(
        f'sasl.jaas.config=org.Login required password="{SECRET}";\nssl.key.password="{SECRET}"\n'
        f"sasl.pasword={SECRET}\nbasic.auth.user.info=me:{SECRET}\nbootstrap.server=u:{SECRET}@b\nsession.timeout.ms=1\n"
    )
    for client in ("java-3.9", "librdkafka-2.3", "kafkajs"):
        for extra in ((), ("--json",)):
            result = call(path, "--client", client, *extra)
            assert SECRET not in result.stdout + result.stderr


def test_json_holds_the_same(properties: Path) -> None:
    """`--json`: files with findings, each with place, severity, rule, reason, source and remedy."""
    document = json.loads(call(properties, "--json").stdout)
    (file,) = document["files"]
    assert (file["kind"], file["judged_as"], document["exit_code"]) == ("properties", "java-3.9", 1)
    assert [(one["rule"], one["place"]["line"]) for one in file["findings"]] == [
        ("commit-interval-unused", 3),
        ("broker-key-on-client", 4),
    ]
    assert all(one["reason"] and one["source"] and one["remedy"] for one in file["findings"])


def test_an_experiment_is_judged_cell_by_cell(tmp_path: Path) -> None:
    """A finding of some cells says in how many, and in which first."""
    (tmp_path / "base.yaml").write_text("run-for: 60s\ntopics: {t: 1}\ngroups: {g: {members: {c: 1}}}\n")
    path = tmp_path / "experiment.yaml"
    path.write_text(
        "title: Which session?\nquestion: Which?\nscenario: base.yaml\n"
        "vary:\n  session: {path: groups.g.properties.session.timeout.ms, values: [7s, 30s]}\n"
        "seeds: 1\ngoals: [{minimise: rebalances}]\n"
    )
    result = call(path)
    text = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert "heartbeat-above-third" in text
    assert "in 1 of 2 cells, the first session=7s" in text


def test_the_rules_can_be_listed() -> None:
    """`--rules` names every rule once, and so does `--rules --json`."""
    listed = re.findall(r"^([a-z0-9-]+) \((?:error|warning|note)\)$", call("--rules").stdout, re.MULTILINE)
    assert listed == [rule.id for rule in RULES]
    assert [rule["id"] for rule in json.loads(call("--rules", "--json").stdout)["rules"]] == listed


def test_the_page_lists_every_rule() -> None:
    """docs/linting.md names exactly the rules there are, with their severities."""
    page = (ROOT / "docs" / "linting.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (error|warning|note) \|", page, re.MULTILINE)
    assert rows == [(rule.id, rule.severity) for rule in RULES]


def test_a_finding_of_a_scenario_has_the_setting_names_of_the_client(tmp_path: Path) -> None:
    """What was not written is named as the member's library names it, in its unit, so that the remedy can be pasted."""
    file = tmp_path / "sarama.yaml"
    group = "{client: sarama, members: {a: {processing: 1ms}, b: {processing: 2ms}}}"
    file.write_text(f"run-for: 60s\ntopics: {{t: 1}}\ngroups: {{g: {group}}}\n", "utf-8")
    shown = " ".join(call(file).stdout.split())
    assert "Net.ReadTimeout = 30s (default) ends a JoinGroup" in shown
    assert "(members a, b)" in shown
    assert "set Net.ReadTimeout = 65s" in shown
